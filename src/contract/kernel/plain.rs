//! The kernel in plain Rust: any element on any machine.

use super::element::{Element, Number};
use super::{Kernel, Tile};
use std::marker::PhantomData;

/// Elements of type `E` on any machine.
pub(in crate::contract) struct Plain<E>(PhantomData<E>);

const ROWS: usize = 4;
const COLS: usize = 16;

impl<E: Element> Kernel for Plain<E> {
    type Elem = E;
    type Acc = E::Acc;
    const ROWS: usize = ROWS;
    const COLS: usize = COLS;

    #[inline]
    unsafe fn tile(rows: usize, _cols: usize, call: &Tile<E::Acc>) {
        // SAFETY: the caller's promise.
        unsafe { tile_rows(rows, call) }
    }

    unsafe fn turn(_lines: &[*const E], _depth: usize, _ahead: isize, _to: *mut E) -> bool {
        false
    }

    unsafe fn widen(from: *const E, to: *mut E::Acc, len: usize) {
        // SAFETY: the caller's promise.
        unsafe { widen(from, to, len) }
    }

    unsafe fn narrow(from: *const E::Acc, to: *mut E, len: usize) {
        // SAFETY: the caller's promise.
        unsafe { narrow(from, to, len) }
    }
}

/// # Safety
/// As for [`Kernel::tile`].
#[inline(always)]
pub(super) unsafe fn tile_rows<A: Number>(rows: usize, call: &Tile<A>) {
    // SAFETY: the caller's promise.
    unsafe {
        match rows {
            1 => tile::<A, 1>(call),
            2 => tile::<A, 2>(call),
            3 => tile::<A, 3>(call),
            _ => tile::<A, ROWS>(call),
        }
    }
}

/// # Safety
/// As for [`Kernel::tile`], with `R` rows.
#[inline(always)]
unsafe fn tile<A: Number, const R: usize>(call: &Tile<A>) {
    let mut sums = [[A::ZERO; COLS]; R];
    // SAFETY: the caller's promise: `R` rows of `a`, `COLS` columns of `b`, `depth` of both.
    unsafe {
        for k in 0..call.depth as isize {
            let b = call.b.offset(k * call.b_depth).cast::<[A; COLS]>().read_unaligned();
            for (row, sums) in sums.iter_mut().enumerate() {
                let a = *call.a.offset(row as isize * call.a_row + k * call.a_depth);
                for (sum, &b) in sums.iter_mut().zip(&b) {
                    *sum = sum.plus_product(a, b);
                }
            }
        }
        for (row, sums) in sums.iter().enumerate() {
            let c = call.c.offset(row as isize * call.c_row);
            for (j, &sum) in sums.iter().enumerate() {
                *c.add(j) = if call.add { (*c.add(j)).plus(sum) } else { sum };
            }
        }
    }
}

/// # Safety
/// As for [`Kernel::widen`].
#[inline(always)]
pub(super) unsafe fn widen<E: Element>(from: *const E, to: *mut E::Acc, len: usize) {
    for i in 0..len {
        // SAFETY: the caller's promise.
        unsafe { *to.add(i) = (*from.add(i)).widen() }
    }
}

/// # Safety
/// As for [`Kernel::narrow`].
#[inline(always)]
pub(super) unsafe fn narrow<E: Element>(from: *const E::Acc, to: *mut E, len: usize) {
    for i in 0..len {
        // SAFETY: the caller's promise.
        unsafe { *to.add(i) = E::narrow(*from.add(i)) }
    }
}
