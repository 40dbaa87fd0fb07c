//! Quotients and remainders of index expressions: quick where one divisor serves all lanes, 0 by a zero divisor.
//!
//! There is no vector instruction that divides integers. Index expressions divide by sizes, so the loop over many
//! dividends and one divisor is worth a detour: positions are far below 2^50, where a multiplication by the divisor's
//! reciprocal in `f64` is off by at most one, and the remainder tells.

use super::lanes::{Kernel, Op, Table, avx2, portable};
use crate::shape::{floor_div, floor_rem};
use std::slice;

struct Quotient;
struct Remainder;

impl Op for Quotient {
    type A = i64;
    type B = i64;
    type C = ();
    type R = i64;
    #[inline(always)]
    fn apply(a: i64, b: i64, _c: ()) -> i64 {
        floor_div(a, b)
    }
}

impl Op for Remainder {
    type A = i64;
    type B = i64;
    type C = ();
    type R = i64;
    #[inline(always)]
    fn apply(a: i64, b: i64, _c: ()) -> i64 {
        floor_rem(a, b)
    }
}

/// The loops of the quotient.
pub(super) fn quotient() -> Table {
    const PORTABLE: &[Kernel] = &[portable::<Quotient, 0>, portable::<Quotient, 1>, by_one::<Quotient, false>];
    const AVX2: &[Kernel] = &[avx2::<Quotient, 0>, avx2::<Quotient, 1>, by_one_avx2::<Quotient, false>];
    Table { portable: PORTABLE, avx2: AVX2 }
}

/// The loops of the remainder.
pub(super) fn remainder() -> Table {
    const PORTABLE: &[Kernel] = &[portable::<Remainder, 0>, portable::<Remainder, 1>, by_one::<Remainder, true>];
    const AVX2: &[Kernel] = &[avx2::<Remainder, 0>, avx2::<Remainder, 1>, by_one_avx2::<Remainder, true>];
    Table { portable: PORTABLE, avx2: AVX2 }
}

/// Divides a block by one divisor.
///
/// # Safety
/// As for [`Kernel`], `b` being one value.
unsafe fn by_one<O: Op<A = i64, B = i64, C = (), R = i64>, const REM: bool>(
    n: usize,
    to: *mut u8,
    a: *const u8,
    b: *const u8,
    _c: *const u8,
) {
    // SAFETY: the caller vouches for `n` lanes behind `to` and `a` that do not overlap, and for one behind `b`.
    let (to, a, b) =
        unsafe { (slice::from_raw_parts_mut(to.cast(), n), slice::from_raw_parts(a.cast(), n), *b.cast::<i64>()) };
    split::<O, REM>(to, a, b);
}

/// The same with AVX2.
///
/// # Safety
/// As for [`Kernel`], `b` being one value, on a machine with AVX2 and FMA.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
unsafe fn by_one_avx2<O: Op<A = i64, B = i64, C = (), R = i64>, const REM: bool>(
    n: usize,
    to: *mut u8,
    a: *const u8,
    b: *const u8,
    _c: *const u8,
) {
    // SAFETY: the caller vouches for `n` lanes behind `to` and `a` that do not overlap, and for one behind `b`.
    let (to, a, b) =
        unsafe { (slice::from_raw_parts_mut(to.cast(), n), slice::from_raw_parts(a.cast(), n), *b.cast::<i64>()) };
    split::<O, REM>(to, a, b);
}

#[cfg(not(target_arch = "x86_64"))]
use by_one as by_one_avx2;

/// Dividends and divisors up to this size go through `f64`.
const SMALL: i64 = 1 << 50;

/// 1.5 · 2^52: a float of this size has a last bit worth 1, so that adding it rounds to an integer, found in the low bits.
const MAGIC: f64 = 6_755_399_441_055_744.0;

#[inline(always)]
fn split<O: Op<A = i64, B = i64, C = (), R = i64>, const REM: bool>(to: &mut [i64], a: &[i64], b: i64) {
    let small = |x: i64| (-SMALL..SMALL).contains(&x);
    if b > 0 && b & (b - 1) == 0 {
        let (shift, mask) = (b.trailing_zeros(), b - 1);
        for (to, &a) in to.iter_mut().zip(a) {
            *to = if REM { a & mask } else { a >> shift };
        }
    } else if b > 0 && small(b) && a.iter().fold(true, |all, &a| all & small(a)) {
        let inverse = 1.0 / b as f64;
        let magic = MAGIC.to_bits() as i64;
        for (to, &a) in to.iter_mut().zip(a) {
            let dividend = f64::from_bits((a + magic) as u64) - MAGIC;
            let near = (dividend * inverse + MAGIC).to_bits() as i64 - magic;
            let left = a - near * b;
            let (below, above) = (i64::from(left < 0), i64::from(left >= b));
            *to = if REM { left + (below - above) * b } else { near - below + above };
        }
    } else {
        for (to, &a) in to.iter_mut().zip(a) {
            *to = O::apply(a, b, ());
        }
    }
}
