//! Looking elements up by an index tensor.
//!
//! Where the index says the same for a run of neighbouring elements (the rows of a table), the run is copied as a whole.

use super::elements::{Elements, Odometer};
use super::prepared::Moves;
use super::run::Stop;
use super::slots::Slots;
use super::threads::parallel;
use crate::dtype::TensorDType;
use crate::graph::Lookup;
use crate::shape::{View, len_of, row_major_strides};
use std::sync::{Mutex, PoisonError};

/// How many elements one thread gathers at a time.
const PART: usize = 1 << 14;

/// The first index, in order, that names no place, whichever thread met it first.
#[derive(Default)]
pub(super) struct Wrong(Mutex<Option<(usize, i64)>>);

impl Wrong {
    /// Notes index `at`, number `k` in order.
    #[cold]
    pub(super) fn note(&self, k: usize, at: i64) {
        let mut wrong = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        *wrong = Some(wrong.map_or((k, at), |other| other.min((k, at))));
    }

    /// The error of the node whose axis has `size` places, if there is one.
    pub(super) fn result(self, node: usize, size: usize) -> Result<(), Stop> {
        match self.0.into_inner().unwrap_or_else(PoisonError::into_inner) {
            None => Ok(()),
            Some((_, at)) => Err(Stop::OutOfRange { node, at, size }),
        }
    }
}

/// `out[.., j, ..] = input[.., index[.., j, ..], ..]`.
///
/// # Safety
/// `out` has room for the node's elements, and nobody else uses it.
pub(super) unsafe fn gather<T: TensorDType>(
    moves: &Moves,
    lookup: Lookup,
    input: &Elements<'_, T>,
    index: &Elements<'_, i64>,
    axis: usize,
    out: *mut T,
) -> Result<(), Stop> {
    let size = input.view.shape()[axis];
    let wrong = Wrong::default();
    let out = Slots::new(out);
    if len_of(&moves.shape) == 0 {
        return Ok(());
    }
    match (input.view, index.view) {
        (View::Linear { strides: a, offset, .. }, View::Linear { strides: b, offset: first, .. }) => {
            let walk = Walk::new(&moves.shape, axis, (a, *offset), (b, *first));
            walk.run(lookup, (input.values, size), index.values, &out, &wrong);
        }
        _ => one_by_one(moves, lookup, input, index, axis, &out, &wrong),
    }
    wrong.result(moves.node, size)
}

/// How a gather walks through memory: runs of neighbouring elements under a loop under all others.
struct Walk {
    /// The sizes of the axes around the innermost loop, and how far the input and the index move along each.
    around: Vec<(usize, isize, isize)>,
    /// The innermost loop: how often, and how far input and index move.
    often: usize,
    steps: (isize, isize),
    /// The elements of a run.
    run: usize,
    /// How far apart the places lie that the index chooses from.
    stride: isize,
    starts: (isize, isize),
}

impl Walk {
    fn new(
        shape: &[usize],
        axis: usize,
        (input, offset): (&[isize], isize),
        (index, first): (&[isize], isize),
    ) -> Walk {
        let dense = row_major_strides(shape);
        let in_run = |&k: &usize| k > axis && (shape[k] == 1 || (index[k] == 0 && input[k] == dense[k]));
        let runs = (0..shape.len()).rev().take_while(in_run).count();
        let (outside, inside) = shape.split_at(shape.len() - runs);
        let moved = |k: usize| (shape[k], if k == axis { 0 } else { input[k] }, index[k]);
        let mut around: Vec<(usize, isize, isize)> = (0..outside.len()).map(moved).collect();
        let (often, a, b) = around.pop().unwrap_or((1, 0, 0));
        let run = inside.iter().product();
        Walk { around, often, steps: (a, b), run, stride: input[axis], starts: (offset, first) }
    }

    fn run<T: TensorDType>(
        &self,
        lookup: Lookup,
        (values, size): (&[T], usize),
        indices: &[i64],
        out: &Slots<T>,
        wrong: &Wrong,
    ) {
        let loops: usize = self.around.iter().map(|&(size, ..)| size).product();
        // The innermost loop is cut too, so that a single long one is shared.
        let most = (PART / self.run).max(1);
        let (pieces, per_part) = (self.often.div_ceil(most), (most / self.often).max(1));
        parallel(loops.div_ceil(per_part) * pieces, &|part| {
            let (group, piece) = (part / pieces, part % pieces);
            let own = piece * most..((piece + 1) * most).min(self.often);
            for around in group * per_part..((group + 1) * per_part).min(loops) {
                let (mut from, mut look) = self.starts;
                let mut rest = around;
                for &(size, a, b) in self.around.iter().rev() {
                    from += (rest % size) as isize * a;
                    look += (rest % size) as isize * b;
                    rest /= size;
                }
                for k in own.clone() {
                    let at = indices[(look + k as isize * self.steps.1) as usize];
                    let ordinal = around * self.often + k;
                    let Some(place) = lookup.place(at, size) else { return wrong.note(ordinal * self.run, at) };
                    let start = (from + k as isize * self.steps.0 + place as isize * self.stride) as usize;
                    let found = &values[start..start + self.run];
                    // SAFETY: the runs follow each other in the output, and each belongs to one part.
                    unsafe { out.at(ordinal * self.run).copy_from_nonoverlapping(found.as_ptr(), self.run) };
                }
            }
        });
    }
}

/// Through views that are more than strides.
fn one_by_one<T: TensorDType>(
    moves: &Moves,
    lookup: Lookup,
    input: &Elements<'_, T>,
    index: &Elements<'_, i64>,
    axis: usize,
    out: &Slots<T>,
    wrong: &Wrong,
) {
    let (size, len) = (input.view.shape()[axis], len_of(&moves.shape));
    parallel(len.div_ceil(PART), &|part| {
        let range = part * PART..((part + 1) * PART).min(len);
        let mut odometer = Odometer::new(&moves.shape, range.start);
        for k in range {
            let at = index.get(&odometer.index, k);
            let Some(place) = lookup.place(at, size) else { return wrong.note(k, at) };
            let kept = std::mem::replace(&mut odometer.index[axis], place);
            let value = input.at(&odometer.index);
            odometer.index[axis] = kept;
            // SAFETY: k < len, each k belongs to one part, and `parallel` joins before the output is read.
            unsafe { out.write(k, value) };
            odometer.advance();
        }
    });
}
