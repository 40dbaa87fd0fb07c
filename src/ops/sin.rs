//! Sine.

use super::math;
use super::record::{Dtypes, Eval, Gives, Grad, Primitive, Takes};

pub(crate) static SIN: Primitive = Primitive {
    name: "sin",
    takes: Takes::Same(1),
    dtypes: Dtypes::Float,
    gives: Gives::Same,
    eval: Eval::float(|x| x[0].sin()),
    grad: Grad::Rules(&[|g, x, _| g * &x[0].cos()]),
    emit: |e, _, x| math::sin(e, x[0]),
    sample: &[-3.0..3.0],
};
