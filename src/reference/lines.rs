//! Whole lines along an axis, element by element.

use super::{indices, position};
use crate::dtype::{DType, Literal};
use crate::graph::{LineWork, Node, ScanKind};
use crate::ops;
use crate::shape::Shape;
use std::cmp::Ordering;

/// What the lines of the inputs become.
pub(super) fn evaluate(
    work: LineWork,
    inputs: &[Node],
    values: &[&Vec<Literal>],
    node: &Node,
    axis: usize,
) -> Vec<Literal> {
    let mut out = vec![Literal::zero(node.dtype()); node.len()];
    let mut ends = Shape::from_slice(node.shape());
    ends[axis] = 1;
    for start in indices(&ends) {
        let line = |k: usize| -> Vec<Literal> {
            (0..inputs[k].shape()[axis]).map(|t| values[k][position(&at(&start, axis, t), inputs[k].shape())]).collect()
        };
        let lines: Vec<Vec<Literal>> = (0..inputs.len()).map(line).collect();
        let made = match work {
            LineWork::Scan { kind, reverse } => scan(kind, reverse, &lines, node.dtype()),
            LineWork::Order { descending } => order(&lines[0], descending),
            LineWork::Search { right } => search(&lines[0], &lines[1], right),
        };
        for (t, value) in made.into_iter().take(node.shape()[axis]).enumerate() {
            out[position(&at(&start, axis, t), node.shape())] = value;
        }
    }
    out
}

fn at(start: &[usize], axis: usize, t: usize) -> Shape {
    let mut at = Shape::from_slice(start);
    at[axis] = t;
    at
}

/// Floats run in `f64`, and each total is rounded once.
fn scan(kind: ScanKind, reverse: bool, lines: &[Vec<Literal>], dtype: DType) -> Vec<Literal> {
    let len = lines[0].len();
    let mut order: Vec<usize> = (0..len).collect();
    if reverse {
        order.reverse();
    }
    let mut out = vec![Literal::zero(dtype); len];
    let mut total: Option<Literal> = None;
    let mut best = 0;
    for t in order {
        let x = lines[lines.len() - 1][t];
        let wide = if x.dtype().is_float() { x.cast(DType::F64) } else { x };
        let apply = |primitive: &'static ops::Primitive, a: Literal, b: Literal| {
            primitive.apply(&[a, b]).expect("no sum and no product has a fault")
        };
        let next = match (kind, total) {
            (ScanKind::Sum, Some(total)) => apply(&ops::ADD, total, wide),
            (ScanKind::Prod, Some(total)) => apply(&ops::MUL, total, wide),
            (ScanKind::Linear, Some(total)) => {
                let factor = lines[0][t];
                let factor = if factor.dtype().is_float() { factor.cast(DType::F64) } else { factor };
                apply(&ops::ADD, apply(&ops::MUL, factor, total), wide)
            }
            (ScanKind::Max | ScanKind::ArgMax, Some(total)) if !replaces(wide, total, Ordering::Greater) => total,
            (ScanKind::Min | ScanKind::ArgMin, Some(total)) if !replaces(wide, total, Ordering::Less) => total,
            _ => {
                best = t;
                wide
            }
        };
        total = Some(next);
        out[t] = if kind.gives_positions() { Literal::I64(best as i64) } else { next.cast(dtype) };
    }
    out
}

/// Whether a running extreme gives way to `x`: NaN does to nothing but NaN, and equal ones to the later.
fn replaces(x: Literal, total: Literal, better: Ordering) -> bool {
    if x.to_f64().is_nan() {
        return true;
    }
    !total.to_f64().is_nan() && [better, Ordering::Equal].contains(&compare(x, total))
}

/// NaN is larger than every number; zeros are equal.
fn compare(a: Literal, b: Literal) -> Ordering {
    match (a.to_integer(), b.to_integer()) {
        (Some(a), Some(b)) => a.cmp(&b),
        _ => {
            let (a, b) = (a.to_f64(), b.to_f64());
            a.partial_cmp(&b).unwrap_or_else(|| a.is_nan().cmp(&b.is_nan()))
        }
    }
}

fn order(line: &[Literal], descending: bool) -> Vec<Literal> {
    let mut places: Vec<usize> = (0..line.len()).collect();
    places.sort_by(|&a, &b| {
        let order = compare(line[a], line[b]);
        if descending { order.reverse() } else { order }
    });
    places.into_iter().map(|place| Literal::I64(place as i64)).collect()
}

/// By halves, as everywhere: a line that is not sorted has no better answer.
fn search(sorted: &[Literal], values: &[Literal], right: bool) -> Vec<Literal> {
    let before = |element: Literal, value: Literal| match compare(element, value) {
        Ordering::Less => true,
        Ordering::Equal => right,
        Ordering::Greater => false,
    };
    values.iter().map(|&v| Literal::I64(sorted.partition_point(|&element| before(element, v)) as i64)).collect()
}
