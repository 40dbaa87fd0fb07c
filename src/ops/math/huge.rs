//! Sine, cosine and tangent of huge arguments, one at a time: the lanes that the straight-line words do not serve.
//!
//! After Payne and Hanek: `x = m 2^e` with an integer `m`, so only a window of the bits of 2/π matters. Those above give
//! whole turns, those below too little to see. Integer arithmetic and IEEE operations only, so the same bits everywhere.

use super::trig::{COS_F64, HALF_PI_F64, SIN_F64};

/// 128 zero bits, then the first 1280 bits of 2/π.
#[rustfmt::skip]
const TWO_OVER_PI: [u64; 22] = [
    0, 0,
    0xa2f9836e4e441529, 0xfc2757d1f534ddc0, 0xdb6295993c439041, 0xfe5163abdebbc561,
    0xb7246e3a424dd2e0, 0x06492eea09d1921c, 0xfe1deb1cb129a73e, 0xe88235f52ebb4484,
    0xe99c7026b45f7e41, 0x3991d639835339f4, 0x9c845f8bbdf9283b, 0x1ff897ffde05980f,
    0xef2f118b5a0a6d1f, 0x6d367ecf27cb09b7, 0x4f463f669e5fea2d, 0x7527bac7ebe5f17b,
    0x3d0739f78a5292ea, 0x6bfb5fb11f8d5d08, 0x56033046fc7b6bab, 0xf0cfbc209af4361d,
];

pub(super) fn sin(x: f64) -> f64 {
    sine_ahead(x, 0)
}

pub(super) fn cos(x: f64) -> f64 {
    sine_ahead(x.abs(), 1)
}

pub(super) fn tan(x: f64) -> f64 {
    let Some((quadrant, r, rest)) = reduce(x) else { return f64::NAN };
    let (sine, cosine) = (sine(r, rest), cosine(r));
    let ratio = if quadrant & 1 == 0 { sine / cosine } else { -cosine / sine };
    if x < 0.0 { -ratio } else { ratio }
}

pub(super) fn sin_f32(x: f32) -> f32 {
    sin(f64::from(x)) as f32
}

pub(super) fn cos_f32(x: f32) -> f32 {
    cos(f64::from(x)) as f32
}

pub(super) fn tan_f32(x: f32) -> f32 {
    tan(f64::from(x)) as f32
}

/// The sine of `|x| + ahead π/2`, with the sign of `x`.
fn sine_ahead(x: f64, ahead: u64) -> f64 {
    let Some((quadrant, r, rest)) = reduce(x) else { return f64::NAN };
    let quadrant = quadrant + ahead;
    let size = if quadrant & 1 == 0 { sine(r, rest) } else { cosine(r) };
    if (x < 0.0) != (quadrant & 2 != 0) { -size } else { size }
}

/// `|x| = n π/2 + r + rest`: `n` modulo 4, `r` within π/4, `rest` below its last bit. For finite |x| ≥ 1; else `None`.
fn reduce(x: f64) -> Option<(u64, f64, f64)> {
    if !(1.0..f64::INFINITY).contains(&x.abs()) {
        return None;
    }
    let mantissa = x.to_bits() & ((1 << 52) - 1) | 1 << 52;
    let exponent = (x.to_bits() >> 52 & 0x7ff) as i64 - 1075;
    // A bit of 2/π worth 2^-i gives, times 2^exponent, a multiple of 4 unless i > exponent - 2: there the window starts.
    let start = (128 + exponent - 2) as usize;
    let word = |i: usize| {
        let (at, shift) = ((start + 64 * i) / 64, start % 64);
        let next = if shift == 0 { 0 } else { TWO_OVER_PI[at + 1] >> (64 - shift) };
        TWO_OVER_PI[at] << shift | next
    };
    // The low 192 bits of mantissa · window: 2 of quadrant, 190 of fraction.
    let low = u128::from(mantissa) * u128::from(word(2));
    let middle = u128::from(mantissa) * u128::from(word(1)) + (low >> 64);
    let high = mantissa.wrapping_mul(word(0)).wrapping_add((middle >> 64) as u64);
    let product = u128::from(high) << 64 | u128::from(middle as u64); // their upper 128
    // The fraction as a number from -1/2 to 1/2, in units of 2^-128.
    let fraction = (product << 2 | u128::from(low as u64 >> 62)) as i128;
    let quadrant = (product >> 126) as u64 + u64::from(fraction < 0);
    let whole = fraction as f64;
    let left = (fraction.wrapping_sub(whole as i128)) as f64;
    let [half_pi, half_pi_rest, _] = HALF_PI_F64;
    let r = whole * half_pi;
    let rest = whole.mul_add(half_pi, -r) + (whole * half_pi_rest + left * half_pi);
    let unit = 2f64.powi(-64);
    Some((quadrant, r * unit * unit, rest * unit * unit))
}

fn sine(r: f64, rest: f64) -> f64 {
    let z = r * r;
    r + (r * z).mul_add(horner(z, &SIN_F64), rest)
}

fn cosine(r: f64) -> f64 {
    let z = r * r;
    horner(z, &COS_F64).mul_add(z, -0.5).mul_add(z, 1.0)
}

fn horner(x: f64, coefficients: &[f64]) -> f64 {
    coefficients.iter().rev().fold(0.0, |sum, &coefficient| sum * x + coefficient)
}
