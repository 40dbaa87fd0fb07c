//! All bits flipped; for a bool, the other one.

use super::record::{Dtypes, Eval, Gives, Grad, Primitive, Takes};
use crate::dtype::DType;

pub(crate) static BITNOT: Primitive = Primitive {
    name: "bitnot",
    takes: Takes::Same(1),
    dtypes: Dtypes::IntegerOrBool,
    gives: Gives::Same,
    eval: Eval::integer(|x, dtype| Some(if dtype == DType::Bool { 1 - x[0] } else { !x[0] })),
    grad: Grad::None("integers have no gradient"),
    emit: |e, _, x| e.not(x[0]),
    sample: &[-100.0..100.0],
};
