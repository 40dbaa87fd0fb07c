//! Hyperbolic tangent.

use super::math;
use super::record::{Dtypes, Eval, Gives, Grad, Primitive, Takes};

pub(crate) static TANH: Primitive = Primitive {
    name: "tanh",
    takes: Takes::Same(1),
    dtypes: Dtypes::Float,
    gives: Gives::Same,
    eval: Eval::float(|x| x[0].tanh()),
    grad: Grad::Rules(&[|g, _, y| g * &(1.0 - &(y * y))]),
    emit: |e, _, x| math::tanh(e, x[0]),
    sample: &[-3.0..3.0],
};
