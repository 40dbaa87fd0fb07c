//! Programs without a fold whose operands disagree on which axis is dense: transposes.
//!
//! The output is walked in tiles of some rows and columns. Of an operand that is dense along the rows' axis, a tile is first turned into
//! scratch that stays in a cache near by, so that every cache line is used whole while it is there; then the kernel runs over the tile's rows
//! and finds that operand dense like the others. Tiles follow each other along what the turned operands have side by side. Where
//! all of this comes from memory, the next tile is asked for while one is stored.
//!
//! What is turned and nothing else, in registers of 512 bits, goes straight to the output, or to memory if it is large. Tiles then follow each other
//! along the output's rows: what is written past the caches had better stay in the same few pages. A large matrix that meets its own
//! transpose, or is only turned, has a way of its own ([`super::twins`]) if it is square.

use super::asm::Width;
use super::build::{Kind, MOST_VECTORS, Spec};
use super::call::Call;
use super::elements::Step;
use super::map::registers_for;
use super::parts::part_work;
use super::stream::{self, LARGE, Stores};
use super::transpose::{self, Transpose};
use super::transpose_wide::{self, To, ToMemory};
use super::trial::Trial;
use super::twins::Twins;
use super::walk::{Bases, Scratch, Walk, strided};
use crate::codegen;
use crate::lower::program::{LoopProgram, dense};
use crate::ops::vector::Word;
use smallvec::SmallVec;
use std::ops::Range;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;

/// Shorter axes are not worth turning.
const SHORTEST: usize = 8;
/// The bytes of a tile's rows and columns where both are long: shorter pieces are slow to write to memory, and longer ones make tiles that
/// leave the L1 cache.
pub(super) const PIECE_BYTES: usize = 256;
/// The bytes that are read side by side, and that are written so, where tiles go straight to memory: pieces of two lines are written a tenth
/// slower than of four, and longer ones are no faster.
const STRAIGHT_BYTES: [usize; 2] = [1024, 256];
/// The same for tiles that are followed by their mirror images.
const MIRRORED_BYTES: [usize; 2] = [1024, 128];
/// The second way of squares that meet their transposes.
const SECOND: usize = 1;
/// The bytes of a cache line.
pub(super) const LINE: usize = 64;
/// About the bytes that are stored before more of the next tile is asked for: memory is slower to serve much of either at once.
const AT_ONCE: usize = 256;

/// So many rows of tiles, each followed by its mirror image, are walked together; fewer of those that are made of blocks, which are larger.
const BAND: usize = 4;
const BAND_OF_BLOCKS: usize = 2;

/// Pieces that lie a multiple of so many bytes apart crowd a few lines of the second cache, where the next tile would then push out what is left of the last.
const CROWDED: i64 = 32 << 10;

/// Operands that are turned, by number, and how.
type Turned = SmallVec<[(usize, Transpose); 2]>;

/// How a tile becomes a part of the output.
enum Way {
    /// Its operands are turned into scratch, and a kernel runs over its rows.
    Kernel(Stores),
    /// It is turned into the output.
    Straight(Transpose),
    /// The same past the caches, if the output begins on a cache line.
    ToMemory { turn: ToMemory, near: Transpose },
    /// The same for squares, of which every block is followed by its mirror image.
    Mirrored { stores: Stores, turn: ToMemory, near: Transpose },
}

/// How tiles follow each other.
#[derive(Clone, Copy)]
pub(super) enum Order {
    /// Along the rows of the output.
    AlongRows,
    /// Along its columns.
    AlongColumns,
    /// Every tile of a square is followed by its mirror image.
    Mirrored,
}

