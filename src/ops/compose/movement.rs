//! Movement ops with the caller's arguments checked: permute, transpose, reshape, expand, squeeze, flip, slice.

use crate::dtype::Literal;
use crate::error::{Error, ErrorKind, Result};
use crate::graph::build::whole_ranges;
use crate::graph::{Node, SliceRange, Window};
use crate::shape::{Expr, Shape, broadcast_shapes, element_count, normalize_axes, normalize_axis};
use smallvec::SmallVec;

/// The axis as the node has it.
pub(crate) fn axis_of(op: &str, x: &Node, axis: isize) -> Result<usize> {
    normalize_axis(op, axis, x.shape()).map_err(|error| error.made_at("tensor", x.at()))
}

impl Node {
    /// Two axes exchanged.
    #[track_caller]
    pub(crate) fn swapped(&self, a: usize, b: usize) -> Node {
        let mut axes: SmallVec<[usize; 6]> = (0..self.rank()).collect();
        axes.swap(a, b);
        self.permuted(&axes)
    }
}

/// Axes in another order.
#[track_caller]
pub(crate) fn permute(x: &Node, axes: &[isize]) -> Result<Node> {
    let mut order = SmallVec::<[usize; 6]>::new();
    for &axis in axes {
        order.push(axis_of("permute", x, axis)?);
    }
    let mut sorted = order.clone();
    sorted.sort_unstable();
    if !sorted.iter().copied().eq(0..x.rank()) {
        let message =
            format!("axes {axes:?} are not an order of the {} axes of shape {:?}: name each once", x.rank(), x.shape());
        return Err(Error::new(ErrorKind::Axis, "permute", message).made_at("tensor", x.at()));
    }
    Ok(x.permuted(&order))
}

/// Two axes exchanged.
#[track_caller]
pub(crate) fn transpose(x: &Node, a: isize, b: isize) -> Result<Node> {
    Ok(x.swapped(axis_of("transpose", x, a)?, axis_of("transpose", x, b)?))
}

/// Another shape of the same size; one entry may be -1 for "what is left".
#[track_caller]
pub(crate) fn reshape(x: &Node, shape: &[isize]) -> Result<Node> {
    let op = "reshape";
    let fail = |message: String| Err(Error::new(ErrorKind::Shape, op, message).made_at("tensor", x.at()));
    let unknown = shape.iter().filter(|&&size| size == -1).count();
    if unknown > 1 || shape.iter().any(|&size| size < -1) {
        return fail(format!("{shape:?} is not a shape: sizes are 0 or more, and at most one is -1"));
    }
    let known: Shape = shape.iter().filter(|&&size| size != -1).map(|&size| size as usize).collect();
    let count = element_count(op, &known, x.dtype())?;
    let mut sizes: Shape = shape.iter().map(|&size| size.max(0) as usize).collect();
    let len = x.len();
    if unknown == 1 {
        if count == 0 || !len.is_multiple_of(count) {
            return fail(format!("{len} elements of shape {:?} do not divide into {shape:?}", x.shape()));
        }
        let place = shape.iter().position(|&size| size == -1).unwrap_or_default();
        sizes[place] = len / count;
    } else if count != len {
        return fail(format!("shape {:?} has {len} elements, {shape:?} has {count}", x.shape()));
    }
    Ok(x.reshaped(&sizes))
}

/// Stretched to a shape; -1 keeps an axis as it is.
#[track_caller]
pub(crate) fn expand(x: &Node, shape: &[isize]) -> Result<Node> {
    let op = "expand";
    let lead = shape.len().checked_sub(x.rank());
    let sizes: Option<Shape> = lead.and_then(|lead| {
        let size = |(k, &size): (usize, &isize)| match size {
            -1 => (k >= lead).then(|| x.shape()[k - lead]),
            _ => usize::try_from(size).ok(),
        };
        shape.iter().enumerate().map(size).collect()
    });
    match sizes {
        Some(sizes) => broadcast_as(op, x, &sizes),
        None => {
            let message = format!("shape {:?} does not stretch to {shape:?}: it has {} axes", x.shape(), x.rank());
            Err(Error::new(ErrorKind::Shape, op, message).made_at("tensor", x.at()))
        }
    }
}

/// Stretched to a shape that this one broadcasts to.
#[track_caller]
pub(crate) fn broadcast_as(op: &str, x: &Node, shape: &[usize]) -> Result<Node> {
    element_count(op, shape, x.dtype())?;
    let fits = broadcast_shapes(op, x.shape(), shape).is_ok_and(|together| together[..] == *shape);
    if !fits {
        let message = format!("shape {:?} does not stretch to {shape:?}: only axes of size 1 stretch", x.shape());
        return Err(Error::new(ErrorKind::Shape, op, message).made_at("tensor", x.at()));
    }
    x.broadcast_to(shape)
}

/// A new axis of size 1 before `axis` (from `-rank - 1` to `rank`).
#[track_caller]
pub(crate) fn unsqueeze(op: &str, x: &Node, axis: isize) -> Result<Node> {
    let places = x.rank() as isize + 1;
    if !(-places..places).contains(&axis) {
        let message = format!(
            "axis {axis} is out of range for a new axis in shape {:?}: use {} to {}",
            x.shape(),
            -places,
            places - 1
        );
        return Err(Error::new(ErrorKind::Axis, op, message).made_at("tensor", x.at()));
    }
    let mut shape = Shape::from_slice(x.shape());
    shape.insert(axis.rem_euclid(places) as usize, 1);
    Ok(x.reshaped(&shape))
}

