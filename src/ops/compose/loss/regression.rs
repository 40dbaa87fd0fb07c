//! Losses of numbers that should be near others.

use super::{Reduction, reduce};
use crate::error::{Error, ErrorKind, Result};
use crate::graph::Node;
use crate::ops::compose::{reduction, together};
use crate::ops::record::Dtypes;

/// The differences, in the dtype that sums are kept in.
#[track_caller]
fn differences(op: &str, x: &Node, target: &Node) -> Result<Node> {
    Dtypes::Float.check(op, x)?;
    together::same(op, x, target)?;
    Ok(&reduction::wide(x)? - &reduction::wide(target)?)
}

/// A width that is a number above 0.
fn check_width(op: &str, what: &str, width: f64, x: &Node) -> Result<()> {
    if width > 0.0 {
        return Ok(());
    }
    Err(Error::new(ErrorKind::Value, op, format!("{what} is {width}: use a number above 0")).made_at("tensor", x.at()))
}

/// `(x - target)²`.
#[track_caller]
pub(crate) fn mse(x: &Node, target: &Node, reduction: Reduction) -> Result<Node> {
    let apart = differences("mse_loss", x, target)?;
    reduce("mse_loss", &(&apart * &apart), reduction)?.cast(x.dtype())
}

/// `|x - target|`; its slope at 0 is 0.
#[track_caller]
pub(crate) fn l1(x: &Node, target: &Node, reduction: Reduction) -> Result<Node> {
    let apart = differences("l1_loss", x, target)?;
    reduce("l1_loss", &apart.abs(), reduction)?.cast(x.dtype())
}

/// `½d²/β` where `d = |x - target|` is below `β`, `d - ½β` beyond.
#[track_caller]
pub(crate) fn smooth_l1(x: &Node, target: &Node, beta: f64, reduction: Reduction) -> Result<Node> {
    let op = "smooth_l1_loss";
    check_width(op, "beta", beta, x)?;
    let apart = differences(op, x, target)?;
    reduce(op, &(&bent(&apart, beta) / beta), reduction)?.cast(x.dtype())
}

/// `½d²` where `d = |x - target|` is below `δ`, `δ(d - ½δ)` beyond.
#[track_caller]
pub(crate) fn huber(x: &Node, target: &Node, delta: f64, reduction: Reduction) -> Result<Node> {
    let op = "huber_loss";
    check_width(op, "delta", delta, x)?;
    let apart = differences(op, x, target)?;
    reduce(op, &bent(&apart, delta), reduction)?.cast(x.dtype())
}

/// A parabola within `width` of 0, straight lines beyond.
#[track_caller]
fn bent(apart: &Node, width: f64) -> Node {
    let size = apart.abs();
    let near = size.lt(&size.fill(width));
    let curve = &(apart * apart) * 0.5;
    let line = &(&size - 0.5 * width) * width;
    curve.or_where_not(&near, &line)
}