/// An elementwise program that is walked in tiles.
pub(super) struct Tiled {
    way: Way,
    /// The operands, then the output, then positions. The last axis is that of the columns, the one before it that of the rows.
    walk: Walk,
    pub(super) bases: Bases,
    /// The bytes of an element of the output.
    pub(super) stored: i64,
    turned: Turned,
    /// The indices over all other axes.
    outside: usize,
    /// The most rows and columns that a kernel had better make at once.
    piece: usize,
    /// The rows of a tile, its columns, and how many tiles make a part.
    pub(super) rows: usize,
    pub(super) columns: usize,
    tiles: usize,
    /// Every tile of a square is followed by its mirror image.
    mirrored: bool,
    /// How many rows of tiles are walked together in such a square.
    band: usize,
    /// A matrix and its transpose, if they are large.
    twins: Option<Twins>,
    /// Whether they go by short blocks or, in the second way, by long ones; what is only turned goes tile by tile then.
    pub(super) trial: Option<Trial>,
    /// Whether the next run in the second way goes back.
    goes_back: AtomicBool,
    /// The next tile is asked for early.
    fetches: bool,
    /// Into the second cache: if results are stored past the caches line by line, it takes twice as long to bring it nearer.
    half_way: bool,
}

/// One tile.
pub(super) struct Tile {
    pub(super) rows: usize,
    pub(super) columns: usize,
    /// How far the operands, the output and the position are, at its first element, from their first.
    pub(super) places: SmallVec<[i64; 8]>,
    /// Where it is outside, and its row and column in the grid.
    place: (usize, [usize; 2]),
}

impl Tiled {
    /// `None` where no operand is worth turning.
    pub(super) fn of(program: &LoopProgram, around: codegen::Around<'_>, full: Width) -> Option<Tiled> {
        assert!(program.reduced.is_empty(), "reduced axes need a fold");
        let (strided, output) = (strided(program)?, program.loads.len());
        let positions = dense(&program.outer);
        let strides = strided.iter().map(|operand| &operand.strides[..]).chain([&program.store[..], &positions[..]]);
        let mut walk = Walk::new(&program.outer, strides);
        let (axis, turned) = turned_operands(&walk, program, full)?;
        walk.move_axis(axis, walk.sizes.len() - 2);
        if walk.step(output)? != Step::Dense {
            return None;
        }

        let widest = turned.iter().map(|&(operand, _)| program.loads[operand].dtype.size()).max().unwrap_or(1);
        let down = walk.row_axis();
        let bases = Bases::new(program, strided);
        let apart = |&(k, _): &(usize, Transpose)| walk.strides[k][walk.sizes.len() - 1] * bases.size(k);
        let crowds = |bytes: i64| turned.iter().any(|operand| apart(operand) % bytes == 0);
        let is_on_lines = stream::are_aligned(&walk, output, program.stored.size(), around.apart, Width::Z);
        let straight = straight(program, around, &walk, full);
        let mut operands = walk.reads(program)?;
        turned.iter().for_each(|&(operand, _)| operands[operand].step = Step::Dense);
        let mut spec = Spec {
            words: program.words.clone(),
            result: program.result,
            stored: program.stored,
            operands,
            output: Step::Dense,
            kind: Kind::Map { stream: false, most: MOST_VECTORS },
            full,
        };
        let twins = match turned[..] {
            [one] if down == walk.inner() && is_on_lines && around.bytes >= LARGE => {
                Twins::of(&walk, &bases, one, (&spec, around.bytes))
            }
            _ => None,
        };
        let most = match (&twins, &straight) {
            (Some(twins), _) => [twins.tile(); 2],
            (None, Some(Way::ToMemory { .. })) => STRAIGHT_BYTES.map(|bytes| bytes / widest),
            (None, _) => [PIECE_BYTES / widest; 2],
        };
        let (rows, columns) = tile_sizes([down, walk.inner()], most);
        spec.full = registers_for(full, walk.inner().min(columns));
        let steps = program.words.len() + 4;
        let elements = part_work(walk.sizes.iter().product(), steps) / steps;
        let is_mixed = turned.len() < program.loads.len();
        let way = match straight {
            Some(Way::ToMemory { turn, near }) if twins.is_some() => {
                Way::Mirrored { stores: Stores::new(spec, &[], around, &walk, output)?, turn, near }
            }
            Some(way) => way,
            None => Way::Kernel(Stores::new(spec, &[], around, &walk, output)?),
        };
        // Where a matrix meets its own transpose, what one tile has read is still in a cache for the other.
        let mirrored = is_mixed && down == walk.inner() && rows == columns;
        let has_blocks = twins.as_ref().is_some_and(Twins::has_blocks);
        let has_ways = matches!(way, Way::Mirrored { .. }) || twins.as_ref().is_some_and(Twins::have_long);
        let most_rows = if has_blocks { BAND_OF_BLOCKS } else { BAND };
        let band = if crowds(CROWDED) { 1 } else { most_rows };
        Some(Tiled {
            way,
            bases,
            stored: program.stored.size() as i64,
            turned,
            piece: PIECE_BYTES / widest,
            outside: walk.sizes[..walk.sizes.len() - 2].iter().product(),
            rows,
            columns,
            tiles: (if has_blocks { 2 * elements } else { elements } / (rows * columns)).max(1),
            mirrored,
            band,
            twins,
            trial: has_ways.then(|| Trial::new(SECOND + 1)),
            goes_back: AtomicBool::new(false),
            fetches: around.bytes >= LARGE,
            half_way: is_on_lines,
            walk,
        })
    }

