//! From the index space of an expression to the index of a node that is looked at through views.
//!
//! An expression has one space. A node that stands behind views is computed at the places the views show, so every operand
//! behind it is read through the same movements: these are a *frame*. Frames lie within each other, as views of what is
//! computed from views do.

use super::snapshot::Snapshot;
use crate::dtype::Literal;
use crate::graph::{Movement, Node};
use crate::shape::{Expr, Position, Shape, View};
use std::collections::HashMap;

/// The name of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Frame(usize);

impl Frame {
    /// The space itself.
    pub(super) const SPACE: Frame = Frame(0);
}

/// One look through views.
struct Look {
    /// The frame that looks.
    outer: Frame,
    /// The movements from the node that is looked at to the view, each with the shape it leads to.
    moves: Vec<(Movement, Shape)>,
    /// Some places are shown more than once, or there are far more places than elements.
    repeats: bool,
}

/// Every frame of a plan.
#[derive(Default)]
pub(super) struct Frames {
    looks: Vec<Look>,
    /// By the frame that looks, the node that is looked at, and the way to it.
    known: HashMap<(Frame, usize, View), Option<Frame>>,
}

impl Frames {
    /// The frame of the base of `view_node`, seen from `outer`; `None` if the way to it is no longer known.
    pub(super) fn enter(&mut self, outer: Frame, view_node: &Node, snapshot: &Snapshot) -> Option<Frame> {
        let (base, view) = snapshot.view(view_node)?;
        let key = (outer, base.id(), view.clone());
        if let Some(&known) = self.known.get(&key) {
            return known;
        }
        let frame = snapshot.movements(view_node).map(|moves| {
            let moves = without_detours(moves);
            let repeats = self.repeats(outer) || view_node.len() >= 2 * base.len().max(1);
            self.looks.push(Look { outer, moves, repeats });
            Frame(self.looks.len())
        });
        self.known.insert(key, frame);
        frame
    }

    /// Whether elements are shown more than once in a frame.
    pub(super) fn repeats(&self, frame: Frame) -> bool {
        frame.0 > 0 && self.looks[frame.0 - 1].repeats
    }

    /// What a view of the frame's node becomes in the space. Places the frame adds read as `outside`.
    pub(super) fn apply(&self, frame: Frame, view: &View, outside: Literal) -> Option<View> {
        let mut view = view.clone();
        let mut frame = frame;
        while frame.0 > 0 {
            let look = &self.looks[frame.0 - 1];
            for (movement, shape) in &look.moves {
                view = movement.apply(&view, shape, outside)?;
            }
            frame = look.outer;
        }
        Some(view)
    }

    /// Where, in the space, a condition on the indices of the frame's node holds: what it says of places the frame adds may
    /// be anything.
    pub(super) fn condition(&self, frame: Frame, shape: &[usize], condition: &Expr) -> Option<Expr> {
        if frame == Frame::SPACE {
            return Some(condition.clone());
        }
        let masked = View::contiguous(shape).mask(condition.clone(), Literal::Bool(false))?;
        let (_, guards) = self.apply(frame, &masked, Literal::Bool(false))?.access();
        Some(guards.into_iter().map(|(condition, _)| condition).reduce(Expr::and).unwrap_or(Expr::Const(1)))
    }

    /// The row-major place of an element of the frame's node, of this shape.
    pub(super) fn place(&self, frame: Frame, shape: &[usize]) -> Option<Expr> {
        let (position, _) = self.apply(frame, &View::contiguous(shape), Literal::Bool(false))?.access();
        Some(match position {
            Position::Strided { offset, strides } => Expr::from_affine(offset, &strides),
            Position::Computed(position) => position,
        })
    }
}

/// Of several reshapes in a row only the last one counts.
fn without_detours(moves: Vec<(Movement, Shape)>) -> Vec<(Movement, Shape)> {
    let mut kept: Vec<(Movement, Shape)> = Vec::with_capacity(moves.len());
    for (movement, shape) in moves {
        if matches!((kept.last(), &movement), (Some((Movement::Reshape, _)), Movement::Reshape)) {
            kept.pop();
        }
        kept.push((movement, shape));
    }
    kept
}
