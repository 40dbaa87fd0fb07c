//! Which inputs of a node a gradient passes to.

use crate::graph::{Movement, NOT_FLOAT, Node, Op};
use crate::ops::{Grad, Primitive, Takes};
use smallvec::SmallVec;

/// The inputs through which a small change of theirs changes the node.
pub(super) fn of(node: &Node, op: &Op) -> SmallVec<[Node; 3]> {
    if !node.dtype().is_float() {
        return SmallVec::new();
    }
    let mut inputs: SmallVec<[Node; 3]> = match op {
        Op::Buffer | Op::Input | Op::ConstFill(_) | Op::Arange | Op::Rand { .. } | Op::Executed => SmallVec::new(),
        Op::View { movement: Movement::Detach { .. }, .. } => SmallVec::new(),
        Op::View { movement: Movement::Custom(vjp), .. } => vjp.inputs().into(),
        Op::View { input, .. } | Op::Contiguous { input } | Op::Cast { input } | Op::Reduce { input, .. } => {
            SmallVec::from_elem(input.clone(), 1)
        }
        Op::Map { primitive, inputs } => match (primitive.grad, primitive.takes) {
            (Grad::None(_), _) => SmallVec::new(),
            (Grad::Rules(_) | Grad::Zero, Takes::Same(_)) => inputs.clone(),
            (Grad::Rules(_) | Grad::Zero, Takes::Choice) => inputs[1..].into(),
        },
        Op::Concat { inputs, .. } | Op::Closure { inputs, .. } => inputs.iter().cloned().collect(),
        Op::Gather { input, .. } => SmallVec::from_elem(input.clone(), 1),
        Op::Scatter { source, .. } => SmallVec::from_elem(source.clone(), 1),
        Op::Lines { inputs, .. } => inputs.iter().cloned().collect(),
    };
    inputs.retain(|input| input.dtype().is_float());
    inputs
}

/// Why no gradient passes a node.
pub(super) fn why_none(node: &Node) -> &'static str {
    node.with_op(|op| match op {
        Op::Map { primitive: Primitive { grad: Grad::None(why), .. }, .. } => why,
        Op::View { movement: Movement::Detach { why, .. }, .. } => why,
        _ if !node.dtype().is_float() => NOT_FLOAT,
        _ => "its input only chooses places",
    })
}
