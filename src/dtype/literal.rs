//! One value together with its dtype.

use super::{DType, TensorDType, bf16, f16};
use std::fmt;

/// One value whose dtype is known at run time.
#[derive(Clone, Copy, Debug)]
pub enum Literal {
    /// A `bool`.
    Bool(bool),
    /// An `i8`.
    I8(i8),
    /// An `i16`.
    I16(i16),
    /// An `i32`.
    I32(i32),
    /// An `i64`.
    I64(i64),
    /// A `u8`.
    U8(u8),
    /// A `u16`.
    U16(u16),
    /// A `u32`.
    U32(u32),
    /// A `u64`.
    U64(u64),
    /// An `f16`.
    F16(f16),
    /// A `bf16`.
    BF16(bf16),
    /// An `f32`.
    F32(f32),
    /// An `f64`.
    F64(f64),
}

/// Runs an expression on the value inside, whatever its type.
macro_rules! each {
    ($literal:expr, $v:ident => $body:expr) => {
        match $literal {
            Literal::Bool($v) => $body,
            Literal::I8($v) => $body,
            Literal::I16($v) => $body,
            Literal::I32($v) => $body,
            Literal::I64($v) => $body,
            Literal::U8($v) => $body,
            Literal::U16($v) => $body,
            Literal::U32($v) => $body,
            Literal::U64($v) => $body,
            Literal::F16($v) => $body,
            Literal::BF16($v) => $body,
            Literal::F32($v) => $body,
            Literal::F64($v) => $body,
        }
    };
}

impl Literal {
    /// The dtype of the value.
    pub fn dtype(self) -> DType {
        fn of<T: TensorDType>(_: T) -> DType {
            T::DTYPE
        }
        each!(self, v => of(v))
    }

    /// The value as `f64`; a 64-bit integer is rounded to the nearest.
    pub fn to_f64(self) -> f64 {
        each!(self, v => TensorDType::to_f64(v))
    }

    /// The nearest value of `dtype` to `value` (see [`TensorDType::from_f64`]).
    pub fn from_f64(dtype: DType, value: f64) -> Literal {
        super::with_dtype!(dtype, T => T::from_f64(value).literal())
    }

    /// Zero (`false`) of a dtype.
    pub fn zero(dtype: DType) -> Literal {
        Literal::from_f64(dtype, 0.0)
    }

    /// One (`true`) of a dtype.
    pub fn one(dtype: DType) -> Literal {
        Literal::from_f64(dtype, 1.0)
    }

    /// The smallest value of a dtype: -inf for floats, `MIN` for integers, `false`.
    pub fn lowest(dtype: DType) -> Literal {
        match dtype {
            DType::Bool => Literal::Bool(false),
            DType::I64 => Literal::I64(i64::MIN),
            _ => Literal::from_f64(dtype, f64::NEG_INFINITY),
        }
    }

    /// The largest value of a dtype: inf for floats, `MAX` for integers, `true`.
    pub fn highest(dtype: DType) -> Literal {
        match dtype {
            DType::I64 => Literal::I64(i64::MAX),
            DType::U64 => Literal::U64(u64::MAX),
            _ => Literal::from_f64(dtype, f64::INFINITY),
        }
    }

    /// The value of an integer or a bool as a mathematical integer; `None` for floats.
    pub(crate) fn to_integer(self) -> Option<i128> {
        Some(match self {
            Literal::Bool(v) => i128::from(v),
            Literal::I8(v) => i128::from(v),
            Literal::I16(v) => i128::from(v),
            Literal::I32(v) => i128::from(v),
            Literal::I64(v) => i128::from(v),
            Literal::U8(v) => i128::from(v),
            Literal::U16(v) => i128::from(v),
            Literal::U32(v) => i128::from(v),
            Literal::U64(v) => i128::from(v),
            Literal::F16(_) | Literal::BF16(_) | Literal::F32(_) | Literal::F64(_) => return None,
        })
    }

    /// A mathematical integer as an integer dtype (wrapped), a bool (not zero) or a float (rounded).
    pub(crate) fn from_integer(dtype: DType, value: i128) -> Literal {
        match dtype {
            DType::Bool => Literal::Bool(value != 0),
            DType::I8 => Literal::I8(value as i8),
            DType::I16 => Literal::I16(value as i16),
            DType::I32 => Literal::I32(value as i32),
            DType::I64 => Literal::I64(value as i64),
            DType::U8 => Literal::U8(value as u8),
            DType::U16 => Literal::U16(value as u16),
            DType::U32 => Literal::U32(value as u32),
            DType::U64 => Literal::U64(value as u64),
            DType::F16 => Literal::F16(super::rounding::to_f16(value as f64)),
            DType::BF16 => Literal::BF16(super::rounding::to_bf16(value as f64)),
            DType::F32 => Literal::F32(value as f32),
            DType::F64 => Literal::F64(value as f64),
        }
    }

    /// The value converted as `cast` does: like Rust's `as`; to `bool`, "is not zero".
    pub fn cast(self, dtype: DType) -> Literal {
        match self.to_integer() {
            Some(integer) => Literal::from_integer(dtype, integer),
            None => Literal::from_f64(dtype, self.to_f64()),
        }
    }

    /// The value's bits, low end first, zero above its size: equal bits mean the same value for the machine.
    pub(crate) fn bits(self) -> u64 {
        match self {
            Literal::Bool(v) => u64::from(v),
            Literal::I8(v) => u64::from(v as u8),
            Literal::I16(v) => u64::from(v as u16),
            Literal::I32(v) => u64::from(v as u32),
            Literal::I64(v) => v as u64,
            Literal::U8(v) => u64::from(v),
            Literal::U16(v) => u64::from(v),
            Literal::U32(v) => u64::from(v),
            Literal::U64(v) => v,
            Literal::F16(v) => u64::from(v.to_bits()),
            Literal::BF16(v) => u64::from(v.to_bits()),
            Literal::F32(v) => u64::from(v.to_bits()),
            Literal::F64(v) => v.to_bits(),
        }
    }
}

/// Equal when the dtypes and the bits are equal (so NaN equals itself, and 0.0 differs from -0.0).
impl PartialEq for Literal {
    fn eq(&self, other: &Literal) -> bool {
        self.dtype() == other.dtype() && self.bits() == other.bits()
    }
}

impl Eq for Literal {}

impl std::hash::Hash for Literal {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.dtype().hash(state);
        self.bits().hash(state);
    }
}

impl fmt::Display for Literal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        each!(self, v => v.fmt(f))
    }
}
