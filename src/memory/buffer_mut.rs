//! Memory that has one owner and is still being filled.

use super::Buffer;
use super::buffer::{Memory, no_memory, wrong_dtype};
use super::pool::{self, Pool};
use crate::dtype::{DType, TensorDType};
use crate::error::Result;
use std::fmt;
use std::mem::MaybeUninit;

/// A buffer under construction: it has one owner, who fills it and then freezes it into a [`Buffer`].
///
/// While it is a `BufferMut` nobody else can read it, so filling it needs no lock; once frozen it never changes
/// while shared. Kernels write through [`as_mut_ptr`](BufferMut::as_mut_ptr), safe code through the slices.
pub(crate) struct BufferMut {
    memory: Memory,
    /// Every element is known to be a valid value.
    filled: bool,
}

impl BufferMut {
    /// Memory with any contents.
    pub(crate) fn uninit(op: &str, dtype: DType, len: usize) -> Result<BufferMut> {
        BufferMut::uninit_in(&pool::HOST, op, dtype, len)
    }

    /// As [`BufferMut::uninit`], out of a given pool.
    pub(super) fn uninit_in(pool: &'static Pool, op: &str, dtype: DType, len: usize) -> Result<BufferMut> {
        let bytes = len.checked_mul(dtype.size());
        let block = bytes.and_then(|bytes| pool.take(bytes)).ok_or_else(|| no_memory(op, dtype, len))?;
        if cfg!(debug_assertions) {
            // Fresh pages are zero, which hides forgotten writes: this shows them in tests.
            // SAFETY: the block is ours and at least this long.
            unsafe { block.start().as_ptr().write_bytes(0xA5, block.bytes().min(1 << 16)) };
        }
        Ok(BufferMut { memory: Memory { block, dtype, len }, filled: false })
    }

    /// Zeros (`false`).
    pub(crate) fn zeroed(op: &str, dtype: DType, len: usize) -> Result<BufferMut> {
        let mut buffer = BufferMut::uninit(op, dtype, len)?;
        buffer.zero();
        Ok(buffer)
    }

    fn zero(&mut self) {
        // SAFETY: the block is ours alone and has `bytes` bytes. Zero is a value of every dtype.
        unsafe { self.as_mut_ptr().write_bytes(0, self.memory.block.bytes()) };
        self.filled = true;
    }

    /// Memory that came out of a frozen buffer.
    #[cfg(test)]
    pub(super) fn from_filled(memory: Memory) -> BufferMut {
        BufferMut { memory, filled: true }
    }

    /// The address of the first element. Writing is allowed within `len` elements until `freeze`.
    pub(crate) fn as_mut_ptr(&mut self) -> *mut u8 {
        self.memory.block.start().as_ptr()
    }

    /// The address of the first element, for code that shares the work of filling the buffer.
    pub(crate) fn as_ptr(&self) -> *const u8 {
        self.memory.block.start().as_ptr()
    }

    /// The elements for reading and writing.
    ///
    /// Memory from [`uninit`](BufferMut::uninit) is zeroed by the first call, even where a kernel wrote to it.
    pub(crate) fn as_mut_slice<T: TensorDType>(&mut self, op: &str) -> Result<&mut [T]> {
        self.check::<T>(op)?;
        if !self.filled {
            self.zero();
        }
        // SAFETY: `len` valid values of `T` (checked and zeroed above), aligned, and borrowed from their one owner.
        Ok(unsafe { std::slice::from_raw_parts_mut(self.as_mut_ptr().cast::<T>(), self.memory.len) })
    }

    /// The elements for writing once, unread: no time is spent on zeros.
    pub(crate) fn as_uninit_slice<T: TensorDType>(&mut self, op: &str) -> Result<&mut [MaybeUninit<T>]> {
        self.check::<T>(op)?;
        // A caller may also put "uninit" in.
        self.filled = false;
        // SAFETY: room for `len` elements of `T`, aligned, borrowed from their one owner; any bytes are valid here.
        Ok(unsafe { std::slice::from_raw_parts_mut(self.as_mut_ptr().cast::<MaybeUninit<T>>(), self.memory.len) })
    }

    fn check<T: TensorDType>(&self, op: &str) -> Result<()> {
        if T::DTYPE == self.memory.dtype { Ok(()) } else { Err(wrong_dtype(op, T::DTYPE, self.memory.dtype)) }
    }

    /// Ends the writing: from here on the memory is shared and read-only.
    ///
    /// # Safety
    /// Every element holds a valid value of the dtype (a bool is the byte 0 or 1), and nobody writes through an
    /// address taken earlier.
    pub(crate) unsafe fn freeze(self) -> Buffer {
        if cfg!(debug_assertions) && self.memory.dtype == DType::Bool {
            let start = self.memory.block.start().as_ptr();
            // SAFETY: the caller filled all `len` bytes.
            let bytes = unsafe { std::slice::from_raw_parts(start, self.memory.len) };
            assert!(bytes.iter().all(|&byte| byte <= 1), "a bool buffer holds a byte other than 0 and 1");
        }
        Buffer::from_filled(self.memory)
    }
}

impl fmt::Debug for BufferMut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "BufferMut({} x {})", self.memory.len, self.memory.dtype)
    }
}
