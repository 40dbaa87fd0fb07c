//! Programs with a fold, in either [`Order`]: kernels make leaves, which are then combined as everywhere.

use super::asm::Width;
use super::build::{Kind, Read, Spec};
use super::cache;
use super::call::Call;
use super::combine::Combine;
use super::elements::Step;
use super::kernel::Kernel;
use super::map::registers_for;
use super::repeat::OneRun;
use super::staged::{Stages, Written};
use super::walk::{Bases, Scratch, Walk, operands};
use crate::codegen;
use crate::codegen::block::{Cascade, Part, Split, Value, fill, identity, lane_bits};
use crate::codegen::order::{ACROSS_LEAF, ALONG_LEAF, Order};
use crate::lower::program::{self, LoopProgram};
use crate::ops::vector::Lane;
use smallvec::SmallVec;
use std::ops::Range;
use std::sync::Arc;

/// The work of one part, in elements of one word.
const PART_WORK: usize = 1 << 18;
/// The results that are kept in scratch before they are stored or combined.
const BLOCK: usize = 512;
/// The accumulators of a block of outputs across: long rows are read as long runs, and these stay in the L1 cache.
const ACROSS_BYTES: usize = 1 << 14;
/// Steps over rows shorter than this are taken one by one where operands take more than so many bytes: memory is fast only where it is
/// read in its own order. Longer rows are fetched before.
const SHORT_BYTES: usize = 1 << 12;
const FAR_BYTES: usize = 1 << 21;
/// Shorter rows are the interpreter's, which folds several at a time, unless they are few.
/// (A row shorter than the accumulators leaves some of them at the identity, which changes no bit of the others.)
const SHORTEST_ROW: usize = 8;
const FEW_ROWS: usize = 16;
/// So are shorter runs of outputs.
const SHORTEST_RUN: usize = 4;
/// Rows that are folded with fewer words are read as fast in registers of 256 bits, of which twice as many are in flight.
const MANY_WORDS: usize = 12;

/// A program that folds.
pub(super) struct Fold {
    split: Split,
    /// The outputs' axes; then, for folds along, the one axis of the elements. The operands, then the output.
    walk: Walk,
    /// The elements' axes.
    reduced: Walk,
    bases: Bases,
    stages: Stages,
    /// The bytes of an element of the output.
    stored: i64,
    kernels: Kernels,
}

enum Kernels {
    Along(Arc<Kernel>),
    Across {
        many: Arc<Kernel>,
        /// The steps that it takes at once.
        steps: usize,
        one: Arc<Kernel>,
        reads: Vec<Read>,
    },
}

