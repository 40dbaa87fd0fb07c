//! Programs without a fold: one value for every output.

use super::asm::Width;
use super::build::{Kind, MOST_VECTORS, Read, Spec, lanes_of};
use super::call::Call;
use super::elements::Step;
use super::parts::part_work;
use super::repeat::OneRun;
use super::staged::{Stages, Written};
use super::stream::{LARGE, Stores};
use super::table::tables;
use super::walk::{Bases, Scratch, Walk, operands};
use super::{ZEN_5, family_of_amd};
use crate::codegen;
use crate::lower::program::LoopProgram;
use crate::ops::vector::Fault;
use smallvec::SmallVec;

/// Enough parts for any number of threads; more would only take their time to begin.
const MANY_PARTS: usize = 256;
/// Of fewer parts than this, one thread might have more than its share.
const FEW_PARTS: usize = 16;
/// A part's columns are a multiple of this, so that parts begin on cache lines.
const COLUMNS: usize = 64;
/// Rows for which the widest registers pay whatever is left over at their end.
const LONG: usize = 64;
/// The machine does not look beyond pages by itself; so many bytes ahead are about what arrives in time. Machines with registers of 256 bits
/// look ahead well enough within a page: more than is needed at its end only disturbs them.
const AHEAD: i32 = 4096;
const NEAR_AHEAD: i32 = 1024;
/// Zen 5's first cache has room for more, of one operand: maps of one take a tenth less time, of several no less.
const ZEN_5_AHEAD: i32 = 16384;
/// Where an operand is read across its rows, so many columns at a time keep its cache lines at hand.
const TILE: usize = 16;

/// The widest registers that pay, of those that the machine has, for rows of so many elements. Those of 256 bits are better only where they
/// leave nothing over at the end of a short row, and wider ones do.
pub(super) fn registers_for(full: Width, columns: usize) -> Width {
    let is_even = columns % 16 == 8 || columns == 4;
    if columns < LONG && is_even { Width::Y } else { full }
}

/// Says how far ahead operands are fetched: where the next run will read or, for large outputs, where this one soon will. What is
/// read over and over is at hand anyway.
fn fetch_ahead(operands: &mut [Read], walk: &Walk, around: codegen::Around<'_>, full: Width) {
    let is_new = |k: usize| walk.sizes.iter().zip(&walk.strides[k]).all(|(&size, &stride)| size == 1 || stride != 0);
    let is_one = (0..operands.len()).filter(|&k| is_new(k)).count() == 1;
    let ahead = match full {
        Width::Z if is_one && family_of_amd().is_some_and(|family| family >= ZEN_5) => ZEN_5_AHEAD,
        Width::Z => AHEAD,
        _ => NEAR_AHEAD,
    };
    for (k, read) in operands.iter_mut().enumerate() {
        read.ahead = match around.next.get(k) {
            Some(&next) => i32::try_from(next).unwrap_or(0),
            None if is_new(k) && around.bytes >= LARGE => ahead,
            None => 0,
        };
    }
}

/// Whether rows are so short that the interpreter, whose blocks reach over rows, is faster.
fn too_short(walk: &Walk, words: usize) -> bool {
    match walk.sizes[..] {
        [.., rows, columns] if walk.sizes.len() > 2 && rows * columns < 8 => true,
        [.., _, columns] => columns < 4 && words > 16,
        _ => false,
    }
}

/// The rows of a part, at most so many, for parts that are as large as each other; a few are an even number, for threads to share.
fn even_parts(rows: usize, most: usize) -> usize {
    let parts = match rows.div_ceil(most) {
        0 | 1 => 1,
        few if few < FEW_PARTS => few.next_multiple_of(2),
        parts => parts,
    };
    rows.div_ceil(parts).max(1)
}

