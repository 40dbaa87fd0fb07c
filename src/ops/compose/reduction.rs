//! Reductions composed from sum, product, maximum and minimum.

use crate::dtype::{DType, Literal};
use crate::error::Result;
use crate::graph::{Node, ReduceKind};
use crate::ops;
use crate::ops::record::Dtypes;
use crate::shape::{Shape, len_of, normalize_axes};
use smallvec::SmallVec;

/// Axes from the caller: `None` means all.
pub(crate) type AxesArg<'a> = Option<&'a [isize]>;

/// The axes as the node has them.
pub(crate) fn resolve(op: &str, x: &Node, axes: AxesArg<'_>) -> Result<SmallVec<[usize; 6]>> {
    match axes {
        Some(axes) => normalize_axes(op, axes, x.shape()).map_err(|error| error.made_at("tensor", x.at())),
        None => Ok((0..x.rank()).collect()),
    }
}

fn signed(axes: &[usize]) -> SmallVec<[isize; 6]> {
    axes.iter().map(|&axis| axis as isize).collect()
}

/// The number of elements that become one.
fn extent(x: &Node, axes: &[usize]) -> usize {
    len_of(&axes.iter().map(|&axis| x.shape()[axis]).collect::<Shape>())
}

/// The node in the dtype that sums are kept in. A sum of 16-bit floats is a number they may not hold (65504 is the largest
/// `f16`), though the mean is one: what has a sum inside is done in 32 bits and rounded at the end.
#[track_caller]
pub(super) fn wide(x: &Node) -> Result<Node> {
    x.cast(ops::accumulator(x.dtype()))
}

/// A primitive reduction.
#[track_caller]
pub(crate) fn reduce(op: &str, kind: ReduceKind, x: &Node, axes: AxesArg<'_>, keepdim: bool) -> Result<Node> {
    match axes {
        Some(axes) => x.reduce(op, kind, axes, keepdim),
        None => x.reduce_all(op, kind),
    }
}

/// The sum over the number of elements; NaN for none.
#[track_caller]
pub(crate) fn mean(op: &str, x: &Node, axes: AxesArg<'_>, keepdim: bool) -> Result<Node> {
    Dtypes::Float.check(op, x)?;
    let axes = resolve(op, x, axes)?;
    let sum = wide(x)?.reduce(op, ReduceKind::Sum, &signed(&axes), keepdim)?;
    (&sum / extent(x, &axes) as f64).cast(x.dtype())
}

/// The mean squared distance from the mean, with `n - correction` in place of `n`.
#[track_caller]
pub(crate) fn var(op: &str, x: &Node, axes: AxesArg<'_>, correction: f64, keepdim: bool) -> Result<Node> {
    Dtypes::Float.check(op, x)?;
    wide_var(op, &wide(x)?, axes, correction, keepdim)?.cast(x.dtype())
}

#[track_caller]
fn wide_var(op: &str, x: &Node, axes: AxesArg<'_>, correction: f64, keepdim: bool) -> Result<Node> {
    let axes = signed(&resolve(op, x, axes)?);
    let count = extent(x, &resolve(op, x, Some(&axes))?) as f64;
    let centre = mean(op, x, Some(&axes), true)?;
    let away = x - &centre;
    let squares = (&away * &away).reduce(op, ReduceKind::Sum, &axes, keepdim)?;
    let divisor = (count - correction).max(0.0);
    let kept = Shape::from_slice(centre.shape());
    // The way through the mean adds up to nothing, so the slope is 2(x - mean) / divisor.
    Ok((&squares / divisor).with_shortcut("var", &[x], move |g, x, _| {
        let away = &x[0] - &mean("var", &x[0], Some(&axes), true)?;
        Ok(vec![&away * &(&g.reshaped(&kept) * (2.0 / divisor))])
    }))
}

/// The square root of [`var`].
#[track_caller]
pub(crate) fn std(op: &str, x: &Node, axes: AxesArg<'_>, correction: f64, keepdim: bool) -> Result<Node> {
    Dtypes::Float.check(op, x)?;
    wide_var(op, &wide(x)?, axes, correction, keepdim)?.sqrt().cast(x.dtype())
}

/// The largest element as a shift for exponentials, without a gradient. Less an infinite one, some element is NaN, and none is above 0.
#[track_caller]
pub(super) fn largest(op: &str, x: &Node, axes: &[isize]) -> Result<Node> {
    x.detach().reduce(op, ReduceKind::Max, axes, true)
}

/// The same, and 0 where it is not finite.
#[track_caller]
fn shift(op: &str, x: &Node, axes: &[isize]) -> Result<Node> {
    let largest = largest(op, x, axes)?;
    let finite = largest.abs().lt(&largest.fill(f64::INFINITY));
    Ok(largest.keep_where(&finite))
}

/// `ln Σ exp(x)`, without overflow.
#[track_caller]
pub(crate) fn logsumexp(op: &str, x: &Node, axes: AxesArg<'_>, keepdim: bool) -> Result<Node> {
    Dtypes::Float.check(op, x)?;
    let axes = resolve(op, x, axes)?;
    let signed_axes = signed(&axes);
    if extent(x, &axes) == 0 {
        // The sum of nothing is 0, its logarithm -inf.
        return Ok(x.reduce(op, ReduceKind::Sum, &signed_axes, keepdim)?.ln());
    }
    let wide = wide(x)?;
    let shift = shift(op, &wide, &signed_axes)?;
    let sum = (&wide - &shift).exp().reduce(op, ReduceKind::Sum, &signed_axes, keepdim)?;
    let shift = shift.reshaped(sum.shape());
    (&sum.ln() + &shift).cast(x.dtype())
}

/// Whether any element is not zero.
#[track_caller]
pub(crate) fn any(op: &str, x: &Node, axes: AxesArg<'_>, keepdim: bool) -> Result<Node> {
    reduce(op, ReduceKind::Max, &x.cast(DType::Bool)?, axes, keepdim)
}

/// Whether every element is not zero.
#[track_caller]
pub(crate) fn all(op: &str, x: &Node, axes: AxesArg<'_>, keepdim: bool) -> Result<Node> {
    reduce(op, ReduceKind::Min, &x.cast(DType::Bool)?, axes, keepdim)
}

/// The position of the first largest (or smallest) element along one axis, or of all elements in row-major order.
/// NaN counts as the one looked for, as in PyTorch.
#[track_caller]
pub(crate) fn arg(op: &'static str, kind: ReduceKind, x: &Node, axis: Option<isize>, keepdim: bool) -> Result<Node> {
    let axes = match axis {
        Some(axis) => resolve(op, x, Some(&[axis]))?,
        None => resolve(op, x, None)?,
    };
    let signed_axes = signed(&axes);
    let x = x.left_behind(op, "a position does not change by a little");
    let best = x.reduce(op, kind, &signed_axes, true)?;
    let mut hit = x.eq(&best);
    if x.dtype().is_float() {
        hit = Node::map(&ops::BITOR, &[&hit, &x.ne(&x)])?;
    }
    let positions = Node::positions(extent(&x, &axes))?;
    let along: Shape = (0..x.rank()).map(|k| if axes.contains(&k) { x.shape()[k] } else { 1 }).collect();
    let positions = positions.reshaped(&along).broadcast_to(x.shape())?;
    let nowhere = Node::full(x.shape(), Literal::I64(i64::MAX))?;
    positions.or_where_not(&hit, &nowhere).reduce(op, ReduceKind::Min, &signed_axes, keepdim)
}