impl Fold {
    pub(super) fn of(program: &LoopProgram, fold: program::Fold, full: Width) -> Option<Fold> {
        let kept = program.outer.len();
        let walked = match Order::of(program) {
            Order::Along => kept + program.reduced.len(),
            Order::Across => kept,
        };
        // Order and parts are those of the program as it is.
        let (given, written) = (program, Written::new(program));
        let program = &written.program;
        let (strided, staged) = operands(&written, walked);
        let still = vec![0; program.reduced.len()];
        let over_outputs = strided.iter().map(|operand| &operand.strides[..kept]).chain([&program.store[..]]);
        let outputs = Walk::new(&program.outer, over_outputs);
        let over_elements = strided.iter().map(|operand| &operand.strides[kept..]).chain([&still[..]]);
        let reduced = Walk::new(&program.reduced, over_elements);
        let combine = Combine { fold, stored: program.stored };
        let block = outputs.inner().clamp(BLOCK, ACROSS_BYTES / combine.accumulator_size());
        let split = Split::of(given, fold, true, program.words.len() + 2, PART_WORK, block);
        let spec = |operands, kind, full| Spec {
            words: program.words.clone(),
            result: program.result,
            stored: program.stored,
            operands,
            output: Step::Dense,
            kind,
            full,
        };
        let stages = Stages::new(&written, &staged, Vec::new(), walked)?;
        let (walk, kernels) = match split.order {
            Order::Along => {
                if reduced.sizes.len() > 1 || split.elements < SHORTEST_ROW && split.outputs > FEW_ROWS {
                    return None;
                }
                let walk = outputs.then(&reduced);
                let identity = lane_bits(identity(fold, program.stored));
                let full = if program.words.len() < MANY_WORDS { Width::Y } else { full };
                let spec = spec(walk.reads(program)?, Kind::Along { combine, identity }, full);
                (walk, Kernels::Along(cache::kernel(spec)?))
            }
            Order::Across => {
                if outputs.inner() < SHORTEST_RUN || combine.lane() == Lane::Mask {
                    return None;
                }
                let mut reads = outputs.reads(program)?;
                for (read, strides) in reads.iter_mut().zip(&reduced.strides) {
                    read.stepped = strides[strides.len() - 1] != 0;
                }
                let bytes = outputs.inner() * program.loads.iter().map(|load| load.dtype.size()).max().unwrap_or(1);
                let is_far = bytes / outputs.inner() * split.outputs * split.elements > FAR_BYTES;
                let is_short = bytes < SHORT_BYTES;
                let steps = if is_far && is_short { 1 } else { steps(&reads, program.words.len()) };
                let full = registers_for(full, outputs.inner());
                let kernel = |reads, steps| cache::kernel(spec(reads, Kind::Across { combine, steps }, full));
                let mut ahead = reads.clone();
                if is_far && !is_short {
                    fetch_next_steps(&mut ahead, &reduced, steps);
                }
                let (many, one) = (kernel(ahead, steps)?, kernel(reads.clone(), 1)?);
                (outputs, Kernels::Across { many, steps: usize::from(steps), one, reads })
            }
        };
        let bases = Bases::new(program, &strided);
        Some(Fold { split, walk, reduced, bases, stages, stored: program.stored.size() as i64, kernels })
    }

    /// The kernels that serve it.
    pub(super) fn kernels(&self) -> Vec<Arc<Kernel>> {
        match &self.kernels {
            Kernels::Along(kernel) => vec![kernel.clone()],
            Kernels::Across { many, one, .. } => vec![many.clone(), one.clone()],
        }
    }

    pub(super) fn parts(&self) -> usize {
        self.split.parts()
    }

    pub(super) fn partial_bytes(&self) -> usize {
        self.split.partial_bytes()
    }

