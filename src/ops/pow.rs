//! `x` to the power `y`, as C's `pow`.

use super::math;
use super::record::{Dtypes, Eval, Gives, Grad, Primitive, Takes};
use crate::graph::Node;

pub(crate) static POW: Primitive = Primitive {
    name: "pow",
    takes: Takes::Same(2),
    dtypes: Dtypes::Float,
    gives: Gives::Same,
    eval: Eval::float(|x| x[0].powf(x[1])),
    grad: Grad::Rules(&[base_rule, exponent_rule]),
    emit: |e, _, x| math::pow(e, x[0], x[1]),
    sample: &[0.3..3.0, -2.0..2.0],
};

/// `y · x^(y-1)`, and 0 where the exponent is 0 (there the power is 1 whatever the base).
fn base_rule(g: &Node, x: &[Node], _: &Node) -> Node {
    let zero = x[1].fill(0.0);
    let slope = &x[1] * &x[0].pow(&(&x[1] - 1.0));
    (g * &slope).keep_where(&x[1].ne(&zero))
}

/// `x^y · ln x`, and 0 where the base is 0 and the exponent is not negative (the limit).
fn exponent_rule(g: &Node, x: &[Node], y: &Node) -> Node {
    let zero = x[0].fill(0.0);
    let flat = x[0].eq(&zero).and(&x[1].ge(&zero));
    (g * &(y * &x[0].ln())).keep_where(&flat.not())
}
