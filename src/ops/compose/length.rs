//! Lengths of vectors: p-norms, and vectors of length one.

use super::reduction::{self, AxesArg, resolve};
use crate::error::{Error, ErrorKind, Result};
use crate::graph::{Node, ReduceKind};
use crate::ops;
use crate::ops::record::Dtypes;
use crate::shape::Shape;
use smallvec::SmallVec;

/// `(Σ |x|ᵖ)^(1/p)` along axes; `p = ∞` is the largest, `-∞` the smallest, 0 the number of elements that are not 0.
/// Where the length is 0 its slope is 0.
#[track_caller]
pub(crate) fn norm(op: &'static str, x: &Node, p: f64, axes: AxesArg<'_>, keepdim: bool) -> Result<Node> {
    Dtypes::Float.check(op, x)?;
    if p.is_nan() {
        return Err(Error::new(ErrorKind::Value, op, "the order p is NaN: use a number").made_at("tensor", x.at()));
    }
    let axes: SmallVec<[isize; 6]> = resolve(op, x, axes)?.iter().map(|&axis| axis as isize).collect();
    let wide = reduction::wide(x)?;
    let size = wide.abs();
    let sum = |x: &Node| x.reduce(op, ReduceKind::Sum, &axes, keepdim);
    let length = if p == f64::INFINITY {
        size.reduce(op, ReduceKind::Max, &axes, keepdim)?
    } else if p == f64::NEG_INFINITY {
        size.reduce(op, ReduceKind::Min, &axes, keepdim)?
    } else if p == 0.0 {
        sum(&wide.ne(&wide.fill(0.0)).cast(wide.dtype())?)?
    } else if p == 1.0 {
        sum(&size)?
    } else if p == 2.0 {
        euclidean(op, &wide, &axes, keepdim)?
    } else {
        general(op, &wide, p, &axes, keepdim)?
    };
    length.cast(x.dtype())
}

/// `√Σ x²`, with the slope `x / length`.
#[track_caller]
fn euclidean(op: &'static str, x: &Node, axes: &[isize], keepdim: bool) -> Result<Node> {
    let length = (x * x).reduce(op, ReduceKind::Sum, axes, true)?.sqrt();
    let axes: SmallVec<[isize; 6]> = axes.into();
    let value = length.with_shortcut(op, &[x], |g, x, y| {
        let there = y.ne(&y.fill(0.0));
        let safe = y.or_where_not(&there, &y.fill(1.0));
        Ok(vec![&x[0] * &(g / &safe).keep_where(&there)])
    });
    drop_axes(op, value, &axes, keepdim)
}

/// `(Σ |x|ᵖ)^(1/p)`, with the slope `sign(x) (|x| / length)^(p - 1)`.
#[track_caller]
fn general(op: &'static str, x: &Node, p: f64, axes: &[isize], keepdim: bool) -> Result<Node> {
    let power = |x: &Node, p: f64| super::scalar::powf(x, p);
    let length = power(&power(&x.abs(), p)?.reduce(op, ReduceKind::Sum, axes, true)?, 1.0 / p)?;
    let value = length.with_shortcut(op, &[x], move |g, x, y| {
        let there = x[0].ne(&x[0].fill(0.0)).and(&y.ne(&y.fill(0.0)).broadcast_to(x[0].shape())?);
        let one = x[0].fill(1.0);
        let share = Node::map(&ops::SELECT, &[&there, &(&x[0].abs() / y), &one])?;
        let slope = &super::scalar::powf(&share, p - 1.0)? * &x[0].sign();
        Ok(vec![g * &slope.keep_where(&there)])
    });
    drop_axes(op, value, axes, keepdim)
}

/// Axes of size 1 taken away, unless they are to stay.
#[track_caller]
fn drop_axes(op: &str, x: Node, axes: &[isize], keepdim: bool) -> Result<Node> {
    if keepdim {
        return Ok(x);
    }
    let gone = resolve(op, &x, Some(axes))?;
    let kept: Shape = (0..x.rank()).filter(|axis| !gone.contains(axis)).map(|axis| x.shape()[axis]).collect();
    Ok(x.reshaped(&kept))
}

/// `x / max(length, eps)` along an axis.
#[track_caller]
pub(crate) fn normalize(x: &Node, p: f64, axis: isize, eps: f64) -> Result<Node> {
    let op = "normalize";
    let length = norm(op, x, p, Some(&[axis]), true)?;
    let length = Node::map(&ops::MAXIMUM, &[&length, &length.fill(eps)])?;
    Ok(x / &length)
}
