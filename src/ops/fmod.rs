//! The remainder of a division with the sign of the dividend, exact, as C's `fmod` and Rust's `%` on floats.

use super::math;
use super::record::{Dtypes, Eval, Gives, Grad, Primitive, Takes};
use super::trunc::TRUNC;
use crate::error::OrRaise;
use crate::graph::Node;

pub(crate) static FMOD: Primitive = Primitive {
    name: "fmod",
    takes: Takes::Same(2),
    dtypes: Dtypes::Float,
    gives: Gives::Same,
    eval: Eval::float(|x| x[0] % x[1]),
    grad: Grad::Rules(&[|g, _, _| g.clone(), |g, x, _| -(g * &Node::map(&TRUNC, &[&(&x[0] / &x[1])]).or_raise())]),
    emit: |e, _, x| math::fmod(e, x[0], x[1]),
    sample: &[2.2..2.9, 1.0..1.05],
};
