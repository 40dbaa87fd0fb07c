//! Where the elements of a strided tensor lie in its buffer.

use super::{Shape, Strides, normalize_axis, row_major_strides};
use crate::error::{Error, ErrorKind, Result};

/// A shape, a stride per axis (in elements) and the position of the first element.
///
/// Several layouts may share one buffer: transposing, narrowing and slicing make a new layout, never a copy.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Layout {
    shape: Shape,
    strides: Strides,
    offset: usize,
}

impl Layout {
    /// The dense row-major layout of a shape.
    pub fn contiguous(shape: &[usize]) -> Layout {
        Layout { shape: shape.into(), strides: row_major_strides(shape), offset: 0 }
    }

    /// A layout from its parts; shape and strides must be of one length.
    pub fn new(shape: &[usize], strides: &[isize], offset: usize) -> Result<Layout> {
        if shape.len() != strides.len() {
            let message = format!("shape {shape:?} and strides {strides:?} differ in rank");
            return Err(Error::new(ErrorKind::Shape, "layout", message));
        }
        Ok(Layout { shape: shape.into(), strides: strides.into(), offset })
    }

    /// The size of each axis.
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// The distance between neighbours along each axis, in elements.
    pub fn strides(&self) -> &[isize] {
        &self.strides
    }

    /// The position of the first element.
    pub fn start_offset(&self) -> usize {
        self.offset
    }

    /// The number of axes.
    pub fn rank(&self) -> usize {
        self.shape.len()
    }

    /// Whether the elements lie one after the other in row-major order, wherever they start.
    pub fn is_contiguous(&self) -> bool {
        is_row_major(&self.shape, &self.strides)
    }

    /// Two axes exchanged; negative axes count from the end.
    pub fn transpose(&self, a: isize, b: isize) -> Result<Layout> {
        let a = normalize_axis("transpose", a, &self.shape)?;
        let b = normalize_axis("transpose", b, &self.shape)?;
        let mut layout = self.clone();
        layout.shape.swap(a, b);
        layout.strides.swap(a, b);
        Ok(layout)
    }

    /// The axes in a new order: axis `i` of the result is axis `axes[i]`; negative axes count from the end.
    pub fn permute(&self, axes: &[isize]) -> Result<Layout> {
        super::normalize_axes("permute", axes, &self.shape)?;
        if axes.len() != self.rank() {
            let message = format!("axes {axes:?} do not name every axis of shape {:?} once", self.shape());
            return Err(Error::new(ErrorKind::Axis, "permute", message));
        }
        let order = axes.iter().map(|&axis| normalize_axis("permute", axis, &self.shape));
        let order = order.collect::<Result<Shape>>()?;
        Ok(Layout {
            shape: order.iter().map(|&axis| self.shape[axis]).collect(),
            strides: order.iter().map(|&axis| self.strides[axis]).collect(),
            offset: self.offset,
        })
    }

    /// The `len` elements from `start` on along an axis.
    pub fn narrow(&self, axis: isize, start: usize, len: usize) -> Result<Layout> {
        let given = axis;
        let axis = normalize_axis("narrow", axis, &self.shape)?;
        let size = self.shape[axis];
        let refuse = |what: String| {
            let message = format!(
                "{what} > len {size} of the axis (shape {:?}, axis {given}, start {start}, len {len})",
                self.shape()
            );
            Err(Error::new(ErrorKind::Index, "narrow", message))
        };
        if start > size {
            return refuse(format!("start {start}"));
        }
        if start.saturating_add(len) > size {
            return refuse(format!("start {start} + len {len}"));
        }
        let mut layout = self.clone();
        layout.shape[axis] = len;
        if len > 0 {
            layout.offset = self.offset.wrapping_add_signed(self.strides[axis].wrapping_mul(start as isize));
        }
        Ok(layout)
    }

    /// Every `step`-th element along an axis, from the first on (`[::step]`).
    pub fn step_by(&self, axis: isize, step: usize) -> Result<Layout> {
        let axis = normalize_axis("step_by", axis, &self.shape)?;
        let Some(stride) = isize::try_from(step).ok().filter(|&step| step > 0) else {
            return Err(Error::new(
                ErrorKind::Value,
                "step_by",
                format!("a step of {step} leads nowhere: use 1 or more"),
            ));
        };
        let mut layout = self.clone();
        layout.shape[axis] = self.shape[axis].div_ceil(step);
        layout.strides[axis] = self.strides[axis].saturating_mul(stride);
        Ok(layout)
    }

