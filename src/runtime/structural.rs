//! Kernels that only move elements: concat, gather, scatter.

use super::threads::parallel;
use crate::dtype::{DType, NumericDType, TensorDType, bf16, f16, with_dtype};
use crate::error::Result;
use crate::graph::{Node, Op};
use crate::memory::{Buffer, no_memory};
use crate::reference::index_out_of_range;
use crate::schedule::Operand;
use crate::shape::{Read, Shape, View, index_to_position, len_of, row_major_strides};
use std::sync::PoisonError;

/// The parts one after the other along an axis.
pub(super) fn concat(node: &Node, parts: &[Operand], axis: usize, reads: &[Buffer]) -> Result<Buffer> {
    with_dtype!(node.dtype(), T => concat_typed::<T>(node, parts, axis, reads))
}

fn concat_typed<T: TensorDType>(node: &Node, parts: &[Operand], axis: usize, reads: &[Buffer]) -> Result<Buffer> {
    let before: usize = node.shape()[..axis].iter().product();
    let mut values: Vec<T> = reserved("concat", node.len())?;
    let mut readers = Vec::with_capacity(parts.len());
    for part in parts {
        readers.push((Elements::<T>::new(part, reads)?, part.view.shape()));
    }
    for block in 0..before {
        for (elements, shape) in &readers {
            let len: usize = shape[axis..].iter().product();
            elements.extend(&mut values, block * len, len);
        }
    }
    Buffer::from_vec("concat", values)
}

/// `out[.., j, ..] = input[.., index[.., j, ..], ..]`.
pub(super) fn gather(node: &Node, input: &Operand, index: &Operand, axis: usize, reads: &[Buffer]) -> Result<Buffer> {
    with_dtype!(node.dtype(), T => gather_typed::<T>(node, input, index, axis, reads))
}

fn gather_typed<T: TensorDType>(
    node: &Node,
    input: &Operand,
    index: &Operand,
    axis: usize,
    reads: &[Buffer],
) -> Result<Buffer> {
    let input_shape = input.view.shape();
    let size = input_shape[axis];
    let input = Elements::<T>::new(input, reads)?;
    let index = Elements::<i64>::new(index, reads)?;
    let len = node.len();
    let wrong: std::sync::Mutex<Option<(usize, i64)>> = std::sync::Mutex::new(None);
    let out = Buffer::build::<T>("gather", len, |out| {
        let slots = Slots(out.as_mut_ptr());
        parallel(len.div_ceil(PART).max(1), &|part| {
            let range = part * PART..((part + 1) * PART).min(len);
            let mut odometer = Odometer::new(node.shape(), range.start);
            for k in range {
                let at = index.get(&odometer.index, k);
                let Some(wrapped) = wrap(at, size) else {
                    // Of several the first in order is named, whichever thread came first.
                    let mut wrong = wrong.lock().unwrap_or_else(PoisonError::into_inner);
                    *wrong = Some(wrong.map_or((k, at), |other| other.min((k, at))));
                    return;
                };
                let kept = std::mem::replace(&mut odometer.index[axis], wrapped);
                let value = input.at(&odometer.index);
                odometer.index[axis] = kept;
                // SAFETY: k < len, each k belongs to one part, and `parallel` joins before `out` is used again.
                unsafe { slots.get().add(k).write(value) };
                odometer.advance();
            }
        });
        Ok(())
    })?;
    match wrong.into_inner().unwrap_or_else(PoisonError::into_inner) {
        None => Ok(out),
        Some((_, at)) => {
            let name = node.with_op(|op| if let Op::Gather { name, .. } = op { name } else { op.name() });
            let inputs = node.inputs();
            Err(index_out_of_range(name, at, size, node, &inputs.iter().collect::<Vec<_>>()))
        }
    }
}

/// How many elements one thread gathers at a time.
const PART: usize = 1 << 14;

/// An index below zero counts from the end; `None` outside the axis.
fn wrap(at: i64, size: usize) -> Option<usize> {
    let wrapped = if at < 0 { at.wrapping_add(size as i64) } else { at };
    usize::try_from(wrapped).ok().filter(|&place| place < size)
}

/// Zeros, with `source` added at `index`. One thread, in order: the same sum every time.
pub(super) fn scatter_add(
    node: &Node,
    index: &Operand,
    source: &Operand,
    axis: usize,
    reads: &[Buffer],
) -> Result<Buffer> {
    match node.dtype() {
        // Sixteen-bit floats are added in 32 bits and rounded once.
        DType::F16 => scatter_add_as::<f16, f32>(node, index, source, axis, reads),
        DType::BF16 => scatter_add_as::<bf16, f32>(node, index, source, axis, reads),
        DType::F32 => scatter_add_as::<f32, f32>(node, index, source, axis, reads),
        DType::F64 => scatter_add_as::<f64, f64>(node, index, source, axis, reads),
        DType::I8 => scatter_add_as::<i8, i8>(node, index, source, axis, reads),
        DType::I16 => scatter_add_as::<i16, i16>(node, index, source, axis, reads),
        DType::I32 => scatter_add_as::<i32, i32>(node, index, source, axis, reads),
        DType::I64 => scatter_add_as::<i64, i64>(node, index, source, axis, reads),
        DType::U8 => scatter_add_as::<u8, u8>(node, index, source, axis, reads),
        DType::U16 => scatter_add_as::<u16, u16>(node, index, source, axis, reads),
        DType::U32 => scatter_add_as::<u32, u32>(node, index, source, axis, reads),
        DType::U64 => scatter_add_as::<u64, u64>(node, index, source, axis, reads),
        DType::Bool => unreachable!("a sum of bools is refused when it is asked for"),
    }
}

