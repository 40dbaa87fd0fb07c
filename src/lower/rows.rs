//! A loop program cut into rows: the same loops over a few rows at a time.

use super::program::{Access, Guard, Load, LoopProgram, dense};
use crate::dtype::DType;
use crate::ops::vector::{Lane, Val, Word};
use crate::schedule::collapsed;
use crate::shape::Expr;
use std::ops::Range;

/// The bytes of a cache line.
const LINE: usize = 64;

/// How a stage is run row by row.
pub(crate) struct RowProgram {
    program: LoopProgram,
    /// How many leading axes make the rows.
    lead: usize,
}

impl RowProgram {
    /// The rows of a program are its first `lead` axes.
    pub(crate) fn new(program: LoopProgram, lead: usize) -> RowProgram {
        RowProgram { program, lead }
    }

    /// The program for `rows` consecutive rows, of which the first is told as the call's origin. They must be among those that
    /// [`RowProgram::even_rows`] counts. With a `part` it walks only that of an axis behind the rows; the output is still
    /// that of the whole axis, of which [`RowProgram::skipped`] elements come before the first that is written.
    pub(crate) fn for_rows(&self, rows: usize, part: Option<&Part>) -> LoopProgram {
        let mut program = self.program.clone();
        let even = self.lead - self.even_axes()..self.lead;
        let stride =
            |strides: &[i64]| row_stride(&self.program.outer[even.clone()], &strides[even.clone()]).unwrap_or(0);
        program.outer.splice(..self.lead, [rows]);
        program.store.splice(..self.lead, [stride(&self.program.store)]);
        let (indices, bounds) = self.indices();
        let of_rows = |expr: &Expr| expr.substitute(&indices).simplify(&bounds);
        for index in &mut program.indices {
            *index = of_rows(index);
        }
        for load in &mut program.loads {
            match &mut load.access {
                Access::Strided { strides, .. } => {
                    let stride = stride(strides);
                    strides.splice(..self.lead, [stride]);
                }
                Access::Computed { position, guards } => {
                    *position = of_rows(position);
                    for Guard { condition, .. } in guards {
                        *condition = of_rows(condition);
                    }
                }
            }
        }
        if let Some(part) = part {
            cut(&mut program, part.axis + 1 - self.lead, &part.range, bounds[0]);
        }
        program
    }

    /// The fold of what this program stores, if `fold` is no more than that. It is told where that is stored as its last operand, and may store it
    /// on the way.
    pub(crate) fn folded_by(&self, fold: &RowProgram) -> Option<RowProgram> {
        let (map, fold) = (&self.program, &fold.program);
        let ([load], [(Word::Load { .. }, _)]) = (&fold.loads[..], &fold.words[..]) else { return None };
        let stored = Access::Strided { offset: 0, strides: map.store.clone() };
        let is_same_space = map.outer.iter().eq(fold.outer.iter().chain(&fold.reduced));
        let is_plain = map.fold.is_none() && fold.fold.is_some() && load.access == stored && load.dtype == map.stored;
        // Elements of these dtypes are read as they were stored.
        if !is_same_space || !is_plain || !matches!(map.stored, DType::F32 | DType::F64) || fold.stored != map.stored {
            return None;
        }
        let loads = map.loads.iter().cloned().chain([Load { dtype: map.stored, access: stored }]).collect();
        let (words, indices) = (map.words.clone(), map.indices.clone());
        let program = LoopProgram { loads, words, indices, result: map.result, ..fold.clone() };
        Some(RowProgram { program, lead: self.lead })
    }

