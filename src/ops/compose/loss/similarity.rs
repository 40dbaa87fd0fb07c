//! How alike directions are.

use super::{Reduction, reduce};
use crate::error::Result;
use crate::graph::{Node, ReduceKind};
use crate::ops;
use crate::ops::compose::movement::axis_of;
use crate::ops::compose::{activation, reduction, together};
use crate::ops::record::Dtypes;

/// `a · b / (max(|a|, eps) max(|b|, eps))` along an axis.
#[track_caller]
pub(crate) fn cosine(op: &str, a: &Node, b: &Node, axis: isize, eps: f64) -> Result<Node> {
    Dtypes::Float.check(op, a)?;
    let (left, right) = together::pair(op, a, b)?;
    axis_of(op, &left, axis)?;
    let (left, right) = (reduction::wide(&left)?, reduction::wide(&right)?);
    let sum = |product: &Node| product.reduce(op, ReduceKind::Sum, &[axis], false);
    let length = |x: &Node| -> Result<Node> {
        let square = sum(&(x * x))?;
        Ok(Node::map(&ops::MAXIMUM, &[&square.fill(eps * eps), &square])?.sqrt())
    };
    (&sum(&(&left * &right))? / &(&length(&left)? * &length(&right)?)).cast(a.dtype())
}

/// `1 - cos` where the target is 1, `max(0, cos - margin)` where it is -1; vectors along the last axis.
#[track_caller]
pub(crate) fn cosine_embedding(a: &Node, b: &Node, target: &Node, margin: f64, reduction: Reduction) -> Result<Node> {
    let op = "cosine_embedding_loss";
    let cosine = cosine(op, a, b, -1, 1e-8)?;
    together::same(op, &cosine, target)?;
    let (cosine, target) = (reduction::wide(&cosine)?, reduction::wide(target)?);
    let alike = 1.0 - &cosine;
    let other = activation::relu(&(&cosine - margin))?;
    let losses = &alike.keep_where(&target.eq(&target.fill(1.0))) + &other.keep_where(&target.eq(&target.fill(-1.0)));
    reduce(op, &losses, reduction)?.cast(a.dtype())
}

/// `max(0, |a - p| - |a - n| + margin)` along the last axis: the anchor should be nearer to the positive than to the
/// negative.
#[track_caller]
pub(crate) fn triplet(
    anchor: &Node,
    positive: &Node,
    negative: &Node,
    margin: f64,
    reduction: Reduction,
) -> Result<Node> {
    let op = "triplet_margin_loss";
    Dtypes::Float.check(op, anchor)?;
    together::same(op, anchor, positive)?;
    together::same(op, anchor, negative)?;
    axis_of(op, anchor, -1)?;
    let anchor_wide = reduction::wide(anchor)?;
    let distance = |other: &Node| -> Result<Node> {
        let apart = &(&anchor_wide - &reduction::wide(other)?) + 1e-6; // no root is taken at 0
        Ok((&apart * &apart).reduce(op, ReduceKind::Sum, &[-1], false)?.sqrt())
    };
    let short = activation::relu(&(&(&distance(positive)? - &distance(negative)?) + margin))?;
    reduce(op, &short, reduction)?.cast(anchor.dtype())
}
