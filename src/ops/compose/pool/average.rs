//! The mean of each window, and other lengths of it.

use super::{Frame, Pooling};
use crate::dtype::{DType, Literal};
use crate::error::{Error, ErrorKind, Result};
use crate::graph::{Node, ReduceKind};
use crate::memory::Buffer;
use crate::ops::compose::{length, reduction};
use crate::ops::record::Dtypes;
use crate::shape::Shape;

/// What a window's sum is divided by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Divisor {
    /// The number of its elements, padding counted (but not what lies beyond the padding).
    WithPadding,
    /// The number of its elements inside the tensor.
    Inside,
    /// This number.
    Always(usize),
}

/// The mean of each window.
#[track_caller]
pub(crate) fn avg_pool(op: &'static str, x: &Node, pooling: &Pooling, divisor: Divisor) -> Result<Node> {
    let frame = pooling.frame(op, x, Dtypes::Float)?;
    if divisor == Divisor::Always(0) {
        let message = "a divisor of 0 gives no mean: use 1 or more";
        return Err(Error::new(ErrorKind::Value, op, message).made_at("tensor", x.at()));
    }
    let wide = reduction::wide(x)?;
    let windows = pooling.windows(&wide, &frame, Literal::zero(wide.dtype()))?;
    let sum = windows.reduce(op, ReduceKind::Sum, &pooling.inner_axes(), false)?;
    let counts = counts(&wide, pooling, &frame, divisor)?;
    let (by, again) = (counts.clone(), pooling.clone());
    // One sum over all windows of an element, in place of one for each axis.
    let mean = (&sum / &counts).with_shortcut_beside(op, &[&wide], &[&by], move |g, x, _| {
        let share = g / &x[1];
        Ok(vec![again.gathered(op, &again.placed(&share, &frame)?, &x[0], &frame)?])
    });
    mean.cast(x.dtype())
}

/// `(Σ |x|ᵖ)^(1/p)` of each window.
#[track_caller]
pub(crate) fn lp_pool(op: &'static str, x: &Node, p: f64, pooling: &Pooling) -> Result<Node> {
    let frame = pooling.frame(op, x, Dtypes::Float)?;
    let windows = pooling.windows(x, &frame, Literal::zero(x.dtype()))?;
    length::norm(op, &windows, p, Some(&pooling.inner_axes()), false)
}

/// The divisor of each window, in a shape that stretches to the windows'.
#[track_caller]
fn counts(x: &Node, pooling: &Pooling, frame: &Frame, divisor: Divisor) -> Result<Node> {
    let (spatial, rank) = (pooling.spatial(), x.rank());
    let mut total = Node::full(&Shape::from_elem(1, rank), Literal::one(x.dtype()))?;
    if let Divisor::Always(count) = divisor {
        return Ok(&total * count as f64);
    }
    for k in 0..spatial {
        let along = along(pooling, frame, divisor, k);
        let factor = if along.iter().all(|&count| count == along[0]) {
            total.fill(along.first().copied().unwrap_or(1.0))
        } else {
            let mut shape = Shape::from_elem(1, rank);
            shape[rank - spatial + k] = along.len();
            debug_assert!(x.dtype() == DType::F32 || x.dtype() == DType::F64);
            Node::from_buffer(Buffer::from_vec("avg_pool", along)?, shape).cast(x.dtype())?
        };
        total = Node::map(&crate::ops::MUL, &[&total, &factor])?;
    }
    Ok(total)
}

/// How many elements each window counts along one axis.
fn along(pooling: &Pooling, frame: &Frame, divisor: Divisor, k: usize) -> Vec<f64> {
    let (stride, padding) = (pooling.sliding.stride[k], pooling.sliding.padding[k]);
    let (first, end) = match divisor {
        Divisor::Inside => (padding, padding + frame.size[k]),
        Divisor::WithPadding | Divisor::Always(_) => (0, frame.size[k] + 2 * padding),
    };
    let inside = |window: usize| {
        let places = (0..pooling.kernel[k]).map(|j| window * stride + j * pooling.sliding.dilation[k]);
        places.filter(|place| (first..end).contains(place)).count() as f64
    };
    (0..frame.places[k]).map(inside).collect()
}
