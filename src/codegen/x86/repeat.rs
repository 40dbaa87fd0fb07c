//! A program of one part that a thread runs over and over, on other memory each time: its kernel is told only once what never changes.

use super::call::Call;
use super::kernel::Kernel;
use super::walk::Bases;
use crate::codegen::{self, Next};
use smallvec::SmallVec;
use std::arch::x86_64::_mm_sfence;

/// A kernel with its frame, told everything but where operands and output begin.
pub(in crate::codegen) struct Repeat<'j> {
    call: Call<'j>,
    bases: &'j Bases,
    rows: usize,
    length: usize,
    position_step: usize,
    /// The output begins at a multiple of so many bytes, or the program is run in another way.
    align: usize,
    /// After a run, the kernel has already gone on to where the next one begins.
    goes_on: bool,
}

/// A program that is one run of one kernel.
pub(in crate::codegen) struct OneRun<'j> {
    pub(super) kernel: &'j Kernel,
    pub(super) bases: &'j Bases,
    /// The bytes from one row of each operand to the next.
    pub(super) steps: SmallVec<[i64; 16]>,
    pub(super) rows: usize,
    pub(super) length: usize,
    /// The bytes from one row of the output to the next.
    pub(super) output_step: i64,
    /// How far apart rows are in the index space.
    pub(super) position_step: usize,
    /// Results are stored past the caches.
    pub(super) streams: bool,
}

impl<'j> OneRun<'j> {
    /// The bytes that the kernel's frame needs.
    pub(in crate::codegen) fn frame_bytes(&self) -> usize {
        self.kernel.frame_bytes
    }

    /// Tells the kernel what never changes, and where `next` runs will be, if that is known.
    ///
    /// # Safety
    /// `frame` is on a cache line and has room for [`OneRun::frame_bytes`], for nobody else as long as this is in use.
    pub(in crate::codegen) unsafe fn repeat(
        mut self,
        scalars: &[u64],
        frame: *mut u8,
        next: Option<&Next<'_>>,
    ) -> Repeat<'j> {
        let OneRun { kernel, bases, .. } = self;
        let goes_on = next.is_some_and(|next| self.go_on(next));
        // SAFETY: the caller's promise.
        let mut call = unsafe { Call::new(kernel, frame) };
        call.scalars(scalars);
        for (k, &step) in self.steps.iter().enumerate() {
            call.step(k, step);
        }
        call.step(bases.len(), self.output_step);
        for own in bases.len() + 1..kernel.pointers {
            call.step(own, 0);
        }
        let (rows, length, position_step, align) = (self.rows, self.length, self.position_step, self.align());
        Repeat { call, bases, rows, length, position_step, align, goes_on }
    }

    /// What the output's first byte is a multiple of.
    fn align(&self) -> usize {
        if self.streams { self.kernel.vector_bytes() as usize } else { 1 }
    }

    /// Whether the kernel goes on to the next run by itself. A single row may step anywhere.
    fn go_on(&mut self, next: &Next<'_>) -> bool {
        if next.output % self.align() as i64 != 0 {
            return false;
        }
        let to_next = |k: usize| next.loads[k] + self.bases.by_origin(k, next.origin);
        let loads: SmallVec<[i64; 16]> = (0..self.bases.len()).map(to_next).collect();
        let position = self.bases.position_step(next.origin);
        if self.rows == 1 {
            (self.steps, self.output_step, self.position_step) = (loads, next.output, position);
            return true;
        }
        let rows = self.rows as i64;
        let are_even = self.steps.iter().zip(&loads).all(|(step, to_next)| step * rows == *to_next);
        are_even && self.output_step * rows == next.output && self.position_step.wrapping_mul(self.rows) == position
    }
}

impl Repeat<'_> {
    /// Runs everything; `false`, with nothing done, where the output does not begin as it should.
    ///
    /// # Safety
    /// As for [`codegen::Compiled::run_all`].
    pub(in crate::codegen) unsafe fn run(&mut self, on: &codegen::Call<'_>) -> bool {
        if !on.out.addr().is_multiple_of(self.align) {
            self.goes_on = false;
            return false;
        }
        let operands = self.bases.len();
        for k in 0..operands {
            self.call.pointer(k, self.bases.address(on, k, 0));
        }
        self.call.pointer(operands, on.out.addr() as i64);
        self.call.position(self.bases.position(on, 0), self.position_step);
        // SAFETY: the rows are those of the whole program, for which the caller vouches.
        unsafe { self.call.run(self.rows, self.length) };
        true
    }
}

impl Repeat<'_> {
    /// Runs everything on what follows the last run's operands and output; `false`, with nothing done, where that is not known.
    ///
    /// # Safety
    /// As for [`codegen::Compiled::run_all`] on those; the last thing done was a run, by this function or by [`Repeat::run`].
    pub(in crate::codegen) unsafe fn run_next(&mut self) -> bool {
        if self.goes_on {
            // SAFETY: as for `run`.
            unsafe { self.call.run(self.rows, self.length) };
        }
        self.goes_on
    }
}

impl Drop for Repeat<'_> {
    /// Waits until others can see what was stored.
    fn drop(&mut self) {
        if self.align > 1 {
            // SAFETY: every x86-64 has it.
            unsafe { _mm_sfence() };
        }
    }
}
