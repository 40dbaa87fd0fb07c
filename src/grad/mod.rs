//! Reverse mode over the graph. Gradients are ordinary lazy nodes, so they fuse, and differentiate again.

mod edges;
mod reduce;
mod vjp;

use crate::error::{Error, ErrorKind, Result};
use crate::graph::{Cut, Node, Origin, topological};
use std::collections::{HashMap, HashSet};

/// The gradients of one request, by node.
pub(crate) struct GradMap(HashMap<usize, Node>);

impl GradMap {
    /// The gradient of a node, if one reached it.
    pub(crate) fn get(&self, node: &Node) -> Option<&Node> {
        self.0.get(&node.id())
    }
}

/// The gradients of `Σ output · seed` for every node that tracks, and the tracked nodes, outputs last.
pub(crate) fn backward(output: &Node, seed: Node) -> Result<(GradMap, Vec<Node>)> {
    if !output.dtype().is_float() {
        let message = format!("{} has no gradient: only floats do", output.dtype());
        return Err(Error::new(ErrorKind::Gradient, "backward", message).made_at("tensor", output.at()));
    }
    if !output.tracks() {
        let error = match output.cut() {
            Some(cut) => stopped("backward", "nothing that requires a gradient is reached", &cut),
            None => Error::new(
                ErrorKind::Gradient,
                "backward",
                "nothing this tensor is made from requires a gradient: call set_requires_grad(true) on what should",
            ),
        };
        return Err(error.made_at("tensor", output.at()));
    }
    let order =
        topological(std::slice::from_ref(output), |node| edges::of(node).into_iter().filter(Node::tracks).collect());
    let grads = propagate(&order, output, seed, Node::tracks)?;
    Ok((grads, order))
}

/// The gradients of `Σ output · seed` with respect to `wanted`, whether or not they were said to require one.
pub(crate) fn gradients(output: &Node, seed: Node, wanted: &[Node]) -> Result<Vec<Node>> {
    let op = "grad";
    for (what, node) in std::iter::once(("output", output)).chain(wanted.iter().map(|node| ("tensor", node))) {
        if !node.dtype().is_float() {
            let message = format!("{} has no gradient: only floats do", node.dtype());
            return Err(Error::new(ErrorKind::Gradient, op, message).made_at(what, node.at()));
        }
    }
    let order = topological(std::slice::from_ref(output), edges::of);
    let ids: HashSet<usize> = wanted.iter().map(Node::id).collect();
    let mut reaches = HashSet::new();
    for node in &order {
        if ids.contains(&node.id()) || edges::of(node).iter().any(|input| reaches.contains(&input.id())) {
            reaches.insert(node.id());
        }
    }
    for (k, node) in wanted.iter().enumerate() {
        if !reaches.contains(&node.id()) {
            return Err(missing(op, k, node, output));
        }
    }
    let grads = propagate(&order, output, seed, |node| reaches.contains(&node.id()))?;
    Ok(wanted.iter().map(|node| grads.get(node).expect("a reached node has a gradient").clone()).collect())
}

/// Carries gradients from `output` back through `order`, to the nodes for which `wants` holds.
fn propagate(order: &[Node], output: &Node, seed: Node, wants: impl Fn(&Node) -> bool) -> Result<GradMap> {
    let mut arrived: HashMap<usize, Vec<Node>> = HashMap::from([(output.id(), vec![seed])]);
    let mut grads = HashMap::new();
    for node in order.iter().rev().filter(|node| wants(node)) {
        // Users come before what they use here, so everything that will arrive has arrived.
        let Some(contributions) = arrived.remove(&node.id()) else { continue };
        let _origin = Origin::set(node.at());
        let grad = sum(contributions);
        for (input, contribution) in combined(vjp::pull_back(node, &grad, &wants)?) {
            debug_assert_eq!(input.shape(), contribution.shape(), "gradient of {}", node.with_op(|op| op.name()));
            arrived.entry(input.id()).or_default().push(contribution);
        }
        grads.insert(node.id(), grad);
    }
    Ok(GradMap(grads))
}

/// The sum of contributions, pairwise: many of them lose fewer digits than one after the other.
fn sum(mut contributions: Vec<Node>) -> Node {
    while contributions.len() > 1 {
        let pairs = contributions.chunks(2);
        contributions = pairs.map(|pair| if let [a, b] = pair { a + b } else { pair[0].clone() }).collect();
    }
    contributions.pop().expect("at least one contribution")
}

/// What one node gives to the same input, added up first: in `x - x` the two cancel before anything else is lost in them.
fn combined(contributions: Vec<(Node, Node)>) -> Vec<(Node, Node)> {
    let mut sums: Vec<(Node, Node)> = Vec::with_capacity(contributions.len());
    for (input, contribution) in contributions {
        match sums.iter_mut().find(|(other, _)| *other == input) {
            Some((_, sum)) => *sum = &*sum + &contribution,
            None => sums.push((input, contribution)),
        }
    }
    sums
}

/// The error for a node no gradient reaches, naming what stood in the way if something did.
fn missing(op: &str, k: usize, node: &Node, output: &Node) -> Error {
    // Walk every input, also those gradients do not pass, to tell "cut" from "not connected". Of several cuts the last
    // counts: an inner one (softmax's shift) has its detour, or the gradient would have ended there.
    let order = topological(std::slice::from_ref(output), Node::inputs);
    let mut reaches = HashSet::from([node.id()]);
    let mut cut = None;
    for other in order.iter().filter(|other| *other != node) {
        let reached = |input: &Node| reaches.contains(&input.id());
        if edges::of(other).iter().any(reached) {
            reaches.insert(other.id());
        } else if other.inputs().iter().any(reached) {
            cut = Some(Cut { op: other.with_op(|op| op.name()), why: edges::why_none(other), at: other.at() });
        }
    }
    let error = match cut.or(output.cut()) {
        Some(cut) => stopped(op, &format!("no gradient reaches tensor {k}"), &cut),
        None => Error::new(
            ErrorKind::Gradient,
            op,
            format!(
                "the output does not depend on tensor {k} (or its history was let go when it was read: \
                 call set_requires_grad(true) on the tensor to keep it)"
            ),
        ),
    };
    error.made_at("tensor", node.at()).made_at("output", output.at())
}

/// "… : `op` at file:line stops it".
fn stopped(op: &str, what: &str, cut: &Cut) -> Error {
    let message = format!("{what}: {} at {}:{} stops it ({})", cut.op, cut.at.file(), cut.at.line(), cut.why);
    Error::new(ErrorKind::Gradient, op, message)
}
