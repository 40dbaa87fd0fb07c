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
