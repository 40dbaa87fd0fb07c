//! Programs with a fold, in either [`Order`]: kernels make leaves, which are then combined as everywhere.

use super::across::Across;
use super::asm::Width;
use super::build::{Kind, Read, Spec};
use super::cache;
use super::call::Call;
use super::combine::Combine;
use super::elements::Step;
use super::kernel::Kernel;
use super::map::registers_for;
use super::parts::part_work;
use super::repeat::OneRun;
use super::staged::{Stages, Written};
use super::walk::{Bases, Scratch, Walk, operands};
use super::{ZEN_5, family_of_amd};
use crate::codegen;
use crate::codegen::block::{Cascade, Part, Split, Value, identity, lane_bits};
use crate::codegen::order::{ACCUMULATORS, ALONG_LEAF, Order};
use crate::lower::program::{self, LoopProgram};
use crate::ops::vector::{Fault, Lane, Word};
use smallvec::SmallVec;
use std::sync::Arc;

/// The results that are kept in scratch before they are stored or combined.
pub(super) const BLOCK: usize = 512;
/// The accumulators of a block of outputs across: long rows are read as long runs, and these stay in the L1 cache.
pub(super) const ACROSS_BYTES: usize = 1 << 14;
/// Shorter rows are the interpreter's, which folds several at a time, unless they are few.
/// (A row shorter than the accumulators leaves some of them at the identity, which changes no bit of the others.)
const SHORTEST_ROW: usize = 8;
const FEW_ROWS: usize = 16;
/// Folds that read more bytes than this read two far places at once.
const STREAMED: usize = 4 << 20;
/// With registers of 512 bits, sums of so few words fetch what they will read so many bytes later. Those who do more for every line have too few
/// loads on their way to wait for the second cache: the machine fetches better for them. Zen 5 always does: sums along take a fifth less time there
/// if nothing is asked for, on Zen 4 a tenth more.
const FEW_WORDS: usize = 2;
const AHEAD: i32 = 1 << 11;
/// Rows that are folded with fewer words, one at a time, are read as fast in registers of 256 bits, of which twice as many are in flight.
const MANY_WORDS: usize = 12;
/// Folds that keep NaN have more to do for every value: rows of so many elements are folded in a third less time in registers of 512 bits.
const LONG_ROW: usize = 256;

/// Whether a program does so little for every line that it reads that it fetches better than the machine does by itself. Lines of narrow elements
/// have many, which are also made wider.
pub(super) fn is_quick(program: &LoopProgram, fold: program::Fold) -> bool {
    let are_wide = program.loads.iter().all(|load| load.dtype.size() >= 4);
    fold == program::Fold::Sum && program.words.len() <= FEW_WORDS && are_wide
}

/// A program that folds.
pub(super) struct Fold {
    pub(super) split: Split,
    /// The outputs' axes; then, for folds along, the one axis of the elements. The operands, then the output.
    pub(super) walk: Walk,
    /// The elements' axes.
    pub(super) reduced: Walk,
    pub(super) bases: Bases,
    pub(super) stages: Stages,
    /// The bytes of an element of the output.
    stored: i64,
    kernels: Kernels,
}

enum Kernels {
    Along {
        kernel: Arc<Kernel>,
        /// For two leaves at once.
        pair: Option<Arc<Kernel>>,
    },
    Across(Across),
}

/// The kernel of a fold along, and the one for two leaves at once.
type Along<'k> = (&'k Kernel, Option<&'k Kernel>);

