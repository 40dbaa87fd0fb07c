//! The ways in which an operand may lie in memory: one table for all tests.

use super::sample::{Random, inside};
use crate::dtype::{DType, Literal};
use crate::error::Result;
use crate::graph::{Node, SliceRange, Window};
use crate::ops;
use crate::shape::{Expr, Shape};
use std::ops::Range;

/// One way to lie in memory.
pub(super) struct Layout {
    pub(super) name: &'static str,
    /// The shape of the dense data under a view of a shape; `None` where the shape has no such view.
    pub(super) base: fn(&[usize]) -> Option<Shape>,
    /// The view of the data; the literal is what padding and masks read as.
    pub(super) view: fn(&Node, &[usize], Literal) -> Result<Node>,
    /// What the view shows besides the data.
    pub(super) shows: Shows,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Shows {
    /// The data, and the literal.
    Data,
    /// Zeros too.
    Zeros,
    /// Nothing of the data: no gradient reaches it.
    Nothing,
}

/// Shapes for elementwise tests: rank 0 to 5, empty, axes of 1, longer than a vector of lanes.
pub(super) static SHAPES: &[&[usize]] =
    &[&[], &[1], &[37], &[3, 4], &[1, 5, 1], &[2, 3, 5], &[2, 1, 3, 2, 2], &[0], &[2, 0, 3], &[9, 20]];

pub(super) static LAYOUTS: &[Layout] = &[
    Layout { name: "contiguous", base: same, view: |x, _, _| Ok(x.clone()), shows: Shows::Data },
    Layout { name: "permuted", base: reversed, view: |x, _, _| Ok(turned(x)), shows: Shows::Data },
    Layout {
        name: "stepped",
        base: |shape| sizes(shape, |n| 2 * n + 1),
        view: |x, shape, _| Ok(x.sliced(&ranges(shape, |n| (1, 2, n)))),
        shows: Shows::Data,
    },
    Layout {
        name: "negative step",
        base: |shape| sizes(shape, |n| 2 * n),
        view: |x, shape, _| Ok(x.sliced(&ranges(shape, |n| ((2 * n).saturating_sub(1), -2, n)))),
        shows: Shows::Data,
    },
    Layout {
        name: "flipped",
        base: |shape| sizes(shape, |n| n),
        view: |x, shape, _| Ok(flipped(x, shape)),
        shows: Shows::Data,
    },
    Layout {
        name: "offset",
        base: |shape| sizes(shape, |n| n + 3),
        view: |x, shape, _| Ok(x.sliced(&ranges(shape, |n| (2, 1, n)))),
        shows: Shows::Data,
    },
    Layout {
        name: "broadcast",
        base: |shape| {
            let base: Shape = shape.iter().enumerate().map(|(k, &n)| if k % 2 == 0 { 1 } else { n }).collect();
            (!shape.is_empty()).then_some(base)
        },
        view: |x, shape, _| x.broadcast_to(shape),
        shows: Shows::Data,
    },
    Layout {
        name: "new axis",
        base: |shape| (!shape.is_empty()).then(|| Shape::from_slice(&shape[1..])),
        view: |x, shape, _| x.broadcast_to(shape),
        shows: Shows::Data,
    },
    Layout {
        name: "padded",
        base: |shape| sizes(shape, |n| n - before(n) - after(n)),
        view: |x, shape, value| x.padded(&borders(shape), value),
        shows: Shows::Data,
    },
    Layout {
        name: "only padding",
        base: |shape| sizes(shape, |_| 0),
        view: |x, shape, value| x.padded(&shape.iter().map(|&n| (n, 0)).collect::<Vec<_>>(), value),
        shows: Shows::Nothing,
    },
    Layout {
        name: "masked",
        base: |shape| sizes(shape, |n| n),
        view: |x, shape, value| x.masked(mask(shape), value),
        shows: Shows::Data,
    },
    Layout {
        name: "padded, turned, masked",
        base: |shape| Some(turned_sizes(&sizes(shape, |n| n - before(n) - after(n))?)),
        view: |x, shape, value| {
            let padded = x.padded(&turned_borders(shape), value)?;
            flipped(&turned(&padded), shape).masked(mask(shape), value)
        },
        shows: Shows::Data,
    },
    Layout {
        name: "spread",
        base: |shape| sizes(shape, |n| n.div_ceil(2)),
        view: |x, shape, _| x.spread(&ranges(shape, |n| (0, 2, n.div_ceil(2))), shape),
        shows: Shows::Zeros,
    },
    Layout {
        name: "windows",
        base: |shape| under_windows(shape, 1, 1),
        view: |x, shape, _| windows(x, shape, 1, 1),
        shows: Shows::Data,
    },
    Layout {
        name: "wide windows",
        base: |shape| under_windows(shape, 2, 3),
        view: |x, shape, _| windows(x, shape, 2, 3),
        shows: Shows::Data,
    },
    Layout {
        name: "turned and reshaped",
        base: |shape| {
            let len: usize = shape.iter().product();
            let rows = (2..len).find(|&rows| len.is_multiple_of(rows))?;
            Some(Shape::from_slice(&[rows, len / rows]))
        },
        view: |x, shape, _| Ok(turned(x).reshaped(shape)),
        shows: Shows::Data,
    },
    Layout {
        name: "fused",
        base: same,
        view: |x, shape, _| Node::map(&ops::SELECT, &[&Node::full(shape, Literal::Bool(true))?, x, x]),
        shows: Shows::Data,
    },
    Layout {
        name: "constant",
        base: |_| Some(Shape::from_slice(&[0])),
        view: |_, shape, value| Node::full(shape, value),
        shows: Shows::Nothing,
    },
];

impl Layout {
    /// Whether a view of a shape, of values in a range, may lie like this.
    pub(super) fn suits(&self, shape: &[usize], range: &Range<f64>) -> bool {
        let zero = range.start <= 0.0 && 0.0 <= range.end;
        (self.base)(shape).is_some() && (zero || self.shows != Shows::Zeros)
    }

