//! The exponential function.

use super::math;
use super::record::{Dtypes, Eval, Gives, Grad, Primitive, Takes};

pub(crate) static EXP: Primitive = Primitive {
    name: "exp",
    takes: Takes::Same(1),
    dtypes: Dtypes::Float,
    gives: Gives::Same,
    eval: Eval::float(|x| x[0].exp()),
    grad: Grad::Rules(&[|g, _, y| g * y]),
    emit: |e, _, x| math::exp(e, x[0]),
    sample: &[-3.0..3.0],
};
