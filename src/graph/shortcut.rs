//! A derivative that is shorter, or more exact, than the one an op's parts would give.

use super::movement::Vjp;
use super::node::Node;
use crate::error::Result;
use std::sync::Arc;

/// From the gradient, the inputs and the value to the gradients of the inputs.
type Rule = dyn Fn(&Node, &[Node], &Node) -> Result<Vec<Node>> + Send + Sync;

struct Shortcut {
    name: &'static str,
    inputs: Vec<Node>,
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

    fn backward(&self, grad: &Node) -> Result<Vec<Node>> {
        (self.rule)(grad, &self.inputs, &self.value)
    }

    fn rebuilt(&self, inputs: Vec<Node>, value: Node) -> Option<Arc<dyn Vjp>> {
        Some(Arc::new(Shortcut { name: self.name, inputs, value, rule: self.rule.clone() }))
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
        let inputs = inputs.iter().map(|&input| input.clone()).collect();
        self.with_vjp(Arc::new(Shortcut { name, inputs, value: self.clone(), rule: Arc::new(rule) }))
    }
}
