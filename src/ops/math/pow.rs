//! Powers with any base and exponent.
//!
//! `|x|^y = 2^(y log2 |x|)`. The product reaches 1075, so the logarithm needs eleven bits more than the result: `F64` lanes
//! carry it as an unevaluated sum of two, `F32` lanes go through `F64`.

use super::exp::{EXP2_F64, exp2_reduced, integer_magic, power_of_two, scale_in_two_halves, two_halves_bias};
use super::log::{Split, split, split_normal};
use super::{clamp, flip_sign, integer_lane, polynomial, sign_bit};
use crate::ops::vector::{Emit, Lane, Val};

/// `2 atanh(s) / (s ln 2)` in `z = s²` on 0 ≤ z ≤ 0.02947, in f64 for f32 results. Degree 4, error 2^-37.8.
const LOG2_FOR_F32: [f64; 5] =
    [2.8853900817902027, 0.9617966732001804, 0.5770836115707918, 0.4116711346115025, 0.3407593618466545];

/// `(2^r - 1) / r` on |r| ≤ 1/2, in f64 for f32 results. Degree 5, error 2^-27.9 of `2^r`.
const EXP2_FOR_F32: [f64; 6] = [
    0.6931472250548996,
    0.24022651081172416,
    0.055502974500169736,
    0.009618030900143008,
    0.0013410001056876654,
    0.00015469732040362694,
];

/// The first two terms of `2 atanh(s) / (s ln 2)` in `z`, 2/ln 2 and 2/(3 ln 2), each in two parts.
const LOG2_FIRST: (f64, f64) = (2.8853900817779268, 4.0710547481862066e-17);
const LOG2_SECOND: (f64, f64) = (0.9617966939259756, 5.0577616648125907e-17);

/// The terms after those, over `z²`, on 0 ≤ z ≤ 0.02947. Degree 7, error 2^-68 of the logarithm.
const LOG2_REST: [f64; 8] = [
    0.5770780163555853,
    0.4121985831111953,
    0.32059889794828045,
    0.2623081945240016,
    0.22195253465027567,
    0.19239186524005028,
    0.1686292728111856,
    0.17144989425121918,
];

/// `x` to the power `y`, with the special cases of C99.
pub(crate) fn pow(e: &mut Emit, x: Val, y: Val) -> Val {
    let size = e.abs(x);
    let magnitude = match x.lane {
        Lane::F32 => {
            let (size, y) = (e.widen(size), e.widen(y));
            let power = power_of_f32(e, size, y);
            e.narrow(power)
        }
        _ => power_of_f64(e, size, y),
    };
    with_sign_and_edges(e, x, y, magnitude)
}

/// `x^y` for `x ≥ 0`, both widened from f32, to a little more than f32 can tell.
fn power_of_f32(e: &mut Emit, x: Val, y: Val) -> Val {
    let Split { k, m, .. } = split_normal(e, x); // a denormal f32 is a normal f64
    let one = e.float(Lane::F64, 1.0);
    let (above, below) = (e.sub(m, one), e.add(m, one));
    let s = e.div(above, below);
    let z = e.mul(s, s);
    let slope = polynomial(e, z, &LOG2_FOR_F32);
    let log = e.fma(s, slope, k);
    let log = log_at_the_edges(e, x, log);
    let y = finite_exponent(e, y);
    let product = e.mul(y, log);
    let product = clamp(e, product, -300.0, 300.0); // far beyond what f32 holds, well within f64
    let magic = e.float(Lane::F64, integer_magic(Lane::F64, 1023));
    let sum = e.add(product, magic);
    let n = e.sub(sum, magic);
    let r = e.sub(product, n);
    let power = exp2_reduced(e, r, &EXP2_FOR_F32);
    let scale = power_of_two(e, sum);
    e.mul(power, scale)
}

/// `x^y` for `x ≥ 0`.
fn power_of_f64(e: &mut Emit, x: Val, y: Val) -> Val {
    let (log, log_rest) = log2_in_two(e, x);
    let log = log_at_the_edges(e, x, log);
    let y = finite_exponent(e, y);
    let product = e.mul(y, log);
    let minus_product = e.neg(product);
    let lost = e.fma(y, log, minus_product);
    let rest = e.fma(y, log_rest, lost);
    let within = clamp(e, product, -1100.0, 1100.0);
    let is_within = e.eq(within, product);
    let zero = e.float(Lane::F64, 0.0);
    let rest = e.select(is_within, rest, zero);
    let magic = e.float(Lane::F64, integer_magic(Lane::F64, two_halves_bias(Lane::F64)));
    let sum = e.add(within, magic);
    let n = e.sub(sum, magic);
    let r = e.sub(within, n);
    let r = e.add(r, rest);
    let power = exp2_reduced(e, r, &EXP2_F64);
    scale_in_two_halves(e, power, sum)
}

