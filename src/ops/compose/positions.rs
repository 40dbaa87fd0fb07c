//! What goes with attention: positions, and dropout.

use super::together::one_dtype;
use super::{create, movement};
use crate::dtype::DType;
use crate::error::{Error, ErrorKind, Result};
use crate::graph::Node;
use crate::ops::record::Dtypes;
use crate::shape::Shape;

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
    if together > x.rank() {
        let message = format!("shape {:?} has fewer than {together} axes", x.shape());
        return Err(Error::new(ErrorKind::Shape, op, message).made_at("tensor", x.at()));
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
