//! Powers of e and of 2.
//!
//! `x = n ln 2 + r` with `|r| ≤ ln 2 / 2`: a polynomial gives `e^r`, and `2^n` is put together in the exponent bits.
//! `n` comes from adding a number so large that its last bit is worth 1: the sum is rounded to an integer, which then
//! stands in the low bits of the sum.

use super::{at_least, by_lane, clamp, integer_lane, mantissa_bits, polynomial};
use crate::ops::vector::{Emit, Lane, Val, scale};
use std::f64::consts::LOG2_E;

/// `(e^r - 1 - r) / r²` on |r| ≤ 0.3473. Degree 4 for f32, error 2^-25.8 of `expm1`, 2^-27.8 of `exp`.
const EXP_F32: [f64; 5] =
    [0.4999999701976776, 0.16666541993618011, 0.04166720435023308, 0.008366646245121956, 0.0013882515486329794];

/// The same on |r| ≤ ln 2 / 16, where eighths of powers of two are in a table: degree 1 for f32, error 2^-25.2 of `exp`.
const EXP_EIGHTHS_F32: [f64; 2] = [0.5000647306442261, 0.16668230295181274];

/// The same for f64, degree 9, error 2^-56.2 of `exp`.
const EXP_F64: [f64; 10] = [
    0.500000000000001,
    0.16666666666666674,
    0.041666666666519775,
    0.008333333333322037,
    0.0013888888948496267,
    0.00019841269887110348,
    2.4801486563471478e-05,
    2.7557241750305074e-06,
    2.7632942641482864e-07,
    2.511027050068687e-08,
];

/// The same for f64, degree 10, error 2^-60 of `expm1`.
const EXPM1_F64: [f64; 11] = [
    0.5,
    0.16666666666666677,
    0.041666666666666505,
    0.008333333333321513,
    0.0013888888888963515,
    0.0001984126988647746,
    2.4801587171031725e-05,
    2.7557243804012375e-06,
    2.7557403297718023e-07,
    2.510919519845611e-08,
    2.08753197497153e-09,
];

/// The same on -0.521 ≤ r ≤ 0.174, degree 4 for f32, error 2^-26 of `expm1`.
const EXPM1_BELOW_F32: [f64; 5] =
    [0.5, 0.16666819155216217, 0.04166976734995842, 0.008287602104246616, 0.001203662483021617];

/// The same on -0.521 ≤ r ≤ 0.174 for f64, degree 10, error 2^-58.5 of `expm1`.
const EXPM1_BELOW_F64: [f64; 11] = [
    0.5,
    0.1666666666666668,
    0.04166666666666681,
    0.008333333333314447,
    0.0013888888888210077,
    0.00019841269915654272,
    2.4801591888982137e-05,
    2.7557303651752643e-06,
    2.7549918929860513e-07,
    2.481993836011914e-08,
    1.7817271235664726e-09,
];

/// `(2^r - 1) / r` on |r| ≤ 1/2. Degree 5 for f32, error 2^-26.1 of `exp2`.
const EXP2_F32: [f64; 6] = [
    std::f32::consts::LN_2 as f64,
    0.24022650718688965,
    0.05550297349691391,
    0.009618030861020088,
    0.0013410000829026103,
    0.00015469732170458883,
];

/// The same for f64, degree 10, error 2^-55 of `exp2`, nearly all of it from rounding ln 2.
pub(super) const EXP2_F64: [f64; 11] = [
    std::f64::consts::LN_2,
    0.2402265069591013,
    0.055504108664820084,
    0.00961812910759412,
    0.0013333558146774692,
    0.00015403530457112495,
    1.5252733493093997e-05,
    1.321543528200449e-06,
    1.017819957548021e-07,
    7.073783313775962e-09,
    4.434771905632201e-10,
];

/// e to the power `x`.
pub(crate) fn exp(e: &mut Emit, x: Val) -> Val {
    let (low, high) = by_lane(x.lane, (-106.0, 89.0), (-748.0, 710.0)); // beyond: 0 and infinity
    let within = clamp(e, x, low, high);
    exp_within(e, within)
}

/// e to the power `x`, for `x` that is no larger than 0, or hardly: as [`exp`], in fewer words. What is larger than 44 gives any number.
///
/// For f32, eighths of powers of two are in a table, and a shorter polynomial does: a little less exact than [`exp`], but still within 1 ulp.
pub(crate) fn exp_below(e: &mut Emit, x: Val) -> Val {
    let within = at_least(e, x, by_lane(x.lane, -104.0, -746.0)); // beyond: 0
    let (power, n) = if x.lane == Lane::F32 { exp_in_eighths(e, within) } else { exp_unscaled(e, within) };
    e.scale_down(power, n)
}

/// e to the power `x`, for `x` from where the result rounds to 0 to where it overflows.
fn exp_within(e: &mut Emit, x: Val) -> Val {
    let (power, n) = exp_unscaled(e, x);
    e.scale(power, n)
}

