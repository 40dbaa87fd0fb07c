//! Integer remainder with the sign of the first operand, as Rust's `%`; dividing by zero is an error of the run.

use super::record::{Dtypes, Eval, Gives, Grad, Primitive, Takes};
use super::vector::Binary;

pub(crate) static REM: Primitive = Primitive {
    name: "rem",
    takes: Takes::Same(2),
    dtypes: Dtypes::Integer,
    gives: Gives::Same,
    eval: Eval::integer(|x, _| x[0].checked_rem(x[1])),
    grad: Grad::None("integers have no gradient"),
    emit: |e, dtype, x| {
        let word = if dtype.is_signed_integer() { Binary::RemS } else { Binary::RemU };
        e.integer(word, x[0], x[1])
    },
    sample: &[-100.0..100.0, 1.0..9.0],
};
