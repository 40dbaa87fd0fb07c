//! Windows along an axis, their places, and the way back.

use crate::dtype::Literal;
use crate::error::{Error, ErrorKind, Result};
use crate::graph::movement::{Movement, Window, with_size};
use crate::graph::{Node, ReduceKind};
use crate::shape::{Expr, Shape, View, element_count};

impl Node {
    /// Axis `window.axis` becomes its windows, with the place in the window as a new last axis.
    #[track_caller]
    pub(crate) fn unfolded(&self, window: Window) -> Result<Node> {
        check(&window)?;
        debug_assert_eq!(self.shape()[window.axis], window.n);
        let mut shape = with_size(self.shape(), window.axis, window.count());
        shape.push(window.size);
        element_count("unfold", &shape, self.dtype())?;
        let Window { axis, size, step, dilation, .. } = window;
        Ok(self.moved(Movement::Unfold(window), |view| view.unfold(axis, size, step, dilation)))
    }

    /// The adjoint of [`Node::unfolded`]: windows added up where they came from.
    #[track_caller]
    pub(crate) fn folded(&self, window: Window) -> Result<Node> {
        check(&window)?;
        let placed = self.placed(window)?;
        placed.reduce("fold", ReduceKind::Sum, &[-1], false)
    }

    /// From windows (`[.., o, .., k]`) to places (`[.., n, .., k]`), zero where a window has nothing.
    #[track_caller]
    pub(crate) fn placed(&self, window: Window) -> Result<Node> {
        let Window { axis, n, step, dilation, .. } = window;
        let last = self.rank() - 1;
        let shape = with_size(self.shape(), axis, n);
        element_count("fold", &shape, self.dtype())?;
        let distance = Expr::idx(axis) - Expr::idx(last) * Expr::from(dilation as i64);
        let step = step as i64;
        let inside = distance.clone().ge(0).and(distance.clone().lt(step * self.shape()[axis] as i64));
        let condition = distance.clone().rem(step).eq_expr(0).and(inside);
        let map = replaced(self.rank(), axis, distance.div(step));
        let zero = Literal::zero(self.dtype());
        let change = |view: &View| view.substitute(shape.clone(), &map)?.mask(condition.clone(), zero);
        Ok(self.moved(Movement::Place(window), change))
    }

    /// The adjoint of [`Node::placed`].
    #[track_caller]
    pub(crate) fn picked(&self, window: Window) -> Result<Node> {
        let Window { axis, step, dilation, .. } = window;
        let last = self.rank() - 1;
        let shape: Shape = with_size(self.shape(), axis, window.count());
        let place = Expr::idx(axis) * Expr::from(step as i64) + Expr::idx(last) * Expr::from(dilation as i64);
        let map = replaced(self.rank(), axis, place);
        Ok(self.moved(Movement::Pick(window), |view| view.substitute(shape.clone(), &map)))
    }
}

/// Every axis as it is, but for one.
fn replaced(rank: usize, axis: usize, with: Expr) -> Vec<Expr> {
    (0..rank).map(|k| if k == axis { with.clone() } else { Expr::idx(k) }).collect()
}

fn check(window: &Window) -> Result<()> {
    let Window { size, step, dilation, .. } = *window;
    if size > 0 && step > 0 && dilation > 0 {
        return Ok(());
    }
    let message = format!("window size {size}, step {step} and dilation {dilation} must all be at least 1");
    Err(Error::new(ErrorKind::Value, "unfold", message))
}