/// An elementwise program.
pub(super) struct Map {
    stores: Stores,
    /// The operands, then the output.
    walk: Walk,
    bases: Bases,
    stages: Stages,
    /// The bytes of an element of the output.
    stored: i64,
    rows: usize,
    /// The rows and the columns of a part.
    part_rows: usize,
    part_columns: usize,
    /// The columns of a tile.
    tile: usize,
}

impl Map {
    /// `None` where it is not served. It may be a part of something larger.
    pub(super) fn of(program: &LoopProgram, around: codegen::Around<'_>, full: Width) -> Option<Map> {
        assert!(program.reduced.is_empty(), "reduced axes need a fold");
        let written = Written::new(program);
        let program = &written.program;
        let (mut strided, mut staged) = operands(&written, program.outer.len());
        // An index is not known before the program is run.
        let tables = if written.gathers() { Vec::new() } else { tables(program, &mut strided, &mut staged) };
        let stages = Stages::new(&written, &strided, &staged, tables, program.outer.len())?;
        let strides = strided.iter().map(|operand| &operand.strides[..]).chain([&program.store[..]]);
        let walk = Walk::new(&program.outer, strides);
        if too_short(&walk, program.words.len()) {
            return None;
        }
        let mut operands = walk.reads(program)?;
        fetch_ahead(&mut operands, &walk, around, full);
        let output = walk.step(program.loads.len())?;
        let crosses = operands.iter().zip(&walk.strides).any(|(read, strides)| {
            let outside = strides.len().checked_sub(2).map_or(0, |axis| strides[axis]);
            matches!(read.step, Step::Strided(stride) if outside != 0 && outside.abs() < stride.abs())
        });
        // One element takes no more.
        let full = if output == Step::Uniform { Width::Y } else { registers_for(full, walk.inner()) };
        // Rows that are too short for so many vectors at once are made two by two.
        let several = usize::from(MOST_VECTORS) * lanes_of(full, program.words.iter().copied());
        let most = if walk.inner() < several { 2 } else { MOST_VECTORS };
        let spec = Spec {
            words: program.words.clone(),
            result: program.result,
            stored: program.stored,
            operands,
            output,
            kind: Kind::Map { stream: false, most },
            full,
        };
        let columns = walk.inner();
        let rows: usize = walk.sizes[..walk.sizes.len() - 1].iter().product();
        let steps = program.words.len() + 4;
        let elements = (part_work(rows * columns, steps) / steps).max(rows * columns / MANY_PARTS).max(COLUMNS);
        let part_columns = columns.min(even_parts(columns, elements).next_multiple_of(COLUMNS)).max(1);
        let part_rows = if part_columns < columns { 1 } else { even_parts(rows, (elements / part_columns).max(1)) };
        Some(Map {
            bases: Bases::new(program, &strided),
            stored: program.stored.size() as i64,
            tile: if crosses {
                TILE
            } else if stages.is_empty() {
                part_columns
            } else {
                part_columns.min(stages.most())
            },
            stages,
            stores: Stores::new(spec, around, &walk, program.loads.len())?,
            walk,
            rows,
            part_rows,
            part_columns,
        })
    }

    /// The kernels that serve it.
    pub(super) fn kernels(&self) -> Vec<std::sync::Arc<super::kernel::Kernel>> {
        self.stores.all()
    }

