//! Folds across: lanes walk the outputs, and the elements of each are folded one step after the other.

use super::asm::Width;
use super::build::{Kind, Read, Spec, lanes_of, most_kept};
use super::cache;
use super::call::Call;
use super::combine::Combine;
use super::elements::Step;
use super::fold::{ACROSS_BYTES, BLOCK, Fold, is_quick};
use super::kernel::Kernel;
use super::walk::{Scratch, Walk};
use super::{ZEN_5, family_of_amd};
use crate::codegen;
use crate::codegen::block::{Cascade, Part, Split, Value, fill};
use crate::codegen::order::ACROSS_LEAF;
use crate::lower::program::LoopProgram;
use crate::ops::vector::Fault;
use crate::ops::vector::Lane;
use smallvec::SmallVec;
use std::ops::Range;
use std::sync::Arc;

/// Steps over rows shorter than this are taken one by one where operands take more than so many bytes: memory is fast only where it is
/// read in its own order.
const SHORT_BYTES: usize = 1 << 12;
const FAR_BYTES: usize = 1 << 21;
/// The most bytes of a row whose columns are folded in several groups: the second group finds its leaves in a cache near by.
const GROUPED_BYTES: usize = 1 << 9;
/// Shorter runs of outputs are the interpreter's.
const SHORTEST_RUN: usize = 4;
/// Programs of more words are too long to be written once for every vector of a row.
const KEPT_WORDS: usize = 8;
/// About how many bytes ahead they fetch.
const KEPT_AHEAD: usize = 1 << 12;
/// Kernels that keep accumulators fold up to `2^MOST_LEVEL` leaves in one run: the way to the next one costs as much as some hundred elements.
const MOST_LEVEL: u32 = 4;

/// The kernels of a fold across, and how they are used.
pub(super) struct Across {
    /// Takes several steps at once; or takes some columns of each run and keeps their accumulators in registers.
    most: Arc<Kernel>,
    steps: usize,
    columns: Option<Columns>,
    /// For the steps, or the columns, that are left.
    rest: Option<Arc<Kernel>>,
    reads: Vec<Read>,
}

/// The first columns of a run, in groups of as many as have their accumulators in registers at a time.
#[derive(Clone, Copy)]
struct Columns {
    group: usize,
    groups: usize,
}

impl Columns {
    fn all(self) -> usize {
        self.group * self.groups
    }
}

impl Across {
    /// The kernels of a program that is walked so over outputs and elements. Operands are `plain` if none is brought in before.
    pub(super) fn new(
        program: &LoopProgram,
        combine: Combine,
        split: &Split,
        [outputs, reduced]: [&Walk; 2],
        plain: bool,
        spec: impl Fn(Vec<Read>, Kind) -> Spec,
    ) -> Option<Across> {
        let run = outputs.inner();
        if run < SHORTEST_RUN || combine.lane() == Lane::Mask {
            return None;
        }
        let mut reads = outputs.reads(program)?;
        for (read, strides) in reads.iter_mut().zip(&reduced.strides) {
            read.stepped = strides[strides.len() - 1] != 0;
        }
        let kernel = |reads, steps, kept| cache::kernel(spec(reads, Kind::Across { combine, steps, kept }));
        let size = program.loads.iter().map(|load| load.dtype.size()).max().unwrap_or(1);
        let is_far = size * split.outputs * split.elements > FAR_BYTES;
        let full = spec(Vec::new(), Kind::Across { combine, steps: 1, kept: 0 }).full;
        if plain && program.words.len() <= KEPT_WORDS {
            let lanes = lanes_of(full, program.words.iter().copied());
            let (vectors, groups) = (run / lanes, (run / lanes).div_ceil(most_kept(full)));
            let columns = Columns { group: vectors / groups.max(1) * lanes, groups };
            let mut ahead = reads.clone();
            // Zen 5 follows them by itself, and takes a tenth longer where it is told to.
            let asks = full == Width::Z && family_of_amd().is_none_or(|family| family < ZEN_5);
            if is_far && asks && is_quick(program, combine.fold) {
                let rows = (KEPT_AHEAD / (size * run).max(1)).max(1);
                fetch_next_steps(&mut ahead, reduced, rows);
            }
            if (groups == 1 || groups > 1 && size * run <= GROUPED_BYTES)
                && let Some(most) = kernel(ahead, 1, columns.group as u16)
            {
                let rest = if columns.all() < run { Some(kernel(reads.clone(), 1, 0)?) } else { None };
                return Some(Across { most, steps: 1, columns: Some(columns), rest, reads });
            }
        }
        let is_short = size * run < SHORT_BYTES;
        let steps = if is_far && is_short { 1 } else { steps(&reads, program.words.len()) };
        let mut ahead = reads.clone();
        // AMD's machines (Zen 3 and 5) follow eight rows by themselves, and are a quarter slower where they are told to.
        if is_far && !is_short && full == Width::Z && family_of_amd().is_none() {
            fetch_next_steps(&mut ahead, reduced, usize::from(steps));
        }
        let (most, rest) = (kernel(ahead, steps, 0)?, kernel(reads.clone(), 1, 0)?);
        Some(Across { most, steps: usize::from(steps), columns: None, rest: Some(rest), reads })
    }

