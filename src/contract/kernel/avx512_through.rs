//! Tiles that read their columns through windows and their borders, and keep them side by side for the rows that follow: loads and
//! stores of the first rows cost little, as their products set the time.

use super::avx512::{PANELS, ROWS, Wide, put};
use super::{MOST_MASKS, Tile, Window, are_worth_it};
use std::array::from_fn;

/// The lanes of each of `P` pieces of each of `V` panels at one depth.
type Lanes<const V: usize, const P: usize> = [[u16; P]; V];

/// See [`super::Kernel::tile_through`].
///
/// # Safety
/// As there.
pub(super) unsafe fn tile_through<A: Wide>(
    rows: usize,
    call: &Tile<A>,
    windows: &[Window<'_, A>],
    depths: &[isize],
) -> bool {
    let is_packed = call.a_row == 1 && call.a_depth == ROWS as isize;
    if rows != ROWS || !is_packed || depths.len() != call.depth {
        return false;
    }
    let pieces = windows.iter().map(|window| window.pieces.len()).max();
    // SAFETY: the caller's promise.
    unsafe {
        match (windows.len(), pieces) {
            (1, Some(1)) => kinds::<A, 1, 1>(call, windows, depths),
            (2, Some(1)) => kinds::<A, 2, 1>(call, windows, depths),
            (PANELS, Some(1)) => kinds::<A, PANELS, 1>(call, windows, depths),
            (1, Some(2)) => kinds::<A, 1, 2>(call, windows, depths),
            (2, Some(2)) => kinds::<A, 2, 2>(call, windows, depths),
            (PANELS, Some(2)) => kinds::<A, PANELS, 2>(call, windows, depths),
            _ => false,
        }
    }
}

/// Makes the masks ready, and runs the tile.
///
/// # Safety
/// As for [`tile_through`], with `V` panels of at most `P` pieces, and rows that are packed.
unsafe fn kinds<A: Wide, const V: usize, const P: usize>(
    call: &Tile<A>,
    windows: &[Window<'_, A>],
    depths: &[isize],
) -> bool {
    let mut cuts = windows.iter().filter_map(|window| window.cut);
    let (count, first) = cuts.next().map_or((1, 0), |cut| (cut.masks.len(), cut.first));
    if cuts.any(|cut| (cut.masks.len(), cut.first) != (count, first)) {
        return false;
    }
    if count > 1 && !are_worth_it(count, depths.len()) {
        return false;
    }
    let mut room: [Lanes<V, P>; MOST_MASKS] = [[[0; P]; V]; MOST_MASKS];
    for (kind, lanes) in room[..count].iter_mut().enumerate() {
        let open = |v: usize| windows[v].cut.map_or(u16::MAX, |cut| cut.masks[kind]);
        let lanes_of = |v: usize, piece: usize| windows[v].pieces.get(piece).map_or(0, |piece| piece.lanes);
        *lanes = from_fn(|v| from_fn(|piece| lanes_of(v, piece) & open(v)));
    }
    // A piece that is not there has no lanes, and is anywhere.
    let start = |v: usize, piece: usize| windows[v].pieces.get(piece).unwrap_or(&windows[v].pieces[0]).start;
    let starts = from_fn(|v| from_fn(|piece| start(v, piece)));
    // SAFETY: the caller's promise.
    unsafe { tile::<A, V, P>(call, &starts, depths, &room[..count], first) };
    true
}

/// # Safety
/// As for [`kinds`]; the `kind` is one of the kinds, which come in turn.
#[target_feature(enable = "avx512f")]
unsafe fn tile<A: Wide, const V: usize, const P: usize>(
    call: &Tile<A>,
    starts: &[[*const A; P]; V],
    depths: &[isize],
    kinds: &[Lanes<V, P>],
    mut kind: usize,
) {
    let (mut a, mut keep) = (call.a, call.keep);
    // SAFETY: the caller's promise; loads touch the lanes of their piece alone.
    unsafe {
        let mut sums = [[A::zero(); V]; ROWS];
        for &depth in depths {
            let lanes = kinds.get_unchecked(kind);
            kind = if kind + 1 == kinds.len() { 0 } else { kind + 1 };
            let mut columns = [A::zero(); V];
            for (v, columns) in columns.iter_mut().enumerate() {
                for piece in 0..P {
                    *columns = A::load_some(*columns, starts[v][piece].wrapping_offset(depth), lanes[v][piece]);
                }
                A::store(keep.offset(v as isize * call.b_panel), *columns);
            }
            for (row, sums) in sums.iter_mut().enumerate() {
                let x = A::splat(a.add(row));
                for (sum, &columns) in sums.iter_mut().zip(&columns) {
                    *sum = A::fused(x, columns, *sum);
                }
            }
            a = a.add(ROWS);
            keep = keep.add(A::LANES);
        }
        put(&sums, V * A::LANES, call);
    }
}
