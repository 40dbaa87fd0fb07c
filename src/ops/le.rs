//! Whether the first number is at most the second. False on NaN.

use super::record::{Dtypes, Eval, Gives, Grad, Primitive, Takes};

pub(crate) static LE: Primitive = Primitive {
    name: "le",
    takes: Takes::Same(2),
    dtypes: Dtypes::Numeric,
    gives: Gives::Bool,
    eval: Eval::both(|x| f64::from(x[0] <= x[1]), |x, _| Some(i128::from(x[0] <= x[1]))),
    grad: Grad::None("a comparison gives true or false"),
    emit: |e, dtype, x| {
        let unsigned = dtype.is_integer() && !dtype.is_signed_integer();
        if unsigned { e.le_unsigned(x[0], x[1]) } else { e.le(x[0], x[1]) }
    },
    sample: &[-2.0..2.0, -2.0..2.0],
};