    pub(super) fn kernels(&self) -> Vec<Arc<Kernel>> {
        [Some(&self.most), self.rest.as_ref()].into_iter().flatten().cloned().collect()
    }
}

impl Fold {
    /// A block of outputs at a time, some steps of all of them after the other.
    ///
    /// # Safety
    /// As for [`codegen::Compiled::run`], for the given part.
    pub(super) unsafe fn across(&self, across: &Across, part: Part, on: &codegen::Call<'_>) -> Result<(), Fault> {
        // What is brought in for all steps that are taken at once has its own limit.
        let block = (ACROSS_BYTES / self.split.width).min(self.stages.rows(across.steps));
        let run = self.walk.inner();
        let slot = (block.min(run) * self.split.width).next_multiple_of(64);
        let rest = across.rest.as_ref().unwrap_or(&across.most);
        let frame_bytes = [&across.most, rest].map(|kernel| kernel.frame_bytes.next_multiple_of(64));
        let cascade_bytes = Cascade::slots(part.leaves.len()) * slot;
        let group_bytes = if across.columns.is_some() { slot << MOST_LEVEL } else { 0 };
        let own_bytes = frame_bytes[0] + frame_bytes[1] + cascade_bytes + group_bytes;
        let mut scratch = Scratch::new(own_bytes + self.stages.bytes());
        let mut start = part.outputs.start;
        // SAFETY: outputs and steps are of the program's index space, for which the caller vouches; the scratch holds two
        // frames and the cascade.
        unsafe {
            let frames = [scratch.start(), scratch.start().add(frame_bytes[0])];
            let mut cascade = Cascade::new(frames[1].add(frame_bytes[1]), slot, part.leaves.len());
            let group = frames[1].add(frame_bytes[1] + cascade_bytes);
            let room = group.add(group_bytes);
            let steps = |kernel, frame, steps, leaf_bytes| {
                let mut steps =
                    Steps { call: Call::new(kernel, frame), steps, reads: &across.reads, fold: self, on, room };
                steps.begin(leaf_bytes);
                steps
            };
            let mut calls = Calls {
                most: steps(
                    &across.most,
                    frames[0],
                    across.steps,
                    across.columns.map_or(0, |_| run * self.split.width),
                ),
                columns: across.columns,
                rest: steps(rest, frames[1], 1, 0),
            };
            while start < part.outputs.end {
                let n = block.min(part.outputs.end - start).min(run - start % run);
                let mut leaf = part.leaves.start;
                while leaf < part.leaves.end {
                    let level = self.level(across, &part, leaf);
                    let leaves = 1 << level;
                    let accumulators = if level == 0 { cascade.hand() } else { group };
                    fill(n * leaves, accumulators, self.split.identity(), self.split.width);
                    let first = leaf * ACROSS_LEAF;
                    let steps = first..self.split.elements.min(first + leaves * ACROSS_LEAF);
                    self.fold_steps(&mut calls, steps, start, n, accumulators)?;
                    if level > 0 {
                        self.combine(n, level, group);
                        cascade.hand().copy_from_nonoverlapping(group, n * self.split.width);
                    }
                    cascade.push_group(&self.split.folder, n, level);
                    leaf += leaves;
                }
                let total = cascade.total(&self.split.folder, n);
                for first in (0..n).step_by(BLOCK) {
                    let lanes = Value { lanes: total.add(first * self.split.width), uniform: false };
                    self.split.write(lanes, start + first, BLOCK.min(n - first), part.split, on.out);
                }
                start += n;
            }
        }
        Ok(())
    }

