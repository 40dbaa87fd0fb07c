//! The wanted part of the graph at one moment.
//!
//! While a plan is made, another thread may finish a node of the same graph and let go of what led to it. A plan looks
//! at each node once, here, and never again.

use crate::dtype::Literal;
use crate::graph::{Harvest, IdMap, Movement, Node, Op};
use crate::shape::{Shape, View};
use smallvec::SmallVec;
use std::cell::Cell;
use std::collections::hash_map::Entry;
use std::sync::{Arc, Mutex, PoisonError};

/// There is room for so many nodes from the beginning: few requests have more.
const FEW: usize = 24;
/// Lists of up to so many nodes are kept for the next request.
const MOST_KEPT: usize = 4096;

thread_local! {
    /// The lists of the thread's last snapshot, empty.
    static SPARE: Cell<Option<Lists>> = const { Cell::new(None) };
}

/// Ops as they were when the plan was begun.
pub(crate) struct Snapshot {
    /// Every needed node, by number: the order in which the walk came to them.
    pub(super) nodes: Vec<Node>,
    /// What was seen of each, by number.
    pub(super) seen: Vec<Seen>,
    numbers: IdMap<u32>,
    /// The numbers, inputs before users.
    order: Vec<u32>,
    /// Backward passes through some of the nodes, and whether all their gradients are made here.
    harvests: Mutex<Vec<(Arc<Harvest>, bool)>>,
    /// The steps that are left of the walk: none.
    walk: Vec<Walk>,
}

/// What a snapshot is made of. Requests of many nodes would get it from the system, and give it back, again and again: the next one takes
/// what the last one had.
struct Lists {
    nodes: Vec<Node>,
    seen: Vec<Seen>,
    numbers: IdMap<u32>,
    order: Vec<u32>,
    walk: Vec<Walk>,
}

impl Lists {
    fn new() -> Lists {
        Lists {
            nodes: Vec::with_capacity(FEW),
            seen: Vec::with_capacity(FEW),
            numbers: IdMap::with_capacity_and_hasher(FEW, Default::default()),
            order: Vec::with_capacity(FEW),
            walk: Vec::with_capacity(FEW),
        }
    }
}

impl Drop for Snapshot {
    fn drop(&mut self) {
        if self.nodes.len() > MOST_KEPT {
            return;
        }
        self.nodes.clear();
        self.seen.clear();
        self.numbers.clear();
        self.order.clear();
        let lists = Lists {
            nodes: std::mem::take(&mut self.nodes),
            seen: std::mem::take(&mut self.seen),
            numbers: std::mem::take(&mut self.numbers),
            order: std::mem::take(&mut self.order),
            walk: std::mem::take(&mut self.walk),
        };
        // Where the thread is ending there is no next request.
        let _ = SPARE.try_with(|spare| spare.set(Some(lists)));
    }
}

/// What was seen of a node.
pub(super) struct Seen {
    pub(super) op: Op,
    /// The numbers are there, or will be given.
    pub(super) has_numbers: bool,
}

/// A step of the walk.
enum Walk {
    Enter(Node),
    /// Everything behind the node of this number has been seen.
    Leave(u32),
}

impl Snapshot {
    /// Looks at everything `wanted` needs: a view's base, and nothing behind a node that has its numbers.
    pub(crate) fn take(wanted: &[Node]) -> Snapshot {
        let spare = SPARE.try_with(Cell::take).ok().flatten();
        let Lists { mut nodes, mut seen, mut numbers, mut order, walk: mut stack } = spare.unwrap_or_else(Lists::new);
        stack.extend(wanted.iter().rev().cloned().map(Walk::Enter));
        while let Some(walk) = stack.pop() {
            let node = match walk {
                Walk::Leave(number) => {
                    order.push(number);
                    continue;
                }
                Walk::Enter(node) => node,
            };
            let Entry::Vacant(entry) = numbers.entry(node.id()) else { continue };
            let number = *entry.insert(nodes.len() as u32);
            node.forget_history();
            let (op, buffer) = node.op_and_buffer();
            let has_numbers = buffer.is_some() || matches!(op, Op::Input);
            stack.push(Walk::Leave(number));
            let place = stack.len();
            match &op {
                _ if has_numbers => {}
                Op::View { base, .. } => stack.push(Walk::Enter(base.clone())),
                op => op.for_each_input(|input| stack.push(Walk::Enter(input.clone()))),
            }
            stack[place..].reverse(); // the first input is walked first
            nodes.push(node);
            seen.push(Seen { op, has_numbers });
        }
        Snapshot { nodes, seen, numbers, order, harvests: Mutex::default(), walk: stack }
    }

    /// Every needed node, inputs before users.
    pub(super) fn in_order(&self) -> impl Iterator<Item = &Node> {
        self.order.iter().map(|&number| &self.nodes[number as usize])
    }

    /// The number of a node.
    pub(crate) fn number(&self, node: &Node) -> usize {
        self.numbers[&node.id()] as usize
    }

    /// Whether the numbers of a node, once in memory, will be wanted again.
    pub(super) fn keeps(&self, node: &Node) -> bool {
        node.is_parameter() || (node.tracks() && !node.harvest().is_some_and(|harvest| self.brings_in(&harvest)))
    }

    /// Whether all gradients of a backward pass are there when this is done.
    fn brings_in(&self, harvest: &Arc<Harvest>) -> bool {
        let mut known = self.harvests.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, answer)) = known.iter().find(|(other, _)| Arc::ptr_eq(other, harvest)) {
            return *answer;
        }
        let answer = harvest.is_brought_in(|node| self.numbers.contains_key(&node.id()));
        known.push((harvest.clone(), answer));
        answer
    }

    /// What a node wants done.
    pub(super) fn op(&self, node: &Node) -> &Op {
        &self.seen[self.number(node)].op
    }

    /// Whether a node's numbers are there, or will be given.
    pub(super) fn has_numbers(&self, node: &Node) -> bool {
        self.seen[self.number(node)].has_numbers
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
