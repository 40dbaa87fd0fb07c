//! Hyperbolic sine.

use super::math;
use super::record::{Dtypes, Eval, Gives, Grad, Primitive, Takes};

pub(crate) static SINH: Primitive = Primitive {
    name: "sinh",
    takes: Takes::Same(1),
    dtypes: Dtypes::Float,
    gives: Gives::Same,
    eval: Eval::float(|x| x[0].sinh()),
    grad: Grad::Rules(&[|g, x, _| g * &x[0].cosh()]),
    emit: |e, _, x| math::sinh(e, x[0]),
    sample: &[-3.0..3.0],
};
