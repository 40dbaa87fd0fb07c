//! A program of one part that a thread runs over and over, on other memory each time: its kernel is told only once what never changes.

use super::call::Call;
use super::kernel::Kernel;
use super::walk::{Bases, Scratch};
use crate::codegen;
use std::arch::x86_64::_mm_sfence;

/// A kernel with its frame, told everything but where operands and output begin.
pub(in crate::codegen) struct Repeat<'j> {
    call: Call<'j>,
    /// The frame, for as long as the call.
    _frame: Scratch,
    bases: &'j Bases,
    rows: usize,
    length: usize,
    /// The output begins at a multiple of so many bytes, or the program is run in another way.
    align: usize,
}

/// The rows of a program, as one run of its kernel sees them.
pub(super) struct Shape {
    pub(super) rows: usize,
    pub(super) length: usize,
    /// The bytes from one row of the output to the next.
    pub(super) output_step: i64,
    /// Results are stored past the caches.
    pub(super) streams: bool,
}

impl<'j> Repeat<'j> {
    /// For operands that are so many bytes from one row to the next.
    pub(super) fn new(
        kernel: &'j Kernel,
        bases: &'j Bases,
        scalars: &[u64],
        shape: &Shape,
        step: impl Fn(usize) -> i64,
    ) -> Repeat<'j> {
        let mut frame = Scratch::new(kernel.frame_bytes);
        // SAFETY: the frame has the kernel's size, and is kept beside the call.
        let mut call = unsafe { Call::new(kernel, frame.start()) };
        call.scalars(scalars);
        for k in 0..bases.len() {
            call.step(k, step(k));
        }
        call.step(bases.len(), shape.output_step);
        for own in bases.len() + 1..kernel.pointers {
            call.step(own, 0);
        }
        let align = if shape.streams { kernel.vector_bytes() as usize } else { 1 };
        Repeat { call, _frame: frame, bases, rows: shape.rows, length: shape.length, align }
    }

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
