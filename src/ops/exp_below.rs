//! The exponential function of what is known to be no larger than 0, as less the largest of its row.

use super::math;
use super::record::{Dtypes, Eval, Gives, Grad, Primitive, Takes};

/// Not for what may be larger than 0 by more than roundings: from 44 on it may give any number.
pub(crate) static EXP_BELOW: Primitive = Primitive {
    name: "exp_below",
    takes: Takes::Same(1),
    dtypes: Dtypes::Float,
    gives: Gives::Same,
    eval: Eval::float(|x| x[0].exp()),
    grad: Grad::Rules(&[|g, _, y| g * y]),
    emit: |e, _, x| math::exp_below(e, x[0]),
    sample: &[-6.0..0.0],
};
