//! The naive evaluator: slow, obvious, the judge.
//!
//! Every node becomes a list of values, one at a time, by the meaning in its record. When a fast path disagrees, this is right.

mod lines;

use crate::dtype::{DType, Literal};
use crate::error::{Error, ErrorKind, Result};
use crate::graph::{IdMap, LineWork, Lookup, Node, Op, ReduceKind, ScanKind, topological};
use crate::memory::Buffer;
use crate::ops::random;
use crate::shape::{Read, Shape, View, index_to_position, len_of, ordinal_to_index, row_major_strides};
use smallvec::SmallVec;
use std::collections::HashMap;

/// The values of a node in row-major order, computed one by one from what it is made of.
pub(crate) fn evaluate(node: &Node) -> Result<Vec<Literal>> {
    evaluate_from(node, &IdMap::default(), None)
}

/// How floats are moved: by about so many of their last bits, up or down in one of several ways.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Noise {
    pub(crate) bits: f64,
    pub(crate) way: usize,
}

/// As [`evaluate`], starting from nodes whose numbers are `known`. With `noise`, every float that is computed is moved: how much the
/// result moves tells how exact it can be.
pub(crate) fn evaluate_from(node: &Node, known: &IdMap<Buffer>, noise: Option<Noise>) -> Result<Vec<Literal>> {
    // Each node is looked at once: another thread may let go of an op meanwhile.
    let mut seen = HashMap::new();
    let order = topological(std::slice::from_ref(node), |node| {
        let (op, buffer) = node.op_and_buffer();
        let buffer = buffer.or_else(|| known.get(&node.id()).cloned());
        let mut behind = SmallVec::new();
        if buffer.is_none() {
            op.for_each_input(|input| behind.push(input.clone()));
        }
        seen.insert(node.id(), (op, buffer));
        behind
    });
    let mut values: HashMap<usize, Vec<Literal>> = HashMap::new();
    for (number, node) in order.iter().enumerate() {
        let (op, buffer) = &seen[&node.id()];
        let mut result = match buffer {
            Some(buffer) => (0..buffer.len()).map(|k| buffer.literal(k)).collect(),
            None => value(node, op, &values)?,
        };
        if let Some(noise) = noise.filter(|_| buffer.is_none()) {
            match node.dtype() {
                dtype if dtype.is_float() => shake(node, &mut result, op, &values, noise, number),
                DType::Bool => waver(&mut result, op, &values, noise),
                _ => {}
            }
        }
        values.insert(node.id(), result);
    }
    Ok(values.remove(&node.id()).expect("the last of the order"))
}

/// The distance from 1 to the next number of a float dtype.
pub(crate) fn epsilon(dtype: DType) -> f64 {
    match dtype {
        DType::F16 => 2f64.powi(-10),
        DType::BF16 => 2f64.powi(-7),
        DType::F32 => f64::from(f32::EPSILON),
        _ => f64::EPSILON,
    }
}

/// Moves what an op computed: by a part of each value, and for sums of the sum of its terms' sizes.
fn shake(
    node: &Node,
    result: &mut [Literal],
    op: &Op,
    values: &HashMap<usize, Vec<Literal>>,
    noise: Noise,
    number: usize,
) {
    let sizes = match op {
        Op::Map { .. } | Op::Cast { .. } => None,
        Op::Scatter { kind: kind @ ReduceKind::Sum, lookup, index, source, axis } => {
            let sizes: Vec<Literal> = values[&source.id()].iter().map(|x| Literal::F64(x.to_f64().abs())).collect();
            scatter(*kind, *lookup, &values[&index.id()], &sizes, source.shape(), node, *axis).ok()
        }
        Op::Scatter { .. } => None,
        Op::Reduce { kind: ReduceKind::Sum, input, axes, .. } => {
            let sizes: Vec<Literal> = values[&input.id()].iter().map(|x| Literal::F64(x.to_f64().abs())).collect();
            Some(reduce(ReduceKind::Sum, &sizes, input, axes, result.len()))
        }
        Op::Reduce { .. } => None,
        Op::Lines { work: LineWork::Scan { kind: ScanKind::Max | ScanKind::Min, .. }, .. } => return,
        Op::Lines { work, inputs, axis } => {
            let sizes = |input: &Node| values[&input.id()].iter().map(|x| Literal::F64(x.to_f64().abs())).collect();
            let sizes: Vec<Vec<Literal>> = inputs.iter().map(sizes).collect();
            Some(lines::evaluate(*work, inputs, &sizes.iter().collect::<Vec<_>>(), &inputs[0], *axis))
        }
        _ => return, // the values are others', moved already
    };
    for (k, value) in result.iter_mut().enumerate() {
        // Half of it or all of it, up or down, so that two that meet seldom cancel.
        let mixed = random::philox(noise.way as u64, number as u64, k as u64)[0];
        let part = [-1.0, -0.75, -0.5, 0.5, 0.75, 1.0][mixed as usize % 6] * noise.bits * epsilon(value.dtype());
        let size = sizes.as_ref().map_or(value.to_f64().abs(), |sizes| sizes[k].to_f64());
        *value = Literal::from_f64(value.dtype(), value.to_f64() + part * size);
    }
}

