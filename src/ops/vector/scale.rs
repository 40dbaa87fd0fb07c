//! `x · 2^n`, as machines without an instruction for it compute it.
//!
//! Two factors reach the denormals and infinity, and only the second product rounds. Where even the largest `x` gives 0, one factor is 0:
//! machines are slow at products so small that they round to 0.

/// A float that can be scaled.
pub(crate) trait Scale {
    /// See [`super::Binary::Scale`].
    fn scaled(self, n: Self) -> Self;

    /// See [`super::Unary::Lower`].
    fn lowered(self) -> Self;
}

/// Added to `n`, leaves it in the low bits of the sum, with twice the bias of an exponent: for f32 and f64.
pub(crate) const MAGIC_F32: f32 = 12_582_912.0 + 254.0;
pub(crate) const MAGIC_F64: f64 = 6_755_399_441_055_744.0 + 2046.0;
/// How far [`super::Unary::Lower`] goes: for f32 and f64.
pub(crate) const LOWER_F32: i32 = 24;
pub(crate) const LOWER_F64: i32 = 55;
/// Below, the result is 0.
pub(crate) const NOTHING_F32: f32 = -150.5;
pub(crate) const NOTHING_F64: f64 = -1075.5;

impl Scale for f32 {
    #[inline(always)]
    fn scaled(self, n: f32) -> f32 {
        let sum = (n + MAGIC_F32).to_bits();
        let half = sum >> 1;
        let other = sum - half;
        let half = if n < NOTHING_F32 { 0 } else { half << 23 };
        self * f32::from_bits(half) * f32::from_bits(other << 23)
    }

    #[inline(always)]
    fn lowered(self) -> f32 {
        self * const { 1.0 / (1u64 << LOWER_F32) as f32 }
    }
}

impl Scale for f64 {
    #[inline(always)]
    fn scaled(self, n: f64) -> f64 {
        let sum = (n + MAGIC_F64).to_bits();
        let half = sum >> 1;
        let other = sum - half;
        let half = if n < NOTHING_F64 { 0 } else { half << 52 };
        self * f64::from_bits(half) * f64::from_bits(other << 52)
    }

    #[inline(always)]
    fn lowered(self) -> f64 {
        self * const { 1.0 / (1u64 << LOWER_F64) as f64 }
    }
}
