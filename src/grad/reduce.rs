//! The derivatives of reductions.

use crate::dtype::{DType, Literal};
use crate::error::Result;
use crate::graph::{Lookup, Node, ReduceKind, SliceRange};
use crate::ops;
use crate::shape::Shape;
use smallvec::SmallVec;

/// A node of the reduced shape, stretched back over the reduced axes.
fn stretched(node: &Node, input: &Node, axes: &[usize]) -> Result<Node> {
    let kept: Shape =
        input.shape().iter().enumerate().map(|(k, &size)| if axes.contains(&k) { 1 } else { size }).collect();
    node.reshaped(&kept).broadcast_to(input.shape())
}

/// Each summand gets the gradient of the sum.
pub(super) fn sum(g: &Node, input: &Node, axes: &[usize]) -> Result<Node> {
    stretched(g, input, axes)
}

/// Elements equal to the largest (or smallest) share the gradient equally.
///
/// The shares are counted as integers and divided in 32 bits or more, so that many ties do not overflow an `f16`.
pub(super) fn extreme(g: &Node, input: &Node, result: &Node, axes: &[usize]) -> Result<Node> {
    let best = stretched(result, input, axes)?;
    let hit = Node::map(&ops::BITOR, &[&input.eq(&best), &input.ne(input)])?;
    let signed: SmallVec<[isize; 6]> = axes.iter().map(|&axis| axis as isize).collect();
    let count = hit.cast(DType::I64)?.reduce("max", ReduceKind::Sum, &signed, true)?.reshaped(result.shape());
    let wide = ops::accumulator(g.dtype());
    let share = (&g.cast(wide)? / &count.cast(wide)?).cast(g.dtype())?;
    Ok(stretched(&share, input, axes)?.keep_where(&hit))
}

/// Each factor gets the product of all the others, exact also where factors are zero, and so are its derivatives.
///
/// The others are those before times those after: two running products, each in log n steps of "times the one `k` back".
pub(super) fn prod(g: &Node, input: &Node, axes: &[usize]) -> Result<Node> {
    // Reduced axes last and flattened: [kept.., n].
    let kept: SmallVec<[usize; 6]> = (0..input.rank()).filter(|axis| !axes.contains(axis)).collect();
    let order: SmallVec<[usize; 6]> = kept.iter().chain(axes).copied().collect();
    let turned = input.permuted(&order);
    let n: usize = axes.iter().map(|&axis| input.shape()[axis]).product();
    let shape: Shape = kept.iter().map(|&axis| input.shape()[axis]).chain([n]).collect();
    let factors = turned.reshaped(&shape);
    let others = &running(&factors, true)? * &running(&factors, false)?;
    let mut inverse: SmallVec<[usize; 6]> = SmallVec::from_elem(0, order.len());
    for (place, &axis) in order.iter().enumerate() {
        inverse[axis] = place;
    }
    let others = others.reshaped(turned.shape()).permuted(&inverse);
    Ok(&stretched(g, input, axes)? * &others)
}

/// The product of all elements before each (or after each) along the last axis.
fn running(factors: &Node, before: bool) -> Result<Node> {
    let n = factors.shape()[factors.rank() - 1];
    let mut product = shifted(factors, 1.min(n), before)?;
    let mut distance = 1;
    while distance < n {
        product = &product * &shifted(&product, distance, before)?;
        distance *= 2;
    }
    Ok(product)
}

/// The last axis moved by `distance` towards the end (or the start), with ones coming in.
fn shifted(x: &Node, distance: usize, towards_end: bool) -> Result<Node> {
    let last = x.rank() - 1;
    let len = x.shape()[last] - distance;
    let mut ranges = crate::graph::build::whole_ranges(x.shape());
    ranges[last] = SliceRange { start: if towards_end { 0 } else { distance }, step: 1, len };
    let mut padding: SmallVec<[(usize, usize); 6]> = SmallVec::from_elem((0, 0), x.rank());
    padding[last] = if towards_end { (distance, 0) } else { (0, distance) };
    x.sliced(&ranges).padded(&padding, Literal::one(x.dtype()))
}

/// The gradient of what a scatter put together at each place, for what went there.
pub(super) fn scatter(
    g: &Node,
    index: &Node,
    source: &Node,
    result: &Node,
    axis: usize,
    (kind, lookup): (ReduceKind, Lookup),
) -> Result<Node> {
    let look = |node: &Node| node.gather_by(lookup, index, axis);
    let sum = |node: &Node| node.scatter(ReduceKind::Sum, lookup, index, axis, result.shape());
    match kind {
        ReduceKind::Sum => look(g),
        ReduceKind::Max | ReduceKind::Min => {
            // As for a reduction: those that are as large share, and their number is counted as an integer.
            let hit = Node::map(&ops::BITOR, &[&source.eq(&look(result)?), &source.ne(source)])?;
            let wide = ops::accumulator(g.dtype());
            let count = sum(&hit.cast(DType::I64)?)?;
            let share = (&g.cast(wide)? / &count.cast(wide)?).cast(g.dtype())?;
            Ok(look(&share)?.keep_where(&hit))
        }
        ReduceKind::Prod => {
            // The product of the others: without a zero the product over the factor, beside one zero that of the rest.
            let wide = ops::accumulator(g.dtype());
            let factor = source.cast(wide)?;
            let is_zero = factor.eq(&factor.fill(0.0));
            let others = factor.fill(1.0).or_where_not(&is_zero, &factor);
            let product = others.scatter(ReduceKind::Prod, lookup, index, axis, result.shape())?;
            let zeros = look(&sum(&is_zero.cast(DType::I64)?)?)?;
            let alone = zeros.eq(&is_zero.cast(DType::I64)?);
            let rest = (&look(&product)? / &others).keep_where(&alone);
            (&look(g)?.cast(wide)? * &rest).cast(g.dtype())
        }
    }
}