    /// See [`super::Jit::one_run`].
    pub(super) fn one_run(&self) -> Option<OneRun<'_>> {
        let (length, rows) = (self.walk.inner(), self.rows);
        let is_one_run =
            self.parts() == 1 && self.stages.is_empty() && self.tile >= length && self.walk.sizes.len() <= 2;
        if !is_one_run || rows * length == 0 {
            return None;
        }
        let (kernel, streams) = self.stores.preferred();
        let output_step = self.walk.row_stride(self.bases.len()) * self.stored;
        let (bases, walk) = (&self.bases, &self.walk);
        Some(OneRun { kernel, bases, walk, rows, length, output_step, position_step: length, streams })
    }

    /// See [`codegen::Compiled::run_rows`].
    ///
    /// # Safety
    /// As there.
    pub(super) unsafe fn run_rows(&self, [rows, length]: [usize; 2], steps: &[i64], on: &codegen::Call<'_>) {
        assert!(self.stages.is_empty() && self.walk.sizes.len() == 1, "rows of one axis, read at strides");
        let mut scratch = Scratch::new(self.stores.frame_bytes());
        // SAFETY: the frame has the kernel's size and starts on a cache line; the caller vouches for the elements of all rows.
        unsafe {
            let mut call = Call::new(self.stores.choose(on.out.addr() as i64), scratch.start());
            call.scalars(on.scalars);
            let operands = self.bases.len();
            (0..operands).for_each(|k| call.pointer(k, self.bases.address(on, k, 0)));
            call.pointer(operands, on.out.addr() as i64);
            steps.iter().enumerate().for_each(|(k, &step)| call.step(k, step));
            call.position(self.bases.position(on, 0), length);
            call.run(rows, length);
        }
        self.stores.finish();
    }

    /// How many parts there are along a row.
    fn across(&self) -> usize {
        self.walk.inner().div_ceil(self.part_columns)
    }

    pub(super) fn parts(&self) -> usize {
        (self.rows.div_ceil(self.part_rows) * self.across()).max(1)
    }

    /// # Safety
    /// As for [`codegen::Compiled::run`].
    pub(super) unsafe fn run(&self, part: usize, on: &codegen::Call<'_>) -> Result<(), Fault> {
        let columns = self.walk.inner();
        if columns == 0 || self.rows == 0 {
            return Ok(());
        }
        let (group, column) = (part / self.across(), part % self.across() * self.part_columns);
        let end = self.rows.min((group + 1) * self.part_rows);
        let end_column = columns.min(column + self.part_columns);
        let frame_bytes = self.stores.frame_bytes().next_multiple_of(64);
        let mut scratch = Scratch::new(frame_bytes + self.stages.bytes());
        let operands = self.bases.len();
        let mut positions = SmallVec::<[i64; 17]>::from_elem(0, operands + 1);
        let (row_axis, row_stride) = (self.walk.row_axis(), |k| self.walk.row_stride(k));
        let mut row = group * self.part_rows;
        // SAFETY: the frame has the kernel's size and starts on a cache line; the rows and columns told to the kernel are of the
        // program's index space, for which the caller vouches.
        unsafe {
            let (frame, room) = (scratch.start(), scratch.start().add(frame_bytes));
            self.walk.locate(row, &mut positions);
            let begin = positions[operands] + column as i64;
            let kernel = self.stores.choose(on.out.addr() as i64 + begin * self.stored);
            let mut call = Call::new(kernel, frame);
            call.scalars(on.scalars);
            for k in 0..operands {
                call.step(k, row_stride(k) * self.bases.size(k));
            }
            call.step(operands, row_stride(operands) * self.stored);
            while row < end {
                let here = row_axis - self.walk.locate(row, &mut positions);
                let rows = here.min(end - row).min(self.stages.rows(self.tile.min(end_column - column)));
                let mut first = column;
                while first < end_column {
                    let length = self.tile.min(end_column - first);
                    for (k, strides) in self.walk.strides[..operands].iter().enumerate() {
                        let position = positions[k] + first as i64 * strides[strides.len() - 1];
                        call.pointer(k, self.bases.address(on, k, position));
                    }
                    let strides = &self.walk.strides[operands];
                    let output = positions[operands] + first as i64 * strides[strides.len() - 1];
                    call.pointer(operands, on.out.addr() as i64 + output * self.stored);
                    let element = row * columns + first;
                    call.position(self.bases.position(on, element), columns);
                    self.stages.bring_rows(on, &mut call, room, [element, columns], [rows, length])?;
                    call.run(rows, length);
                    first += length;
                }
                row += rows;
            }
        }
        self.stores.finish();
        Ok(())
    }
}
