//! Tangent.

use super::math;
use super::record::{Dtypes, Eval, Gives, Grad, Primitive, Takes};

pub(crate) static TAN: Primitive = Primitive {
    name: "tan",
    takes: Takes::Same(1),
    dtypes: Dtypes::Float,
    gives: Gives::Same,
    eval: Eval::float(|x| x[0].tan()),
    grad: Grad::Rules(&[|g, _, y| g * &(&(y * y) + 1.0)]),
    emit: |e, _, x| math::tan(e, x[0]),
    sample: &[-1.2..1.2],
};
