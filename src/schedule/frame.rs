//! From the index space of an expression to the index of a node that is looked at through views.
//!
//! An expression has one space. A node that stands behind views is computed at the places the views show, so every operand
//! behind it is read through the same movements: these are a *frame*. Frames lie within each other, as views of what is
//! computed from views do.

use super::snapshot::Snapshot;
use crate::dtype::Literal;
use crate::graph::{Movement, Node};
use crate::ops::vector::QuickMap;
use crate::shape::{Expr, Position, Shape, View};
use smallvec::SmallVec;

/// The name of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Frame(usize);

impl Frame {
    /// The space itself.
    pub(super) const SPACE: Frame = Frame(0);
}

/// One look at a node.
struct Look {
    /// The frame that looks.
    outer: Frame,
    way: Way,
    /// Some places are shown more than once, or there are far more places than elements.
    repeats: bool,
    /// Every element is shown, and nothing else.
    shows_all: bool,
}

/// How a node is looked at.
enum Way {
    /// The movements from the node to the view, each with the shape it leads to.
    Moves(Vec<(Movement, Shape)>),
    /// At places along an axis that an index names; the shape is that of the index.
    Gather(usize, Shape),
}

/// How a view of a frame's node is read in the space.
pub(super) struct Seen {
    pub(super) view: View,
    /// The frames that gather, and how many elements apart the places lie that they choose from.
    pub(super) gathers: SmallVec<[(Frame, i64); 1]>,
}

/// Every frame of a plan.
#[derive(Default)]
pub(super) struct Frames {
    looks: Vec<Look>,
    /// By the frame that looks, the node that is looked at, and the way to it.
    known: QuickMap<(Frame, usize, View), Option<Frame>>,
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
            let mut moves = without_detours(moves);
            // A reshape that goes over into another one is none.
            if self.begins_with_reshape(outer) && matches!(moves.last(), Some((Movement::Reshape, _))) {
                moves.pop();
            }
            let repeats = self.repeats(outer) || view_node.len() >= 2 * base.len().max(1);
            let stays = |(movement, _): &(Movement, Shape)| {
                matches!(movement, Movement::Permute(_) | Movement::Reshape | Movement::Expand)
            };
            let shows_all = self.shows_all(outer) && moves.iter().all(stays);
            self.looks.push(Look { outer, way: Way::Moves(moves), repeats, shows_all });
            Frame(self.looks.len())
        });
        self.known.insert(key, frame);
        frame
    }

    /// The frame of a node in a space of another shape, with the same elements in the same order.
    pub(super) fn reshaped(&mut self, space: &[usize]) -> Frame {
        let way = Way::Moves(vec![(Movement::Reshape, space.into())]);
        self.looks.push(Look { outer: Frame::SPACE, way, repeats: false, shows_all: true });
        Frame(self.looks.len())
    }

    fn begins_with_reshape(&self, frame: Frame) -> bool {
        let way = frame.0.checked_sub(1).map(|place| &self.looks[place].way);
        matches!(way, Some(Way::Moves(moves)) if matches!(moves.first(), Some((Movement::Reshape, _))))
    }

    /// The frame of what a gather reads, seen from `outer`: its input, at the places its index names.
    pub(super) fn gather(&mut self, outer: Frame, gather: &Node, input: &Node, axis: usize) -> Frame {
        let key = (outer, gather.id(), View::contiguous(gather.shape()));
        if let Some(&Some(known)) = self.known.get(&key) {
            return known;
        }
        let repeats = self.repeats(outer) || gather.len() >= 2 * input.len().max(1);
        let way = Way::Gather(axis, gather.shape().into());
        self.looks.push(Look { outer, way, repeats, shows_all: false });
        let frame = Frame(self.looks.len());
        self.known.insert(key, Some(frame));
        frame
    }

    /// Whether a frame shows every element of its node, and nothing else.
    pub(super) fn shows_all(&self, frame: Frame) -> bool {
        frame.0 == 0 || self.looks[frame.0 - 1].shows_all
    }

    /// Whether elements are shown more than once in a frame.
    pub(super) fn repeats(&self, frame: Frame) -> bool {
        frame.0 > 0 && self.looks[frame.0 - 1].repeats
    }

    /// What a view of the frame's node becomes in the space. Places the frame adds read as `outside`.
    pub(super) fn apply(&self, frame: Frame, view: &View, outside: Literal) -> Option<Seen> {
        let mut seen = Seen { view: view.clone(), gathers: SmallVec::new() };
        let mut frame = frame;
        while frame.0 > 0 {
            let look = &self.looks[frame.0 - 1];
            match &look.way {
                Way::Moves(moves) => {
                    for (movement, shape) in moves {
                        seen.view = movement.apply(&seen.view, shape, outside)?;
                    }
                }
                Way::Gather(axis, shape) => {
                    let (view, step) = gathered(&seen.view, *axis, shape)?;
                    seen.view = view;
                    if step != 0 {
                        seen.gathers.push((frame, step));
                    }
                }
            }
            frame = look.outer;
        }
        // A gathered element has a place of its own, and no guard can know it.
        let plain = seen.gathers.is_empty() || seen.view.access().1.is_empty();
        plain.then_some(seen)
    }

    /// The same, where nothing is gathered.
    fn plain(&self, frame: Frame, view: &View) -> Option<View> {
        let seen = self.apply(frame, view, Literal::Bool(false))?;
        seen.gathers.is_empty().then_some(seen.view)
    }

    /// Where, in the space, a condition on the indices of the frame's node holds: what it says of places the frame adds may
    /// be anything.
    pub(super) fn condition(&self, frame: Frame, shape: &[usize], condition: &Expr) -> Option<Expr> {
        if frame == Frame::SPACE {
            return Some(condition.clone());
        }
        let masked = View::contiguous(shape).mask(condition.clone(), Literal::Bool(false))?;
        let (_, guards) = self.plain(frame, &masked)?.access();
        Some(guards.into_iter().map(|(condition, _)| condition).reduce(Expr::and).unwrap_or(Expr::Const(1)))
    }

    /// The row-major place of an element of the frame's node, of this shape.
    pub(super) fn place(&self, frame: Frame, shape: &[usize]) -> Option<Expr> {
        let (position, _) = self.plain(frame, &View::contiguous(shape))?.access();
        Some(match position {
            Position::Strided { offset, strides } => Expr::from_affine(offset, &strides),
            Position::Computed(position) => position,
        })
    }
}

/// A view of what is gathered from, without the places along `axis`, as a view of the gathered `shape`; and how far apart those
/// places lie. `None` if they do not lie apart evenly.
pub(super) fn gathered(view: &View, axis: usize, shape: &[usize]) -> Option<(View, i64)> {
    let View::Linear { strides, offset, .. } = view else { return None };
    let step = i64::try_from(strides[axis]).ok().filter(|&step| step >= 0)?;
    let mut strides = strides.clone();
    strides[axis] = 0;
    Some((View::Linear { shape: shape.into(), strides, offset: *offset }, step))
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
