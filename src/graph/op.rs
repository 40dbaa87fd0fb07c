//! The kinds of nodes: few, because everything else is composed from them.

use super::lines::LineWork;
use super::movement::Movement;
use super::node::Node;
use crate::dtype::{DType, Literal};
use crate::ops::Primitive;
use crate::shape::{Shape, View};
use smallvec::SmallVec;
use std::sync::Arc;

/// What a node wants done. A copy shares the nodes it is made from.
#[derive(Clone)]
pub(crate) enum Op {
    /// Data given by the user; the node's buffer holds it.
    Buffer,
    /// Data that will be given by name when the graph is run.
    Input,
    /// The same value everywhere.
    ConstFill(Literal),
    /// 0, 1, 2 … as `i64`, row-major.
    Arange,
    /// Random bits as `u32`: word `word` of the counter-based generator at the element's position.
    Rand { seed: u64, stream: u64, word: u8 },
    /// Another look at `base`'s elements. `movement` says how it follows from `input`; `view` is the whole way to `base`.
    View { input: Node, movement: Movement, base: Node, view: Arc<View> },
    /// A dense copy, for what no single view can say.
    Contiguous { input: Node },
    /// One primitive on each element of inputs of one shape.
    Map { primitive: &'static Primitive, inputs: SmallVec<[Node; 3]> },
    /// Each element converted to the node's dtype.
    Cast { input: Node },
    /// Many elements to one, along `axes` (sorted).
    Reduce { kind: ReduceKind, input: Node, axes: SmallVec<[usize; 6]>, keepdim: bool },
    /// Inputs one after the other along an axis.
    Concat { inputs: Vec<Node>, axis: usize },
    /// `out[.., j, ..] = input[.., index[.., j, ..], ..]` along `axis`; `index` has the shape of the result.
    /// `name` is the op the user called.
    Gather { lookup: Lookup, input: Node, index: Node, axis: usize },
    /// What `source` has for each place, put together: its elements go to `index` along `axis`, which has the shape of `source`. Where
    /// nothing goes stands what a reduction of nothing gives (0 for a sum).
    Scatter { kind: ReduceKind, lookup: Lookup, index: Node, source: Node, axis: usize },
    /// Work on the lines of an axis, each as a whole. The inputs are dense.
    Lines { work: LineWork, inputs: SmallVec<[Node; 2]>, axis: usize },
    /// The result of a Rust closure over `inputs`: its value is known, its derivative is not.
    Closure { name: &'static str, inputs: Vec<Node> },
    /// The result is in the buffer, and what led to it has been let go.
    Executed,
}

/// How the numbers of an index tensor are meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Lookup {
    /// The op that users called, for messages.
    pub(crate) name: &'static str,
    /// Numbers below zero count from the end. Class numbers do not.
    pub(crate) from_end: bool,
}

impl Lookup {
    /// The place that `at` names on an axis of `size`; `None` outside it.
    pub(crate) fn place(self, at: i64, size: usize) -> Option<usize> {
        let place = if at < 0 && self.from_end { at.wrapping_add(size as i64) } else { at };
        usize::try_from(place).ok().filter(|&place| place < size)
    }
}

/// The reductions that are primitives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum ReduceKind {
    Sum,
    Prod,
    Max,
    Min,
}

impl ReduceKind {
    /// The op's name in messages.
    pub(crate) fn name(self) -> &'static str {
        match self {
            ReduceKind::Sum => "sum",
            ReduceKind::Prod => "prod",
            ReduceKind::Max => "max",
            ReduceKind::Min => "min",
        }
    }
}

impl ReduceKind {
    /// The name of the scatter that puts together what goes to one place.
    pub(crate) fn scatter_name(self) -> &'static str {
        match self {
            ReduceKind::Sum => "scatter_add",
            ReduceKind::Prod => "scatter_prod",
            ReduceKind::Max => "scatter_max",
            ReduceKind::Min => "scatter_min",
        }
    }

    /// What a reduction of nothing gives.
    pub(crate) fn start(self, dtype: DType) -> Literal {
        match self {
            ReduceKind::Sum => Literal::zero(dtype),
            ReduceKind::Prod => Literal::one(dtype),
            ReduceKind::Max => Literal::lowest(dtype),
            ReduceKind::Min => Literal::highest(dtype),
        }
    }
}

impl Op {
    /// The op's name in messages and listings.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Op::Buffer => "buffer",
            Op::Input => "input",
            Op::ConstFill(_) => "constant",
            Op::Arange => "arange",
            Op::Rand { .. } => "rand",
            Op::View { movement, .. } => movement.name(),
            Op::Contiguous { .. } => "contiguous",
            Op::Map { primitive, .. } => primitive.name,
            Op::Cast { .. } => "cast",
            Op::Reduce { kind, .. } => kind.name(),
            Op::Concat { .. } => "concat",
            Op::Gather { .. } => "gather",
            Op::Scatter { kind, .. } => kind.scatter_name(),
            Op::Lines { work, .. } => work.name(),
            Op::Closure { name, .. } => name,
            Op::Executed => "executed",
        }
    }

    /// Calls `f` with every node whose numbers are needed for this one's: a view needs its base's.
    #[inline]
    pub(crate) fn for_each_needed<'a>(&'a self, mut f: impl FnMut(&'a Node)) {
        match self {
            Op::View { base, .. } => f(base),
            op => op.for_each_input(f),
        }
    }

    /// Calls `f` with every node this one is made from.
    #[inline]
    pub(crate) fn for_each_input<'a>(&'a self, mut f: impl FnMut(&'a Node)) {
        match self {
            Op::Buffer | Op::Input | Op::ConstFill(_) | Op::Arange | Op::Rand { .. } | Op::Executed => {}
            Op::View { input, .. } | Op::Contiguous { input } | Op::Cast { input } | Op::Reduce { input, .. } => {
                f(input)
            }
            Op::Map { inputs, .. } => inputs.iter().for_each(f),
            Op::Lines { inputs, .. } => inputs.iter().for_each(f),
            Op::Concat { inputs, .. } | Op::Closure { inputs, .. } => inputs.iter().for_each(f),
            Op::Gather { input, index, .. } => {
                f(input);
                f(index);
            }
            Op::Scatter { index, source, .. } => {
                f(index);
                f(source);
            }
        }
    }
}

/// The shape left when `axes` (sorted) are reduced.
pub(super) fn reduced_shape(shape: &[usize], axes: &[usize], keepdim: bool) -> Shape {
    let kept = shape.iter().enumerate().filter(|(axis, _)| keepdim || !axes.contains(axis));
    kept.map(|(axis, &size)| if axes.contains(&axis) { 1 } else { size }).collect()
}
