//! A program of one part that a thread runs over and over, on other memory each time: its kernel is told only once what never changes.

use super::call::Call;
use super::kernel::Kernel;
use super::walk::Bases;
use crate::codegen;
use smallvec::SmallVec;
use std::arch::x86_64::_mm_sfence;

/// A kernel with its frame, told everything but where operands and output begin.
pub(in crate::codegen) struct Repeat<'j> {
    call: Call<'j>,
    bases: &'j Bases,
    rows: usize,
    length: usize,
    /// The output begins at a multiple of so many bytes, or the program is run in another way.
    align: usize,
}

/// A program that is one run of one kernel.
pub(in crate::codegen) struct OneRun<'j> {
    pub(super) kernel: &'j Kernel,
    pub(super) bases: &'j Bases,
    /// The bytes from one row of each operand to the next.
    pub(super) steps: SmallVec<[i64; 8]>,
    pub(super) rows: usize,
    pub(super) length: usize,
    /// The bytes from one row of the output to the next.
    pub(super) output_step: i64,
    /// Results are stored past the caches.
    pub(super) streams: bool,
}

impl<'j> OneRun<'j> {
    /// The bytes that the kernel's frame needs.
    pub(in crate::codegen) fn frame_bytes(&self) -> usize {
        self.kernel.frame_bytes
    }

    /// Tells the kernel what never changes.
    ///
    /// # Safety
    /// `frame` is on a cache line and has room for [`OneRun::frame_bytes`], for nobody else as long as this is in use.
    pub(in crate::codegen) unsafe fn repeat(self, scalars: &[u64], frame: *mut u8) -> Repeat<'j> {
        let OneRun { kernel, bases, .. } = self;
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
        let align = if self.streams { kernel.vector_bytes() as usize } else { 1 };
        Repeat { call, bases, rows: self.rows, length: self.length, align }
    }
}

impl Repeat<'_> {
    /// Runs everything; `false`, with nothing done, where the output does not begin as it should.
    ///
    /// # Safety
    /// As for [`codegen::Compiled::run_all`].
    pub(in crate::codegen) unsafe fn run(&mut self, on: &codegen::Call<'_>) -> bool {
        if !on.out.addr().is_multiple_of(self.align) {
            return false;
        }
        let operands = self.bases.len();
        for k in 0..operands {
            self.call.pointer(k, self.bases.address(on, k, 0));
        }
        self.call.pointer(operands, on.out.addr() as i64);
        self.call.position(self.bases.position(on, 0), self.length);
        // SAFETY: the rows are those of the whole program, for which the caller vouches.
        unsafe { self.call.run(self.rows, self.length) };
        true
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
