//! Rounding a number once, to fewer bits than Rust's casts know.

use super::{bf16, f16};

/// An `f64` rounded "to odd": towards zero, with the last bit set if anything was lost. Rounding that to 11 or 8
/// bits gives what one rounding of `x` gives, since the lost part can neither make nor break a tie.
pub(crate) fn to_odd_f32(x: f64) -> f32 {
    let nearest = x as f32;
    if x.is_nan() || f64::from(nearest) == x {
        return nearest;
    }
    let bits = nearest.to_bits() - u32::from(f64::from(nearest).abs() > x.abs());
    f32::from_bits(bits | 1)
}

/// The nearest `f16`, rounded once.
pub(super) fn to_f16(x: f64) -> f16 {
    f16::from_f32(to_odd_f32(x))
}

/// The nearest `bf16`, rounded once.
pub(super) fn to_bf16(x: f64) -> bf16 {
    bf16::from_f32(to_odd_f32(x))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_just_above_a_tie_is_rounded_up() {
        // Halfway between 1 and the next f16 (bf16), and a little more than an f32 could keep.
        assert_eq!(to_f16(1.0 + 2f64.powi(-11) + 2f64.powi(-40)), f16::from_bits(0x3c01));
        assert_eq!(to_f16(1.0 + 2f64.powi(-11)), f16::ONE);
        assert_eq!(to_bf16(1.0 + 2f64.powi(-8) + 2f64.powi(-40)), bf16::from_bits(0x3f81));
        assert_eq!(to_bf16(1.0 + 2f64.powi(-8)), bf16::ONE);
    }

    #[test]
    fn infinities_nan_and_overflow_keep_their_meaning() {
        assert_eq!(to_f16(f64::INFINITY), f16::INFINITY);
        assert_eq!(to_f16(-1e300), f16::NEG_INFINITY);
        assert_eq!(to_bf16(1e300), bf16::INFINITY);
        assert!(to_f16(f64::NAN).is_nan());
        assert_eq!(to_f16(-0.0).to_bits(), 0x8000);
    }
}
