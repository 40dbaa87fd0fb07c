//! A large square matrix that meets its own transpose, as in `x + x.t()`.
//!
//! A block and its mirror image read the same two pieces of the matrix, each of them once as it lies and once turned. Both pieces are
//! copied side by side into scratch first: rows of a large matrix crowd the same few lines of a cache, where turning would push them out
//! again and again. So all of the matrix is read once, and in pieces of its rows. What is copied soon is asked for while results are stored.
//!
//! Whole blocks are turned in the registers of a kernel ([`super::kernel::turned`]), where the machine has enough of them: what else is
//! stored between results that go past the caches waits for those. Blocks are then small, for copies to stay in the first cache, and
//! some of them make a tile. Elsewhere a tile is one block, of which some rows at a time are turned into scratch.

use super::asm::Width;
use super::build::{Kind, Spec};
use super::cache;
use super::call::Call;
use super::kernel::{Kernel, turned};
use super::stream::Stores;
use super::tiled::{LINE, Order, PIECE_BYTES, Tile, Tiled};
use super::transpose::{self, Piece, Transpose};
use super::transpose_wide;
use super::walk::{Bases, Scratch, Walk};
use crate::codegen;
use smallvec::SmallVec;
use std::ops::Range;
use std::sync::Arc;

/// So many blocks that are turned in registers make a tile, either way: more of a page is read and written before it is left for others.
const BLOCKS: usize = 8;

/// So many blocks, with their mirror images, are on their way from memory.
const AHEAD: usize = 3;

/// Two operands that are the same matrix, if they begin at the same place: one is turned, the other is not.
pub(super) struct Twins {
    turned: usize,
    plain: usize,
    turn: Transpose,
    /// Makes whole blocks, if there is one for that.
    kernel: Option<Arc<Kernel>>,
    /// The rows and columns of a block.
    block: usize,
}

/// A block, and its mirror image: where they are in their tiles.
struct Pair {
    tile: usize,
    /// `None` on the diagonal of the matrix.
    mirror: Option<usize>,
    row: usize,
    column: usize,
    /// What the block reads as it lies, and what it reads turned.
    pieces: [Piece; 2],
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

/// The kernels of blocks that are whole, for either side of a pair, and of others.
struct Calls<'k> {
    whole: Option<[Call<'k>; 2]>,
    any: Call<'k>,
}

impl Twins {
    /// The twins among the operands of a square walk, of which one is turned.
    pub(super) fn of(walk: &Walk, bases: &Bases, (operand, turn): (usize, Transpose), spec: &Spec) -> Option<Twins> {
        let last = walk.sizes.len() - 1;
        let mut mirror = walk.strides[operand].clone();
        mirror.swap(last - 1, last);
        let is_twin = |&k: &usize| k != operand && walk.strides[k] == mirror && bases.begin_alike(k, operand);
        let plain = (0..bases.len()).find(is_twin)?;
        let size = bases.size(operand) as usize;
        // What is one tile elsewhere had better stay one.
        if walk.sizes[last] * size <= PIECE_BYTES {
            return None;
        }
        let pitch = turned::VECTORS * LINE;
        let kind = Kind::Turned { operand: operand as u16, pitch: pitch as u16 };
        let kernel = (spec.full == Width::Z).then(|| cache::kernel(Spec { kind, ..spec.clone() })).flatten();
        let block = if kernel.is_some() { pitch } else { PIECE_BYTES } / size;
        Some(Twins { turned: operand, plain, turn, kernel, block })
    }

    /// The rows and columns of a tile.
    pub(super) fn tile(&self) -> usize {
        if self.has_blocks() { BLOCKS * self.block } else { self.block }
    }

    /// So many tiles have the blocks that are asked for early.
    fn ahead(&self) -> usize {
        if self.has_blocks() { 2 } else { 2 * AHEAD }
    }

    /// Whether tiles are made of several blocks.
    pub(super) fn has_blocks(&self) -> bool {
        self.kernel.is_some()
    }

    /// The kernel of whole blocks.
    pub(super) fn kernel(&self) -> Option<&Arc<Kernel>> {
        self.kernel.as_ref()
    }

