//! Which nodes are written to memory; all others live inside the kernels of their consumers.

use crate::graph::{Node, Op};
use std::collections::{HashMap, HashSet};

/// The most primitives that are merged into one expression.
const EXPRESSION_LIMIT: usize = 64;

/// How the nodes of one request use each other.
#[derive(Default)]
struct Uses {
    /// The consumer, while there is only one.
    only: Option<usize>,
    /// More than one consumer.
    many: bool,
    /// Someone needs the numbers in memory: a view with a shape of its own, a gather, the user.
    memory: bool,
}

/// What is known of an expression that is not stored.
#[derive(Clone, Copy, Default)]
struct Pending {
    /// Its primitives.
    size: usize,
    /// It asks for the place of the element.
    places: bool,
}

/// The ids of the nodes that get a buffer. `order` has every needed node, inputs first.
pub(super) fn stored(order: &[Node], wanted: &[Node]) -> HashSet<usize> {
    let uses = uses(order, wanted);
    let mut stored = HashSet::new();
    let mut pending: HashMap<usize, Pending> = HashMap::new();
    for node in order {
        if has_numbers(node) || is_view(node) {
            continue;
        }
        let sources: HashMap<usize, Node> =
            node.inputs().iter().map(|input| through_identity(input)).map(|source| (source.id(), source)).collect();
        let below = sources.keys().filter_map(|id| pending.get(id));
        let mut merged = below.fold(Pending { size: 1, places: asks_places(node) }, |sum, part| Pending {
            size: sum.size + part.size,
            places: sum.places || part.places,
        });
        if merged.size > EXPRESSION_LIMIT || (merged.places && turns_space(node)) {
            // Cannot be one expression: the inputs are written first.
            for (id, source) in &sources {
                if pending.remove(id).is_some() && !is_constant(source) {
                    stored.insert(*id);
                }
            }
            merged = Pending { size: 1, places: asks_places(node) };
        }
        let keeps = uses.get(&node.id()).is_some_and(|uses| uses.memory || (uses.many && !is_constant(node)));
        if keeps || !node.joins() {
            stored.insert(node.id());
        } else {
            pending.insert(node.id(), merged);
        }
    }
    stored
}

fn asks_places(node: &Node) -> bool {
    node.with_op(|op| matches!(op, Op::Arange | Op::Rand { .. }))
}

/// Whether a reduction walks its space in another order than row-major: unless the reduced axes are last.
fn turns_space(node: &Node) -> bool {
    node.with_op(|op| match op {
        Op::Reduce { axes, input, .. } => !axes.iter().copied().eq(input.rank() - axes.len()..input.rank()),
        _ => false,
    })
}

fn uses(order: &[Node], wanted: &[Node]) -> HashMap<usize, Uses> {
    let mut uses: HashMap<usize, Uses> = HashMap::new();
    for node in wanted {
        uses.entry(node.id()).or_default().memory = true;
    }
    for node in order {
        if has_numbers(node) || is_view(node) {
            continue;
        }
        let merges = node.joins() || is_reduce(node);
        for input in node.inputs() {
            let source = through_identity(&input);
            let through_view = source == input && is_view(&input);
            if through_view {
                let base = input.base_and_view().0;
                if !is_constant(&base) || !is_unguarded(&input) {
                    uses.entry(base.id()).or_default().memory = true;
                }
                continue;
            }
            let entry = uses.entry(source.id()).or_default();
            entry.memory |= !merges;
            match entry.only {
                Some(consumer) if consumer != node.id() => entry.many = true,
                _ => entry.only = Some(node.id()),
            }
        }
    }
    uses
}

/// The node a view shows unchanged; otherwise the node itself.
pub(super) fn through_identity(node: &Node) -> Node {
    let (base, view) = node.base_and_view();
    if view.is_contiguous() && base.shape() == node.shape() { base } else { node.clone() }
}

pub(super) fn is_view(node: &Node) -> bool {
    node.with_op(|op| matches!(op, Op::View { .. }))
}

pub(super) fn is_constant(node: &Node) -> bool {
    node.with_op(|op| matches!(op, Op::ConstFill(_)))
}

/// Whether every element of a view is one of its base.
pub(super) fn is_unguarded(node: &Node) -> bool {
    node.base_and_view().1.access().1.is_empty()
}

fn is_reduce(node: &Node) -> bool {
    node.with_op(|op| matches!(op, Op::Reduce { .. } | Op::Contiguous { .. }))
}

/// Whether a node's numbers are there, or will be given.
pub(super) fn has_numbers(node: &Node) -> bool {
    node.buffer().is_some() || node.with_op(|op| matches!(op, Op::Input))
}
