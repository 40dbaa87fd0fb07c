//! What a kernel computes for one element: a DAG of primitives in a flat list.

use crate::dtype::{DType, Literal};
use crate::ops::Primitive;
use smallvec::SmallVec;

/// One value of an expression; its place in the list is its name.
#[derive(Clone)]
pub(crate) enum Step {
    /// The element of operand `slot`.
    Load {
        slot: usize,
        dtype: DType,
    },
    Const(Literal),
    /// The constant `slot` of the stage, which is told when the kernel is run.
    Scalar {
        slot: usize,
        dtype: DType,
    },
    /// The element's place in the expression's space, row-major.
    Position,
    /// Random bits for the element's place.
    Rand {
        seed: u64,
        stream: u64,
        word: u8,
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
