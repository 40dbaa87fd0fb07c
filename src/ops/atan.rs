//! Inverse tangent.

use super::math;
use super::record::{Dtypes, Eval, Gives, Grad, Primitive, Takes};

pub(crate) static ATAN: Primitive = Primitive {
    name: "atan",
    takes: Takes::Same(1),
    dtypes: Dtypes::Float,
    gives: Gives::Same,
    eval: Eval::float(|x| x[0].atan()),
    grad: Grad::Rules(&[|g, x, _| g / &(&(&x[0] * &x[0]) + 1.0)]),
    emit: |e, _, x| math::atan(e, x[0]),
    sample: &[-3.0..3.0],
};
