//! Decides which nodes share one kernel, and in which order kernels run.
//!
//! In: the nodes that are wanted. Out: a plan, kernels in running order.
//! A stage is one expression, optionally reduced: an elementwise node merges into its consumer, also through views, unless
//! that would compute it twice ([`group`]). Stages that share rows, or what they read, become one kernel ([`rows`]).

mod build;
mod expression;
mod frame;
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
    let mut groups = group::group(&snapshot, wanted);
    let to_make: Vec<&Node> = snapshot.order.iter().filter(|node| groups.stored.contains(&node.id())).collect();
    let stages = to_make.into_iter().map(|node| build::stage(node, &snapshot, &mut groups)).collect();
    Plan::new(rows::kernels(stages), wanted)
}
