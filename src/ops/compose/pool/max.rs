//! The largest element of each window.
//!
//! The gradient goes to the first of several largest ones, whole, as in PyTorch; NaN counts as largest. An element that is
//! the largest of several windows gets the sum of their gradients.

use super::{Frame, Pooling};
use crate::dtype::{DType, Literal};
use crate::error::Result;
use crate::graph::{Lookup, Node, ReduceKind};
use crate::memory::Buffer;
use crate::ops;
use crate::ops::compose::convolution::Sliding;
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
        if pooling.is_small() && len_of(&frame.size) <= EXACT {
            return Ok(vec![pooling.sent_back(op, g, &chosen(x, &y.detach(), &pooling, &frame)?, x, &frame)?]);
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

/// Positions below this are exact as `f32`, with one to spare.
const EXACT: usize = 1 << 23;

/// The position of the first largest element of each window, found tap by tap.
#[track_caller]
fn chosen(x: &Node, largest: &Node, pooling: &Pooling, frame: &Frame) -> Result<Node> {
    let padded = super::pad::constant(x, &pooling.borders(x, frame), Literal::lowest(x.dtype()))?;
    let hit = |tap: &Shape| {
        let seen = pooling.tap(&padded, frame, tap);
        let hit = seen.eq(largest);
        if x.dtype().is_float() { Node::map(&ops::BITOR, &[&hit, &seen.ne(&seen)]) } else { Ok(hit) }
    };
    let taps = pooling.taps();
    let further = |tap: &Shape| pooling.further(tap, frame) as f64;
    let Some((last, rest)) = taps.split_last() else { unreachable!("a kernel has elements") };
    let mut chosen = Node::full(largest.shape(), Literal::F32(further(last) as f32))?;
    for tap in rest.iter().skip(1).rev() {
        chosen = chosen.fill(further(tap)).or_where_not(&hit(tap)?, &chosen);
    }
    let [first, first_inside] = pooling.first_positions(x.rank(), frame)?;
    let chosen = Node::map(&ops::ADD, &[&chosen, &first])?;
    // Where the padding is as large as the largest, so is everything in the window: it is the first tap that hits, and the first element
    // inside is chosen.
    let chosen = first_inside.broadcast_to(chosen.shape())?.or_where_not(&hit(&taps[0])?, &chosen);
    chosen.cast(DType::I64)
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
    /// By how many positions a tap is behind the first one of its window.
    fn further(&self, tap: &[usize], frame: &Frame) -> usize {
        let places = tap.iter().zip(&self.sliding.dilation).map(|(tap, dilation)| tap * dilation);
        places.zip(&frame.size).fold(0, |sum, (place, size)| sum * size + place)
    }

    /// The position of each window's first tap, which may be outside, and of its first element that is inside.
    fn first_positions(&self, rank: usize, frame: &Frame) -> Result<[Node; 2]> {
        let along = |k: usize, place: usize| -> [f64; 2] {
            let Sliding { stride, padding, dilation } = &self.sliding;
            let first = (place * stride[k]) as f64 - padding[k] as f64;
            let inside = (0..self.kernel[k]).map(|tap| first + (tap * dilation[k]) as f64).find(|at| *at >= 0.0);
            [first, inside.unwrap_or(0.0)]
        };
        let mut positions: [Vec<f32>; 2] = [Vec::new(), Vec::new()];
        for place in 0..len_of(&frame.places) {
            let (mut rest, mut step, mut sums) = (place, 1.0, [0.0; 2]);
            for k in (0..self.spatial()).rev() {
                let at = along(k, rest % frame.places[k]);
                (0..2).for_each(|which| sums[which] += at[which] * step);
                step *= frame.size[k] as f64;
                rest /= frame.places[k];
            }
            (0..2).for_each(|which| positions[which].push(sums[which] as f32));
        }
        let mut shape = Shape::from_elem(1, rank - self.spatial());
        shape.extend(frame.places.iter().copied());
        let [first, inside] = positions.map(|values| Buffer::from_vec("max_pool", values));
        Ok([Node::from_buffer(first?, shape.clone()), Node::from_buffer(inside?, shape)])
    }

    /// What is at the windows, put together at the positions that they chose.
    #[track_caller]
    fn sent_back(&self, op: &'static str, places: &Node, chosen: &Node, x: &Node, frame: &Frame) -> Result<Node> {
        let lead = x.rank() - self.spatial();
        let flat = |last: usize| -> Shape { x.shape()[..lead].iter().copied().chain([last]).collect() };
        let (windows, plane) = (flat(len_of(&frame.places)), flat(len_of(&frame.size)));
        let (places, chosen) = (places.reshaped(&windows), chosen.reshaped(&windows));
        let lookup = Lookup { name: op, from_end: false };
        Ok(places.scatter(ReduceKind::Sum, lookup, &chosen, lead, &plane)?.reshaped(x.shape()))
    }

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
