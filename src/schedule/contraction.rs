//! Which reductions are contractions: sums of products of two operands, by whatever name they were written.
//!
//! Every axis of the space has a role. One that both operands follow is of the batch if it is kept, and of the depth if it is summed
//! over; one that only the left or only the right operand follows is of the rows or of the columns.

use super::expression::Step;
use super::plan::{MapReduce, Stage, Work};
use crate::graph::{Node, ReduceKind};
use crate::ops;
use crate::shape::row_major_strides;
use smallvec::SmallVec;
use std::ops::Range;

/// Fewer multiplications than this are left to the loops: they run together with what is around them.
const FEWEST: usize = 1 << 12;

/// Fewer rows or columns than this are not worth a product of their own.
const FEWEST_LINES: usize = 16;

/// Axes of a space.
pub(crate) type Axes = SmallVec<[usize; 4]>;

/// The roles of a space's axes, each list in the space's order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Contraction {
    pub(crate) batch: Axes,
    pub(crate) rows: Axes,
    pub(crate) columns: Axes,
    pub(crate) depth: Axes,
    /// The loads that are multiplied: the one that has the rows, and the one that has the columns.
    pub(crate) left: usize,
    pub(crate) right: usize,
}

/// The roles of the axes, if a map-reduce is a contraction that is worth a kernel of its own.
pub(crate) fn contraction(work: &MapReduce) -> Option<Contraction> {
    let Some((ReduceKind::Sum, reduced)) = &work.reduce else { return None };
    let (left, right) = factors(work)?;
    let (on_left, on_right) = (work.loads[left].bounded()?, work.loads[right].bounded()?);
    let mut roles = Contraction { left, right, ..Contraction::default() };
    for axis in (0..work.space.len()).filter(|&axis| work.space[axis] != 1) {
        let role = match (reduced.contains(&axis), on_left.follows(axis), on_right.follows(axis)) {
            (true, _, _) => &mut roles.depth,
            (false, true, false) => &mut roles.rows,
            (false, false, true) => &mut roles.columns,
            (false, _, _) => &mut roles.batch,
        };
        role.push(axis);
    }
    let out = output_strides(work);
    for lines in [&mut roles.rows, &mut roles.columns] {
        scatter(lines, &mut roles.batch, &work.space, &out);
    }
    // The columns lie side by side in the output.
    if roles.rows.last() > roles.columns.last() {
        std::mem::swap(&mut roles.rows, &mut roles.columns);
        std::mem::swap(&mut roles.left, &mut roles.right);
    }
    let size = |axes: &Axes| axes.iter().map(|&axis| work.space[axis]).product::<usize>();
    let all = work.space.iter().fold(1, |product: usize, &size| product.saturating_mul(size));
    let is_matrix = size(&roles.rows) > 1 && size(&roles.columns) > 1 && size(&roles.depth) > 1;
    (is_matrix && all >= FEWEST).then_some(roles)
}

/// Whether two operands of a product, each of which follows some axes of a space, have rows and columns of their own, so that its sum is
/// worth a contraction.
pub(super) fn is_matrix(
    space: &[usize],
    reduced: &[usize],
    left: &dyn Fn(usize) -> bool,
    right: &dyn Fn(usize) -> bool,
) -> bool {
    let size = |of: &dyn Fn(usize) -> bool| {
        let axes = (0..space.len()).filter(|&axis| of(axis));
        axes.fold(1, |product: usize, axis| product.saturating_mul(space[axis]))
    };
    let is_kept = |axis: usize| !reduced.contains(&axis);
    let rows = size(&|axis| is_kept(axis) && left(axis) && !right(axis));
    let columns = size(&|axis| is_kept(axis) && right(axis) && !left(axis));
    rows > 1 && columns > 1 && size(&|axis| reduced.contains(&axis)) > 1 && size(&|_| true) >= FEWEST
}

/// Lines that lie apart in the output, as those of different images do, become products of their own, unless those would be too
/// small: what follows a contraction can then run on its tiles.
fn scatter(lines: &mut Axes, batch: &mut Axes, space: &[usize], out: &[i64]) {
    let even = |axes: &[usize]| collapsed(axes.iter().map(|&axis| (space[axis], out[axis]))).is_some();
    let Some(apart) = (0..lines.len()).find(|&first| even(&lines[first..])) else { return };
    if lines[apart..].iter().map(|&axis| space[axis]).product::<usize>() >= FEWEST_LINES {
        batch.extend(lines.drain(..apart));
        batch.sort_unstable();
    }
}

