//! Reverse mode over the graph. Gradients are ordinary lazy nodes, so they fuse, and differentiate again.

mod edges;
mod lines;
mod reduce;
mod vjp;

use crate::error::{Error, ErrorKind, Result};
use crate::graph::{Cut, IdMap, IdSet, Identity, Node, Op, Origin, ReduceKind, topological};
use std::collections::HashMap;

/// The gradients of one request, by node. Whoever asks later may ask for a node that was made since.
pub(crate) struct GradMap(HashMap<Identity, Node>);

impl GradMap {
    /// The gradient of a node, if one reached it.
    pub(crate) fn get(&self, node: &Node) -> Option<&Node> {
        self.0.get(&node.identity())
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
    let tape = Tape::of(output, Node::tracks);
    let grads = tape.propagate(output, seed, Node::tracks)?;
    Ok((grads, tape.order))
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
    let tape = Tape::of(output, |_| true);
    let ids: IdSet = wanted.iter().map(Node::id).collect();
    let mut reaches = IdSet::default();
    for node in &tape.order {
        if ids.contains(&node.id()) || edges::of(node, tape.op(node)).iter().any(|input| reaches.contains(&input.id()))
        {
            reaches.insert(node.id());
        }
    }
    for (k, node) in wanted.iter().enumerate() {
        if !reaches.contains(&node.id()) {
            return Err(missing(op, k, node, output));
        }
    }
    let grads = tape.propagate(output, seed, |node| reaches.contains(&node.id()))?;
    Ok(wanted.iter().map(|node| grads.get(node).expect("a reached node has a gradient").clone()).collect())
}

/// By how much `output` changes, to first order, when each input changes by its tangent: forward mode out of reverse mode twice.
pub(crate) fn jvp(output: &Node, inputs: &[Node], tangents: &[Node]) -> Result<Node> {
    let op = "jvp";
    if inputs.len() != tangents.len() {
        let message = format!("{} tangents for {} inputs: give one for each", tangents.len(), inputs.len());
        return Err(Error::new(ErrorKind::Value, op, message).made_at("output", output.at()));
    }
    for (k, (input, tangent)) in inputs.iter().zip(tangents).enumerate() {
        if (input.shape(), input.dtype()) != (tangent.shape(), tangent.dtype()) {
            let kind = if input.dtype() == tangent.dtype() { ErrorKind::Shape } else { ErrorKind::DType };
            let [has, wants] = [tangent, input].map(|node| format!("{}{:?}", node.dtype(), node.shape()));
            let message = format!("tangent {k} is {has}, its input {wants}: a change is like what changes");
            return Err(Error::new(kind, op, message).made_at("tangent", tangent.at()).made_at("input", input.at()));
        }
    }
    // Gradients are linear in their seed, whatever that is; the gradient of what they make of the tangents, with respect to the seed,
    // is therefore what the tangents make of the output.
    let seed = output.fill(0.0);
    let slopes = gradients(output, seed.clone(), inputs)?;
    let mut total: Option<Node> = None;
    for (slope, tangent) in slopes.iter().zip(tangents) {
        let along = (slope * tangent).reduce_all(op, ReduceKind::Sum)?;
        total = Some(total.map_or_else(|| along.clone(), |total| &total + &along));
    }
    let Some(total) = total else { return Ok(output.fill(0.0)) };
    // Flat everywhere: the seed was not asked for.
    if !Tape::of(&total, |_| true).order.contains(&seed) {
        return Ok(output.fill(0.0));
    }
    let one = total.fill(1.0);
    Ok(gradients(&total, one, std::slice::from_ref(&seed))?.remove(0))
}

/// What gradients pass on their way back, as it was when they set out: a reader on another thread may let go of ops meanwhile.
struct Tape {
    /// Inputs before users.
    order: Vec<Node>,
    ops: IdMap<Op>,
}

impl Tape {
    /// Everything behind `output` that `follows` and a gradient passes to.
    fn of(output: &Node, follows: impl Fn(&Node) -> bool) -> Tape {
        let mut ops = IdMap::default();
        let order = topological(std::slice::from_ref(output), |node| {
            let op = node.op();
            let mut behind = edges::of(node, &op);
            behind.retain(|input| follows(input));
            ops.insert(node.id(), op);
            behind
        });
        Tape { order, ops }
    }

    fn op(&self, node: &Node) -> &Op {
        &self.ops[&node.id()]
    }

    /// Carries gradients from `output` back to the nodes for which `wants` holds.
    fn propagate(&self, output: &Node, seed: Node, wants: impl Fn(&Node) -> bool) -> Result<GradMap> {
        // By receiver: what it was given, and by whom.
        let mut arrived: IdMap<Vec<(usize, Node)>> = IdMap::from_iter([(output.id(), vec![(0, seed)])]);
        let mut grads = HashMap::new();
        for node in self.order.iter().rev().filter(|node| wants(node)) {
            // Users come before what they use here, so everything that will arrive has arrived.
            let Some(contributions) = arrived.remove(&node.id()) else { continue };
            let _origin = Origin::set(node.at());
            let grad = sum(contributions.into_iter().map(|(_, contribution)| contribution).collect());
            for (input, contribution) in vjp::pull_back(node, self.op(node), &grad, &wants)? {
                debug_assert_eq!(input.shape(), contribution.shape(), "gradient of {}", self.op(node).name());
                let given = arrived.entry(input.id()).or_default();
                match given.last_mut() {
                    // What one node gives to the same input is added up first: in `x - x` the two cancel before anything
                    // else is lost in them.
                    Some((giver, sum)) if *giver == node.id() => *sum = &*sum + &contribution,
                    _ => given.push((node.id(), contribution)),
                }
            }
            grads.insert(node.identity(), grad);
        }
        Ok(GradMap(grads))
    }
}

/// The most contributions that are added one after the other.
const RUN: usize = 8;

/// The sum of contributions, in the order in which they arrived where they are few. Many are added in runs, and then those, which
/// loses fewer digits than one long chain. (The golden case `program/f32/0017` hangs on this order: it asks for a third of an ulp.)
fn sum(mut contributions: Vec<Node>) -> Node {
    while contributions.len() > 1 {
        let runs = contributions.chunks(RUN);
        contributions = runs.map(|run| run[1..].iter().fold(run[0].clone(), |sum, next| &sum + next)).collect();
    }
    contributions.pop().expect("at least one contribution")
}

/// The error for a node no gradient reaches, naming what stood in the way if something did.
fn missing(op: &str, k: usize, node: &Node, output: &Node) -> Error {
    // Walk every input, also those gradients do not pass, to tell "cut" from "not connected". Of several cuts the last
    // counts: an inner one (softmax's shift) has its detour, or the gradient would have ended there.
    let order = topological(std::slice::from_ref(output), Node::inputs);
    let mut reaches = IdSet::from_iter([node.id()]);
    let mut cut = None;
    for other in order.iter().filter(|other| *other != node) {
        let reached = |input: &Node| reaches.contains(&input.id());
        if edges::of(other, &other.op()).iter().any(reached) {
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
