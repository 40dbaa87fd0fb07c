//! A plan: kernels in running order, and what each reads.

use super::expression::{Expression, Step};
use super::fingerprint::is_structural;
use super::snapshot::Snapshot;
use crate::dtype::{DType, Literal};
use crate::graph::{Lookup, Node, Op, ReduceKind};
use crate::shape::{Shape, View};
use smallvec::SmallVec;
use std::collections::{HashMap, HashSet};

/// Kernels in running order.
pub(crate) struct Plan {
    pub(crate) kernels: Vec<Kernel>,
    /// The ids of the nodes that were asked for.
    pub(crate) wanted: HashSet<usize>,
}

/// Stages that run together.
pub(crate) struct Kernel {
    pub(crate) stages: Vec<Stage>,
    pub(crate) form: Form,
    /// Small stages that run when all others are done, and read what those made: the mean of the rows' losses.
    pub(crate) after: Vec<Stage>,
}

/// How the stages of a kernel run together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// One after the other: a single stage, or several that write parts of one node.
    Alone,
    /// Row by row under one outer loop over leading axes of these sizes, which all stages share.
    Rows(Shape),
    /// Part by part: the stages have the same space and the same reduced axes, and read the same numbers.
    Siblings,
}

/// One piece of work that makes one node's numbers.
pub(crate) struct Stage {
    /// The node whose numbers are made.
    pub(crate) node: Node,
    /// What is read, each once.
    pub(crate) reads: Vec<Node>,
    /// The constants that are told when the kernel is run, by the slots of `Step::Scalar`.
    pub(crate) scalars: Vec<Node>,
    pub(crate) work: Work,
    /// Which part of the node's numbers this stage writes; `None` for all of them.
    pub(crate) region: Option<Region>,
}

/// A part of a dense tensor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Region {
    /// The place of its first element.
    pub(crate) offset: usize,
    /// The strides of its axes.
    pub(crate) strides: SmallVec<[i64; 6]>,
}

/// What is done.
#[derive(Clone)]
pub(crate) enum Work {
    MapReduce(MapReduce),
    /// The reads one after the other along an axis.
    Concat {
        parts: Vec<Operand>,
        axis: usize,
    },
    Gather {
        lookup: Lookup,
        input: Operand,
        index: Operand,
        axis: usize,
    },
    ScatterAdd {
        lookup: Lookup,
        index: Operand,
        source: Operand,
        axis: usize,
    },
}

/// An expression over a space, optionally reduced.
#[derive(Clone)]
pub(crate) struct MapReduce {
    pub(crate) space: Shape,
    pub(crate) loads: Vec<Operand>,
    pub(crate) expression: Expression,
    /// The reduction and its axes (sorted).
    pub(crate) reduce: Option<(ReduceKind, SmallVec<[usize; 6]>)>,
    pub(crate) dtype: DType,
}

/// A buffer and the way to its elements.
#[derive(Clone)]
pub(crate) struct Operand {
    /// Which of the stage's reads.
    pub(crate) read: usize,
    pub(crate) dtype: DType,
    pub(crate) view: View,
}

impl Plan {
    pub(super) fn new(kernels: Vec<Kernel>, wanted: &[Node]) -> Plan {
        Plan { kernels, wanted: wanted.iter().map(Node::id).collect() }
    }
}

impl Kernel {
    /// Everything the stages read, in order.
    pub(crate) fn reads(&self) -> impl Iterator<Item = &Node> {
        self.all_stages().flat_map(|stage| &stage.reads)
    }

    /// The stages, and those that come after.
    pub(crate) fn all_stages(&self) -> impl Iterator<Item = &Stage> {
        self.stages.iter().chain(&self.after)
    }
}

/// The stage that makes a stored node.
pub(super) fn stage(node: &Node, snapshot: &Snapshot, stored: &HashSet<usize>) -> Stage {
    let mut reads = Reads::default();
    let mut build =
        |root: &Node, reduce| Builder { node, snapshot, stored, reads: &mut reads }.map_reduce(root, reduce);
    let work = match snapshot.op(node) {
        Op::Reduce { kind, input, axes, .. } => {
            let reduce = Some((*kind, axes.clone())).filter(|(_, axes)| !axes.is_empty());
            Work::MapReduce(build(input, reduce))
        }
        Op::Map { .. } | Op::Cast { .. } | Op::Contiguous { .. } | Op::ConstFill(_) | Op::Arange | Op::Rand { .. } => {
            Work::MapReduce(build(node, None))
        }
        Op::Concat { inputs, axis } => {
            Work::Concat { parts: inputs.iter().map(|input| reads.operand(input)).collect(), axis: *axis }
        }
        Op::Gather { lookup, input, index, axis } => {
            Work::Gather { lookup: *lookup, input: reads.operand(input), index: reads.operand(index), axis: *axis }
        }
        Op::ScatterAdd { lookup, index, source, axis } => Work::ScatterAdd {
            lookup: *lookup,
            index: reads.operand(index),
            source: reads.operand(source),
            axis: *axis,
        },
        op @ (Op::Buffer | Op::Input | Op::View { .. } | Op::Closure { .. } | Op::Executed) => {
            unreachable!("{} has its numbers, or is no work", op.name())
        }
    };
    Stage { node: node.clone(), reads: reads.nodes, scalars: reads.scalars, work, region: None }
}

