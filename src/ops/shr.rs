//! Bits shifted right, keeping the sign of signed integers; a count below zero or past the width gives 0 (or -1).

use super::record::{Dtypes, Eval, Gives, Grad, Primitive, Takes};
use super::vector::Binary;

pub(crate) static SHR: Primitive = Primitive {
    name: "shr",
    takes: Takes::Same(2),
    dtypes: Dtypes::Integer,
    gives: Gives::Same,
    eval: Eval::integer(|x, dtype| {
        Some(x[0] >> if (0..dtype.size() as i128 * 8).contains(&x[1]) { x[1] } else { 127 })
    }),
    grad: Grad::None("integers have no gradient"),
    emit: |e, dtype, x| {
        let word = if dtype.is_signed_integer() { Binary::Sar } else { Binary::Shr };
        e.integer(word, x[0], x[1])
    },
    sample: &[-100.0..100.0, 0.0..9.0],
};
