//! The thirteen dtypes, and the ladder of traits over them.
//!
//! A dtype is registered in one place: the table in `registry.rs`.

mod literal;
mod registry;
mod rounding;

pub use half::{bf16, f16};
pub use literal::Literal;
pub use registry::DType;
pub(crate) use registry::{types, with_dtype};
#[cfg(test)]
pub(crate) use rounding::to_odd_f32;

use std::fmt::{Debug, Display};

/// A type that can be the element of a tensor.
///
/// The trait is sealed: the thirteen dtypes are the whole set.
pub trait TensorDType:
    Copy + Default + PartialEq + PartialOrd + Debug + Display + Send + Sync + sealed::Sealed + 'static
{
    /// The dtype at run time.
    const DTYPE: DType;

    /// The nearest value of this type: rounded for floats; for integers truncated and kept within range (NaN gives 0);
    /// `true` for any number but 0.
    fn from_f64(value: f64) -> Self;

    /// The value as `f64` (rounded if a 64-bit integer does not fit).
    fn to_f64(self) -> f64;

    /// The value with its dtype, for what is only known at run time.
    fn literal(self) -> Literal;

    /// The value out of a literal of the same dtype; `None` for another dtype.
    fn from_literal(literal: Literal) -> Option<Self>;
}

/// A number: everything but `bool`.
pub trait NumericDType: NumericInitDType {}

/// A floating-point number: `f16`, `bf16`, `f32`, `f64`.
pub trait FloatDType: NumericDType {}

/// An integer.
pub trait IntegerDType: NumericDType {}

/// An integer with a sign: `i8`, `i16`, `i32`, `i64`.
pub trait SignedIntDType: IntegerDType {}

/// An integer without a sign: `u8`, `u16`, `u32`, `u64`.
pub trait UnsignedIntDType: IntegerDType {}

/// A number with a sign: floats and signed integers, those that can be negated.
pub trait SignedDType: NumericDType {}

/// What `&`, `|`, `^` and `!` work on: integers, bit by bit, and `bool`.
pub trait BitDType: TensorDType {}

/// What creation needs to know of a number, floats and integers alike.
pub trait NumericInitDType: TensorDType {
    /// Zero.
    const ZERO: Self;
    /// One.
    const ONE: Self;
    /// The value with its dtype.
    fn to_literal(value: Self) -> Literal;
}

/// The element types under one roof, so that the table can name them.
mod rust {
    pub(super) use super::{bf16, f16};
    pub(super) use std::primitive::{bool, f32, f64, i8, i16, i32, i64, u8, u16, u32, u64};
}

mod sealed {
    /// Keeps the set of dtypes closed.
    pub trait Sealed {}
}
