//! Tiles that read their columns through windows and their borders, and keep them side by side for the rows that follow: packing costs the
//! first rows little, as their products set the time. Where a panel is of several pieces it would cost more than packing alone.

use super::avx2::{Lanes, ROWS};
use super::{MOST_MASKS, Tile, Window, are_worth_it};
use std::arch::x86_64::*;
use std::mem::MaybeUninit;

/// The columns of a panel, depth by depth.
trait Columns<A: Lanes> {
    /// # Safety
    /// The machine has AVX2, and the columns of the next depth may be read.
    unsafe fn next(&mut self) -> [A::Vector; 2];
}

/// One piece that is a whole panel.
struct Whole<A> {
    start: *const A,
    depths: *const isize,
}

impl<A: Lanes> Columns<A> for Whole<A> {
    #[inline(always)]
    unsafe fn next(&mut self) -> [A::Vector; 2] {
        // SAFETY: the caller's promise.
        unsafe {
            let from = self.start.offset(*self.depths);
            self.depths = self.depths.add(1);
            [A::load(from), A::load(from.add(A::LANES))]
        }
    }
}

/// A piece of which there are the lanes that masks leave.
struct Masked<'m, A> {
    start: *const A,
    depths: *const isize,
    /// The masks, which come in turn, and which is next.
    masks: &'m [[__m256i; 2]],
    kind: usize,
}

impl<A: Lanes> Columns<A> for Masked<'_, A> {
    #[inline(always)]
    unsafe fn next(&mut self) -> [A::Vector; 2] {
        // SAFETY: the caller's promise; masked loads read the lanes of the piece alone, and the kind is always one of the masks'.
        unsafe {
            let from = self.start.wrapping_offset(*self.depths);
            self.depths = self.depths.add(1);
            let masks = self.masks.get_unchecked(self.kind);
            self.kind = if self.kind + 1 == self.masks.len() { 0 } else { self.kind + 1 };
            [A::load_some(from, masks[0]), A::load_some(from.wrapping_add(A::LANES), masks[1])]
        }
    }
}

/// See [`super::Kernel::tile_through`].
///
/// # Safety
/// As there.
#[target_feature(enable = "avx2,fma")]
pub(super) unsafe fn tile_through<A: Lanes>(
    rows: usize,
    call: &Tile<A>,
    windows: &[Window<'_, A>],
    depths: &[isize],
) -> bool {
    let &[Window { pieces: [piece], cut }] = windows else { return false };
    let packed = call.a_row == 1 && call.a_depth == ROWS as isize;
    if rows != ROWS || !packed || depths.len() != call.depth || piece.lanes.count_ones() as usize != 2 * A::LANES {
        return false;
    }
    let (start, first) = (piece.start, depths.as_ptr());
    // SAFETY: the caller's promise.
    unsafe {
        match cut {
            None => tile(call, Whole { start, depths: first }),
            Some(cut) if are_worth_it(cut.masks.len(), depths.len()) => {
                let mut room = [const { MaybeUninit::<[__m256i; 2]>::uninit() }; MOST_MASKS];
                for (masks, &open) in room.iter_mut().zip(cut.masks) {
                    masks.write(A::masks(open));
                }
                // As many masks have just been written.
                let masks = std::slice::from_raw_parts(room.as_ptr().cast(), cut.masks.len());
                tile(call, Masked { start, depths: first, masks, kind: cut.first });
            }
            Some(_) => return false,
        }
    }
    true
}

/// Elements that are not summed as they are.
///
/// # Safety
/// None is needed.
pub(super) unsafe fn never<A, E>(_: usize, _: &Tile<A>, _: &[Window<'_, E>], _: &[isize]) -> bool {
    false
}

/// # Safety
/// As for [`tile_through`], with rows that are packed.
#[target_feature(enable = "avx2,fma")]
unsafe fn tile<A: Lanes, C: Columns<A>>(call: &Tile<A>, mut columns: C) {
    let (mut a, mut keep) = (call.a, call.keep);
    // SAFETY: the caller's promise.
    unsafe {
        let mut sums = [[A::zero(); 2]; ROWS];
        for _ in 0..call.depth {
            let columns = columns.next();
            for (v, &columns) in columns.iter().enumerate() {
                A::store(keep.add(v * A::LANES), columns);
            }
            for (row, sums) in sums.iter_mut().enumerate() {
                let x = A::splat(a.add(row));
                for (sum, &columns) in sums.iter_mut().zip(&columns) {
                    *sum = A::fused(x, columns, *sum);
                }
            }
            a = a.add(ROWS);
            keep = keep.add(2 * A::LANES);
        }
        A::put(&sums, call);
    }
}