    /// The same elements in the same order under another shape, if strides can say it.
    pub fn reshape(&self, shape: &[usize]) -> Option<Layout> {
        let strides = reshape_strides(&self.shape, &self.strides, shape)?;
        Some(Layout { shape: shape.into(), strides, offset: self.offset })
    }

    /// The position of an element in the buffer.
    pub fn position(&self, index: &[usize]) -> usize {
        self.offset.wrapping_add_signed(index_to_position(index, &self.strides))
    }

    /// The positions of all elements in row-major order of the index.
    pub fn strided_index(&self) -> StridedIndex<'_> {
        StridedIndex {
            shape: &self.shape,
            strides: &self.strides,
            index: Shape::from_elem(0, self.rank()),
            next: if self.shape.contains(&0) { None } else { Some(self.offset) },
        }
    }
}

/// The positions of a layout's elements, in row-major order; each costs O(1) on average.
#[derive(Clone, Debug)]
pub struct StridedIndex<'a> {
    shape: &'a [usize],
    strides: &'a [isize],
    index: Shape,
    next: Option<usize>,
}

impl Iterator for StridedIndex<'_> {
    type Item = usize;

    fn next(&mut self) -> Option<usize> {
        let position = self.next?;
        let mut following = position;
        // An odometer: the last axis turns; where it comes round, it goes back to 0 and the one before it turns.
        for axis in (0..self.shape.len()).rev() {
            let stride = self.strides[axis];
            if self.index[axis] + 1 < self.shape[axis] {
                self.index[axis] += 1;
                self.next = Some(following.wrapping_add_signed(stride));
                return Some(position);
            }
            following = following.wrapping_add_signed(stride.wrapping_mul(self.index[axis] as isize).wrapping_neg());
            self.index[axis] = 0;
        }
        self.next = None;
        Some(position)
    }
}

/// The index of the `ordinal`-th element in row-major order: mixed radix, from the last axis.
pub fn ordinal_to_index(ordinal: usize, shape: &[usize]) -> Shape {
    let mut index = Shape::from_elem(0, shape.len());
    let mut rest = ordinal;
    for (slot, &size) in index.iter_mut().zip(shape).rev() {
        *slot = rest % size.max(1);
        rest /= size.max(1);
    }
    index
}

/// `Σ index · stride`, in elements.
pub fn index_to_position(index: &[usize], strides: &[isize]) -> isize {
    index.iter().zip(strides).fold(0, |sum, (&i, &stride)| sum.wrapping_add(stride.wrapping_mul(i as isize)))
}

/// Whether the strides are those of a dense row-major tensor; axes of 1 may have any stride.
pub(super) fn is_row_major(shape: &[usize], strides: &[isize]) -> bool {
    shape.contains(&0)
        || row_major_strides(shape)
            .iter()
            .zip(strides)
            .zip(shape)
            .all(|((want, have), &size)| size == 1 || want == have)
}

/// The strides under which `new` shows the same elements in the same order as `old` does, if there are any.
///
/// Axes that run on into each other count as one; each new axis must then lie within one of them.
pub(crate) fn reshape_strides(old: &[usize], strides: &[isize], new: &[usize]) -> Option<Strides> {
    if old.contains(&0) || is_row_major(old, strides) {
        return Some(row_major_strides(new));
    }
    if new.contains(&0) {
        return None;
    }
    // Runs, last first: (length, stride of the innermost step).
    let mut runs: Vec<(usize, isize)> = Vec::new();
    for (&size, &stride) in old.iter().zip(strides).rev().filter(|(size, _)| **size != 1) {
        match runs.last_mut() {
            Some((len, step)) if step.checked_mul(isize::try_from(*len).ok()?) == Some(stride) => {
                *len = len.checked_mul(size)?;
            }
            _ => runs.push((size, stride)),
        }
    }
    let mut found = Strides::from_elem(0, new.len());
    let mut runs = runs.into_iter();
    let (mut len, mut stride) = runs.next().unwrap_or((1, 1));
    for (slot, &size) in found.iter_mut().zip(new).rev() {
        if size != 1 && len == 1 {
            (len, stride) = runs.next()?;
        }
        if len % size != 0 {
            return None;
        }
        *slot = stride;
        len /= size;
        stride = stride.saturating_mul(isize::try_from(size).ok()?);
    }
    (len == 1 && runs.next().is_none()).then_some(found)
}
