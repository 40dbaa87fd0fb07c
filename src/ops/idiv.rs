//! Integer quotient, rounded towards zero as Rust's `/`; dividing by zero is an error of the run.

use super::record::{Dtypes, Eval, Gives, Grad, Primitive, Takes};
use super::vector::Binary;

pub(crate) static IDIV: Primitive = Primitive {
    name: "idiv",
    takes: Takes::Same(2),
    dtypes: Dtypes::Integer,
    gives: Gives::Same,
    eval: Eval::integer(|x, _| x[0].checked_div(x[1])),
    grad: Grad::None("integers have no gradient"),
    emit: |e, dtype, x| {
        let word = if dtype.is_signed_integer() { Binary::DivS } else { Binary::DivU };
        e.integer(word, x[0], x[1])
    },
    sample: &[-100.0..100.0, 1.0..9.0],
};