    /// Whether a call's operands are what they seem.
    pub(super) fn are_in(&self, on: &codegen::Call<'_>) -> bool {
        on.loads[self.turned] == on.loads[self.plain]
    }
}

impl Tiled {
    /// Runs a kernel over tiles and their mirror images. Of a tile and its mirror image, the part that has the first has both.
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
        let tile = |number| self.tile(number, Order::Mirrored);
        let is_second =
            |number: usize| (1..self.count()).contains(&number) && self.are_mirrored(&tile(number - 1), &tile(number));
        let [first, end] = [numbers.start, numbers.end].map(|number| number + usize::from(is_second(number)));
        if first >= end {
            return;
        }
        // Beforehand: what is computed between stores past the caches waits for them.
        let tiles: SmallVec<[Tile; 32]> = (first..self.count().min(end + twins.ahead())).map(tile).collect();
        let pairs = self.pairs(twins, &tiles, on);
        let size = self.bases.size(twins.plain) as usize;
        let pitch = twins.block * size;
        let kernel = twins.kernel.as_deref().filter(|_| self.output_at(&tiles[0], on) % LINE as i64 == 0);
        let [any_bytes, whole_bytes] = [stores.frame_bytes(), kernel.map_or(0, |kernel| kernel.frame_bytes)]
            .map(|bytes| bytes.next_multiple_of(LINE));
        let frames = any_bytes + 2 * whole_bytes;
        let mut scratch = Scratch::new(frames + (2 * twins.block + LINE / size) * pitch);
        // SAFETY: the frames have the kernels' sizes and start on cache lines, and copies come after them; the rows and columns told to the kernels
        // and to those that copy and turn are of the program's index space, for which the caller vouches.
        unsafe {
            let start = scratch.start();
            let piece = |number: usize| start.add(frames + number * twins.block * pitch);
            let rooms = [[0, 1], [1, 0]].map(|[plain, other]| Room {
                plain: piece(plain),
                other: piece(other),
                strip: piece(2),
                pitch,
            });
            let whole = kernel.map(|kernel| {
                [0, 1].map(|side| {
                    let mut call = Call::new(kernel, start.add(any_bytes + side * whole_bytes));
                    self.prepare_whole(twins, &rooms[side], on, &mut call);
                    call
                })
            });
            let any = Call::new(stores.choose(self.output_at(&tiles[0], on)), start);
            let mut calls = Calls { whole, any };
            self.prepare(twins, pitch, on, &mut calls.any);
            for (at, pair) in pairs.iter().enumerate().take_while(|(_, pair)| pair.tile < end - first) {
                let soon = &pairs.get(at + AHEAD).unwrap_or(pair).pieces;
                let is_whole = calls.whole.is_some() && pair.pieces.iter().all(|piece| piece.rows == twins.block);
                let to = [rooms[0].plain, rooms[0].other];
                if is_whole {
                    transpose_wide::copy_lines::<{ turned::VECTORS }>(&pair.pieces, to);
                } else {
                    transpose::copy_rows(&pair.pieces, to, pitch);
                }
                let one = (pair.tile, [pair.row, pair.column]);
                let sides = [Some(one), pair.mirror.map(|tile| (tile, [pair.column, pair.row]))];
                for (side, (tile, place)) in sides.into_iter().flatten().enumerate() {
                    let place = (&tiles[tile], place);
                    match &mut calls.whole {
                        Some(whole) if is_whole => self.whole_side(twins, place, on, &mut whole[side], (soon, side)),
                        _ => self.any_side(twins, place, on, &mut calls.any, (&rooms[side], &soon[side])),
                    }
                }
            }
        }
        stores.finish();
    }

    /// The blocks of tiles, of which all are followed by their mirror images but those on the diagonal.
    fn pairs(&self, twins: &Twins, tiles: &[Tile], on: &codegen::Call<'_>) -> SmallVec<[Pair; 128]> {
        let mut pairs = SmallVec::new();
        let mut tile = 0;
        while tile < tiles.len() {
            let Tile { rows, columns, .. } = tiles[tile];
            let is_first = tiles.get(tile + 1).is_some_and(|next| self.are_mirrored(&tiles[tile], next));
            for column in (0..columns).step_by(twins.block) {
                // On the diagonal, the other blocks are mirror images.
                let end = if is_first { rows } else { rows.min(column + 1) };
                for row in (0..end).step_by(twins.block) {
                    let mirror = if is_first { Some(tile + 1) } else { (row != column).then_some(tile) };
                    let pieces = self.pieces(twins, &self.within(&tiles[tile], [row, column], twins.block), on);
                    pairs.push(Pair { tile, mirror, row, column, pieces });
                }
            }
            tile += 1 + usize::from(is_first);
        }
        pairs
    }

