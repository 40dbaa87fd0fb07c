//! Programs with a fold, in either [`Order`].
//!
//! Work is split over outputs, and where those are few, over runs of a power of two of leaves as well: such a run is a whole
//! subtree of the pairwise combination, so a split changes no bit of the result.

use super::code::Code;
use super::fold::{Folder, fill, folder_of, identity};
use super::frame::{Frame, Value};
use super::map::Store;
use super::nodes::lane_bits;
use super::registers::register_bytes;
use super::{LANES, PART_WORK, words};
use crate::codegen::order::{ACCUMULATORS, ACROSS_LEAF, ALONG_LEAF, Order};
use crate::lower::program::{Fold, LoopProgram};
use crate::ops::vector::Fault;
use smallvec::SmallVec;
use std::ops::Range;
use std::ptr;

/// A program that folds.
pub(super) struct Reduce {
    code: Code,
    store: Store,
    folder: Folder,
    /// Its first bytes are one lane, `width` of them.
    identity: u64,
    width: usize,
    order: Order,
    outputs: usize,
    /// The elements folded into each output, and the leaves they are cut into.
    elements: usize,
    leaves: usize,
    /// The outputs of a part, and the leaves of a part.
    part_outputs: usize,
    part_leaves: usize,
}

/// Below this many parts, long reductions are split too.
const FEW_PARTS: usize = 16;
/// Splits stop here.
const MANY_PARTS: usize = 256;

impl Reduce {
    /// Makes a program with a fold ready.
    pub(super) fn of(program: &LoopProgram, fold: Fold, vector: bool) -> Reduce {
        let order = Order::of(program);
        let outputs: usize = program.outer.iter().product();
        let elements: usize = program.reduced.iter().product();
        let (walked, leaf, lanes) = match order {
            Order::Along => (program.outer.len() + program.reduced.len(), ALONG_LEAF, 1),
            Order::Across => (program.outer.len(), ACROSS_LEAF, outputs.min(LANES)),
        };
        let code = Code::of(program, walked, vector);

        // An output's work, then how many outputs make a part, then how many leaves.
        let weight = code.weight() + 1;
        let outputs_wanted = PART_WORK / (elements * weight).max(1);
        let part_outputs = match order {
            // Whole blocks of rows.
            Order::Along if elements <= LANES => outputs_wanted.next_multiple_of((LANES / elements.max(1)).max(1)),
            Order::Along => outputs_wanted,
            Order::Across => outputs_wanted.next_multiple_of(LANES),
        }
        .clamp(1, outputs.max(1));
        let groups = outputs.div_ceil(part_outputs).max(1);
        let leaves = elements.div_ceil(leaf);
        let mut part_leaves = leaves.max(1);
        if groups < FEW_PARTS {
            part_leaves = (PART_WORK / (leaf * lanes * weight)).max(1).next_power_of_two();
            while leaves.div_ceil(part_leaves) * groups > MANY_PARTS {
                part_leaves *= 2;
            }
        }
        Reduce {
            store: Store::of(program, vector),
            folder: folder_of(fold, program.stored, vector),
            identity: words::constant(code.lane, lane_bits(identity(fold, program.stored))),
            width: words::width(code.lane),
            code,
            order,
            outputs,
            elements,
            leaves,
            part_outputs,
            part_leaves,
        }
    }

    fn identity(&self) -> *const u8 {
        ptr::from_ref(&self.identity).cast()
    }

    /// How many parts each output is split into.
    fn splits(&self) -> usize {
        self.leaves.div_ceil(self.part_leaves).max(1)
    }

    pub(super) fn parts(&self) -> usize {
        self.outputs.div_ceil(self.part_outputs).max(1) * self.splits()
    }

    pub(super) fn partial_bytes(&self) -> usize {
        if self.splits() > 1 { self.splits() * self.outputs * self.width } else { 0 }
    }

    /// # Safety
    /// As for [`crate::codegen::Compiled::run`].
    pub(super) unsafe fn run(&self, part: usize, loads: &[*const u8], out: *mut u8) -> Result<(), Fault> {
        let (group, split) = (part / self.splits(), part % self.splits());
        let outputs = group * self.part_outputs..self.outputs.min((group + 1) * self.part_outputs);
        if outputs.is_empty() {
            return Ok(());
        }
        if self.elements == 0 {
            let nothing = Value { lanes: self.identity(), uniform: true };
            // SAFETY: the outputs of a part are some of all outputs.
            unsafe { self.write(nothing, outputs.start, outputs.len(), split, out) };
            return Ok(());
        }
        let leaves = split * self.part_leaves..self.leaves.min((split + 1) * self.part_leaves);
        // SAFETY: the caller vouches for operands and output; outputs and leaves are those of this part.
        unsafe {
            match self.order {
                Order::Along if self.elements <= LANES => self.rows(outputs, loads, out),
                Order::Along => self.along(outputs, leaves, split, loads, out),
                Order::Across => self.across(outputs, leaves, split, loads, out),
            }
        }
    }

