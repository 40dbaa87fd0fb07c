//! The one table of dtypes: the enum, its facts and the trait ladder all come from here.

use super::rounding;
use super::sealed::Sealed;
use super::{
    BitDType, FloatDType, IntegerDType, Literal, NumericDType, NumericInitDType, SignedDType, SignedIntDType,
    TensorDType, UnsignedIntDType, bf16, f16,
};
use std::fmt;

/// Builds [`DType`], its facts and the traits of every Rust type from one table.
macro_rules! dtypes {
    ($($kind:ident $variant:ident $ty:ident $doc:literal;)*) => {
        /// The type of a tensor's elements, at run time.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum DType {
            $(#[doc = $doc] $variant,)*
        }

        impl DType {
            /// Every dtype, in the order of the table.
            pub const ALL: [DType; 13] = [$(DType::$variant),*];

            /// The name users write: `f32`, `i64`, `bool` …
            pub fn name(self) -> &'static str {
                match self { $(DType::$variant => stringify!($ty),)* }
            }

            /// The bytes one element takes.
            pub fn size(self) -> usize {
                match self { $(DType::$variant => size_of::<$ty>(),)* }
            }

            fn kind(self) -> Kind {
                match self { $(DType::$variant => Kind::$kind,)* }
            }
        }

        $(
            impl Sealed for $ty {}
            dtypes!(@ladder $kind $variant $ty);
        )*

        /// The Rust type of each variant, by the variant's name.
        pub(crate) mod types {
            $(pub(crate) type $variant = $crate::dtype::rust::$ty;)*
        }

        /// Runs a block with `$T` as the Rust type of a dtype.
        macro_rules! with_dtype {
            ($dtype:expr, $T:ident => $body:expr) => {
                match $dtype {
                    $($crate::dtype::DType::$variant => { type $T = $crate::dtype::types::$variant; $body })*
                }
            };
        }
        pub(crate) use with_dtype;
    };
    (@ladder Bool $variant:ident $ty:ident) => {
        impl BitDType for bool {}
        impl TensorDType for bool {
            const DTYPE: DType = DType::Bool;
            fn from_f64(value: f64) -> bool { value != 0.0 }
            fn to_f64(self) -> f64 { f64::from(u8::from(self)) }
            fn literal(self) -> Literal { Literal::Bool(self) }
            fn from_literal(literal: Literal) -> Option<bool> {
                if let Literal::Bool(value) = literal { Some(value) } else { None }
            }
        }
    };
    (@ladder Signed $variant:ident $ty:ident) => {
        dtypes!(@integer $variant $ty);
        impl SignedIntDType for $ty {}
        impl SignedDType for $ty {}
    };
    (@ladder Unsigned $variant:ident $ty:ident) => {
        dtypes!(@integer $variant $ty);
        impl UnsignedIntDType for $ty {}
    };
    (@ladder Half $variant:ident $ty:ident) => {
        dtypes!(@number $variant $ty, <$ty as Nearest>::nearest, $ty::to_f64, $ty::ZERO, $ty::ONE);
        impl FloatDType for $ty {}
        impl SignedDType for $ty {}
    };
    (@ladder Float $variant:ident $ty:ident) => {
        dtypes!(@number $variant $ty, |v: f64| v as $ty, |v: $ty| v as f64, 0.0, 1.0);
        impl FloatDType for $ty {}
        impl SignedDType for $ty {}
    };
    (@integer $variant:ident $ty:ident) => {
        dtypes!(@number $variant $ty, |v: f64| v as $ty, |v: $ty| v as f64, 0, 1);
        impl IntegerDType for $ty {}
        impl BitDType for $ty {}
    };
    (@number $variant:ident $ty:ident, $from:expr, $to:expr, $zero:expr, $one:expr) => {
        impl TensorDType for $ty {
            const DTYPE: DType = DType::$variant;
            fn from_f64(value: f64) -> $ty { ($from)(value) }
            fn to_f64(self) -> f64 { ($to)(self) }
            fn literal(self) -> Literal { Literal::$variant(self) }
            fn from_literal(literal: Literal) -> Option<$ty> {
                if let Literal::$variant(value) = literal { Some(value) } else { None }
            }
        }
        impl NumericInitDType for $ty {
            const ZERO: $ty = $zero;
            const ONE: $ty = $one;
            fn to_literal(value: $ty) -> Literal { Literal::$variant(value) }
        }
        impl NumericDType for $ty {}
    };
}

/// A 16-bit float as the nearest to an `f64`, rounded once.
trait Nearest {
    fn nearest(value: f64) -> Self;
}

impl Nearest for f16 {
    fn nearest(value: f64) -> f16 {
        rounding::to_f16(value)
    }
}

impl Nearest for bf16 {
    fn nearest(value: f64) -> bf16 {
        rounding::to_bf16(value)
    }
}

/// The rung of the ladder a dtype stands on.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Bool,
    Signed,
    Unsigned,
    Half,
    Float,
}

dtypes! {
    Bool     Bool bool "True or false, one byte.";
    Signed   I8   i8   "8-bit integer.";
    Signed   I16  i16  "16-bit integer.";
    Signed   I32  i32  "32-bit integer.";
    Signed   I64  i64  "64-bit integer.";
    Unsigned U8   u8   "8-bit unsigned integer.";
    Unsigned U16  u16  "16-bit unsigned integer.";
    Unsigned U32  u32  "32-bit unsigned integer.";
    Unsigned U64  u64  "64-bit unsigned integer.";
    Half     F16  f16  "16-bit IEEE float.";
    Half     BF16 bf16 "16-bit brain float: the upper half of an `f32`.";
    Float    F32  f32  "32-bit IEEE float.";
    Float    F64  f64  "64-bit IEEE float.";
}

impl DType {
    /// `f16`, `bf16`, `f32` or `f64`.
    pub fn is_float(self) -> bool {
        matches!(self.kind(), Kind::Half | Kind::Float)
    }

    /// Any integer, signed or not.
    pub fn is_integer(self) -> bool {
        matches!(self.kind(), Kind::Signed | Kind::Unsigned)
    }

    /// An integer with a sign.
    pub fn is_signed_integer(self) -> bool {
        self.kind() == Kind::Signed
    }

    /// Everything but `bool`.
    pub fn is_numeric(self) -> bool {
        self.kind() != Kind::Bool
    }
}

impl fmt::Display for DType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
