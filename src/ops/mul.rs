//! Product of two numbers. Integers wrap.

use super::record::{Dtypes, Eval, Gives, Grad, Primitive, Takes};

pub(crate) static MUL: Primitive = Primitive {
    name: "mul",
    takes: Takes::Same(2),
    dtypes: Dtypes::Numeric,
    gives: Gives::Same,
    eval: Eval::both(|x| x[0] * x[1], |x, _| Some(x[0].wrapping_mul(x[1]))),
    grad: Grad::Rules(&[|g, x, _| g * &x[1], |g, x, _| g * &x[0]]),
    emit: |e, _, x| e.mul(x[0], x[1]),
    sample: &[-4.0..4.0, -4.0..4.0],
};
