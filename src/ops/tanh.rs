//! Hyperbolic tangent.

use super::math;
use super::record::{Dtypes, Eval, Gives, Grad, Primitive, Takes};
use crate::graph::Node;

pub(crate) static TANH: Primitive = Primitive {
    name: "tanh",
    takes: Takes::Same(1),
    dtypes: Dtypes::Float,
    gives: Gives::Same,
    eval: Eval::float(|x| x[0].tanh()),
    grad: Grad::Rules(&[slope]),
    emit: |e, _, x| math::tanh(e, x[0]),
    sample: &[-3.0..3.0],
};

/// `1 - tanh²`, written as `4e / (1 + e)²` with `e = exp(-2|x|)`: near ±1 the difference would have few digits left.
fn slope(g: &Node, x: &[Node], _: &Node) -> Node {
    let e = (&x[0].abs() * -2.0).exp();
    let sum = &e + 1.0;
    &(&(g * 4.0) * &e) / &(&sum * &sum)
}
