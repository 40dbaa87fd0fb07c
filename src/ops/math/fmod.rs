//! The exact remainder of a division.
//!
//! `x mod y` is `x mod (y 2^50k) mod … mod (y 2^50) mod y`: in each step the quotient has at most 50 bits, so it is right
//! or one too large after rounding, and `r - q t` is exact in one fused multiply-add. 32-bit floats are done in 64 bits,
//! where six steps are enough; 64-bit floats take 42.

use super::copy_sign;
use crate::ops::vector::{Emit, Lane, Val};

/// The bits of one step's quotient.
const BITS: i32 = 50;

/// `x - trunc(x / y) · y`, exactly; the sign is that of `x`.
pub(crate) fn fmod(e: &mut Emit, x: Val, y: Val) -> Val {
    if x.lane == Lane::F64 {
        // From 2^-1074 to 2^1024.
        return stepwise(e, x, y, 42);
    }
    let (x, y) = (e.widen(x), e.widen(y));
    // From 2^-149 to 2^128.
    let rest = stepwise(e, x, y, 6);
    e.narrow(rest)
}

fn stepwise(e: &mut Emit, x: Val, y: Val, steps: i32) -> Val {
    let (mut rest, divisor) = (e.abs(x), e.abs(y));
    let zero = e.float(Lane::F64, 0.0);
    for step in (0..steps).rev() {
        // Twice, since 2^(50 · 41) is no float.
        let half = e.float(Lane::F64, 2f64.powi(BITS * step / 2));
        let scaled = e.mul(divisor, half);
        let scaled = e.mul(scaled, half);
        let quotient = e.div(rest, scaled);
        let quotient = e.trunc(quotient);
        let minus = e.neg(quotient);
        let less = e.fma(minus, scaled, rest);
        let back = e.add(less, scaled);
        let over = e.lt(less, zero);
        let less = e.select(over, back, less);
        // A divisor beyond every float, as an infinite one, goes no times into a number.
        let goes = e.le(scaled, rest);
        rest = e.select(goes, less, rest);
    }
    let nan = e.is_nan(y);
    let rest = e.select(nan, y, rest);
    copy_sign(e, rest, x)
}
