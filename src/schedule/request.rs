//! A request: the nodes that are wanted, and the part of the graph they need, at one moment.

use super::glance::Glance;
use super::plan::Plan;
use super::snapshot::Snapshot;
use super::{build, group, kernels, order, producer};
use crate::graph::Node;
use crate::ops::vector::QuickSet;

/// The nodes that are wanted, and all they need.
pub(crate) struct Request {
    wanted: Vec<Node>,
    snapshot: Snapshot,
    /// Inputs that are results as they are.
    passed_on: Vec<Node>,
}

impl Request {
    /// A request for `wanted`. None of them is a view, and none has its numbers.
    pub(crate) fn new(wanted: Vec<Node>) -> Request {
        Request { snapshot: Snapshot::take(&wanted), wanted, passed_on: Vec::new() }
    }

    /// The same, and these inputs are results as they are.
    pub(crate) fn passing_on(self, inputs: Vec<Node>) -> Request {
        Request { passed_on: inputs, ..self }
    }

    /// Whether a node's numbers are told anew to each run, which may write over them if they are given away.
    pub(crate) fn takes(&self, node: &Node) -> bool {
        node.is_input() && !self.passed_on.contains(node)
    }

    /// All that is needed, without the ops.
    pub(crate) fn glance(&self) -> &Glance {
        self.snapshot.glance()
    }

    /// Every node that is needed, by number.
    pub(crate) fn nodes(&self) -> &[Node] {
        self.glance().nodes()
    }

    /// The number of a node.
    pub(crate) fn number(&self, node: &Node) -> usize {
        self.glance().number(node)
    }

    /// Whether the numbers of a node, once in memory, will be wanted again: a parameter's, and what a gradient that this request does not
    /// make may need.
    pub(crate) fn keeps(&self, node: &Node) -> bool {
        self.glance().keeps(node)
    }

    /// The kernels that serve it.
    pub(crate) fn plan(&self) -> Plan {
        let mut groups = group::group(&self.snapshot, &self.wanted);
        let to_make: Vec<&Node> = self.snapshot.in_order().filter(|node| groups.stored.contains(&node.id())).collect();
        let stages = to_make.into_iter().flat_map(|node| build::stages(node, &self.snapshot, &mut groups)).collect();
        let kernels = kernels::kernels(stages);
        let kernels = producer::fold(kernels, &self.snapshot, &mut groups.frames, &self.wanted);
        let wanted: QuickSet<usize> = self.wanted.iter().map(Node::id).collect();
        let stays = |node: &Node| wanted.contains(&node.id()) || self.snapshot.keeps(node);
        Plan::new(order::order(kernels, stays), &self.wanted)
    }
}
