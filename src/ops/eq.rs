//! Whether two values are equal. NaN equals nothing.

use super::record::{Dtypes, Eval, Gives, Grad, Primitive, Takes};

pub(crate) static EQ: Primitive = Primitive {
    name: "eq",
    takes: Takes::Same(2),
    dtypes: Dtypes::Any,
    gives: Gives::Bool,
    eval: Eval::both(|x| f64::from(x[0] == x[1]), |x, _| Some(i128::from(x[0] == x[1]))),
    grad: Grad::None("a comparison gives true or false"),
    emit: |e, _, x| e.eq(x[0], x[1]),
    sample: &[-2.0..2.0, -2.0..2.0],
};
