//! Square root, correctly rounded.

use super::record::{Dtypes, Eval, Gives, Grad, Primitive, Takes};

pub(crate) static SQRT: Primitive = Primitive {
    name: "sqrt",
    takes: Takes::Same(1),
    dtypes: Dtypes::Float,
    gives: Gives::Same,
    eval: Eval::float(|x| x[0].sqrt()),
    grad: Grad::Rules(&[|g, _, y| g / &(y * 2.0)]),
    emit: |e, _, x| e.sqrt(x[0]),
    sample: &[0.1..10.0],
};