/// An axis of size 1 taken away.
#[track_caller]
pub(crate) fn squeeze(x: &Node, axis: isize) -> Result<Node> {
    let axis = axis_of("squeeze", x, axis)?;
    let mut shape = Shape::from_slice(x.shape());
    if shape[axis] != 1 {
        let message = format!("axis {axis} of shape {:?} has size {}, not 1", x.shape(), shape[axis]);
        return Err(Error::new(ErrorKind::Shape, "squeeze", message).made_at("tensor", x.at()));
    }
    shape.remove(axis);
    Ok(x.reshaped(&shape))
}

/// Axes `from` to `to` (both counted) as one.
#[track_caller]
pub(crate) fn flatten(x: &Node, from: isize, to: isize) -> Result<Node> {
    if x.rank() == 0 {
        return Ok(x.reshaped(&[1]));
    }
    let (from, to) = (axis_of("flatten", x, from)?, axis_of("flatten", x, to)?);
    if from > to {
        let message = format!("axis {from} comes after axis {to} in shape {:?}", x.shape());
        return Err(Error::new(ErrorKind::Axis, "flatten", message).made_at("tensor", x.at()));
    }
    let middle = element_count("flatten", &x.shape()[from..=to], x.dtype())?;
    let (before, after) = (&x.shape()[..from], &x.shape()[to + 1..]);
    let shape: Shape = before.iter().copied().chain([middle]).chain(after.iter().copied()).collect();
    Ok(x.reshaped(&shape))
}

/// The order of elements reversed along axes.
#[track_caller]
pub(crate) fn flip(x: &Node, axes: &[isize]) -> Result<Node> {
    let axes = normalize_axes("flip", axes, x.shape()).map_err(|error| error.made_at("tensor", x.at()))?;
    let mut ranges = whole_ranges(x.shape());
    for axis in axes {
        let len = x.shape()[axis];
        ranges[axis] = SliceRange { start: len.saturating_sub(1), step: -1, len };
    }
    Ok(x.sliced(&ranges))
}

/// `len` elements of an axis from `start`.
#[track_caller]
pub(crate) fn narrow(x: &Node, axis: isize, start: usize, len: usize) -> Result<Node> {
    let op = "narrow";
    let axis = axis_of(op, x, axis)?;
    let size = x.shape()[axis];
    let fail = |what: String| {
        let message = format!("{what} (shape {:?}, axis {axis}, start {start}, len {len})", x.shape());
        Err(Error::new(ErrorKind::Index, op, message).made_at("tensor", x.at()))
    };
    if start > size {
        return fail(format!("start > len: {start} is past the {size} elements"));
    }
    if start.checked_add(len).is_none_or(|end| end > size) {
        return fail(format!("start + len > len: {start} + {len} is past the {size} elements"));
    }
    let mut ranges = whole_ranges(x.shape());
    ranges[axis] = SliceRange { start, step: 1, len };
    Ok(x.sliced(&ranges))
}

/// Windows of `size` along an axis, each `step` after the last; the place in the window is a new last axis.
#[track_caller]
pub(crate) fn unfold(x: &Node, axis: isize, size: usize, step: usize, dilation: usize) -> Result<Node> {
    let axis = axis_of("unfold", x, axis)?;
    x.unfolded(Window::new(axis, x.shape()[axis], size, step, dilation))
}

/// The part of a matrix (last two axes) on and below diagonal `k`, or on and above it; zero elsewhere.
#[track_caller]
pub(crate) fn triangle(op: &str, x: &Node, k: isize) -> Result<Node> {
    if x.rank() < 2 {
        let message = format!("shape {:?} has no rows and columns: two axes are needed", x.shape());
        return Err(Error::new(ErrorKind::Shape, op, message).made_at("tensor", x.at()));
    }
    let (row, column) = (Expr::idx(x.rank() - 2), Expr::idx(x.rank() - 1));
    // Diagonals outside the matrix are all alike, and far ones could not be added.
    let most = x.shape()[x.rank() - 2..].iter().copied().max().unwrap_or(0) as i64;
    let diagonal = row + Expr::from((k as i64).clamp(-most, most));
    let keep = if op == "tril" { column.le(diagonal) } else { column.ge(diagonal) };
    x.masked(keep, Literal::zero(x.dtype()))
}

/// Axes `from[k]` brought to the places `to[k]`; the others keep their order.
#[track_caller]
pub(crate) fn movedim(x: &Node, from: &[isize], to: &[isize]) -> Result<Node> {
    let op = "movedim";
    if from.len() != to.len() {
        let message = format!("{} axes for {} places: give one for each", from.len(), to.len());
        return Err(Error::new(ErrorKind::Value, op, message).made_at("tensor", x.at()));
    }
    for axes in [from, to] {
        normalize_axes(op, axes, x.shape()).map_err(|error| error.made_at("tensor", x.at()))?;
    }
    let mut order: SmallVec<[Option<usize>; 6]> = SmallVec::from_elem(None, x.rank());
    for (&from, &to) in from.iter().zip(to) {
        order[axis_of(op, x, to)?] = Some(axis_of(op, x, from)?);
    }
    let mut rest = (0..x.rank()).filter(|axis| !order.contains(&Some(*axis))).collect::<Vec<_>>().into_iter();
    let order: SmallVec<[usize; 6]> = order.iter().map(|axis| axis.or_else(|| rest.next()).unwrap_or(0)).collect();
    Ok(x.permuted(&order))
}