    /// This program with operand `slot`, one element a row that `made` makes of one element, made on the spot; that element takes the operand's
    /// place, and scalars are told after `scalars` others. `None` where it is not so.
    pub(crate) fn making(&self, slot: usize, made: &RowProgram, scalars: usize) -> Option<RowProgram> {
        let (whole, made) = (&self.program, &made.program);
        let [Load { access: Access::Strided { offset, strides }, dtype }] = &made.loads[..] else { return None };
        let one_a_row = |strides: &[i64]| {
            let others = whole.outer.len() + whole.reduced.len() - self.lead;
            strides[..self.lead].iter().copied().chain(std::iter::repeat_n(0, others)).collect::<Vec<i64>>()
        };
        let is_read = whole.loads[slot].access == Access::Strided { offset: 0, strides: one_a_row(&made.store) };
        // Elements of these dtypes are read as they were stored.
        let is_same = matches!(made.stored, DType::F32 | DType::F64) && whole.loads[slot].dtype == made.stored;
        let is_one = made.fold.is_none() && made.outer[self.lead..].iter().all(|&size| size == 1);
        let is_plain = |(word, _): &(Word, _)| {
            !matches!(word, Word::Position | Word::Index(_) | Word::Place { .. } | Word::Gather { .. })
        };
        let is_looked_at =
            |(word, _): &(Word, _)| matches!(word, Word::Gather { slot: at, .. } if usize::from(*at) == slot);
        let is_made = is_read && is_same && is_one && made.words.iter().all(is_plain);
        if !is_made || whole.words.iter().any(is_looked_at) {
            return None;
        }
        let mut words: Vec<(Word, Lane)> = Vec::with_capacity(made.words.len() + whole.words.len());
        for &(word, lane) in &made.words {
            let word = match word {
                Word::Load { dtype, .. } => Word::Load { slot: slot as u16, dtype },
                Word::Scalar(number) => Word::Scalar(number + scalars as u16),
                word => word,
            };
            words.push((word, lane));
        }
        let mut names: Vec<Val> = Vec::with_capacity(whole.words.len());
        for &(word, lane) in &whole.words {
            if matches!(word, Word::Load { slot: at, .. } if usize::from(at) == slot) {
                names.push(made.result);
                continue;
            }
            names.push(Val { id: words.len() as u32, lane });
            words.push((word.of(|val| names[val.id as usize]), lane));
        }
        let mut program = LoopProgram { words, result: names[whole.result.id as usize], ..whole.clone() };
        let access = Access::Strided { offset: *offset, strides: one_a_row(strides) };
        program.loads[slot] = Load { dtype: *dtype, access };
        Some(RowProgram { program, lead: self.lead })
    }

    /// The elements of the output before the first that a part of it writes.
    pub(crate) fn skipped(&self, part: &Part) -> i64 {
        self.program.store.get(part.axis).map_or(0, |stride| stride * part.range.start as i64)
    }

    /// Every index by the row and the axes after the rows, and how far those go.
    fn indices(&self) -> (Vec<Expr>, Vec<usize>) {
        let (lead, rest) = self.program.outer.split_at(self.lead);
        let inside = |axis: usize| lead[axis + 1..].iter().product::<usize>();
        let of_row = (0..self.lead).map(|axis| Expr::idx(0).div(inside(axis)).rem(lead[axis]));
        let others = (0..rest.len() + self.program.reduced.len()).map(|axis| Expr::idx(axis + 1));
        let rows = lead.iter().product();
        let bounds = [rows].into_iter().chain(rest.iter().copied()).chain(self.program.reduced.iter().copied());
        (of_row.chain(others).collect(), bounds.collect())
    }

    /// How many consecutive rows, counted from one that is a multiple of it, follow each other at one stride in every operand and
    /// in the output.
    pub(crate) fn even_rows(&self) -> usize {
        self.program.outer[self.lead - self.even_axes()..self.lead].iter().product()
    }

    /// How many of the last axes of the rows are walked at one stride by all.
    fn even_axes(&self) -> usize {
        let is_even = |axes: usize| {
            let sizes = &self.program.outer[self.lead - axes..self.lead];
            self.strides().all(|strides| row_stride(sizes, &strides[self.lead - axes..self.lead]).is_some())
        };
        (0..=self.lead).rev().find(|&axes| is_even(axes)).unwrap_or(0)
    }

    /// By how many elements row `row` of operand `slot` lies behind row 0. A computed position knows its row from the call's origin.
    pub(crate) fn shift(&self, slot: usize, row: usize) -> i64 {
        match &self.program.loads[slot].access {
            Access::Strided { strides, .. } => self.distance(strides, row),
            Access::Computed { .. } => 0,
        }
    }

    /// Whether rows of operand `slot` begin at different places.
    pub(crate) fn moves(&self, slot: usize) -> bool {
        match &self.program.loads[slot].access {
            Access::Strided { strides, .. } => strides[..self.lead].iter().any(|&stride| stride != 0),
            Access::Computed { .. } => false,
        }
    }

    /// By how many elements row `row` of the output lies behind row 0.
    pub(crate) fn store_shift(&self, row: usize) -> i64 {
        self.distance(&self.program.store, row)
    }

    fn distance(&self, strides: &[i64], row: usize) -> i64 {
        let (mut rest, mut shift) = (row, 0);
        for axis in (1..self.lead).rev() {
            let size = self.program.outer[axis].max(1);
            shift += (rest % size) as i64 * strides[axis];
            rest /= size;
        }
        // Along the first axis, whatever is left.
        if self.lead > 0 { shift + rest as i64 * strides[0] } else { 0 }
    }

    /// The bytes of one element of operand `slot`.
    pub(crate) fn size_of_load(&self, slot: usize) -> usize {
        self.program.loads[slot].dtype.size()
    }