/// A comparison of floats that are nearly equal may turn out either way.
fn waver(result: &mut [Literal], op: &Op, values: &HashMap<usize, Vec<Literal>>, noise: Noise) {
    let Op::Map { inputs, .. } = op else { return };
    let [a, b] = &inputs[..] else { return };
    if !a.dtype().is_float() {
        return;
    }
    let room = 4.0 * noise.bits * epsilon(a.dtype());
    let pairs = values[&a.id()].iter().zip(&values[&b.id()]);
    for (value, (a, b)) in result.iter_mut().zip(pairs) {
        let (a, b) = (a.to_f64(), b.to_f64());
        if (a - b).abs() <= room * a.abs().max(b.abs()) {
            *value = Literal::Bool(noise.way.is_multiple_of(2));
        }
    }
}

/// Every index of a shape, row-major.
fn indices(shape: &[usize]) -> impl Iterator<Item = Shape> {
    let shape = Shape::from_slice(shape);
    (0..len_of(&shape)).map(move |ordinal| ordinal_to_index(ordinal, &shape))
}

fn position(index: &[usize], shape: &[usize]) -> usize {
    index_to_position(index, &row_major_strides(shape)) as usize
}

fn value(node: &Node, op: &Op, values: &HashMap<usize, Vec<Literal>>) -> Result<Vec<Literal>> {
    let of = |input: &Node| &values[&input.id()];
    match op {
        Op::Buffer | Op::Executed | Op::Closure { .. } => unreachable!("{} has its numbers", op.name()),
        Op::Input => {
            let message = format!("\"{}\" was never given", node.name().unwrap_or_default());
            Err(Error::new(ErrorKind::Input, "input", message))
        }
        Op::ConstFill(literal) => Ok(vec![*literal; node.len()]),
        Op::Arange => Ok((0..node.len() as i64).map(Literal::I64).collect()),
        Op::Rand { seed, stream, word } => {
            let bits = |k| Literal::U32(random::philox(*seed, *stream, k as u64)[usize::from(*word)]);
            Ok((0..node.len()).map(bits).collect())
        }
        Op::View { base, view, .. } => Ok(read_view(view, values.get(&base.id()), base)),
        Op::Contiguous { input } => Ok(of(input).clone()),
        Op::Map { primitive, inputs } => (0..node.len())
            .map(|k| {
                let operands: SmallVec<[Literal; 3]> = inputs.iter().map(|input| of(input)[k]).collect();
                primitive.apply(&operands).ok_or_else(|| division_by_zero(primitive.name, node))
            })
            .collect(),
        Op::Cast { input } => Ok(of(input).iter().map(|literal| literal.cast(node.dtype())).collect()),
        Op::Reduce { kind, input, axes, .. } => Ok(reduce(*kind, of(input), input, axes, node.len())),
        Op::Concat { inputs, axis } => Ok(concat(inputs, *axis, node.shape(), of)),
        Op::Gather { lookup, input, index, axis } => indices(node.shape())
            .zip(of(index))
            .map(|(mut at, literal)| {
                at[*axis] = place(*lookup, *literal, input.shape()[*axis])
                    .map_err(|at| index_out_of_range(*lookup, at, input.shape()[*axis], node, &[input, index]))?;
                Ok(of(input)[position(&at, input.shape())])
            })
            .collect(),
        Op::Scatter { kind, lookup, index, source, axis } => {
            scatter(*kind, *lookup, of(index), of(source), source.shape(), node, *axis)
        }
        Op::Lines { work, inputs, axis } => {
            let values: Vec<&Vec<Literal>> = inputs.iter().map(of).collect();
            Ok(lines::evaluate(*work, inputs, &values, node, *axis))
        }
    }
}

/// The elements of a view. Its base may have been evaluated on the way, or have its numbers.
fn read_view(view: &View, base_values: Option<&Vec<Literal>>, base: &Node) -> Vec<Literal> {
    let buffer = base.buffer();
    let base_value = |k: usize| match (base_values, &buffer) {
        (Some(values), _) => values[k],
        (None, Some(buffer)) => buffer.literal(k),
        (None, None) => unreachable!("the base stands behind the view"),
    };
    let element = |index: Shape| match view.read(&index) {
        Read::At(k) => base_value(k),
        Read::Default(literal) => literal,
    };
    indices(&view.shape()).map(element).collect()
}

fn reduce(kind: ReduceKind, values: &[Literal], input: &Node, axes: &[usize], len: usize) -> Vec<Literal> {
    let mut groups: Vec<Vec<Literal>> = vec![Vec::new(); len];
    let kept: Vec<usize> = (0..input.rank()).filter(|axis| !axes.contains(axis)).collect();
    let kept_shape: Shape = kept.iter().map(|&axis| input.shape()[axis]).collect();
    for (index, value) in indices(input.shape()).zip(values) {
        let at: Shape = kept.iter().map(|&axis| index[axis]).collect();
        groups[position(&at, &kept_shape)].push(*value);
    }
    groups.iter().map(|group| fold(kind, group, input.dtype())).collect()
}

