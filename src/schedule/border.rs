//! Which borders of zeros are not written to memory: a contraction that packs its operands puts them in there.
//!
//! A convolution asks for a copy of its input with a border, so that windows are read at strides. Where all that reads the copy are
//! contractions, they read the input itself instead, and zeros where there would be none of it.

use super::build::everywhere;
use super::contraction::is_matrix;
use super::frame::{Frame, Frames};
use super::snapshot::Snapshot;
use crate::dtype::Literal;
use crate::graph::{IdMap, Node, Op, ReduceKind};
use crate::ops;
use crate::shape::{Bounded, Position, View};

/// A sum of products, one of which operands may have a border.
pub(super) struct Product<'a> {
    space: &'a [usize],
    reduced: &'a [usize],
    operands: &'a [Node],
}

/// By reduction, the sums of products of which an operand is a copy that has yet to be made.
pub(super) fn products(snapshot: &Snapshot) -> IdMap<Product<'_>> {
    let is_copy = |node: &Node| {
        let base = snapshot.base(node);
        !snapshot.has_numbers(base) && matches!(snapshot.op(base), Op::Contiguous { .. })
    };
    let product = |node| {
        let Op::Reduce { kind: ReduceKind::Sum, input, axes, .. } = snapshot.op(node) else { return None };
        let Op::Map { primitive, inputs } = snapshot.op(input) else { return None };
        let is_product = std::ptr::eq(*primitive, &ops::MUL) && !snapshot.has_numbers(input);
        (is_product && node.dtype() == input.dtype() && inputs.iter().any(is_copy))
            .then(|| (node.id(), Product { space: input.shape(), reduced: axes, operands: inputs }))
    };
    snapshot.in_order().filter(|node| !snapshot.has_numbers(node)).filter_map(product).collect()
}

impl<'a> Product<'a> {
    /// The base of the other operand, if the sum is a contraction that can read what `copy` is of where it is, through a frame.
    pub(super) fn reads_through(
        &self,
        copy: &Node,
        frame: Frame,
        frames: &Frames,
        snapshot: &'a Snapshot,
    ) -> Option<&'a Node> {
        let of_copy = |node: &Node| snapshot.base(node) == copy;
        let (own, other) = match self.operands {
            [a, b] if of_copy(a) && !of_copy(b) => (a, b),
            [a, b] if of_copy(b) && !of_copy(a) => (b, a),
            _ => return None,
        };
        let (base, view) = bordered(copy, snapshot)?;
        let zero = Literal::zero(base.dtype());
        let seen = frames.apply(frame, view, zero).filter(|seen| seen.gathers.is_empty())?;
        // Where nothing is read outside the buffer anyway, the zeros are put in by the expression.
        let is_plain = snapshot.view(own).is_none_or(|(_, view)| view.access().1.is_empty());
        let is_load = snapshot.has_numbers(base) || everywhere(&seen.view, base.len()).is_none();
        let own = seen.view.bounded(zero).filter(|_| is_plain && is_load)?;
        let other_base = snapshot.base(other);
        let other = read(other, snapshot)?;
        let follows = (&|axis| own.follows(axis), &|axis| other.follows(axis));
        is_matrix(self.space, self.reduced, follows.0, follows.1).then_some(other_base)
    }
}

/// What a copy with a border of zeros is of, and how, if rows lie side by side there.
pub(super) fn bordered<'a>(copy: &'a Node, snapshot: &'a Snapshot) -> Option<(&'a Node, &'a View)> {
    let Op::Contiguous { input } = snapshot.op(copy) else { return None };
    let (base, view) = snapshot.view(input)?;
    let (Position::Strided { strides, .. }, guards) = view.access() else { return None };
    let mut sizes = copy.shape().iter().zip(strides).rev();
    let (_, stride) = sizes.find(|(size, _)| **size != 1)?;
    (!guards.is_empty() && stride == 1 && copy.len() > 0 && !snapshot.is_constant(base)).then_some((base, view))
}

/// How a node is read in memory.
fn read(node: &Node, snapshot: &Snapshot) -> Option<Bounded> {
    match snapshot.view(node) {
        Some((base, view)) => view.bounded(Literal::zero(base.dtype())),
        None => View::contiguous(node.shape()).bounded(Literal::zero(node.dtype())),
    }
}
