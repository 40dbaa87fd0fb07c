//! A large square matrix that meets its own transpose, as in `x + x.t()`, or that is only turned.
//!
//! A block and its mirror image read the same two pieces of the matrix, each of them once as it lies and once turned. Both pieces are
//! copied side by side into scratch first: rows of a large matrix crowd the same few lines of a cache, where turning would push them out
//! again and again. So all of the matrix is read once, and in pieces of its rows. What is copied soon is asked for while results are stored.
//!
//! Whole blocks are turned in the registers of a kernel ([`super::kernel::turned`]), where the machine has enough of them: what else is
//! stored between results that go past the caches waits for those. Blocks are then small, for copies to stay in the first cache, and
//! some of them make a tile; they may also be long ([`super::twins_long`]), which is quicker or slower by the machine. Elsewhere a tile is one block, of
//! which some rows at a time are turned into scratch.

use super::asm::Width;
use super::build::{Kind, Spec};
use super::cache;
use super::call::Call;
use super::kernel::{Kernel, turned};
use super::stream::{LARGE, Stores};
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

/// Long blocks have so many times the rows and columns.
pub(super) const LONG: usize = 2;

/// What is only turned is quicker block by block from so many bytes on, of which the last caches hold little, and in rows of as many: by a tenth, where
/// others take a third longer than tile by tile.
const ONLY_TURNED: usize = 3 * LARGE;
const ONLY_TURNED_ROW: usize = 2 << 10;

/// So many blocks, with their mirror images, are on their way from memory.
const AHEAD: usize = 3;

/// Two operands that are the same matrix, if they begin at the same place: one is turned, the other is not. Or one that is only turned, and nothing else:
/// its blocks, too, are read and written faster if each is followed by its mirror image.
pub(super) struct Twins {
    pub(super) turned: usize,
    pub(super) plain: Option<usize>,
    turn: Transpose,
    /// Makes whole blocks, if there is one for that.
    kernel: Option<Arc<Kernel>>,
    /// Makes the parts of long blocks.
    long: Option<Arc<Kernel>>,
    /// The rows and columns of a block.
    pub(super) block: usize,
}

/// A block, and its mirror image. All that whole blocks need to know is on one cache line.
pub(super) struct Pair {
    /// Where what the block reads begins: as it lies, and turned. Its mirror image reads both the other way round.
    pub(super) from: [*const u8; 2],
    /// Where the results of either go.
    pub(super) to: [i64; 2],
    rows: u32,
    columns: u32,
    /// The numbers of their tiles. There is no mirror image on the diagonal of the matrix.
    tile: u32,
    pub(super) mirror: Option<u32>,
    /// The row and the column of the block in its tile.
    place: [u32; 2],
}

/// Those of a part, of which there are seldom more.
type Pairs = SmallVec<[Pair; 256]>;

impl Pair {
    /// The tile of one side of it, and the row and column there.
    pub(super) fn side<'t>(&self, side: usize, tiles: &'t [Tile]) -> (&'t Tile, [usize; 2]) {
        let [row, column] = self.place.map(|place| place as usize);
        match self.mirror {
            Some(tile) if side == 1 => (&tiles[tile as usize], [column, row]),
            _ => (&tiles[self.tile as usize], [row, column]),
        }
    }

    /// What the block reads as it lies, and what it reads turned, of rows that lie so many bytes apart.
    fn pieces(&self, apart: isize, size: usize) -> [Piece; 2] {
        let [rows, columns] = [self.rows, self.columns].map(|side| side as usize);
        let of = |start, rows, columns: usize| Piece { start, apart, rows, bytes: columns * size };
        [of(self.from[0], rows, columns), of(self.from[1], columns, rows)]
    }
}

/// Blocks to be made, and of what.
pub(super) struct Blocks<'b> {
    pub(super) twins: &'b Twins,
    pub(super) tiles: &'b [Tile],
    /// Some of them are only for what is asked for early.
    pub(super) pairs: &'b [Pair],
    pub(super) on: &'b codegen::Call<'b>,
    /// The rows and columns of a block.
    pub(super) block: usize,
    /// The bytes from one row of the matrix to the next.
    pub(super) apart: isize,
    /// Where the pieces of a pair are copied to.
    pub(super) to: [*mut u8; 2],
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

/// The kernels of blocks that are whole, and of others.
struct Calls<'k> {
    whole: Option<Whole<'k>>,
    any: Call<'k>,
}

