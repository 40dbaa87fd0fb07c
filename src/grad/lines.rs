//! The derivatives of running totals: running totals from the other end.

use crate::dtype::Literal;
use crate::error::Result;
use crate::graph::build::whole_ranges;
use crate::graph::{Lookup, Node, ReduceKind, ScanKind, SliceRange};
use crate::ops;
use smallvec::SmallVec;

/// The gradients of the inputs of a scan with the result `y`, from the gradient `g`.
pub(super) fn scan(
    g: &Node,
    inputs: &[Node],
    y: &Node,
    axis: usize,
    (kind, reverse): (ScanKind, bool),
) -> Result<SmallVec<[Node; 2]>> {
    let one = |grad: Node| Ok(SmallVec::from_elem(grad, 1));
    match kind {
        ScanKind::Sum => one(g.scan(ScanKind::Sum, None, axis, !reverse)?),
        ScanKind::Prod => one(product(g, &inputs[0], y, axis, reverse)?),
        ScanKind::Max | ScanKind::Min => {
            // Each running extreme stands where it was met last.
            let places = if kind == ScanKind::Max { ScanKind::ArgMax } else { ScanKind::ArgMin };
            let places = inputs[0].scan(places, None, axis, reverse)?;
            one(g.scatter(ReduceKind::Sum, Lookup { name: "cummax", from_end: false }, &places, axis, y.shape())?)
        }
        ScanKind::Linear => {
            let reached = carried(g, &inputs[0], axis, reverse)?;
            let before = one_further(y, axis, reverse, Literal::zero(y.dtype()))?;
            Ok([&reached * &before, reached].into_iter().collect())
        }
        ScanKind::ArgMax | ScanKind::ArgMin => Ok(SmallVec::new()),
    }
}

/// Each factor gets the product before it times what the products after it, without it, carry back: nothing is divided, so zeros
/// are no hindrance, in no derivative.
fn product(g: &Node, x: &Node, y: &Node, axis: usize, reverse: bool) -> Result<Node> {
    let wide = ops::accumulator(g.dtype());
    let before = one_further(y, axis, reverse, Literal::one(y.dtype()))?;
    let after = carried(&g.cast(wide)?, &x.cast(wide)?, axis, reverse)?;
    (&before.cast(wide)? * &after).cast(g.dtype())
}

/// What a scan with `factor`s hands on from `g`, seen from the other end: `r = g + next factor · next r`.
fn carried(g: &Node, factor: &Node, axis: usize, reverse: bool) -> Result<Node> {
    let next = one_further(factor, axis, !reverse, Literal::zero(factor.dtype()))?;
    g.scan(ScanKind::Linear, Some(&next), axis, !reverse)
}

/// Each element one place further along the axis (towards the start if `back`), with `filler` coming in.
fn one_further(x: &Node, axis: usize, back: bool, filler: Literal) -> Result<Node> {
    let size = x.shape()[axis];
    if size == 0 {
        return Ok(x.clone());
    }
    let mut ranges = whole_ranges(x.shape());
    ranges[axis] = SliceRange { start: usize::from(back), step: 1, len: size - 1 };
    let mut padding: SmallVec<[(usize, usize); 6]> = SmallVec::from_elem((0, 0), x.rank());
    padding[axis] = if back { (0, 1) } else { (1, 0) };
    x.sliced(&ranges).padded(&padding, filler)
}
