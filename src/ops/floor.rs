//! Rounded down.

use super::record::{Dtypes, Eval, Gives, Grad, Primitive, Takes};

pub(crate) static FLOOR: Primitive = Primitive {
    name: "floor",
    takes: Takes::Same(1),
    dtypes: Dtypes::Float,
    gives: Gives::Same,
    eval: Eval::float(|x| x[0].floor()),
    grad: Grad::Zero,
    emit: |e, _, x| e.floor(x[0]),
    sample: &[-4.0..4.0],
};
