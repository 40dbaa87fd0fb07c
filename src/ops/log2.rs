//! Logarithm to base 2.

use super::math;
use super::record::{Dtypes, Eval, Gives, Grad, Primitive, Takes};
use std::f64::consts::LN_2;

pub(crate) static LOG2: Primitive = Primitive {
    name: "log2",
    takes: Takes::Same(1),
    dtypes: Dtypes::Float,
    gives: Gives::Same,
    eval: Eval::float(|x| x[0].log2()),
    grad: Grad::Rules(&[|g, x, _| g / &(&x[0] * LN_2)]),
    emit: |e, _, x| math::log2(e, x[0]),
    sample: &[0.1..10.0],
};
