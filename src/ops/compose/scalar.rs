//! Elementwise compositions with constants: clamp, affine, integer powers.

use crate::dtype::Literal;
use crate::error::{Error, ErrorKind, Result};
use crate::graph::Node;
use crate::ops;

/// A constant of `x`'s shape, from a value that must be exact for an integer dtype.
#[track_caller]
pub(crate) fn constant_like(op: &str, x: &Node, value: f64) -> Result<Node> {
    let literal = Literal::from_f64(x.dtype(), value);
    if !x.dtype().is_float() && literal.to_f64() != value {
        let message = format!("{value} is not a value of {}: cast the tensor to a float dtype first", x.dtype());
        return Err(Error::new(ErrorKind::DType, op, message).made_at("tensor", x.at()));
    }
    Node::full(x.shape(), literal)
}

/// A primitive on a tensor and a number.
#[track_caller]
pub(crate) fn with_scalar(primitive: &'static ops::Primitive, x: &Node, value: f64) -> Result<Node> {
    if primitive.name == ops::IDIV.name {
        // 3 / 4.0 is 0.75 to whoever writes it, and an integer division would make it 0.
        let dtype = x.dtype();
        let message = format!("{dtype} cannot be divided by the float {value}: cast the tensor to a float dtype first");
        return Err(Error::new(ErrorKind::DType, "div", message).made_at("tensor", x.at()));
    }
    Node::map(primitive, &[x, &constant_like(primitive.name, x, value)?])
}

/// `min(max(x, low), high)`; where `low > high` the result is `high`. NaN stays.
#[track_caller]
pub(crate) fn clamp(x: &Node, low: Option<Literal>, high: Option<Literal>) -> Result<Node> {
    let mut clamped = x.clone();
    if let Some(low) = low {
        clamped = Node::map(&ops::MAXIMUM, &[&clamped, &Node::full(x.shape(), low)?])?;
    }
    if let Some(high) = high {
        clamped = Node::map(&ops::MINIMUM, &[&clamped, &Node::full(x.shape(), high)?])?;
    }
    Ok(clamped)
}

/// `x` to a power known now. Small whole powers are products, and 0.5 is a square root.
#[track_caller]
pub(crate) fn powf(x: &Node, exponent: f64) -> Result<Node> {
    if exponent == 0.0 {
        // 1 everywhere, also at NaN; the gradient is zero and flows.
        return Node::map(&ops::POW, &[x, &x.fill(0.0)]);
    }
    if exponent == 1.0 {
        return Ok(x.clone());
    }
    if exponent == 2.0 {
        return Node::map(&ops::MUL, &[x, x]);
    }
    if exponent == 3.0 {
        return Node::map(&ops::MUL, &[&(x * x), x]);
    }
    if exponent == 0.5 && x.dtype().is_float() {
        return Node::map(&ops::SQRT, &[x]);
    }
    if exponent == -1.0 {
        return Node::map(&ops::RECIP, &[x]);
    }
    Node::map(&ops::POW, &[x, &x.fill(exponent)])
}

/// `1 / √x`.
#[track_caller]
pub(crate) fn rsqrt(x: &Node) -> Result<Node> {
    Node::map(&ops::RECIP, &[&Node::map(&ops::SQRT, &[x])?])
}

/// `x · x`.
#[track_caller]
pub(crate) fn square(x: &Node) -> Result<Node> {
    Node::map(&ops::MUL, &[x, x])
}
