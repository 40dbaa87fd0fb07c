//! Putting together what goes to one place.
//!
//! Each place gets its elements in the order of the source, however the work is shared out: threads have different places, or
//! different columns, or (where there are few places and many elements) stretches of the source of their own, whose results are
//! joined in order. Which of these it is follows from the shapes alone.

use super::elements::{Elements, Odometer};
use super::gather::Wrong;
use super::number::{Number, Wide};
use super::prepared::Moves;
use super::run::Stop;
use super::slots::Slots;
use super::threads::parallel;
use crate::graph::{Lookup, ReduceKind};
use crate::memory::no_memory;
use crate::shape::{View, len_of};
use std::borrow::Cow;
use std::ops::Range;

/// How many elements one thread takes at a time, at least.
const PART: usize = 1 << 15;

/// The fewest neighbouring columns that a thread takes.
const COLUMNS: usize = 64;

/// So many stretches of the source are put together on their own, where there are few places.
const STRETCHES: usize = 8;

/// So many ranges of places are served on their own, where there are many.
const RANGES: usize = 4;

/// Places of a scatter: `outer` blocks of `len` elements (and `size` places), each of `inner` columns.
struct Geometry {
    outer: usize,
    len: usize,
    size: usize,
    inner: usize,
}

/// How two values for one place become one.
trait Put<W> {
    const START: W;
    fn put(total: W, value: W) -> W;
}

struct Sum;
struct Prod;
struct Max;
struct Min;

impl<W: Wide> Put<W> for Sum {
    const START: W = W::ZERO;
    #[inline(always)]
    fn put(total: W, value: W) -> W {
        total.plus(value)
    }
}

impl<W: Wide> Put<W> for Prod {
    const START: W = W::ONE;
    #[inline(always)]
    fn put(total: W, value: W) -> W {
        total.times(value)
    }
}

impl<W: Wide> Put<W> for Max {
    const START: W = W::LOWEST;
    #[inline(always)]
    fn put(total: W, value: W) -> W {
        if value.is_nan() || value > total { value } else { total }
    }
}

impl<W: Wide> Put<W> for Min {
    const START: W = W::HIGHEST;
    #[inline(always)]
    fn put(total: W, value: W) -> W {
        if value.is_nan() || value < total { value } else { total }
    }
}

/// Puts together what of a dense source goes to each place along an axis.
///
/// # Safety
/// `out` has room for the node's elements, and nobody else uses it.
pub(super) unsafe fn scatter<T: Number>(
    moves: &Moves,
    kind: ReduceKind,
    lookup: Lookup,
    index: &Elements<'_, i64>,
    source: &[T],
    axis: usize,
    out: *mut T,
) -> Result<(), Stop> {
    let shape = index.view.shape();
    let geometry = Geometry {
        outer: len_of(&shape[..axis]),
        len: shape[axis],
        size: moves.shape[axis],
        inner: len_of(&shape[axis + 1..]),
    };
    let count = geometry.outer * geometry.size * geometry.inner;
    assert_eq!(count, len_of(&moves.shape), "the source has all axes of the result but one");
    let index = Indices::new(index, axis)?;
    let wrong = Wrong::default();
    let job = Job { geometry, lookup, index, source, wrong: &wrong };
    // Where totals have the type of the elements, they are kept in the output itself.
    if size_of::<T>() == size_of::<T::Wide>() {
        job.run_kind(kind, out.cast())?;
    } else {
        let mut totals: Vec<T::Wide> = Vec::new();
        totals.try_reserve_exact(count).map_err(|_| Stop::Error(no_memory(lookup.name, T::DTYPE, count)))?;
        job.run_kind(kind, totals.as_mut_ptr())?;
        // SAFETY: the job has written all of them.
        unsafe { totals.set_len(count) };
        for (k, total) in totals.into_iter().enumerate() {
            // SAFETY: the output has as many elements.
            unsafe { out.add(k).write(T::narrow(total)) };
        }
    }
    wrong.result(moves.node, moves.shape[axis])
}

/// The numbers of an index at `[outer, element, column]`, at one stride each.
struct Indices<'a> {
    values: Cow<'a, [i64]>,
    first: isize,
    strides: [isize; 3],
}