impl Fold {
    /// `None` where it is not served. If it is `keeping`, a fold along also stores what it folds, to its last operand, as a part of something.
    pub(super) fn of(
        program: &LoopProgram,
        fold: program::Fold,
        full: Width,
        keeping: Option<codegen::Around<'_>>,
    ) -> Option<Fold> {
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
        // Parts are of whole runs, if these are short.
        let run = outputs.inner();
        let runs = (BLOCK / run.max(1)).max(1);
        let block = (runs * run).clamp(1, ACROSS_BYTES / combine.accumulator_size());
        let (steps, sizes) = (program.words.len() + 2, program.outer.iter().chain(&program.reduced));
        let split = Split::of(given, fold, true, steps, part_work(sizes.product(), steps), block);
        let spec = |operands, kind, full| Spec {
            words: program.words.clone(),
            result: program.result,
            stored: program.stored,
            operands,
            output: Step::Dense,
            kind,
            full,
        };
        let stages = Stages::new(&written, &strided, &staged, Vec::new(), walked)?;
        let (walk, kernels) = match split.order {
            Order::Along => {
                if reduced.sizes.len() > 1 || split.elements < SHORTEST_ROW && split.outputs > FEW_ROWS {
                    return None;
                }
                let walk = outputs.then(&reduced);
                let identity = lane_bits(identity(fold, program.stored));
                let is_light = program.words.len() < MANY_WORDS && !(combine.keeps_nan() && split.elements >= LONG_ROW);
                let narrow = if is_light { Width::Y } else { full };
                let mut reads = walk.reads(program)?;
                let kept = keeping.map(|around| {
                    for (read, &next) in reads.iter_mut().zip(around.next) {
                        read.ahead = i32::try_from(next).unwrap_or(0);
                    }
                    given.loads.len() - 1
                });
                if kept.is_some_and(|kept| reads[kept].step != Step::Dense) {
                    return None;
                }
                let kept = kept.map(|kept| kept as u16);
                let is_whole = split.elements > ALONG_LEAF || split.elements.is_multiple_of(ACCUMULATORS);
                let in_pairs = is_whole && kept.is_none() && stages.is_empty() && goes_in_pairs(program, &reads, full);
                let pair = in_pairs.then(|| {
                    let asks = full == Width::Z && family_of_amd().is_none_or(|family| family < ZEN_5);
                    let ahead = if asks && is_quick(program, fold) { AHEAD } else { 0 };
                    let stepped = reads.iter().map(|&read| Read { stepped: true, ahead, ..read }).collect();
                    cache::kernel(spec(stepped, Kind::Along { combine, identity, streams: 2, kept: None }, full))
                });
                let kernel = cache::kernel(spec(reads, Kind::Along { combine, identity, streams: 1, kept }, narrow))?;
                (walk, Kernels::Along { kernel, pair: pair.flatten() })
            }
            Order::Across if keeping.is_some() => return None,
            Order::Across => {
                let spec = |reads, kind| spec(reads, kind, registers_for(full, outputs.inner()));
                let across = Across::new(program, combine, &split, [&outputs, &reduced], stages.is_empty(), spec)?;
                (outputs, Kernels::Across(across))
            }
        };
        let bases = Bases::new(program, strided);
        Some(Fold { split, walk, reduced, bases, stages, stored: program.stored.size() as i64, kernels })
    }

