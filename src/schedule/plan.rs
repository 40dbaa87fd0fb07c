//! A plan: kernels in running order, and what each reads.

use super::expression::{Expression, Step};
use super::group::{has_numbers, is_constant, is_unguarded, is_view, through_identity};
use crate::dtype::DType;
use crate::graph::{Node, Op, ReduceKind};
use crate::shape::{Shape, View};
use smallvec::SmallVec;
use std::collections::{HashMap, HashSet};

/// Kernels in running order.
pub(crate) struct Plan {
    pub(crate) kernels: Vec<Kernel>,
    /// How many kernels read each node's buffer.
    pub(crate) readers: HashMap<usize, usize>,
    /// The ids of the nodes that were asked for.
    pub(crate) wanted: HashSet<usize>,
}

/// One piece of work that fills one node's buffer.
pub(crate) struct Kernel {
    /// The node whose numbers are made.
    pub(crate) node: Node,
    /// The buffers that are read, each once.
    pub(crate) reads: Vec<Node>,
    pub(crate) work: Work,
}

/// What is done.
pub(crate) enum Work {
    MapReduce(MapReduce),
    /// The reads one after the other along an axis.
    Concat {
        parts: Vec<Operand>,
        axis: usize,
    },
    Gather {
        input: Operand,
        index: Operand,
        axis: usize,
    },
    ScatterAdd {
        index: Operand,
        source: Operand,
        axis: usize,
    },
}

/// An expression over a space, optionally reduced.
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
    /// Which of the kernel's reads.
    pub(crate) read: usize,
    pub(crate) dtype: DType,
    pub(crate) view: View,
}

impl Plan {
    pub(super) fn new(kernels: Vec<Kernel>, wanted: &[Node]) -> Plan {
        let mut readers = HashMap::new();
        for read in kernels.iter().flat_map(|kernel| &kernel.reads) {
            *readers.entry(read.id()).or_insert(0) += 1;
        }
        Plan { kernels, readers, wanted: wanted.iter().map(Node::id).collect() }
    }
}

/// What has to be known of an op to plan its kernel, taken out so that nodes are not locked while others are looked at.
enum Kind {
    Elementwise,
    Reduce(ReduceKind, SmallVec<[usize; 6]>),
    Concat(usize),
    Gather(usize),
    ScatterAdd(usize),
}

/// The kernel that fills a stored node.
pub(super) fn kernel(node: &Node, stored: &HashSet<usize>) -> Kernel {
    let kind = node.with_op(|op| match op {
        Op::Reduce { kind, axes, .. } => Kind::Reduce(*kind, axes.clone()),
        Op::Concat { axis, .. } => Kind::Concat(*axis),
        Op::Gather { axis, .. } => Kind::Gather(*axis),
        Op::ScatterAdd { axis, .. } => Kind::ScatterAdd(*axis),
        Op::Map { .. } | Op::Cast { .. } | Op::Contiguous { .. } | Op::ConstFill(_) | Op::Arange | Op::Rand { .. } => {
            Kind::Elementwise
        }
        Op::Buffer | Op::Input | Op::View { .. } | Op::Closure { .. } | Op::Executed => {
            unreachable!("{} has its numbers, or is no work", op.name())
        }
    });
    let mut reads = Reads::default();
    let inputs = node.inputs();
    let work = match kind {
        Kind::Elementwise => Work::MapReduce(map_reduce(node, node, None, stored, &mut reads)),
        Kind::Reduce(kind, axes) => {
            let reduce = Some((kind, axes)).filter(|(_, axes)| !axes.is_empty());
            Work::MapReduce(map_reduce(node, &inputs[0], reduce, stored, &mut reads))
        }
        Kind::Concat(axis) => Work::Concat { parts: inputs.iter().map(|input| reads.operand(input)).collect(), axis },
        Kind::Gather(axis) => Work::Gather { input: reads.operand(&inputs[0]), index: reads.operand(&inputs[1]), axis },
        Kind::ScatterAdd(axis) => {
            Work::ScatterAdd { index: reads.operand(&inputs[0]), source: reads.operand(&inputs[1]), axis }
        }
    };
    Kernel { node: node.clone(), reads: reads.nodes, work }
}

