//! The graph as text: one line a node, inputs before users.

use super::node::Node;
use super::op::Op;
use super::walk::topological;
use smallvec::SmallVec;
use std::collections::HashMap;
use std::fmt::Write;

/// A listing of everything `wanted` is made from.
pub(crate) fn listing(wanted: &[Node]) -> String {
    // Each node is looked at once: another thread may let go of an op meanwhile.
    let mut ops = HashMap::new();
    let order = topological(wanted, |node| {
        let (op, mut behind) = (node.op(), SmallVec::new());
        op.for_each_input(|input| behind.push(input.clone()));
        ops.insert(node.id(), op);
        behind
    });
    let names: HashMap<usize, usize> = order.iter().enumerate().map(|(k, node)| (node.id(), k)).collect();
    let mut text = String::new();
    for (k, node) in order.iter().enumerate() {
        let op: &Op = &ops[&node.id()];
        let mut inputs = Vec::new();
        op.for_each_input(|input| inputs.push(format!("%{}", names[&input.id()])));
        let what = match op {
            Op::ConstFill(value) => format!("constant {value}"),
            Op::Input => format!("input \"{}\"", node.name().unwrap_or_default()),
            Op::Reduce { kind, axes, keepdim, .. } => {
                format!("{} over {axes:?}{}", kind.name(), if *keepdim { " keepdim" } else { "" })
            }
            Op::Concat { axis, .. } => format!("concat along {axis}"),
            Op::Gather { axis, .. } => format!("gather along {axis}"),
            Op::Scatter { kind, axis, .. } => format!("{} along {axis}", kind.scatter_name()),
            Op::Lines { work, axis, .. } => format!("{} along {axis}", work.name()),
            Op::Buffer
            | Op::Arange
            | Op::Rand { .. }
            | Op::View { .. }
            | Op::Contiguous { .. }
            | Op::Map { .. }
            | Op::Cast { .. }
            | Op::Closure { .. }
            | Op::Executed => op.name().to_string(),
        };
        let (at, shape, dtype) = (node.at(), node.shape(), node.dtype());
        let inputs = if inputs.is_empty() { String::new() } else { format!(" {}", inputs.join(" ")) };
        let _ = writeln!(text, "%{k} = {what}{inputs} : {dtype}{shape:?}  // {}:{}", at.file(), at.line());
    }
    text
}
