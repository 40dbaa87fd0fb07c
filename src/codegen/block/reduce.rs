//! Programs with a fold, in either [`Order`].

use super::code::Code;
use super::fold::fill;
use super::frame::{Frame, Value};
use super::registers::register_bytes;
use super::split::{Cascade, Part, Split};
use super::{LANES, PART_WORK};
use crate::codegen::Call;
use crate::codegen::order::{ACCUMULATORS, ACROSS_LEAF, ALONG_LEAF, Order};
use crate::lower::program::{Fold, LoopProgram};
use crate::ops::vector::Fault;
use std::ops::Range;

/// A program that folds.
pub(super) struct Reduce {
    code: Code,
    split: Split,
}

impl Reduce {
    /// Makes a program with a fold ready.
    pub(super) fn of(program: &LoopProgram, fold: Fold, vector: bool) -> Reduce {
        let walked = match Order::of(program) {
            Order::Along => program.outer.len() + program.reduced.len(),
            Order::Across => program.outer.len(),
        };
        let code = Code::of(program, walked, vector);
        Reduce { split: Split::of(program, fold, vector, code.weight() + 1, PART_WORK, LANES), code }
    }

    pub(super) fn parts(&self) -> usize {
        self.split.parts()
    }

    pub(super) fn partial_bytes(&self) -> usize {
        self.split.partial_bytes()
    }

    /// # Safety
    /// As for [`crate::codegen::Compiled::run`].
    pub(super) unsafe fn run(&self, part: usize, call: &Call<'_>) -> Result<(), Fault> {
        // SAFETY: the caller vouches for operands and output; outputs and leaves are those of this part.
        unsafe {
            let Some(Part { outputs, leaves, split }) = self.split.part(part, call.out) else { return Ok(()) };
            match self.split.order {
                Order::Along if self.split.elements <= LANES => self.rows(outputs, call),
                Order::Along => self.along(outputs, leaves, split, call),
                Order::Across => self.across(outputs, leaves, split, call),
            }
        }
    }

    /// # Safety
    /// As for [`crate::codegen::Compiled::finish`].
    pub(super) unsafe fn finish(&self, partials: *const u8, out: *mut u8) {
        // SAFETY: the caller's promise is the callee's.
        unsafe { self.split.finish(partials, out) }
    }

    /// Short reductions: several rows to a block, each of them one leaf.
    ///
    /// # Safety
    /// As for [`crate::codegen::Compiled::run`], for the given outputs.
    unsafe fn rows(&self, outputs: Range<usize>, call: &Call<'_>) -> Result<(), Fault> {
        let per_block = LANES / self.split.elements;
        // SAFETY: blocks are rows of the given outputs; the scratch holds a block of results and one of values.
        unsafe {
            let mut frame = Frame::new(&self.code, call, 2 * register_bytes(8))?;
            let results = frame.extra();
            let spare = results.add(register_bytes(8));
            let mut start = outputs.start;
            while start < outputs.end {
                let rows = per_block.min(outputs.end - start);
                let n = rows * self.split.elements;
                frame.block(start * self.split.elements, n, None)?;
                let lanes = self.spread(frame.result(), n, spare);
                (self.split.folder.rows)(rows, self.split.elements, results, lanes, self.split.identity());
                self.split.write(Value { lanes: results, uniform: false }, start, rows, 0, call.out);
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
        call: &Call<'_>,
    ) -> Result<(), Fault> {
        const SLOT: usize = ACCUMULATORS * 8;
        // SAFETY: blocks are runs of an output's elements; the scratch holds a block of values and the cascade.
        unsafe {
            let mut frame = Frame::new(&self.code, call, register_bytes(8) + Cascade::slots(leaves.len()) * SLOT)?;
            let spare = frame.extra();
            let mut cascade = Cascade::new(spare.add(register_bytes(8)), SLOT, leaves.len());
            for output in outputs {
                for leaf in leaves.clone() {
                    let accumulators = cascade.hand();
                    fill(ACCUMULATORS, accumulators, self.split.identity(), self.split.width);
                    let mut element = leaf * ALONG_LEAF;
                    let end = self.split.elements.min(element + ALONG_LEAF);
                    while element < end {
                        let n = LANES.min(end - element);
                        frame.block(output * self.split.elements + element, n, None)?;
                        let lanes = self.spread(frame.result(), n, spare);
                        (self.split.folder.interleaved)(n, accumulators, lanes);
                        element += n;
                    }
                    (self.split.folder.tree)(accumulators);
                    cascade.push(&self.split.folder, 1);
                }
                let total = Value { lanes: cascade.total(&self.split.folder, 1), uniform: false };
                self.split.write(total, output, 1, split, call.out);
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
        call: &Call<'_>,
    ) -> Result<(), Fault> {
        let slot = register_bytes(8);
        // SAFETY: blocks are some of the given outputs, steps are elements of theirs; the scratch holds the cascade.
        unsafe {
            let mut frame = Frame::new(&self.code, call, Cascade::slots(leaves.len()) * slot)?;
            let mut cascade = Cascade::new(frame.extra(), slot, leaves.len());
            let mut start = outputs.start;
            while start < outputs.end {
                let n = LANES.min(outputs.end - start);
                frame.block(start, n, None)?;
                frame.go_to_step(leaves.start * ACROSS_LEAF);
                for leaf in leaves.clone() {
                    let accumulators = cascade.hand();
                    fill(n, accumulators, self.split.identity(), self.split.width);
                    for _ in leaf * ACROSS_LEAF..self.split.elements.min((leaf + 1) * ACROSS_LEAF) {
                        frame.run_step()?;
                        let value = frame.result();
                        let into = if value.uniform { self.split.folder.one } else { self.split.folder.block };
                        into(n, accumulators, value.lanes);
                        frame.next_step();
                    }
                    cascade.push(&self.split.folder, n);
                }
                let total = Value { lanes: cascade.total(&self.split.folder, n), uniform: false };
                self.split.write(total, start, n, split, call.out);
                start += n;
            }
        }
        Ok(())
    }

    /// A value's lanes, in `spare` if it is only one.
    ///
    /// # Safety
    /// The value holds `n` lanes or is uniform; `spare` has room for a block.
    unsafe fn spread(&self, value: Value, n: usize, spare: *mut u8) -> *const u8 {
        if value.uniform && n > 1 {
            // SAFETY: the caller's promise.
            unsafe { fill(n, spare, value.lanes, self.split.width) };
            return spare;
        }
        value.lanes
    }
}
