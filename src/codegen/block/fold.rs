//! The folds on lanes: into a block of accumulators, into the interleaved accumulators of one leaf, and over short rows.
//! What is combined with what is laid down in [`crate::codegen::order`].

use crate::codegen::order::ACCUMULATORS;
use crate::dtype::{DType, Literal};
use crate::lower::program::Fold;
use crate::ops::vector::Lane;
use std::slice;

/// How two lanes become one.
trait Combine {
    type T: Copy;
    fn combine(a: Self::T, b: Self::T) -> Self::T;
}

/// The loops of one fold on one lane type.
#[derive(Clone, Copy)]
pub(in crate::codegen) struct Folder {
    /// (`n`, accumulators, values): accumulator `i` takes in value `i`, or the one value there is.
    pub(in crate::codegen) block: unsafe fn(usize, *mut u8, *const u8),
    pub(super) one: unsafe fn(usize, *mut u8, *const u8),
    /// (`n`, values): value `i` becomes numbers `2 i` and `2 i + 1`, combined, for each `i` below `n`.
    pub(in crate::codegen) pairs: unsafe fn(usize, *mut u8),
    /// (`n`, accumulators, values): accumulator `i % ACCUMULATORS` takes in value `i`.
    pub(super) interleaved: unsafe fn(usize, *mut u8, *const u8),
    /// (accumulators): all into the first.
    pub(super) tree: unsafe fn(*mut u8),
    /// (rows, length, results, values, identity): folds each row, as a leaf, to one result.
    pub(super) rows: unsafe fn(usize, usize, *mut u8, *const u8, *const u8),
}

/// Writes each loop twice, for any machine and for AVX2, and collects them.
macro_rules! folders {
    ($($name:ident($($x:ident: $t:ty),*);)*) => {
        mod any {
            $(
                /// # Safety
                /// As the field of [`super::Folder`] says.
                pub(super) unsafe fn $name<C: super::Combine>($($x: $t),*) {
                    // SAFETY: the caller's promise is the callee's.
                    unsafe { super::$name::<C>($($x),*) }
                }
            )*
        }
        #[cfg(target_arch = "x86_64")]
        mod avx2 {
            $(
                /// # Safety
                /// As the field of [`super::Folder`] says, on a machine with AVX2 and FMA.
                #[target_feature(enable = "avx2,fma")]
                pub(super) unsafe fn $name<C: super::Combine>($($x: $t),*) {
                    // SAFETY: the caller's promise is the callee's.
                    unsafe { super::$name::<C>($($x),*) }
                }
            )*
        }
        #[cfg(not(target_arch = "x86_64"))]
        use any as avx2;

        fn folder<C: Combine>(vector: bool) -> Folder {
            if vector {
                Folder { $($name: avx2::$name::<C>),* }
            } else {
                Folder { $($name: any::$name::<C>),* }
            }
        }
    };
}

folders! {
    block(n: usize, to: *mut u8, values: *const u8);
    one(n: usize, to: *mut u8, value: *const u8);
    pairs(n: usize, values: *mut u8);
    interleaved(n: usize, to: *mut u8, values: *const u8);
    tree(to: *mut u8);
    rows(rows: usize, length: usize, to: *mut u8, values: *const u8, identity: *const u8);
}

/// # Safety
/// `n` lanes behind each pointer, apart.
#[inline(always)]
unsafe fn block<C: Combine>(n: usize, to: *mut u8, values: *const u8) {
    // SAFETY: the caller's promise.
    let (to, values) =
        unsafe { (slice::from_raw_parts_mut(to.cast::<C::T>(), n), slice::from_raw_parts(values.cast::<C::T>(), n)) };
    for (to, &value) in to.iter_mut().zip(values) {
        *to = C::combine(*to, value);
    }
}

/// # Safety
/// `n` lanes behind `to`, one behind `value`, apart.
#[inline(always)]
unsafe fn one<C: Combine>(n: usize, to: *mut u8, value: *const u8) {
    // SAFETY: the caller's promise.
    let (to, value) = unsafe { (slice::from_raw_parts_mut(to.cast::<C::T>(), n), value.cast::<C::T>().read()) };
    for to in to {
        *to = C::combine(*to, value);
    }
}

