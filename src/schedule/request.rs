//! A request: the nodes that are wanted, and the part of the graph they need, at one moment.

use super::fingerprint::Fingerprint;
use super::plan::{self, Plan};
use super::snapshot::Snapshot;
use super::{group, rows};
use crate::graph::{Node, Op};

/// The nodes that are wanted, and all they need.
pub(crate) struct Request {
    wanted: Vec<Node>,
    snapshot: Snapshot,
}

impl Request {
    /// A request for `wanted`. None of them is a view, and none has its numbers.
    pub(crate) fn new(wanted: Vec<Node>) -> Request {
        Request { snapshot: Snapshot::take(&wanted), wanted }
    }

    /// Every node that is needed, by number.
    pub(crate) fn nodes(&self) -> &[Node] {
        &self.snapshot.nodes
    }

    /// The number of a node.
    pub(crate) fn number(&self, node: &Node) -> usize {
        self.snapshot.number(node)
    }

    /// The value of a constant, by its node's number.
    pub(crate) fn constant(&self, number: usize) -> Option<crate::dtype::Literal> {
        match self.snapshot.seen[number].op {
            Op::ConstFill(value) => Some(value),
            _ => None,
        }
    }

    /// What it has in common with all requests of the same plan.
    pub(crate) fn fingerprint(&self) -> Fingerprint {
        Fingerprint::of(&self.snapshot, &self.wanted)
    }

    /// The kernels that serve it.
    pub(crate) fn plan(&self) -> Plan {
        let stored = group::stored(&self.snapshot, &self.wanted);
        let to_make = self.snapshot.in_order().filter(|node| stored.contains(&node.id()));
        let stages = to_make.map(|node| plan::stage(node, &self.snapshot, &stored)).collect();
        Plan::new(rows::kernels(stages), &self.wanted)
    }
}
