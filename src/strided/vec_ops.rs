//! Sums, products and extremes of whole slices.
//!
//! Integers wrap around. Floats are added in a fixed order, 32 interleaved partial sums in blocks that are added
//! pairwise: accurate, fast, and the same on every machine; `f16` and `bf16` are added as `f32` and rounded once at
//! the end. A NaN anywhere makes the result NaN.

use crate::dtype::{DType, NumericDType, TensorDType, bf16, f16, types};
use crate::error::{Error, ErrorKind, Result};

/// How many partial results there are.
const LANES: usize = 32;

/// Computes a `T` with arithmetic, which `T` alone does not have: by the name `$U` of its Rust type.
macro_rules! with_number {
    ($T:ident, $U:ident => $body:expr) => {
        with_number!(@match $T $U $body; I8 I16 I32 I64 U8 U16 U32 U64 F16 BF16 F32 F64)
    };
    (@match $T:ident $U:ident $body:expr; $($dtype:ident)*) => {
        match $T::DTYPE {
            DType::Bool => $T::ZERO, // never: it is not a NumericDType
            $(DType::$dtype => {
                type $U = types::$dtype;
                $T::from_literal(TensorDType::literal($body)).unwrap_or($T::ZERO)
            })*
        }
    };
}

/// The smaller of two values; NaN if either is.
pub fn min<T: NumericDType>(a: T, b: T) -> T {
    if a <= b || is_nan(a) { a } else { b }
}

/// The larger of two values; NaN if either is.
pub fn max<T: NumericDType>(a: T, b: T) -> T {
    if a >= b || is_nan(a) { a } else { b }
}

#[allow(clippy::eq_op)] // of all numbers, NaN alone differs from itself
fn is_nan<T: NumericDType>(x: T) -> bool {
    x != x
}

/// The smallest value; `None` of an empty slice.
pub fn reduce_min<T: NumericDType>(values: &[T]) -> Option<T> {
    fold(values, min)
}

/// The largest value; `None` of an empty slice.
pub fn reduce_max<T: NumericDType>(values: &[T]) -> Option<T> {
    fold(values, max)
}

/// One value out of all, in 32 interleaved chains: which of them meet first does not matter to `min` and `max`.
fn fold<T: NumericDType>(values: &[T], pick: impl Fn(T, T) -> T) -> Option<T> {
    let Some((&first, rest)) = values.split_first_chunk::<LANES>() else {
        return values.iter().copied().reduce(pick);
    };
    let mut lanes = first;
    for row in rest.chunks(LANES) {
        for (lane, &x) in lanes.iter_mut().zip(row) {
            *lane = pick(*lane, x);
        }
    }
    lanes.into_iter().reduce(pick)
}

/// The sum; 0 of an empty slice.
///
/// ```
/// assert_eq!(zither::strided::vec_ops::reduce_sum(&[1.5f32, 2.0, 3.0]), 6.5);
/// ```
pub fn reduce_sum<T: NumericDType>(values: &[T]) -> T {
    with_number!(T, U => {
        let values = same_type::<T, U>(values);
        sum::<U>(values.len(), &|i| values[i].widen())
    })
}

/// The sum of the products of two slices of the same length.
///
/// ```
/// assert_eq!(zither::strided::vec_ops::dot(&[1, 2, 3], &[4, 5, 6])?, 32);
/// # Ok::<(), zither::Error>(())
/// ```
pub fn dot<T: NumericDType>(a: &[T], b: &[T]) -> Result<T> {
    if a.len() != b.len() {
        let message = format!("left has {} elements and right {}: make them equally long", a.len(), b.len());
        return Err(Error::new(ErrorKind::Shape, "dot", message));
    }
    Ok(with_number!(T, U => {
        let (a, b) = (same_type::<T, U>(a), same_type::<T, U>(b));
        sum::<U>(a.len(), &|i| U::times(a[i].widen(), b[i].widen()))
    }))
}

/// A number and the type its sums are made in.
trait Number: NumericDType {
    type Wide: Copy + Default;
    fn widen(self) -> Self::Wide;
    fn narrow(wide: Self::Wide) -> Self;
    fn plus(a: Self::Wide, b: Self::Wide) -> Self::Wide;
    fn times(a: Self::Wide, b: Self::Wide) -> Self::Wide;
}

macro_rules! number {
    ($wide:ty: $($ty:ty)*, $widen:expr, $narrow:expr, $plus:expr, $times:expr) => {$(
        impl Number for $ty {
            type Wide = $wide;
            #[inline]
            fn widen(self) -> $wide { ($widen)(self) }
            #[inline]
            fn narrow(wide: $wide) -> $ty { ($narrow)(wide) }
            #[inline]
            fn plus(a: $wide, b: $wide) -> $wide { ($plus)(a, b) }
            #[inline]
            fn times(a: $wide, b: $wide) -> $wide { ($times)(a, b) }
        }
    )*};
    (integers: $($ty:ident)*) => {$(
        number!($ty: $ty, std::convert::identity, std::convert::identity, $ty::wrapping_add, $ty::wrapping_mul);
    )*};
    (floats: $($ty:ident)*) => {$(
        number!($ty: $ty, std::convert::identity, std::convert::identity, |a: $ty, b: $ty| a + b, |a: $ty, b: $ty| a * b);
    )*};
    (halves: $($ty:ident)*) => {$(
        number!(f32: $ty, $ty::to_f32, $ty::from_f32, |a: f32, b: f32| a + b, |a: f32, b: f32| a * b);
    )*};
}

