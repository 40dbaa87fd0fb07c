//! Walking the graph, without recursion.

use super::node::Node;
use smallvec::SmallVec;
use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasherDefault, Hasher};

/// Something for each of some nodes, by [`Node::id`].
pub(crate) type Ids<T> = HashMap<usize, T, BuildHasherDefault<IdHasher>>;

/// Hashes an id by one multiplication: ids are addresses, and their low bits are all alike.
#[derive(Default)]
pub(crate) struct IdHasher(u64);

impl Hasher for IdHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|&byte| self.write_usize(byte.into()));
    }

    fn write_usize(&mut self, id: usize) {
        self.0 = (self.0 ^ id as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(26);
    }
}

/// Every node reachable from `wanted`, each after all that stand behind it.
///
/// `behind(node)` names the nodes the walk goes on to from `node`.
pub(crate) fn topological(wanted: &[Node], mut behind: impl FnMut(&Node) -> SmallVec<[Node; 3]>) -> Vec<Node> {
    let mut seen: HashSet<usize, BuildHasherDefault<IdHasher>> = HashSet::default();
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
