//! A derivative that is shorter, or more exact, than the one an op's parts would give.

use super::movement::Vjp;
use super::node::Node;
use crate::error::Result;
use std::sync::Arc;

/// From the gradient, the inputs (then what stands beside them) and the value to the gradients of the inputs.
type Rule = dyn Fn(&Node, &[Node], &Node) -> Result<Vec<Node>> + Send + Sync;

struct Shortcut {
    name: &'static str,
    inputs: Vec<Node>,
    /// Other parts of the value that the rule has use for. They take no gradient: the inputs' are whole.
    beside: Vec<Node>,
    /// The value with the history of its parts, so that the rule can be differentiated again.
    value: Node,
    rule: Arc<Rule>,
}

impl Vjp for Shortcut {
    fn name(&self) -> &'static str {
        self.name
    }

    fn inputs(&self) -> Vec<Node> {
        self.inputs.clone()
    }

    fn beside(&self) -> Vec<Node> {
        self.beside.clone()
    }

    fn backward(&self, grad: &Node) -> Result<Vec<Node>> {
        let known: Vec<Node> = self.inputs.iter().chain(&self.beside).cloned().collect();
        (self.rule)(grad, &known, &self.value)
    }

    fn rebuilt(&self, inputs: Vec<Node>, beside: Vec<Node>, value: Node) -> Option<Arc<dyn Vjp>> {
        Some(Arc::new(Shortcut { name: self.name, inputs, beside, value, rule: self.rule.clone() }))
    }
}

impl Node {
    /// The same value, differentiated by `rule` with respect to `inputs`.
    #[track_caller]
    pub(crate) fn with_shortcut(
        &self,
        name: &'static str,
        inputs: &[&Node],
        rule: impl Fn(&Node, &[Node], &Node) -> Result<Vec<Node>> + Send + Sync + 'static,
    ) -> Node {
        self.with_shortcut_beside(name, inputs, &[], rule)
    }

    /// As [`Node::with_shortcut`], with other nodes that led to the value for the rule to use: it sees them after the inputs.
    #[track_caller]
    pub(crate) fn with_shortcut_beside(
        &self,
        name: &'static str,
        inputs: &[&Node],
        beside: &[&Node],
        rule: impl Fn(&Node, &[Node], &Node) -> Result<Vec<Node>> + Send + Sync + 'static,
    ) -> Node {
        let owned = |nodes: &[&Node]| nodes.iter().map(|&node| node.clone()).collect();
        let (inputs, beside) = (owned(inputs), owned(beside));
        self.with_vjp(Arc::new(Shortcut { name, inputs, beside, value: self.clone(), rule: Arc::new(rule) }))
    }
}