impl<'a> Indices<'a> {
    fn new(index: &Elements<'a, i64>, axis: usize) -> Result<Indices<'a>, Stop> {
        let shape = index.view.shape();
        if let View::Linear { strides, offset, .. } = index.view {
            let group = |range: Range<usize>| one_stride(&shape[range.clone()], &strides[range]);
            if let (Some(outer), Some(inner)) = (group(0..axis), group(axis + 1..shape.len())) {
                let strides = [outer, strides[axis], inner];
                return Ok(Indices { values: Cow::Borrowed(index.values), first: *offset, strides });
            }
        }
        // Through any other view, once.
        let len = len_of(&shape);
        let mut values = Vec::new();
        values.try_reserve_exact(len).map_err(|_| Stop::Error(no_memory("scatter", crate::dtype::DType::I64, len)))?;
        let mut odometer = Odometer::new(&shape, 0);
        for k in 0..len {
            values.push(index.get(&odometer.index, k));
            odometer.advance();
        }
        let inner = len_of(&shape[axis + 1..]);
        let strides = [(shape[axis] * inner) as isize, inner as isize, 1];
        Ok(Indices { values: Cow::Owned(values), first: 0, strides })
    }

    #[inline(always)]
    fn at(&self, outer: usize, element: usize, column: usize) -> i64 {
        let [a, b, c] = self.strides;
        let place = self.first + outer as isize * a + element as isize * b + column as isize * c;
        self.values[place as usize]
    }

    /// All columns of an element go to one place.
    fn is_one_for_all_columns(&self) -> bool {
        self.strides[2] == 0
    }
}

/// The one stride of neighbouring axes, if their elements lie at one.
fn one_stride(shape: &[usize], strides: &[isize]) -> Option<isize> {
    let mut axes = shape.iter().zip(strides).rev().filter(|(size, _)| **size != 1);
    let Some((&size, &stride)) = axes.next() else { return Some(0) };
    let mut reach = stride * size as isize;
    for (&size, &next) in axes {
        if next != reach {
            return None;
        }
        reach *= size as isize;
    }
    Some(stride)
}

/// A piece of the work: blocks, elements of the source, columns, and the places that are served.
struct Piece {
    outer: Range<usize>,
    elements: Range<usize>,
    columns: Range<usize>,
    places: Range<usize>,
}

struct Job<'a, T> {
    geometry: Geometry,
    lookup: Lookup,
    index: Indices<'a>,
    source: &'a [T],
    wrong: &'a Wrong,
}

