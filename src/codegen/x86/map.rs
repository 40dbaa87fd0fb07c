//! Programs without a fold: one value for every output.

use super::asm::Width;
use super::build::{Kind, MOST_VECTORS, Spec, lanes_of};
use super::call::Call;
use super::elements::Step;
use super::longer::Longer;
use super::parts::part_work;
use super::repeat::OneRun;
use super::staged::{Stages, Written};
use super::stream::{self, LARGE, Stores};
use super::table::tables;
use super::trial::Trial;
use super::walk::{Bases, Scratch, Strided, Walk, operands};
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

/// How far ahead each operand is fetched: where the next run will read or, for large outputs, where this one soon will; there, the second number
/// is for stores past the caches. Machines with registers of 512 bits see best for themselves what ordinary ones push out. What is read over and
/// over is at hand anyway.
fn ahead(walk: &Walk, longer: Option<&Longer>, around: codegen::Around<'_>, full: Width) -> Vec<[i32; 2]> {
    let operands = walk.strides.len() - 1;
    let is_new = |k: usize| walk.sizes.iter().zip(&walk.strides[k]).all(|(&size, &stride)| size == 1 || stride != 0);
    let is_one = (0..operands).filter(|&k| is_new(k)).count() == 1;
    let ahead = match full {
        Width::Z if is_one && family_of_amd().is_some_and(|family| family >= ZEN_5) => [0, ZEN_5_AHEAD],
        Width::Z => [0, AHEAD],
        _ => [NEAR_AHEAD; 2],
    };
    let of = |k: usize| match around.next.get(k) {
        _ if longer.is_some_and(|longer| longer.copies(k)) => [0; 2],
        Some(&next) => [i32::try_from(next).unwrap_or(0); 2],
        None if is_new(k) && around.bytes >= LARGE => ahead,
        None => [0; 2],
    };
    (0..operands).map(of).collect()
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
    /// What is done to short rows.
    longer: Option<Longer>,
    /// Which parts are left in the caches.
    pub(super) trial: Option<Trial>,
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
        let walk_of = |strided: &[Strided]| {
            let strides = strided.iter().map(|operand| &operand.strides[..]).chain([&program.store[..]]);
            Walk::new(&program.outer, strides)
        };
        let mut walk = walk_of(&strided);
        let longer = if staged.is_empty() { Longer::of(program, &mut walk) } else { None };
        // An index is not known before the program is run.
        let tables = match &longer {
            None if !written.gathers() => tables(program, &mut strided, &mut staged),
            _ => Vec::new(),
        };
        if longer.is_none() {
            walk = walk_of(&strided);
        }
        let stages = Stages::new(&written, &strided, &staged, tables, program.outer.len())?;
        if too_short(&walk, program.words.len()) {
            return None;
        }
        let mut operands = walk.reads(program)?;
        let ahead = ahead(&walk, longer.as_ref(), around, full);
        operands.iter_mut().zip(&ahead).for_each(|(read, ahead)| read.ahead = ahead[0]);
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
        let part_columns = match longer {
            Some(_) => columns,
            None => columns.min(even_parts(columns, elements).next_multiple_of(COLUMNS)).max(1),
        };
        let part_rows = if part_columns < columns { 1 } else { even_parts(rows, (elements / part_columns).max(1)) };
        let ahead: SmallVec<[i32; 8]> = ahead.iter().map(|ahead| ahead[1]).collect();
        let stores = Stores::new(spec, &ahead, around, &walk, program.loads.len())?;
        // Whatever may fail would leave parts that end unseen.
        let trial = if stages.is_empty() { stores.trial(around.bytes) } else { None };
        Some(Map {
            bases: Bases::new(program, strided),
            stored: program.stored.size() as i64,
            tile: if crosses {
                TILE
            } else if stages.is_empty() {
                part_columns
            } else {
                part_columns.min(stages.most())
            },
            stages,
            stores,
            trial,
            longer,
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
        let is_one_run = self.parts() == 1
            && self.stages.is_empty()
            && self.longer.is_none()
            && self.tile >= length
            && self.walk.sizes.len() <= 2;
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
        let turn = self.trial.as_ref().map(Trial::begin);
        let (group, column) = (part / self.across(), part % self.across() * self.part_columns);
        let end = self.rows.min((group + 1) * self.part_rows);
        let end_column = columns.min(column + self.part_columns);
        let frame_bytes = self.stores.frame_bytes().next_multiple_of(64);
        let mut scratch =
            Scratch::new(frame_bytes + self.stages.bytes() + self.longer.as_ref().map_or(0, Longer::bytes));
        let operands = self.bases.len();
        let mut positions = SmallVec::<[i64; 17]>::from_elem(0, operands + 1);
        let (row_axis, row_stride) = (self.walk.row_axis(), |k| self.walk.row_stride(k));
        let whole = self.longer.as_ref().map_or(row_axis * columns, |longer| longer.elements(row_axis));
        let mut row = group * self.part_rows;
        let mut written = None;
        // SAFETY: the frame has the kernel's size and starts on a cache line; the rows and columns told to the kernel are of the
        // program's index space, for which the caller vouches.
        unsafe {
            let (frame, room) = (scratch.start(), scratch.start().add(frame_bytes));
            self.walk.locate(row, &mut positions);
            let begin = positions[operands] + column as i64;
            let kernel = match &turn {
                Some(turn) if stream::is_kept(turn.way, part) => self.stores.ordinary(),
                _ => self.stores.choose(on.out.addr() as i64 + begin * self.stored),
            };
            let mut call = Call::new(kernel, frame);
            call.scalars(on.scalars);
            for k in 0..operands {
                call.step(k, row_stride(k) * self.bases.size(k));
            }
            call.step(operands, row_stride(operands) * self.stored);
            while row < end {
                let index = self.walk.locate(row, &mut positions);
                let mut rows =
                    (row_axis - index).min(end - row).min(self.stages.rows(self.tile.min(end_column - column)));
                let mut to = end_column;
                if let Some(longer) = &self.longer {
                    [rows, to] = longer.next(rows, index + rows == row_axis);
                    if written.replace(row / row_axis) != Some(row / row_axis) {
                        longer.write(&self.bases, on, &positions, room);
                    }
                }
                let mut first = column;
                while first < to {
                    let length = self.tile.min(to - first);
                    for (k, strides) in self.walk.strides[..operands].iter().enumerate() {
                        let position = positions[k] + first as i64 * strides[strides.len() - 1];
                        call.pointer(k, self.bases.address(on, k, position));
                    }
                    let strides = &self.walk.strides[operands];
                    let output = positions[operands] + first as i64 * strides[strides.len() - 1];
                    call.pointer(operands, on.out.addr() as i64 + output * self.stored);
                    let element = row / row_axis * whole + index * columns + first;
                    call.position(self.bases.position(on, element), columns);
                    if let Some(longer) = &self.longer {
                        longer.tell(&mut call, room);
                    }
                    self.stages.bring_rows(on, &mut call, room, [element, columns], [rows, length])?;
                    call.run(rows, length);
                    first += length;
                }
                row += rows;
            }
        }
        self.stores.finish();
        if let (Some(trial), Some(turn)) = (&self.trial, &turn) {
            trial.end(turn, self.parts());
        }
        Ok(())
    }
}
