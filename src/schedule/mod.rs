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

use crate::error::{Error, ErrorKind, Result};
use crate::graph::{Node, Op, topological};
use smallvec::SmallVec;

/// The kernels that compute `wanted`. None of `wanted` is a view, and none is realized.
pub(crate) fn plan(wanted: &[Node]) -> Result<Plan> {
    let order = topological(wanted, behind);
    for node in &order {
        check_given(node)?;
    }
    let stored = group::stored(&order, wanted);
    let kernels = order.iter().filter(|node| stored.contains(&node.id())).map(|node| plan::kernel(node, &stored));
    Ok(Plan::new(kernels.collect(), wanted))
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

/// An error for an input that has no data.
fn check_given(node: &Node) -> Result<()> {
    if node.buffer().is_some() || !node.with_op(|op| matches!(op, Op::Input)) {
        return Ok(());
    }
    let name = node.name().unwrap_or_default();
    let message = format!(
        "\"{name}\" ({} of shape {:?}) was read but never given: use realize_with(&[(\"{name}\", &data)])",
        node.dtype(),
        node.shape()
    );
    Err(Error::new(ErrorKind::Input, "input", message).made_at("input", node.at()))
}
