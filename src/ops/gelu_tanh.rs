//! `½x(1 + tanh z)` with `z = √(2/π)(x + 0.044715x³)`: the usual approximation of gelu.
//!
//! `½(1 + tanh z)`, the *gate*, is `sigmoid(2z)`, which keeps its digits where `tanh z` is near -1.

use super::math::{self, GELU_CUBIC as CUBIC, GELU_SLOPE as SLOPE};
use super::record::{Dtypes, Eval, Gives, Grad, Primitive, Takes};
use crate::error::OrRaise;
use crate::graph::Node;

pub(crate) static GELU_TANH: Primitive = Primitive {
    name: "gelu_tanh",
    takes: Takes::Same(1),
    dtypes: Dtypes::Float,
    gives: Gives::Same,
    eval: Eval::float(|x| {
        let (x, double) = (x[0], x[0] * (SLOPE + CUBIC * x[0] * x[0]));
        x * if double >= 0.0 { 1.0 / (1.0 + (-double).exp()) } else { double.exp() / (1.0 + double.exp()) }
    }),
    // The gate is computed anew: that is quicker than to write it down, and to read it again.
    grad: Grad::Rules(&[|g, x, _| {
        let x = &x[0];
        let square = &(x * x);
        let gate = &Node::map(&super::SIGMOID, &[&(x * &even(square, CUBIC))]).or_raise();
        let rise = &(gate * &(1.0 - gate)) * &even(square, 3.0 * CUBIC);
        g * &(gate + &(x * &rise))
    }]),
    emit: |e, _, x| math::gelu_tanh(e, x[0]),
    sample: &[-3.0..3.0],
};

/// `factor · square + SLOPE`.
fn even(square: &Node, factor: f64) -> Node {
    Node::map(&super::MUL_ADD, &[square, &square.fill(factor), &square.fill(SLOPE)]).or_raise()
}
