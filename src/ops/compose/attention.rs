//! Attention, positions for it, and dropout.

use super::contraction::matmul;
use super::norm::softmax;
use super::together::one_dtype;
use super::{create, movement, reduction};
use crate::dtype::{DType, Literal};
use crate::error::{Error, ErrorKind, Result};
use crate::graph::Node;
use crate::ops::record::Dtypes;
use crate::ops::{self};
use crate::shape::{Expr, Shape, broadcast_shapes};

/// Settings of [`scaled_dot_product`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct Attention {
    /// Query `i` sees keys up to `i`.
    pub(crate) causal: bool,
    /// What products are multiplied by; `1 / √width` unless told.
    pub(crate) scale: Option<f64>,
}

/// `softmax(q kᵀ · scale + mask) v` over the last two axes: queries `[.., l, e]`, keys `[.., s, e]`, values `[.., s, w]`.
///
/// A bool mask says which keys are seen, a float one is added; it stretches to `[.., l, s]`. A query that sees no key
/// gives NaN, as in PyTorch.
#[track_caller]
pub(crate) fn scaled_dot_product(
    q: &Node,
    k: &Node,
    v: &Node,
    mask: Option<&Node>,
    settings: Attention,
) -> Result<Node> {
    let op = "scaled_dot_product_attention";
    Dtypes::Float.check(op, q)?;
    one_dtype(op, q, k)?;
    one_dtype(op, q, v)?;
    let shapes = || format!("queries {:?}, keys {:?} and values {:?}", q.shape(), k.shape(), v.shape());
    let fail = |message: String| Err(Error::new(ErrorKind::Shape, op, message).operands(q.at(), k.at()));
    if q.rank() < 2 || k.rank() < 2 || v.rank() < 2 {
        return fail(format!("{} need two axes each: [.., length, width]", shapes()));
    }
    let width = q.shape()[q.rank() - 1];
    if k.shape()[k.rank() - 1] != width {
        return fail(format!("{}: queries and keys must have one width", shapes()));
    }
    if k.shape()[k.rank() - 2] != v.shape()[v.rank() - 2] {
        return fail(format!("{}: there must be as many keys as values", shapes()));
    }
    let scale = settings.scale.unwrap_or(1.0 / (width.max(1) as f64).sqrt());
    let wide = [q, k, v].map(|x| reduction::wide(x));
    let [q_wide, k_wide, v_wide] = wide;
    let (q_wide, k_wide, v_wide) = (q_wide?, k_wide?, v_wide?);
    let mut scores = &matmul(&q_wide, &k_wide.swapped(k.rank() - 2, k.rank() - 1))? * scale;
    if settings.causal {
        let rank = scores.rank();
        let seen = Expr::idx(rank - 1).le(Expr::idx(rank - 2));
        scores = scores.masked(seen, Literal::lowest(scores.dtype()))?;
    }
    if let Some(mask) = mask {
        scores = masked(op, &scores, mask)?;
    }
    matmul(&softmax(&scores, -1)?, &v_wide)?.cast(q.dtype())
}

/// Scores that a mask hides, or changes.
#[track_caller]
fn masked(op: &str, scores: &Node, mask: &Node) -> Result<Node> {
    let fits = broadcast_shapes(op, scores.shape(), mask.shape()).is_ok_and(|together| together[..] == *scores.shape());
    if !fits {
        let message = format!("mask {:?} does not stretch to the scores {:?}", mask.shape(), scores.shape());
        return Err(Error::new(ErrorKind::Shape, op, message).made_at("mask", mask.at()));
    }
    match mask.dtype() {
        DType::Bool => Node::map(&ops::SELECT, &[mask, scores, &scores.fill(f64::NEG_INFINITY)]),
        dtype if dtype.is_float() => Node::map(&ops::ADD, &[scores, &mask.cast(scores.dtype())?]),
        dtype => {
            let message = format!("a mask is bool (true is seen) or float (added), this one is {dtype}: cast it");
            Err(Error::new(ErrorKind::DType, op, message).made_at("mask", mask.at()))
        }
    }
}

/// Rotary positions: pairs of the last axis (its two halves) turned by angles given as cosines and sines, which stretch.
#[track_caller]
pub(crate) fn rotary(x: &Node, cos: &Node, sin: &Node) -> Result<Node> {
    let op = "rotary_embedding";
    Dtypes::Float.check(op, x)?;
    one_dtype(op, x, cos)?;
    one_dtype(op, x, sin)?;
    let width = x.shape().last().copied().unwrap_or(0);
    if x.rank() == 0 || !width.is_multiple_of(2) {
        let message = format!("the last axis of shape {:?} must be even: its halves are turned as pairs", x.shape());
        return Err(Error::new(ErrorKind::Shape, op, message).made_at("tensor", x.at()));
    }
    let half = width / 2;
    let (left, right) = (movement::narrow(x, -1, 0, half)?, movement::narrow(x, -1, half, half)?);
    let angles = |node: &Node| movement::broadcast_as(op, node, left.shape());
    let (cos, sin) = (angles(cos)?, angles(sin)?);
    let first = &(&left * &cos) - &(&right * &sin);
    let second = &(&right * &cos) + &(&left * &sin);
    Node::concat(op, &[&first, &second], -1)
}

/// Each element 0 with probability `p`, the others larger by `1 / (1 - p)`. The last axes of `together` elements share
/// their fate.
#[track_caller]
pub(crate) fn dropout(op: &str, x: &Node, p: f64, together: usize) -> Result<Node> {
    Dtypes::Float.check(op, x)?;
    if !(0.0..=1.0).contains(&p) {
        let message = format!("{p} is not a probability: use 0 to 1");
        return Err(Error::new(ErrorKind::Value, op, message).made_at("tensor", x.at()));
    }
    if p == 0.0 {
        return Ok(x.clone());
    }
    let drawn: Shape =
        x.shape().iter().enumerate().map(|(k, &size)| if k + together < x.rank() { size } else { 1 }).collect();
    let drawn = create::rand(&drawn, DType::F32)?;
    let kept = drawn.ge(&drawn.fill(p)).broadcast_to(x.shape())?;
    Ok((x * if p < 1.0 { 1.0 / (1.0 - p) } else { 0.0 }).keep_where(&kept))
}
