//! A shared, read-only run of elements of one dtype.

use super::BufferMut;
use super::pool::Block;
use crate::dtype::{DType, Literal, TensorDType, with_dtype};
use crate::error::{Error, ErrorKind, Result};
use std::fmt;
use std::sync::Arc;

/// Reference-counted host memory: elements of one dtype, 64-byte aligned, never changed while shared.
///
/// Cloning copies a pointer. The memory goes back to the pool with the last clone.
#[derive(Clone)]
pub(crate) struct Buffer(Arc<Memory>);

/// The memory under a [`Buffer`] or a [`BufferMut`].
pub(super) struct Memory {
    pub(super) block: Block,
    pub(super) dtype: DType,
    pub(super) len: usize,
}

impl Buffer {
    /// New memory that is still to be filled; see [`BufferMut`].
    pub(crate) fn uninit(op: &str, dtype: DType, len: usize) -> Result<BufferMut> {
        BufferMut::uninit(op, dtype, len)
    }

    /// `len` zeros (`false`).
    #[cfg(test)]
    pub(crate) fn zeroed(op: &str, dtype: DType, len: usize) -> Result<Buffer> {
        let buffer = BufferMut::zeroed(op, dtype, len)?;
        // SAFETY: every byte is zero, which is a value of every dtype.
        Ok(unsafe { buffer.freeze() })
    }

    /// `len` times the same value.
    #[cfg(test)]
    pub(crate) fn filled(op: &str, value: Literal, len: usize) -> Result<Buffer> {
        with_dtype!(value.dtype(), T => {
            let value = T::from_literal(value).unwrap_or_default();
            let mut buffer = BufferMut::uninit(op, T::DTYPE, len)?;
            for slot in buffer.as_uninit_slice::<T>(op)? {
                slot.write(value);
            }
            // SAFETY: the loop wrote every element.
            Ok(unsafe { buffer.freeze() })
        })
    }

    /// A copy of a slice.
    pub(crate) fn from_slice<T: TensorDType>(op: &str, values: &[T]) -> Result<Buffer> {
        let mut buffer = BufferMut::uninit(op, T::DTYPE, values.len())?;
        for (slot, &value) in buffer.as_uninit_slice::<T>(op)?.iter_mut().zip(values) {
            slot.write(value);
        }
        // SAFETY: the slice and the buffer are equally long, so the loop wrote every element.
        Ok(unsafe { buffer.freeze() })
    }

    /// The values of a vector. They are copied: a vector's memory is not aligned as kernels want it.
    pub(crate) fn from_vec<T: TensorDType>(op: &str, values: Vec<T>) -> Result<Buffer> {
        Buffer::from_slice(op, &values)
    }

    /// `len` elements written by `fill`, which finds zeros.
    pub(crate) fn build<T: TensorDType>(
        op: &str,
        len: usize,
        fill: impl FnOnce(&mut [T]) -> Result<()>,
    ) -> Result<Buffer> {
        let mut buffer = BufferMut::zeroed(op, T::DTYPE, len)?;
        fill(buffer.as_mut_slice(op)?)?;
        // SAFETY: zeroed at first, and `fill` could write nothing but values of `T`.
        Ok(unsafe { buffer.freeze() })
    }

    /// The dtype of the elements.
    pub(crate) fn dtype(&self) -> DType {
        self.0.dtype
    }

    /// How many elements.
    pub(crate) fn len(&self) -> usize {
        self.0.len
    }

    /// Whether there is no element.
    #[cfg(test)]
    pub(crate) fn is_empty(&self) -> bool {
        self.0.len == 0
    }

    /// The bytes the elements take.
    #[cfg(test)]
    pub(crate) fn bytes(&self) -> usize {
        self.0.block.bytes()
    }

    /// The elements; `None` if `T` is not their type.
    pub(crate) fn as_slice<T: TensorDType>(&self) -> Option<&[T]> {
        if T::DTYPE != self.0.dtype {
            return None;
        }
        // SAFETY: `freeze` promised `len` valid values of this dtype (and so of `T`: a dtype has one Rust type), the
        // block is aligned to 64 bytes and lives as long as `self`, and nobody writes to it while it is shared.
        Some(unsafe { std::slice::from_raw_parts(self.0.block.start().as_ptr().cast::<T>(), self.0.len) })
    }

    /// The elements, or an error that names the dtype expected and the one found.
    pub(crate) fn try_as_slice<T: TensorDType>(&self, op: &str) -> Result<&[T]> {
        self.as_slice().ok_or_else(|| wrong_dtype(op, T::DTYPE, self.0.dtype))
    }

    /// A copy of the elements as a vector.
    pub(crate) fn to_vec<T: TensorDType>(&self, op: &str) -> Result<Vec<T>> {
        let values = self.try_as_slice::<T>(op)?;
        let mut copy = Vec::new();
        copy.try_reserve_exact(values.len()).map_err(|_| no_memory(op, self.0.dtype, self.0.len))?;
        copy.extend_from_slice(values);
        Ok(copy)
    }

    /// The address of the first element. Reading is allowed within `len` elements and as long as a clone lives.
    pub(crate) fn as_ptr(&self) -> *const u8 {
        self.0.block.start().as_ptr()
    }

    /// The address of the first element, to write others there: only where this is the only clone.
    pub(crate) fn overwrite(&mut self) -> Option<*mut u8> {
        Arc::get_mut(&mut self.0).map(|memory| memory.block.start().as_ptr())
    }

    /// The element at `position`, with its dtype.
    ///
    /// Panics when there is no such element, as indexing a slice does.
    pub(crate) fn literal(&self, position: usize) -> Literal {
        with_dtype!(self.0.dtype, T => match self.as_slice::<T>() {
            Some(values) => values[position].literal(),
            None => unreachable!("the type was chosen by the dtype"),
        })
    }

    /// Whether both are clones of one buffer.
    #[cfg(test)]
    pub(crate) fn shares_memory(&self, other: &Buffer) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// The memory for writing in place, if this is the last clone; otherwise the buffer again.
    #[cfg(test)]
    pub(crate) fn into_mut(self) -> std::result::Result<BufferMut, Buffer> {
        Arc::try_unwrap(self.0).map(BufferMut::from_filled).map_err(Buffer)
    }

    /// Shares memory whose elements are all valid.
    pub(super) fn from_filled(memory: Memory) -> Buffer {
        Buffer(Arc::new(memory))
    }
}

impl fmt::Debug for Buffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Buffer({} x {})", self.0.len, self.0.dtype)
    }
}

/// The error for elements read as another dtype than theirs.
pub(super) fn wrong_dtype(op: &str, expected: DType, got: DType) -> Error {
    let message = format!("expected {expected}, got {got}: read it as {got}, or cast it to {expected} first");
    Error::new(ErrorKind::DType, op, message)
}

/// The error for memory that is not to be had.
pub(crate) fn no_memory(op: &str, dtype: DType, len: usize) -> Error {
    let bytes = len as u128 * dtype.size() as u128;
    let message =
        format!("no memory for {bytes} bytes ({len} elements of {dtype}): use fewer elements, or drop tensors");
    Error::new(ErrorKind::Memory, op, message)
}
