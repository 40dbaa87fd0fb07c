//! Rounded towards zero.

use super::record::{Dtypes, Eval, Gives, Grad, Primitive, Takes};

pub(crate) static TRUNC: Primitive = Primitive {
    name: "trunc",
    takes: Takes::Same(1),
    dtypes: Dtypes::Float,
    gives: Gives::Same,
    eval: Eval::float(|x| x[0].trunc()),
    grad: Grad::Zero,
    emit: |e, _, x| e.trunc(x[0]),
    sample: &[-4.0..4.0],
};
