//! `tanh` and its shifted form, the logistic sigmoid.

use super::exp::{exp_within, expm1_not_above_zero};
use super::{at_least, by_lane, copy_sign};
use crate::ops::vector::{Emit, Val};

/// Hyperbolic tangent: with `t = e^(-2|x|) - 1`, `tanh |x| = -t / (t + 2)`.
pub(crate) fn tanh(e: &mut Emit, x: Val) -> Val {
    let minus_two = e.float(x.lane, -2.0);
    let size = e.abs(x);
    let doubled = e.mul(size, minus_two);
    let doubled = at_least(e, doubled, by_lane(x.lane, -20.0, -45.0)); // beyond: ±1
    let t = expm1_not_above_zero(e, doubled);
    let two = e.float(x.lane, 2.0);
    let sum = e.add(t, two);
    let ratio = e.div(t, sum);
    copy_sign(e, ratio, x)
}

/// `1 / (1 + e^-x)`: with `t = e^-|x|`, that is `1 / (1 + t)` above 0 and `t / (1 + t)` below, so the tail keeps every bit.
pub(crate) fn sigmoid(e: &mut Emit, x: Val) -> Val {
    let size = e.abs(x);
    let down = e.neg(size);
    let down = at_least(e, down, by_lane(x.lane, -104.0, -746.0));
    let t = exp_within(e, down);
    let one = e.float(x.lane, 1.0);
    let sum = e.add(t, one);
    let zero = e.float(x.lane, 0.0);
    let below = e.lt(x, zero);
    let top = e.select(below, t, one);
    e.div(top, sum)
}