/// The kernel of whole blocks.
enum Whole<'k> {
    /// For either side of a pair.
    Short([Call<'k>; 2]),
    /// For both, and where the pieces of the next pair are copied to.
    Long(Call<'k>, [*mut u8; 2]),
}

impl Twins {
    /// The twins among the operands of a square walk, of which one is turned.
    pub(super) fn of(
        walk: &Walk,
        bases: &Bases,
        (operand, turn): (usize, Transpose),
        (spec, bytes): (&Spec, usize),
    ) -> Option<Twins> {
        let last = walk.sizes.len() - 1;
        let mut mirror = walk.strides[operand].clone();
        mirror.swap(last - 1, last);
        let is_twin = |&k: &usize| k != operand && walk.strides[k] == mirror && bases.begin_alike(k, operand);
        let plain = (0..bases.len()).find(is_twin);
        let size = bases.size(operand) as usize;
        // What is one tile elsewhere had better stay one.
        if walk.sizes[last] * size <= PIECE_BYTES {
            return None;
        }
        let pitch = turned::VECTORS * LINE;
        let kernel_for = |pitch: usize| {
            let kind = Kind::Turned { operand: operand as u16, pitch: pitch as u16 };
            (spec.full == Width::Z).then(|| cache::kernel(Spec { kind, ..spec.clone() })).flatten()
        };
        let kernel = kernel_for(pitch);
        let long = plain.and_then(|_| kernel_for(LONG * pitch));
        let block = if kernel.is_some() { pitch } else { PIECE_BYTES } / size;
        let is_long = bytes >= ONLY_TURNED && walk.sizes[last] * size >= ONLY_TURNED_ROW;
        let is_only_turned = bases.len() == 1 && spec.words.len() == 1;
        if plain.is_none() && !(is_only_turned && is_long && kernel.is_some()) {
            return None;
        }
        Some(Twins { turned: operand, plain, turn, kernel, long, block })
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

    /// Whether blocks may also be long.
    pub(super) fn have_long(&self) -> bool {
        self.long.is_some()
    }

    /// The kernels of whole blocks.
    pub(super) fn kernels(&self) -> impl Iterator<Item = &Arc<Kernel>> {
        self.kernel.iter().chain(&self.long)
    }

    /// Whether an operand is neither.
    pub(super) fn are_others(&self, k: usize) -> bool {
        k != self.turned && Some(k) != self.plain
    }

    /// Whether a call's operands are what they seem.
    pub(super) fn are_in(&self, on: &codegen::Call<'_>) -> bool {
        self.plain.is_none_or(|plain| on.loads[self.turned] == on.loads[plain])
    }
}

impl Tiled {
    /// The tiles that a part makes, of which it has these numbers. Of a tile and its mirror image, the part that has the first makes both, whichever
    /// way they take: other parts of the same run may take another.
    pub(super) fn with_mirror_images(&self, numbers: Range<usize>) -> Range<usize> {
        let tile = |number| self.tile(number, Order::Mirrored);
        let is_second =
            |number: usize| (1..self.count()).contains(&number) && self.are_mirrored(&tile(number - 1), &tile(number));
        let [first, end] = [numbers.start, numbers.end].map(|number| number + usize::from(is_second(number)));
        first..end
    }

    /// Runs a kernel over tiles and their mirror images, by long blocks or others.
    ///
    /// # Safety
    /// As for [`Tiled::run`]; the twins are in the call.
    pub(super) unsafe fn run_twins(
        &self,
        twins: &Twins,
        (stores, is_long): (&Stores, bool),
        numbers: Range<usize>,
        on: &codegen::Call<'_>,
    ) {
        let Range { start: first, end } = self.with_mirror_images(numbers);
        if first >= end {
            return;
        }
        let tile = |number| self.tile(number, Order::Mirrored);
        // Beforehand: what is computed between stores past the caches waits for them.
        let tiles: SmallVec<[Tile; 32]> = (first..self.count().min(end + twins.ahead())).map(tile).collect();
        let mut pairs = SmallVec::new();
        let (block, kernel) = if is_long { (LONG * twins.block, &twins.long) } else { (twins.block, &twins.kernel) };
        self.list_pairs(twins, block, &tiles, on, &mut pairs);
        let (size, apart) = (self.bases.size(twins.turned) as usize, self.apart(twins));
        let pitch = block * size;
        let kernel = kernel.as_deref().filter(|_| self.output_at(&tiles[0], on) % LINE as i64 == 0);
        let [any_bytes, whole_bytes] = [stores.frame_bytes(), kernel.map_or(0, |kernel| kernel.frame_bytes)]
            .map(|bytes| bytes.next_multiple_of(LINE));
        let frames = any_bytes + 2 * whole_bytes;
        // Of long blocks, those of the next pair have their places too.
        let pieces = if is_long { 4 } else { 2 };
        let mut scratch = Scratch::new(frames + (pieces * block + LINE / size) * pitch);
        // SAFETY: the frames have the kernels' sizes and start on cache lines, and copies come after them; the rows and columns told to the kernels
        // and to those that copy and turn are of the program's index space, for which the caller vouches.
        unsafe {
            let start = scratch.start();
            let piece = |number: usize| start.add(frames + number * block * pitch);
            let rooms = [[0, 1], [1, 0]].map(|[plain, other]| Room {
                plain: piece(plain),
                other: piece(other),
                strip: piece(pieces),
                pitch,
            });
            let whole = kernel.map(|kernel| {
                let call = |side| Call::new(kernel, start.add(any_bytes + side * whole_bytes));
                let prepared = |side| {
                    let mut call = call(side);
                    self.prepare_whole(twins, &rooms[side], on, &mut call);
                    call
                };
                match is_long {
                    true => Whole::Long(self.prepare_long(twins, on, call(0)), [2, 3].map(piece)),
                    false => Whole::Short([0, 1].map(prepared)),
                }
            });
            let any = Call::new(stores.choose(self.output_at(&tiles[0], on)), start);
            let mut calls = Calls { whole, any };
            self.prepare(twins, pitch, on, &mut calls.any);
            let blocks =
                Blocks { twins, tiles: &tiles, pairs: &pairs, on, block, apart, to: [rooms[0].plain, rooms[0].other] };
            let count = pairs.iter().take_while(|pair| (pair.tile as usize) < end - first).count();
            let is_whole = |pair: &Pair| [pair.rows, pair.columns].iter().all(|&side| side as usize == block);
            let mut at = 0;
            while at < count {
                if let Some(whole) = &mut calls.whole {
                    let begun = at;
                    at += pairs[at..count].iter().take_while(|pair| is_whole(pair)).count();
                    match whole {
                        Whole::Short(calls) => self.run_whole(&blocks, begun..at, calls),
                        Whole::Long(call, to) => self.run_long(&blocks, begun..at, call, *to),
                    }
                }
                if at < count {
                    self.run_any(&blocks, at, &mut calls.any, &rooms);
                    at += 1;
                }
            }
        }
        stores.finish();
    }

    /// The blocks of tiles, of which all are followed by their mirror images but those on the diagonal.
    fn list_pairs(&self, twins: &Twins, block: usize, tiles: &[Tile], on: &codegen::Call<'_>, pairs: &mut Pairs) {
        let (size, apart) = (self.bases.size(twins.turned) as isize, self.apart(twins));
        let out_apart = self.strides(on.loads.len())[0] * self.stored;
        let mut tile = 0;
        while tile < tiles.len() {
            let this = &tiles[tile];
            let next = tiles.get(tile + 1).filter(|next| self.are_mirrored(this, next));
            let first = self.bases.address(on, twins.turned, this.places[twins.turned]);
            let turned = on.loads[twins.turned].with_addr(first as usize);
            // Of the same matrix, row and column change places.
            let plain = turned.wrapping_offset(self.below_diagonal(this) * (apart - size));
            let outputs = [this, next.unwrap_or(this)].map(|tile| self.output_at(tile, on));
            for column in (0..this.columns).step_by(block) {
                // On the diagonal, the other blocks are mirror images.
                let end = if next.is_some() { this.rows } else { this.rows.min(column + 1) };
                for row in (0..end).step_by(block) {
                    let mirror = if next.is_some() { Some(tile + 1) } else { (row != column).then_some(tile) };
                    let [down, across] = [row, column].map(|place| place as isize);
                    let to = |place: isize, other: isize| place as i64 * out_apart + other as i64 * self.stored;
                    pairs.push(Pair {
                        from: [
                            plain.wrapping_offset(down * apart + across * size),
                            turned.wrapping_offset(across * apart + down * size),
                        ],
                        to: [outputs[0] + to(down, across), outputs[1] + to(across, down)],
                        rows: (this.rows - row).min(block) as u32,
                        columns: (this.columns - column).min(block) as u32,
                        tile: tile as u32,
                        mirror: mirror.map(|tile| tile as u32),
                        place: [row, column].map(|place| place as u32),
                    });
                }
            }
            tile += 1 + usize::from(next.is_some());
        }
    }

    /// The bytes from one row of the matrix to the next.
    pub(super) fn apart(&self, twins: &Twins) -> isize {
        (self.strides(twins.turned)[1] * self.bases.size(twins.turned)) as isize
    }

    /// Tells a kernel what is the same for all blocks.
    pub(super) fn prepare(&self, twins: &Twins, pitch: usize, on: &codegen::Call<'_>, call: &mut Call<'_>) {
        let operands = on.loads.len();
        call.scalars(on.scalars);
        for k in (0..operands).filter(|&k| twins.are_others(k)) {
            call.step(k, self.strides(k)[0] * self.bases.size(k));
        }
        twins.plain.into_iter().chain([twins.turned]).for_each(|k| call.step(k, pitch as i64));
        call.step(operands, self.strides(operands)[0] * self.stored);
    }

    /// The same for whole blocks, of which also the copies have their places.
    fn prepare_whole(&self, twins: &Twins, room: &Room, on: &codegen::Call<'_>, call: &mut Call<'_>) {
        let (operands, apart) = (on.loads.len(), self.apart(twins) as i64);
        self.prepare(twins, room.pitch, on, call);
        call.sizes(twins.block, twins.block);
        twins.plain.into_iter().for_each(|plain| call.pointer(plain, room.plain.addr() as i64));
        call.pointer(twins.turned, room.other.addr() as i64);
        [1, 2].into_iter().for_each(|behind| call.step(operands + behind, apart));
    }

    /// Tells a kernel where operands beside the twins begin, at some place of a tile.
    pub(super) fn others_at(
        &self,
        twins: &Twins,
        (tile, place): (&Tile, [usize; 2]),
        on: &codegen::Call<'_>,
        call: &mut Call<'_>,
    ) {
        for k in (0..on.loads.len()).filter(|&k| twins.are_others(k)) {
            call.pointer(k, self.bases.address(on, k, self.place_in(tile, place, k)));
        }
    }

    /// Makes some whole blocks and their mirror images. While one side of a pair is made, half of what comes soon is asked for: some rows of either piece.
    ///
    /// # Safety
    /// As for [`Tiled::run`]; the kernels have been told all that is the same for all blocks.
    unsafe fn run_whole(&self, blocks: &Blocks<'_>, numbers: Range<usize>, calls: &mut [Call<'_>; 2]) {
        let &Blocks { twins, tiles, pairs, on, block, apart, to } = blocks;
        let operands = on.loads.len();
        let has_others = (0..operands).any(|k| twins.are_others(k));
        let half = (block / 2) as isize * apart;
        for at in numbers {
            let pair = &pairs[at];
            let soon = pairs.get(at + AHEAD).unwrap_or(pair).from;
            // SAFETY: the caller's promise; blocks are copied to where the kernels find them, and have a whole number of times the rows that these
            // turn at once.
            unsafe {
                transpose_wide::copy_lines::<{ turned::VECTORS }, 2>(pair.from, apart, block, to);
                for (side, call) in calls.iter_mut().take(1 + usize::from(pair.mirror.is_some())).enumerate() {
                    if has_others {
                        self.others_at(twins, pair.side(side, tiles), on, call);
                    }
                    call.pointer(operands, pair.to[side]);
                    for (piece, behind) in soon.into_iter().zip(1..) {
                        call.pointer(operands + behind, piece.wrapping_offset(side as isize * half).addr() as i64);
                    }
                    call.run_again();
                }
            }
        }
    }

    /// Makes any block and its mirror image.
    ///
    /// # Safety
    /// As for [`Tiled::run`].
    unsafe fn run_any(&self, blocks: &Blocks<'_>, at: usize, call: &mut Call<'_>, rooms: &[Room; 2]) {
        let &Blocks { twins, tiles, pairs, apart, to, .. } = blocks;
        let (size, pair) = (self.bases.size(twins.turned) as usize, &pairs[at]);
        let soon = pairs.get(at + AHEAD).unwrap_or(pair).pieces(apart, size);
        // SAFETY: the caller's promise.
        unsafe {
            transpose::copy_rows(&pair.pieces(apart, size), to, rooms[0].pitch);
            for side in 0..1 + usize::from(pair.mirror.is_some()) {
                self.any_side(blocks, pair.side(side, tiles), call, (&rooms[side], &soon[side]));
            }
        }
    }

    /// Makes a block whose rows are turned into scratch, as many as a cache line has elements at a time, and asks for a piece as it goes.
    ///
    /// # Safety
    /// As for [`Tiled::run`]; the pieces have been copied.
    unsafe fn any_side(
        &self,
        &Blocks { twins, on, block, .. }: &Blocks<'_>,
        (tile, place): (&Tile, [usize; 2]),
        call: &mut Call<'_>,
        (room, soon): (&Room, &Piece),
    ) {
        let size = self.bases.size(twins.turned) as usize;
        let at_once = LINE / size;
        let block = self.within(tile, place, [block; 2]);
        self.go_to(&block, on, call);
        twins.plain.into_iter().for_each(|plain| call.pointer(plain, room.plain.addr() as i64));
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
