//! `ln(1 + x)`, exact near 0.

use super::math;
use super::record::{Dtypes, Eval, Gives, Grad, Primitive, Takes};

pub(crate) static LOG1P: Primitive = Primitive {
    name: "log1p",
    takes: Takes::Same(1),
    dtypes: Dtypes::Float,
    gives: Gives::Same,
    eval: Eval::float(|x| x[0].ln_1p()),
    grad: Grad::Rules(&[|g, x, _| g / &(&x[0] + 1.0)]),
    emit: |e, _, x| math::log1p(e, x[0]),
    sample: &[-0.8..4.0],
};