    /// The kernels that serve it.
    pub(super) fn kernels(&self) -> Vec<std::sync::Arc<super::kernel::Kernel>> {
        match &self.way {
            Way::Kernel(stores) | Way::Mirrored { stores, .. } => {
                let whole = self.twins.iter().flat_map(Twins::kernels);
                stores.all().into_iter().chain(whole.cloned()).collect()
            }
            Way::Straight(_) | Way::ToMemory { .. } => Vec::new(),
        }
    }

    /// How many tiles there are along the columns, and along the rows.
    fn grid(&self) -> [usize; 2] {
        let rows = self.walk.row_axis();
        [self.walk.inner().div_ceil(self.columns), rows.div_ceil(self.rows)]
    }

    /// How many tiles there are.
    pub(super) fn count(&self) -> usize {
        let [across, down] = self.grid();
        self.outside * across * down
    }

    /// See [`codegen::Compiled::goes_back`]. Only in the second way: where each processor has a last cache of its own, going back is slower.
    pub(super) fn goes_back(&self) -> bool {
        let is_second = self.trial.as_ref().is_some_and(|trial| trial.way() == SECOND);
        is_second && self.goes_back.fetch_xor(true, Relaxed)
    }

    pub(super) fn parts(&self) -> usize {
        self.count().div_ceil(self.tiles).max(1)
    }

    /// The strides of an operand along the rows' axis and the columns'.
    pub(super) fn strides(&self, operand: usize) -> [i64; 2] {
        let strides = &self.walk.strides[operand];
        [strides[strides.len() - 2], strides[strides.len() - 1]]
    }

    /// Where a tile is outside, and its row and column in the grid.
    fn place(&self, number: usize, order: Order) -> (usize, [usize; 2]) {
        let [across, down] = self.grid();
        let (outside, number) = (number / (across * down), number % (across * down));
        let place = match order {
            Order::Mirrored => mirrored(number, down, self.band),
            Order::AlongRows => [number / across, number % across],
            Order::AlongColumns => [number % down, number / down],
        };
        (outside, place)
    }

    /// Whether one tile is the mirror image of another.
    pub(super) fn are_mirrored(&self, tile: &Tile, other: &Tile) -> bool {
        let (outside, [row, column]) = tile.place;
        row != column && other.place == (outside, [column, row])
    }

    /// How many elements a tile of a square begins below the diagonal.
    pub(super) fn below_diagonal(&self, tile: &Tile) -> isize {
        let (_, [row, column]) = tile.place;
        (row * self.rows) as isize - (column * self.columns) as isize
    }

    /// The address of a tile's first result.
    pub(super) fn output_at(&self, tile: &Tile, on: &codegen::Call<'_>) -> i64 {
        on.out.addr() as i64 + tile.places[on.loads.len()] * self.stored
    }