number!(integers: i8 i16 i32 i64 u8 u16 u32 u64);
number!(floats: f32 f64);
number!(halves: f16 bf16);

/// A slice of `T` as one of `U`, which must be the same type by another name.
fn same_type<T: TensorDType, U: TensorDType>(values: &[T]) -> &[U] {
    assert_eq!(T::DTYPE, U::DTYPE);
    // SAFETY: the dtypes are a closed set with one Rust type each, so `T` and `U` are the same type.
    unsafe { std::slice::from_raw_parts(values.as_ptr().cast::<U>(), values.len()) }
}

/// The sum of `len` terms in the fixed order.
fn sum<U: Number>(len: usize, term: &impl Fn(usize) -> U::Wide) -> U {
    U::narrow(sum_range::<U>(0, len, term))
}

/// Halves a long range at a multiple of the block; within a block there are 32 partial sums, added as a tree.
fn sum_range<U: Number>(first: usize, len: usize, term: &impl Fn(usize) -> U::Wide) -> U::Wide {
    const BLOCK: usize = 1 << 12;
    if len > BLOCK {
        let half = (len / 2).next_multiple_of(BLOCK);
        return U::plus(sum_range::<U>(first, half, term), sum_range::<U>(first + half, len - half, term));
    }
    let mut lanes = [U::Wide::default(); LANES];
    let whole = len - len % LANES;
    for row in (first..first + whole).step_by(LANES) {
        for (lane, sum) in lanes.iter_mut().enumerate() {
            *sum = U::plus(*sum, term(row + lane));
        }
    }
    for (sum, i) in lanes.iter_mut().zip(first + whole..first + len) {
        *sum = U::plus(*sum, term(i));
    }
    let mut width = LANES / 2;
    while width > 0 {
        for lane in 0..width {
            lanes[lane] = U::plus(lanes[lane], lanes[lane + width]);
        }
        width /= 2;
    }
    lanes[0]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn s4_6_vector_helpers_on_every_kind_of_number() {
        assert_eq!((min(3, 2), max(3u8, 7)), (2, 7));
        assert_eq!((reduce_min(&[3i64, -5, 4]), reduce_max(&[3i64, -5, 4])), (Some(-5), Some(4)));
        assert_eq!((reduce_min::<f32>(&[]), reduce_max::<u8>(&[])), (None, None));
        assert_eq!((reduce_sum(&[1i32, 2, 3]), reduce_sum(&[0.5f64, 0.25]), reduce_sum::<u16>(&[])), (6, 0.75, 0));
        assert_eq!(reduce_sum(&[200u8, 100]), 44);
        assert_eq!(dot(&[1.0f32, 2.0, 3.0], &[4.0, -5.0, 6.0]).unwrap(), 12.0);
        assert_eq!(dot(&[100i8, 2], &[2, 3]).unwrap(), (206i32 as i8));
        assert_eq!(dot(&[1, 2], &[1]).unwrap_err().kind(), ErrorKind::Shape);
        // 4096 ones and more cannot be counted in an f16 one by one; they can in f32.
        assert_eq!(reduce_sum(&vec![f16::ONE; 5000]).to_f32(), 5000.0);
        assert_eq!(reduce_sum(&vec![bf16::ONE; 512]).to_f32(), 512.0);
    }

    #[test]
    fn extremes_are_found_wherever_they_are() {
        for len in [1, 31, 32, 33, 64, 65, 100] {
            for at in 0..len {
                let mut values = vec![0i32; len];
                values[at] = 1;
                assert_eq!((reduce_max(&values), reduce_min(&values)), (Some(1), Some(i32::from(len == 1))));
                let mut floats = vec![0f32; len];
                floats[at] = f32::NAN;
                assert!(reduce_max(&floats).unwrap().is_nan() && reduce_min(&floats).unwrap().is_nan());
            }
        }
    }

    #[test]
    fn nan_comes_through() {
        for values in [[f32::NAN, 1.0], [1.0, f32::NAN]] {
            assert!(reduce_min(&values).unwrap().is_nan() && reduce_max(&values).unwrap().is_nan());
            assert!(min(values[0], values[1]).is_nan() && reduce_sum(&values).is_nan());
        }
    }

    #[test]
    fn sums_are_exact_at_edge_lengths_and_accurate_over_long_slices() {
        for len in [0, 1, 2, 31, 32, 33, 4095, 4096, 4097, 8192, 8193, 100_001usize] {
            let values: Vec<i64> = (0..len as i64).collect();
            assert_eq!(reduce_sum(&values), len as i64 * (len as i64 - 1) / 2);
            assert_eq!(dot(&values, &vec![2; len]).unwrap(), len as i64 * (len as i64 - 1));
        }
        // One by one, ten million tenths in f32 come to 1087937.
        assert!((reduce_sum(&vec![0.1f32; 10_000_000]) - 1e6).abs() < 1.0);
    }
}
