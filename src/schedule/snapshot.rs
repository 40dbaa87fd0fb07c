//! The wanted part of the graph at one moment.
//!
//! While a plan is made, another thread may finish a node of the same graph and let go of what led to it. A plan looks
//! at each node once, here, and never again.

use super::glance::Glance;
use crate::dtype::Literal;
use crate::graph::{Movement, Node, Op};
use crate::shape::{Shape, View};
use smallvec::SmallVec;

/// Ops as they were when the plan was begun.
pub(crate) struct Snapshot {
    glance: Glance,
    /// What was seen of each node, by number.
    seen: Vec<Seen>,
    /// The numbers, inputs before users.
    order: Vec<u32>,
}

/// What was seen of a node.
struct Seen {
    op: Op,
    /// The numbers are there, or will be given.
    has_numbers: bool,
}

/// A step of the walk that puts inputs before users, by a node's number.
enum Walk {
    Enter(u32),
    /// Everything behind the node has been seen.
    Leave(u32),
}

impl Snapshot {
    /// Looks at everything `wanted` needs: a view's base, and nothing behind a node that has its numbers.
    pub(crate) fn take(wanted: &[Node]) -> Snapshot {
        let mut seen = Vec::new();
        let glance = Glance::at(wanted, |op, has_numbers| seen.push(Seen { op: op.clone(), has_numbers }));
        let mut snapshot = Snapshot { glance, seen, order: Vec::new() };
        snapshot.order = snapshot.inputs_first(wanted);
        snapshot
    }

    fn inputs_first(&self, wanted: &[Node]) -> Vec<u32> {
        let enter = |node: &Node| Walk::Enter(self.number(node) as u32);
        let mut order = Vec::with_capacity(self.seen.len());
        let mut entered = vec![false; self.seen.len()];
        let mut stack: Vec<Walk> = wanted.iter().rev().map(enter).collect();
        while let Some(walk) = stack.pop() {
            match walk {
                Walk::Leave(number) => order.push(number),
                Walk::Enter(number) if !std::mem::replace(&mut entered[number as usize], true) => {
                    stack.push(Walk::Leave(number));
                    let Seen { op, has_numbers } = &self.seen[number as usize];
                    let place = stack.len();
                    if !has_numbers {
                        op.for_each_needed(|input| stack.push(enter(input)));
                    }
                    stack[place..].reverse(); // the first input is walked first
                }
                Walk::Enter(_) => {}
            }
        }
        order
    }

    /// The same without the ops.
    pub(super) fn glance(&self) -> &Glance {
        &self.glance
    }

    /// Every needed node, inputs before users.
    pub(super) fn in_order(&self) -> impl Iterator<Item = &Node> {
        self.order.iter().map(|&number| &self.glance.nodes()[number as usize])
    }

    fn number(&self, node: &Node) -> usize {
        self.glance.number(node)
    }

    /// What a node wants done.
    pub(super) fn op(&self, node: &Node) -> &Op {
        &self.seen[self.number(node)].op
    }

    /// Whether a node's numbers are there, or will be given.
    pub(super) fn has_numbers(&self, node: &Node) -> bool {
        self.seen[self.number(node)].has_numbers
    }

    /// Whether the numbers of a node, once in memory, will be wanted again.
    pub(super) fn keeps(&self, node: &Node) -> bool {
        self.glance.keeps(node)
    }

    /// The nodes that a node without numbers is computed from.
    pub(super) fn inputs(&self, node: &Node) -> SmallVec<[&Node; 3]> {
        let mut inputs = SmallVec::new();
        self.op(node).for_each_input(|input| inputs.push(input));
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
    pub(super) fn through_identity<'a>(&'a self, node: &'a Node) -> &'a Node {
        match self.view(node) {
            Some((base, view)) if view.is_contiguous() && base.shape() == node.shape() => base,
            _ => node,
        }
    }

    /// The constant that a view shows everywhere, and its node.
    pub(super) fn viewed_constant(&self, node: &Node) -> Option<(&Node, Literal)> {
        let (base, view) = self.view(node)?;
        match self.op(base) {
            Op::ConstFill(value) if !self.has_numbers(base) && view.access().1.is_empty() => Some((base, *value)),
            _ => None,
        }
    }
}
