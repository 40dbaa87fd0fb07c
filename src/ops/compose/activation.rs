//! Activations.

use crate::error::Result;
use crate::graph::Node;
use crate::ops;
use crate::ops::record::Dtypes;
use std::f64::consts::{FRAC_1_SQRT_2, FRAC_2_SQRT_PI};

/// `max(0, x)`: its slope at 0 is 0, since a tie is the first operand's.
#[track_caller]
pub(crate) fn relu(x: &Node) -> Result<Node> {
    Node::map(&ops::MAXIMUM, &[&x.fill(0.0), x])
}

/// `x · sigmoid(x)`.
#[track_caller]
pub(crate) fn silu(x: &Node) -> Result<Node> {
    Dtypes::Float.check("silu", x)?;
    let gate = Node::map(&ops::SIGMOID, &[x])?;
    Ok(x * &gate)
}

/// `x · Φ(x)`, with Φ the normal distribution.
#[track_caller]
pub(crate) fn gelu(x: &Node) -> Result<Node> {
    Dtypes::Float.check("gelu", x)?;
    let erf = Node::map(&ops::ERF, &[&(x * FRAC_1_SQRT_2)])?;
    Ok(&(x * 0.5) * &(&erf + 1.0))
}

/// [`gelu`] by the usual approximation, `½x(1 + tanh z)` with `z = √(2/π)(x + 0.044715x³)`.
#[track_caller]
pub(crate) fn gelu_tanh(x: &Node) -> Result<Node> {
    Dtypes::Float.check("gelu_tanh", x)?;
    let root = FRAC_2_SQRT_PI * FRAC_1_SQRT_2; // √(2/π)
    // ½(1 + tanh z) is sigmoid(2z), which keeps its digits where tanh z is near -1.
    let slope = Node::map(&ops::MUL_ADD, &[&(x * x), &x.fill(2.0 * root * 0.044715), &x.fill(2.0 * root)])?;
    Ok(x * &Node::map(&ops::SIGMOID, &[&(x * &slope)])?)
}

/// `ln(1 + exp(x))`; above 20, where the two are the same to nine digits, `x` itself, as in PyTorch.
#[track_caller]
pub(crate) fn softplus(x: &Node) -> Result<Node> {
    Dtypes::Float.check("softplus", x)?;
    let bound = x.fill(20.0);
    let low = Node::map(&ops::EXP, &[&x.minimum(&bound)])?.log1p();
    Ok(x.or_where_not(&x.gt(&bound), &low))
}
