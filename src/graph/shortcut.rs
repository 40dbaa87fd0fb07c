//! A derivative that is shorter, or more exact, than the one an op's parts would give.

use super::movement::Vjp;
use super::node::Node;
use crate::error::Result;
use smallvec::SmallVec;
use std::sync::Arc;

/// From the gradient, the inputs (then what stands beside them) and the value to the gradients of the inputs.
pub(crate) trait Rule: Fn(&Node, &[Node], &Node) -> Result<Vec<Node>> + Clone + Send + Sync + 'static {}

impl<F: Fn(&Node, &[Node], &Node) -> Result<Vec<Node>> + Clone + Send + Sync + 'static> Rule for F {}

#[derive(Clone)]
struct Shortcut<F> {
    name: &'static str,
    /// The inputs, and behind them other parts of the value that the rule has use for. Those take no gradient: the inputs' are whole.
    known: SmallVec<[Node; 3]>,
    /// How many of them are inputs.
    inputs: usize,
    /// The value with the history of its parts, so that the rule can be differentiated again.
    value: Node,
    rule: F,
}

impl<F: Rule> Vjp for Shortcut<F> {
    fn name(&self) -> &'static str {
        self.name
    }

    fn inputs(&self) -> &[Node] {
        &self.known[..self.inputs]
    }

    fn beside(&self) -> &[Node] {
        &self.known[self.inputs..]
    }

    fn backward(&self, grad: &Node) -> Result<Vec<Node>> {
        (self.rule)(grad, &self.known, &self.value)
    }

    fn rebuilt(&self, inputs: Vec<Node>, beside: Vec<Node>, value: Node) -> Option<Arc<dyn Vjp>> {
        let known = inputs.into_iter().chain(beside).collect();
        Some(Arc::new(Shortcut { known, value, ..self.clone() }))
    }
}

impl Node {
    /// The same value, differentiated by `rule` with respect to `inputs`.
    #[track_caller]
    pub(crate) fn with_shortcut(&self, name: &'static str, inputs: &[&Node], rule: impl Rule) -> Node {
        self.with_shortcut_beside(name, inputs, &[], rule)
    }

    /// As [`Node::with_shortcut`], with other nodes that led to the value for the rule to use: it sees them after the inputs.
    #[track_caller]
    pub(crate) fn with_shortcut_beside(
        &self,
        name: &'static str,
        inputs: &[&Node],
        beside: &[&Node],
        rule: impl Rule,
    ) -> Node {
        let known = inputs.iter().chain(beside).map(|&node| node.clone()).collect();
        self.with_vjp(Arc::new(Shortcut { name, known, inputs: inputs.len(), value: self.clone(), rule }))
    }
}
