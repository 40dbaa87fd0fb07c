//! Reading by index tensors, and writing a part of a tensor.

use super::movement::axis_of;
use crate::dtype::{DType, Literal};
use crate::error::{Error, ErrorKind, Result};
use crate::graph::{Lookup, Node, SliceRange};
use crate::shape::{Shape, element_count, len_of};

/// The elements of an axis that a rank-1 index names, in its order. Indices below zero count from the end.
#[track_caller]
pub(crate) fn index_select(x: &Node, axis: isize, index: &Node) -> Result<Node> {
    let op = "index_select";
    let axis = axis_of(op, x, axis)?;
    let (index, shape) = along(op, x.shape(), axis, index)?;
    element_count(op, &shape, x.dtype())?;
    x.gather(op, &index.broadcast_to(&shape)?, axis)
}

/// A rank-1 index as places that broadcast along an axis of `shape`, and `shape` with as many places on that axis.
#[track_caller]
pub(super) fn along(op: &str, shape: &[usize], axis: usize, index: &Node) -> Result<(Node, Shape)> {
    if index.rank() != 1 {
        let message = format!("the index has shape {:?}: it must have one axis", index.shape());
        return Err(Error::new(ErrorKind::Shape, op, message).made_at("index", index.at()));
    }
    let count = index.shape()[0];
    let places: Shape = (0..shape.len()).map(|k| if k == axis { count } else { 1 }).collect();
    let mut shape = Shape::from_slice(shape);
    shape[axis] = count;
    Ok((index.as_places(op)?.reshaped(&places), shape))
}

/// `out[.., j, ..] = x[.., index[.., j, ..], ..]`: for each place of the index the element that it names along the axis.
#[track_caller]
pub(crate) fn gather(x: &Node, axis: isize, index: &Node) -> Result<Node> {
    x.gather("gather", index, axis_of("gather", x, axis)?)
}

/// The elements that an index of any shape names in row-major order.
#[track_caller]
pub(crate) fn take(x: &Node, index: &Node) -> Result<Node> {
    let places = index.as_places("take")?;
    let flat = x.reshaped(&[x.len()]);
    Ok(flat.gather("take", &places.reshaped(&[places.len()]), 0)?.reshaped(index.shape()))
}

/// The rows of a table, `[count, width]`, that an index of any shape names. Indices count from the start only.
#[track_caller]
pub(crate) fn embedding(table: &Node, index: &Node) -> Result<Node> {
    let op = "embedding";
    if table.rank() != 2 {
        let message = format!("the table has shape {:?}: it must be [count, width]", table.shape());
        return Err(Error::new(ErrorKind::Shape, op, message).made_at("table", table.at()));
    }
    let (count, width) = (index.len(), table.shape()[1]);
    let shape: Shape = index.shape().iter().copied().chain([width]).collect();
    element_count(op, &shape, table.dtype())?;
    let places = index.as_places(op)?.reshaped(&[count, 1]).broadcast_to(&[count, width])?;
    Ok(table.gather_by(Lookup { name: op, from_end: false }, &places, 0)?.reshaped(&shape))
}

/// 1 at the class that each number names along a new last axis of `classes`, 0 elsewhere, as `i64`. It is an expression on indices, which
/// merges into whatever reads it.
#[track_caller]
pub(crate) fn one_hot(index: &Node, classes: usize) -> Result<Node> {
    let op = "one_hot";
    let shape: Shape = index.shape().iter().copied().chain([classes]).collect();
    element_count(op, &shape, DType::I64)?;
    let places = index.as_places(op)?;
    // Looking the numbers up among 0, 1, 2 … gives them back, or says which one is no class.
    let lookup = Lookup { name: op, from_end: false };
    let known = Node::positions(classes)?.gather_by(lookup, &places.reshaped(&[places.len()]), 0)?;
    let mut column = Shape::from_slice(index.shape());
    column.push(1);
    known.reshaped(&column).broadcast_to(&shape)?.eq(&Node::positions(classes)?).cast(DType::I64)
}

/// `value` where the mask, which broadcasts, is true.
#[track_caller]
pub(crate) fn masked_fill(x: &Node, mask: &Node, value: Literal) -> Result<Node> {
    let op = "masked_fill";
    if mask.dtype() != DType::Bool {
        let message = format!("the mask is {}, not bool: compare it, as in x.ne(0)", mask.dtype());
        return Err(Error::new(ErrorKind::DType, op, message).made_at("mask", mask.at()));
    }
    let mask = super::movement::broadcast_as(op, mask, x.shape())?;
    Ok(x.full_like(value).or_where_not(&mask, x))
}

/// The elements at row-major places known now.
#[track_caller]
pub(crate) fn chosen(op: &'static str, x: &Node, places: &Node) -> Result<Node> {
    x.reshaped(&[len_of(x.shape())]).gather(op, places, 0)
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