/// The logarithm of a positive number to base 2 as a sum of two, to about 2^-65 of itself.
fn log2_in_two(e: &mut Emit, x: Val) -> (Val, Val) {
    let Split { k, m, .. } = split(e, x);
    let one = e.float(Lane::F64, 1.0);
    let above = e.sub(m, one);
    let below = e.add(m, one);
    let of_m = e.sub(below, one);
    let below_rest = e.sub(m, of_m);
    // s = above / (below + below_rest), in two parts.
    let inverse = e.div(one, below);
    let s = e.mul(above, inverse);
    let minus_s = e.neg(s);
    let left = e.fma(minus_s, below, above);
    let left = e.fma(minus_s, below_rest, left);
    let s_rest = e.mul(left, inverse);
    // z = s², in two parts.
    let (z, z_lost) = product(e, s, s);
    let twice = e.add(s, s);
    let z_rest = e.fma(twice, s_rest, z_lost);
    // (rest · z + second) · z + first, the sums in two parts.
    let tail = polynomial(e, z, &LOG2_REST);
    let tail = e.mul(tail, z);
    let (second, second_rest) = sum_with(e, LOG2_SECOND, tail);
    let (term, term_lost) = product(e, z, second);
    let term_rest = e.fma(z, second_rest, term_lost);
    let term_rest = e.fma(z_rest, second, term_rest);
    let (slope, slope_rest) = sum_with(e, LOG2_FIRST, term);
    let slope_rest = e.add(slope_rest, term_rest);
    // s · slope + k.
    let (log_m, lost) = product(e, s, slope);
    let log_m_rest = e.fma(s, slope_rest, lost);
    let log_m_rest = e.fma(s_rest, slope, log_m_rest);
    let log = e.add(k, log_m);
    let of_log_m = e.sub(log, k);
    let lost = e.sub(log_m, of_log_m);
    let rest = e.add(lost, log_m_rest);
    (log, rest)
}

/// `a b` as the rounded product and what it lost.
fn product(e: &mut Emit, a: Val, b: Val) -> (Val, Val) {
    let rounded = e.mul(a, b);
    let minus = e.neg(rounded);
    let lost = e.fma(a, b, minus);
    (rounded, lost)
}

/// A larger constant in two parts plus a smaller value, in two parts.
fn sum_with(e: &mut Emit, constant: (f64, f64), small: Val) -> (Val, Val) {
    let (first, second) = (e.float(Lane::F64, constant.0), e.float(Lane::F64, constant.1));
    let sum = e.add(first, small);
    let of_small = e.sub(sum, first);
    let lost = e.sub(small, of_small);
    let rest = e.add(lost, second);
    (sum, rest)
}

/// The logarithm at 0 (minus infinity), infinity and NaN (themselves), for `x ≥ 0`.
fn log_at_the_edges(e: &mut Emit, x: Val, log: Val) -> Val {
    let infinity = e.float(x.lane, f64::INFINITY);
    let finite = e.lt(x, infinity);
    let log = e.select(finite, log, x);
    let zero = e.float(x.lane, 0.0);
    let is_zero = e.eq(x, zero);
    let minus_infinity = e.float(x.lane, f64::NEG_INFINITY);
    e.select(is_zero, minus_infinity, log)
}

/// An infinite exponent made merely enormous, so that 0 times it is 0: `1^∞` is 1.
fn finite_exponent(e: &mut Emit, y: Val) -> Val {
    let enormous = 2f64.powi(1000);
    clamp(e, y, -enormous, enormous)
}

/// The sign for a negative base, NaN where there is no real power, and 1 where `y = 0` or `x = 1` whatever the other.
fn with_sign_and_edges(e: &mut Emit, x: Val, y: Val, magnitude: Val) -> Val {
    let lane = x.lane;
    let (zero, one, half) = (e.float(lane, 0.0), e.float(lane, 1.0), e.float(lane, 0.5));
    let whole = e.round_even(y);
    let is_whole = e.eq(whole, y);
    let halved = e.mul(y, half);
    let halved_whole = e.round_even(halved);
    let is_halved_broken = e.ne(halved_whole, halved);
    let is_odd = e.and(is_whole, is_halved_broken);
    let sign = sign_bit(e, x);
    let no_sign = e.int(integer_lane(lane), 0);
    let sign = e.select(is_odd, sign, no_sign);
    let result = flip_sign(e, magnitude, sign);

    let minus_infinity = e.float(lane, f64::NEG_INFINITY);
    let negative = e.lt(x, zero);
    let finite = e.lt(minus_infinity, x);
    let broken = e.not(is_whole);
    let outside = e.and(negative, finite);
    let outside = e.and(outside, broken);
    let nan = e.float(lane, f64::NAN);
    let result = e.select(outside, nan, result);

    let no_power = e.eq(y, zero);
    let unit_base = e.eq(x, one);
    let is_one = e.or(no_power, unit_base);
    e.select(is_one, one, result)
}