/// A number that a sum is kept in.
trait Total<T>: NumericDType {
    fn plus(self, value: T) -> Self;
    fn settle(self) -> T;
}

macro_rules! totals {
    ($($value:ty, $total:ty, $plus:expr, $settle:expr;)*) => {$(
        impl Total<$value> for $total {
            fn plus(self, value: $value) -> $total {
                let plus: fn($total, $value) -> $total = $plus;
                plus(self, value)
            }
            fn settle(self) -> $value {
                let settle: fn($total) -> $value = $settle;
                settle(self)
            }
        }
    )*};
}

totals! {
    f16, f32, |a, b| a + b.to_f32(), f16::from_f32;
    bf16, f32, |a, b| a + b.to_f32(), bf16::from_f32;
    f32, f32, |a, b| a + b, |a| a;
    f64, f64, |a, b| a + b, |a| a;
    i8, i8, i8::wrapping_add, |a| a;
    i16, i16, i16::wrapping_add, |a| a;
    i32, i32, i32::wrapping_add, |a| a;
    i64, i64, i64::wrapping_add, |a| a;
    u8, u8, u8::wrapping_add, |a| a;
    u16, u16, u16::wrapping_add, |a| a;
    u32, u32, u32::wrapping_add, |a| a;
    u64, u64, u64::wrapping_add, |a| a;
}

fn scatter_add_as<T: TensorDType, S: Total<T>>(
    node: &Node,
    index: &Operand,
    source: &Operand,
    axis: usize,
    reads: &[Buffer],
) -> Result<Buffer> {
    let size = node.shape()[axis];
    let shape = source.view.shape();
    let index = Elements::<i64>::new(index, reads)?;
    let source = Elements::<T>::new(source, reads)?;
    let mut totals: Vec<S> = reserved("scatter_add", node.len())?;
    totals.resize(node.len(), S::ZERO);
    let strides = row_major_strides(node.shape());
    let mut odometer = Odometer::new(&shape, 0);
    for k in 0..len_of(&shape) {
        let at = index.get(&odometer.index, k);
        let wrapped = wrap(at, size).ok_or_else(|| index_out_of_range("scatter_add", at, size, node, &[]))?;
        let kept = std::mem::replace(&mut odometer.index[axis], wrapped);
        let total = &mut totals[index_to_position(&odometer.index, &strides) as usize];
        odometer.index[axis] = kept;
        *total = total.plus(source.get(&odometer.index, k));
        odometer.advance();
    }
    Buffer::from_vec("scatter_add", totals.into_iter().map(S::settle).collect())
}

/// An empty vector with room for `len` elements, or an error.
fn reserved<T: TensorDType>(op: &str, len: usize) -> Result<Vec<T>> {
    let mut values = Vec::new();
    values.try_reserve_exact(len).map_err(|_| no_memory(op, T::DTYPE, len))?;
    Ok(values)
}

/// A typed operand: its buffer's elements and the way to them.
struct Elements<'a, T> {
    values: &'a [T],
    view: &'a View,
    /// Offset and strides, where the view is nothing more.
    linear: Option<(isize, &'a [isize])>,
    /// Element `k` of the view is element `k` of the buffer.
    dense: bool,
}

impl<'a, T: TensorDType> Elements<'a, T> {
    fn new(operand: &'a Operand, reads: &'a [Buffer]) -> Result<Elements<'a, T>> {
        let values = reads[operand.read].try_as_slice::<T>("realize")?;
        let linear = match &operand.view {
            View::Linear { offset, strides, .. } => Some((*offset, &strides[..])),
            View::IndexExpr { .. } | View::Padded { .. } | View::Masked { .. } => None,
        };
        Ok(Elements { values, view: &operand.view, linear, dense: operand.view.is_contiguous() })
    }

    /// The element at an index that is element `k` in row-major order.
    fn get(&self, index: &[usize], k: usize) -> T {
        if self.dense { self.values[k] } else { self.at(index) }
    }

    fn at(&self, index: &[usize]) -> T {
        if let Some((offset, strides)) = self.linear {
            let place = index.iter().zip(strides).fold(offset, |sum, (&i, &stride)| sum + i as isize * stride);
            return self.values[place as usize];
        }
        match self.view.read(index) {
            Read::At(place) => self.values[place],
            Read::Default(literal) => T::from_literal(literal).expect("a default has the dtype of its view"),
        }
    }

    /// Appends `len` elements from the `start`-th on.
    fn extend(&self, out: &mut Vec<T>, start: usize, len: usize) {
        if self.dense {
            out.extend_from_slice(&self.values[start..start + len]);
            return;
        }
        let mut odometer = Odometer::new(&self.view.shape(), start);
        for _ in 0..len {
            out.push(self.at(&odometer.index));
            odometer.advance();
        }
    }
}

/// An index that counts through a shape.
struct Odometer {
    index: Shape,
    shape: Shape,
}

impl Odometer {
    fn new(shape: &[usize], start: usize) -> Odometer {
        Odometer { index: crate::shape::ordinal_to_index(start, shape), shape: shape.into() }
    }

    fn advance(&mut self) {
        for axis in (0..self.shape.len()).rev() {
            self.index[axis] += 1;
            if self.index[axis] < self.shape[axis] {
                return;
            }
            self.index[axis] = 0;
        }
    }
}

/// The start of an output whose elements are written by several threads, each its own.
struct Slots<T>(*mut T);

impl<T> Slots<T> {
    fn get(&self) -> *mut T {
        self.0
    }
}

// SAFETY: the one use above writes each element from one thread only.
unsafe impl<T: Send> Sync for Slots<T> {}
