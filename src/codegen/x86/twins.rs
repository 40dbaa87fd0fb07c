//! A large square matrix that meets its own transpose, as in `x + x.t()`.
//!
//! A tile and its mirror image read the same two pieces of the matrix, each of them once as it lies and once turned. Both pieces are
//! copied side by side into scratch first: rows of a large matrix crowd the same few lines of a cache, where turning would push them out
//! again and again. So all of the matrix is read once, and in pieces of its rows. The next two pieces are asked for while these are turned: while
//! results are stored, memory has enough to do.

use super::call::Call;
use super::stream::Stores;
use super::tiled::{Ahead, LINE, Tile, Tiled};
use super::transpose::{self, Transpose};
use super::walk::{Bases, Scratch, Walk};
use crate::codegen;
use smallvec::SmallVec;
use std::ops::Range;

/// Two operands that are the same matrix, if they begin at the same place: one is turned, the other is not.
#[derive(Clone, Copy)]
pub(super) struct Twins {
    turned: usize,
    plain: usize,
    turn: Transpose,
}

/// A piece of the matrix: rows of so many bytes at equal distances.
#[derive(Clone, Copy)]
struct Piece {
    start: *const u8,
    apart: isize,
    rows: usize,
    bytes: usize,
}

/// Where things are in scratch. Rows lie `pitch` bytes apart everywhere.
struct Room {
    /// Copies of the pieces that are read as they lie, and turned.
    plain: *mut u8,
    other: *mut u8,
    /// Some rows of the latter, turned.
    strip: *mut u8,
    pitch: usize,
}

impl Twins {
    /// The twins among the operands of a square walk, of which one is turned.
    pub(super) fn of(walk: &Walk, bases: &Bases, (turned, turn): (usize, Transpose)) -> Option<Twins> {
        let last = walk.sizes.len() - 1;
        let mut mirror = walk.strides[turned].clone();
        mirror.swap(last - 1, last);
        let is_twin = |&k: &usize| k != turned && walk.strides[k] == mirror && bases.begin_alike(k, turned);
        let plain = (0..bases.len()).find(is_twin)?;
        Some(Twins { turned, plain, turn })
    }

    /// Whether a call's operands are what they seem.
    pub(super) fn are_in(&self, on: &codegen::Call<'_>) -> bool {
        on.loads[self.turned] == on.loads[self.plain]
    }
}

impl Tiled {
    /// Runs a kernel over tiles, of which most are followed by their mirror images.
    ///
    /// # Safety
    /// As for [`Tiled::run`]; the twins are in the call.
    pub(super) unsafe fn run_twins(
        &self,
        twins: &Twins,
        stores: &Stores,
        numbers: Range<usize>,
        on: &codegen::Call<'_>,
    ) {
        let operands = on.loads.len();
        let size = self.bases.size(twins.plain) as usize;
        let (pitch, strip) = (self.columns * size, LINE / size);
        let frame_bytes = stores.frame_bytes().next_multiple_of(LINE);
        let mut scratch = Scratch::new(frame_bytes + (2 * self.rows + strip) * pitch);
        let mut tile = self.tile(numbers.start);
        // SAFETY: the frame has the kernel's size and starts on a cache line, and copies come after it; the rows and columns told to the kernel
        // and to those that copy and turn are of the program's index space, for which the caller vouches.
        unsafe {
            let plain = scratch.start().add(frame_bytes);
            let other = plain.add(self.rows * pitch);
            let room = Room { plain, other, strip: other.add(self.rows * pitch), pitch };
            let swapped = Room { plain: room.other, other: room.plain, ..room };
            let mut call = Call::new(stores.choose(self.output_at(&tile, on)), scratch.start());
            call.scalars(on.scalars);
            for k in (0..operands).filter(|&k| k != twins.plain && k != twins.turned) {
                call.step(k, self.strides(k)[0] * self.bases.size(k));
            }
            call.step(twins.plain, pitch as i64);
            call.step(twins.turned, pitch as i64);
            call.step(operands, self.strides(operands)[0] * self.stored);
            let mut number = numbers.start;
            loop {
                let mirror = (number + 1 < numbers.end && self.is_mirrored(number)).then(|| self.tile(number + 1));
                number += 1 + usize::from(mirror.is_some());
                let next = (number < self.count()).then(|| self.tile(number));
                let pieces = self.pieces(twins, &tile, on);
                for (piece, to) in pieces.iter().zip([room.plain, room.other]) {
                    transpose::copy_rows(piece.start, piece.apart, to, pitch, piece.rows, piece.bytes);
                }
                let mut ahead: SmallVec<[Ahead; 2]> = SmallVec::new();
                if let Some(next) = &next {
                    ahead.extend(self.pieces(twins, next, on).map(Piece::ahead));
                }
                let halves = ahead.len().min(usize::from(mirror.is_some()));
                let (first, second) = ahead.split_at_mut(halves);
                match &mirror {
                    None => self.side(twins, &tile, on, &mut call, &room, second),
                    Some(mirror) => {
                        self.side(twins, &tile, on, &mut call, &room, first);
                        self.side(twins, mirror, on, &mut call, &swapped, second);
                    }
                }
                match next {
                    Some(next) if number < numbers.end => tile = next,
                    _ => break,
                }
            }
        }
        stores.finish();
    }

    /// What a tile reads as it lies, and what it reads turned.
    fn pieces(&self, twins: &Twins, tile: &Tile, on: &codegen::Call<'_>) -> [Piece; 2] {
        let size = self.bases.size(twins.plain);
        let apart = (self.strides(twins.plain)[0] * size) as isize;
        let at = |k: usize| on.loads[k].with_addr(self.bases.address(on, k, tile.places[k]) as usize);
        let of =
            |k: usize, rows: usize, columns: usize| Piece { start: at(k), apart, rows, bytes: columns * size as usize };
        [of(twins.plain, tile.rows, tile.columns), of(twins.turned, tile.columns, tile.rows)]
    }

    /// Makes a tile of what has been copied, and asks for what comes next as it goes.
    ///
    /// # Safety
    /// As for [`Tiled::run`]; the kernel has been told all that is the same for all tiles.
    unsafe fn side(
        &self,
        twins: &Twins,
        tile: &Tile,
        on: &codegen::Call<'_>,
        call: &mut Call<'_>,
        room: &Room,
        ahead: &mut [Ahead],
    ) {
        let size = self.bases.size(twins.plain) as usize;
        let block = LINE / size;
        self.go_to(tile, on, call);
        call.pointer(twins.plain, room.plain.addr() as i64);
        ahead.iter_mut().for_each(|piece| piece.share_among(tile.rows.div_ceil(block) * tile.columns.div_ceil(block)));
        for first in (0..tile.rows).step_by(block) {
            let rows = block.min(tile.rows - first);
            // SAFETY: the caller's promise.
            unsafe {
                for column in (0..tile.columns).step_by(block) {
                    ahead.iter_mut().for_each(|piece| piece.fetch_share(true));
                    let from = room.other.add(column * room.pitch + first * size);
                    let to = room.strip.add(column * size);
                    (twins.turn)(from, room.pitch as isize, to, room.pitch, rows, block.min(tile.columns - column));
                }
                call.pointer(twins.turned, room.strip.addr() as i64);
                call.run(rows, tile.columns);
            }
        }
    }
}

impl Piece {
    fn ahead(self) -> Ahead {
        Ahead::new(self.start, self.apart, self.bytes, self.rows)
    }
}
