//! The same graph with some nodes replaced: how an `input` is given its data.

use super::ids::IdMap;
use super::lines::LineWork;
use super::movement::{Movement, Vjp};
use super::node::Node;
use super::op::{Lookup, Op};
use super::scope::Origin;
use super::walk::topological;
use crate::error::Result;
use std::sync::Arc;

/// `wanted` with every node for which `find` has another one replaced by that one.
///
/// Only what depends on a replaced node is built anew, at the lines of the originals; the rest is shared.
pub(crate) fn replace(wanted: &[Node], find: impl Fn(&Node) -> Option<Node>) -> Result<Vec<Node>> {
    let order = topological(wanted, Node::inputs);
    let mut changed: IdMap<Node> = IdMap::default();
    for node in &order {
        if let Some(other) = find(node) {
            changed.insert(node.id(), other);
            continue;
        }
        if !node.inputs().iter().any(|input| changed.contains_key(&input.id())) {
            continue;
        }
        let _origin = Origin::set(node.at());
        let again = rebuild(node, |input| changed.get(&input.id()).unwrap_or(input).clone())?;
        changed.insert(node.id(), again);
    }
    Ok(wanted.iter().map(|node| changed.get(&node.id()).unwrap_or(node).clone()).collect())
}

/// What a rebuild needs to know of an op, taken out so that nothing is made while the node is locked.
enum Recipe {
    Same,
    Move(Movement, Vec<usize>),
    Custom(Arc<dyn Vjp>),
    Contiguous,
    Map(&'static crate::ops::Primitive),
    Cast,
    Reduce(super::ReduceKind, Vec<isize>, bool),
    Concat(isize),
    Gather(Lookup, usize),
    Scatter(super::ReduceKind, Lookup, usize),
    Lines(LineWork, usize),
}

/// A node like `node`, on other inputs.
fn rebuild(node: &Node, new: impl Fn(&Node) -> Node) -> Result<Node> {
    let op = node.op();
    let recipe = match &op {
        Op::Buffer | Op::Input | Op::ConstFill(_) | Op::Arange | Op::Rand { .. } | Op::Executed => Recipe::Same,
        Op::Closure { .. } => Recipe::Same, // its value is fixed
        Op::View { movement: Movement::Custom(vjp), .. } => Recipe::Custom(vjp.clone()),
        Op::View { movement, .. } => Recipe::Move(movement.clone(), node.shape().to_vec()),
        Op::Contiguous { .. } => Recipe::Contiguous,
        Op::Map { primitive, .. } => Recipe::Map(primitive),
        Op::Cast { .. } => Recipe::Cast,
        Op::Reduce { kind, axes, keepdim, .. } => {
            Recipe::Reduce(*kind, axes.iter().map(|&axis| axis as isize).collect(), *keepdim)
        }
        Op::Concat { axis, .. } => Recipe::Concat(*axis as isize),
        Op::Gather { lookup, axis, .. } => Recipe::Gather(*lookup, *axis),
        Op::Scatter { kind, lookup, axis, .. } => Recipe::Scatter(*kind, *lookup, *axis),
        Op::Lines { work, axis, .. } => Recipe::Lines(*work, *axis),
    };
    let mut inputs = Vec::new();
    op.for_each_input(|input| inputs.push(new(input)));
    match recipe {
        Recipe::Same => Ok(node.clone()),
        Recipe::Move(movement, shape) => inputs[0].moved_by(&movement, &shape),
        Recipe::Custom(vjp) => {
            let value = inputs[0].with_history();
            let again = |nodes: &[Node]| nodes.iter().map(&new).collect();
            Ok(match vjp.rebuilt(again(vjp.inputs()), again(vjp.beside()), value.clone()) {
                Some(vjp) => value.with_vjp(vjp),
                None => inputs[0].clone(),
            })
        }
        Recipe::Contiguous => Ok(inputs[0].contiguous()),
        Recipe::Map(primitive) => Node::map(primitive, &inputs.iter().collect::<Vec<_>>()),
        Recipe::Cast => inputs[0].cast(node.dtype()),
        Recipe::Reduce(kind, axes, keepdim) => inputs[0].reduce(kind.name(), kind, &axes, keepdim),
        Recipe::Concat(axis) => Node::concat("concat", &inputs.iter().collect::<Vec<_>>(), axis),
        Recipe::Gather(lookup, axis) => inputs[0].gather_by(lookup, &inputs[1], axis),
        Recipe::Scatter(kind, lookup, axis) => inputs[1].scatter(kind, lookup, &inputs[0], axis, node.shape()),
        Recipe::Lines(LineWork::Scan { kind, reverse }, axis) => match &inputs[..] {
            [factor, input] => input.scan(kind, Some(factor), axis, reverse),
            _ => inputs[0].scan(kind, None, axis, reverse),
        },
        Recipe::Lines(LineWork::Order { descending }, axis) => inputs[0].order(axis, descending, node.shape()[axis]),
        Recipe::Lines(LineWork::Search { right }, _) => inputs[0].search(&inputs[1], right),
    }
}