    pub(super) fn tile(&self, number: usize, order: Order) -> Tile {
        let place = self.place(number, order);
        let (outside, [row, column]) = place;
        let (row, column) = (row * self.rows, column * self.columns);
        let mut places = SmallVec::from_elem(0, self.walk.strides.len());
        self.walk.outside(outside, &mut places);
        for (operand, place) in places.iter_mut().enumerate() {
            let [along_rows, along_columns] = self.strides(operand);
            *place += row as i64 * along_rows + column as i64 * along_columns;
        }
        let rows = self.walk.row_axis();
        Tile { rows: self.rows.min(rows - row), columns: self.columns.min(self.walk.inner() - column), places, place }
    }

    /// # Safety
    /// As for [`codegen::Compiled::run`].
    pub(super) unsafe fn run(&self, part: usize, on: &codegen::Call<'_>) {
        let count = self.count();
        let numbers = part * self.tiles..count.min((part + 1) * self.tiles);
        if numbers.is_empty() {
            return;
        }
        let turn = self.trial.as_ref().map(Trial::begin);
        // SAFETY: the caller's promise.
        unsafe { self.run_tiles(numbers, turn.as_ref().is_some_and(|turn| turn.way == SECOND), on) };
        if let (Some(trial), Some(turn)) = (&self.trial, &turn) {
            trial.end(turn, self.parts());
        }
    }

    /// Makes tiles, in the second way or the first.
    ///
    /// # Safety
    /// As for [`Tiled::run`].
    unsafe fn run_tiles(&self, numbers: Range<usize>, is_second: bool, on: &codegen::Call<'_>) {
        let is_on_line = || self.output_at(&self.tile(numbers.start, Order::AlongRows), on) % LINE as i64 == 0;
        match &self.way {
            // SAFETY: the caller's promise.
            Way::Kernel(stores) => unsafe {
                match &self.twins {
                    Some(twins) if twins.are_in(on) => self.run_twins(twins, (stores, is_second), numbers, on),
                    _ if self.mirrored => self.run_kernel(stores, numbers, Order::Mirrored, on),
                    _ => self.run_kernel(stores, numbers, Order::AlongColumns, on),
                }
            },
            // SAFETY: the caller's promise; all rows begin on cache lines if the first does.
            Way::Mirrored { stores, turn, near } => unsafe {
                match &self.twins {
                    Some(_) if is_second && is_on_line() => {
                        let numbers = self.with_mirror_images(numbers);
                        let most = MIRRORED_BYTES.map(|bytes| bytes / self.stored as usize);
                        let divided = |(number, tile)| self.divided(tile, most).map(move |part| (number, part));
                        let tiles = self.tiles_of(&numbers, Order::Mirrored).flat_map(divided);
                        self.turn_to_memory(tiles, &numbers, *turn, on);
                    }
                    Some(twins) if is_on_line() => self.run_twins(twins, (stores, false), numbers, on),
                    _ => self.turn_straight(numbers, Order::Mirrored, *near, on),
                }
            },
            // SAFETY: the caller's promise.
            Way::Straight(turn) => unsafe { self.turn_straight(numbers, Order::AlongColumns, *turn, on) },
            // SAFETY: the caller's promise; all rows begin on cache lines if the first does.
            Way::ToMemory { turn, near } => unsafe {
                match is_on_line() {
                    true => self.turn_to_memory(self.tiles_of(&numbers, Order::AlongRows), &numbers, *turn, on),
                    false => self.turn_straight(numbers, Order::AlongRows, *near, on),
                }
            },
        }
    }

    /// Tiles of these numbers, and the next one.
    fn tiles_of(&self, numbers: &Range<usize>, order: Order) -> impl Iterator<Item = (usize, Tile)> {
        (numbers.start..self.count().min(numbers.end + 1)).map(move |number| (number, self.tile(number, order)))
    }

