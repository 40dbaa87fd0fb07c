//! What a plan costs, known before it runs.

use crate::graph::Node;
use crate::schedule::{Kernel, MapReduce, Operand, Producer, Stage, Step, Work};

/// The work of a plan.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Cost {
    pub(crate) stages: usize,
    /// Bytes read from and written to memory. What stays in the cache between the stages of a kernel is not counted.
    pub(crate) bytes: u128,
    /// Primitives computed, each element of each counted once.
    pub(crate) flops: u128,
}

impl Cost {
    /// Both together.
    pub(super) fn and(self, other: &Cost) -> Cost {
        Cost { stages: self.stages + other.stages, bytes: self.bytes + other.bytes, flops: self.flops + other.flops }
    }

    /// The cost of a kernel; `whole` says which of its nodes are written to memory.
    pub(super) fn of(kernel: &Kernel, whole: impl Fn(&Node) -> bool) -> Cost {
        let mut cost = Cost { stages: kernel.all_stages().count(), ..Cost::default() };
        let made = kernel.producers.iter().map(|producer| &producer.stage).chain(&kernel.stages);
        let inside: Vec<&Node> = made.map(|stage| &stage.node).collect();
        let mut read: Vec<&Node> = Vec::new();
        let mut written: Vec<&Node> = Vec::new();
        for stage in kernel.all_stages() {
            for (place, node) in stage.reads.iter().enumerate() {
                if !read.contains(&node) && !inside.contains(&node) {
                    read.push(node);
                    cost.bytes += bytes_read(stage, place, node);
                }
            }
        }
        for Producer { stage, count, .. } in &kernel.producers {
            let Work::MapReduce(work) = &stage.work else { unreachable!("a producer is a map") };
            cost.flops += maps(work) * *count as u128;
        }
        for stage in kernel.stages.iter().chain(&kernel.after) {
            cost.flops += flops(stage);
            if whole(&stage.node) && !written.contains(&&stage.node) {
                written.push(&stage.node);
                cost.bytes += bytes_of(&stage.node);
            }
        }
        cost
    }
}

fn bytes_of(node: &Node) -> u128 {
    node.len() as u128 * node.dtype().size() as u128
}

/// The bytes of a read that the stage's views can reach: a slice of a large tensor is not all of it.
fn bytes_read(stage: &Stage, place: usize, node: &Node) -> u128 {
    let reach = |operand: &Operand| operand.view.shape().iter().map(|&size| size as u128).product::<u128>();
    let operands: Vec<&Operand> = match &stage.work {
        Work::MapReduce(work) => work.loads.iter().collect(),
        Work::Concat { parts, .. } => parts.iter().collect(),
        Work::Gather { input, index, .. } => vec![input, index],
        Work::Scatter { index, source, .. } => vec![index, source],
        Work::Lines { operands, .. } => operands.iter().collect(),
    };
    let reached: u128 = operands.iter().filter(|operand| operand.read == place).map(|operand| reach(operand)).sum();
    bytes_of(node).min(reached * node.dtype().size() as u128)
}

/// The primitives of one element.
fn maps(work: &MapReduce) -> u128 {
    work.expression.steps.iter().filter(|step| matches!(step, Step::Map { .. })).count() as u128
}

fn flops(stage: &Stage) -> u128 {
    match &stage.work {
        Work::MapReduce(work) => {
            let each = maps(work) + u128::from(work.reduce.is_some());
            each * work.space.iter().map(|&size| size as u128).product::<u128>()
        }
        Work::Scatter { source, .. } => source.view.shape().iter().map(|&size| size as u128).product(),
        Work::Lines { operands, .. } => operands[0].view.shape().iter().map(|&size| size as u128).product(),
        Work::Concat { .. } | Work::Gather { .. } => 0,
    }
}