    /// How many leaves, as a power of two, are folded by one run of a kernel that keeps accumulators: they are a whole subtree.
    fn level(&self, across: &Across, part: &Part, leaf: usize) -> u32 {
        let mut positions = SmallVec::<[i64; 8]>::from_elem(0, self.walk.strides.len());
        let whole = match across.columns {
            Some(_) => (self.reduced.inner() - self.reduced.go_to(leaf * ACROSS_LEAF, &mut positions)) / ACROSS_LEAF,
            None => 0,
        };
        let leaves = whole.min(part.leaves.end - leaf);
        leaves.checked_ilog2().unwrap_or(0).min((leaf - part.leaves.start).trailing_zeros()).min(MOST_LEVEL)
    }

    /// Combines `2^level` leaves of `n` lanes, which follow each other, in pairs. The first is then everything.
    ///
    /// # Safety
    /// There are so many lanes.
    unsafe fn combine(&self, n: usize, level: u32, leaves: *mut u8) {
        let leaf = |k: usize| leaves.wrapping_add(k * n * self.split.width);
        for k in 0..level {
            for first in (0..1 << level).step_by(2 << k) {
                // SAFETY: the caller's promise; leaves do not overlap.
                unsafe { (self.split.folder.block)(n, leaf(first), leaf(first + (1 << k))) };
            }
        }
    }

    /// Folds some steps of the `n` outputs from `start` into their accumulators, of which there are more than `n` if the steps are of
    /// several leaves.
    ///
    /// # Safety
    /// As for [`codegen::Compiled::run`]; the accumulators have `n` lanes for every leaf.
    unsafe fn fold_steps(
        &self,
        calls: &mut Calls<'_>,
        mut steps: Range<usize>,
        start: usize,
        n: usize,
        accumulators: *mut u8,
    ) -> Result<(), Fault> {
        let mut positions = SmallVec::<[i64; 8]>::from_elem(0, self.walk.strides.len());
        while !steps.is_empty() {
            // As far as the innermost reduced axis goes.
            let go_to = |output: usize, step: usize, positions: &mut [i64]| {
                positions.fill(0);
                self.walk.go_to(output, positions);
                self.reduced.inner() - self.reduced.go_to(step, positions)
            };
            let together = go_to(start, steps.start, &mut positions).min(steps.len());
            // SAFETY: the caller's promise.
            unsafe {
                if let Some(columns) = calls.columns {
                    let Columns { group, groups } = columns;
                    let columns = columns.all();
                    debug_assert!(self.stages.is_empty() && columns <= n, "whole runs of operands as they are");
                    let (leaves, rows) =
                        if together > ACROSS_LEAF { (together / ACROSS_LEAF, ACROSS_LEAF) } else { (1, together) };
                    for column in (0..groups).map(|number| number * group) {
                        go_to(start + column, steps.start, &mut positions);
                        calls.most.run(&positions, rows, leaves, accumulators.add(column * self.split.width));
                    }
                    for leaf in 0..if columns < n { leaves } else { 0 } {
                        go_to(start + columns, steps.start + leaf * ACROSS_LEAF, &mut positions);
                        let accumulators = accumulators.add((leaf * n + columns) * self.split.width);
                        calls.rest.run(&positions, rows, n - columns, accumulators);
                    }
                    steps.start += together;
                    continue;
                }
                // First several at once, then one by one.
                let call = if together < calls.most.steps { &mut calls.rest } else { &mut calls.most };
                let rows = if self.stages.is_empty() { together / call.steps } else { 1 };
                self.stages.bring_steps(call.on, call.room, [start, n], steps.start..steps.start + call.steps)?;
                call.run(&positions, rows, n, accumulators);
                steps.start += rows * call.steps;
            }
        }
        Ok(())
    }
}