    /// Turns tiles into the output.
    ///
    /// # Safety
    /// As for [`Tiled::run`].
    unsafe fn turn_straight(&self, numbers: Range<usize>, order: Order, turn: Transpose, on: &codegen::Call<'_>) {
        let [from_step, to_step] = self.straight_steps();
        for tile in numbers.map(|number| self.tile(number, order)) {
            // SAFETY: the caller's promise; rows and columns are of the program's index space.
            unsafe {
                let (from, to) = self.straight_ends(&tile, on);
                turn(from, from_step, to, to_step as usize, tile.rows, tile.columns);
            }
        }
    }

    /// Turns tiles of these numbers into the output past the caches; those of the next one come behind them.
    ///
    /// # Safety
    /// As for [`Tiled::run`]; all rows begin on cache lines.
    unsafe fn turn_to_memory(
        &self,
        tiles: impl Iterator<Item = (usize, Tile)>,
        numbers: &Range<usize>,
        turn: ToMemory,
        on: &codegen::Call<'_>,
    ) {
        let [from_step, to_step] = self.straight_steps();
        let mut tiles = tiles.peekable();
        while let Some((_, tile)) = tiles.next_if(|(number, _)| numbers.contains(number)) {
            let ahead = tiles.peek().and_then(|(_, next)| self.ahead(0, next, on));
            // SAFETY: the caller's promise; rows and columns are of the program's index space.
            unsafe {
                let (from, to) = self.straight_ends(&tile, on);
                let ahead = ahead.unwrap_or_else(|| Ahead::nothing(from));
                turn(from, from_step, to, to_step as usize, [tile.rows, tile.columns], ahead);
            }
        }
        stream::finish();
    }

    /// By how many bytes the columns of what is turned lie apart, and the rows of the output.
    fn straight_steps(&self) -> [isize; 2] {
        [self.strides(0)[1], self.strides(1)[0]].map(|stride| (stride * self.stored) as isize)
    }

    /// Where a tile of what is turned begins, and where it goes.
    ///
    /// # Safety
    /// As for [`Tiled::run`].
    unsafe fn straight_ends(&self, tile: &Tile, on: &codegen::Call<'_>) -> (*const u8, *mut u8) {
        let from = on.loads[0].with_addr(self.bases.address(on, 0, tile.places[0]) as usize);
        // SAFETY: the caller's promise.
        (from, unsafe { on.out.offset((tile.places[1] * self.stored) as isize) })
    }

    /// Runs a kernel over tiles.
    ///
    /// # Safety
    /// As for [`Tiled::run`].
    unsafe fn run_kernel(&self, stores: &Stores, numbers: Range<usize>, order: Order, on: &codegen::Call<'_>) {
        let tiles = self.tiles_of(&numbers, order);
        // SAFETY: the caller's promise.
        unsafe {
            match &self.twins {
                Some(twins) if twins.has_blocks() => {
                    let parts = tiles
                        .flat_map(|(number, tile)| self.divided(tile, [self.piece; 2]).map(move |part| (number, part)));
                    self.run_kernel_on(stores, parts, &numbers, on);
                }
                _ => self.run_kernel_on(stores, tiles, &numbers, on),
            }
        }
    }

    /// Runs a kernel over tiles of these numbers; those of the next one come behind them.
    ///
    /// # Safety
    /// As for [`Tiled::run`].
    unsafe fn run_kernel_on(
        &self,
        stores: &Stores,
        tiles: impl Iterator<Item = (usize, Tile)>,
        numbers: &Range<usize>,
        on: &codegen::Call<'_>,
    ) {
        let operands = on.loads.len();
        let frame_bytes = stores.frame_bytes().next_multiple_of(64);
        let all_tiles: usize = self.turned.iter().map(|&(operand, _)| self.tile_bytes(operand)).sum();
        let mut scratch = Scratch::new(frame_bytes + all_tiles);
        let mut tiles = tiles;
        let Some((_, mut tile)) = tiles.next() else { return };
        // SAFETY: the frame has the kernel's size and starts on a cache line, and the tiles come after it; the rows and columns told to
        // the kernel and to those that turn are of the program's index space, for which the caller vouches.
        unsafe {
            let mut call = Call::new(stores.choose(self.output_at(&tile, on)), scratch.start());
            call.scalars(on.scalars);
            for k in 0..operands {
                call.step(k, self.strides(k)[0] * self.bases.size(k));
            }
            call.step(operands, self.strides(operands)[0] * self.stored);
            loop {
                self.go_to(&tile, on, &mut call);
                self.turn(&tile, on, &mut call, scratch.start().add(frame_bytes));
                let next = tiles.next();
                match &next {
                    Some((_, next)) if self.fetches => self.store_and_fetch(&tile, next, on, &mut call),
                    _ => call.run(tile.rows, tile.columns),
                }
                match next {
                    Some((number, next)) if numbers.contains(&number) => tile = next,
                    _ => break,
                }
            }
        }
        stores.finish();
    }

