//! Pooling to a size that is asked for: windows as even as they can be.
//!
//! Window `i` of `o` over `n` elements runs from `⌊i n / o⌋` to `⌈(i + 1) n / o⌉`.

use super::Pooling;
use super::average::{Divisor, avg_pool};
use super::max::max_pool;
use crate::dtype::{DType, Literal};
use crate::error::{Error, ErrorKind, Result};
use crate::graph::{Node, ReduceKind};
use crate::memory::Buffer;
use crate::ops::compose::convolution::{Sliding, Spatial};
use crate::ops::compose::{indexing, reduction};
use crate::ops::record::Dtypes;
use crate::ops::{self};
use crate::shape::Shape;

/// The mean of each window.
#[track_caller]
pub(crate) fn adaptive_avg_pool(op: &'static str, x: &Node, size: &[usize]) -> Result<Node> {
    check(op, x, size, Dtypes::Float)?;
    if let Some(pooling) = even(x, size) {
        return avg_pool(op, x, &pooling, Divisor::Inside);
    }
    let mut result = reduction::wide(x)?;
    for (k, &places) in size.iter().enumerate() {
        let axis = x.rank() - size.len() + k;
        let windows = Windows::of(x.shape()[axis], places);
        let (taken, inside) = windows.taken(&result, axis)?;
        let sum = taken.keep_where(&inside).reduce(op, ReduceKind::Sum, &[axis as isize + 1], false)?;
        let lengths: Vec<f64> = windows.ranges.iter().map(|&(start, end)| (end - start) as f64).collect();
        result = &sum / &column(lengths, sum.rank(), axis)?.cast(sum.dtype())?;
    }
    result.cast(x.dtype())
}

/// The largest element of each window; several share its gradient, unless all windows are of one size.
#[track_caller]
pub(crate) fn adaptive_max_pool(op: &'static str, x: &Node, size: &[usize]) -> Result<Node> {
    check(op, x, size, Dtypes::Numeric)?;
    if let Some(pooling) = even(x, size) {
        return max_pool(op, x, &pooling);
    }
    let mut result = x.clone();
    for (k, &places) in size.iter().enumerate() {
        let axis = x.rank() - size.len() + k;
        let (taken, inside) = Windows::of(x.shape()[axis], places).taken(&result, axis)?;
        let lowest = taken.full_like(Literal::lowest(x.dtype()));
        let chosen = Node::map(&ops::SELECT, &[&inside, &taken, &lowest])?;
        result = chosen.reduce(op, ReduceKind::Max, &[axis as isize + 1], false)?;
    }
    Ok(result)
}

fn check(op: &str, x: &Node, size: &[usize], dtypes: Dtypes) -> Result<()> {
    dtypes.check(op, x)?;
    let fail = |kind: ErrorKind, message: String| Err(Error::new(kind, op, message).made_at("tensor", x.at()));
    if x.rank() < size.len() {
        return fail(ErrorKind::Shape, format!("shape {:?} has fewer than {} axes", x.shape(), size.len()));
    }
    if x.shape()[x.rank() - size.len()..].contains(&0) {
        return fail(ErrorKind::Shape, format!("shape {:?} has no elements to pool", x.shape()));
    }
    if size.contains(&0) {
        return fail(ErrorKind::Value, format!("size {size:?} asks for no windows: use 1 or more"));
    }
    Ok(())
}

/// Windows of one size side by side, where the sizes divide.
fn even(x: &Node, size: &[usize]) -> Option<Pooling> {
    let sizes = &x.shape()[x.rank() - size.len()..];
    if sizes.iter().zip(size).any(|(n, o)| !n.is_multiple_of(*o)) {
        return None;
    }
    let kernel: Spatial = sizes.iter().zip(size).map(|(n, o)| n / o).collect();
    let sliding = Sliding {
        stride: kernel.clone(),
        padding: Spatial::from_elem(0, size.len()),
        dilation: Spatial::from_elem(1, size.len()),
    };
    Some(Pooling { kernel, sliding, ceil: false })
}

/// The windows along one axis.
struct Windows {
    ranges: Vec<(usize, usize)>,
    longest: usize,
}

impl Windows {
    fn of(n: usize, places: usize) -> Windows {
        let ranges: Vec<(usize, usize)> =
            (0..places).map(|i| (i * n / places, ((i + 1) * n).div_ceil(places))).collect();
        let longest = ranges.iter().map(|&(start, end)| end - start).max().unwrap_or(1);
        Windows { ranges, longest }
    }

    /// The axis as `[places, longest]`, and which of these elements are in their window.
    #[track_caller]
    fn taken(&self, x: &Node, axis: usize) -> Result<(Node, Node)> {
        let places = self.ranges.len();
        let all = || self.ranges.iter().flat_map(|&(start, end)| (0..self.longest).map(move |j| (start + j, end)));
        let index: Vec<i64> = all().map(|(at, end)| at.min(end - 1) as i64).collect();
        let inside: Vec<i64> = all().map(|(at, end)| i64::from(at < end)).collect();
        let index =
            Node::from_buffer(Buffer::from_vec("adaptive_pool", index)?, [places * self.longest].as_slice().into());
        let taken = indexing::index_select(x, axis as isize, &index)?;
        let mut shape = Shape::from_slice(x.shape());
        shape[axis] = places;
        shape.insert(axis + 1, self.longest);
        let mut along = Shape::from_elem(1, shape.len());
        (along[axis], along[axis + 1]) = (places, self.longest);
        let inside = Node::from_buffer(Buffer::from_vec("adaptive_pool", inside)?, along).cast(DType::Bool)?;
        Ok((taken.reshaped(&shape), inside.broadcast_to(&shape)?))
    }
}

/// Numbers along one axis of `rank`.
fn column(values: Vec<f64>, rank: usize, axis: usize) -> Result<Node> {
    let mut shape = Shape::from_elem(1, rank);
    shape[axis] = values.len();
    Ok(Node::from_buffer(Buffer::from_vec("adaptive_pool", values)?, shape))
}