/// `p` and a whole `n` with `e^x = p · 2^n`.
fn exp_unscaled(e: &mut Emit, x: Val) -> (Val, Val) {
    let (_, n, r) = sum_and_remainder(e, x, integer_magic(x.lane, 0));
    let tail = expm1_reduced(e, r, by_lane(x.lane, &EXP_F32, &EXP_F64));
    let one = e.float(x.lane, 1.0);
    (e.add(tail, one), n)
}

/// `p` and `n`, in eighths, with `e^x = p · 2^⌊n⌋`, for f32.
fn exp_in_eighths(e: &mut Emit, x: Val) -> (Val, Val) {
    let (sum, n, r) = sum_and_remainder(e, x, integer_magic(x.lane, 0) / f64::from(1 << scale::FRACTION));
    let tail = expm1_reduced(e, r, &EXP_EIGHTHS_F32);
    let bits = e.bits(sum);
    let eighths = e.eighths(bits);
    (e.fma(tail, eighths, eighths), n)
}

/// `x log2 e` rounded to where the last bit of a large number is, that number added; without it, `n`; and `x - n ln 2`.
fn sum_and_remainder(e: &mut Emit, x: Val, magic: f64) -> (Val, Val, Val) {
    let (magic, log2e) = (e.float(x.lane, magic), e.float(x.lane, LOG2_E));
    let sum = e.fma(x, log2e, magic);
    let (n, r) = remainder(e, x, sum, magic);
    (sum, n, r)
}

/// `t` and `s` with `e^-x / 2^lift = s·t - s`, for `x` where that is a normal number: `s` is minus a power of two.
///
/// The signs stand in the constants: `r` here is minus the remainder, and the polynomial gives `t = 1 - e^-r`.
pub(super) fn exp_of_minus(e: &mut Emit, x: Val, lift: i32) -> (Val, Val) {
    let lane = x.lane;
    let sign = 2 * (exponent_bias(lane) + 1); // the bit above the exponent
    let magic = e.float(lane, integer_magic(lane, sign + exponent_bias(lane) - i64::from(lift)));
    let minus_log2e = e.float(lane, -LOG2_E);
    let sum = e.fma(x, minus_log2e, magic);
    let n = e.sub(sum, magic);
    let r = plus_multiple_of_ln2(e, x, n, 1.0);
    let mirrored = by_lane(lane, &EXP_F32[..], &EXP_F64[..]).iter().enumerate();
    let mirrored: Vec<f64> = mirrored.map(|(power, &c)| if power % 2 == 0 { -c } else { c }).collect();
    (expm1_reduced(e, r, &mirrored), power_of_two(e, sum))
}

/// Half of e to the power `x`, which overflows a little later.
pub(super) fn half_exp_within(e: &mut Emit, x: Val) -> Val {
    let (n, r) = reduce(e, x, two_halves_bias(x.lane) - 1);
    let tail = expm1_reduced(e, r, by_lane(x.lane, &EXP_F32, &EXP_F64));
    let one = e.float(x.lane, 1.0);
    let power = e.add(tail, one);
    scale_in_two_halves(e, power, n)
}

/// 2 to the power `x`.
pub(crate) fn exp2(e: &mut Emit, x: Val) -> Val {
    let (low, high) = by_lane(x.lane, (-151.0, 128.0), (-1076.0, 1024.0));
    let x = clamp(e, x, low, high);
    let magic = integer_magic(x.lane, two_halves_bias(x.lane));
    let magic = e.float(x.lane, magic);
    let sum = e.add(x, magic);
    let n = e.sub(sum, magic);
    let r = e.sub(x, n);
    let power = exp2_reduced(e, r, by_lane(x.lane, &EXP2_F32, &EXP2_F64));
    scale_in_two_halves(e, power, sum)
}

/// `e^x - 1`, exact to the last bits near 0.
pub(crate) fn expm1(e: &mut Emit, x: Val) -> Val {
    let lane = x.lane;
    let (low, high) = by_lane(lane, (-20.0, 89.0), (-45.0, 710.0)); // beyond: -1 and infinity
    let within = clamp(e, x, low, high);
    // Half the result, since 2^n alone may overflow where the result does not.
    let (n, r) = reduce(e, within, exponent_bias(lane) - 1);
    let tail = expm1_reduced(e, r, by_lane(lane, &EXP_F32, &EXPM1_F64));
    let scale = power_of_two(e, n);
    let half = e.float(lane, 0.5);
    let rest = e.sub(scale, half);
    let result = e.fma(scale, tail, rest);
    let result = e.add(result, result);
    // Tiny arguments are their own result: keeps denormals whole and the sign of zero.
    let size = e.abs(x);
    let tiny = e.float(lane, by_lane(lane, 2f64.powi(-26), 2f64.powi(-55)));
    let is_tiny = e.lt(size, tiny);
    e.select(is_tiny, x, result)
}