/// By axis of the space, the output's strides; 0 for axes that are summed over.
fn output_strides(work: &MapReduce) -> Vec<i64> {
    let kept = kept_axes(work);
    let dense = row_major_strides(&kept.iter().map(|&axis| work.space[axis]).collect::<Vec<_>>());
    let mut strides = vec![0; work.space.len()];
    for (&axis, &stride) in kept.iter().zip(&dense) {
        strides[axis] = stride as i64;
    }
    strides
}

/// The most elements of a right operand that is packed anew for every few rows: few where all rows share it.
const PACKED_OFTEN: usize = 1 << 14;
const PACKED_FOR_BATCH: usize = 1 << 18;

/// Fewer rows than this are not worth packing for.
const FEWEST_ROWS: usize = 8;

impl Contraction {
    /// How many of the axes that are `kept` may make rows of the result that are computed a few at a time, so that softmax and the
    /// like can run on them before they leave the cache. None if that would be dear, or an operand has a border.
    pub(super) fn leads(&self, work: &MapReduce, kept: &[usize]) -> Range<usize> {
        let size = |axes: &Axes| axes.iter().map(|&axis| work.space[axis]).product::<usize>();
        let in_order = self.batch.last() < self.rows.first() && self.rows.last() < self.columns.first();
        let right = size(&self.columns).saturating_mul(size(&self.depth));
        let most = if self.batch.is_empty() { PACKED_OFTEN } else { PACKED_FOR_BATCH };
        let has_border = [self.left, self.right].iter().any(|&load| work.loads[load].strided().is_none());
        if !in_order || has_border || right > most || size(&self.rows) < FEWEST_ROWS {
            return 0..0;
        }
        let place = |axis: Option<&usize>| kept.iter().position(|kept| Some(kept) == axis).unwrap_or(kept.len());
        place(self.rows.last()) + 1..place(self.columns.first()) + 1
    }
}

/// The loads whose product is summed.
pub(super) fn factors(work: &MapReduce) -> Option<(usize, usize)> {
    let steps = &work.expression.steps;
    let Some(Step::Map { primitive, dtype, operands }) = steps.last() else { return None };
    if !std::ptr::eq(*primitive, &ops::MUL) || *dtype != work.dtype {
        return None;
    }
    let load = |step: usize| match steps[step] {
        Step::Load { slot, .. } => Some(slot),
        _ => None,
    };
    Some((load(operands[0])?, load(operands[1])?))
}

/// Whether a stage can run on the tiles of a contraction as each is done: element by element, over the same space, reading what
/// the kernel has `made` so far as it lies.
pub(super) fn finishes(stage: &Stage, of: &MapReduce, roles: &Contraction, made: &[&Node]) -> bool {
    let Work::MapReduce(work) = &stage.work else { return false };
    let kept = kept_axes(of);
    let sizes = kept.iter().map(|&axis| of.space[axis]);
    let own: Axes = (0..work.space.len()).filter(|&axis| work.space[axis] != 1).collect();
    if work.reduce.is_some() || stage.region.is_some() || !own.iter().map(|&axis| work.space[axis]).eq(sizes) {
        return false;
    }
    let by_place =
        |step: &Step| matches!(step, Step::Place { .. } | Step::Gather { .. } | Step::Index { .. } | Step::Rand { .. });
    if work.expression.steps.iter().any(by_place) {
        return false;
    }
    let dense = row_major_strides(&work.space);
    work.loads.iter().all(|load| {
        let Some((offset, strides)) = load.strided() else { return false };
        let inside = made.contains(&&stage.reads[load.read]);
        let as_it_lies = || offset == 0 && own.iter().all(|&axis| strides[axis] == dense[axis] as i64);
        let of_axis = |axis: usize| strides[own[kept.iter().position(|&other| other == axis).expect("a kept axis")]];
        let even = |axes: &Axes| collapsed(axes.iter().map(|&axis| (of.space[axis], of_axis(axis)))).is_some();
        (!inside || as_it_lies()) && even(&roles.rows) && even(&roles.columns)
    })
}

/// The axes of a contraction's output that have more than one element.
pub(crate) fn kept_axes(work: &MapReduce) -> Axes {
    let reduced: &[usize] = work.reduce.as_ref().map_or(&[], |(_, axes)| axes);
    (0..work.space.len()).filter(|axis| work.space[*axis] != 1 && !reduced.contains(axis)).collect()
}

/// The one stride that walks axes of these sizes and strides, outermost first, as if they were one axis.
pub(crate) fn collapsed(axes: impl DoubleEndedIterator<Item = (usize, i64)>) -> Option<i64> {
    let mut axes = axes.rev();
    let Some((size, stride)) = axes.next() else { return Some(0) };
    let mut next = stride * size as i64;
    for (size, stride) in axes {
        if stride != next {
            return None;
        }
        next *= size as i64;
    }
    Some(stride)
}
