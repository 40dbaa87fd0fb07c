//! Programs without a fold: one value for every output.
//!
//! Blocks are consecutive outputs, whatever the shape: short inner axes do not make short blocks.

use super::code::Code;
use super::convert::{Storer, storer};
use super::frame::{Frame, Value};
use super::lanes::Kernel;
use super::{LANES, PART_WORK};
use crate::lower::program::LoopProgram;
use crate::ops::vector::Fault;

/// An elementwise program.
pub(super) struct Map {
    code: Code,
    store: Store,
    /// The outputs, and how many of them make a part.
    outputs: usize,
    part: usize,
}

impl Map {
    /// Makes a program without a fold ready.
    pub(super) fn of(program: &LoopProgram, vector: bool) -> Map {
        assert!(program.reduced.is_empty(), "reduced axes need a fold");
        let code = Code::of(program, program.outer.len(), vector);
        let part = (PART_WORK / code.weight()).div_ceil(LANES).max(1) * LANES;
        let outputs = program.outer.iter().product();
        Map { store: Store::of(program, vector), code, outputs, part }
    }

    pub(super) fn parts(&self) -> usize {
        self.outputs.div_ceil(self.part).max(1)
    }

    /// # Safety
    /// As for [`crate::codegen::Compiled::run`].
    pub(super) unsafe fn run(&self, part: usize, loads: &[*const u8], out: *mut u8) -> Result<(), Fault> {
        let end = self.outputs.min((part + 1) * self.part);
        let mut start = part * self.part;
        if start >= end {
            return Ok(());
        }
        // SAFETY: the caller vouches for operands and output; blocks stay below `outputs`.
        unsafe {
            let mut frame = Frame::new(&self.code, loads, 0)?;
            while start < end {
                let n = LANES.min(end - start);
                let to = self.store.element(out, start);
                frame.block(start, n, self.store.direct().then_some(to))?;
                self.store.store(frame.result(), n, to);
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
    size: usize,
}

impl Store {
    /// For the dtype a program stores.
    pub(super) fn of(program: &LoopProgram, vector: bool) -> Store {
        let storer = storer(program.stored);
        Store { storer, kernels: storer.dense.pick(vector), size: program.stored.size() }
    }

    /// Whether lanes are elements already.
    pub(in crate::codegen) fn direct(&self) -> bool {
        self.storer.direct
    }

    /// The address of an output.
    ///
    /// # Safety
    /// The output is one of those behind `out`.
    pub(in crate::codegen) unsafe fn element(&self, out: *mut u8, output: usize) -> *mut u8 {
        // SAFETY: the caller's promise.
        unsafe { out.add(output * self.size) }
    }

    /// Writes `n` results, unless they are in place already.
    ///
    /// # Safety
    /// The value holds `n` lanes (one if uniform), and `to` has room for `n` elements.
    pub(in crate::codegen) unsafe fn store(&self, value: Value, n: usize, to: *mut u8) {
        if value.lanes == to.cast_const() {
            return;
        }
        let kernel = self.kernels[usize::from(value.uniform)];
        // SAFETY: the caller's promise; the operands that are not there have no bytes.
        unsafe { kernel(n, to, value.lanes, value.lanes, value.lanes) }
    }
}
