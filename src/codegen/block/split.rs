//! How a reduction is split into parts, and how partial results become the output: alike for every code generator.
//!
//! Work is split over outputs, and where those are few, over runs of a power of two of leaves as well: such a run is a whole
//! subtree of the pairwise combination, so a split changes no bit of the result.

use super::fold::{Folder, folder_of, identity};
use super::frame::Value;
use super::map::Store;
use super::nodes::lane_bits;
use super::registers::register_bytes;
use super::{LANES, words};
use crate::codegen::order::{ACROSS_LEAF, ALONG_LEAF, Order};
use crate::lower::program::{Fold, LoopProgram};
use crate::ops::vector::Lane;
use smallvec::SmallVec;
use std::ops::Range;
use std::ptr;

/// A reduction in parts.
pub(in crate::codegen) struct Split {
    pub(in crate::codegen) store: Store,
    pub(in crate::codegen) folder: Folder,
    /// Its first bytes are one lane, `width` of them.
    identity: u64,
    pub(in crate::codegen) width: usize,
    pub(in crate::codegen) order: Order,
    pub(in crate::codegen) outputs: usize,
    /// The elements folded into each output, and the leaves they are cut into.
    pub(in crate::codegen) elements: usize,
    leaves: usize,
    /// The outputs of a part, and the leaves of a part.
    part_outputs: usize,
    part_leaves: usize,
}

/// One part: the leaves of some outputs that it folds, and the number of those leaves among an output's.
pub(in crate::codegen) struct Part {
    pub(in crate::codegen) outputs: Range<usize>,
    pub(in crate::codegen) leaves: Range<usize>,
    pub(in crate::codegen) split: usize,
}

/// Below this many parts, long reductions are split too.
const FEW_PARTS: usize = 16;
/// Splits stop here.
const MANY_PARTS: usize = 256;
/// Parts of fewer leaves across take more from others as long as there are enough of them: each leaves partial results for all of its outputs, which one
/// thread combines in the end.
const MANY_LEAVES: usize = 8;

impl Split {
    /// Splits a program with a fold. `weight` is the steps that one element takes, `work` how many steps make a part, `block` the
    /// outputs that are folded together in the order across.
    pub(in crate::codegen) fn of(
        program: &LoopProgram,
        fold: Fold,
        vector: bool,
        weight: usize,
        work: usize,
        block: usize,
    ) -> Split {
        let order = Order::of(program);
        let outputs: usize = program.outer.iter().product();
        let elements: usize = program.reduced.iter().product();
        let (leaf, lanes, most_parts) = match order {
            Order::Along => (ALONG_LEAF, 1, MANY_PARTS),
            // Each part leaves a whole block of partial results.
            Order::Across => (ACROSS_LEAF, outputs.min(block), MANY_PARTS * LANES / block),
        };

        // An output's work, then how many outputs make a part, then how many leaves.
        let outputs_wanted = work / (elements * weight).max(1);
        let part_outputs = match order {
            // Whole blocks of rows.
            Order::Along if elements <= LANES => outputs_wanted.next_multiple_of((LANES / elements.max(1)).max(1)),
            Order::Along => outputs_wanted,
            Order::Across => outputs_wanted.max(1).next_multiple_of(block),
        }
        .clamp(1, outputs.max(1));
        let groups = outputs.div_ceil(part_outputs).max(1);
        let leaves = elements.div_ceil(leaf);
        let mut part_leaves = leaves.max(1);
        if groups < FEW_PARTS {
            part_leaves = (work / (leaf * lanes * weight)).max(1).next_power_of_two();
            let parts = |part_leaves: usize| leaves.div_ceil(part_leaves) * groups;
            while parts(part_leaves) > most_parts
                || order == Order::Across && part_leaves < MANY_LEAVES && parts(2 * part_leaves) >= FEW_PARTS
            {
                part_leaves *= 2;
            }
        }
        let lane = Lane::of(program.stored);
        Split {
            store: Store::of(program, vector),
            folder: folder_of(fold, program.stored, vector),
            identity: words::constant(lane, lane_bits(identity(fold, program.stored))),
            width: words::width(lane),
            order,
            outputs,
            elements,
            leaves,
            part_outputs,
            part_leaves,
        }
    }

    /// One lane of the fold's identity.
    pub(in crate::codegen) fn identity(&self) -> *const u8 {
        ptr::from_ref(&self.identity).cast()
    }

    /// How many parts each output is split into.
    fn splits(&self) -> usize {
        self.leaves.div_ceil(self.part_leaves).max(1)
    }

    pub(in crate::codegen) fn parts(&self) -> usize {
        self.outputs.div_ceil(self.part_outputs).max(1) * self.splits()
    }

    pub(in crate::codegen) fn partial_bytes(&self) -> usize {
        if self.splits() > 1 { self.splits() * self.outputs * self.width } else { 0 }
    }

