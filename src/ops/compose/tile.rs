//! Elements more than once, and elements that move around: repeat, tile, repeat_interleave, roll.

use super::movement::axis_of;
use crate::error::{Error, ErrorKind, Result};
use crate::graph::{Node, SliceRange};
use crate::shape::{Shape, element_count, normalize_axes};

/// The tensor `repeats[k]` times along axis `k`; more repeats than axes make new axes in front.
#[track_caller]
pub(crate) fn repeat(x: &Node, repeats: &[usize]) -> Result<Node> {
    let op = "repeat";
    let Some(lead) = repeats.len().checked_sub(x.rank()) else {
        let message =
            format!("{} repeats for the {} axes of shape {:?}: give one for each", repeats.len(), x.rank(), x.shape());
        return Err(Error::new(ErrorKind::Shape, op, message).made_at("tensor", x.at()));
    };
    times(op, x, repeats, lead)
}

/// As [`repeat`], where missing repeats are 1 in front, as in NumPy.
#[track_caller]
pub(crate) fn tile(x: &Node, repeats: &[usize]) -> Result<Node> {
    let missing = x.rank().saturating_sub(repeats.len());
    let repeats: Shape = std::iter::repeat_n(1, missing).chain(repeats.iter().copied()).collect();
    times("tile", x, &repeats, repeats.len() - x.rank())
}

/// `[a, b]` is seen as `[1, a, 1, b]`, stretched to `[r, a, s, b]`, and flattened to `[r·a, s·b]`.
#[track_caller]
fn times(op: &str, x: &Node, repeats: &[usize], lead: usize) -> Result<Node> {
    let size = |k: usize| if k < lead { 1 } else { x.shape()[k - lead] };
    let shape: Shape = repeats.iter().enumerate().map(|(k, &times)| times.saturating_mul(size(k))).collect();
    element_count(op, &shape, x.dtype()).map_err(|error| error.made_at("tensor", x.at()))?;
    let apart: Shape = (0..repeats.len()).flat_map(|k| [1, size(k)]).collect();
    let stretched: Shape = (0..repeats.len()).flat_map(|k| [repeats[k], size(k)]).collect();
    Ok(x.reshaped(&apart).broadcast_to(&stretched)?.reshaped(&shape))
}

/// Each element of an axis `count` times in a row.
#[track_caller]
pub(crate) fn repeat_interleave(x: &Node, count: usize, axis: isize) -> Result<Node> {
    let op = "repeat_interleave";
    let axis = axis_of(op, x, axis)?;
    let mut shape = Shape::from_slice(x.shape());
    shape[axis] = shape[axis].saturating_mul(count);
    element_count(op, &shape, x.dtype()).map_err(|error| error.made_at("tensor", x.at()))?;
    let mut apart = Shape::from_slice(x.shape());
    apart.insert(axis + 1, 1);
    let mut stretched = apart.clone();
    stretched[axis + 1] = count;
    Ok(x.reshaped(&apart).broadcast_to(&stretched)?.reshaped(&shape))
}

/// Elements moved along axes by `shifts`; what leaves at one end comes in at the other.
#[track_caller]
pub(crate) fn roll(x: &Node, shifts: &[isize], axes: &[isize]) -> Result<Node> {
    let op = "roll";
    if axes.is_empty() && shifts.len() == 1 {
        // As one long row.
        return Ok(roll(&x.reshaped(&[x.len()]), shifts, &[0])?.reshaped(x.shape()));
    }
    if shifts.len() != axes.len() {
        let message = format!("{} shifts for {} axes: give one for each", shifts.len(), axes.len());
        return Err(Error::new(ErrorKind::Value, op, message).made_at("tensor", x.at()));
    }
    for &axis in axes {
        axis_of(op, x, axis)?;
    }
    let mut rolled = x.clone();
    for (&shift, &axis) in shifts.iter().zip(axes) {
        let axis = axis_of(op, x, axis)?;
        let size = x.shape()[axis];
        if size == 0 || shift.rem_euclid(size as isize) == 0 {
            continue;
        }
        let first = size - shift.rem_euclid(size as isize) as usize;
        let part = |start: usize, len: usize| {
            let mut ranges = crate::graph::build::whole_ranges(rolled.shape());
            ranges[axis] = SliceRange { start, step: 1, len };
            rolled.sliced(&ranges)
        };
        rolled = Node::concat(op, &[&part(first, size - first), &part(0, first)], axis as isize)?;
    }
    Ok(rolled)
}

/// The two axes of a plane, different and in order of rotation.
fn plane(op: &str, x: &Node, axes: [isize; 2]) -> Result<[usize; 2]> {
    normalize_axes(op, &axes, x.shape()).map_err(|error| error.made_at("tensor", x.at()))?;
    Ok([axis_of(op, x, axes[0])?, axis_of(op, x, axes[1])?])
}

/// Turned by `times` quarters from the first axis towards the second.
#[track_caller]
pub(crate) fn rot90(x: &Node, times: isize, axes: [isize; 2]) -> Result<Node> {
    let [a, b] = plane("rot90", x, axes)?;
    let flip = |x: &Node, axis: usize| super::movement::flip(x, &[axis as isize]);
    match times.rem_euclid(4) {
        0 => Ok(x.clone()),
        1 => Ok(flip(x, b)?.swapped(a, b)),
        2 => flip(&flip(x, a)?, b),
        _ => flip(&x.swapped(a, b), b),
    }
}
