//! Activations.

use super::movement::{axis_of, narrow};
use super::together::one_dtype;
use crate::dtype::DType;
use crate::error::{Error, ErrorKind, Result};
use crate::graph::Node;
use crate::ops;
use crate::ops::record::Dtypes;
use crate::shape::Shape;
use std::f64::consts::FRAC_1_SQRT_2;

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

/// `ln(1 + exp(x))`; above 20, where the two are the same to nine digits, `x` itself, as in PyTorch.
#[track_caller]
pub(crate) fn softplus(x: &Node) -> Result<Node> {
    Dtypes::Float.check("softplus", x)?;
    // In twice the digits: an exponential that is a little off shows in the last digit of its logarithm.
    let wide = if x.dtype() == DType::F32 { x.cast(DType::F64)? } else { x.clone() };
    let low = (&relu(&wide)? + &(-&wide.abs()).exp_below().log1p()).cast(x.dtype())?;
    let bound = x.fill(20.0);
    // Its slope is the sigmoid: fewer roundings than through the exponential and the logarithm.
    Ok(x.or_where_not(&x.gt(&bound), &low).with_shortcut("softplus", &[x], |g, x, _| {
        let slope = Node::map(&ops::SIGMOID, &[&x[0]])?;
        Ok(vec![g * &slope.fill(1.0).or_where_not(&x[0].gt(&x[0].fill(20.0)), &slope)])
    }))
}

/// `softplus(beta · x) / beta`: the larger `beta`, the closer to relu.
#[track_caller]
pub(crate) fn softplus_with(x: &Node, beta: f64) -> Result<Node> {
    Dtypes::Float.check("softplus", x)?;
    Ok(&softplus(&(x * beta))? / beta)
}

/// The larger of 0 and `x`, and the smaller: a bend at 0 whose slope there is the smaller one's.
#[track_caller]
fn halves(op: &str, x: &Node) -> Result<(Node, Node)> {
    Dtypes::Float.check(op, x)?;
    Ok((relu(x)?, x.minimum(&x.fill(0.0))))
}

/// `x` above 0, `alpha · (eˣ - 1)` below.
#[track_caller]
pub(crate) fn elu(x: &Node, alpha: f64) -> Result<Node> {
    let (above, below) = halves("elu", x)?;
    Ok(&above + &(&Node::map(&ops::EXPM1, &[&below])? * alpha))
}

/// `x` above 0, `alpha · (e^(x / alpha) - 1)` below: an elu without a kink.
#[track_caller]
pub(crate) fn celu(x: &Node, alpha: f64) -> Result<Node> {
    let (above, below) = halves("celu", x)?;
    Ok(&above + &(&Node::map(&ops::EXPM1, &[&(&below / alpha)])? * alpha))
}

/// The elu that keeps mean 0 and variance 1 from layer to layer (Klambauer and others, 2017).
#[track_caller]
pub(crate) fn selu(x: &Node) -> Result<Node> {
    const ALPHA: f64 = 1.6732632423543772;
    const SCALE: f64 = 1.0507009873554805;
    let (above, below) = halves("selu", x)?;
    Ok(&(&above * SCALE) + &(&Node::map(&ops::EXPM1, &[&below])? * (SCALE * ALPHA)))
}

/// `x` above 0, `slope · x` below.
#[track_caller]
pub(crate) fn leaky_relu(x: &Node, slope: f64) -> Result<Node> {
    Dtypes::Float.check("leaky_relu", x)?;
    Ok(x.or_where_not(&x.gt(&x.fill(0.0)), &(x * slope)))
}

/// `x` above 0, `weight · x` below: one weight, or one for each channel (axis 1).
#[track_caller]
pub(crate) fn prelu(x: &Node, weight: &Node) -> Result<Node> {
    Dtypes::Float.check("prelu", x)?;
    one_dtype("prelu", x, weight)?;
    let channels = if x.rank() > 1 { x.shape()[1] } else { 1 };
    if weight.rank() > 1 || (weight.len() != 1 && weight.len() != channels) {
        let message = format!(
            "weight has shape {:?}: give one number, or one for each of the {channels} channels of shape {:?}",
            weight.shape(),
            x.shape()
        );
        return Err(Error::new(ErrorKind::Shape, "prelu", message).operands(x.at(), weight.at()));
    }
    let mut along = Shape::from_elem(1, x.rank().max(1));
    if weight.len() != 1 {
        along[1] = channels;
    }
    let weight = weight.reshaped(&along[..x.rank().max(usize::from(weight.len() != 1))]);
    Node::map(&ops::SELECT, &[&x.gt(&x.fill(0.0)), x, &(x * &weight)])
}

/// `x` kept between two numbers; its slope at both is 0.
#[track_caller]
pub(crate) fn hardtanh(x: &Node, low: f64, high: f64) -> Result<Node> {
    Dtypes::Float.check("hardtanh", x)?;
    let above = Node::map(&ops::MAXIMUM, &[&x.fill(low), x])?;
    Node::map(&ops::MINIMUM, &[&x.fill(high), &above])
}

/// `min(max(0, x), 6)`.
#[track_caller]
pub(crate) fn relu6(x: &Node) -> Result<Node> {
    Dtypes::Float.check("relu6", x)?;
    hardtanh(x, 0.0, 6.0)
}

