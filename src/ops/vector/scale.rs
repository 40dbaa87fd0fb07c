//! `x · 2^⌊n⌋`, as machines without an instruction for it compute it.
//!
//! Two factors reach the denormals and infinity, and only the second product rounds. Where even the largest `x` gives 0, one factor is 0:
//! machines are slow at products so small that they round to 0.

/// A float that can be scaled.
pub(crate) trait Scale {
    /// See [`super::Binary::Scale`].
    fn scaled(self, n: Self) -> Self;

    /// See [`super::Binary::ScaleDown`].
    fn scaled_down(self, n: Self) -> Self;
}

/// Added to `n`, leaves it in eighths in the low bits of the sum, with twice the bias of an exponent: for f32 and f64.
pub(crate) const MAGIC_F32: f32 = 1_572_864.0 + 254.0;
pub(crate) const MAGIC_F64: f64 = 844_424_930_131_968.0 + 2046.0;
/// Below, the result is 0.
pub(crate) const NOTHING_F32: f32 = -150.0;
pub(crate) const NOTHING_F64: f64 = -1075.0;

/// So many powers of two above its place the result of [`super::Binary::ScaleDown`] is never a denormal: for f32 and f64.
const LIFT_F32: i32 = 24;
const LIFT_F64: i32 = 55;
/// As [`MAGIC_F32`], with the bias of an exponent once, lifted.
pub(crate) const LIFTED_F32: f32 = 1_572_864.0 + 127.0 + LIFT_F32 as f32;
pub(crate) const LIFTED_F64: f64 = 844_424_930_131_968.0 + 1023.0 + LIFT_F64 as f64;
/// What takes the lift away again.
pub(crate) const LOWER_F32: f32 = 1.0 / (1u64 << LIFT_F32) as f32;
pub(crate) const LOWER_F64: f64 = 1.0 / (1u64 << LIFT_F64) as f64;
/// The bits of an exponent.
pub(crate) const EXPONENT_F32: u32 = 0xff << 23;
pub(crate) const EXPONENT_F64: u64 = 0x7ff << 52;

/// The bits of an `n` in eighths that are below 1.
pub(crate) const FRACTION: u32 = 3;

/// `2^(k/8)` to nearest, as bits.
pub(crate) const EIGHTHS: [u32; 8] =
    [0x3f80_0000, 0x3f8b_95c2, 0x3f98_37f0, 0x3fa5_fed7, 0x3fb5_04f3, 0x3fc5_672a, 0x3fd7_44fd, 0x3fea_c0c7];

/// See [`super::Unary::Eighths`].
#[inline(always)]
pub(crate) fn eighths(k: u32) -> f32 {
    f32::from_bits(EIGHTHS[(k & 7) as usize])
}

impl Scale for f32 {
    #[inline(always)]
    fn scaled(self, n: f32) -> f32 {
        let sum = (n + MAGIC_F32).to_bits() >> FRACTION;
        let half = sum >> 1;
        let other = sum - half;
        let half = if n < NOTHING_F32 { 0 } else { half << 23 };
        self * f32::from_bits(half) * f32::from_bits(other << 23)
    }

    #[inline(always)]
    fn scaled_down(self, n: f32) -> f32 {
        let power = (n + LIFTED_F32).to_bits() << (23 - FRACTION) & EXPONENT_F32;
        self * f32::from_bits(power) * LOWER_F32
    }
}

impl Scale for f64 {
    #[inline(always)]
    fn scaled(self, n: f64) -> f64 {
        let sum = (n + MAGIC_F64).to_bits() >> FRACTION;
        let half = sum >> 1;
        let other = sum - half;
        let half = if n < NOTHING_F64 { 0 } else { half << 52 };
        self * f64::from_bits(half) * f64::from_bits(other << 52)
    }

    #[inline(always)]
    fn scaled_down(self, n: f64) -> f64 {
        let power = (n + LIFTED_F64).to_bits() << (52 - FRACTION) & EXPONENT_F64;
        self * f64::from_bits(power) * LOWER_F64
    }
}
