//! Arithmetic that kernels outside the code generator share: every number has types in which totals are kept.

use crate::dtype::{NumericDType, bf16, f16};

/// A number of a dtype, and the types its totals are kept in: 16-bit floats run in 32 bits and are rounded once.
pub(super) trait Number: NumericDType {
    type Wide: Wide;
    fn widen(self) -> Self::Wide;
    fn narrow(wide: Self::Wide) -> Self;
    /// The type of totals that run through a whole line: those of `f32` are kept in 64 bits.
    type Running: Wide;
    fn to_running(self) -> Self::Running;
    fn from_running(total: Self::Running) -> Self;
}

/// A type that totals are kept in. Integers wrap.
pub(super) trait Wide: Copy + Send + Sync + PartialOrd + 'static {
    const ZERO: Self;
    const ONE: Self;
    const LOWEST: Self;
    const HIGHEST: Self;
    /// A product of finite numbers may be too large for the type, and a sum of a product and a number.
    const IS_FLOAT: bool;
    fn plus(self, other: Self) -> Self;
    fn times(self, other: Self) -> Self;
    fn is_nan(self) -> bool;
}

macro_rules! integers {
    ($($ty:ident)*) => {$(
        impl Wide for $ty {
            const ZERO: $ty = 0;
            const ONE: $ty = 1;
            const LOWEST: $ty = $ty::MIN;
            const HIGHEST: $ty = $ty::MAX;
            const IS_FLOAT: bool = false;
            #[inline(always)]
            fn plus(self, other: $ty) -> $ty {
                self.wrapping_add(other)
            }
            #[inline(always)]
            fn times(self, other: $ty) -> $ty {
                self.wrapping_mul(other)
            }
            #[inline(always)]
            fn is_nan(self) -> bool {
                false
            }
        }
        itself! { $ty $ty }
    )*};
}

macro_rules! floats {
    ($($ty:ident)*) => {$(
        impl Wide for $ty {
            const ZERO: $ty = 0.0;
            const ONE: $ty = 1.0;
            const LOWEST: $ty = $ty::NEG_INFINITY;
            const HIGHEST: $ty = $ty::INFINITY;
            const IS_FLOAT: bool = true;
            #[inline(always)]
            fn plus(self, other: $ty) -> $ty {
                self + other
            }
            #[inline(always)]
            fn times(self, other: $ty) -> $ty {
                self * other
            }
            #[inline(always)]
            fn is_nan(self) -> bool {
                self != self
            }
        }
    )*};
}

macro_rules! itself {
    ($ty:ident $running:ident) => {
        impl Number for $ty {
            type Wide = $ty;
            #[inline(always)]
            fn widen(self) -> $ty {
                self
            }
            #[inline(always)]
            fn narrow(wide: $ty) -> $ty {
                wide
            }
            type Running = $running;
            #[inline(always)]
            fn to_running(self) -> $running {
                self as $running
            }
            #[inline(always)]
            fn from_running(total: $running) -> $ty {
                total as $ty
            }
        }
    };
}

macro_rules! halves {
    ($($ty:ident)*) => {$(
        impl Number for $ty {
            type Wide = f32;
            #[inline(always)]
            fn widen(self) -> f32 {
                self.to_f32()
            }
            #[inline(always)]
            fn narrow(wide: f32) -> $ty {
                $ty::from_f32(wide)
            }
            type Running = f32;
            #[inline(always)]
            fn to_running(self) -> f32 {
                self.to_f32()
            }
            #[inline(always)]
            fn from_running(total: f32) -> $ty {
                $ty::from_f32(total)
            }
        }
    )*};
}

integers! { i8 i16 i32 i64 u8 u16 u32 u64 }
floats! { f32 f64 }
itself! { f32 f64 }
itself! { f64 f64 }
halves! { f16 bf16 }

/// Runs a block with `$T` as the Rust type of a dtype that is a number.
macro_rules! with_number {
    ($dtype:expr, $T:ident => $body:expr) => {
        match $dtype {
            $crate::dtype::DType::Bool => unreachable!("bools are refused when it is asked for"),
            $crate::dtype::DType::I8 => {
                type $T = i8;
                $body
            }
            $crate::dtype::DType::I16 => {
                type $T = i16;
                $body
            }
            $crate::dtype::DType::I32 => {
                type $T = i32;
                $body
            }
            $crate::dtype::DType::I64 => {
                type $T = i64;
                $body
            }
            $crate::dtype::DType::U8 => {
                type $T = u8;
                $body
            }
            $crate::dtype::DType::U16 => {
                type $T = u16;
                $body
            }
            $crate::dtype::DType::U32 => {
                type $T = u32;
                $body
            }
            $crate::dtype::DType::U64 => {
                type $T = u64;
                $body
            }
            $crate::dtype::DType::F16 => {
                type $T = $crate::dtype::f16;
                $body
            }
            $crate::dtype::DType::BF16 => {
                type $T = $crate::dtype::bf16;
                $body
            }
            $crate::dtype::DType::F32 => {
                type $T = f32;
                $body
            }
            $crate::dtype::DType::F64 => {
                type $T = f64;
                $body
            }
        }
    };
}
pub(super) use with_number;
