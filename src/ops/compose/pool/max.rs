//! The largest element of each window.
//!
//! The gradient goes to the first of several largest ones, whole, as in PyTorch; NaN counts as largest. An element that is
//! the largest of several windows gets the sum of their gradients.

use super::{Frame, Pooling};
use crate::dtype::{DType, Literal};
use crate::error::Result;
use crate::graph::{Node, ReduceKind};
use crate::ops;
use crate::ops::record::Dtypes;
use crate::shape::{Shape, len_of};

/// The largest element of each window.
#[track_caller]
pub(crate) fn max_pool(op: &'static str, x: &Node, pooling: &Pooling) -> Result<Node> {
    let frame = pooling.frame(op, x, Dtypes::Numeric)?;
    let largest = largest(op, x, pooling, &frame)?;
    let pooling = pooling.clone();
    Ok(largest.with_shortcut(op, &[x], move |g, x, y| {
        let (x, y) = (&x[0].left_behind(op, "a place does not change by a little"), y);
        if pooling.is_small() {
            let chosen = chosen(x, &y.detach(), &pooling, &frame)?;
            let given = |tap: usize| Ok(g.keep_where(&chosen.eq(&chosen.fill(tap as f64))));
            return Ok(vec![pooling.untapped(given, x, &frame)?]);
        }
        let first = first(op, x, &y.detach(), &pooling, &frame)?;
        // An element takes the gradient of those of its windows that chose it.
        let own = pooling.windows_of_positions(x, &frame)?;
        let gradients = pooling.placed(g, &frame)?;
        let chosen = pooling.placed(&first, &frame)?.eq(&own);
        pooling.gathered(op, &gradients.keep_where(&chosen), x, &frame).map(|slope| vec![slope])
    }))
}

/// The largest elements and their positions, counted row by row over the last axes.
#[track_caller]
pub(crate) fn max_pool_with_indices(op: &'static str, x: &Node, pooling: &Pooling) -> Result<(Node, Node)> {
    let frame = pooling.frame(op, x, Dtypes::Numeric)?;
    let value = max_pool(op, x, pooling)?;
    let known = x.left_behind(op, "a place does not change by a little");
    let largest = largest(op, &known, pooling, &frame)?;
    Ok((value, first(op, &known, &largest, pooling, &frame)?))
}

#[track_caller]
fn largest(op: &str, x: &Node, pooling: &Pooling, frame: &Frame) -> Result<Node> {
    if pooling.is_small() {
        let padded = super::pad::constant(x, &pooling.borders(x, frame), Literal::lowest(x.dtype()))?;
        let mut taps = pooling.taps().into_iter().map(|tap| pooling.tap(&padded, frame, &tap));
        let first = taps.next().expect("a kernel has elements");
        return taps.try_fold(first, |largest, tap| Node::map_of(&ops::MAXIMUM, [largest, tap]));
    }
    let windows = pooling.windows(x, frame, Literal::lowest(x.dtype()))?;
    windows.reduce(op, ReduceKind::Max, &pooling.inner_axes(), false)
}

/// The number of the first tap of each window that sees the largest element.
#[track_caller]
fn chosen(x: &Node, largest: &Node, pooling: &Pooling, frame: &Frame) -> Result<Node> {
    let padded = super::pad::constant(x, &pooling.borders(x, frame), Literal::lowest(x.dtype()))?;
    let taps = pooling.taps();
    let mut chosen = Node::full(largest.shape(), Literal::F32((taps.len() - 1) as f32))?;
    for (number, tap) in taps.iter().enumerate().rev().skip(1) {
        let seen = pooling.tap(&padded, frame, tap);
        let mut hit = seen.eq(largest);
        if x.dtype().is_float() {
            hit = Node::map(&ops::BITOR, &[&hit, &seen.ne(&seen)])?;
        }
        chosen = chosen.fill(number as f64).or_where_not(&hit, &chosen);
    }
    Ok(chosen)
}

/// The position of the first largest element of each window.
#[track_caller]
fn first(op: &str, x: &Node, largest: &Node, pooling: &Pooling, frame: &Frame) -> Result<Node> {
    let windows = pooling.windows(x, frame, Literal::lowest(x.dtype()))?;
    let mut apart = Shape::from_slice(largest.shape());
    apart.extend(pooling.kernel.iter().map(|_| 1));
    let mut hit = windows.eq(&largest.reshaped(&apart));
    if x.dtype().is_float() {
        hit = Node::map(&ops::BITOR, &[&hit, &windows.ne(&windows)])?;
    }
    let nowhere = Literal::I64(i64::MAX);
    let positions = pooling.windows(&positions(x, pooling)?, frame, nowhere)?;
    let found = positions.or_where_not(&hit, &Node::full(windows.shape(), nowhere)?);
    found.reduce(op, ReduceKind::Min, &pooling.inner_axes(), false)
}

/// The positions of the elements over the last axes, one plane of them for all.
#[track_caller]
fn positions(x: &Node, pooling: &Pooling) -> Result<Node> {
    let plane = &x.shape()[x.rank() - pooling.kernel.len()..];
    let positions = Node::positions(len_of(plane))?.reshaped(plane);
    debug_assert_eq!(positions.dtype(), DType::I64);
    positions.broadcast_to(x.shape())
}

impl Pooling {
    /// Each element's own position, `[.., ..reach, 1..]`; -1 in the padding.
    #[track_caller]
    fn windows_of_positions(&self, x: &Node, frame: &Frame) -> Result<Node> {
        let borders = self.borders(x, frame);
        let own = super::pad::constant(&positions(x, self)?, &borders, Literal::I64(-1))?;
        let mut apart = Shape::from_slice(own.shape());
        apart.extend(self.kernel.iter().map(|_| 1));
        Ok(own.reshaped(&apart))
    }
}