    /// The kernels that serve it.
    pub(super) fn kernels(&self) -> Vec<Arc<Kernel>> {
        match &self.kernels {
            Kernels::Along { kernel, pair } => [kernel].into_iter().chain(pair).cloned().collect(),
            Kernels::Across(across) => across.kernels(),
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
        let Kernels::Along { kernel, .. } = &self.kernels else { return None };
        let (length, rows) = (self.split.elements, self.split.outputs);
        let is_one_run = self.parts() == 1 && self.partial_bytes() == 0 && self.walk.sizes.len() <= 2;
        let is_plain = self.stages.is_empty() && self.split.store.as_they_are();
        if !is_one_run || !is_plain || rows * length == 0 || length > ALONG_LEAF {
            return None;
        }
        let output_step = self.walk.row_stride(self.bases.len()) * self.stored;
        let (bases, walk) = (&self.bases, &self.walk);
        Some(OneRun { kernel, bases, walk, rows, length, output_step, position_step: length, streams: false })
    }

    /// # Safety
    /// As for [`codegen::Compiled::finish`].
    pub(super) unsafe fn finish(&self, partials: *const u8, out: *mut u8) {
        // SAFETY: the caller's promise is the callee's.
        unsafe { self.split.finish(partials, out) }
    }

    /// # Safety
    /// As for [`codegen::Compiled::run`].
    pub(super) unsafe fn run(&self, part: usize, on: &codegen::Call<'_>) -> Result<(), Fault> {
        // SAFETY: the caller vouches for operands and output; outputs and leaves are those of this part.
        unsafe {
            let Some(part) = self.split.part(part, on.out) else { return Ok(()) };
            match &self.kernels {
                Kernels::Along { kernel, pair } if self.split.elements <= ALONG_LEAF => {
                    self.rows((kernel, pair.as_deref()), part, on)
                }
                Kernels::Along { kernel, pair } => self.along((kernel, pair.as_deref()), part, on),
                Kernels::Across(across) => self.across(across, part, on),
            }
        }
    }

    /// Rows of one leaf each.
    ///
    /// # Safety
    /// As for [`codegen::Compiled::run`], for the given part.
    unsafe fn rows(&self, (kernel, pair): Along<'_>, part: Part, on: &codegen::Call<'_>) -> Result<(), Fault> {
        let (frame_bytes, width) = (kernel.frame_bytes.next_multiple_of(64), self.split.width);
        let pair_bytes = pair.map_or(0, |pair| pair.frame_bytes.next_multiple_of(64));
        let mut scratch = Scratch::new(frame_bytes + BLOCK * 8 + self.stages.bytes() + pair_bytes);
        let (operands, as_they_are) = (self.bases.len(), self.split.store.as_they_are());
        let mut positions = SmallVec::<[i64; 8]>::from_elem(0, operands + 1);
        let (row_axis, row_stride) = (self.walk.row_axis(), |k| self.walk.row_stride(k));
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
            let mut pair = pair.map(|pair| Call::new(pair, room.add(self.stages.bytes())));
            pair.iter_mut().for_each(|pair| pair.scalars(on.scalars));
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
                let (element, elements) = (output * self.split.elements, self.split.elements);
                let place = |k: usize| match k < operands {
                    true => [self.bases.address(on, k, positions[k]), row_stride(k) * self.bases.size(k)],
                    false => [to.addr() as i64, step],
                };
                let paired = run_pairs(&mut pair, [rows, elements], operands, place);
                if paired < rows {
                    for k in 0..=operands {
                        let [first, step] = place(k);
                        call.pointer(k, first + paired as i64 * step);
                    }
                    call.step(operands, step);
                    call.position(self.bases.position(on, element), elements);
                    self.stages.bring_rows(on, &mut call, room, [element, elements], [rows, elements])?;
                    call.run(rows - paired, elements);
                }
                if to == results {
                    self.split.write(Value { lanes: results, uniform: false }, output, rows, part.split, on.out);
                }
                output += rows;
            }
        }
        Ok(())
    }

    /// Outputs of several leaves each: a leaf is a row of the kernel.
    ///
    /// # Safety
    /// As for [`codegen::Compiled::run`], for the given part.
    unsafe fn along(&self, (kernel, pair): Along<'_>, part: Part, on: &codegen::Call<'_>) -> Result<(), Fault> {
        const SLOT: usize = 64;
        let (frame_bytes, width) = (kernel.frame_bytes.next_multiple_of(64), self.split.width);
        let cascade_bytes = Cascade::slots(part.leaves.len()) * SLOT;
        let pair_bytes = pair.map_or(0, |pair| pair.frame_bytes.next_multiple_of(64));
        let mut scratch = Scratch::new(frame_bytes + BLOCK * 8 + cascade_bytes + self.stages.bytes() + pair_bytes);
        let operands = self.bases.len();
        let mut positions = SmallVec::<[i64; 8]>::from_elem(0, operands + 1);
        let stride = |k: usize| self.reduced.strides[k][self.reduced.strides[k].len() - 1];
        // SAFETY: leaves are of the program's index space, for which the caller vouches; their values go to scratch.
        unsafe {
            let frame = scratch.start();
            let values = frame.add(frame_bytes);
            let mut cascade = Cascade::new(values.add(BLOCK * 8), SLOT, part.leaves.len());
            let room = values.add(BLOCK * 8 + cascade_bytes);
            let step = |k: usize| match k < operands {
                true => ALONG_LEAF as i64 * stride(k) * self.bases.size(k),
                false => width as i64,
            };
            let mut call = Call::new(kernel, frame);
            call.scalars(on.scalars);
            (0..=operands).for_each(|k| call.step(k, step(k)));
            call.step(operands + 1, 0);
            let mut pair = pair.map(|pair| Call::new(pair, room.add(self.stages.bytes())));
            pair.iter_mut().for_each(|pair| pair.scalars(on.scalars));
            let together = self.outputs_together(&part);
            let row_axis = self.walk.row_axis();
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
                    let address = |k: usize| self.bases.address(on, k, positions[k] + first as i64 * stride(k));
                    let place = |k: usize| if k < operands { address(k) } else { values.addr() as i64 };
                    let paired = run_pairs(&mut pair, [rows, length], operands, |k| [place(k), step(k)]);
                    if paired < rows {
                        (0..=operands).for_each(|k| call.pointer(k, place(k) + paired as i64 * step(k)));
                        let element = output * self.split.elements + first;
                        call.position(self.bases.position(on, element), ALONG_LEAF);
                        self.stages.bring_rows(on, &mut call, room, [element, ALONG_LEAF], [rows, length])?;
                        call.run(rows - paired, length);
                    }

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
        Ok(())
    }

    /// How many outputs can be folded in one run of the kernel: those whose leaves, all of one length, follow each other evenly.
    fn outputs_together(&self, part: &Part) -> usize {
        let all_leaves = self.split.elements / ALONG_LEAF;
        let stride = |strides: &[i64]| strides[strides.len() - 1];
        let follow = |(k, strides): (usize, &SmallVec<[i64; 4]>)| {
            self.walk.row_stride(k) == stride(strides) * self.split.elements as i64
        };
        let is_even = self.split.elements.is_multiple_of(ALONG_LEAF)
            && part.leaves == (0..all_leaves)
            && self.reduced.strides[..self.reduced.strides.len() - 1].iter().enumerate().all(follow);
        if is_even { (BLOCK.min(self.stages.rows(ALONG_LEAF)) / all_leaves).max(1) } else { 1 }
    }
}

