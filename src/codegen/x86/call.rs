//! Telling a kernel what to run on: the words at the beginning of its frame.

use super::frame::{LENGTH, POINTERS, POSITION, POSITION_STEP, ROWS};
use super::kernel::Kernel;
use crate::ops::vector::Lane;

/// A kernel with its frame.
pub(super) struct Call<'k> {
    kernel: &'k Kernel,
    frame: *mut u8,
}

impl<'k> Call<'k> {
    /// # Safety
    /// `frame` is aligned to 8 bytes and has room for [`Kernel::frame_bytes`], for as long as the call lives.
    pub(super) unsafe fn new(kernel: &'k Kernel, frame: *mut u8) -> Call<'k> {
        Call { kernel, frame }
    }

    fn set(&mut self, at: usize, value: i64) {
        debug_assert!(at + 8 <= self.kernel.frame_bytes);
        // SAFETY: whoever made the call vouches for the frame's size and alignment.
        unsafe { self.frame.add(at).cast::<i64>().write(value) }
    }

    /// Where a pointer begins.
    pub(super) fn pointer(&mut self, pointer: usize, address: i64) {
        assert!(pointer < self.kernel.pointers, "the kernel has this pointer");
        self.set(POINTERS + 8 * pointer, address);
    }

    /// The bytes from one row to the next.
    pub(super) fn step(&mut self, pointer: usize, bytes: i64) {
        assert!(pointer < self.kernel.pointers, "the kernel has this pointer");
        self.set(POINTERS + 8 * (self.kernel.pointers + pointer), bytes);
    }

    /// The values of all scalars, by their numbers.
    pub(super) fn scalars(&mut self, values: &[u64]) {
        for &(slot, lane, at) in &self.kernel.scalars {
            let bits = values[usize::from(slot)] as i64;
            self.set(at, if lane == Lane::Mask { -i64::from(bits != 0) } else { bits });
        }
    }

    /// The position of the first element, and what the next row adds to it.
    pub(super) fn position(&mut self, first: usize, step: usize) {
        self.set(POSITION, first as i64);
        self.set(POSITION_STEP, step as i64);
    }

    /// Runs so many rows of so many elements.
    ///
    /// # Safety
    /// The machine has the instructions of kernels. The pointers and steps are such that every element of every row can be read, or
    /// written by nobody else. A run leaves steps as they were, and pointers and the position at the row after its last.
    pub(super) unsafe fn run(&mut self, rows: usize, length: usize) {
        debug_assert!(rows > 0);
        self.sizes(rows, length);
        // SAFETY: the caller's promise, and that of whoever made the call.
        unsafe { self.run_again() }
    }

    /// How many rows of how many elements there are.
    pub(super) fn sizes(&mut self, rows: usize, length: usize) {
        self.set(ROWS, rows as i64);
        self.set(LENGTH, length as i64);
    }

    /// Runs the rows and elements told last. Kernels that turn an operand leave all as it was, for this to be done again.
    ///
    /// # Safety
    /// As for [`Call::run`].
    pub(super) unsafe fn run_again(&mut self) {
        // SAFETY: the caller's promise, and that of whoever made the call.
        unsafe { self.kernel.run(self.frame) }
    }
}