/// # Safety
/// `2 n` lanes behind `values`.
#[inline(always)]
unsafe fn pairs<C: Combine>(n: usize, values: *mut u8) {
    // SAFETY: the caller's promise.
    let values = unsafe { slice::from_raw_parts_mut(values.cast::<C::T>(), 2 * n) };
    for i in 0..n {
        values[i] = C::combine(values[2 * i], values[2 * i + 1]);
    }
}

/// # Safety
/// [`ACCUMULATORS`] lanes behind `to`, `n` behind `values`, apart.
#[inline(always)]
unsafe fn interleaved<C: Combine>(n: usize, to: *mut u8, values: *const u8) {
    // SAFETY: the caller's promise.
    let (to, values) =
        unsafe { (&mut *to.cast::<[C::T; ACCUMULATORS]>(), slice::from_raw_parts(values.cast::<C::T>(), n)) };
    let mut accumulators = *to;
    interleave::<C, ACCUMULATORS>(&mut accumulators, values);
    *to = accumulators;
}

/// # Safety
/// [`ACCUMULATORS`] lanes behind `to`.
#[inline(always)]
unsafe fn tree<C: Combine>(to: *mut u8) {
    // SAFETY: the caller's promise.
    let accumulators = unsafe { &mut *to.cast::<[C::T; ACCUMULATORS]>() };
    accumulators[0] = halve::<C, ACCUMULATORS>(*accumulators);
}

/// # Safety
/// `rows · length` lanes behind `values`, room for `rows` behind `to`, one lane behind `identity`, apart; `length > 0`.
#[inline(always)]
unsafe fn rows<C: Combine>(rows: usize, length: usize, to: *mut u8, values: *const u8, identity: *const u8) {
    #[inline(always)]
    fn each<C: Combine, const W: usize>(length: usize, to: &mut [C::T], values: &[C::T], identity: C::T) {
        for (to, row) in to.iter_mut().zip(values.chunks_exact(length)) {
            let mut accumulators = [identity; W];
            interleave::<C, W>(&mut accumulators, row);
            *to = halve::<C, W>(accumulators);
        }
    }
    // SAFETY: the caller's promise.
    let (to, values, identity) = unsafe {
        (
            slice::from_raw_parts_mut(to.cast::<C::T>(), rows),
            slice::from_raw_parts(values.cast::<C::T>(), rows * length),
            identity.cast::<C::T>().read(),
        )
    };
    match length.next_power_of_two().min(ACCUMULATORS) {
        1 => each::<C, 1>(length, to, values, identity),
        2 => each::<C, 2>(length, to, values, identity),
        4 => each::<C, 4>(length, to, values, identity),
        8 => each::<C, 8>(length, to, values, identity),
        16 => each::<C, 16>(length, to, values, identity),
        _ => each::<C, ACCUMULATORS>(length, to, values, identity),
    }
}

#[inline(always)]
fn interleave<C: Combine, const W: usize>(accumulators: &mut [C::T; W], values: &[C::T]) {
    let (whole, rest) = values.as_chunks::<W>();
    for chunk in whole {
        for j in 0..W {
            accumulators[j] = C::combine(accumulators[j], chunk[j]);
        }
    }
    for (accumulator, &value) in accumulators.iter_mut().zip(rest) {
        *accumulator = C::combine(*accumulator, value);
    }
}

#[inline(always)]
fn halve<C: Combine, const W: usize>(mut accumulators: [C::T; W]) -> C::T {
    let mut half = W / 2;
    while half > 0 {
        for j in 0..half {
            accumulators[j] = C::combine(accumulators[j], accumulators[j + half]);
        }
        half /= 2;
    }
    accumulators[0]
}