/// What one stage reads.
#[derive(Default)]
struct Reads {
    nodes: Vec<Node>,
    places: HashMap<usize, usize>,
    scalars: Vec<Node>,
}

impl Reads {
    /// A constant: as it is, or told when the kernel is run.
    fn constant(&mut self, node: &Node, value: Literal) -> Step {
        if is_structural(value) {
            return Step::Const(value);
        }
        let known = self.scalars.iter().position(|scalar| scalar == node);
        let slot = known.unwrap_or_else(|| {
            self.scalars.push(node.clone());
            self.scalars.len() - 1
        });
        Step::Scalar { slot, dtype: value.dtype() }
    }

    fn operand(&mut self, node: &Node) -> Operand {
        let (base, view) = node.base_and_view();
        let read = *self.places.entry(base.id()).or_insert_with(|| {
            self.nodes.push(base.clone());
            self.nodes.len() - 1
        });
        Operand { read, dtype: node.dtype(), view }
    }
}

/// Builds one kernel's expression.
struct Builder<'a> {
    /// The node that is made.
    node: &'a Node,
    snapshot: &'a Snapshot,
    stored: &'a HashSet<usize>,
    reads: &'a mut Reads,
}

impl Builder<'_> {
    /// The expression that ends in `root`, over `root`'s shape. What is stored is loaded, but for the node itself.
    fn map_reduce(self, root: &Node, reduce: Option<(ReduceKind, SmallVec<[usize; 6]>)>) -> MapReduce {
        let snapshot = self.snapshot;
        let mut expression = Expression::default();
        let mut loads: Vec<Operand> = Vec::new();
        let mut names: HashMap<usize, usize> = HashMap::new();
        // Operands before users, by a list instead of recursion. `true`: the operands are done.
        let mut stack = vec![(root.clone(), false)];
        while let Some((current, operands_done)) = stack.pop() {
            if names.contains_key(&current.id()) {
                continue;
            }
            let source = snapshot.through_identity(&current);
            let is_copy = current == *self.node && matches!(snapshot.op(&current), Op::Contiguous { .. });
            let alias = if source != current {
                Some(source)
            } else if is_copy {
                // A copy: its value is its operand's.
                snapshot.inputs(&current).pop()
            } else {
                None
            };
            if let Some(source) = alias {
                match names.get(&source.id()) {
                    Some(&name) => drop(names.insert(current.id(), name)),
                    None => stack.extend([(current, true), (source, false)]),
                }
                continue;
            }
            let in_memory = snapshot.has_numbers(&current)
                || snapshot.is_view(&current)
                || (self.stored.contains(&current.id()) && current != *self.node);
            let step = if let Some((constant, value)) = snapshot.viewed_constant(&current) {
                self.reads.constant(constant, value)
            } else if in_memory {
                loads.push(self.reads.operand(&current));
                Step::Load { slot: loads.len() - 1, dtype: current.dtype() }
            } else if operands_done || snapshot.inputs(&current).is_empty() {
                step(&current, snapshot.op(&current), &names, self.reads)
            } else {
                let inputs = snapshot.inputs(&current);
                stack.push((current, true));
                stack.extend(inputs.into_iter().rev().map(|input| (input, false)));
                continue;
            };
            // The root is done last, so the result is the last step.
            let name = expression.push(step);
            names.insert(current.id(), name);
        }
        MapReduce { space: root.shape().into(), loads, expression, reduce, dtype: self.node.dtype() }
    }
}

/// The step of one elementwise node.
fn step(node: &Node, op: &Op, names: &HashMap<usize, usize>, reads: &mut Reads) -> Step {
    match op {
        Op::ConstFill(value) => reads.constant(node, *value),
        Op::Arange => Step::Position,
        Op::Rand { seed, stream, word } => Step::Rand { seed: *seed, stream: *stream, word: *word },
        Op::Map { primitive, inputs } => Step::Map {
            primitive,
            dtype: inputs[inputs.len() - 1].dtype(),
            operands: inputs.iter().map(|input| names[&input.id()]).collect(),
        },
        Op::Cast { input } => Step::Cast { from: input.dtype(), to: node.dtype(), operand: names[&input.id()] },
        Op::Buffer
        | Op::Input
        | Op::View { .. }
        | Op::Contiguous { .. }
        | Op::Reduce { .. }
        | Op::Concat { .. }
        | Op::Gather { .. }
        | Op::ScatterAdd { .. }
        | Op::Closure { .. }
        | Op::Executed => unreachable!("{} is not elementwise", op.name()),
    }
}
