//! Sine, cosine and tangent.
//!
//! `x = n π/2 + r` with `|r| ≤ π/4`, π/2 taken in three parts so that `r` keeps all its bits even where `x` is next to a
//! multiple of π/2. The quadrant, `n` modulo 4, chooses between the polynomials of sine and cosine and gives the sign.

use super::huge;
use super::{by_lane, flip_sign, mantissa_bits, polynomial, sign_mask};
use crate::ops::vector::{Emit, Lane, LaneFn, Val};

/// `(sin r - r) / r³` in `z = r²` on 0 ≤ z ≤ 0.6292. Degree 2 for f32, error 2^-27.
const SIN_F32: [f64; 3] = [-0.16666653752326965, 0.008332050405442715, -0.0001949723664438352];

/// The same for f64, degree 5, error 2^-56.2.
pub(super) const SIN_F64: [f64; 6] = [
    -0.16666666666666638,
    0.008333333333322673,
    -0.00019841269829235094,
    2.7557313313450075e-06,
    -2.5050679543594955e-08,
    1.589145719214024e-10,
];

/// `(cos r - 1 + z/2) / z²` in `z = r²` on 0 ≤ z ≤ 0.6292. Degree 2 for f32, error 2^-30.
const COS_F32: [f64; 3] = [0.04166664555668831, -0.0013887251261621714, 2.4425684387097135e-05];

/// The same for f64, degree 5, error 2^-60.
pub(super) const COS_F64: [f64; 6] = [
    0.04166666666666665,
    -0.001388888888888222,
    2.4801587294059086e-05,
    -2.755731552688297e-07,
    2.087586330913583e-09,
    -1.1365946290639987e-11,
];

/// π/2 in three parts, each the nearest to what the ones before leave.
const HALF_PI_F32: [f64; 3] = [std::f32::consts::FRAC_PI_2 as f64, -4.371138828673793e-08, -1.7151245100058819e-15];
pub(super) const HALF_PI_F64: [f64; 3] = [std::f64::consts::FRAC_PI_2, 6.123233995736766e-17, -1.4973849048591698e-33];

/// Sine.
pub(crate) fn sin(e: &mut Emit, x: Val) -> Val {
    let reduced = reduce(e, x);
    let result = by_quadrant(e, reduced, 0);
    let result = zero_is_itself(e, x, result);
    for_huge(e, x, [&LaneFn::F32("sin_huge_f32", huge::sin_f32), &LaneFn::F64("sin_huge_f64", huge::sin)], result)
}

/// Cosine.
pub(crate) fn cos(e: &mut Emit, x: Val) -> Val {
    let reduced = reduce(e, x);
    let result = by_quadrant(e, reduced, 1);
    for_huge(e, x, [&LaneFn::F32("cos_huge_f32", huge::cos_f32), &LaneFn::F64("cos_huge_f64", huge::cos)], result)
}

/// Tangent: sine over cosine, or in odd quadrants minus cosine over sine.
pub(crate) fn tan(e: &mut Emit, x: Val) -> Val {
    let reduced = reduce(e, x);
    let (sine, cosine) = (sine_reduced(e, reduced), cosine_reduced(e, reduced));
    let odd = is_odd(e, reduced.quadrant);
    let above = e.select(odd, cosine, sine);
    let below = e.select(odd, sine, cosine);
    let ratio = e.div(above, below);
    let sign = e.shl(reduced.quadrant, by_lane(x.lane, 31, 63));
    let result = flip_sign(e, ratio, sign);
    let result = zero_is_itself(e, x, result);
    for_huge(e, x, [&LaneFn::F32("tan_huge_f32", huge::tan_f32), &LaneFn::F64("tan_huge_f64", huge::tan)], result)
}

/// `x = n π/2 + r + rest`.
#[derive(Clone, Copy)]
struct Reduced {
    /// `n` in the low bits of an integer.
    quadrant: Val,
    r: Val,
    /// What `r` is short of; matters only where `r` is tiny.
    rest: Val,
}

fn reduce(e: &mut Emit, x: Val) -> Reduced {
    let lane = x.lane;
    let magic = e.float(lane, 1.5 * 2f64.powi(mantissa_bits(lane) as i32)); // its last bit is worth 1
    let per_quadrant = e.float(lane, std::f64::consts::FRAC_2_PI);
    let sum = e.fma(x, per_quadrant, magic);
    let quadrant = e.bits(sum);
    let n = e.sub(sum, magic);
    let [first, second, third] = by_lane(lane, HALF_PI_F32, HALF_PI_F64).map(|part| e.float(lane, -part));
    let r = e.fma(n, first, x); // exact: both are multiples of the last bit of π/2's first part
    let r = e.fma(n, second, r);
    let rest = e.mul(n, third);
    Reduced { quadrant, r, rest }
}

fn sine_reduced(e: &mut Emit, Reduced { r, rest, .. }: Reduced) -> Val {
    let z = e.mul(r, r);
    let curve = polynomial(e, z, by_lane(r.lane, &SIN_F32, &SIN_F64));
    let cube = e.mul(r, z);
    let small = e.fma(cube, curve, rest);
    e.add(r, small)
}

fn cosine_reduced(e: &mut Emit, Reduced { r, .. }: Reduced) -> Val {
    let z = e.mul(r, r);
    let curve = polynomial(e, z, by_lane(r.lane, &COS_F32, &COS_F64));
    let minus_half = e.float(r.lane, -0.5);
    let curve = e.fma(curve, z, minus_half);
    let one = e.float(r.lane, 1.0);
    e.fma(curve, z, one)
}

/// The sine of `x + ahead π/2`.
fn by_quadrant(e: &mut Emit, reduced: Reduced, ahead: i64) -> Val {
    let (sine, cosine) = (sine_reduced(e, reduced), cosine_reduced(e, reduced));
    let lane = reduced.r.lane;
    let mut quadrant = reduced.quadrant;
    if ahead != 0 {
        let ahead = e.int(quadrant.lane, ahead);
        quadrant = e.add(quadrant, ahead);
    }
    let odd = is_odd(e, quadrant);
    let result = e.select(odd, cosine, sine);
    // Negative in the third and fourth quadrant: bit 1 is the sign.
    let sign = e.shl(quadrant, by_lane(lane, 30, 62));
    let mask = sign_mask(e, lane);
    let sign = e.and(sign, mask);
    flip_sign(e, result, sign)
}

fn is_odd(e: &mut Emit, n: Val) -> Val {
    let (one, zero) = (e.int(n.lane, 1), e.int(n.lane, 0));
    let last = e.and(n, one);
    e.ne(last, zero)
}

/// `result`, but `x` itself where it is a zero, for its sign.
fn zero_is_itself(e: &mut Emit, x: Val, result: Val) -> Val {
    let zero = e.float(x.lane, 0.0);
    let is_zero = e.eq(x, zero);
    e.select(is_zero, x, result)
}

/// `result`, but by a scalar function where `|x|` is beyond what three parts of π/2 can reduce: 2^17 for f32, where `n` is
/// still right to 1 % of a quadrant, and 2^36 for f64.
fn for_huge(e: &mut Emit, x: Val, [in_f32, in_f64]: [&'static LaneFn; 2], result: Val) -> Val {
    let limit = e.float(x.lane, fast_limit(x.lane));
    let size = e.abs(x);
    let huge = e.lt(limit, size);
    e.rare(huge, by_lane(x.lane, in_f32, in_f64), x, result)
}

fn fast_limit(lane: Lane) -> f64 {
    by_lane(lane, 2f64.powi(17), 2f64.powi(36))
}