    /// The parts of a tile that are made at once, where it is so large for the sake of twins.
    fn divided(&self, tile: Tile, [rows, columns]: [usize; 2]) -> impl Iterator<Item = Tile> {
        let across = tile.columns.div_ceil(columns);
        (0..tile.rows.div_ceil(rows) * across)
            .map(move |part| self.within(&tile, [part / across * rows, part % across * columns], [rows, columns]))
    }

    /// What begins at some row and column of a tile, of at most so many of either.
    pub(super) fn within(&self, tile: &Tile, place: [usize; 2], [most_rows, most_columns]: [usize; 2]) -> Tile {
        let places = (0..tile.places.len()).map(|operand| self.place_in(tile, place, operand)).collect();
        let (rows, columns) = ((tile.rows - place[0]).min(most_rows), (tile.columns - place[1]).min(most_columns));
        Tile { rows, columns, places, place: tile.place }
    }

    /// How far an operand is from its first element at some row and column of a tile.
    pub(super) fn place_in(&self, tile: &Tile, [row, column]: [usize; 2], operand: usize) -> i64 {
        let [along_rows, along_columns] = self.strides(operand);
        tile.places[operand] + row as i64 * along_rows + column as i64 * along_columns
    }

    /// Tells a kernel where operands and output of a tile begin, as they lie.
    pub(super) fn go_to(&self, tile: &Tile, on: &codegen::Call<'_>, call: &mut Call<'_>) {
        let operands = on.loads.len();
        (0..operands).for_each(|k| call.pointer(k, self.bases.address(on, k, tile.places[k])));
        call.pointer(operands, self.output_at(tile, on));
        let position = self.bases.position(on, tile.places[operands + 1] as usize);
        call.position(position, self.strides(operands + 1)[0] as usize);
    }

    /// The bytes of a turned tile of an operand.
    fn tile_bytes(&self, operand: usize) -> usize {
        self.rows * self.columns * self.bases.size(operand) as usize
    }

    /// Turns a tile into scratch, and tells the kernel that it is there.
    ///
    /// # Safety
    /// As for [`Tiled::run`]; `to` has room for all turned operands.
    unsafe fn turn(&self, tile: &Tile, on: &codegen::Call<'_>, call: &mut Call<'_>, to: *mut u8) {
        let mut to = to;
        for &(k, turn) in &self.turned {
            let size = self.bases.size(k);
            let from = on.loads[k].with_addr(self.bases.address(on, k, tile.places[k]) as usize);
            let step = self.columns * size as usize;
            // SAFETY: the caller's promise.
            unsafe {
                turn(from, (self.strides(k)[1] * size) as isize, to, step, tile.rows, tile.columns);
                call.pointer(k, to.addr() as i64);
                call.step(k, step as i64);
                to = to.add(self.tile_bytes(k));
            }
        }
    }

