//! Which nodes are written to memory; all others live inside the kernels of their consumers.

use super::snapshot::Snapshot;
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

/// The ids of the nodes that get a buffer.
pub(super) fn stored(snapshot: &Snapshot, wanted: &[Node]) -> HashSet<usize> {
    let uses = uses(snapshot, wanted);
    let mut stored = HashSet::new();
    let mut pending: HashMap<usize, Pending> = HashMap::new();
    for node in work(snapshot) {
        let inputs = snapshot.inputs(node);
        let sources: HashMap<usize, Node> =
            inputs.iter().map(|input| snapshot.through_identity(input)).map(|source| (source.id(), source)).collect();
        let below = sources.keys().filter_map(|id| pending.get(id));
        let alone = Pending { size: 1, places: matches!(snapshot.op(node), Op::Arange | Op::Rand { .. }) };
        let mut merged =
            below.fold(alone, |sum, part| Pending { size: sum.size + part.size, places: sum.places || part.places });
        if merged.size > EXPRESSION_LIMIT || (merged.places && turns_space(snapshot.op(node))) {
            // Cannot be one expression: the inputs are written first.
            for (id, source) in &sources {
                if pending.remove(id).is_some() && !snapshot.is_constant(source) {
                    stored.insert(*id);
                }
            }
            merged = alone;
        }
        let uses = uses.get(&node.id());
        let keeps = uses.is_some_and(|uses| uses.memory || (uses.many && !snapshot.is_constant(node)));
        if keeps || !node.joins() {
            stored.insert(node.id());
        } else {
            pending.insert(node.id(), merged);
        }
    }
    stored
}

/// The nodes that something has to be computed for.
fn work(snapshot: &Snapshot) -> impl Iterator<Item = &Node> {
    snapshot.in_order().filter(|node| !snapshot.has_numbers(node) && !snapshot.is_view(node))
}

/// Whether a reduction walks its space in another order than row-major: unless the reduced axes are last.
fn turns_space(op: &Op) -> bool {
    match op {
        Op::Reduce { axes, input, .. } => !axes.iter().copied().eq(input.rank() - axes.len()..input.rank()),
        _ => false,
    }
}

fn uses(snapshot: &Snapshot, wanted: &[Node]) -> HashMap<usize, Uses> {
    let mut uses: HashMap<usize, Uses> = HashMap::new();
    for node in wanted {
        uses.entry(node.id()).or_default().memory = true;
    }
    for node in work(snapshot) {
        if node.is_parameter() {
            uses.entry(node.id()).or_default().memory = true;
        }
        let merges = node.joins() || matches!(snapshot.op(node), Op::Reduce { .. } | Op::Contiguous { .. });
        for input in snapshot.inputs(node) {
            let source = snapshot.through_identity(&input);
            if let Some((base, _)) = snapshot.view(&source) {
                if !merges || snapshot.viewed_constant(&source).is_none() {
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
