//! Windows along an axis, their places, and the way back.

use crate::dtype::Literal;
use crate::error::{Error, ErrorKind, Result};
use crate::graph::movement::{Movement, Window, with_size};
use crate::graph::{Node, ReduceKind};
use crate::shape::element_count;

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
        let shape = with_size(self.shape(), window.axis, window.n);
        element_count("fold", &shape, self.dtype())?;
        let (movement, zero) = (Movement::Place(window), Literal::zero(self.dtype()));
        Ok(self.moved(movement.clone(), |view| movement.apply(view, &shape, zero)))
    }

    /// The adjoint of [`Node::placed`].
    #[track_caller]
    pub(crate) fn picked(&self, window: Window) -> Result<Node> {
        let shape = with_size(self.shape(), window.axis, window.count());
        let (movement, zero) = (Movement::Pick(window), Literal::zero(self.dtype()));
        Ok(self.moved(movement.clone(), |view| movement.apply(view, &shape, zero)))
    }
}

fn check(window: &Window) -> Result<()> {
    let Window { size, step, dilation, .. } = *window;
    if size > 0 && step > 0 && dilation > 0 {
        return Ok(());
    }
    let message = format!("window size {size}, step {step} and dilation {dilation} must all be at least 1");
    Err(Error::new(ErrorKind::Value, "unfold", message))
}
