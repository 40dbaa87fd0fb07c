//! The loops over an output and its inputs: simplified once, then walked in parts.
//!
//! In: views. Out: rows, that is, a position in every operand and a count, for the innermost loops to run along.
//! Simplifying broadcasts the inputs, turns axes forward, puts the output's largest stride outermost and merges axes
//! that every operand walks as one. What was dense is then a single row.

use super::is_aligned;
use super::view::{INLINE, Strided};
use crate::error::Result;
use crate::runtime::threads::parallel;
use smallvec::SmallVec;
use std::ops::Range;

/// A part is at least this much work, in calls of the closure.
const GRAIN: usize = 1 << 14;

/// A job has at most this many parts.
const MOST_PARTS: usize = 1 << 10;

/// Which loop the kernels run for given operands, the cheapest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Path {
    /// All operands have the same rank, shape and strides, without gaps: one loop over one linear position.
    Aligned,
    /// In rows: along each, the output is dense and every input is dense or stands still.
    Blocks,
    /// In rows with a step of its own for every operand.
    General,
}

/// The path that [`map`](super::map) (one input) and [`zip`](super::zip) (two) take.
///
/// ```
/// use zither::strided::{Path, Strided, path};
/// let dense = Strided::new(&[2, 3], &[3, 1]);
/// assert_eq!(path(dense, [dense])?, Path::Aligned);
/// assert_eq!(path(dense, [dense, Strided::new(&[3], &[1])])?, Path::Blocks);
/// assert_eq!(path(dense, [Strided::new(&[2, 3], &[1, 2])])?, Path::General);
/// # Ok::<(), zither::Error>(())
/// ```
pub fn path<const N: usize>(out: Strided<'_>, inputs: [Strided<'_>; N]) -> Result<Path> {
    let names = [""; N].map(|_| "input");
    Ok(Nest::new("path", out, inputs, names)?.path)
}

/// A position in every operand; or, for an axis, the step it makes in every operand.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Place<const N: usize> {
    pub(super) out: isize,
    pub(super) inputs: [isize; N],
}

impl<const N: usize> Place<N> {
    /// This place, `times` steps on. Wraps, because the step behind a last element may leave all bounds before the
    /// odometer takes it back.
    fn plus(mut self, step: &Place<N>, times: isize) -> Place<N> {
        self.out = self.out.wrapping_add(step.out.wrapping_mul(times));
        for (position, step) in self.inputs.iter_mut().zip(step.inputs) {
            *position = position.wrapping_add(step.wrapping_mul(times));
        }
        self
    }

    fn operands(&self) -> impl Iterator<Item = isize> + '_ {
        std::iter::once(self.out).chain(self.inputs)
    }
}

struct Axis<const N: usize> {
    size: usize,
    step: Place<N>,
}

impl<const N: usize> Axis<N> {
    /// Whether walking `self` and, inside it, `inner` is one walk with `inner`'s step for every operand.
    fn continues(&self, inner: &Axis<N>) -> bool {
        let whole = Place { out: 0, inputs: [0; N] }.plus(&inner.step, inner.size as isize);
        self.step == whole
    }
}

/// Loops over the output's elements, with the place of each in every operand.
pub(super) struct Nest<const N: usize> {
    /// Outermost first; never empty. The last one is the row.
    axes: SmallVec<[Axis<N>; INLINE]>,
    start: Place<N>,
    size: usize,
    path: Path,
}

impl<const N: usize> Nest<N> {
    /// The loops for an output and the inputs that broadcast to it. Bounds are for the caller to check.
    pub(super) fn new(op: &str, out: Strided<'_>, inputs: [Strided<'_>; N], names: [&str; N]) -> Result<Nest<N>> {
        out.check_rank(op, "the output")?;
        let mut strides: SmallVec<[_; 2]> = SmallVec::new();
        for (input, name) in inputs.iter().zip(names) {
            input.check_rank(op, name)?;
            strides.push(input.broadcast_to(op, name, out.shape)?);
        }
        out.check_no_overlap(op)?;
        let mut start = Place { out: out.offset as isize, inputs: inputs.map(|input| input.offset as isize) };
        let mut axes: SmallVec<[Axis<N>; INLINE]> = SmallVec::new();
        for (axis, (&size, &stride)) in
            out.shape.iter().zip(out.strides).enumerate().filter(|(_, (size, _))| **size != 1)
        {
            let mut step = Place { out: stride, inputs: std::array::from_fn(|input| strides[input][axis]) };
            if stride < 0 && size > 0 {
                start = start.plus(&step, (size - 1) as isize);
                step = Place { out: 0, inputs: [0; N] }.plus(&step, -1);
            }
            axes.push(Axis { size, step });
        }
        axes.sort_by_key(|axis| std::cmp::Reverse(axis.step.out));
        let axes = merge(axes);
        let size = axes.iter().map(|axis| axis.size).fold(1, usize::saturating_mul);
        let aligned = inputs.iter().all(|input| is_aligned(out.shape, out.strides, input.shape, input.strides));
        let path = match axes.as_slice() {
            [row] if aligned && row.step.operands().all(|step| step == 1) => Path::Aligned,
            [.., row] if row.step.out == 1 && row.step.inputs.iter().all(|&step| step == 0 || step == 1) => {
                Path::Blocks
            }
            _ => Path::General,
        };
        Ok(Nest { axes, start, size, path })
    }

    /// The step each operand makes along a row.
    pub(super) fn row_step(&self) -> Place<N> {
        self.axes[self.axes.len() - 1].step
    }

    /// Runs `row` over all rows (or pieces of rows), on several threads if there is much to do.
    ///
    /// An element costs `work` calls of the user's closure. The rows together hold every element of the output once.
    pub(super) fn for_each_row(&self, work: usize, row: &(impl Fn(Place<N>, usize) + Sync)) {
        let chunk = chunk(self.size, work);
        parallel(self.size.div_ceil(chunk), &|part| {
            let first = part * chunk;
            self.rows(first..self.size.min(first + chunk), row);
        });
    }

    /// The rows of a range of ordinals.
    fn rows(&self, range: Range<usize>, row: &impl Fn(Place<N>, usize)) {
        let Some((inner, outer)) = self.axes.split_last() else { return };
        let mut column = range.start % inner.size;
        let mut index: SmallVec<[usize; INLINE]> = SmallVec::from_elem(0, outer.len());
        let mut place = self.start;
        let mut rest = range.start / inner.size;
        for (i, axis) in index.iter_mut().zip(outer).rev() {
            *i = rest % axis.size;
            rest /= axis.size;
            place = place.plus(&axis.step, *i as isize);
        }
        let mut left = range.len();
        while left > 0 {
            let count = left.min(inner.size - column);
            row(place.plus(&inner.step, column as isize), count);
            left -= count;
            column = 0;
            // The odometer: most often the first wheel turns, and no other.
            for (i, axis) in index.iter_mut().zip(outer).rev() {
                *i += 1;
                place = place.plus(&axis.step, 1);
                if *i < axis.size {
                    break;
                }
                *i = 0;
                place = place.plus(&axis.step, -(axis.size as isize));
            }
        }
    }
}

