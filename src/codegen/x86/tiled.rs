//! Programs without a fold whose operands disagree on which axis is dense: transposes.
//!
//! The output is walked in tiles of some rows and columns. Of an operand that is dense along the rows' axis, a tile is first turned into
//! scratch that stays in a cache near by, so that every cache line is used whole while it is there; then the kernel runs over the tile's rows
//! and finds that operand dense like the others.

use super::asm::Width;
use super::build::{Kind, Spec};
use super::call::Call;
use super::elements::Step;
use super::map::registers_for;
use super::stream::Stores;
use super::transpose::{self, Transpose};
use super::walk::{Bases, Scratch, Walk, strided};
use crate::codegen;
use crate::lower::program::{LoopProgram, dense};
use smallvec::SmallVec;

/// The work of one part, in elements of one word.
const PART_WORK: usize = 1 << 18;
/// Shorter axes are not worth turning.
const SHORTEST: usize = 8;
/// About the bytes that the turned tiles of all operands take, and the columns of a tile. Long columns are read as long runs, which
/// counts for more than that tiles fit into the L1 cache.
const TILE_BYTES: usize = 1 << 16;
const COLUMNS: usize = 64;

/// Operands that are turned, by number, and how.
type Turned = SmallVec<[(usize, Transpose); 2]>;

/// An elementwise program that is walked in tiles.
pub(super) struct Tiled {
    stores: Stores,
    /// The operands, then the output, then positions. The last axis is that of the columns, the one before it that of the rows.
    walk: Walk,
    bases: Bases,
    /// The bytes of an element of the output.
    stored: i64,
    turned: Turned,
    /// The indices over all other axes.
    outside: usize,
    /// The rows of a tile, its columns, and how many tiles, one below the other, make a part.
    rows: usize,
    columns: usize,
    tiles: usize,
    /// The order of square blocks, by row and column; empty where all parts go along the rows.
    blocks: Vec<[usize; 2]>,
}

impl Tiled {
    /// `None` where no operand is worth turning. The whole output, of which the program may make a part, has so many bytes.
    pub(super) fn of(program: &LoopProgram, bytes: usize, full: Width) -> Option<Tiled> {
        assert!(program.reduced.is_empty(), "reduced axes need a fold");
        let (strided, output) = (strided(program)?, program.loads.len());
        let positions = dense(&program.outer);
        let strides = strided.iter().map(|operand| &operand.strides[..]).chain([&program.store[..], &positions[..]]);
        let mut walk = Walk::new(&program.outer, strides);
        let (axis, turned) = turned_operands(&walk, program)?;
        walk.move_axis(axis, walk.sizes.len() - 2);
        if walk.step(output)? != Step::Dense {
            return None;
        }

        let mut operands = walk.reads(program)?;
        turned.iter().for_each(|&(operand, _)| operands[operand].step = Step::Dense);
        let spec = Spec {
            words: program.words.clone(),
            result: program.result,
            stored: program.stored,
            operands,
            output: Step::Dense,
            kind: Kind::Map { stream: false },
            full: registers_for(full, walk.inner().min(COLUMNS)),
        };
        let widest = turned.iter().map(|&(operand, _)| program.loads[operand].dtype.size()).max().unwrap_or(1);
        let (columns, rows) = (COLUMNS, (TILE_BYTES / (widest * turned.len() * COLUMNS)).max(SHORTEST));
        let elements = PART_WORK / (program.words.len() + 4);
        let tiles = (elements / (rows * columns)).max(1);
        let is_mixed = turned.len() < program.loads.len();
        let (down, _) = walk.row_axis();
        let blocks = if is_mixed { mirrored(down, walk.inner(), rows * tiles) } else { Vec::new() };
        Some(Tiled {
            stores: Stores::new(spec, bytes, &walk, output)?,
            bases: Bases::new(program, &strided),
            stored: program.stored.size() as i64,
            turned,
            outside: walk.sizes[..walk.sizes.len() - 2].iter().product(),
            rows,
            columns,
            tiles,
            blocks,
            walk,
        })
    }

    /// The kernels that serve it.
    pub(super) fn kernels(&self) -> Vec<std::sync::Arc<super::kernel::Kernel>> {
        self.stores.all()
    }

    /// How many parts there are along the columns, and along the rows.
    fn grid(&self) -> (usize, usize) {
        let (rows, _) = self.walk.row_axis();
        (self.walk.inner().div_ceil(self.columns), rows.div_ceil(self.rows * self.tiles))
    }

    pub(super) fn parts(&self) -> usize {
        let (across, down) = self.grid();
        (self.outside * down * across).max(1)
    }

