//! Softmax and the normalisations over trailing axes.

use super::reduction;
use crate::error::{Error, ErrorKind, Result};
use crate::graph::{Node, ReduceKind};
use crate::ops;
use crate::ops::record::Dtypes;
use crate::shape::normalize_axis;
use smallvec::SmallVec;

/// `exp(x - max) / Σ exp(x - max)` along an axis.
#[track_caller]
pub(crate) fn softmax(x: &Node, axis: isize) -> Result<Node> {
    let Some((wide, shifted)) = shifted("softmax", x, axis)? else { return Ok(x.exp()) };
    let exponentials = shifted.exp_below();
    let sum = exponentials.reduce("softmax", ReduceKind::Sum, &[axis], true)?;
    // y(g - Σ g·y): fewer roundings, and less work, than the way through the quotient and the sum.
    let share = Node::map(&ops::RECIP, &[&sum])?; // once a row: a product is several times quicker than a quotient
    let quotient = (&exponentials * &share).with_shortcut("softmax", &[&wide], move |g, _, y| {
        let along = (g * y).reduce("softmax", ReduceKind::Sum, &[axis], true)?;
        Ok(vec![y * &(g - &along)])
    });
    quotient.cast(x.dtype())
}

/// `x - logsumexp(x)` along an axis.
#[track_caller]
pub(crate) fn log_softmax(x: &Node, axis: isize) -> Result<Node> {
    let Some((_, shifted)) = shifted("log_softmax", x, axis)? else { return Ok(x.exp()) };
    let sum = shifted.exp_below().reduce("log_softmax", ReduceKind::Sum, &[axis], true)?;
    (&shifted - &sum.ln()).cast(x.dtype())
}

/// `x` in the dtype sums are kept in, and that less its largest element along an axis; `None` when there are no elements.
#[track_caller]
fn shifted(op: &str, x: &Node, axis: isize) -> Result<Option<(Node, Node)>> {
    normalize_axis(op, axis, x.shape()).map_err(|error| error.made_at("tensor", x.at()))?;
    Dtypes::Float.check(op, x)?;
    if x.len() == 0 {
        return Ok(None);
    }
    let wide = reduction::wide(x)?;
    let shifted = &wide - &reduction::largest(op, &wide, &[axis])?;
    Ok(Some((wide, shifted)))
}

/// The trailing axes a normalisation runs over, after checking that `x` ends in `shape`.
fn trailing(op: &str, x: &Node, shape: &[usize]) -> Result<SmallVec<[isize; 6]>> {
    Dtypes::Float.check(op, x)?;
    if shape.is_empty() || !x.shape().ends_with(shape) {
        let message = format!("shape {:?} does not end in the normalised shape {shape:?}", x.shape());
        return Err(Error::new(ErrorKind::Shape, op, message).made_at("tensor", x.at()));
    }
    Ok((1..=shape.len() as isize).rev().map(|k| -k).collect())
}

/// Scales and shifts, with parameters of exactly the normalised shape.
#[track_caller]
fn scale_and_shift(op: &str, x: Node, shape: &[usize], weight: Option<&Node>, bias: Option<&Node>) -> Result<Node> {
    for (what, parameter) in [("weight", weight), ("bias", bias)] {
        let Some(parameter) = parameter else { continue };
        if parameter.shape() != shape {
            let message = format!("{what} has shape {:?}, not the normalised shape {shape:?}", parameter.shape());
            return Err(Error::new(ErrorKind::Shape, op, message).made_at(what, parameter.at()));
        }
    }
    let mut result = x;
    if let Some(weight) = weight {
        result = Node::map(&crate::ops::MUL, &[&result, weight])?;
    }
    if let Some(bias) = bias {
        result = Node::map(&crate::ops::ADD, &[&result, bias])?;
    }
    Ok(result)
}

/// `1 / √(x + eps)`, once a row.
#[track_caller]
fn one_over_root(x: &Node, eps: f64) -> Result<Node> {
    Node::map(&ops::RECIP, &[&(x + eps).sqrt()])
}

/// `(x - mean) / √(var + eps) · weight + bias` over the trailing axes of `shape`.
#[track_caller]
pub(crate) fn layer_norm(
    x: &Node,
    shape: &[usize],
    weight: Option<&Node>,
    bias: Option<&Node>,
    eps: f64,
) -> Result<Node> {
    let op = "layer_norm";
    let axes = trailing(op, x, shape)?;
    let wide = reduction::wide(x)?;
    let centred = &wide - &reduction::mean(op, &wide, Some(&axes), true)?;
    let variance = reduction::mean(op, &(&centred * &centred), Some(&axes), true)?;
    let normal = (&centred * &one_over_root(&variance, eps)?).cast(x.dtype())?;
    scale_and_shift(op, normal, shape, weight, bias)
}

/// `x / √(mean(x²) + eps) · weight` over the trailing axes of `shape`.
#[track_caller]
pub(crate) fn rms_norm(x: &Node, shape: &[usize], weight: Option<&Node>, eps: f64) -> Result<Node> {
    let op = "rms_norm";
    let axes = trailing(op, x, shape)?;
    let wide = reduction::wide(x)?;
    let squares = reduction::mean(op, &(&wide * &wide), Some(&axes), true)?;
    let normal = (&wide * &one_over_root(&squares, eps)?).cast(x.dtype())?;
    scale_and_shift(op, normal, shape, weight, None)
}
