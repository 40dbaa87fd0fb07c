//! The elementary functions, written in vector words: the same bits on every target.
//!
//! Each function takes an `F32` or `F64` lane and gives the same lane. Arguments are reduced exactly or nearly so, a
//! minimax polynomial does the rest, and the edges (zeros and their sign, infinities, NaN, denormals in and out) need
//! no branch. Only huge arguments of `sin`, `cos` and `tan` leave the straight line, through a rare lane function.
//!
//! Coefficients come from our own weighted Remez exchange in 200-bit arithmetic, each then rounded to the lane's
//! type; beside each table stand the function, the interval and the error left, relative to the result.

mod erf;
mod exp;
mod fmod;
mod huge;
mod hyperbolic;
mod inverse;
mod log;
mod pow;
mod trig;

// Each is named by the record of its op, as that is written.
pub(crate) use {
    erf::{erf, erfc},
    exp::{exp, exp_below, exp2, expm1},
    fmod::fmod,
    hyperbolic::{GELU_CUBIC, GELU_SLOPE, cosh, gelu_tanh, sigmoid, sinh, tanh},
    inverse::{acos, asin, atan, atan2},
    log::{ln, log1p, log2, log10},
    pow::pow,
    trig::{cos, sin, tan},
};

use super::vector::{Emit, Lane, Val};

/// The first for `F32`, the second for `F64`.
fn by_lane<T>(lane: Lane, f32: T, f64: T) -> T {
    match lane {
        Lane::F32 => f32,
        Lane::F64 => f64,
        Lane::Mask | Lane::I32 | Lane::I64 => unreachable!("an elementary function of {lane:?}"),
    }
}

/// How many bits of a float are below its exponent.
fn mantissa_bits(lane: Lane) -> u32 {
    by_lane(lane, 23, 52)
}

/// The integer lane as wide as a float lane.
fn integer_lane(lane: Lane) -> Lane {
    by_lane(lane, Lane::I32, Lane::I64)
}

/// `c[0] + c[1] x + c[2] x² + …` by Horner's rule.
fn polynomial(e: &mut Emit, x: Val, coefficients: &[f64]) -> Val {
    let (&last, rest) = coefficients.split_last().expect("a polynomial has a coefficient");
    let mut sum = e.float(x.lane, last);
    for &coefficient in rest.iter().rev() {
        let coefficient = e.float(x.lane, coefficient);
        sum = e.fma(sum, x, coefficient);
    }
    sum
}

/// `x` kept within bounds; NaN stays NaN.
fn clamp(e: &mut Emit, x: Val, low: f64, high: f64) -> Val {
    let above = at_least(e, x, low);
    at_most(e, above, high)
}

/// The larger of `x` and a constant; NaN stays NaN.
fn at_least(e: &mut Emit, x: Val, low: f64) -> Val {
    let low = e.float(x.lane, low);
    e.max(low, x)
}

/// The smaller of `x` and a constant; NaN stays NaN.
fn at_most(e: &mut Emit, x: Val, high: f64) -> Val {
    let high = e.float(x.lane, high);
    e.min(high, x)
}

/// The sign bit of `x` in its integer lane, all else 0.
fn sign_bit(e: &mut Emit, x: Val) -> Val {
    let bits = e.bits(x);
    let sign = sign_mask(e, x.lane);
    e.and(bits, sign)
}

/// A constant with only the sign bit, in the integer lane.
fn sign_mask(e: &mut Emit, lane: Lane) -> Val {
    let shift = by_lane(lane, 31, 63);
    e.int(integer_lane(lane), 1 << shift)
}

/// `x` with its sign flipped where `sign` (a sign bit) is set.
fn flip_sign(e: &mut Emit, x: Val, sign: Val) -> Val {
    let bits = e.bits(x);
    let flipped = e.xor(bits, sign);
    e.from_bits(flipped)
}

/// `|x|` with the sign of `sign`.
fn copy_sign(e: &mut Emit, x: Val, sign: Val) -> Val {
    let magnitude = e.abs(x);
    let sign = sign_bit(e, sign);
    flip_sign(e, magnitude, sign)
}

#[cfg(test)]
mod tests;
