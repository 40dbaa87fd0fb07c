//! What elements are summed in, and how they get there and back.

use crate::dtype::{bf16, f16};

/// What is summed: `f32`, `f64`, or an integer that wraps.
pub(in crate::contract) trait Number: Copy + 'static {
    const ZERO: Self;

    /// `self + a * b`; floats may round once or twice.
    fn plus_product(self, a: Self, b: Self) -> Self;

    fn plus(self, other: Self) -> Self;
}

/// What a tensor holds. Integers are known by their width alone.
pub(in crate::contract) trait Element: Copy + 'static {
    type Acc: Number;
    /// Whether it is summed as it is.
    const SAME: bool;
    /// Whether finished tiles hold sums, not elements.
    const FINISHED_WIDE: bool;
    const ZERO: Self;

    fn widen(self) -> Self::Acc;

    fn narrow(sum: Self::Acc) -> Self;
}

macro_rules! floats {
    ($($float:ident)*) => {$(
        impl Number for $float {
            const ZERO: $float = 0.0;

            #[inline(always)]
            fn plus_product(self, a: $float, b: $float) -> $float {
                self + a * b
            }

            #[inline(always)]
            fn plus(self, other: $float) -> $float {
                self + other
            }
        }

        impl Element for $float {
            type Acc = $float;
            const SAME: bool = true;
            const FINISHED_WIDE: bool = true;
            const ZERO: $float = 0.0;

            #[inline(always)]
            fn widen(self) -> $float {
                self
            }

            #[inline(always)]
            fn narrow(sum: $float) -> $float {
                sum
            }
        }
    )*};
}

macro_rules! halves {
    ($($half:ident)*) => {$(
        impl Element for $half {
            type Acc = f32;
            const SAME: bool = false;
            const FINISHED_WIDE: bool = true;
            const ZERO: $half = $half::ZERO;

            #[inline(always)]
            fn widen(self) -> f32 {
                self.to_f32()
            }

            #[inline(always)]
            fn narrow(sum: f32) -> $half {
                $half::from_f32(sum)
            }
        }
    )*};
}

macro_rules! integers {
    ($($sum:ident)*) => {$(
        impl Number for $sum {
            const ZERO: $sum = 0;

            #[inline(always)]
            fn plus_product(self, a: $sum, b: $sum) -> $sum {
                self.wrapping_add(a.wrapping_mul(b))
            }

            #[inline(always)]
            fn plus(self, other: $sum) -> $sum {
                self.wrapping_add(other)
            }
        }
    )*};
}

macro_rules! integer_elements {
    ($($integer:ident $sum:ident)*) => {$(
        impl Element for $integer {
            type Acc = $sum;
            const SAME: bool = size_of::<$integer>() == size_of::<$sum>();
            const FINISHED_WIDE: bool = Self::SAME;
            const ZERO: $integer = 0;

            #[inline(always)]
            fn widen(self) -> $sum {
                <$sum>::from(self)
            }

            #[inline(always)]
            fn narrow(sum: $sum) -> $integer {
                sum as $integer
            }
        }
    )*};
}

floats!(f32 f64);
halves!(f16 bf16);
integers!(u32 u64);
integer_elements!(u8 u32 u16 u32 u32 u32 u64 u64);