/// The kernels of a fold across with their frames.
struct Calls<'f> {
    most: Steps<'f>,
    columns: Option<Columns>,
    rest: Steps<'f>,
}

/// Lets operands that lie far away be fetched while the steps before are folded: the machine looks along rows, but not to the next ones.
fn fetch_next_steps(reads: &mut [Read], reduced: &Walk, steps: usize) {
    for (read, strides) in reads.iter_mut().zip(&reduced.strides) {
        if read.stepped && read.step == Step::Dense {
            let bytes = strides[strides.len() - 1] * steps as i64 * read.dtype.size() as i64;
            read.ahead = i32::try_from(bytes).unwrap_or(0);
        }
    }
}

/// How many steps of a fold across are taken at once: as many as there are registers to point to them.
fn steps(reads: &[Read], words: usize) -> u8 {
    let moving = reads.iter().filter(|read| read.stepped && read.step != Step::Uniform).count();
    let pointers = match moving {
        0 | 1 => 8,
        2 => 4,
        3..=5 => 2,
        _ => 1,
    };
    let most = if words <= 8 {
        8
    } else if words <= 40 {
        4
    } else {
        2
    };
    pointers.min(most)
}

/// A kernel of folds across.
struct Steps<'f> {
    call: Call<'f>,
    steps: usize,
    reads: &'f [Read],
    fold: &'f Fold,
    on: &'f codegen::Call<'f>,
    /// Where staged operands are.
    room: *mut u8,
}

impl Steps<'_> {
    /// The bytes between two steps of an operand.
    fn step_bytes(&self, operand: usize) -> i64 {
        let strides = &self.fold.reduced.strides[operand];
        strides[strides.len() - 1] * self.fold.bases.size(operand)
    }

    /// Tells the kernel what stays the same; the accumulators of leaves are so many bytes apart.
    fn begin(&mut self, leaf_bytes: usize) {
        self.call.scalars(self.on.scalars);
        let mut pointer = 0;
        for (operand, read) in self.reads.iter().enumerate() {
            let bytes = self.step_bytes(operand) * self.steps as i64;
            for _ in 0..if read.stepped { self.steps } else { 1 } {
                self.call.step(pointer, bytes);
                pointer += 1;
            }
        }
        self.call.step(pointer, leaf_bytes as i64);
        self.call.position(0, 0);
    }

    /// # Safety
    /// As for [`Call::run`]: so many steps from these positions on can be read, and the accumulators have `n` lanes.
    unsafe fn run(&mut self, positions: &[i64], rows: usize, n: usize, accumulators: *mut u8) {
        let mut pointer = 0;
        for (operand, read) in self.reads.iter().enumerate() {
            let (mut address, step_bytes) = match self.fold.stages.scratch(self.room, operand) {
                Some(scratch) => (scratch.addr() as i64, n as i64 * self.fold.bases.size(operand)),
                None => (self.fold.bases.address(self.on, operand, positions[operand]), self.step_bytes(operand)),
            };
            for _ in 0..if read.stepped { self.steps } else { 1 } {
                self.call.pointer(pointer, address);
                address += step_bytes;
                pointer += 1;
            }
        }
        self.call.pointer(pointer, accumulators.addr() as i64);
        // SAFETY: the caller's promise.
        unsafe { self.call.run(rows, n) }
    }
}
