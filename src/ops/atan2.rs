//! The angle of the point (x, y), from -π to π; `y` is the first operand.

use super::math;
use super::record::{Dtypes, Eval, Gives, Grad, Primitive, Takes};
use crate::graph::Node;

pub(crate) static ATAN2: Primitive = Primitive {
    name: "atan2",
    takes: Takes::Same(2),
    dtypes: Dtypes::Float,
    gives: Gives::Same,
    eval: Eval::float(|x| x[0].atan2(x[1])),
    grad: Grad::Rules(&[|g, x, _| &(g * &x[1]) / &square(x), |g, x, _| -(&(g * &x[0]) / &square(x))]),
    emit: |e, _, x| math::atan2(e, x[0], x[1]),
    sample: &[0.5..3.0, -3.0..3.0],
};

/// The squared distance from the origin.
fn square(x: &[Node]) -> Node {
    &(&x[0] * &x[0]) + &(&x[1] * &x[1])
}
