//! Quotient of two floats, correctly rounded.

use super::record::{Dtypes, Eval, Gives, Grad, Primitive, Takes};

pub(crate) static DIV: Primitive = Primitive {
    name: "div",
    takes: Takes::Same(2),
    dtypes: Dtypes::Float,
    gives: Gives::Same,
    eval: Eval::float(|x| x[0] / x[1]),
    grad: Grad::Rules(&[|g, x, _| g / &x[1], |g, x, y| -(&(g * y) / &x[1])]),
    emit: |e, _, x| e.div(x[0], x[1]),
    sample: &[-4.0..4.0, 0.5..4.0],
};
