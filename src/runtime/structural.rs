//! Kernels that only move elements: concat, gather, scatter.

use super::prepared::Moves;
use super::run::{Space, Stop};
use super::threads::parallel;
use crate::dtype::{DType, NumericDType, TensorDType, bf16, f16, with_dtype};
use crate::graph::Lookup;
use crate::memory::no_memory;
use crate::schedule::{Operand, Work};
use crate::shape::{Read, Shape, View, index_to_position, len_of, row_major_strides};
use std::sync::PoisonError;

/// Runs a stage that moves elements.
///
/// # Safety
/// The space is bound to buffers as the plan says, and what the stage reads has been made.
pub(super) unsafe fn run(moves: &Moves, space: &Space) -> Result<(), Stop> {
    match &moves.work {
        Work::Concat { parts, axis } => with_dtype!(moves.dtype, T => {
            // SAFETY: the caller's promise.
            let (parts, out) = unsafe { (Elements::<T>::all(parts, moves, space), output::<T>(moves, space)) };
            concat(&parts, *axis, &moves.shape, out);
            Ok(())
        }),
        Work::Gather { lookup, input, index, axis } => with_dtype!(moves.dtype, T => {
            // SAFETY: the caller's promise.
            unsafe {
                let (input, index) = (Elements::<T>::new(input, moves, space), Elements::new(index, moves, space));
                gather(moves, *lookup, &input, &index, *axis, output::<T>(moves, space))
            }
        }),
        // SAFETY: the caller's promise.
        Work::ScatterAdd { lookup, index, source, axis } => unsafe {
            scatter_add(moves, *lookup, &Elements::new(index, moves, space), source, *axis, space)
        },
        Work::MapReduce(_) => unreachable!("a map-reduce is compiled"),
    }
}

/// The elements that are to be written. Any bytes are values of these types, but for bools, of which none is read.
///
/// # Safety
/// The space is bound, and nobody else uses the output.
unsafe fn output<T: TensorDType>(moves: &Moves, space: &Space) -> *mut T {
    debug_assert_eq!(T::DTYPE, moves.dtype);
    space.pointer(moves.out).cast()
}

