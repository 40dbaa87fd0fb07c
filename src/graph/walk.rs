//! Walking the graph, without recursion.

use super::ids::IdSet;
use super::node::Node;
use smallvec::SmallVec;

/// Every node reachable from `wanted`, each after all that stand behind it.
///
/// `behind(node)` names the nodes the walk goes on to from `node`.
pub(crate) fn topological(wanted: &[Node], mut behind: impl FnMut(&Node) -> SmallVec<[Node; 3]>) -> Vec<Node> {
    let mut seen = IdSet::default();
    let mut order = Vec::new();
    let mut stack: Vec<(Node, bool)> = wanted.iter().rev().map(|node| (node.clone(), false)).collect();
    while let Some((node, behind_done)) = stack.pop() {
        if behind_done {
            order.push(node);
            continue;
        }
        if !seen.insert(node.id()) {
            continue;
        }
        let inputs = behind(&node);
        stack.push((node, true));
        for input in inputs.into_iter().rev() {
            if !seen.contains(&input.id()) {
                stack.push((input, false));
            }
        }
    }
    order
}