/// Joins neighbours that all operands walk as one axis; at least one axis is left.
fn merge<const N: usize>(axes: SmallVec<[Axis<N>; INLINE]>) -> SmallVec<[Axis<N>; INLINE]> {
    let mut merged: SmallVec<[Axis<N>; INLINE]> = SmallVec::new();
    for axis in axes {
        match merged.last_mut() {
            Some(outer) if outer.continues(&axis) => {
                *outer = Axis { size: outer.size.saturating_mul(axis.size), ..axis }
            }
            _ => merged.push(axis),
        }
    }
    if merged.is_empty() {
        merged.push(Axis { size: 1, step: Place { out: 1, inputs: [1; N] } });
    }
    merged
}

/// How many elements a part takes: whole cache lines, enough work to be worth a thread, and not too many parts.
fn chunk(size: usize, work: usize) -> usize {
    let worthwhile = GRAIN.div_ceil(work.max(1));
    let chunk = worthwhile.max(size.div_ceil(MOST_PARTS));
    if chunk < 64 { chunk } else { chunk.next_multiple_of(64) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Mutex;

    /// The rows of a nest in the order they come, as (out, input, count).
    fn rows(nest: &Nest<1>, range: Range<usize>) -> Vec<(isize, isize, usize)> {
        let seen = Mutex::new(Vec::new());
        nest.rows(range, &|place, count| seen.lock().unwrap().push((place.out, place.inputs[0], count)));
        seen.into_inner().unwrap()
    }

    fn nest(out: Strided<'_>, input: Strided<'_>) -> Nest<1> {
        Nest::new("map", out, [input], ["input"]).unwrap()
    }

    #[test]
    fn dense_operands_are_one_row() {
        let dense = Strided::new(&[2, 3, 4], &[12, 4, 1]);
        assert_eq!(rows(&nest(dense, dense.at(5)), 0..24), [(0, 5, 24)]);
        let columns = Strided::new(&[2, 3, 4], &[1, 2, 6]);
        assert_eq!(rows(&nest(columns, columns), 3..20), [(3, 3, 17)]);
        let backwards = Strided::new(&[2, 3], &[-3, -1]).at(5);
        assert_eq!(nest(backwards, backwards).path, Path::Aligned);
        assert_eq!(rows(&nest(backwards, backwards), 0..6), [(0, 0, 6)]);
    }

    #[test]
    fn the_odometer_starts_anywhere() {
        let out = Strided::new(&[2, 2, 3], &[6, 3, 1]);
        let input = Strided::new(&[2, 1, 3], &[10, 99, 2]).at(1);
        let nest = nest(out, input);
        assert_eq!(rows(&nest, 0..12), [(0, 1, 3), (3, 1, 3), (6, 11, 3), (9, 11, 3)]);
        assert_eq!(rows(&nest, 4..10), [(4, 3, 2), (6, 11, 3), (9, 11, 1)]);
        assert_eq!(nest.path, Path::General);
    }

    #[test]
    fn merged_axes_shorten_the_nest() {
        // (32, 630, 12, 32) + (32, 1, 1, 32): the two axes in the middle are one.
        let out = Strided::new(&[32, 630, 12, 32], &[630 * 384, 384, 32, 1]);
        let nest = nest(out, Strided::new(&[32, 1, 1, 32], &[32, 32, 32, 1]));
        assert_eq!(nest.axes.iter().map(|axis| axis.size).collect::<Vec<_>>(), [32, 7560, 32]);
        assert_eq!(nest.path, Path::Blocks);
    }

    #[test]
    fn chunks_depend_on_size_and_work_alone() {
        assert_eq!(chunk(100, 1), GRAIN);
        assert_eq!(chunk(1 << 30, 1), 1 << 20);
        assert_eq!(chunk(1000, 1000), 17);
        assert_eq!(chunk(1000, usize::MAX), 1);
        assert_eq!(chunk(0, 0), GRAIN);
    }
}