    /// A node of a shape that lies like this, with values in a range.
    pub(super) fn node(&self, random: &mut Random, dtype: DType, range: &Range<f64>, shape: &[usize]) -> Node {
        let base = (self.base)(shape).expect("asked before");
        let data = random.node(dtype, range, &base);
        let node = (self.view)(&data, shape, inside(dtype, range)).expect("a layout that suits");
        assert_eq!(node.shape(), shape, "{} gives the shape it was asked for", self.name);
        node
    }
}

/// A layout that suits, by chance.
pub(super) fn any(random: &mut Random, shape: &[usize], range: &Range<f64>) -> &'static Layout {
    loop {
        let layout = &LAYOUTS[random.below(LAYOUTS.len())];
        if layout.suits(shape, range) {
            return layout;
        }
    }
}

fn same(shape: &[usize]) -> Option<Shape> {
    Some(shape.into())
}

/// Each size changed; a scalar has none.
fn sizes(shape: &[usize], change: fn(usize) -> usize) -> Option<Shape> {
    (!shape.is_empty()).then(|| shape.iter().map(|&n| change(n)).collect())
}

fn reversed(shape: &[usize]) -> Option<Shape> {
    (shape.len() >= 2).then(|| turned_sizes(shape))
}

fn turned_sizes(shape: &[usize]) -> Shape {
    shape.iter().rev().copied().collect()
}

/// The axes in reverse order.
fn turned(x: &Node) -> Node {
    x.permuted(&(0..x.rank()).rev().collect::<Vec<_>>())
}

fn ranges(shape: &[usize], of: fn(usize) -> (usize, isize, usize)) -> Vec<SliceRange> {
    let range = |&n: &usize| {
        let (start, step, len) = of(n);
        SliceRange { start, step, len }
    };
    shape.iter().map(range).collect()
}

fn flipped(x: &Node, shape: &[usize]) -> Node {
    x.sliced(&ranges(shape, |n| (n.saturating_sub(1), -1, n)))
}

fn before(n: usize) -> usize {
    usize::from(n >= 2)
}

fn after(n: usize) -> usize {
    usize::from(n >= 3)
}

fn borders(shape: &[usize]) -> Vec<(usize, usize)> {
    shape.iter().map(|&n| (before(n), after(n))).collect()
}

fn turned_borders(shape: &[usize]) -> Vec<(usize, usize)> {
    borders(shape).into_iter().rev().collect()
}

/// Two of every three places, slanted over the axes.
fn mask(shape: &[usize]) -> Expr {
    let place = (0..shape.len()).fold(Expr::from(1), |sum, axis| sum + Expr::idx(axis) * Expr::from(axis as i64 + 1));
    place.rem(3).lt(2)
}

/// The data whose windows along the last axis but one fill the last two axes of a shape.
fn under_windows(shape: &[usize], step: usize, dilation: usize) -> Option<Shape> {
    let [lead @ .., count, size] = shape else { return None };
    let n = count.checked_sub(1)? * step + size.checked_sub(1)? * dilation + 1;
    Some(lead.iter().copied().chain([n]).collect())
}

fn windows(x: &Node, shape: &[usize], step: usize, dilation: usize) -> Result<Node> {
    let axis = x.rank() - 1;
    x.unfolded(Window { axis, n: x.shape()[axis], size: shape[shape.len() - 1], step, dilation })
}
