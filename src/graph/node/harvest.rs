//! What a backward pass leaves: once its gradients are made, what they were made from is not needed again.

use super::{Identity, Node};
use std::sync::Arc;

/// The gradients that one backward pass left with tensors.
pub(crate) struct Harvest(Vec<Identity>);

impl Harvest {
    /// Notes that these gradients were taken through some nodes.
    pub(crate) fn note(gradients: &[Node], through: &[Node]) {
        let harvest = Arc::new(Harvest(gradients.iter().map(Node::identity).collect()));
        for node in through {
            node.write_state().harvest = Some(harvest.clone());
        }
    }

    /// Whether every gradient is there, is made by a request for which `makes` tells what it makes, or is wanted by nobody.
    pub(crate) fn is_brought_in(&self, makes: impl Fn(&Node) -> bool) -> bool {
        self.0
            .iter()
            .filter_map(Identity::node)
            .all(|gradient| gradient.is_realized() || makes(&gradient) || makes(&gradient.base()))
    }
}

impl Identity {
    /// The node, if it lives.
    fn node(&self) -> Option<Node> {
        self.0.upgrade().map(Node)
    }
}

impl Node {
    /// The gradients that were taken through the node last.
    pub(crate) fn harvest(&self) -> Option<Arc<Harvest>> {
        self.read_state().harvest.clone()
    }
}
