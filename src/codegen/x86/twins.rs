//! A large square matrix that meets its own transpose, as in `x + x.t()`.
//!
//! A tile and its mirror image read the same two pieces of the matrix, each of them once as it lies and once turned. Both pieces are
//! copied side by side into scratch first: rows of a large matrix crowd the same few lines of a cache, where turning would push them out
//! again and again. So all of the matrix is read once, and in pieces of its rows. The next two pieces are asked for while these are turned: while
//! results are stored, memory has enough to do.

use super::asm::Width;
use super::build::MOST_VECTORS;
use super::call::Call;
use super::stream::Stores;
use super::tiled::{LINE, Order, PIECE_BYTES, Tile, Tiled};
use super::transpose::{self, Transpose};
use super::transpose_wide::{self, TurnAndFetch};
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
    /// The same, and it asks for what comes next.
    turn_and_fetch: Option<TurnAndFetch>,
    /// The cache lines of a piece's rows.
    lines: usize,
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
    pub(super) fn of(walk: &Walk, bases: &Bases, (turned, turn): (usize, Transpose), full: Width) -> Option<Twins> {
        let last = walk.sizes.len() - 1;
        let mut mirror = walk.strides[turned].clone();
        mirror.swap(last - 1, last);
        let is_twin = |&k: &usize| k != turned && walk.strides[k] == mirror && bases.begin_alike(k, turned);
        let plain = (0..bases.len()).find(is_twin)?;
        let size = bases.size(turned) as usize;
        let wide = transpose_wide::and_fetch(size).filter(|_| full == Width::Z);
        let lines = if wide.is_some() { transpose_wide::lines(size) } else { PIECE_BYTES / LINE };
        // What is a tile with rows as long as elsewhere had better stay one.
        let row_bytes = walk.sizes[last] * size;
        (row_bytes <= lines * LINE || row_bytes > PIECE_BYTES).then_some(Twins {
            turned,
            plain,
            turn,
            turn_and_fetch: wide,
            lines,
        })
    }

    /// Whether pieces are turned in registers of 512 bits.
    pub(super) fn is_wide(&self) -> bool {
        self.turn_and_fetch.is_some()
    }

    /// The bytes of a piece's rows.
    pub(super) fn piece_bytes(&self) -> usize {
        self.lines * LINE
    }

    /// How many vectors of a row the kernel had better make at once.
    pub(super) fn at_once(&self) -> u8 {
        MOST_VECTORS.min(self.lines as u8)
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
        let pitch = self.columns * size;
        let frame_bytes = stores.frame_bytes().next_multiple_of(LINE);
        let mut scratch = Scratch::new(frame_bytes + (2 * self.rows + LINE / size) * pitch);
        // Beforehand: what is computed between stores past the caches waits for them.
        let last = (numbers.end + 1).min(self.count());
        let tiles: SmallVec<[Tile; 32]> =
            (numbers.start..last).map(|number| self.tile(number, Order::Mirrored)).collect();
        let here = numbers.len();
        // SAFETY: the frame has the kernel's size and starts on a cache line, and copies come after it; the rows and columns told to the kernel
        // and to those that copy and turn are of the program's index space, for which the caller vouches.
        unsafe {
            let plain = scratch.start().add(frame_bytes);
            let other = plain.add(self.rows * pitch);
            let room = Room { plain, other, strip: other.add(self.rows * pitch), pitch };
            let swapped = Room { plain: room.other, other: room.plain, ..room };
            let mut call = Call::new(stores.choose(self.output_at(&tiles[0], on)), scratch.start());
            call.scalars(on.scalars);
            for k in (0..operands).filter(|&k| k != twins.plain && k != twins.turned) {
                call.step(k, self.strides(k)[0] * self.bases.size(k));
            }
            call.step(twins.plain, pitch as i64);
            call.step(twins.turned, pitch as i64);
            call.step(operands, self.strides(operands)[0] * self.stored);
            let mut at = 0;
            while at < here {
                let tile = &tiles[at];
                let mirror = tiles[..here].get(at + 1).filter(|next| self.are_mirrored(tile, next));
                at += 1 + usize::from(mirror.is_some());
                let pieces = self.pieces(twins, tile, on);
                for (piece, to) in pieces.iter().zip([room.plain, room.other]) {
                    transpose::copy_rows(piece.start, piece.apart, to, pitch, piece.rows, piece.bytes);
                }
                let [plain, other] = tiles.get(at).map_or(pieces, |next| self.pieces(twins, next, on));
                self.side(twins, tile, on, &mut call, &room, plain);
                if let Some(mirror) = mirror {
                    self.side(twins, mirror, on, &mut call, &swapped, other);
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
        next: Piece,
    ) {
        let size = self.bases.size(twins.plain) as usize;
        let block = LINE / size;
        self.go_to(tile, on, call);
        call.pointer(twins.plain, room.plain.addr() as i64);
        for first in (0..tile.rows).step_by(block) {
            let rows = block.min(tile.rows - first);
            // SAFETY: the caller's promise.
            unsafe {
                let (from, step) = (room.other.add(first * size), room.pitch as isize);
                let soon = next.start.wrapping_offset(first as isize * next.apart);
                match twins.turn_and_fetch {
                    Some(turn) => turn(from, step, room.strip, room.pitch, [rows, tile.columns], soon, next.apart),
                    None => {
                        let share = rows.div_ceil(tile.columns.div_ceil(block));
                        for (number, column) in (0..tile.columns).step_by(block).enumerate() {
                            for row in number * share..rows.min((number + 1) * share) {
                                codegen::fetch_half_way(soon.wrapping_offset(row as isize * next.apart), next.bytes);
                            }
                            let (from, to) = (from.add(column * room.pitch), room.strip.add(column * size));
                            (twins.turn)(from, step, to, room.pitch, rows, block.min(tile.columns - column));
                        }
                    }
                }
                call.pointer(twins.turned, room.strip.addr() as i64);
                call.run(rows, tile.columns);
            }
        }
    }
}
