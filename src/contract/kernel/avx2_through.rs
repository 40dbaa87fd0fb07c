//! Tiles that read their columns in pieces, through the breaks and borders of windows, and keep them side by side for the rows that
//! follow: packing costs the first rows next to nothing, as their products set the time.

use super::avx2::{Lanes, ROWS};
use super::{Cut, Piece, Tile};
use std::arch::x86_64::*;
use std::mem::MaybeUninit;

/// The most masks that come in turn.
const MOST_KINDS: usize = 64;

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

/// The lanes of `P` pieces that there are at a depth.
type Masks<const P: usize> = [[__m256i; 2]; P];

/// Pieces of which there are the lanes that masks leave.
struct Pieces<'m, A, const P: usize> {
    starts: [*const A; P],
    depths: *const isize,
    /// The masks, which come in turn, and which is next.
    masks: &'m [Masks<P>],
    kind: usize,
}

impl<A: Lanes, const P: usize> Columns<A> for Pieces<'_, A, P> {
    #[inline(always)]
    unsafe fn next(&mut self) -> [A::Vector; 2] {
        // SAFETY: the caller's promise; masked loads read the lanes of the piece alone, and the kind is always one of the masks'.
        unsafe {
            let depth = *self.depths;
            self.depths = self.depths.add(1);
            let masks = self.masks.get_unchecked(self.kind);
            self.kind = if self.kind + 1 == self.masks.len() { 0 } else { self.kind + 1 };
            let piece = |p: usize| {
                let from = self.starts[p].wrapping_offset(depth);
                [A::load_some(from, masks[p][0]), A::load_some(from.wrapping_add(A::LANES), masks[p][1])]
            };
            let mut columns = piece(0);
            for p in 1..P {
                let others = piece(p);
                columns = [A::either(columns[0], others[0]), A::either(columns[1], others[1])];
            }
            columns
        }
    }
}

/// See [`super::Kernel::tile_through`].
///
/// # Safety
/// As there.
#[inline]
pub(super) unsafe fn tile_through<A: Lanes>(
    rows: usize,
    call: &Tile<A>,
    pieces: &[Piece<A>],
    depths: &[isize],
    cut: Option<&Cut<'_>>,
) -> bool {
    let packed = call.a_row == 1 && call.a_depth == ROWS as isize;
    if rows != ROWS || !packed || depths.len() != call.depth {
        return false;
    }
    // SAFETY: the caller's promise.
    unsafe {
        match (pieces, cut) {
            ([piece], None) if usize::from(piece.lanes.count_ones() as u16) == 2 * A::LANES => {
                tile(call, Whole { start: piece.start, depths: depths.as_ptr() });
                true
            }
            ([_], _) => tile_of_some::<A, 1>(call, pieces, depths, cut),
            ([_, _], _) => tile_of_some::<A, 2>(call, pieces, depths, cut),
            ([_, _, _], _) => tile_of_some::<A, 3>(call, pieces, depths, cut),
            ([_, _, _, _], _) => tile_of_some::<A, 4>(call, pieces, depths, cut),
            _ => false,
        }
    }
}

/// Elements that are not summed as they are.
///
/// # Safety
/// None is needed.
pub(super) unsafe fn never<A>(_: usize, _: &Tile<A>, _: &[Piece<A>], _: &[isize], _: Option<&Cut<'_>>) -> bool {
    false
}

/// # Safety
/// As for [`tile_through`], with `P` pieces.
#[target_feature(enable = "avx2,fma")]
unsafe fn tile_of_some<A: Lanes, const P: usize>(
    call: &Tile<A>,
    pieces: &[Piece<A>],
    depths: &[isize],
    cut: Option<&Cut<'_>>,
) -> bool {
    let (kinds, first) = cut.map_or((&[u16::MAX][..], 0), |cut| (cut.masks, cut.first));
    if kinds.len() > MOST_KINDS {
        return false;
    }
    let mut room = [const { MaybeUninit::<Masks<P>>::uninit() }; MOST_KINDS];
    for (masks, open) in room.iter_mut().zip(kinds) {
        // SAFETY: the machine has AVX2.
        let of = |piece: &Piece<A>| unsafe { A::masks(piece.lanes & open) };
        masks.write(std::array::from_fn(|p| of(&pieces[p])));
    }
    // SAFETY: as many masks have just been written; the caller's promise.
    unsafe {
        let masks = std::slice::from_raw_parts(room.as_ptr().cast::<Masks<P>>(), kinds.len());
        let starts = std::array::from_fn(|p| pieces[p].start);
        tile(call, Pieces { starts, depths: depths.as_ptr(), masks, kind: first });
    }
    true
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