/// `relu6(x + 3) / 6`: a sigmoid of three lines.
#[track_caller]
pub(crate) fn hardsigmoid(x: &Node) -> Result<Node> {
    Dtypes::Float.check("hardsigmoid", x)?;
    Ok(&relu6(&(x + 3.0))? / 6.0)
}

/// `x · hardsigmoid(x)`.
#[track_caller]
pub(crate) fn hardswish(x: &Node) -> Result<Node> {
    Dtypes::Float.check("hardswish", x)?;
    Ok(x * &hardsigmoid(x)?)
}

/// `x · tanh(softplus(x))`.
#[track_caller]
pub(crate) fn mish(x: &Node) -> Result<Node> {
    Dtypes::Float.check("mish", x)?;
    Ok(x * &Node::map(&ops::TANH, &[&softplus(x)?])?)
}

/// `x / (1 + |x|)`.
#[track_caller]
pub(crate) fn softsign(x: &Node) -> Result<Node> {
    Dtypes::Float.check("softsign", x)?;
    // Its slope is 1 / (1 + |x|)², at 0 as elsewhere.
    Ok((x / &(&x.abs() + 1.0)).with_shortcut("softsign", &[x], |g, x, _| {
        let root = &x[0].abs() + 1.0;
        Ok(vec![g / &(&root * &root)])
    }))
}

/// `ln sigmoid(x)`, without underflow.
#[track_caller]
pub(crate) fn logsigmoid(x: &Node) -> Result<Node> {
    Dtypes::Float.check("logsigmoid", x)?;
    let value = &x.minimum(&x.fill(0.0)) - &(-&x.abs()).exp_below().log1p();
    Ok(value.with_shortcut("logsigmoid", &[x], |g, x, _| Ok(vec![g * &Node::map(&ops::SIGMOID, &[&-&x[0]])?])))
}

/// `x - tanh x`.
#[track_caller]
pub(crate) fn tanhshrink(x: &Node) -> Result<Node> {
    Dtypes::Float.check("tanhshrink", x)?;
    Ok(x - &Node::map(&ops::TANH, &[x])?)
}

/// `x` moved towards 0 by `lambda`, and 0 where that would pass it.
#[track_caller]
pub(crate) fn softshrink(x: &Node, lambda: f64) -> Result<Node> {
    Dtypes::Float.check("softshrink", x)?;
    if lambda.is_nan() || lambda < 0.0 {
        let message = format!("lambda is {lambda}: use 0 or more");
        return Err(Error::new(ErrorKind::Value, "softshrink", message).made_at("tensor", x.at()));
    }
    let down = (x - lambda).keep_where(&x.gt(&x.fill(lambda)));
    let up = (x + lambda).or_where_not(&x.lt(&x.fill(-lambda)), &down);
    // NaN stays.
    Ok(x.or_where_not(&x.ne(x), &up))
}

/// `x` where it is further from 0 than `lambda`, 0 elsewhere.
#[track_caller]
pub(crate) fn hardshrink(x: &Node, lambda: f64) -> Result<Node> {
    Dtypes::Float.check("hardshrink", x)?;
    let near = x.ge(&x.fill(-lambda)).and(&x.le(&x.fill(lambda)));
    Ok(x.keep_where(&near.not()))
}

/// `x` where it is above a bound, `value` elsewhere.
#[track_caller]
pub(crate) fn threshold(x: &Node, bound: f64, value: f64) -> Result<Node> {
    Dtypes::Float.check("threshold", x)?;
    let below = x.le(&x.fill(bound));
    Ok(x.or_where_not(&below.not(), &x.fill(value)))
}

/// The two halves of an axis.
#[track_caller]
fn half(op: &str, x: &Node, axis: isize) -> Result<(Node, Node)> {
    Dtypes::Float.check(op, x)?;
    let axis = axis_of(op, x, axis)?;
    let size = x.shape()[axis];
    if !size.is_multiple_of(2) {
        let message = format!("axis {axis} of shape {:?} has no halves: its size must be even", x.shape());
        return Err(Error::new(ErrorKind::Shape, op, message).made_at("tensor", x.at()));
    }
    Ok((narrow(x, axis as isize, 0, size / 2)?, narrow(x, axis as isize, size / 2, size / 2)?))
}

/// The first half of an axis times the sigmoid of the second.
#[track_caller]
pub(crate) fn glu(x: &Node, axis: isize) -> Result<Node> {
    let (value, gate) = half("glu", x, axis)?;
    Ok(&value * &Node::map(&ops::SIGMOID, &[&gate])?)
}

/// The silu of the first half of an axis times the second.
#[track_caller]
pub(crate) fn swiglu(x: &Node, axis: isize) -> Result<Node> {
    let (gate, value) = half("swiglu", x, axis)?;
    Ok(&silu(&gate)? * &value)
}

/// The gelu of the first half of an axis times the second.
#[track_caller]
pub(crate) fn geglu(x: &Node, axis: isize) -> Result<Node> {
    let (gate, value) = half("geglu", x, axis)?;
    Ok(&gelu(&gate)? * &value)
}
