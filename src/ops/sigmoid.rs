//! `1 / (1 + exp(-x))`, without overflow.

use super::math;
use super::record::{Dtypes, Eval, Gives, Grad, Primitive, Takes};

pub(crate) static SIGMOID: Primitive = Primitive {
    name: "sigmoid",
    takes: Takes::Same(1),
    dtypes: Dtypes::Float,
    gives: Gives::Same,
    eval: Eval::float(|x| if x[0] >= 0.0 { 1.0 / (1.0 + (-x[0]).exp()) } else { x[0].exp() / (1.0 + x[0].exp()) }),
    grad: Grad::Rules(&[|g, _, y| g * &(y * &(1.0 - y))]),
    emit: |e, _, x| math::sigmoid(e, x[0]),
    sample: &[-3.0..3.0],
};