/// Runs rows two at once, the upper half together with the lower one, if there is a kernel for that and they are of whole accumulators. `at` says
/// where each operand, and then the output, begins, and what the next row adds to that. Gives how many rows that were.
///
/// # Safety
/// As for [`Call::run`].
unsafe fn run_pairs(
    pair: &mut Option<Call<'_>>,
    [rows, length]: [usize; 2],
    operands: usize,
    at: impl Fn(usize) -> [i64; 2],
) -> usize {
    let half = if length.is_multiple_of(ACCUMULATORS) { rows / 2 } else { 0 };
    let Some(pair) = pair.as_mut().filter(|_| half > 0) else { return 0 };
    for k in 0..=operands {
        let [first, step] = at(k);
        for row in 0..2 {
            pair.pointer(2 * k + row, first + (row * half) as i64 * step);
            pair.step(2 * k + row, step);
        }
    }
    pair.step(2 * operands + 2, 0);
    // SAFETY: the caller's promise.
    unsafe { pair.run(half, length) };
    2 * half
}

/// Whether a fold along reads so much, and does so little with it, that two leaves at once are worth a kernel of their own.
fn goes_in_pairs(program: &LoopProgram, reads: &[Read], full: Width) -> bool {
    let elements: usize = program.outer.iter().chain(&program.reduced).product();
    let bytes: usize = reads.iter().map(|read| elements.saturating_mul(read.dtype.size())).sum();
    // Accumulators of 64 bits are too many for registers of 256.
    let is_long = |lane| full != Width::Z && matches!(lane, Lane::I64 | Lane::F64);
    bytes >= STREAMED
        && program.words.len() < MANY_WORDS
        && reads.iter().all(|read| read.step == Step::Dense)
        && !program.words.iter().any(|&(word, lane)| word == Word::Position || is_long(lane))
}