    /// How many axes are reduced.
    pub(crate) fn reduced_axes(&self) -> usize {
        self.program.reduced.len()
    }

    /// The elements of one row of the output.
    pub(crate) fn row_len(&self) -> usize {
        self.program.outer[self.lead..].iter().product()
    }

    /// Where the first `rows` rows of operand `slot` are, in bytes, if they are one run of memory and so are those after them.
    pub(crate) fn tile_bytes(&self, slot: usize, rows: usize) -> Option<Range<i64>> {
        let load = &self.program.loads[slot];
        let Access::Strided { offset, strides } = &load.access else { return None };
        let (outer, reduced) = (&self.program.outer, &self.program.reduced);
        let inner: Vec<usize> = outer[self.lead..].iter().chain(reduced).copied().collect();
        let is_dense = |((&size, &stride), dense): ((&usize, &i64), i64)| size == 1 || stride == dense;
        let row_is_run = inner.iter().zip(&strides[self.lead..]).zip(dense(&inner)).all(is_dense);
        let row: usize = inner.iter().product();
        let (start, bytes) = (*offset, (rows * row) as i64);
        let size = load.dtype.size() as i64;
        let follow = row_stride(&outer[..self.lead], strides) == Some(row as i64);
        (row_is_run && follow).then(|| start * size..(start + bytes) * size)
    }

    /// Whether a cache line of some operand has elements of several rows, whose own lie farther apart.
    pub(crate) fn has_rows_side_by_side(&self) -> bool {
        let (outer, reduced) = (&self.program.outer, &self.program.reduced);
        let Some(row) = (0..self.lead).rev().find(|&axis| outer[axis] != 1) else { return false };
        let inner: Vec<usize> = outer[self.lead..].iter().chain(reduced).copied().collect();
        self.program.loads.iter().any(|load| {
            let Access::Strided { strides, .. } = &load.access else { return false };
            let bytes = |stride: i64| stride.unsigned_abs() as usize * load.dtype.size();
            let is_far = |(&size, &stride): (&usize, &i64)| size > 1 && bytes(stride) >= LINE;
            (1..LINE).contains(&bytes(strides[row])) && inner.iter().zip(&strides[self.lead..]).any(is_far)
        })
    }

    /// Whether every element is stored.
    pub(crate) fn is_map(&self) -> bool {
        self.program.fold.is_none()
    }

    /// The words computed for one element.
    pub(crate) fn words(&self) -> usize {
        self.program.words.len()
    }

    /// The elements computed for one row.
    pub(crate) fn row_work(&self) -> usize {
        self.row_len() * self.program.reduced.iter().product::<usize>()
    }

    fn strides(&self) -> impl Iterator<Item = &[i64]> {
        let loads = self.program.loads.iter().filter_map(|load| match &load.access {
            Access::Strided { strides, .. } => Some(&strides[..]),
            Access::Computed { .. } => None,
        });
        loads.chain([&self.program.store[..]])
    }
}

/// A part of an axis.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Part {
    /// A loop: an outer axis of the program, or behind those a reduced one. It is none of the rows'.
    pub(crate) axis: usize,
    pub(crate) range: Range<usize>,
}

/// Leaves a range of an axis. There are `rows` rows in all, of which the program is for some.
fn cut(program: &mut LoopProgram, axis: usize, range: &Range<usize>, rows: usize) {
    debug_assert!(
        !program.words.iter().any(|(word, _)| matches!(word, Word::Position)),
        "places are those of the whole"
    );
    let first = range.start as i64;
    let kept = program.outer.len();
    let rank = kept + program.reduced.len();
    let size = if axis < kept { &mut program.outer[axis] } else { &mut program.reduced[axis - kept] };
    *size = range.len();
    let mut bounds: Vec<usize> = program.outer.iter().chain(&program.reduced).copied().collect();
    bounds[0] = rows;
    let from: Vec<Expr> = (0..rank).map(|k| if k == axis { Expr::idx(k) + first } else { Expr::idx(k) }).collect();
    let moved = |expr: &Expr| expr.substitute(&from).simplify(&bounds);
    program.indices.iter_mut().for_each(|index| *index = moved(index));
    for load in &mut program.loads {
        match &mut load.access {
            Access::Strided { offset, strides } => *offset += strides[axis] * first,
            Access::Computed { position, guards } => {
                *position = moved(position);
                guards.iter_mut().for_each(|guard| guard.condition = moved(&guard.condition));
            }
        }
    }
}

/// The stride from one row to the next, over row axes of these sizes; `None` if it is not always the same.
fn row_stride(sizes: &[usize], strides: &[i64]) -> Option<i64> {
    collapsed(sizes.iter().copied().zip(strides.iter().copied()).filter(|(size, _)| *size != 1))
}