/// One group to one value. Floats are added and multiplied in f64 and rounded once; f64 themselves are added as if with more bits.
fn fold(kind: ReduceKind, group: &[Literal], dtype: DType) -> Literal {
    let best = |better: fn(f64, f64) -> bool, start: Literal| {
        let wins = |a: Literal, b: Literal| match (a.to_integer(), b.to_integer()) {
            (Some(a), Some(b)) => {
                if better(1.0, 0.0) {
                    b > a
                } else {
                    b < a
                }
            }
            _ => b.to_f64().is_nan() || (!a.to_f64().is_nan() && better(b.to_f64(), a.to_f64())),
        };
        group.iter().fold(start, |a, &b| if wins(a, b) { b } else { a })
    };
    match kind {
        ReduceKind::Sum if dtype.is_float() => {
            Literal::from_f64(dtype, exact_sum(group.iter().map(|x| x.to_f64())) + 0.0)
        }
        ReduceKind::Prod if dtype.is_float() => Literal::from_f64(dtype, group.iter().map(|x| x.to_f64()).product()),
        ReduceKind::Sum => integer_fold(dtype, group, 0, i128::wrapping_add),
        ReduceKind::Prod => integer_fold(dtype, group, 1, i128::wrapping_mul),
        ReduceKind::Max => best(|a, b| a > b, Literal::lowest(dtype)),
        ReduceKind::Min => best(|a, b| a < b, Literal::highest(dtype)),
    }
}

/// A sum that is rounded once or twice, however many terms there are: what each addition loses is kept beside.
fn exact_sum(terms: impl Iterator<Item = f64>) -> f64 {
    let (mut sum, mut lost) = (0.0f64, 0.0);
    for term in terms {
        let next = sum + term;
        lost += if sum.abs() >= term.abs() { (sum - next) + term } else { (term - next) + sum };
        sum = next;
    }
    if sum.is_finite() { sum + lost } else { sum }
}

fn integer_fold(dtype: DType, group: &[Literal], start: i128, f: fn(i128, i128) -> i128) -> Literal {
    let values = group.iter().map(|x| x.to_integer().expect("an integer"));
    Literal::from_integer(dtype, values.fold(start, f))
}

fn concat<'a>(inputs: &[Node], axis: usize, shape: &[usize], of: impl Fn(&Node) -> &'a Vec<Literal>) -> Vec<Literal> {
    let element = |mut index: Shape| {
        let mut which = 0;
        while index[axis] >= inputs[which].shape()[axis] {
            index[axis] -= inputs[which].shape()[axis];
            which += 1;
        }
        of(&inputs[which])[position(&index, inputs[which].shape())]
    };
    indices(shape).map(element).collect()
}

/// What goes to each place of a node, put together.
fn scatter(
    kind: ReduceKind,
    lookup: Lookup,
    index: &[Literal],
    source: &[Literal],
    shape: &[usize],
    node: &Node,
    axis: usize,
) -> Result<Vec<Literal>> {
    let mut groups: Vec<Vec<Literal>> = vec![Vec::new(); node.len()];
    for (k, mut at) in indices(shape).enumerate() {
        at[axis] = place(lookup, index[k], node.shape()[axis])
            .map_err(|at| index_out_of_range(lookup, at, node.shape()[axis], node, &[]))?;
        groups[position(&at, node.shape())].push(source[k]);
    }
    let dtype = source.first().map_or(node.dtype(), |value| value.dtype());
    Ok(groups.iter().map(|group| fold(kind, group, dtype)).collect())
}

/// The place on an axis that a number of an index names, or the number.
fn place(lookup: Lookup, literal: Literal, size: usize) -> Result<usize, i64> {
    let at = literal.to_integer().expect("an index is an integer") as i64;
    lookup.place(at, size).ok_or(at)
}

/// The error of a run that met an index outside its axis; `operands` are the tensor and the index, where they are known.
pub(crate) fn index_out_of_range(lookup: Lookup, index: i64, size: usize, node: &Node, operands: &[&Node]) -> Error {
    let first = if lookup.from_end { format!("-{size}") } else { "0".to_string() };
    let message = format!("index {index} is out of range for an axis of {size}: use {first} to {}", size as i64 - 1);
    let error = Error::new(ErrorKind::Index, lookup.name, message).made_at("result", node.at());
    ["tensor", "index"]
        .iter()
        .zip(operands)
        .fold(error, |error, (what, operand)| error.made_at(what, made(operand, node)))
}

/// The line of the operand as the user gave it: what an op made of its operands on the way has the op's own line.
fn made(operand: &Node, node: &Node) -> &'static std::panic::Location<'static> {
    let mut operand = operand.clone();
    while operand.at() == node.at() {
        match operand.inputs().as_slice() {
            [input] => operand = input.clone(),
            _ => break,
        }
    }
    operand.at()
}

/// The error of a run that divided an integer by zero.
pub(crate) fn division_by_zero(op: &str, node: &Node) -> Error {
    Error::new(ErrorKind::Value, op, "an integer was divided by zero").made_at("result", node.at())
}