    /// Runs the kernel over a tile, and asks for the next one as it goes.
    ///
    /// # Safety
    /// As for [`Tiled::run`]; the kernel has been told all but the rows and columns.
    unsafe fn store_and_fetch(&self, tile: &Tile, next: &Tile, on: &codegen::Call<'_>, call: &mut Call<'_>) {
        let rows = (AT_ONCE / (tile.columns * self.stored as usize)).max(1);
        let shares = tile.rows.div_ceil(rows);
        let mut operands: SmallVec<[Ahead; 4]> = SmallVec::new();
        for ahead in (0..on.loads.len()).filter_map(|k| self.ahead(k, next, on)) {
            // A small square that meets its transpose is asked for once.
            if ahead.bytes >= PIECE_BYTES || !operands.iter().any(|other| other.next == ahead.next) {
                operands.push(ahead);
            }
        }
        operands.iter_mut().for_each(|operand| operand.share_among(shares));
        for share in 0..shares {
            operands.iter_mut().for_each(|operand| operand.fetch_share(self.half_way));
            // SAFETY: the caller's promise; a kernel leaves its pointers at the next row.
            unsafe { call.run(rows.min(tile.rows - share * rows), tile.columns) };
        }
    }

    /// What an operand has in memory of a tile, unless that is next to nothing or far apart.
    fn ahead(&self, k: usize, tile: &Tile, on: &codegen::Call<'_>) -> Option<Ahead> {
        let ([along_rows, along_columns], size) = (self.strides(k), self.bases.size(k));
        let (count, apart, length) = if self.turned.iter().any(|&(turned, _)| turned == k) {
            (tile.columns, along_columns, tile.rows)
        } else if along_columns == 1 && along_rows != 0 {
            (tile.rows, along_rows, tile.columns)
        } else {
            return None;
        };
        let next = on.loads[k].with_addr(self.bases.address(on, k, tile.places[k]) as usize);
        Some(Ahead::new(next, (apart * size) as isize, length * size as usize, count))
    }
}

/// Pieces of memory, at equal distances, that will be read soon.
pub(super) struct Ahead {
    next: *const u8,
    apart: isize,
    bytes: usize,
    /// The bytes of the next one that have been asked for.
    begun: usize,
    /// Those that have not been asked for, and how many of them at a time.
    left: usize,
    share: usize,
}

impl Ahead {
    /// So many pieces of so many bytes.
    pub(super) fn new(next: *const u8, apart: isize, bytes: usize, count: usize) -> Ahead {
        Ahead { next, apart, bytes, begun: 0, left: count, share: count }
    }

    /// Nothing but a line that is at hand.
    pub(super) fn nothing(at: *const u8) -> Ahead {
        Ahead::new(at, 0, 0, 0)
    }

    /// They are asked for so many times.
    fn share_among(&mut self, times: usize) {
        self.share = self.left.div_ceil(times.max(1));
    }

    /// Asks for the next of them.
    #[inline]
    fn fetch_share(&mut self, half_way: bool) {
        let share = self.share.min(self.left);
        for _ in 0..share {
            let fetch = if half_way { codegen::fetch_half_way } else { codegen::fetch };
            fetch(self.next, self.bytes);
            self.next = self.next.wrapping_offset(self.apart);
        }
        self.left -= share;
    }

    /// Where the next so many lines are, for whoever asks for them one by one. They may go beyond the end of a piece, and the last piece comes
    /// again when there are no more.
    #[inline]
    pub(super) fn take_lines(&mut self, count: usize) -> *const u8 {
        let lines = self.next.wrapping_add(self.begun);
        self.begun += count * LINE;
        if self.begun >= self.bytes {
            self.begun = 0;
            if self.left > 1 {
                self.left -= 1;
                self.next = self.next.wrapping_offset(self.apart);
            }
        }
        lines
    }
}

/// The rows and columns of a tile: those wanted, or as much where one of the axes is shorter than that.
fn tile_sizes([rows, columns]: [usize; 2], [most_rows, most_columns]: [usize; 2]) -> (usize, usize) {
    let times = |most: usize, short: usize| (most / short.max(1)).max(1);
    match (rows < most_rows, columns < most_columns) {
        (true, false) => (rows.max(1), most_columns * times(most_rows, rows)),
        (false, true) => (most_rows * times(most_columns, columns), columns.max(1)),
        _ => (most_rows, most_columns),
    }
}

