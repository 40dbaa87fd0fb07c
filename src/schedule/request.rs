//! A request: the nodes that are wanted, and the part of the graph they need, at one moment.

use super::fingerprint::Fingerprint;
use super::plan::Plan;
use super::snapshot::Snapshot;
use super::{build, group, kernels};
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
        &self.snapshot.order
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
        let mut groups = group::group(&self.snapshot, &self.wanted);
        let to_make: Vec<&Node> = self.nodes().iter().filter(|node| groups.stored.contains(&node.id())).collect();
        let stages = to_make.into_iter().flat_map(|node| build::stages(node, &self.snapshot, &mut groups)).collect();
        Plan::new(kernels::kernels(stages), &self.wanted)
    }
}
