//! From the gradient of a node to those of its inputs, one op at a time.

use super::{lines, reduce};
use crate::dtype::Literal;
use crate::error::{Error, ErrorKind, Result};
use crate::graph::build::whole_ranges;
use crate::graph::{Axes, LineWork, Lookup, Movement, Node, Op, ReduceKind, ScanKind, SliceRange};
use crate::ops::{Grad, Primitive, Takes};
use crate::shape::Shape;
use smallvec::SmallVec;

/// The gradients that a node with gradient `g` gives to those of its inputs that want one.
pub(super) fn pull_back(node: &Node, op: &Op, g: &Node, wants: &dyn Fn(&Node) -> bool) -> Result<Vec<(Node, Node)>> {
    let rule = Rule::of(op);
    let mut inputs: SmallVec<[Node; 3]> = SmallVec::new();
    op.for_each_input(|input| inputs.push(input.clone()));
    let single = |grad: Node| Ok(vec![(inputs[0].clone(), grad)]);
    match rule {
        Rule::Nothing => Ok(Vec::new()),
        Rule::Unknown(name) => {
            let message = format!(
                "{name} at {}:{} is a Rust closure, so its derivative is unknown: detach() its input, or give a GradFn",
                node.at().file(),
                node.at().line()
            );
            Err(Error::new(ErrorKind::Gradient, "backward", message))
        }
        _ if !matches!(rule, Rule::Move(Movement::Custom(_))) && !inputs.iter().any(wants) => Ok(Vec::new()),
        Rule::Map(primitive) => Ok(map(primitive, node, g, &inputs, wants)),
        Rule::Move(Movement::Custom(vjp)) => custom(&*vjp, node, g, wants),
        Rule::Move(movement) => single(moved(&movement, g, &inputs[0])?),
        Rule::Same => single(g.clone()),
        Rule::Cast => single(g.cast(inputs[0].dtype())?),
        Rule::Reduce(kind, axes) => single(match kind {
            ReduceKind::Sum => reduce::sum(g, &inputs[0], &axes)?,
            ReduceKind::Prod => reduce::prod(g, &inputs[0], &axes)?,
            ReduceKind::Max | ReduceKind::Min => reduce::extreme(g, &inputs[0], node, &axes)?,
        }),
        Rule::Concat(axis) => {
            let mut start = 0;
            let mut grads = Vec::new();
            for input in inputs {
                let len = input.shape()[axis];
                if wants(&input) {
                    let mut ranges = whole_ranges(g.shape());
                    ranges[axis] = SliceRange { start, step: 1, len };
                    grads.push((input, g.sliced(&ranges)));
                }
                start += len;
            }
            Ok(grads)
        }
        Rule::Gather(lookup, axis) => {
            single(g.scatter(ReduceKind::Sum, lookup, &inputs[1], axis, inputs[0].shape())?)
        }
        Rule::Scatter(kind, lookup, axis) => {
            let grad = reduce::scatter(g, &inputs[0], &inputs[1], node, axis, (kind, lookup))?;
            Ok(vec![(inputs[1].clone(), grad)])
        }
        Rule::Scan(kind, reverse, axis) => {
            let grads = lines::scan(g, &inputs, node, axis, (kind, reverse))?;
            Ok(inputs.into_iter().zip(grads).filter(|(input, _)| wants(input)).collect())
        }
    }
}