/// The buffers one kernel reads.
#[derive(Default)]
struct Reads {
    nodes: Vec<Node>,
    places: HashMap<usize, usize>,
}

impl Reads {
    fn operand(&mut self, node: &Node) -> Operand {
        let (base, view) = node.base_and_view();
        let read = *self.places.entry(base.id()).or_insert_with(|| {
            self.nodes.push(base.clone());
            self.nodes.len() - 1
        });
        Operand { read, dtype: node.dtype(), view }
    }
}

/// The expression that ends in `root`, over `root`'s shape. `root` itself is always computed; what else is stored is loaded.
fn map_reduce(
    node: &Node,
    root: &Node,
    reduce: Option<(ReduceKind, SmallVec<[usize; 6]>)>,
    stored: &HashSet<usize>,
    reads: &mut Reads,
) -> MapReduce {
    let mut expression = Expression::default();
    let mut loads: Vec<Operand> = Vec::new();
    let mut names: HashMap<usize, usize> = HashMap::new();
    // Operands before users, by a list instead of recursion. `true`: the operands are done.
    let mut stack = vec![(root.clone(), false)];
    while let Some((current, operands_done)) = stack.pop() {
        if names.contains_key(&current.id()) {
            continue;
        }
        let source = through_identity(&current);
        if source != current {
            match names.get(&source.id()) {
                Some(&name) => {
                    names.insert(current.id(), name);
                }
                None => stack.extend([(current, true), (source, false)]),
            }
            continue;
        }
        let is_own = current == *node;
        let in_memory = has_numbers(&current) || (stored.contains(&current.id()) && !is_own);
        let view_of_constant = is_view(&current) && {
            let base = current.base_and_view().0;
            is_constant(&base) && base.buffer().is_none() && is_unguarded(&current)
        };
        let step = if view_of_constant {
            let base = current.base_and_view().0;
            Step::Const(base.constant().expect("a constant"))
        } else if in_memory || is_view(&current) {
            loads.push(reads.operand(&current));
            Step::Load { slot: loads.len() - 1, dtype: current.dtype() }
        } else if operands_done || current.inputs().is_empty() {
            match step(&current, &names) {
                Some(step) => step,
                None => {
                    // A copy: its value is its operand's.
                    let operand = names[&current.inputs()[0].id()];
                    names.insert(current.id(), operand);
                    continue;
                }
            }
        } else {
            let inputs = current.inputs();
            stack.push((current, true));
            stack.extend(inputs.into_iter().rev().map(|input| (input, false)));
            continue;
        };
        let name = expression.push(step);
        names.insert(current.id(), name);
    }
    // The result is the last step, also where it is a plain load.
    debug_assert!(names.contains_key(&root.id()));
    let dtype = node.dtype();
    MapReduce { space: root.shape().into(), loads, expression, reduce, dtype }
}

/// The step of one elementwise node; `None` for a copy.
fn step(node: &Node, names: &HashMap<usize, usize>) -> Option<Step> {
    let dtype = node.dtype();
    node.with_op(|op| match op {
        Op::ConstFill(value) => Some(Step::Const(*value)),
        Op::Arange => Some(Step::Position),
        Op::Rand { seed, stream, word } => Some(Step::Rand { seed: *seed, stream: *stream, word: *word }),
        Op::Map { primitive, inputs } => Some(Step::Map {
            primitive,
            dtype: inputs[inputs.len() - 1].dtype(),
            operands: inputs.iter().map(|input| names[&input.id()]).collect(),
        }),
        Op::Cast { input } => Some(Step::Cast { from: input.dtype(), to: dtype, operand: names[&input.id()] }),
        Op::Contiguous { .. } => None,
        Op::Buffer
        | Op::Input
        | Op::View { .. }
        | Op::Reduce { .. }
        | Op::Concat { .. }
        | Op::Gather { .. }
        | Op::ScatterAdd { .. }
        | Op::Closure { .. }
        | Op::Executed => unreachable!("{} is not elementwise", op.name()),
    })
}
