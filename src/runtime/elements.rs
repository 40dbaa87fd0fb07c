//! Typed operands of kernels outside the code generator, and counting through a shape.

use super::prepared::Moves;
use super::run::Space;
use crate::dtype::TensorDType;
use crate::schedule::Operand;
use crate::shape::{Read, Shape, View};

/// A typed operand: its buffer's elements and the way to them.
pub(super) struct Elements<'a, T> {
    pub(super) values: &'a [T],
    pub(super) view: &'a View,
    /// Offset and strides, where the view is nothing more.
    linear: Option<(isize, &'a [isize])>,
    /// Element `k` of the view is element `k` of the buffer.
    dense: bool,
}

impl<'a, T: TensorDType> Elements<'a, T> {
    /// # Safety
    /// The space is bound, and the operand has been made.
    pub(super) unsafe fn new(operand: &'a Operand, moves: &Moves, space: &'a Space) -> Elements<'a, T> {
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
    pub(super) unsafe fn all(operands: &'a [Operand], moves: &Moves, space: &'a Space) -> Vec<Elements<'a, T>> {
        // SAFETY: the caller's promise.
        operands.iter().map(|operand| unsafe { Elements::new(operand, moves, space) }).collect()
    }

    /// The element at an index that is element `k` in row-major order.
    pub(super) fn get(&self, index: &[usize], k: usize) -> T {
        if self.dense { self.values[k] } else { self.at(index) }
    }

    pub(super) fn at(&self, index: &[usize]) -> T {
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
    pub(super) fn each(&self, start: usize, len: usize, mut f: impl FnMut(usize, T)) {
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
pub(super) struct Odometer {
    pub(super) index: Shape,
    shape: Shape,
}

impl Odometer {
    pub(super) fn new(shape: &[usize], start: usize) -> Odometer {
        Odometer { index: crate::shape::ordinal_to_index(start, shape), shape: shape.into() }
    }

    pub(super) fn advance(&mut self) {
        for axis in (0..self.shape.len()).rev() {
            self.index[axis] += 1;
            if self.index[axis] < self.shape[axis] {
                return;
            }
            self.index[axis] = 0;
        }
    }
}
