//! The kernel in plain Rust: any element on any machine.

use super::element::{Element, Number};
use super::{Cut, Kernel, Piece, Tile};
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
    const EXACT: bool = false;

    #[inline]
    unsafe fn tile(rows: usize, _cols: usize, call: &Tile<E::Acc>) {
        // SAFETY: the caller's promise.
        unsafe { tile_rows(rows, call) }
    }

    unsafe fn abreast(a: *const E::Acc, left: &[u16], b: *const E::Acc, right: &[u16], to: *mut E::Acc) {
        // SAFETY: the caller's promise.
        unsafe { abreast(a, left, b, right, to) }
    }

    unsafe fn pack_pieces(_: &[Piece<E>], _: &[isize], _: Option<&Cut<'_>>, _: *mut E) -> bool {
        false
    }

    unsafe fn turn_back(from: *const E, len: usize, lanes: &[*mut E]) {
        // SAFETY: the caller's promise.
        unsafe { turn_back(from, 0, len, lanes) }
    }

    unsafe fn add_rows(x: *const E::Acc, rows: &[*const E::Acc], _ahead: isize, sums: *mut E::Acc, len: usize) {
        // SAFETY: the caller's promise.
        unsafe { add_rows(x, rows, sums, len) }
    }

    unsafe fn add_lines<const N: usize>(x: *const E::Acc, lines: &[*const E::Acc], depth: usize, sums: *mut E::Acc) {
        // SAFETY: the caller's promise.
        unsafe { add_lines::<E::Acc, N>(x, lines, depth, sums) }
    }

    unsafe fn turn(_lines: &[*const E], _depth: usize, _ahead: isize, _to: *mut E) -> bool {
        false
    }

    unsafe fn along<const W: usize>(from: *const E, stride: isize, count: usize, to: *mut E) {
        // SAFETY: the caller's promise.
        unsafe { along::<E, W>(from, stride, count, to) }
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
/// As for [`Kernel::abreast`].
#[inline(always)]
pub(super) unsafe fn abreast<A: Number>(a: *const A, left: &[u16], b: *const A, right: &[u16], to: *mut A) {
    let mut sums = [A::ZERO; 16];
    for (&l, &r) in left.iter().zip(right) {
        // SAFETY: the caller's promise.
        let (a, b) = unsafe { (a.add(usize::from(l) * 16), b.add(usize::from(r) * 16)) };
        for (i, sum) in sums.iter_mut().enumerate() {
            // SAFETY: the caller's promise.
            *sum = unsafe { sum.plus_product(*a.add(i), *b.add(i)) };
        }
    }
    // SAFETY: the caller's promise.
    unsafe { to.cast::<[A; 16]>().write(sums) }
}

/// # Safety
/// As for [`Kernel::turn_back`], from the element `first` on.
#[inline(always)]
pub(super) unsafe fn turn_back<E: Copy>(from: *const E, first: usize, len: usize, lanes: &[*mut E]) {
    for (lane, &to) in lanes.iter().enumerate() {
        for e in first..len {
            // SAFETY: the caller's promise.
            unsafe { *to.add(e) = *from.add(e * 16 + lane) }
        }
    }
}

/// # Safety
/// As for [`Kernel::add_rows`].
#[inline(always)]
pub(super) unsafe fn add_rows<A: Number>(x: *const A, rows: &[*const A], sums: *mut A, len: usize) {
    for (r, row) in rows.iter().enumerate() {
        for j in 0..len {
            // SAFETY: the caller's promise.
            unsafe { *sums.add(j) = (*sums.add(j)).plus_product(*x.add(r), *row.add(j)) }
        }
    }
}

/// # Safety
/// As for [`Kernel::along`].
#[inline(always)]
pub(super) unsafe fn along<E, const W: usize>(from: *const E, stride: isize, count: usize, to: *mut E) {
    for k in 0..count {
        // SAFETY: the caller's promise.
        unsafe { std::ptr::copy_nonoverlapping(from.offset(k as isize * stride), to.add(k * W), W) }
    }
}

/// # Safety
/// As for [`Kernel::add_lines`].
#[inline(always)]
pub(super) unsafe fn add_lines<A: Number, const N: usize>(x: *const A, lines: &[*const A], depth: usize, sums: *mut A) {
    for (i, line) in lines.iter().enumerate() {
        // SAFETY: the caller's promise.
        unsafe {
            let mut lanes = sums.add(i * N).cast::<[A; N]>().read();
            for k in (0..depth / N * N).step_by(N) {
                for (lane, sum) in lanes.iter_mut().enumerate() {
                    *sum = sum.plus_product(*x.add(k + lane), *line.add(k + lane));
                }
            }
            for k in depth / N * N..depth {
                lanes[k % N] = lanes[k % N].plus_product(*x.add(k), *line.add(k));
            }
            sums.add(i * N).cast::<[A; N]>().write(lanes);
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
