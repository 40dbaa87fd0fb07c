//! The wanted part of the graph at one moment.
//!
//! While a plan is made, another thread may finish a node of the same graph and let go of what led to it. A plan looks
//! at each node once, here, and never again.

use crate::dtype::Literal;
use crate::graph::{Movement, Node, Op, topological};
use crate::shape::{Shape, View};
use smallvec::SmallVec;
use std::collections::HashMap;
use std::sync::Arc;

/// Ops as they were when the plan was begun.
pub(super) struct Snapshot {
    /// Every needed node, inputs before users.
    pub(super) order: Vec<Node>,
    seen: HashMap<usize, Seen>,
}

struct Seen {
    op: Arc<Op>,
    /// The numbers are there, or will be given.
    has_numbers: bool,
}

impl Snapshot {
    /// Looks at everything `wanted` needs: a view's base, and nothing behind a node that has its numbers.
    pub(super) fn take(wanted: &[Node]) -> Snapshot {
        let mut seen = HashMap::new();
        let order = topological(wanted, |node| {
            node.forget_history();
            let (op, buffer) = node.op_and_buffer();
            let has_numbers = buffer.is_some() || matches!(*op, Op::Input);
            let mut behind = SmallVec::new();
            match &*op {
                _ if has_numbers => {}
                Op::View { base, .. } => behind.push(base.clone()),
                op => op.for_each_input(|input| behind.push(input.clone())),
            }
            seen.insert(node.id(), Seen { op, has_numbers });
            behind
        });
        Snapshot { order, seen }
    }

    /// What a node wants done.
    pub(super) fn op(&self, node: &Node) -> &Op {
        &self.seen[&node.id()].op
    }

    /// Whether a node's numbers are there, or will be given.
    pub(super) fn has_numbers(&self, node: &Node) -> bool {
        self.seen[&node.id()].has_numbers
    }

    /// The nodes that a node without numbers is computed from.
    pub(super) fn inputs(&self, node: &Node) -> SmallVec<[Node; 3]> {
        let mut inputs = SmallVec::new();
        self.op(node).for_each_input(|input| inputs.push(input.clone()));
        inputs
    }

    pub(super) fn is_view(&self, node: &Node) -> bool {
        matches!(self.op(node), Op::View { .. })
    }

    pub(super) fn is_constant(&self, node: &Node) -> bool {
        matches!(self.op(node), Op::ConstFill(_)) && !self.has_numbers(node)
    }

    /// The base and the view of a view.
    pub(super) fn view(&self, node: &Node) -> Option<(&Node, &View)> {
        match self.op(node) {
            Op::View { base, view, .. } => Some((base, view)),
            _ => None,
        }
    }

    /// The node that holds the elements: a view's base, or the node itself.
    pub(super) fn base<'a>(&'a self, node: &'a Node) -> &'a Node {
        self.view(node).map_or(node, |(base, _)| base)
    }

    /// The movements from a view's base to the view, each with the shape it leads to; `None` if the base is no longer behind
    /// it (another thread has just let go of the way).
    pub(super) fn movements(&self, node: &Node) -> Option<Vec<(Movement, Shape)>> {
        let Op::View { input, movement, base, .. } = self.op(node) else { return None };
        let mut moves = Vec::new();
        let (mut input, mut movement, mut shape) = (input.clone(), movement.clone(), Shape::from_slice(node.shape()));
        loop {
            if !movement.is_identity() {
                moves.push((movement, shape));
            }
            if input == *base {
                moves.reverse();
                return Some(moves);
            }
            shape = Shape::from_slice(input.shape());
            let behind = input.with_op(|op| match op {
                Op::View { input, movement, base: same, .. } if same == base => Some((input.clone(), movement.clone())),
                _ => None,
            });
            (input, movement) = behind?;
        }
    }

    /// The node that a view shows unchanged; otherwise the node itself.
    pub(super) fn through_identity(&self, node: &Node) -> Node {
        match self.view(node) {
            Some((base, view)) if view.is_contiguous() && base.shape() == node.shape() => base.clone(),
            _ => node.clone(),
        }
    }

    /// The constant that a view shows everywhere.
    pub(super) fn viewed_constant(&self, node: &Node) -> Option<Literal> {
        let (base, view) = self.view(node)?;
        match self.op(base) {
            Op::ConstFill(value) if !self.has_numbers(base) && view.access().1.is_empty() => Some(*value),
            _ => None,
        }
    }
}
