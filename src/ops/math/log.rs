//! Logarithms.
//!
//! `x = 2^k m` with `√½ ≤ m < √2`. With `f = m - 1` and `s = f / (2 + f)`, `ln m = 2s + s z P(z)` where `z = s²`; to
//! keep the rounding of `s` small this is written `f - (f²/2 - s (f²/2 + z P(z)))`.

use super::{by_lane, integer_lane, mantissa_bits, polynomial};
use crate::ops::vector::{Emit, Lane, Val};

/// `(2 atanh(s) / s - 2) / z`, `z = s²`, on 0 ≤ z ≤ 0.02947. Degree 2 for f32, error 2^-30 of `ln`.
const LOG_F32: [f64; 3] = [0.6666677594184875, 0.3997749388217926, 0.29873085021972656];

/// The same for f64, degree 6, error 2^-58.5 of `ln`.
const LOG_F64: [f64; 7] = [
    0.666666666666671,
    0.39999999999519553,
    0.28571428729664045,
    0.22222199028192985,
    0.18183575752066067,
    0.15313037453941405,
    0.1481194353024526,
];

/// A number as the nearest lane value and what is left of it.
type Parts = (f64, f64);

/// Natural logarithm.
pub(crate) fn ln(e: &mut Emit, x: Val) -> Val {
    let Split { k, m, .. } = split(e, x);
    let f = minus_one(e, m);
    let result = ln_of(e, k, f);
    at_the_edges(e, x, x, result)
}

/// `ln(1 + x)`, exact to the last bits near 0.
pub(crate) fn log1p(e: &mut Emit, x: Val) -> Val {
    let lane = x.lane;
    let one = e.float(lane, 1.0);
    let sum = e.add(one, x);
    // What the sum lost, exactly: sum + lost = 1 + x.
    let of_x = e.sub(sum, one);
    let of_one = e.sub(sum, of_x);
    let lost_x = e.sub(x, of_x);
    let lost_one = e.sub(one, of_one);
    let lost = e.add(lost_x, lost_one);
    // f = m - 1 plus the lost part on m's scale, 2^-k. For k = 0 that is x itself. The scale is split in two factors so
    // that the one which depends on k is always a normal number.
    let Split { k, m, exponent } = split_normal(e, sum);
    let (spare, place) = (by_lane(lane, 30, 60), mantissa_bits(lane));
    let top = e.int(integer_lane(lane), (2 * exponent_bias(lane) + 1 + spare) << place);
    let mask = e.int(integer_lane(lane), -1 << place);
    let exponent = e.and(exponent, mask);
    let scale = e.sub(top, exponent);
    let scale = e.from_bits(scale);
    let down = e.float(lane, 2f64.powi(-spare as i32));
    let lost = e.mul(lost, down);
    let f = minus_one(e, m);
    let f = e.fma(lost, scale, f);
    let result = ln_of(e, k, f);
    let result = at_the_edges(e, x, sum, result);
    // Tiny arguments are their own result: keeps denormals whole and the sign of zero.
    let size = e.abs(x);
    let tiny = e.float(lane, by_lane(lane, 2f64.powi(-26), 2f64.powi(-55)));
    let is_tiny = e.lt(size, tiny);
    e.select(is_tiny, x, result)
}

/// Logarithm to base 2.
pub(crate) fn log2(e: &mut Emit, x: Val) -> Val {
    use std::f64::consts::LOG2_E;
    let log2e =
        by_lane(x.lane, (f64::from(std::f32::consts::LOG2_E), 1.925963033500011e-08), (LOG2_E, 2.0355273740931033e-17));
    log_to_base(e, x, log2e, (1.0, 0.0))
}

/// Logarithm to base 10.
pub(crate) fn log10(e: &mut Emit, x: Val) -> Val {
    use std::f32::consts as f32s;
    use std::f64::consts as f64s;
    let log10e =
        by_lane(x.lane, (f64::from(f32s::LOG10_E), -1.0103049952192578e-08), (f64s::LOG10_E, 1.098319650216765e-17));
    let log10_2 =
        by_lane(x.lane, (f64::from(f32s::LOG10_2), -1.432098883924482e-08), (f64s::LOG10_2, -2.8037281277851704e-18));
    log_to_base(e, x, log10e, log10_2)
}

/// `k ln 2 + ln(1 + f)`.
fn ln_of(e: &mut Emit, k: Val, f: Val) -> Val {
    let (ln2, ln2_rest) = by_lane(
        f.lane,
        (f64::from(std::f32::consts::LN_2), -1.9046542121259336e-09),
        (std::f64::consts::LN_2, 2.3190468138462996e-17),
    );
    let Series { half_square, s, bend } = series(e, f);
    let ln2_rest = e.float(f.lane, ln2_rest);
    let small = e.mul(k, ln2_rest);
    let small = e.fma(s, bend, small);
    let curve = e.sub(half_square, small);
    let ln_m = e.sub(f, curve);
    let ln2 = e.float(f.lane, ln2);
    e.fma(k, ln2, ln_m)
}

