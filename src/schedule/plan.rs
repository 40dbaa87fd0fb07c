//! A plan: kernels in running order, and what each reads.

use super::contraction::Contraction;
use super::expression::Expression;
use super::producer::Producer;
use crate::dtype::{DType, Literal};
use crate::graph::{LineWork, Lookup, Node, ReduceKind};
use crate::ops::vector::QuickSet;
use crate::shape::{Bounded, Position, Shape, View};
use smallvec::SmallVec;

/// Kernels in running order.
pub(crate) struct Plan {
    pub(crate) kernels: Vec<Kernel>,
    /// The ids of the nodes that were asked for.
    pub(crate) wanted: QuickSet<usize>,
}

/// Stages that run together.
pub(crate) struct Kernel {
    pub(crate) stages: Vec<Stage>,
    pub(crate) form: Form,
    /// Small stages that run when all others are done, and read what those made: the mean of the rows' losses.
    pub(crate) after: Vec<Stage>,
    /// Maps that are computed where the contraction packs what they make: the left operand first.
    pub(crate) producers: Vec<Producer>,
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
    /// The first stage is a contraction, whose axes have these roles; the others run on each of its tiles when that is done.
    Contraction(Contraction),
}

/// One piece of work that makes one node's numbers.
pub(crate) struct Stage {
    /// The node whose numbers are made.
    pub(crate) node: Node,
    /// What is read, each once.
    pub(crate) reads: Vec<Node>,
    /// What is told when the kernel is run, by the slots of `Step::Scalar` and `Step::Rand`.
    pub(crate) scalars: Vec<Scalar>,
    pub(crate) work: Work,
    /// Which part of the node's numbers this stage writes; `None` for all of them.
    pub(crate) region: Option<Region>,
    /// The axis that is walked first by a map that runs row by row, if it is not the first of its space.
    pub(crate) led_by: Option<usize>,
}

/// A number that is told when a kernel is run.
pub(crate) struct Scalar {
    /// A constant, or random bits.
    pub(crate) node: Node,
    /// Which of the node's numbers: a constant has one, random bits the four halves of seed and stream.
    pub(crate) part: u8,
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
    Scatter {
        kind: ReduceKind,
        lookup: Lookup,
        index: Operand,
        source: Operand,
        axis: usize,
    },
    /// Whole lines of dense operands.
    Lines {
        work: LineWork,
        operands: SmallVec<[Operand; 2]>,
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
    /// How many elements behind the one that the view shows a gather looks at most.
    pub(crate) reach: usize,
}

/// An offset and strides.
pub(crate) type Strided = (i64, SmallVec<[i64; 6]>);

impl Operand {
    /// Where the elements are, if they are read at strides, and everywhere.
    pub(crate) fn strided(&self) -> Option<Strided> {
        match self.view.access() {
            (Position::Strided { offset, strides }, guards) if guards.is_empty() => Some((offset, strides)),
            _ => None,
        }
    }

    /// Where the elements are, if they are read at strides, within bounds outside of which there are zeros.
    pub(crate) fn bounded(&self) -> Option<Bounded> {
        self.view.bounded(Literal::zero(self.dtype))
    }
}

impl Plan {
    pub(super) fn new(kernels: Vec<Kernel>, wanted: &[Node]) -> Plan {
        Plan { kernels, wanted: wanted.iter().map(Node::id).collect() }
    }
}

impl Stage {
    /// Whether it makes one element from each, and all of its node.
    pub(crate) fn is_map(&self) -> bool {
        matches!(&self.work, Work::MapReduce(work) if work.reduce.is_none()) && self.region.is_none()
    }

    /// Whether it reads of a node, which it does read, only the element at the place that it writes.
    pub(crate) fn reads_where_it_writes(&self, node: &Node) -> bool {
        let same_place = node.len() == self.node.len() && node.dtype().size() == self.node.dtype().size();
        self.is_map() && same_place && self.reads_as_it_lies(node)
    }

    /// Whether it reads the elements of a node in their order, over its whole space.
    pub(crate) fn reads_as_it_lies(&self, node: &Node) -> bool {
        let Work::MapReduce(work) = &self.work else { return false };
        let mut loads = work.loads.iter().filter(|load| self.reads[load.read] == *node);
        loads.all(|load| load.view.is_contiguous() && load.reach == 0)
    }
}

impl Kernel {
    /// Everything the stages read, in order.
    pub(crate) fn reads(&self) -> impl Iterator<Item = &Node> {
        self.all_stages().flat_map(|stage| &stage.reads)
    }

    /// The stages, with those that are computed for them and those that come after.
    pub(crate) fn all_stages(&self) -> impl Iterator<Item = &Stage> {
        self.producers.iter().map(|producer| &producer.stage).chain(&self.stages).chain(&self.after)
    }
}
