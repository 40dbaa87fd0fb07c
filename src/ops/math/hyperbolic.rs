//! The hyperbolic functions, and the logistic sigmoid, which is `tanh` shifted.

use super::exp::{exp_of_minus, expm1_not_above_zero, half_exp_within};
use super::{at_least, at_most, by_lane, clamp, copy_sign, polynomial};
use crate::ops::vector::{Emit, Val};
use std::f64::consts::{FRAC_1_SQRT_2, FRAC_2_SQRT_PI};

/// `(sinh x - x) / x³` in `z = x²` on |x| ≤ 1. Degree 3 for f32, error 2^-27.5.
const SINH_F32: [f64; 4] = [0.1666666716337204, 0.008333349600434303, 0.0001983615948120132, 2.8169506549602374e-06];

/// The same for f64, degree 6, error 2^-56.3.
const SINH_F64: [f64; 7] = [
    0.16666666666666669,
    0.008333333333333174,
    0.00019841269841425012,
    2.7557319156762516e-06,
    2.505212347143201e-08,
    1.6057217272978468e-10,
    7.760411675725515e-13,
];

/// Hyperbolic sine: `h - 1/(4h)` with `h = e^|x| / 2`, but a polynomial below 1, where that would cancel.
pub(crate) fn sinh(e: &mut Emit, x: Val) -> Val {
    let size = e.abs(x);
    let (grown, shrunk) = half_exponentials(e, size);
    let large = e.sub(grown, shrunk);
    let z = e.mul(size, size);
    let curve = polynomial(e, z, by_lane(x.lane, &SINH_F32, &SINH_F64));
    let cube = e.mul(size, z);
    let small = e.fma(cube, curve, size);
    let one = e.float(x.lane, 1.0);
    let is_small = e.lt(size, one);
    let result = e.select(is_small, small, large);
    copy_sign(e, result, x)
}

/// Hyperbolic cosine: `h + 1/(4h)` with `h = e^|x| / 2`.
pub(crate) fn cosh(e: &mut Emit, x: Val) -> Val {
    let size = e.abs(x);
    let (grown, shrunk) = half_exponentials(e, size);
    e.add(grown, shrunk)
}

/// `e^x / 2` and `e^-x / 2`, for `x ≥ 0`.
fn half_exponentials(e: &mut Emit, x: Val) -> (Val, Val) {
    let x = at_most(e, x, by_lane(x.lane, 90.0, 712.0)); // beyond: infinity
    let grown = half_exp_within(e, x);
    let quarter = e.float(x.lane, 0.25);
    (grown, e.div(quarter, grown))
}

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

/// `1 / (1 + e^-x)`, top and bottom divided by a power of two, so that the bottom stays finite until the result is 0.
pub(crate) fn sigmoid(e: &mut Emit, x: Val) -> Val {
    let (low, high) = by_lane(x.lane, (-104.0, 20.0), (-746.0, 45.0)); // beyond: 0 and 1
    let within = clamp(e, x, low, high);
    let lift: i32 = by_lane(x.lane, 24, 55);
    let (tail, scale) = exp_of_minus(e, within, lift);
    let one = e.float(x.lane, 2f64.powi(-lift));
    let most = e.sub(one, scale); // exact where it matters: the sum rounds once
    let sum = e.fma(scale, tail, most);
    e.div(one, sum)
}

/// The `z` of [`gelu_tanh`], doubled, is `x(GELU_SLOPE + GELU_CUBIC·x²)`.
pub(crate) const GELU_SLOPE: f64 = 2.0 * FRAC_2_SQRT_PI * FRAC_1_SQRT_2; // 2√(2/π)
pub(crate) const GELU_CUBIC: f64 = GELU_SLOPE * 0.044715;

/// `½x(1 + tanh z)` with `z = √(2/π)(x + 0.044715x³)`: the bracket's half is `sigmoid(2z)`.
pub(crate) fn gelu_tanh(e: &mut Emit, x: Val) -> Val {
    let square = e.mul(x, x);
    let (cubic, slope) = (e.float(x.lane, GELU_CUBIC), e.float(x.lane, GELU_SLOPE));
    let even = e.fma(square, cubic, slope);
    let double = e.mul(x, even);
    let gate = sigmoid(e, double);
    e.mul(x, gate)
}
