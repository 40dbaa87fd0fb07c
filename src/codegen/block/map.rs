//! Programs without a fold: one value for every output.
//!
//! Blocks are consecutive outputs, whatever the shape: short inner axes do not make short blocks. Only where rows are looked up
//! in a table a block ends with its row, so that the place of the row is found once.

use super::access::Strided;
use super::code::Code;
use super::convert::{Storer, storer};
use super::frame::{Frame, Value};
use super::lanes::Kernel;
use super::{LANES, PART_WORK, words};
use crate::codegen::Call;
use crate::lower::program::{Access, Load, LoopProgram};
use crate::ops::vector::{Fault, Lane};

/// Shorter rows are not worth a block of their own.
const SHORTEST_ROW: usize = 64;

/// An elementwise program.
pub(super) struct Map {
    code: Code,
    store: Store,
    /// The outputs, and how many of them make a part.
    outputs: usize,
    part: usize,
    /// No block goes beyond a multiple of this.
    row: usize,
    /// The slots of the operands that are read at strides, and the bytes before the first element of each.
    starts: Vec<(usize, isize)>,
}

impl Map {
    /// Makes a program without a fold ready.
    pub(super) fn of(program: &LoopProgram, vector: bool) -> Map {
        assert!(program.reduced.is_empty(), "reduced axes need a fold");
        let code = Code::of(program, program.outer.len(), vector);
        let part = (PART_WORK / code.weight()).div_ceil(LANES).max(1) * LANES;
        let outputs = program.outer.iter().product();
        let last = program.outer.iter().rev().copied().find(|&size| size > 1).unwrap_or(1);
        let row = if code.looks_up_rows() && last >= SHORTEST_ROW { last } else { usize::MAX };
        let start = |(slot, load): (usize, &Load)| match load.access {
            Access::Strided { offset, .. } => Some((slot, offset as isize * load.dtype.size() as isize)),
            Access::Computed { .. } => None,
        };
        let starts = program.loads.iter().enumerate().filter_map(start).collect();
        Map { store: Store::of(program, vector), code, outputs, part, row, starts }
    }

    /// Whether the output is an operand's own memory: then no word may write there before all have read.
    fn overwrites(&self, call: &Call<'_>) -> bool {
        let begins = |&(slot, skip): &(usize, isize)| call.loads[slot].wrapping_offset(skip) == call.out.cast_const();
        self.starts.iter().any(begins)
    }

    pub(super) fn parts(&self) -> usize {
        self.outputs.div_ceil(self.part).max(1)
    }

    /// # Safety
    /// As for [`crate::codegen::Compiled::run`].
    pub(super) unsafe fn run(&self, part: usize, call: &Call<'_>) -> Result<(), Fault> {
        let end = self.outputs.min((part + 1) * self.part);
        let mut start = part * self.part;
        if start >= end {
            return Ok(());
        }
        let overwrites = self.overwrites(call);
        // SAFETY: the caller vouches for operands and output; blocks stay below `outputs`.
        unsafe {
            let mut frame = Frame::new(&self.code, call, 0)?;
            while start < end {
                let n = LANES.min(end - start).min(self.row - start % self.row);
                let direct = if overwrites { None } else { self.store.direct(call.out, start, n) };
                frame.block(start, n, direct)?;
                self.store.store(frame.result(), call.out, start, n);
                start += n;
            }
        }
        Ok(())
    }
}

/// Writes results as the stored dtype.
pub(in crate::codegen) struct Store {
    storer: Storer,
    kernels: &'static [Kernel],
    /// The bytes of an element, and of a lane.
    size: usize,
    width: usize,
    /// Where the outputs are.
    places: Strided,
}

impl Store {
    /// For the dtype a program stores.
    pub(super) fn of(program: &LoopProgram, vector: bool) -> Store {
        let storer = storer(program.stored);
        let width = words::width(Lane::of(program.stored));
        let places = Strided::new(0, &program.store, &program.outer, program.outer.len(), 0);
        Store { storer, kernels: storer.dense.pick(vector), size: program.stored.size(), width, places }
    }

    /// Whether lanes are elements already.
    pub(in crate::codegen) fn as_they_are(&self) -> bool {
        self.storer.direct
    }

    /// Where `n` results from `start` on can be written as they are, if they can.
    ///
    /// # Safety
    /// The outputs are some of those behind `out`.
    unsafe fn direct(&self, out: *mut u8, start: usize, n: usize) -> Option<*mut u8> {
        let place = self.places.place(start);
        let together = n == 1 || self.places.stride() == 1 && place.room >= n;
        // SAFETY: the caller's promise.
        (self.storer.direct && together).then(|| unsafe { out.offset(place.position as isize * self.size as isize) })
    }

    /// Writes the results of the `n` outputs from `start` on, unless they are in place already.
    ///
    /// # Safety
    /// The value holds `n` lanes (one if uniform), and the outputs are some of those behind `out`.
    pub(in crate::codegen) unsafe fn store(&self, value: Value, out: *mut u8, start: usize, n: usize) {
        let kernel = self.kernels[usize::from(value.uniform)];
        let each = if self.places.stride() == 1 { usize::MAX } else { 1 };
        self.places.runs(start, n, |lane, length, position| {
            for first in (0..length).step_by(each.min(length)) {
                let position = position + first as i64 * self.places.stride();
                let from = value.lanes.wrapping_add(if value.uniform { 0 } else { (lane + first) * self.width });
                // SAFETY: the caller's promise; the operands that are not there have no bytes.
                unsafe {
                    let to = out.offset(position as isize * self.size as isize);
                    if from != to.cast_const() {
                        kernel(each.min(length), to, from, from, from);
                    }
                }
            }
        });
    }
}