/// The loops of a fold on the lane of a dtype.
pub(super) fn folder_of(fold: Fold, stored: DType, vector: bool) -> Folder {
    macro_rules! on {
        ($T:ty, |$a:ident, $b:ident| $body:expr) => {{
            struct It;
            impl Combine for It {
                type T = $T;
                #[inline(always)]
                fn combine($a: $T, $b: $T) -> $T {
                    $body
                }
            }
            folder::<It>(vector)
        }};
    }
    // NaN wins. `a + a` is that same NaN; where `a` itself may be chosen, LLVM makes slow masked stores of the choice.
    let signed = stored.is_signed_integer();
    match (fold, Lane::of(stored)) {
        (Fold::Sum | Fold::Max, Lane::Mask) => on!(u8, |a, b| a | b),
        (Fold::Prod | Fold::Min, Lane::Mask) => on!(u8, |a, b| a & b),
        (Fold::Sum, Lane::I32) => on!(i32, |a, b| a.wrapping_add(b)),
        (Fold::Sum, Lane::I64) => on!(i64, |a, b| a.wrapping_add(b)),
        (Fold::Sum, Lane::F32) => on!(f32, |a, b| a + b),
        (Fold::Sum, Lane::F64) => on!(f64, |a, b| a + b),
        (Fold::Prod, Lane::I32) => on!(i32, |a, b| a.wrapping_mul(b)),
        (Fold::Prod, Lane::I64) => on!(i64, |a, b| a.wrapping_mul(b)),
        (Fold::Prod, Lane::F32) => on!(f32, |a, b| a * b),
        (Fold::Prod, Lane::F64) => on!(f64, |a, b| a * b),
        (Fold::Max, Lane::I32) if signed => on!(i32, |a, b| a.max(b)),
        (Fold::Max, Lane::I64) if signed => on!(i64, |a, b| a.max(b)),
        (Fold::Max, Lane::I32) => on!(u32, |a, b| a.max(b)),
        (Fold::Max, Lane::I64) => on!(u64, |a, b| a.max(b)),
        (Fold::Max, Lane::F32) => on!(f32, |a, b| if a.is_nan() {
            a + a
        } else if a > b {
            a
        } else {
            b
        }),
        (Fold::Max, Lane::F64) => on!(f64, |a, b| if a.is_nan() {
            a + a
        } else if a > b {
            a
        } else {
            b
        }),
        (Fold::Min, Lane::I32) if signed => on!(i32, |a, b| a.min(b)),
        (Fold::Min, Lane::I64) if signed => on!(i64, |a, b| a.min(b)),
        (Fold::Min, Lane::I32) => on!(u32, |a, b| a.min(b)),
        (Fold::Min, Lane::I64) => on!(u64, |a, b| a.min(b)),
        (Fold::Min, Lane::F32) => on!(f32, |a, b| if a.is_nan() {
            a + a
        } else if a < b {
            a
        } else {
            b
        }),
        (Fold::Min, Lane::F64) => on!(f64, |a, b| if a.is_nan() {
            a + a
        } else if a < b {
            a
        } else {
            b
        }),
    }
}

/// What a fold over nothing gives.
pub(in crate::codegen) fn identity(fold: Fold, stored: DType) -> Literal {
    match fold {
        Fold::Sum => Literal::zero(stored),
        Fold::Prod => Literal::one(stored),
        Fold::Max => Literal::lowest(stored),
        Fold::Min => Literal::highest(stored),
    }
}

/// The same lane `n` times.
///
/// # Safety
/// `to` has room for `n` lanes of `width` bytes; one is behind `lane`.
pub(in crate::codegen) unsafe fn fill(n: usize, to: *mut u8, lane: *const u8, width: usize) {
    // SAFETY: the caller's promise.
    unsafe {
        match width {
            1 => slice::from_raw_parts_mut(to, n).fill(*lane),
            4 => slice::from_raw_parts_mut(to.cast::<u32>(), n).fill(*lane.cast()),
            _ => slice::from_raw_parts_mut(to.cast::<u64>(), n).fill(*lane.cast()),
        }
    }
}