    /// What a part has to fold. Where there is nothing to be folded it is done with: its outputs become the identity.
    ///
    /// # Safety
    /// `out` is as [`crate::codegen::Compiled::run`] asks.
    pub(in crate::codegen) unsafe fn part(&self, part: usize, out: *mut u8) -> Option<Part> {
        let (group, split) = (part / self.splits(), part % self.splits());
        let outputs = group * self.part_outputs..self.outputs.min((group + 1) * self.part_outputs);
        if outputs.is_empty() {
            return None;
        }
        if self.elements == 0 {
            let nothing = Value { lanes: self.identity(), uniform: true };
            // SAFETY: the outputs of a part are some of all outputs.
            unsafe { self.write(nothing, outputs.start, outputs.len(), split, out) };
            return None;
        }
        let leaves = split * self.part_leaves..self.leaves.min((split + 1) * self.part_leaves);
        Some(Part { outputs, leaves, split })
    }

    /// Where the partial results go, from an output on; `None` where there are none and results go to the output itself.
    ///
    /// # Safety
    /// `out` is as [`crate::codegen::Compiled::run`] asks, and has the output of that number.
    pub(in crate::codegen) unsafe fn partial(&self, start: usize, split: usize, out: *mut u8) -> Option<*mut u8> {
        // SAFETY: the caller's promise.
        (self.splits() > 1).then(|| unsafe { out.add((split * self.outputs + start) * self.width) })
    }

    /// # Safety
    /// As for [`crate::codegen::Compiled::finish`].
    pub(in crate::codegen) unsafe fn finish(&self, partials: *const u8, out: *mut u8) {
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
                self.store.store(total, out, start, n);
            }
            start += n;
        }
    }

    /// Writes the results of `n` outputs, or their partial results.
    ///
    /// # Safety
    /// `out` has room for them; the value holds `n` lanes, or one if uniform.
    pub(in crate::codegen) unsafe fn write(&self, value: Value, start: usize, n: usize, split: usize, out: *mut u8) {
        // SAFETY: the caller's promise.
        unsafe {
            if self.splits() > 1 {
                let to = out.add((split * self.outputs + start) * self.width);
                ptr::copy_nonoverlapping(value.lanes, to, n * self.width);
            } else {
                self.store.store(value, out, start, n);
            }
        }
    }
}

/// Combines leaves in pairs, neighbours first, like a binary counter; see [`crate::codegen::order`].
pub(in crate::codegen) struct Cascade {
    /// The leaf in hand, then one group of 2^k leaves for every k.
    slots: SmallVec<[*mut u8; 24]>,
    /// The leaves taken in: bit k says that there is a group of 2^k.
    count: usize,
}

impl Cascade {
    /// The slots needed for so many leaves.
    pub(in crate::codegen) fn slots(leaves: usize) -> usize {
        (usize::BITS - leaves.leading_zeros()) as usize + 1
    }

    pub(in crate::codegen) fn new(scratch: *mut u8, slot_bytes: usize, leaves: usize) -> Cascade {
        let slot = |k| scratch.wrapping_add(k * slot_bytes);
        Cascade { slots: (0..Cascade::slots(leaves)).map(slot).collect(), count: 0 }
    }

    /// Where the next leaf is to be put.
    pub(in crate::codegen) fn hand(&self) -> *mut u8 {
        self.slots[0]
    }

    /// Takes in the leaf in hand.
    ///
    /// # Safety
    /// The slots have room for `n` lanes each, and the hand holds them.
    pub(in crate::codegen) unsafe fn push(&mut self, folder: &Folder, n: usize) {
        // SAFETY: the caller's promise.
        unsafe { self.push_group(folder, n, 0) }
    }

    /// Takes in a group of `2^level` leaves, which are combined in the hand. Only such groups, or larger ones, came before it.
    ///
    /// # Safety
    /// As for [`Cascade::push`].
    pub(in crate::codegen) unsafe fn push_group(&mut self, folder: &Folder, n: usize, level: u32) {
        debug_assert!(self.count.is_multiple_of(1 << level), "smaller groups come last");
        let mut k = level as usize;
        while self.count >> k & 1 == 1 {
            // SAFETY: the caller's promise; slots do not overlap.
            unsafe { (folder.block)(n, self.slots[k + 1], self.slots[0]) };
            self.slots.swap(0, k + 1);
            k += 1;
        }
        self.slots.swap(0, k + 1);
        self.count += 1 << level;
    }

    /// Everything that was taken in; the cascade is then empty again.
    ///
    /// # Safety
    /// As for [`Cascade::push`], of which there was one at least.
    pub(in crate::codegen) unsafe fn total(&mut self, folder: &Folder, n: usize) -> *const u8 {
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
