//! Decides which nodes share one kernel, and in which order kernels run.
//!
//! In: the nodes that are wanted. Out: a plan, kernels in running order.
//! For now a kernel is one expression, optionally reduced: an elementwise node merges into its consumer (this was
//! decided when the op was called, see [`Node::joins`]) unless that would compute it twice.

mod expression;
mod group;
mod plan;

pub(crate) use expression::{Expression, Step};
pub(crate) use plan::{Kernel, MapReduce, Operand, Plan, Work};

use crate::graph::{Node, Op, topological};
use smallvec::SmallVec;

/// The kernels that compute `wanted`. None of `wanted` is a view, and none is realized.
pub(crate) fn plan(wanted: &[Node]) -> Plan {
    let order = topological(wanted, behind);
    let stored = group::stored(&order, wanted);
    let kernels = order.iter().filter(|node| stored.contains(&node.id())).map(|node| plan::kernel(node, &stored));
    Plan::new(kernels.collect(), wanted)
}

/// The nodes whose numbers a node needs: a view's base, and nothing behind a node that has its numbers.
fn behind(node: &Node) -> SmallVec<[Node; 3]> {
    if node.buffer().is_some() {
        return SmallVec::new();
    }
    node.with_op(|op| match op {
        Op::View { base, .. } => SmallVec::from_elem(base.clone(), 1),
        _ => {
            let mut inputs = SmallVec::new();
            op.for_each_input(|input| inputs.push(input.clone()));
            inputs
        }
    })
}