    /// Tells a kernel what is the same for all blocks.
    fn prepare(&self, twins: &Twins, pitch: usize, on: &codegen::Call<'_>, call: &mut Call<'_>) {
        let operands = on.loads.len();
        call.scalars(on.scalars);
        for k in (0..operands).filter(|&k| k != twins.plain && k != twins.turned) {
            call.step(k, self.strides(k)[0] * self.bases.size(k));
        }
        call.step(twins.plain, pitch as i64);
        call.step(twins.turned, pitch as i64);
        call.step(operands, self.strides(operands)[0] * self.stored);
    }

    /// The same for whole blocks, of which also the copies have their places.
    fn prepare_whole(&self, twins: &Twins, room: &Room, on: &codegen::Call<'_>, call: &mut Call<'_>) {
        let (operands, apart) = (on.loads.len(), self.strides(twins.plain)[0] * self.bases.size(twins.plain));
        self.prepare(twins, room.pitch, on, call);
        call.sizes(twins.block, twins.block);
        call.pointer(twins.plain, room.plain.addr() as i64);
        call.pointer(twins.turned, room.other.addr() as i64);
        [1, 2].into_iter().for_each(|behind| call.step(operands + behind, apart));
    }

    /// What a block reads as it lies, and what it reads turned.
    fn pieces(&self, twins: &Twins, block: &Tile, on: &codegen::Call<'_>) -> [Piece; 2] {
        let size = self.bases.size(twins.plain);
        let apart = (self.strides(twins.plain)[0] * size) as isize;
        let at = |k: usize| on.loads[k].with_addr(self.bases.address(on, k, block.places[k]) as usize);
        let of =
            |k: usize, rows: usize, columns: usize| Piece { start: at(k), apart, rows, bytes: columns * size as usize };
        [of(twins.plain, block.rows, block.columns), of(twins.turned, block.columns, block.rows)]
    }

    /// Makes a whole block of what has been copied, and asks for half of what comes soon as it goes: some rows of either piece.
    ///
    /// # Safety
    /// As for [`Tiled::run`]; the kernel has been told all that is the same for all blocks.
    unsafe fn whole_side(
        &self,
        twins: &Twins,
        (tile, place): (&Tile, [usize; 2]),
        on: &codegen::Call<'_>,
        call: &mut Call<'_>,
        (soon, side): (&[Piece; 2], usize),
    ) {
        let operands = on.loads.len();
        for k in (0..operands).filter(|&k| k != twins.plain && k != twins.turned) {
            call.pointer(k, self.bases.address(on, k, self.place_in(tile, place, k)));
        }
        call.pointer(operands, on.out.addr() as i64 + self.place_in(tile, place, operands) * self.stored);
        for (piece, behind) in soon.iter().zip(1..) {
            let half = (side * twins.block / 2) as isize * piece.apart;
            call.pointer(operands + behind, piece.start.wrapping_offset(half).addr() as i64);
        }
        // SAFETY: the caller's promise; a block has a whole number of times the rows that the kernel turns at once.
        unsafe { call.run_again() };
    }

    /// Makes a block whose rows are turned into scratch, as many as a cache line has elements at a time, and asks for a piece as it goes.
    ///
    /// # Safety
    /// As for [`Tiled::whole_side`].
    unsafe fn any_side(
        &self,
        twins: &Twins,
        (tile, place): (&Tile, [usize; 2]),
        on: &codegen::Call<'_>,
        call: &mut Call<'_>,
        (room, soon): (&Room, &Piece),
    ) {
        let size = self.bases.size(twins.plain) as usize;
        let at_once = LINE / size;
        let block = self.within(tile, place, twins.block);
        self.go_to(&block, on, call);
        call.pointer(twins.plain, room.plain.addr() as i64);
        for first in (0..block.rows).step_by(at_once) {
            let rows = at_once.min(block.rows - first);
            let share = rows.div_ceil(block.columns.div_ceil(at_once));
            for (number, column) in (0..block.columns).step_by(at_once).enumerate() {
                for row in first + number * share..first + rows.min((number + 1) * share) {
                    codegen::fetch_half_way(soon.start.wrapping_offset(row as isize * soon.apart), soon.bytes);
                }
                // SAFETY: the caller's promise.
                unsafe {
                    let from = room.other.add(first * size + column * room.pitch);
                    let (to, columns) = (room.strip.add(column * size), at_once.min(block.columns - column));
                    (twins.turn)(from, room.pitch as isize, to, room.pitch, rows, columns);
                }
            }
            call.pointer(twins.turned, room.strip.addr() as i64);
            // SAFETY: the caller's promise.
            unsafe { call.run(rows, block.columns) };
        }
    }
}
