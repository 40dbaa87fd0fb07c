//! Reading by index tensors, and writing a part of a tensor.

use super::movement::axis_of;
use crate::dtype::{DType, Literal};
use crate::error::{Error, ErrorKind, Result};
use crate::graph::{Node, SliceRange};
use crate::shape::Shape;

/// The elements of an axis that a rank-1 index names, in its order. Indices below zero count from the end.
#[track_caller]
pub(crate) fn index_select(x: &Node, axis: isize, index: &Node) -> Result<Node> {
    let op = "index_select";
    let axis = axis_of(op, x, axis)?;
    if index.rank() != 1 {
        let message = format!("the index has shape {:?}: it must have one axis", index.shape());
        return Err(Error::new(ErrorKind::Shape, op, message).made_at("index", index.at()));
    }
    let count = index.shape()[0];
    let along: Shape = (0..x.rank()).map(|k| if k == axis { count } else { 1 }).collect();
    let mut shape = Shape::from_slice(x.shape());
    shape[axis] = count;
    crate::shape::element_count(op, &shape, x.dtype())?;
    x.gather(op, &index.reshaped(&along).broadcast_to(&shape)?, axis)
}

/// `x` with the part that `ranges` name replaced by `value`, which broadcasts to that part.
#[track_caller]
pub(crate) fn slice_assign(x: &Node, ranges: &[SliceRange], value: &Node) -> Result<Node> {
    let op = "slice_assign";
    let part: Shape = ranges.iter().map(|range| range.len).collect();
    if value.dtype() != x.dtype() {
        let message = format!("a {} tensor cannot take {} values: cast them", x.dtype(), value.dtype());
        return Err(Error::new(ErrorKind::DType, op, message).operands(x.at(), value.at()));
    }
    let value = super::movement::broadcast_as(op, value, &part)?;
    let inside = Node::full(&part, Literal::Bool(true))?.spread(ranges, x.shape())?;
    debug_assert_eq!(inside.dtype(), DType::Bool);
    let placed = value.spread(ranges, x.shape())?;
    Ok(placed.or_where_not(&inside, x))
}