    /// Short reductions: several rows to a block, each of them one leaf.
    ///
    /// # Safety
    /// As for [`crate::codegen::Compiled::run`], for the given outputs.
    unsafe fn rows(&self, outputs: Range<usize>, loads: &[*const u8], out: *mut u8) -> Result<(), Fault> {
        let per_block = LANES / self.elements;
        // SAFETY: blocks are rows of the given outputs; the scratch holds a block of results and one of values.
        unsafe {
            let mut frame = Frame::new(&self.code, loads, 2 * register_bytes(8))?;
            let results = frame.extra();
            let spare = results.add(register_bytes(8));
            let mut start = outputs.start;
            while start < outputs.end {
                let rows = per_block.min(outputs.end - start);
                let n = rows * self.elements;
                frame.block(start * self.elements, n, None)?;
                let lanes = self.spread(frame.result(), n, spare);
                (self.folder.rows)(rows, self.elements, results, lanes, self.identity());
                self.write(Value { lanes: results, uniform: false }, start, rows, 0, out);
                start += rows;
            }
        }
        Ok(())
    }

    /// Long reductions, one output after the other.
    ///
    /// # Safety
    /// As for [`crate::codegen::Compiled::run`], for the given outputs and leaves.
    unsafe fn along(
        &self,
        outputs: Range<usize>,
        leaves: Range<usize>,
        split: usize,
        loads: &[*const u8],
        out: *mut u8,
    ) -> Result<(), Fault> {
        const SLOT: usize = ACCUMULATORS * 8;
        // SAFETY: blocks are runs of an output's elements; the scratch holds a block of values and the cascade.
        unsafe {
            let mut frame = Frame::new(&self.code, loads, register_bytes(8) + Cascade::slots(leaves.len()) * SLOT)?;
            let spare = frame.extra();
            let mut cascade = Cascade::new(spare.add(register_bytes(8)), SLOT, leaves.len());
            for output in outputs {
                for leaf in leaves.clone() {
                    let accumulators = cascade.hand();
                    fill(ACCUMULATORS, accumulators, self.identity(), self.width);
                    let mut element = leaf * ALONG_LEAF;
                    let end = self.elements.min(element + ALONG_LEAF);
                    while element < end {
                        let n = LANES.min(end - element);
                        frame.block(output * self.elements + element, n, None)?;
                        let lanes = self.spread(frame.result(), n, spare);
                        (self.folder.interleaved)(n, accumulators, lanes);
                        element += n;
                    }
                    (self.folder.tree)(accumulators);
                    cascade.push(&self.folder, 1);
                }
                let total = Value { lanes: cascade.total(&self.folder, 1), uniform: false };
                self.write(total, output, 1, split, out);
            }
        }
        Ok(())
    }

    /// A block of outputs at a time, one element of each after the other.
    ///
    /// # Safety
    /// As for [`crate::codegen::Compiled::run`], for the given outputs and leaves.
    unsafe fn across(
        &self,
        outputs: Range<usize>,
        leaves: Range<usize>,
        split: usize,
        loads: &[*const u8],
        out: *mut u8,
    ) -> Result<(), Fault> {
        let slot = register_bytes(8);
        // SAFETY: blocks are some of the given outputs, steps are elements of theirs; the scratch holds the cascade.
        unsafe {
            let mut frame = Frame::new(&self.code, loads, Cascade::slots(leaves.len()) * slot)?;
            let mut cascade = Cascade::new(frame.extra(), slot, leaves.len());
            let mut start = outputs.start;
            while start < outputs.end {
                let n = LANES.min(outputs.end - start);
                frame.block(start, n, None)?;
                frame.go_to_step(leaves.start * ACROSS_LEAF);
                for leaf in leaves.clone() {
                    let accumulators = cascade.hand();
                    fill(n, accumulators, self.identity(), self.width);
                    for _ in leaf * ACROSS_LEAF..self.elements.min((leaf + 1) * ACROSS_LEAF) {
                        frame.run_step()?;
                        let value = frame.result();
                        let into = if value.uniform { self.folder.one } else { self.folder.block };
                        into(n, accumulators, value.lanes);
                        frame.next_step();
                    }
                    cascade.push(&self.folder, n);
                }
                let total = Value { lanes: cascade.total(&self.folder, n), uniform: false };
                self.write(total, start, n, split, out);
                start += n;
            }
        }
        Ok(())
    }

