//! Half floats to and from `f32` without branches, so that LLVM vectorises the loops around them.
//!
//! Bit for bit what the `half` crate gives (and x86's F16C), NaN payloads included.

/// The `f32` with the value of an f16; NaN becomes quiet.
#[inline(always)]
pub(super) fn from_f16(half: u16) -> f32 {
    let sign = u32::from(half & 0x8000) << 16;
    let magnitude = u32::from(half & 0x7fff);
    // The exponent field lands 112 too low; one exact multiplication mends it, subnormals included.
    let finite = (f32::from_bits(magnitude << 13) * f32::from_bits((127 + 112) << 23)).to_bits();
    let quiet = if magnitude > 0x7c00 { 0x0040_0000 } else { 0 };
    let special = (magnitude << 13) | 0x7f80_0000 | quiet;
    f32::from_bits(sign | if magnitude >= 0x7c00 { special } else { finite })
}

/// The f16 nearest to an `f32`, ties to even.
#[inline(always)]
pub(super) fn to_f16(value: f32) -> u16 {
    let bits = value.to_bits();
    let sign = (bits >> 16) & 0x8000;
    let magnitude = bits & 0x7fff_ffff;
    // Adding a half pushes the bits of a subnormal result to the low end, rounded by the addition itself.
    let subnormal = (f32::from_bits(magnitude) + 0.5).to_bits().wrapping_sub(0.5f32.to_bits());
    // A carry out of the mantissa moves on to the next exponent, up to infinity.
    let odd = (magnitude >> 13) & 1;
    let normal = magnitude.wrapping_sub(112 << 23).wrapping_add(0xfff + odd) >> 13;
    let nan = 0x7e00 | ((magnitude >> 13) & 0x3ff);
    let special = if magnitude > 0x7f80_0000 { nan } else { 0x7c00 };
    let finite = if magnitude < 113 << 23 { subnormal } else { normal };
    (sign | if magnitude >= 143 << 23 { special } else { finite }) as u16
}

/// The `f32` with the value of a bf16.
#[inline(always)]
pub(super) fn from_bf16(half: u16) -> f32 {
    f32::from_bits(u32::from(half) << 16)
}

/// The bf16 nearest to an `f32`, ties to even.
#[inline(always)]
pub(super) fn to_bf16(value: f32) -> u16 {
    let bits = value.to_bits();
    let odd = (bits >> 16) & 1;
    let rounded = bits.wrapping_add(0x7fff + odd) >> 16;
    let nan = (bits >> 16) | 0x40;
    (if bits & 0x7fff_ffff > 0x7f80_0000 { nan } else { rounded }) as u16
}

/// The `f32` next to an `f64` whose last bit is 1 unless the conversion is exact: rounding that once more, to
/// something at least two bits shorter, is the same as rounding the `f64` once.
#[inline(always)]
pub(super) fn to_odd(value: f64) -> f32 {
    let near = value as f32;
    let back = f64::from(near);
    let bits = near.to_bits();
    let towards_zero = if back.abs() > value.abs() { bits.wrapping_sub(1) } else { bits };
    let inexact = back != value && !value.is_nan();
    f32::from_bits(if inexact { towards_zero | 1 } else { bits })
}
