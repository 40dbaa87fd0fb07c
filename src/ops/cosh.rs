//! Hyperbolic cosine.

use super::math;
use super::record::{Dtypes, Eval, Gives, Grad, Primitive, Takes};

pub(crate) static COSH: Primitive = Primitive {
    name: "cosh",
    takes: Takes::Same(1),
    dtypes: Dtypes::Float,
    gives: Gives::Same,
    eval: Eval::float(|x| x[0].cosh()),
    grad: Grad::Rules(&[|g, x, _| g * &x[0].sinh()]),
    emit: |e, _, x| math::cosh(e, x[0]),
    sample: &[-3.0..3.0],
};
