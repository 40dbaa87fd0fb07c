//! Sum of two numbers. Integers wrap.

use super::record::{Dtypes, Eval, Gives, Grad, Primitive, Takes};

pub(crate) static ADD: Primitive = Primitive {
    name: "add",
    takes: Takes::Same(2),
    dtypes: Dtypes::Numeric,
    gives: Gives::Same,
    eval: Eval::both(|x| x[0] + x[1], |x, _| Some(x[0] + x[1])),
    grad: Grad::Rules(&[|g, _, _| g.clone(), |g, _, _| g.clone()]),
    emit: |e, _, x| e.add(x[0], x[1]),
    sample: &[-4.0..4.0, -4.0..4.0],
};
