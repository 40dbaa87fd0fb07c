//! Negation. Integers wrap.

use super::record::{Dtypes, Eval, Gives, Grad, Primitive, Takes};

pub(crate) static NEG: Primitive = Primitive {
    name: "neg",
    takes: Takes::Same(1),
    dtypes: Dtypes::Signed,
    gives: Gives::Same,
    eval: Eval::both(|x| -x[0], |x, _| Some(-x[0])),
    grad: Grad::Rules(&[|g, _, _| -g]),
    emit: |e, _, x| e.neg(x[0]),
    sample: &[-4.0..4.0],
};
