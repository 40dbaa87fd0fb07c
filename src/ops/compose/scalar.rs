//! Elementwise compositions with constants: clamp, affine, integer powers.

use crate::dtype::Literal;
use crate::error::{Error, ErrorKind, Result};
use crate::graph::Node;
use crate::ops;
use crate::ops::record::Dtypes;

/// A number beside a tensor whose dtype only the run knows.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Number {
    Float(f64),
    Whole(i64),
}

impl Number {
    /// The number in `x`'s dtype. A float beside an integer tensor is an error, whatever its value: `3 / 4.0` is 0.75 to
    /// whoever writes it. So is a whole number that the dtype does not hold.
    pub(crate) fn beside(self, op: &str, x: &Node) -> Result<Literal> {
        let dtype = x.dtype();
        let fail = |message: String| Err(Error::new(ErrorKind::DType, op, message).made_at("tensor", x.at()));
        match self {
            Number::Float(value) if dtype.is_float() => Ok(Literal::from_f64(dtype, value)),
            Number::Float(value) => fail(format!(
                "{dtype} does not take the float {value}: write a whole number, or cast the tensor to a float dtype first"
            )),
            Number::Whole(value) => {
                let literal = Literal::from_integer(dtype, value.into());
                let held = literal.to_integer().unwrap_or(literal.to_f64() as i128) == i128::from(value);
                if held { Ok(literal) } else { fail(format!("{dtype} does not hold {value}: cast the tensor first")) }
            }
        }
    }
}

/// A primitive on a tensor and a number.
#[track_caller]
pub(crate) fn with_scalar(primitive: &'static ops::Primitive, x: &Node, number: Number) -> Result<Node> {
    let number = x.full_like(number.beside(primitive.written(), x)?);
    Node::map_of(primitive, [x.clone(), number])
}

/// `min(max(x, low), high)`; where `low > high` the result is `high`. NaN stays.
#[track_caller]
pub(crate) fn clamp(x: &Node, low: Option<Literal>, high: Option<Literal>) -> Result<Node> {
    let mut clamped = x.clone();
    if let Some(low) = low {
        clamped = Node::map_of(&ops::MAXIMUM, [clamped, x.full_like(low)])?;
    }
    if let Some(high) = high {
        clamped = Node::map_of(&ops::MINIMUM, [clamped, x.full_like(high)])?;
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
        return Node::map(&ops::MUL, &[&Node::map(&ops::MUL, &[x, x])?, x]);
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
    Dtypes::Float.check("rsqrt", x)?;
    Node::map(&ops::RECIP, &[&Node::map(&ops::SQRT, &[x])?])
}

/// `x · x`.
#[track_caller]
pub(crate) fn square(x: &Node) -> Result<Node> {
    Node::map(&ops::MUL, &[x, x])
}