/// `e^x - 1` for `x ≤ 0` no further down than -80 or so. Zero may lose its sign.
///
/// `n` is a quarter late to leave 0: where the polynomial alone is the result, nothing cancels.
pub(super) fn expm1_not_above_zero(e: &mut Emit, x: Val) -> Val {
    let lane = x.lane;
    let (log2e, quarter) = (e.float(lane, LOG2_E), e.float(lane, 0.25));
    let power = e.fma(x, log2e, quarter);
    let magic = e.float(lane, integer_magic(lane, exponent_bias(lane)));
    let n = e.add(power, magic);
    let (_, r) = remainder(e, x, n, magic);
    let tail = expm1_reduced(e, r, by_lane(lane, &EXPM1_BELOW_F32, &EXPM1_BELOW_F64));
    let scale = power_of_two(e, n);
    let one = e.float(x.lane, 1.0);
    let rest = e.sub(scale, one);
    e.fma(scale, tail, rest)
}

/// `2^r` for |r| ≤ 1/2, by coefficients of `(2^r - 1) / r`.
pub(super) fn exp2_reduced(e: &mut Emit, r: Val, coefficients: &[f64]) -> Val {
    let slope = polynomial(e, r, coefficients);
    let one = e.float(r.lane, 1.0);
    e.fma(r, slope, one)
}

/// `e^r - 1` for |r| ≤ ln 2 / 2, by coefficients of `(e^r - 1 - r) / r²`.
fn expm1_reduced(e: &mut Emit, r: Val, coefficients: &[f64]) -> Val {
    let curve = polynomial(e, r, coefficients);
    let square = e.mul(r, r);
    e.fma(square, curve, r)
}

/// `x = n ln 2 + r`: a float whose low bits are the integer `n + bias`, and `r`.
fn reduce(e: &mut Emit, x: Val, bias: i64) -> (Val, Val) {
    let magic = e.float(x.lane, integer_magic(x.lane, bias));
    let log2e = e.float(x.lane, LOG2_E);
    let sum = e.fma(x, log2e, magic);
    (sum, remainder(e, x, sum, magic).1)
}

/// `n` and `x - n ln 2`, where `sum` is `n` plus `magic`.
fn remainder(e: &mut Emit, x: Val, sum: Val, magic: Val) -> (Val, Val) {
    let n = e.sub(sum, magic);
    (n, plus_multiple_of_ln2(e, x, n, -1.0))
}

/// `x + sign · n ln 2`, with ln 2 in two parts.
fn plus_multiple_of_ln2(e: &mut Emit, x: Val, n: Val, sign: f64) -> Val {
    let (ln2, rest) = by_lane(
        x.lane,
        (f64::from(std::f32::consts::LN_2), -1.9046542121259336e-09),
        (std::f64::consts::LN_2, 2.3190468138462996e-17),
    );
    let ln2 = e.float(x.lane, sign * ln2);
    let r = e.fma(n, ln2, x);
    let rest = e.float(x.lane, sign * rest);
    e.fma(n, rest, r)
}

/// The bias of a float's exponent.
fn exponent_bias(lane: Lane) -> i64 {
    by_lane(lane, 127, 1023)
}

/// The bias with which an integer splits into two biased exponents, for [`scale_in_two_halves`].
pub(super) fn two_halves_bias(lane: Lane) -> i64 {
    2 * exponent_bias(lane)
}

/// Adding this to a float rounds it to an integer; the sum's low bits are that integer plus `bias`.
pub(super) fn integer_magic(lane: Lane, bias: i64) -> f64 {
    1.5 * 2f64.powi(mantissa_bits(lane) as i32) + bias as f64
}

/// `2^n` from a sum that carries `n` plus the exponent's bias in its low bits; `n` within the normal range.
pub(super) fn power_of_two(e: &mut Emit, sum: Val) -> Val {
    let bits = e.bits(sum);
    let exponent = e.shl(bits, mantissa_bits(sum.lane));
    e.from_bits(exponent)
}

/// `x · 2^n` from a sum that carries `n` plus twice the exponent's bias. Two factors reach the denormals and infinity,
/// and only the second product rounds.
pub(super) fn scale_in_two_halves(e: &mut Emit, x: Val, sum: Val) -> Val {
    debug_assert_eq!(integer_lane(x.lane), integer_lane(sum.lane));
    let shift = mantissa_bits(x.lane);
    let bits = e.bits(sum);
    let half = e.shr(bits, 1);
    let other = e.sub(bits, half);
    let half = e.shl(half, shift);
    let other = e.shl(other, shift);
    let (half, other) = (e.from_bits(half), e.from_bits(other));
    let x = e.mul(x, half);
    e.mul(x, other)
}
