//! Natural logarithm.

use super::math;
use super::record::{Dtypes, Eval, Gives, Grad, Primitive, Takes};

pub(crate) static LN: Primitive = Primitive {
    name: "ln",
    takes: Takes::Same(1),
    dtypes: Dtypes::Float,
    gives: Gives::Same,
    eval: Eval::float(|x| x[0].ln()),
    grad: Grad::Rules(&[|g, x, _| g / &x[0]]),
    emit: |e, _, x| math::ln(e, x[0]),
    sample: &[0.1..10.0],
};
