//! Absolute value. The smallest integer stays as it is, wrapped.

use super::record::{Dtypes, Eval, Gives, Grad, Primitive, Takes};
use super::vector::Binary;

pub(crate) static ABS: Primitive = Primitive {
    name: "abs",
    takes: Takes::Same(1),
    dtypes: Dtypes::Numeric,
    gives: Gives::Same,
    eval: Eval::both(|x| x[0].abs(), |x, _| Some(x[0].abs())),
    grad: Grad::Rules(&[|g, x, _| g * &x[0].sign()]),
    emit: |e, dtype, x| {
        if dtype.is_float() {
            e.abs(x[0])
        } else if dtype.is_signed_integer() {
            let negated = e.neg(x[0]);
            e.integer(Binary::MaxS, x[0], negated)
        } else {
            x[0]
        }
    },
    sample: &[-4.0..4.0],
};
