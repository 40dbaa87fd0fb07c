//! Logarithm to base 10.

use super::math;
use super::record::{Dtypes, Eval, Gives, Grad, Primitive, Takes};
use std::f64::consts::LN_10;

pub(crate) static LOG10: Primitive = Primitive {
    name: "log10",
    takes: Takes::Same(1),
    dtypes: Dtypes::Float,
    gives: Gives::Same,
    eval: Eval::float(|x| x[0].log10()),
    grad: Grad::Rules(&[|g, x, _| g / &(&x[0] * LN_10)]),
    emit: |e, _, x| math::log10(e, x[0]),
    sample: &[0.1..10.0],
};
