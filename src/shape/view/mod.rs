//! Views: how an index of a tensor finds its element in a dense row-major buffer, or a default.
//!
//! [`View::read`] is the meaning; every movement and every kernel agrees with it.
//! A view of a view is one view again. Where that would grow too large a movement gives `None`, and the caller copies.

mod access;
mod bounds;
mod map;
mod movement;
mod reshape;
mod substitute;

#[cfg(test)]
mod facts;
#[cfg(test)]
mod model;

#[cfg(test)]
pub(crate) use model::Random;

pub(crate) use access::Position;
pub(crate) use bounds::{Bound, Bounded};

use super::layout::is_row_major;
use super::{Expr, Layout, Shape, Strides, row_major_strides};
use crate::dtype::Literal;

/// The most expression nodes that a view holds.
const MOST_NODES: usize = 128;
/// The most guards (paddings and masks) that lie over one another.
const MOST_GUARDS: usize = 4;

/// How an index of a shape finds an element of a dense row-major buffer, or a default.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum View {
    /// The element at `offset + Σ index · stride`.
    Linear {
        /// The size of each axis.
        shape: Shape,
        /// The distance between neighbours along each axis, in elements.
        strides: Strides,
        /// The position of the first element.
        ///
        /// It may lie outside the buffer only within a [`View::Masked`] that keeps it from being read.
        offset: isize,
    },
    /// The element at the value of an expression.
    IndexExpr {
        /// The size of each axis.
        shape: Shape,
        /// The position of the element at an index.
        index_expr: Expr,
    },
    /// A view with a border that reads as a default.
    Padded {
        /// What lies inside the border.
        inner: Box<View>,
        /// How many places are added before and after, per axis.
        padding: Vec<(usize, usize)>,
        /// What the border reads as.
        default: Literal,
    },
    /// A view of which some places read as a default.
    Masked {
        /// What is read where the condition holds; elsewhere it is not asked, and may point anywhere.
        inner: Box<View>,
        /// The places to read: where this is not 0.
        condition: Expr,
        /// What the other places read as.
        default: Literal,
    },
}

/// What a view finds at an index.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Read {
    /// The element at this position of the buffer.
    At(usize),
    /// No element: this value.
    Default(Literal),
}

impl View {
    /// The view of a dense row-major buffer as it lies.
    pub fn contiguous(shape: &[usize]) -> View {
        View::Linear { shape: shape.into(), strides: row_major_strides(shape), offset: 0 }
    }

    /// The size of each axis.
    pub fn shape(&self) -> Shape {
        match self {
            View::Linear { shape, .. } | View::IndexExpr { shape, .. } => shape.clone(),
            View::Masked { inner, .. } => inner.shape(),
            View::Padded { inner, padding, .. } => {
                let sizes = inner.shape().into_iter().zip(padding);
                sizes.map(|(size, (before, after))| size.saturating_add(*before).saturating_add(*after)).collect()
            }
        }
    }

    /// The number of axes.
    pub fn rank(&self) -> usize {
        match self {
            View::Linear { shape, .. } | View::IndexExpr { shape, .. } => shape.len(),
            View::Masked { inner, .. } => inner.rank(),
            View::Padded { padding, .. } => padding.len(),
        }
    }

    /// Whether the view shows a buffer from its start, element by element, in row-major order.
    pub fn is_contiguous(&self) -> bool {
        match self {
            View::Linear { shape, strides, offset } => *offset == 0 && is_row_major(shape, strides),
            View::IndexExpr { .. } | View::Padded { .. } | View::Masked { .. } => false,
        }
    }

    /// Whether strides and an offset say everything.
    pub fn is_linear(&self) -> bool {
        matches!(self, View::Linear { .. })
    }

    /// The strides and the offset as a layout, if they say everything.
    pub fn layout(&self) -> Option<Layout> {
        match self {
            View::Linear { shape, strides, offset } => Layout::new(shape, strides, usize::try_from(*offset).ok()?).ok(),
            View::IndexExpr { .. } | View::Padded { .. } | View::Masked { .. } => None,
        }
    }

    /// What is found at an index, which must lie within the shape.
    pub fn read(&self, index: &[usize]) -> Read {
        match self {
            View::Linear { strides, offset, .. } => {
                Read::At(offset.wrapping_add(super::index_to_position(index, strides)) as usize)
            }
            View::IndexExpr { index_expr, .. } => Read::At(index_expr.eval(index) as usize),
            View::Padded { inner, padding, default } => {
                let sizes = inner.shape();
                let moved = index.iter().zip(padding).map(|(i, (before, _))| i.checked_sub(*before));
                match moved.collect::<Option<Shape>>() {
                    Some(index) if index.iter().zip(&sizes).all(|(i, size)| i < size) => inner.read(&index),
                    _ => Read::Default(*default),
                }
            }
            View::Masked { inner, condition, default } => {
                if condition.eval(index) != 0 {
                    inner.read(index)
                } else {
                    Read::Default(*default)
                }
            }
        }
    }

    /// The view that reads as one value everywhere.
    pub(crate) fn constant(shape: &[usize], value: Literal) -> View {
        if shape.contains(&0) {
            return View::contiguous(shape);
        }
        let strides = Strides::from_elem(0, shape.len());
        let inner = Box::new(View::Linear { shape: shape.into(), strides, offset: 0 });
        View::Masked { inner, condition: Expr::Const(0), default: value }
    }

    /// The value that the view reads as everywhere, if that is plain to see.
    pub(crate) fn as_constant(&self) -> Option<Literal> {
        match self {
            View::Masked { condition: Expr::Const(0), default, .. } => Some(*default),
            View::Linear { .. } | View::IndexExpr { .. } | View::Padded { .. } | View::Masked { .. } => None,
        }
    }

    /// The view itself, unless it has grown too large to be worth keeping.
    fn within_limits(self) -> Option<View> {
        let (mut nodes, mut guards) = (0, 0);
        let mut view = &self;
        loop {
            match view {
                View::Linear { .. } => break,
                View::IndexExpr { index_expr, .. } => {
                    nodes += index_expr.size();
                    break;
                }
                View::Padded { inner, .. } => {
                    guards += 1;
                    view = inner;
                }
                View::Masked { inner, condition, .. } => {
                    guards += 1;
                    nodes += condition.size();
                    view = inner;
                }
            }
        }
        (nodes <= MOST_NODES && guards <= MOST_GUARDS).then_some(self)
    }
}

impl From<&Layout> for View {
    fn from(layout: &Layout) -> View {
        View::Linear {
            shape: layout.shape().into(),
            strides: layout.strides().into(),
            offset: layout.start_offset() as isize,
        }
    }
}
