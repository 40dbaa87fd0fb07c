//! A kernel becomes a loop program: loops, accesses and words, with nothing left to decide but the machine code.

mod print;
pub(crate) mod program;
mod rows;

pub(crate) use rows::{Part, RowProgram};

use crate::dtype::DType;
use crate::graph::ReduceKind;
use crate::ops::vector::{Emit, Lane, Val, Word};
use crate::ops::{cast, random};
use crate::schedule::{Expression, MapReduce, Step};
use crate::shape::{Expr, Position, View};
use program::{Access, Fold, Guard, Load, LoopProgram, dense};

/// The loop program of a kernel.
pub(crate) fn lower(kernel: &MapReduce) -> LoopProgram {
    in_order(kernel, loop_order(kernel))
}

/// The loop program of a map that walks an axis before all others.
pub(crate) fn lower_led_by(kernel: &MapReduce, axis: usize) -> LoopProgram {
    let order = [axis].into_iter().chain((0..kernel.space.len()).filter(|&other| other != axis)).collect();
    let mut program = in_order(kernel, order);
    let mut store = dense(&kernel.space);
    store[..=axis].rotate_right(1);
    program.store = store;
    program
}

fn in_order(kernel: &MapReduce, order: Vec<usize>) -> LoopProgram {
    let kept = kernel.space.len() - kernel.reduce.as_ref().map_or(0, |(_, axes)| axes.len());
    let mut sizes: Vec<usize> = order.iter().map(|&axis| kernel.space[axis]).collect();
    if sizes[kept..].contains(&0) {
        // Nothing is walked, however long the other axes: together they may be too long to count.
        sizes[kept..].iter_mut().for_each(|size| *size = (*size).min(1));
    }
    let loads = kernel.loads.iter().map(|operand| Load { dtype: operand.dtype, access: access(&operand.view, &order) });
    let (words, result, indices) = write(&kernel.expression, &order, &sizes);
    LoopProgram {
        outer: sizes[..kept].to_vec(),
        store: dense(&sizes[..kept]),
        reduced: sizes[kept..].to_vec(),
        loads: loads.collect(),
        indices,
        words,
        result,
        fold: kernel.reduce.as_ref().map(|(kind, _)| fold(*kind)),
        stored: kernel.dtype,
    }
}

/// The space's axes in loop order: kept ones first. Reductions go innermost: an accumulator then stays in a register.
fn loop_order(kernel: &MapReduce) -> Vec<usize> {
    let reduced: &[usize] = kernel.reduce.as_ref().map_or(&[], |(_, axes)| axes);
    let kept = (0..kernel.space.len()).filter(|axis| !reduced.contains(axis));
    kept.chain(reduced.iter().copied()).collect()
}

/// The loop that walks an axis of the space.
pub(crate) fn loop_of(kernel: &MapReduce, axis: usize) -> usize {
    loop_order(kernel).iter().position(|&other| other == axis).expect("an axis of the space")
}

/// How a view of the space is read along the loops.
fn access(view: &View, order: &[usize]) -> Access {
    let (position, guards) = view.access();
    match position {
        Position::Strided { offset, strides } if guards.is_empty() => {
            Access::Strided { offset, strides: order.iter().map(|&axis| strides[axis]).collect() }
        }
        position => {
            let loops = loops(order);
            let position = match position {
                Position::Strided { offset, strides } => Expr::from_affine(offset, &strides),
                Position::Computed(position) => position,
            };
            let guard =
                |(condition, default): &(Expr, _)| Guard { condition: condition.substitute(&loops), default: *default };
            Access::Computed { position: position.substitute(&loops), guards: guards.iter().map(guard).collect() }
        }
    }
}

/// The indices of the space's axes, by loop: axis `order[k]` of the space is loop `k`.
fn loops(order: &[usize]) -> Vec<Expr> {
    let mut loops = vec![Expr::Const(0); order.len()];
    for (k, &axis) in order.iter().enumerate() {
        loops[axis] = Expr::idx(k);
    }
    loops
}

/// The expression in the code generator's words, the name of its result, and the index expressions it uses.
fn write(expression: &Expression, order: &[usize], sizes: &[usize]) -> (Vec<(Word, Lane)>, Val, Vec<Expr>) {
    let mut e = Emit::new();
    let mut indices: Vec<Expr> = Vec::new();
    let position = Expr::from_affine(0, &row_major(sizes));
    let mut values: Vec<Val> = Vec::with_capacity(expression.steps.len());
    for step in &expression.steps {
        let value = match step {
            Step::Load { slot, dtype } => e.load(*slot, *dtype),
            Step::Const(literal) => e.literal(*literal),
            Step::Place { index, size, from_end } => e.place(values[*index], *size, *from_end),
            Step::Gather { slot, dtype, at } => e.gather(*slot, *dtype, values[*at]),
            Step::Scalar { slot, dtype } => e.scalar(*slot, *dtype),
            Step::Index { value, dtype } => {
                let value = value.substitute(&loops(order)).simplify(sizes);
                if *dtype != DType::Bool && value == position {
                    e.position()
                } else {
                    indices.push(value);
                    e.index(indices.len() - 1, *dtype)
                }
            }
            Step::Rand { slot, word, at } => {
                let halves = std::array::from_fn(|half| e.scalar(slot + half, DType::U32));
                random::write(&mut e, halves, *word, values[*at])
            }
            Step::Map { primitive, dtype, operands } => {
                let operands: smallvec::SmallVec<[Val; 3]> = operands.iter().map(|&name| values[name]).collect();
                primitive.write(&mut e, *dtype, &operands)
            }
            Step::Cast { from, to, operand } => cast::write(&mut e, *from, *to, values[*operand]),
        };
        values.push(value);
    }
    let result = *values.last().expect("an expression has a step");
    (e.finish(), result, indices)
}

/// The strides of a dense row-major space, as [`Expr::simplify`] leaves them: an axis of one element has no index.
fn row_major(sizes: &[usize]) -> Vec<i64> {
    let mut strides = vec![0; sizes.len()];
    let mut step = 1i64;
    for (stride, &size) in strides.iter_mut().zip(sizes).rev() {
        *stride = if size == 1 { 0 } else { step };
        step = step.wrapping_mul(size as i64);
    }
    strides
}

fn fold(kind: ReduceKind) -> Fold {
    match kind {
        ReduceKind::Sum => Fold::Sum,
        ReduceKind::Prod => Fold::Prod,
        ReduceKind::Max => Fold::Max,
        ReduceKind::Min => Fold::Min,
    }
}
