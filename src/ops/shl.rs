//! Bits shifted left; a count below zero or past the width gives 0.

use super::record::{Dtypes, Eval, Gives, Grad, Primitive, Takes};
use super::vector::Binary;

pub(crate) static SHL: Primitive = Primitive {
    name: "shl",
    takes: Takes::Same(2),
    dtypes: Dtypes::Integer,
    gives: Gives::Same,
    eval: Eval::integer(|x, dtype| Some(if (0..dtype.size() as i128 * 8).contains(&x[1]) { x[0] << x[1] } else { 0 })),
    grad: Grad::None("integers have no gradient"),
    emit: |e, _, x| e.integer(Binary::Shl, x[0], x[1]),
    sample: &[-100.0..100.0, 0.0..9.0],
};
