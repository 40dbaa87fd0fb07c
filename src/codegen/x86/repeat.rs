//! A program of one part that a thread runs over and over, on other memory each time: its kernel is told only once what never changes.

use super::call::Call;
use super::kernel::Kernel;
use super::walk::{Bases, Walk};
use crate::codegen::{self, Next};
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
    /// The operands and the output.
    pub(super) walk: &'j Walk,
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
        self,
        scalars: &[u64],
        frame: *mut u8,
        next: Option<&Next<'_>>,
    ) -> Repeat<'j> {
        let OneRun { kernel, bases, rows, length, .. } = self;
        let next = next.filter(|next| self.goes_on(next));
        // A single row may step anywhere.
        let steps_to = next.filter(|_| rows == 1);
        // SAFETY: the caller's promise.
        let mut call = unsafe { Call::new(kernel, frame) };
        call.scalars(scalars);
        for k in 0..bases.len() {
            call.step(k, steps_to.map_or_else(|| self.step(k), |next| self.to_next(k, next)));
        }
        call.step(bases.len(), steps_to.map_or(self.output_step, |next| next.output));
        for own in bases.len() + 1..kernel.pointers {
            call.step(own, 0);
        }
        let position_step = steps_to.map_or(self.position_step, |next| bases.position_step(next.origin));
        Repeat { call, bases, rows, length, position_step, align: self.align(), goes_on: next.is_some() }
    }

    /// The bytes from one row of an operand to the next.
    fn step(&self, k: usize) -> i64 {
        self.walk.row_stride(k) * self.bases.size(k)
    }

    /// The bytes from where an operand begins to where it does in the next run.
    fn to_next(&self, k: usize, next: &Next<'_>) -> i64 {
        // What a call does not have stays where it is.
        next.loads.get(k).copied().unwrap_or(0) + self.bases.by_origin(k, next.origin)
    }

    /// What the output's first byte is a multiple of.
    fn align(&self) -> usize {
        if self.streams { self.kernel.vector_bytes() as usize } else { 1 }
    }

    /// Whether the kernel goes on to the next run by itself.
    fn goes_on(&self, next: &Next<'_>) -> bool {
        let rows = self.rows as i64;
        let is_even = || {
            (0..self.bases.len()).all(|k| self.step(k) * rows == self.to_next(k, next))
                && self.output_step * rows == next.output
                && self.position_step.wrapping_mul(self.rows) == self.bases.position_step(next.origin)
        };
        next.output % self.align() as i64 == 0 && (rows == 1 || is_even())
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
    /// Whether, after a run, it goes on to the next one by itself.
    pub(in crate::codegen) fn goes_on(&self) -> bool {
        self.goes_on
    }

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