/// The parts one after the other along an axis.
fn concat<T: TensorDType>(parts: &[Elements<'_, T>], axis: usize, shape: &[usize], out: *mut T) {
    let before: usize = shape[..axis].iter().product();
    let mut written = 0;
    for block in 0..before {
        for part in parts {
            let len: usize = part.view.shape()[axis..].iter().product();
            // SAFETY: together the parts have as many elements as the output.
            part.each(block * len, len, |k, value| unsafe { out.add(written + k).write(value) });
            written += len;
        }
    }
}

/// `out[.., j, ..] = input[.., index[.., j, ..], ..]`.
fn gather<T: TensorDType>(
    moves: &Moves,
    lookup: Lookup,
    input: &Elements<'_, T>,
    index: &Elements<'_, i64>,
    axis: usize,
    out: *mut T,
) -> Result<(), Stop> {
    let size = input.view.shape()[axis];
    let len = len_of(&moves.shape);
    let wrong: std::sync::Mutex<Option<(usize, i64)>> = std::sync::Mutex::new(None);
    let slots = Slots(out);
    parallel(len.div_ceil(PART).max(1), &|part| {
        let range = part * PART..((part + 1) * PART).min(len);
        let mut odometer = Odometer::new(&moves.shape, range.start);
        for k in range {
            let at = index.get(&odometer.index, k);
            let Some(place) = lookup.place(at, size) else {
                // Of several the first in order is named, whichever thread came first.
                let mut wrong = wrong.lock().unwrap_or_else(PoisonError::into_inner);
                *wrong = Some(wrong.map_or((k, at), |other| other.min((k, at))));
                return;
            };
            let kept = std::mem::replace(&mut odometer.index[axis], place);
            let value = input.at(&odometer.index);
            odometer.index[axis] = kept;
            // SAFETY: k < len, each k belongs to one part, and `parallel` joins before the output is read.
            unsafe { slots.get().add(k).write(value) };
            odometer.advance();
        }
    });
    match wrong.into_inner().unwrap_or_else(PoisonError::into_inner) {
        None => Ok(()),
        Some((_, at)) => Err(Stop::OutOfRange { node: moves.node, at, size }),
    }
}

/// How many elements one thread gathers at a time.
const PART: usize = 1 << 14;

/// Zeros, with `source` added at `index`. One thread, in order: the same sum every time.
///
/// # Safety
/// As for [`run`].
unsafe fn scatter_add(
    moves: &Moves,
    lookup: Lookup,
    index: &Elements<'_, i64>,
    source: &Operand,
    axis: usize,
    space: &Space,
) -> Result<(), Stop> {
    macro_rules! add {
        ($value:ty, $total:ty) => {{
            // SAFETY: the caller's promise.
            let (source, out) = unsafe { (Elements::<$value>::new(source, moves, space), output(moves, space)) };
            scatter_add_as::<$value, $total>(moves, lookup, index, &source, axis, out)
        }};
    }
    match moves.dtype {
        // Sixteen-bit floats are added in 32 bits and rounded once.
        DType::F16 => add!(f16, f32),
        DType::BF16 => add!(bf16, f32),
        DType::F32 => add!(f32, f32),
        DType::F64 => add!(f64, f64),
        DType::I8 => add!(i8, i8),
        DType::I16 => add!(i16, i16),
        DType::I32 => add!(i32, i32),
        DType::I64 => add!(i64, i64),
        DType::U8 => add!(u8, u8),
        DType::U16 => add!(u16, u16),
        DType::U32 => add!(u32, u32),
        DType::U64 => add!(u64, u64),
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
    moves: &Moves,
    lookup: Lookup,
    index: &Elements<'_, i64>,
    source: &Elements<'_, T>,
    axis: usize,
    out: *mut T,
) -> Result<(), Stop> {
    let (size, len) = (moves.shape[axis], len_of(&moves.shape));
    let shape = source.view.shape();
    let mut totals: Vec<S> = Vec::new();
    totals.try_reserve_exact(len).map_err(|_| Stop::Error(no_memory("scatter_add", S::DTYPE, len)))?;
    totals.resize(len, S::ZERO);
    let strides = row_major_strides(&moves.shape);
    let mut odometer = Odometer::new(&shape, 0);
    for k in 0..len_of(&shape) {
        let at = index.get(&odometer.index, k);
        let place = lookup.place(at, size).ok_or(Stop::OutOfRange { node: moves.node, at, size })?;
        let kept = std::mem::replace(&mut odometer.index[axis], place);
        let total = &mut totals[index_to_position(&odometer.index, &strides) as usize];
        odometer.index[axis] = kept;
        *total = total.plus(source.get(&odometer.index, k));
        odometer.advance();
    }
    for (k, total) in totals.into_iter().enumerate() {
        // SAFETY: the output has as many elements.
        unsafe { out.add(k).write(total.settle()) };
    }
    Ok(())
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
    /// # Safety
    /// The space is bound, and the operand has been made.
    unsafe fn new(operand: &'a Operand, moves: &Moves, space: &'a Space) -> Elements<'a, T> {
        let (value, dtype, len) = moves.reads[operand.read];
        assert_eq!(dtype, T::DTYPE, "an operand is read as what it is");
        // SAFETY: the caller's promise: there are `len` values of the dtype, aligned, and nobody writes them now.
        let values = unsafe { std::slice::from_raw_parts(space.pointer(value).cast_const().cast::<T>(), len) };
        let linear = match &operand.view {
            View::Linear { offset, strides, .. } => Some((*offset, &strides[..])),
            View::IndexExpr { .. } | View::Padded { .. } | View::Masked { .. } => None,
        };
        Elements { values, view: &operand.view, linear, dense: operand.view.is_contiguous() }
    }

    /// # Safety
    /// As for [`Elements::new`].
    unsafe fn all(operands: &'a [Operand], moves: &Moves, space: &'a Space) -> Vec<Elements<'a, T>> {
        // SAFETY: the caller's promise.
        operands.iter().map(|operand| unsafe { Elements::new(operand, moves, space) }).collect()
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

    /// Calls `f` with the number and the value of `len` elements from the `start`-th on.
    fn each(&self, start: usize, len: usize, mut f: impl FnMut(usize, T)) {
        if self.dense {
            self.values[start..start + len].iter().enumerate().for_each(|(k, &value)| f(k, value));
            return;
        }
        let mut odometer = Odometer::new(&self.view.shape(), start);
        for k in 0..len {
            f(k, self.at(&odometer.index));
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