/// The row and column of a tile in a square of so many tiles each way: every tile is followed by its mirror image. A band of some rows of tiles
/// is walked column by column, so that mirror images follow each other along rows, in the same pages.
fn mirrored(number: usize, count: usize, band: usize) -> [usize; 2] {
    // From every row on with which a band begins, there is a smaller square left.
    let left = count * count - number;
    let side = left.isqrt() + usize::from(left.isqrt().pow(2) < left);
    let first = (count - side) / band * band;
    let (width, after) = (band.min(count - first), number + (count - first).pow(2) - count * count);
    match after.checked_sub(width * width) {
        None if width == 1 => [first; 2],
        // On the diagonal, a band's own square has bands of one row.
        None => mirrored(after, width, 1).map(|place| first + place),
        Some(after) => {
            let (row, column) = (first + after / 2 % width, first + width + after / 2 / width);
            if after.is_multiple_of(2) { [row, column] } else { [column, row] }
        }
    }
}

/// The way to the output where nothing but turning is to be done, and the machine has registers of 512 bits for it. Elements of 4 and 8 bytes
/// are their own lanes: as they lie they are what a kernel would store. What is better stored past the caches, but not on whole lines, is left
/// to a kernel.
fn straight(program: &LoopProgram, around: codegen::Around<'_>, walk: &Walk, full: Width) -> Option<Way> {
    let [(Word::Load { dtype, .. }, _)] = program.words[..] else { return None };
    let (size, strides) = (dtype.size(), &walk.strides[1]);
    let outside = &strides[..strides.len() - 1];
    if full != Width::Z || dtype != program.stored || outside.iter().any(|&stride| stride < 0) {
        return None;
    }
    let near = transpose_wide::of_size(size, To::Rows)?;
    let is_aligned = |width| stream::are_aligned(walk, 1, size, around.apart, width);
    match around.bytes >= LARGE {
        true if is_aligned(Width::Z) => Some(Way::ToMemory { turn: transpose_wide::to_memory(size)?, near }),
        true if is_aligned(Width::Y) => None,
        _ => Some(Way::Straight(near)),
    }
}

/// The axis whose neighbours lie side by side for operands that step along the last, and those operands.
fn turned_operands(walk: &Walk, program: &LoopProgram, full: Width) -> Option<(usize, Turned)> {
    let last = walk.sizes.len() - 1;
    let steps = |strides: &[i64]| !(0..=1).contains(&strides[last]);
    let dense_along = |strides: &[i64]| {
        (0..last).rev().find(|&axis| steps(strides) && strides[axis] == 1 && walk.sizes[axis] >= SHORTEST)
    };
    let operands = &walk.strides[..program.loads.len()];
    let axis = operands.iter().find_map(|strides| dense_along(strides))?;
    let turned = operands.iter().enumerate().filter(|(_, strides)| steps(strides) && strides[axis] == 1);
    let how = |(operand, _): (usize, _)| {
        let size = program.loads[operand].dtype.size();
        let wide = transpose_wide::of_size(size, To::Scratch).filter(|_| full == Width::Z);
        (operand, wide.unwrap_or_else(|| transpose::of_size(size)))
    };
    (walk.sizes[last] >= SHORTEST).then(|| (axis, turned.map(how).collect()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_tile_of_a_square_comes_once_and_its_mirror_image_next() {
        let squares = [1, 2, 3, 4, 5, 8, 11, 30].into_iter();
        for (count, band) in squares.flat_map(|count| [1, BAND_OF_BLOCKS, BAND].map(|band| (count, band))) {
            let order: Vec<_> = (0..count * count).map(|number| mirrored(number, count, band)).collect();
            let mut all = order.clone();
            all.sort_unstable();
            assert!(all.into_iter().eq((0..count).flat_map(|row| (0..count).map(move |column| [row, column]))));
            let mut at = 0;
            while let Some(&[row, column]) = order.get(at) {
                if row != column {
                    at += 1;
                    assert_eq!(order[at], [column, row]);
                }
                at += 1;
            }
        }
    }
}
