//! Rounded up.

use super::record::{Dtypes, Eval, Gives, Grad, Primitive, Takes};

pub(crate) static CEIL: Primitive = Primitive {
    name: "ceil",
    takes: Takes::Same(1),
    dtypes: Dtypes::Float,
    gives: Gives::Same,
    eval: Eval::float(|x| x[0].ceil()),
    grad: Grad::Zero,
    emit: |e, _, x| e.ceil(x[0]),
    sample: &[-4.0..4.0],
};
