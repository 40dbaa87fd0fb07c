//! Inverse cosine.

use super::math;
use super::record::{Dtypes, Eval, Gives, Grad, Primitive, Takes};

pub(crate) static ACOS: Primitive = Primitive {
    name: "acos",
    takes: Takes::Same(1),
    dtypes: Dtypes::Float,
    gives: Gives::Same,
    eval: Eval::float(|x| x[0].acos()),
    grad: Grad::Rules(&[|g, x, _| -(g / &(1.0 - &(&x[0] * &x[0])).sqrt())]),
    emit: |e, _, x| math::acos(e, x[0]),
    sample: &[-0.9..0.9],
};
