//! Decides which nodes share one kernel, and in which order kernels run.
//!
//! In: the nodes that are wanted. Out: a plan, kernels in running order.
//! For now a kernel is one expression, optionally reduced: an elementwise node merges into its consumer (this was
//! decided when the op was called, see [`Node::joins`]) unless that would compute it twice.

mod expression;
mod group;
mod plan;
mod rows;
mod snapshot;

#[cfg(test)]
mod tests;

pub(crate) use expression::{Expression, Step};
pub(crate) use plan::{Form, Kernel, MapReduce, Operand, Plan, Stage, Work};

use crate::graph::Node;
use snapshot::Snapshot;

/// The kernels that compute `wanted`. None of `wanted` is a view, and none is realized.
pub(crate) fn plan(wanted: &[Node]) -> Plan {
    let snapshot = Snapshot::take(wanted);
    let stored = group::stored(&snapshot, wanted);
    let to_make = snapshot.order.iter().filter(|node| stored.contains(&node.id()));
    let stages = to_make.map(|node| plan::stage(node, &snapshot, &stored)).collect();
    Plan::new(rows::kernels(stages), wanted)
}
