//! `a * b + c`, rounded once.

use super::record::{Dtypes, Eval, Gives, Grad, Primitive, Takes};

pub(crate) static MUL_ADD: Primitive = Primitive {
    name: "mul_add",
    takes: Takes::Same(3),
    dtypes: Dtypes::Float,
    gives: Gives::Same,
    eval: Eval::float(|x| x[0].mul_add(x[1], x[2])),
    grad: Grad::Rules(&[|g, x, _| g * &x[1], |g, x, _| g * &x[0], |g, _, _| g.clone()]),
    emit: |e, _, x| e.fma(x[0], x[1], x[2]),
    sample: &[-4.0..4.0, -4.0..4.0, -4.0..4.0],
};
