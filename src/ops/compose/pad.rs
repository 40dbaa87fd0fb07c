//! Padding: with a value, or with the tensor's own elements.

use super::movement::axis_of;
use crate::dtype::{DType, Literal};
use crate::error::{Error, ErrorKind, Result};
use crate::graph::build::whole_ranges;
use crate::graph::{Node, SliceRange};
use crate::memory::{Buffer, no_memory};
use crate::shape::{Shape, element_count};
use smallvec::SmallVec;

/// Constant padding by `(before, after)` of each axis; negative amounts crop.
#[track_caller]
pub(crate) fn constant(x: &Node, padding: &[(isize, isize)], value: Literal) -> Result<Node> {
    let op = "pad";
    if padding.len() != x.rank() {
        let message = format!(
            "{} pairs for the {} axes of shape {:?}: give one (before, after) for each",
            padding.len(),
            x.rank(),
            x.shape()
        );
        return Err(Error::new(ErrorKind::Shape, op, message).made_at("tensor", x.at()));
    }
    let mut ranges = whole_ranges(x.shape());
    let mut grown = SmallVec::<[(usize, usize); 6]>::new();
    for (axis, &(before, after)) in padding.iter().enumerate() {
        let (start, end) = (before.min(0).unsigned_abs(), after.min(0).unsigned_abs());
        let size = x.shape()[axis];
        let total = size as i128 + before as i128 + after as i128;
        if total < 0 || start > size || end > size {
            let message = format!("({before}, {after}) crops axis {axis} of shape {:?} below nothing", x.shape());
            return Err(Error::new(ErrorKind::Value, op, message).made_at("tensor", x.at()));
        }
        ranges[axis] = SliceRange { start, step: 1, len: size.saturating_sub(start + end) };
        grown.push((before.max(0) as usize, after.max(0) as usize));
    }
    x.sliced(&ranges).padded(&grown, value)
}

/// How the elements outside are found inside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Border {
    /// Mirrored at the edge, without repeating it.
    Reflect,
    /// The edge repeated.
    Replicate,
    /// From the other end.
    Circular,
}

/// Padding of one axis with the tensor's own elements.
#[track_caller]
pub(crate) fn with_border(x: &Node, axis: isize, before: usize, after: usize, border: Border) -> Result<Node> {
    let op = "pad";
    let axis = axis_of(op, x, axis)?;
    let size = x.shape()[axis];
    let most = match border {
        Border::Reflect => size.saturating_sub(1),
        Border::Replicate => {
            if size == 0 {
                0
            } else {
                usize::MAX
            }
        }
        Border::Circular => size,
    };
    if before > most || after > most {
        let message = format!(
            "{border:?} padding ({before}, {after}) is more than axis {axis} of shape {:?} can give",
            x.shape()
        );
        return Err(Error::new(ErrorKind::Value, op, message).made_at("tensor", x.at()));
    }
    if before == 0 && after == 0 {
        return Ok(x.clone());
    }
    let mut shape = Shape::from_slice(x.shape());
    shape[axis] = size.saturating_add(before).saturating_add(after);
    element_count(op, &shape, x.dtype()).map_err(|error| error.made_at("tensor", x.at()))?;
    let len = shape[axis];
    let mut places: Vec<i64> = Vec::new();
    places.try_reserve_exact(len).map_err(|_| no_memory(op, DType::I64, len))?;
    let (size, before) = (size as i64, before as i64);
    let source = |place: i64| match border {
        Border::Replicate => place.clamp(0, size - 1),
        Border::Circular => place.rem_euclid(size),
        Border::Reflect if place < 0 => -place,
        Border::Reflect if place >= size => 2 * (size - 1) - place,
        Border::Reflect => place,
    };
    places.extend((-before..size + after as i64).map(source));
    let index = Node::from_buffer(Buffer::from_vec(op, places)?, [len].as_slice().into());
    debug_assert_eq!(index.dtype(), DType::I64);
    super::indexing::index_select(x, axis as isize, &index)
}