    /// # Safety
    /// As for [`crate::codegen::Compiled::finish`].
    pub(super) unsafe fn finish(&self, partials: *const u8, out: *mut u8) {
        let slot = register_bytes(8);
        let mut scratch = vec![0u64; Cascade::slots(self.splits()) * slot / 8];
        let mut cascade = Cascade::new(scratch.as_mut_ptr().cast(), slot, self.splits());
        let mut start = 0;
        while start < self.outputs {
            let n = LANES.min(self.outputs - start);
            // SAFETY: there are `splits` rows of `outputs` partial results, and the scratch holds the cascade.
            unsafe {
                for split in 0..self.splits() {
                    let row = partials.add((split * self.outputs + start) * self.width);
                    ptr::copy_nonoverlapping(row, cascade.hand(), n * self.width);
                    cascade.push(&self.folder, n);
                }
                let total = Value { lanes: cascade.total(&self.folder, n), uniform: false };
                self.store.store(total, n, self.store.element(out, start));
            }
            start += n;
        }
    }

    /// Writes the results of `n` outputs, or their partial results.
    ///
    /// # Safety
    /// `out` has room for them; the value holds `n` lanes, or one if uniform.
    unsafe fn write(&self, value: Value, start: usize, n: usize, split: usize, out: *mut u8) {
        // SAFETY: the caller's promise.
        unsafe {
            if self.splits() > 1 {
                let to = out.add((split * self.outputs + start) * self.width);
                ptr::copy_nonoverlapping(value.lanes, to, n * self.width);
            } else {
                self.store.store(value, n, self.store.element(out, start));
            }
        }
    }

    /// A value's lanes, in `spare` if it is only one.
    ///
    /// # Safety
    /// The value holds `n` lanes or is uniform; `spare` has room for a block.
    unsafe fn spread(&self, value: Value, n: usize, spare: *mut u8) -> *const u8 {
        if value.uniform && n > 1 {
            // SAFETY: the caller's promise.
            unsafe { fill(n, spare, value.lanes, self.width) };
            return spare;
        }
        value.lanes
    }
}

/// Combines leaves in pairs, neighbours first, like a binary counter; see [`crate::codegen::order`].
struct Cascade {
    /// The leaf in hand, then one group of 2^k leaves for every k.
    slots: SmallVec<[*mut u8; 24]>,
    /// The leaves taken in: bit k says that there is a group of 2^k.
    count: usize,
}

impl Cascade {
    /// The slots needed for so many leaves.
    fn slots(leaves: usize) -> usize {
        (usize::BITS - leaves.leading_zeros()) as usize + 1
    }

    fn new(scratch: *mut u8, slot_bytes: usize, leaves: usize) -> Cascade {
        let slot = |k| scratch.wrapping_add(k * slot_bytes);
        Cascade { slots: (0..Cascade::slots(leaves)).map(slot).collect(), count: 0 }
    }

    /// Where the next leaf is to be put.
    fn hand(&self) -> *mut u8 {
        self.slots[0]
    }

    /// Takes in the leaf in hand.
    ///
    /// # Safety
    /// The slots have room for `n` lanes each, and the hand holds them.
    unsafe fn push(&mut self, folder: &Folder, n: usize) {
        let mut k = 0;
        while self.count >> k & 1 == 1 {
            // SAFETY: the caller's promise; slots do not overlap.
            unsafe { (folder.block)(n, self.slots[k + 1], self.slots[0]) };
            self.slots.swap(0, k + 1);
            k += 1;
        }
        self.slots.swap(0, k + 1);
        self.count += 1;
    }

    /// Everything that was taken in; the cascade is then empty again.
    ///
    /// # Safety
    /// As for [`Cascade::push`], of which there was one at least.
    unsafe fn total(&mut self, folder: &Folder, n: usize) -> *const u8 {
        let mut total: Option<*mut u8> = None;
        for k in 0..self.slots.len() - 1 {
            if self.count >> k & 1 == 1 {
                if let Some(later) = total {
                    // SAFETY: the caller's promise; slots do not overlap.
                    unsafe { (folder.block)(n, self.slots[k + 1], later) };
                }
                total = Some(self.slots[k + 1]);
            }
        }
        self.count = 0;
        total.expect("a leaf was taken in")
    }
}
