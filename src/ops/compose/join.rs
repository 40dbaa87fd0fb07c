//! Putting tensors together and taking them apart.

use super::movement::{self, axis_of};
use crate::error::{Error, ErrorKind, Result};
use crate::graph::Node;

/// Tensors of one shape side by side along a new axis.
#[track_caller]
pub(crate) fn stack(parts: &[&Node], axis: isize) -> Result<Node> {
    let op = "stack";
    if let Some(first) = parts.first() {
        for part in parts {
            if part.shape() != first.shape() {
                let message = format!(
                    "shapes {:?} and {:?} differ: stack takes tensors of one shape",
                    first.shape(),
                    part.shape()
                );
                return Err(Error::new(ErrorKind::Shape, op, message).operands(first.at(), part.at()));
            }
        }
    }
    let mut widened = Vec::with_capacity(parts.len());
    for part in parts {
        widened.push(movement::unsqueeze(op, part, axis)?);
    }
    Node::concat(op, &widened.iter().collect::<Vec<_>>(), axis)
}

/// Consecutive parts of the given sizes along an axis.
#[track_caller]
pub(crate) fn split(x: &Node, sizes: &[usize], axis: isize) -> Result<Vec<Node>> {
    let op = "split";
    let axis = axis_of(op, x, axis)?;
    let total: usize = sizes.iter().fold(0, |sum, &size| sum.saturating_add(size));
    if total != x.shape()[axis] {
        let message =
            format!("sizes {sizes:?} add up to {total}, axis {axis} of shape {:?} is {}", x.shape(), x.shape()[axis]);
        return Err(Error::new(ErrorKind::Shape, op, message).made_at("tensor", x.at()));
    }
    let mut start = 0;
    let mut parts = Vec::with_capacity(sizes.len());
    for &size in sizes {
        parts.push(movement::narrow(x, axis as isize, start, size)?);
        start += size;
    }
    Ok(parts)
}

/// Consecutive parts of one size along an axis; the last may be smaller.
#[track_caller]
pub(crate) fn split_every(x: &Node, size: usize, axis: isize) -> Result<Vec<Node>> {
    let op = "split_every";
    let axis = axis_of(op, x, axis)?;
    if size == 0 {
        return Err(
            Error::new(ErrorKind::Value, op, "parts of size 0 never end: use 1 or more").made_at("tensor", x.at())
        );
    }
    let total = x.shape()[axis];
    let mut sizes: Vec<usize> = vec![size; total / size];
    if !total.is_multiple_of(size) || total == 0 {
        sizes.push(total % size);
    }
    split(x, &sizes, axis as isize)
}

/// As many parts as asked for along an axis, all of one size but the last, which may be smaller; fewer where the axis is
/// too short, as in PyTorch.
#[track_caller]
pub(crate) fn chunk(x: &Node, count: usize, axis: isize) -> Result<Vec<Node>> {
    let op = "chunk";
    let axis = axis_of(op, x, axis)?;
    if count == 0 {
        let message = "0 parts hold nothing: use 1 or more";
        return Err(Error::new(ErrorKind::Value, op, message).made_at("tensor", x.at()));
    }
    let total = x.shape()[axis];
    if total == 0 {
        return split(x, &vec![0; count], axis as isize);
    }
    split_every(x, total.div_ceil(count), axis as isize)
}

/// As many parts as asked for along an axis; the first ones are larger by one where they cannot all be of one size.
#[track_caller]
pub(crate) fn tensor_split(x: &Node, count: usize, axis: isize) -> Result<Vec<Node>> {
    let op = "tensor_split";
    let axis = axis_of(op, x, axis)?;
    if count == 0 {
        let message = "0 parts hold nothing: use 1 or more";
        return Err(Error::new(ErrorKind::Value, op, message).made_at("tensor", x.at()));
    }
    let (size, more) = (x.shape()[axis] / count, x.shape()[axis] % count);
    let sizes: Vec<usize> = (0..count).map(|k| size + usize::from(k < more)).collect();
    split(x, &sizes, axis as isize)
}

/// The slices along an axis, without that axis.
#[track_caller]
pub(crate) fn unbind(x: &Node, axis: isize) -> Result<Vec<Node>> {
    let axis = axis_of("unbind", x, axis)?;
    let mut shape = crate::shape::Shape::from_slice(x.shape());
    let count = shape.remove(axis);
    (0..count).map(|k| Ok(movement::narrow(x, axis as isize, k, 1)?.reshaped(&shape))).collect()
}

/// One tensor for each vector, all of the shape that the vectors' lengths make: vector `k` along axis `k`. With
/// `by_column` the first two axes change places, as in plots (NumPy's "xy").
#[track_caller]
pub(crate) fn meshgrid(vectors: &[&Node], by_column: bool) -> Result<Vec<Node>> {
    let op = "meshgrid";
    if let Some(other) = vectors.iter().find(|vector| vector.rank() > 1) {
        let message = format!("shape {:?} is no vector: give tensors of rank 1", other.shape());
        return Err(Error::new(ErrorKind::Shape, op, message).made_at("tensor", other.at()));
    }
    let shape: crate::shape::Shape = vectors.iter().map(|vector| vector.len()).collect();
    let mut grids = Vec::with_capacity(vectors.len());
    for (k, vector) in vectors.iter().enumerate() {
        crate::shape::element_count(op, &shape, vector.dtype())?;
        let mut along = crate::shape::Shape::from_elem(1, vectors.len());
        along[k] = vector.len();
        let grid = vector.reshaped(&along).broadcast_to(&shape)?;
        grids.push(if by_column && vectors.len() > 1 { grid.swapped(0, 1) } else { grid });
    }
    Ok(grids)
}
