//! Cosine.

use super::math;
use super::record::{Dtypes, Eval, Gives, Grad, Primitive, Takes};

pub(crate) static COS: Primitive = Primitive {
    name: "cos",
    takes: Takes::Same(1),
    dtypes: Dtypes::Float,
    gives: Gives::Same,
    eval: Eval::float(|x| x[0].cos()),
    grad: Grad::Rules(&[|g, x, _| -(g * &x[0].sin())]),
    emit: |e, _, x| math::cos(e, x[0]),
    sample: &[-3.0..3.0],
};
