//! `exp(x) - 1`, exact near 0.

use super::math;
use super::record::{Dtypes, Eval, Gives, Grad, Primitive, Takes};

pub(crate) static EXPM1: Primitive = Primitive {
    name: "expm1",
    takes: Takes::Same(1),
    dtypes: Dtypes::Float,
    gives: Gives::Same,
    eval: Eval::float(|x| x[0].exp_m1()),
    grad: Grad::Rules(&[|g, _, y| g * &(y + 1.0)]),
    emit: |e, _, x| math::expm1(e, x[0]),
    sample: &[-3.0..3.0],
};
