//! What a kernel computes for one element: a DAG of primitives in a flat list.

use crate::dtype::{DType, Literal};
use crate::ops::Primitive;
use crate::shape::Expr;
use smallvec::SmallVec;

/// One value of an expression; its place in the list is its name.
#[derive(Clone)]
pub(crate) enum Step {
    /// The element of operand `slot`.
    Load {
        slot: usize,
        dtype: DType,
    },
    /// The place that an index names on an axis of `size`; with `from_end` numbers below zero count from the end.
    Place {
        index: usize,
        size: usize,
        from_end: bool,
    },
    /// The element of operand `slot` that lies so many elements behind the one a load would give, as step `at` says.
    Gather {
        slot: usize,
        dtype: DType,
        at: usize,
    },
    Const(Literal),
    /// The constant `slot` of the stage, which is told when the kernel is run.
    Scalar {
        slot: usize,
        dtype: DType,
    },
    /// A number computed from the indices of the element, an `i64`; or whether it is not 0, a `bool`.
    Index {
        value: Expr,
        dtype: DType,
    },
    /// Random bits for the place that step `at` gives. Seed and stream are told when the kernel is run, as four scalars from
    /// `slot` on.
    Rand {
        slot: usize,
        word: u8,
        at: usize,
    },
    /// A primitive on earlier steps of dtype `dtype`.
    Map {
        primitive: &'static Primitive,
        dtype: DType,
        operands: SmallVec<[usize; 3]>,
    },
    Cast {
        from: DType,
        to: DType,
        operand: usize,
    },
}

/// A list of steps; the last is the result.
#[derive(Clone, Default)]
pub(crate) struct Expression {
    pub(crate) steps: Vec<Step>,
}

impl Expression {
    /// Adds a step and gives its name.
    pub(crate) fn push(&mut self, step: Step) -> usize {
        self.steps.push(step);
        self.steps.len() - 1
    }

    /// The number of primitives and casts, without loads and constants.
    #[cfg(test)]
    pub(crate) fn op_count(&self) -> usize {
        self.steps.iter().filter(|step| matches!(step, Step::Map { .. } | Step::Cast { .. })).count()
    }
}
