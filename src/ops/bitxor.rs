//! Exclusive or of two integers, bit by bit, or of two bools.

use super::record::{Dtypes, Eval, Gives, Grad, Primitive, Takes};

pub(crate) static BITXOR: Primitive = Primitive {
    name: "bitxor",
    takes: Takes::Same(2),
    dtypes: Dtypes::IntegerOrBool,
    gives: Gives::Same,
    eval: Eval::integer(|x, _| Some(x[0] ^ x[1])),
    grad: Grad::None("integers have no gradient"),
    emit: |e, _, x| e.xor(x[0], x[1]),
    sample: &[-100.0..100.0, -100.0..100.0],
};