impl<T: Number> Job<'_, T> {
    fn run_kind(&self, kind: ReduceKind, totals: *mut T::Wide) -> Result<(), Stop> {
        let totals = Slots::new(totals);
        match kind {
            ReduceKind::Sum => self.run::<Sum>(&totals),
            ReduceKind::Prod => self.run::<Prod>(&totals),
            ReduceKind::Max => self.run::<Max>(&totals),
            ReduceKind::Min => self.run::<Min>(&totals),
        }
    }

    fn run<P: Put<T::Wide>>(&self, totals: &Slots<T::Wide>) -> Result<(), Stop> {
        let Geometry { outer, len, size, inner } = self.geometry;
        let count = outer * size * inner;
        if self.prefers_stretches() {
            return self.in_stretches::<P>(totals);
        }
        let begin = |places: Range<usize>| {
            for place in places {
                // SAFETY: the callers have places of their own.
                unsafe { totals.write(place, P::START) };
            }
        };
        let begin_all = || {
            parallel(count.div_ceil(PART), &|part| begin(part * PART..((part + 1) * PART).min(count)));
        };
        if outer * len * inner == 0 {
            begin_all();
            return Ok(());
        }
        // Blocks, then columns, then ranges of places, until there is work for some threads.
        let block = len * inner;
        let group = (PART / block.max(size * inner)).max(1);
        let groups = outer.div_ceil(group);
        let width = if self.index.is_one_for_all_columns() || inner >= 4 * COLUMNS {
            inner.div_ceil(RANGES * 2).next_multiple_of(16).max(COLUMNS).min(inner)
        } else {
            inner
        };
        let tiles = if groups >= RANGES || block < PART { 1 } else { inner.div_ceil(width) };
        let width = if tiles == 1 { inner } else { width };
        let ranges = if groups * tiles >= RANGES || block < 4 * PART { 1 } else { RANGES.min(size) };
        // Whole blocks begin just before they are served, so that they are in the cache.
        let is_whole = tiles * ranges == 1;
        if !is_whole {
            begin_all();
        }
        parallel(groups * tiles * ranges, &|part| {
            let (part, range) = (part / ranges, part % ranges);
            let (part, tile) = (part / tiles, part % tiles);
            let piece = Piece {
                outer: part * group..((part + 1) * group).min(outer),
                elements: 0..len,
                columns: tile * width..((tile + 1) * width).min(inner),
                places: size * range / ranges..size * (range + 1) / ranges,
            };
            if is_whole {
                begin(piece.outer.start * size * inner..piece.outer.end * size * inner);
            }
            // SAFETY: the pieces differ in their blocks, their columns or their places.
            unsafe { self.piece::<P>(&piece, totals) };
        });
        Ok(())
    }

    /// Whether few places get many elements, so that each stretch of the source may have totals of its own.
    fn prefers_stretches(&self) -> bool {
        let Geometry { outer, len, size, inner } = self.geometry;
        let places = size * inner;
        outer == 1 && inner < 4 * COLUMNS && len * inner >= 4 * PART && len / 4 >= size * STRETCHES && places <= PART
    }

    /// Stretches of the source on their own, joined in order.
    fn in_stretches<P: Put<T::Wide>>(&self, totals: &Slots<T::Wide>) -> Result<(), Stop> {
        let Geometry { len, size, inner, .. } = self.geometry;
        let places = size * inner;
        let mut own: Vec<T::Wide> = Vec::new();
        let room = STRETCHES * places;
        own.try_reserve_exact(room).map_err(|_| Stop::Error(no_memory(self.lookup.name, T::DTYPE, room)))?;
        own.resize(room, P::START);
        let slots = Slots::new(own.as_mut_ptr());
        parallel(STRETCHES, &|part| {
            let elements = len * part / STRETCHES..len * (part + 1) / STRETCHES;
            let piece = Piece { outer: 0..1, elements, columns: 0..inner, places: 0..size };
            // SAFETY: each stretch has totals of its own.
            unsafe { self.piece::<P>(&piece, &Slots::new(slots.at(part * places))) };
        });
        for place in 0..places {
            let parts = own[place..].iter().step_by(places);
            let total = parts.fold(P::START, |total, &part| P::put(total, part));
            // SAFETY: there is such a place, and nobody else is here now.
            unsafe { totals.write(place, total) };
        }
        Ok(())
    }

    /// One number after the other.
    ///
    /// # Safety
    /// As for [`Job::piece`].
    unsafe fn numbers<P: Put<T::Wide>>(&self, piece: &Piece, totals: &Slots<T::Wide>) {
        let Geometry { len, size, .. } = self.geometry;
        let Piece { elements, places, .. } = piece;
        for outer in piece.outer.clone() {
            let first = (self.index.first + outer as isize * self.index.strides[0]) as usize;
            let indices = &self.index.values[first + elements.start..first + elements.end];
            let values = &self.source[outer * len + elements.start..outer * len + elements.end];
            for (k, (&at, value)) in indices.iter().zip(values).enumerate() {
                let Some(place) = self.lookup.place(at, size) else {
                    return self.wrong.note(outer * len + elements.start + k, at);
                };
                if places.contains(&place) {
                    let total = totals.at(outer * size + place);
                    // SAFETY: the place lies within its block, and is ours.
                    unsafe { total.write(P::put(total.read(), value.widen())) };
                }
            }
        }
    }

    /// # Safety
    /// Nobody else uses the totals of the piece's blocks, columns and places.
    unsafe fn piece<P: Put<T::Wide>>(&self, piece: &Piece, totals: &Slots<T::Wide>) {
        let Geometry { len, size, inner, .. } = self.geometry;
        if inner == 1 && self.index.strides[1] == 1 {
            // SAFETY: the caller's promise.
            return unsafe { self.numbers::<P>(piece, totals) };
        }
        let Piece { columns, places, .. } = piece;
        let all = *places == (0..size);
        for outer in piece.outer.clone() {
            for element in piece.elements.clone() {
                let row = (outer * len + element) * inner;
                let values = &self.source[row..row + inner];
                if self.index.is_one_for_all_columns() {
                    let at = self.index.at(outer, element, 0);
                    let Some(place) = self.lookup.place(at, size) else { return self.wrong.note(row, at) };
                    if !all && !places.contains(&place) {
                        continue;
                    }
                    let start = (outer * size + place) * inner;
                    // SAFETY: the place lies within its block, and the columns are ours.
                    let totals =
                        unsafe { std::slice::from_raw_parts_mut(totals.at(start + columns.start), columns.len()) };
                    for (total, value) in totals.iter_mut().zip(&values[columns.clone()]) {
                        *total = P::put(*total, value.widen());
                    }
                    continue;
                }
                for column in columns.clone() {
                    let at = self.index.at(outer, element, column);
                    let Some(place) = self.lookup.place(at, size) else { return self.wrong.note(row + column, at) };
                    if !all && !places.contains(&place) {
                        continue;
                    }
                    let total = totals.at((outer * size + place) * inner + column);
                    // SAFETY: as above.
                    unsafe { total.write(P::put(total.read(), values[column].widen())) };
                }
            }
        }
    }
}
