//! Two to the power x.

use super::math;
use super::record::{Dtypes, Eval, Gives, Grad, Primitive, Takes};
use std::f64::consts::LN_2;

pub(crate) static EXP2: Primitive = Primitive {
    name: "exp2",
    takes: Takes::Same(1),
    dtypes: Dtypes::Float,
    gives: Gives::Same,
    eval: Eval::float(|x| x[0].exp2()),
    grad: Grad::Rules(&[|g, _, y| &(g * y) * LN_2]),
    emit: |e, _, x| math::exp2(e, x[0]),
    sample: &[-3.0..3.0],
};
