//! Whether two values are different. NaN equals nothing.

use super::record::{Dtypes, Eval, Gives, Grad, Primitive, Takes};

pub(crate) static NE: Primitive = Primitive {
    name: "ne",
    takes: Takes::Same(2),
    dtypes: Dtypes::Any,
    gives: Gives::Bool,
    eval: Eval::both(|x| f64::from(x[0] != x[1]), |x, _| Some(i128::from(x[0] != x[1]))),
    grad: Grad::None("a comparison gives true or false"),
    emit: |e, _, x| e.ne(x[0], x[1]),
    sample: &[-2.0..2.0, -2.0..2.0],
};
