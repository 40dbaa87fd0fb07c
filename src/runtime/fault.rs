//! Why a run stopped, in the user's terms.

use super::run::{Failure, Stop};
use crate::error::{Error, ErrorKind};
use crate::graph::{Node, Op, topological};
use crate::ops;
use crate::ops::vector::Fault;
use crate::reference::{self, division_by_zero, index_out_of_range};
use smallvec::SmallVec;

/// The error, at the line of the op that met it; `nodes` are those of the request, by number.
pub(crate) fn describe(stop: Stop, nodes: &[Node]) -> Error {
    match stop {
        Stop::Error(error) => error,
        Stop::OutOfRange { node, at, size } => out_of_range(&nodes[node], at, size),
        Stop::Failure(Failure { fault: Fault::OutOfRange, node }) => {
            let node = &nodes[node];
            failed_lookup(node).unwrap_or_else(|| Error::new(ErrorKind::Index, "gather", "an index is out of range"))
        }
        Stop::Failure(Failure { fault: Fault::DivideByZero, node }) => {
            let node = &nodes[node];
            let (op, node) = failed_division(node).unwrap_or(("idiv", node.clone()));
            division_by_zero(op, &node)
        }
    }
}

fn out_of_range(node: &Node, at: i64, size: usize) -> Error {
    node.with_op(|op| match op {
        Op::Gather { lookup, input, index, .. } => index_out_of_range(*lookup, at, size, node, &[input, index]),
        Op::Scatter { lookup, .. } => index_out_of_range(*lookup, at, size, node, &[]),
        op => unreachable!("{} looks nothing up", op.name()),
    })
}

/// The error of the first gather on the way to a node whose index leaves its axis. Only asked once something went wrong.
fn failed_lookup(node: &Node) -> Option<Error> {
    let behind = |node: &Node| if node.buffer().is_some() { SmallVec::new() } else { node.inputs() };
    topological(std::slice::from_ref(node), behind).into_iter().filter(|node| node.buffer().is_none()).find_map(
        |node| {
            let op = node.op();
            let Op::Gather { lookup, input, index, axis } = &op else { return None };
            let size = input.shape()[*axis];
            let indices = reference::evaluate(index).ok()?;
            let mut numbers = indices.iter().map(|literal| literal.to_integer().unwrap_or(0) as i64);
            let at = numbers.find(|&at| lookup.place(at, size).is_none())?;
            Some(index_out_of_range(*lookup, at, size, &node, &[input, index]))
        },
    )
}

/// The first division on the way to a node with a zero among its divisors. Only asked once something went wrong.
fn failed_division(node: &Node) -> Option<(&'static str, Node)> {
    let behind = |node: &Node| if node.buffer().is_some() { SmallVec::new() } else { node.inputs() };
    let mut divisions: Vec<(&'static str, Node)> = topological(std::slice::from_ref(node), behind)
        .into_iter()
        .filter(|node| node.buffer().is_none())
        .map(|node| (node.with_op(|op| op.name()), node))
        .filter(|(name, _)| [ops::IDIV.name, ops::REM.name].contains(name))
        .collect();
    if divisions.len() == 1 {
        return divisions.pop();
    }
    let has_zero = |node: &Node| {
        let divisors = node.inputs().get(1).map(reference::evaluate);
        divisors.is_some_and(|values| values.is_ok_and(|values| values.iter().any(|value| value.to_f64() == 0.0)))
    };
    divisions.into_iter().find(|(_, node)| has_zero(node))
}
