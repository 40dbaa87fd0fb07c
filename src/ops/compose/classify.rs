//! Which floats are numbers: NaN, infinities, and what takes their place.

use crate::dtype::{DType, Literal};
use crate::error::Result;
use crate::graph::Node;
use crate::ops;
use crate::ops::record::Dtypes;

/// The same answer everywhere.
#[track_caller]
fn everywhere(x: &Node, answer: bool) -> Result<Node> {
    Node::full(x.shape(), Literal::Bool(answer))
}

/// Whether each element is NaN. Integers and bools never are.
#[track_caller]
pub(crate) fn isnan(x: &Node) -> Result<Node> {
    if x.dtype().is_float() { Node::map(&ops::NE, &[x, x]) } else { everywhere(x, false) }
}

/// Whether each element is +∞ or -∞.
#[track_caller]
pub(crate) fn isinf(x: &Node) -> Result<Node> {
    if !x.dtype().is_float() {
        return everywhere(x, false);
    }
    Node::map(&ops::EQ, &[&x.abs(), &x.fill(f64::INFINITY)])
}

/// Whether each element is neither NaN nor infinite.
#[track_caller]
pub(crate) fn isfinite(x: &Node) -> Result<Node> {
    if !x.dtype().is_float() {
        return everywhere(x, true);
    }
    Node::map(&ops::LT, &[&x.abs(), &x.fill(f64::INFINITY)])
}

/// Whether each element is +∞.
#[track_caller]
pub(crate) fn isposinf(x: &Node) -> Result<Node> {
    if x.dtype().is_float() { Node::map(&ops::EQ, &[x, &x.fill(f64::INFINITY)]) } else { everywhere(x, false) }
}

/// Whether each element is -∞.
#[track_caller]
pub(crate) fn isneginf(x: &Node) -> Result<Node> {
    if x.dtype().is_float() { Node::map(&ops::EQ, &[x, &x.fill(f64::NEG_INFINITY)]) } else { everywhere(x, false) }
}

/// The largest finite number of a float dtype.
fn largest(dtype: DType) -> f64 {
    match dtype {
        DType::F16 => 65504.0,
        DType::BF16 => 3.3895313892515355e38,
        DType::F32 => f64::from(f32::MAX),
        _ => f64::MAX,
    }
}

/// NaN and the infinities replaced; `None` for an infinity means the largest (or lowest) finite number.
#[track_caller]
pub(crate) fn nan_to_num(x: &Node, nan: f64, above: Option<f64>, below: Option<f64>) -> Result<Node> {
    Dtypes::Float.check("nan_to_num", x)?;
    let most = largest(x.dtype());
    let lower = x.or_where_not(&isneginf(x)?.not(), &x.fill(below.unwrap_or(-most)));
    let upper = lower.or_where_not(&isposinf(x)?.not(), &x.fill(above.unwrap_or(most)));
    Ok(upper.or_where_not(&isnan(x)?.not(), &x.fill(nan)))
}
