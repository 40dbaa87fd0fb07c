//! The loop program: what leaves `lower`. It knows loops, accesses and words, and nothing of any machine.

use crate::dtype::{DType, Literal};
use crate::ops::vector::{Lane, Val, Word};
use crate::shape::Expr;

/// One kernel: for every index of `outer` (row-major), fold `words` over every index of `reduced`, and store.
///
/// Without a `fold` there are no `reduced` axes and each outer index stores one value.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct LoopProgram {
    /// Sizes of the kept axes, outermost first. No axes means one element.
    pub(crate) outer: Vec<usize>,
    /// The output's strides over `outer`, in elements; no two indices have the same place. See [`dense`].
    pub(crate) store: Vec<i64>,
    /// Sizes of the reduced axes, outermost first.
    pub(crate) reduced: Vec<usize>,
    /// How operand `slot` is read, over the index (outer axes, then reduced axes).
    pub(crate) loads: Vec<Load>,
    /// What `Word::Index` names: numbers computed from the index (outer axes, then reduced axes).
    pub(crate) indices: Vec<Expr>,
    /// The vector program for one element, and the lane type of each word.
    pub(crate) words: Vec<(Word, Lane)>,
    /// The value that is folded or stored.
    pub(crate) result: Val,
    /// How values along `reduced` become one.
    pub(crate) fold: Option<Fold>,
    /// The dtype that is stored; its lane is the result's lane.
    pub(crate) stored: DType,
}

/// The strides of a dense row-major layout.
pub(crate) fn dense(sizes: &[usize]) -> Vec<i64> {
    let mut strides = vec![1i64; sizes.len()];
    for axis in (1..sizes.len()).rev() {
        strides[axis - 1] = strides[axis].wrapping_mul(sizes[axis] as i64);
    }
    strides
}

/// How one operand is read.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Load {
    /// The dtype in memory.
    pub(crate) dtype: DType,
    /// Where an element is found.
    pub(crate) access: Access,
}

/// The position of an element in its buffer, in elements.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Access {
    /// `offset + Σ index · stride`, one stride per axis of (outer, reduced).
    Strided { offset: i64, strides: Vec<i64> },
    /// `position(index)`, unless a guard fails: the first guard whose condition is 0 gives its default instead
    /// (and the position, which may then be anything, is not read).
    Computed { position: Expr, guards: Vec<Guard> },
}

/// Where `condition` is 0 the element reads as `default`.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Guard {
    pub(crate) condition: Expr,
    pub(crate) default: Literal,
}

/// A reduction. Its order is part of its meaning: see `codegen::block`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Fold {
    /// Floats are summed pairwise over long axes; integers wrap.
    Sum,
    Prod,
    /// NaN wins. On masks, `Max` is "any" and `Min` is "all". Integers by the signedness of `stored`.
    Max,
    Min,
}