/// What the derivative needs to know of an op, taken out so that nothing is made while the node is locked.
enum Rule {
    Nothing,
    Unknown(&'static str),
    Map(&'static Primitive),
    Move(Movement),
    Same,
    Cast,
    Reduce(ReduceKind, Axes),
    Concat(usize),
    Gather(Lookup, usize),
    Scatter(ReduceKind, Lookup, usize),
    Scan(ScanKind, bool, usize),
}

impl Rule {
    fn of(op: &Op) -> Rule {
        match op {
            Op::Buffer | Op::Input | Op::ConstFill(_) | Op::Arange | Op::Rand { .. } | Op::Executed => Rule::Nothing,
            Op::Closure { name, .. } => Rule::Unknown(name),
            Op::Map { primitive, .. } => Rule::Map(primitive),
            Op::View { movement, .. } => Rule::Move(movement.clone()),
            Op::Contiguous { .. } => Rule::Same,
            Op::Cast { .. } => Rule::Cast,
            Op::Reduce { kind, axes, .. } => Rule::Reduce(*kind, axes.clone()),
            Op::Concat { axis, .. } => Rule::Concat(*axis),
            Op::Gather { lookup, axis, .. } => Rule::Gather(*lookup, *axis),
            Op::Scatter { kind, lookup, axis, .. } => Rule::Scatter(*kind, *lookup, *axis),
            Op::Lines { work: LineWork::Scan { kind, reverse }, axis, .. } => Rule::Scan(*kind, *reverse, *axis),
            Op::Lines { work: LineWork::Order { .. } | LineWork::Search { .. }, .. } => Rule::Nothing,
        }
    }
}

/// By the primitive's record. An operand that stands twice gets both contributions.
fn map(
    primitive: &Primitive,
    node: &Node,
    g: &Node,
    inputs: &[Node],
    wants: &dyn Fn(&Node) -> bool,
) -> Vec<(Node, Node)> {
    let first = match primitive.takes {
        Takes::Same(_) => 0,
        Takes::Choice => 1,
    };
    let wanted = (first..inputs.len()).filter(|&k| wants(&inputs[k]));
    match primitive.grad {
        Grad::Rules(rules) => wanted.map(|k| (inputs[k].clone(), rules[k](g, inputs, node))).collect(),
        Grad::Zero => wanted.map(|k| (inputs[k].clone(), g.fill(0.0))).collect(),
        Grad::None(_) => Vec::new(),
    }
}

fn custom(
    vjp: &dyn crate::graph::Vjp,
    node: &Node,
    g: &Node,
    wants: &dyn Fn(&Node) -> bool,
) -> Result<Vec<(Node, Node)>> {
    let inputs = vjp.inputs();
    let grads = vjp.backward(g)?;
    let fail = |message: String| Err(Error::new(ErrorKind::Gradient, vjp.name(), message).made_at("result", node.at()));
    if grads.len() != inputs.len() {
        return fail(format!("backward gave {} gradients for {} inputs", grads.len(), inputs.len()));
    }
    for (k, (input, grad)) in inputs.iter().zip(&grads).enumerate() {
        if input.shape() != grad.shape() || input.dtype() != grad.dtype() {
            return fail(format!(
                "backward gave a {} gradient of shape {:?} for input {k}, which is {} of shape {:?}",
                grad.dtype(),
                grad.shape(),
                input.dtype(),
                input.shape()
            ));
        }
    }
    Ok(inputs.iter().cloned().zip(grads).filter(|(input, _)| wants(input)).collect())
}

/// The adjoint of a movement.
fn moved(movement: &Movement, g: &Node, input: &Node) -> Result<Node> {
    Ok(match movement {
        Movement::Permute(axes) => {
            let mut inverse: Axes = SmallVec::from_elem(0, axes.len());
            for (place, &axis) in axes.iter().enumerate() {
                inverse[axis] = place;
            }
            g.permuted(&inverse)
        }
        Movement::Expand => sum_to(g, input.shape())?,
        Movement::Reshape => g.reshaped(input.shape()),
        Movement::Slice(ranges) => g.spread(ranges, input.shape())?,
        Movement::Spread(ranges) => g.sliced(ranges),
        Movement::Pad(padding, _) => {
            let sizes = padding.iter().zip(input.shape());
            let ranges: Vec<_> = sizes.map(|(&(start, _), &len)| SliceRange { start, step: 1, len }).collect();
            g.sliced(&ranges)
        }
        Movement::Mask(condition, _) => g.masked(condition.clone(), Literal::zero(g.dtype()))?,
        Movement::Unfold(window) => g.folded(*window)?,
        Movement::Place(window) => g.picked(*window)?,
        Movement::Pick(window) => g.placed(*window)?,
        Movement::Fork | Movement::Leaf => g.clone(),
        Movement::Detach { .. } | Movement::Custom(_) => unreachable!("handled where edges are chosen"),
    })
}

/// The sum over the axes along which `shape` was stretched.
fn sum_to(g: &Node, shape: &[usize]) -> Result<Node> {
    let lead = g.rank() - shape.len();
    let stretched = |k: usize| k < lead || (shape[k - lead] == 1 && g.shape()[k] != 1);
    let axes: SmallVec<[isize; 6]> = (0..g.rank()).filter(|&k| stretched(k)).map(|k| k as isize).collect();
    let sum = g.reduce("expand", ReduceKind::Sum, &axes, false)?;
    Ok(sum.reshaped(&Shape::from_slice(shape)))
}