    /// See [`super::Jit::one_run`].
    pub(super) fn one_run(&self) -> Option<OneRun<'_>> {
        let Kernels::Along(kernel) = &self.kernels else { return None };
        let (length, rows) = (self.split.elements, self.split.outputs);
        let is_one_run = self.parts() == 1 && self.partial_bytes() == 0 && self.walk.sizes.len() <= 2;
        let is_plain = self.stages.is_empty() && self.split.store.as_they_are();
        if !is_one_run || !is_plain || rows * length == 0 || length > ALONG_LEAF {
            return None;
        }
        let (_, row_stride) = self.walk.row_axis();
        let output_step = row_stride(self.bases.len()) * self.stored;
        let steps = (0..self.bases.len()).map(|k| row_stride(k) * self.bases.size(k)).collect();
        Some(OneRun {
            kernel,
            bases: &self.bases,
            steps,
            rows,
            length,
            output_step,
            position_step: length,
            streams: false,
        })
    }

    /// # Safety
    /// As for [`codegen::Compiled::finish`].
    pub(super) unsafe fn finish(&self, partials: *const u8, out: *mut u8) {
        // SAFETY: the caller's promise is the callee's.
        unsafe { self.split.finish(partials, out) }
    }

    /// # Safety
    /// As for [`codegen::Compiled::run`].
    pub(super) unsafe fn run(&self, part: usize, on: &codegen::Call<'_>) {
        // SAFETY: the caller vouches for operands and output; outputs and leaves are those of this part.
        unsafe {
            let Some(part) = self.split.part(part, on.out) else { return };
            match &self.kernels {
                Kernels::Along(kernel) if self.split.elements <= ALONG_LEAF => self.rows(kernel, part, on),
                Kernels::Along(kernel) => self.along(kernel, part, on),
                Kernels::Across { many, steps, one, reads } => {
                    self.across([(many, *steps), (one, 1)], reads, part, on);
                }
            }
        }
    }

    /// Rows of one leaf each.
    ///
    /// # Safety
    /// As for [`codegen::Compiled::run`], for the given part.
    unsafe fn rows(&self, kernel: &Kernel, part: Part, on: &codegen::Call<'_>) {
        let (frame_bytes, width) = (kernel.frame_bytes.next_multiple_of(64), self.split.width);
        let mut scratch = Scratch::new(frame_bytes + BLOCK * 8 + self.stages.bytes());
        let (operands, as_they_are) = (self.bases.len(), self.split.store.as_they_are());
        let mut positions = SmallVec::<[i64; 8]>::from_elem(0, operands + 1);
        let (row_axis, row_stride) = self.walk.row_axis();
        let mut output = part.outputs.start;
        // SAFETY: rows and their elements are of the program's index space, for which the caller vouches; results go to
        // their outputs, or to scratch for a block of them.
        unsafe {
            let frame = scratch.start();
            let results = frame.add(frame_bytes);
            let room = results.add(BLOCK * 8);
            let mut call = Call::new(kernel, frame);
            call.scalars(on.scalars);
            for k in 0..operands {
                call.step(k, row_stride(k) * self.bases.size(k));
            }
            call.step(operands + 1, 0);
            while output < part.outputs.end {
                let here = row_axis - self.walk.locate(output, &mut positions);
                let (to, step) = match self.split.partial(output, part.split, on.out) {
                    Some(partial) => (partial, width as i64),
                    None if as_they_are => {
                        let to = on.out.offset((positions[operands] * self.stored) as isize);
                        (to, row_stride(operands) * self.stored)
                    }
                    None => (results, width as i64),
                };
                let most = if to == results { BLOCK } else { usize::MAX };
                let most = most.min(self.stages.rows(self.split.elements));
                let rows = here.min(part.outputs.end - output).min(most);
                for k in 0..operands {
                    call.pointer(k, self.bases.address(on, k, positions[k]));
                }
                call.pointer(operands, to.addr() as i64);
                call.step(operands, step);
                let (element, elements) = (output * self.split.elements, self.split.elements);
                call.position(self.bases.position(on, element), elements);
                self.stages.bring_rows(on, &mut call, room, [element, elements], [rows, elements]);
                call.run(rows, self.split.elements);
                if to == results {
                    self.split.write(Value { lanes: results, uniform: false }, output, rows, part.split, on.out);
                }
                output += rows;
            }
        }
    }

    /// Outputs of several leaves each: a leaf is a row of the kernel.
    ///
    /// # Safety
    /// As for [`codegen::Compiled::run`], for the given part.
    unsafe fn along(&self, kernel: &Kernel, part: Part, on: &codegen::Call<'_>) {
        const SLOT: usize = 64;
        let (frame_bytes, width) = (kernel.frame_bytes.next_multiple_of(64), self.split.width);
        let cascade_bytes = Cascade::slots(part.leaves.len()) * SLOT;
        let mut scratch = Scratch::new(frame_bytes + BLOCK * 8 + cascade_bytes + self.stages.bytes());
        let operands = self.bases.len();
        let mut positions = SmallVec::<[i64; 8]>::from_elem(0, operands + 1);
        let stride = |k: usize| self.reduced.strides[k][self.reduced.strides[k].len() - 1];
        // SAFETY: leaves are of the program's index space, for which the caller vouches; their values go to scratch.
        unsafe {
            let frame = scratch.start();
            let values = frame.add(frame_bytes);
            let mut cascade = Cascade::new(values.add(BLOCK * 8), SLOT, part.leaves.len());
            let room = values.add(BLOCK * 8 + cascade_bytes);
            let mut call = Call::new(kernel, frame);
            call.scalars(on.scalars);
            for k in 0..operands {
                call.step(k, ALONG_LEAF as i64 * stride(k) * self.bases.size(k));
            }
            call.step(operands, width as i64);
            call.step(operands + 1, 0);
            let together = self.outputs_together(&part);
            let (row_axis, _) = self.walk.row_axis();
            let mut output = part.outputs.start;
            while output < part.outputs.end {
                let outputs = together.min(row_axis - self.walk.locate(output, &mut positions));
                let outputs = output..part.outputs.end.min(output + outputs);
                let mut leaf = part.leaves.start;
                while leaf < part.leaves.end {
                    // Whole leaves together, the last by itself if it is shorter.
                    let first = leaf * ALONG_LEAF;
                    let whole = (self.split.elements - first) / ALONG_LEAF;
                    let leaves = whole.min(part.leaves.end - leaf).min(BLOCK).min(self.stages.rows(ALONG_LEAF));
                    let (leaves, length) =
                        if leaves == 0 { (1, self.split.elements - first) } else { (leaves, ALONG_LEAF) };
                    let rows = leaves * outputs.len();
                    for k in 0..operands {
                        call.pointer(k, self.bases.address(on, k, positions[k] + first as i64 * stride(k)));
                    }
                    call.pointer(operands, values.addr() as i64);
                    let element = output * self.split.elements + first;
                    call.position(self.bases.position(on, element), ALONG_LEAF);
                    self.stages.bring_rows(on, &mut call, room, [element, ALONG_LEAF], [rows, length]);
                    call.run(rows, length);

                    // Pairs of all of them at once, as far as they are whole subtrees.
                    let level = leaves.trailing_zeros().min((leaf - part.leaves.start).trailing_zeros());
                    for level in 1..=level {
                        (self.split.folder.pairs)(rows >> level, values);
                    }
                    let groups = leaves >> level;
                    if groups == 1 && leaves == part.leaves.len() {
                        let totals = Value { lanes: values, uniform: false };
                        self.split.write(totals, output, outputs.len(), part.split, on.out);
                        output = outputs.end;
                        break;
                    }
                    leaf += leaves;
                    for group in 0..groups * outputs.len() {
                        cascade.hand().copy_from_nonoverlapping(values.add(group * width), width);
                        cascade.push_group(&self.split.folder, 1, level);
                        // Several outputs have all their leaves here, one after the other.
                        if leaf == part.leaves.end && (group + 1).is_multiple_of(groups) {
                            let total = Value { lanes: cascade.total(&self.split.folder, 1), uniform: false };
                            self.split.write(total, output, 1, part.split, on.out);
                            output += 1;
                        }
                    }
                }
            }
        }
    }

    /// How many outputs can be folded in one run of the kernel: those whose leaves, all of one length, follow each other evenly.
    fn outputs_together(&self, part: &Part) -> usize {
        let all_leaves = self.split.elements / ALONG_LEAF;
        let stride = |strides: &[i64]| strides[strides.len() - 1];
        let (_, row_stride) = self.walk.row_axis();
        let follow =
            |(k, strides): (usize, &SmallVec<[i64; 4]>)| row_stride(k) == stride(strides) * self.split.elements as i64;
        let is_even = self.split.elements.is_multiple_of(ALONG_LEAF)
            && part.leaves == (0..all_leaves)
            && self.reduced.strides[..self.reduced.strides.len() - 1].iter().enumerate().all(follow);
        if is_even { (BLOCK.min(self.stages.rows(ALONG_LEAF)) / all_leaves).max(1) } else { 1 }
    }

    /// A block of outputs at a time, some steps of all of them after the other.
    ///
    /// # Safety
    /// As for [`codegen::Compiled::run`], for the given part.
    unsafe fn across(&self, kernels: [(&Arc<Kernel>, usize); 2], reads: &[Read], part: Part, on: &codegen::Call<'_>) {
        let slot = ACROSS_BYTES;
        // What is brought in for all steps that are taken at once has its own limit.
        let block = (ACROSS_BYTES / self.split.width).min(self.stages.rows(kernels[0].1));
        let frame_bytes = kernels.map(|(kernel, _)| kernel.frame_bytes.next_multiple_of(64));
        let cascade_bytes = Cascade::slots(part.leaves.len()) * slot;
        let mut scratch = Scratch::new(frame_bytes[0] + frame_bytes[1] + cascade_bytes + self.stages.bytes());
        let run = self.walk.inner();
        let mut start = part.outputs.start;
        // SAFETY: outputs and steps are of the program's index space, for which the caller vouches; the scratch holds two
        // frames and the cascade.
        unsafe {
            let frames = [scratch.start(), scratch.start().add(frame_bytes[0])];
            let mut cascade = Cascade::new(frames[1].add(frame_bytes[1]), slot, part.leaves.len());
            let room = frames[1].add(frame_bytes[1] + cascade_bytes);
            let mut calls = [0, 1].map(|k| Steps {
                call: Call::new(kernels[k].0, frames[k]),
                steps: kernels[k].1,
                reads,
                fold: self,
                on,
                room,
            });
            // Several steps at once are not always to be had.
            let first = usize::from(self.reduced.inner().min(self.split.elements) < kernels[0].1);
            calls[first..].iter_mut().for_each(Steps::begin);
            while start < part.outputs.end {
                let n = block.min(part.outputs.end - start).min(run - start % run);
                for leaf in part.leaves.clone() {
                    let accumulators = cascade.hand();
                    fill(n, accumulators, self.split.identity(), self.split.width);
                    let steps = leaf * ACROSS_LEAF..self.split.elements.min((leaf + 1) * ACROSS_LEAF);
                    self.fold_steps(&mut calls, steps, start, n, accumulators);
                    cascade.push(&self.split.folder, n);
                }
                let total = cascade.total(&self.split.folder, n);
                for first in (0..n).step_by(BLOCK) {
                    let lanes = Value { lanes: total.add(first * self.split.width), uniform: false };
                    self.split.write(lanes, start + first, BLOCK.min(n - first), part.split, on.out);
                }
                start += n;
            }
        }
    }

    /// Folds some steps of the `n` outputs from `start` into their accumulators.
    ///
    /// # Safety
    /// As for [`codegen::Compiled::run`]; the accumulators have `n` lanes.
    unsafe fn fold_steps(
        &self,
        calls: &mut [Steps<'_>; 2],
        mut steps: Range<usize>,
        start: usize,
        n: usize,
        accumulators: *mut u8,
    ) {
        let mut positions = SmallVec::<[i64; 8]>::from_elem(0, self.walk.strides.len());
        while !steps.is_empty() {
            // As far as the innermost reduced axis goes; first several at once, then one by one.
            positions.fill(0);
            self.walk.go_to(start, &mut positions);
            let room = self.reduced.inner() - self.reduced.go_to(steps.start, &mut positions);
            let together = room.min(steps.len());
            let call = &mut calls[usize::from(together < calls[0].steps)];
            let rows = if self.stages.is_empty() { together / call.steps } else { 1 };
            // SAFETY: the caller's promise.
            unsafe {
                self.stages.bring_steps(call.on, call.room, [start, n], steps.start..steps.start + call.steps);
                call.run(&positions, rows, n, accumulators);
            }
            steps.start += rows * call.steps;
        }
    }
}

/// Lets operands that lie far away be fetched while the steps before are folded: the machine looks along rows, but not to the next ones.
fn fetch_next_steps(reads: &mut [Read], reduced: &Walk, steps: u8) {
    for (read, strides) in reads.iter_mut().zip(&reduced.strides) {
        if read.stepped && read.step == Step::Dense {
            let bytes = strides[strides.len() - 1] * i64::from(steps) * read.dtype.size() as i64;
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

    /// Tells the kernel what stays the same.
    fn begin(&mut self) {
        self.call.scalars(self.on.scalars);
        let mut pointer = 0;
        for (operand, read) in self.reads.iter().enumerate() {
            let bytes = self.step_bytes(operand) * self.steps as i64;
            for _ in 0..if read.stepped { self.steps } else { 1 } {
                self.call.step(pointer, bytes);
                pointer += 1;
            }
        }
        self.call.step(pointer, 0);
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