/// `k log(2) + ln(m) log(e)` in a base given by the logarithms of e and of 2 in it.
fn log_to_base(e: &mut Emit, x: Val, of_e: Parts, of_2: Parts) -> Val {
    let Split { k, m, .. } = split(e, x);
    let f = minus_one(e, m);
    let Series { half_square, s, bend } = series(e, f);
    let minus_half_square = e.neg(half_square);
    let curve = e.fma(s, bend, minus_half_square);
    // f log(e) exactly as a product and what it lost; all else is small beside it.
    let factor = e.float(f.lane, of_e.0);
    let factor_rest = e.float(f.lane, of_e.1);
    let product = e.mul(f, factor);
    let minus_product = e.neg(product);
    let lost = e.fma(f, factor, minus_product);
    let mut small = e.fma(f, factor_rest, lost);
    if of_2.1 != 0.0 {
        let rest = e.float(f.lane, of_2.1);
        small = e.fma(k, rest, small);
    }
    let small = e.fma(curve, factor, small);
    let log_m = e.add(product, small);
    let of_2 = e.float(f.lane, of_2.0);
    let result = e.fma(k, of_2, log_m);
    at_the_edges(e, x, x, result)
}

/// `ln(1 + f) = f - half_square + s · bend`.
struct Series {
    half_square: Val,
    s: Val,
    bend: Val,
}

fn series(e: &mut Emit, f: Val) -> Series {
    let two = e.float(f.lane, 2.0);
    let below = e.add(f, two);
    let s = e.div(f, below);
    let z = e.mul(s, s);
    let curve = polynomial(e, z, by_lane(f.lane, &LOG_F32, &LOG_F64));
    let half = e.float(f.lane, 0.5);
    let half_f = e.mul(f, half);
    let half_square = e.mul(half_f, f);
    let bend = e.fma(z, curve, half_square);
    Series { half_square, s, bend }
}

/// `x = 2^k m`.
pub(super) struct Split {
    pub(super) k: Val,
    pub(super) m: Val,
    /// From the exponent's place upwards: `k` plus the exponent's bias plus 1.
    exponent: Val,
}

/// Splits a positive number; for others the parts mean nothing.
pub(super) fn split(e: &mut Emit, x: Val) -> Split {
    let (up, least) = by_lane(x.lane, (25, f64::from(f32::MIN_POSITIVE)), (54, f64::MIN_POSITIVE));
    let least = e.float(x.lane, least);
    let denormal = e.lt(x, least);
    let factor = e.float(x.lane, 2f64.powi(up));
    let scaled = e.mul(x, factor);
    let scaled = e.select(denormal, scaled, x);
    let offset = exponent_offset(x.lane);
    let for_normal = e.float(x.lane, offset);
    let for_denormal = e.float(x.lane, offset + f64::from(up));
    let offset = e.select(denormal, for_denormal, for_normal);
    split_at(e, scaled, offset)
}

/// Splits a positive number that is not denormal.
pub(super) fn split_normal(e: &mut Emit, x: Val) -> Split {
    let offset = e.float(x.lane, exponent_offset(x.lane));
    split_at(e, x, offset)
}

fn split_at(e: &mut Emit, x: Val, offset: Val) -> Split {
    use std::f64::consts::FRAC_1_SQRT_2;
    let (lane, whole, place) = (x.lane, integer_lane(x.lane), mantissa_bits(x.lane));
    // Counted from √½, the exponent bits are k and the mantissa bits are how far m is above √½.
    let root = by_lane(lane, i64::from((FRAC_1_SQRT_2 as f32).to_bits()), FRAC_1_SQRT_2.to_bits() as i64);
    let from_root = e.int(whole, ((exponent_bias(lane) + 1) << place) - root);
    let bits = e.bits(x);
    let exponent = e.add(bits, from_root);
    let low = e.int(whole, (1 << place) - 1);
    let mantissa = e.and(exponent, low);
    let root = e.int(whole, root);
    let m = e.add(mantissa, root);
    let m = e.from_bits(m);
    // k as a float: its bits put below a number whose last bit is worth 1.
    let one_is_last = 2f64.powi(place as i32);
    let above = by_lane(lane, i64::from((one_is_last as f32).to_bits()), one_is_last.to_bits() as i64);
    let above = e.int(whole, above);
    let count = e.shr(exponent, place);
    let count = e.or(count, above);
    let count = e.from_bits(count);
    let k = e.sub(count, offset);
    Split { k, m, exponent }
}

/// What stands above `k` in the float made of its bits.
fn exponent_offset(lane: Lane) -> f64 {
    2f64.powi(mantissa_bits(lane) as i32) + (exponent_bias(lane) + 1) as f64
}

fn exponent_bias(lane: Lane) -> i64 {
    by_lane(lane, 127, 1023)
}

/// `m - 1`, which is exact.
fn minus_one(e: &mut Emit, m: Val) -> Val {
    let one = e.float(m.lane, 1.0);
    e.sub(m, one)
}

/// The logarithm at 0, below 0, at infinity and NaN: `x` is given back for the last two, `of` is what it is taken of.
fn at_the_edges(e: &mut Emit, x: Val, of: Val, result: Val) -> Val {
    let infinity = e.float(x.lane, f64::INFINITY);
    let finite = e.lt(x, infinity);
    let result = e.select(finite, result, x);
    let zero = e.float(x.lane, 0.0);
    let nan = e.float(x.lane, f64::NAN);
    let minus_infinity = e.float(x.lane, f64::NEG_INFINITY);
    let negative = e.lt(of, zero);
    let edge = e.select(negative, nan, minus_infinity);
    let outside = e.le(of, zero);
    e.select(outside, edge, result)
}