    /// Where a part is along the columns and along the rows, and its index over all other axes.
    fn place(&self, part: usize) -> (usize, usize, usize) {
        let (across, down) = self.grid();
        if self.blocks.is_empty() {
            return (part % across, part / across % down, part / across / down);
        }
        let per_block = across / down;
        let [row, column] = self.blocks[part / per_block % self.blocks.len()];
        (column * per_block + part % per_block, row, part / per_block / self.blocks.len())
    }

    /// # Safety
    /// As for [`codegen::Compiled::run`].
    pub(super) unsafe fn run(&self, part: usize, on: &codegen::Call<'_>) {
        let (across, down) = self.grid();
        if self.outside * across * down == 0 {
            return;
        }
        let (rows, row_stride) = self.walk.row_axis();
        let (column, row, outside) = self.place(part);
        let column = column * self.columns;
        let columns = self.columns.min(self.walk.inner() - column);
        let first = row * self.rows * self.tiles;
        let end = rows.min(first + self.rows * self.tiles);
        let (output, index) = (on.loads.len(), on.loads.len() + 1);
        let mut places = SmallVec::<[i64; 8]>::from_elem(0, on.loads.len() + 2);
        self.walk.outside(outside, &mut places);
        let column_stride = |operand: usize| {
            let strides = &self.walk.strides[operand];
            strides[strides.len() - 1]
        };
        let place = |operand: usize, row: usize| {
            places[operand] + row as i64 * row_stride(operand) + column as i64 * column_stride(operand)
        };
        let to = |row: usize| on.out.addr() as i64 + place(output, row) * self.stored;

        let frame_bytes = self.stores.frame_bytes().next_multiple_of(64);
        let tile_bytes = |operand: usize| self.rows * self.columns * self.bases.size(operand) as usize;
        let all_tiles: usize = self.turned.iter().map(|&(operand, _)| tile_bytes(operand)).sum();
        let mut scratch = Scratch::new(frame_bytes + all_tiles);
        // SAFETY: the frame has the kernel's size and starts on a cache line, and the tiles come after it; the rows and columns told to
        // the kernel and to those that turn are of the program's index space, for which the caller vouches.
        unsafe {
            let mut call = Call::new(self.stores.choose(to(first)), scratch.start());
            call.scalars(on.scalars);
            for k in 0..output {
                call.step(k, row_stride(k) * self.bases.size(k));
            }
            call.step(output, row_stride(output) * self.stored);
            for row in (first..end).step_by(self.rows) {
                let rows = self.rows.min(end - row);
                for k in 0..output {
                    call.pointer(k, self.bases.address(on, k, place(k, row)));
                }
                let mut tile = scratch.start().add(frame_bytes);
                for &(k, turn) in &self.turned {
                    let size = self.bases.size(k);
                    let from = on.loads[k].with_addr(self.bases.address(on, k, place(k, row)) as usize);
                    let step = self.columns * size as usize;
                    turn(from, (column_stride(k) * size) as isize, tile, step, rows, columns);
                    call.pointer(k, tile.addr() as i64);
                    call.step(k, step as i64);
                    tile = tile.add(tile_bytes(k));
                }
                call.pointer(output, to(row));
                let position = self.bases.position(on, place(index, row) as usize);
                call.position(position, row_stride(index) as usize);
                call.run(rows, columns);
            }
        }
        self.stores.finish();
    }
}

/// Every square block of a square, each followed by its mirror image: where a matrix meets its own transpose, what one of the two
/// has read is still in a cache for the other. Empty where there are no such blocks.
fn mirrored(rows: usize, columns: usize, side: usize) -> Vec<[usize; 2]> {
    if rows != columns || !rows.is_multiple_of(side) || !side.is_multiple_of(COLUMNS) {
        return Vec::new();
    }
    let count = rows / side;
    let upper = (0..count).flat_map(|row| (row..count).map(move |column| [row, column]));
    let both = upper.flat_map(|[row, column]| {
        let mirror = (row != column).then_some([column, row]);
        std::iter::once([row, column]).chain(mirror)
    });
    both.collect()
}

/// The axis whose neighbours lie side by side for operands that step along the last, and those operands.
fn turned_operands(walk: &Walk, program: &LoopProgram) -> Option<(usize, Turned)> {
    let last = walk.sizes.len() - 1;
    let steps = |strides: &[i64]| !(0..=1).contains(&strides[last]);
    let dense_along = |strides: &[i64]| {
        (0..last).rev().find(|&axis| steps(strides) && strides[axis] == 1 && walk.sizes[axis] >= SHORTEST)
    };
    let operands = &walk.strides[..program.loads.len()];
    let axis = operands.iter().find_map(|strides| dense_along(strides))?;
    let turned = operands.iter().enumerate().filter(|(_, strides)| steps(strides) && strides[axis] == 1);
    let how = |(operand, _): (usize, _)| (operand, transpose::of_size(program.loads[operand].dtype.size()));
    (walk.sizes[last] >= SHORTEST).then(|| (axis, turned.map(how).collect()))
}
