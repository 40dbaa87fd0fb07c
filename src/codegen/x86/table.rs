//! Operands that lie unevenly over short axes: where their elements are, written down once.
//!
//! A row of a few elements costs as much to begin as to compute. Where the innermost axes are short, several of them together are a
//! *block*, over which the output is dense: a table tells where each element of the block is, as runs of a few neighbours. What a kernel
//! is about to read is put side by side by the table ([`super::staged`]), and the kernel walks one long row. What lies outside of a
//! guard's bounds is a run too, of the guard's default.

use super::pieces::{Affine, Interval};
use super::staged::copy;
use super::walk::Strided;
use crate::lower::program::{Access, Guard, Load, LoopProgram, dense};
use smallvec::SmallVec;

/// The elements of a block: at least so many, if there are, to pay for finding its place.
const LEAST: usize = 256;
/// At most so many: a table stays in the cache.
const MOST: usize = 1 << 13;
/// Blocks of fewer elements do not pay.
const WORTHWHILE: usize = 48;
/// Rows of fewer elements are made part of longer ones; those with steps between their elements, which end slowly, of fewer than the second.
const SHORT: [usize; 2] = [16, 64];
/// Guarded rows of as many elements are quickly told from their bounds.
const LONG: usize = 512;
/// Runs of so many elements are copied as such.
const WORTH_A_COPY: usize = 12;

/// Some elements of a block, at even places.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Run {
    length: u32,
    /// The first one's place from the block's; [`Run::DEFAULT`] if it is the default.
    place: i32,
    slope: i32,
}

impl Run {
    const DEFAULT: i32 = i32::MIN;

    /// The place of each element.
    fn places(&self) -> impl Iterator<Item = i32> + use<> {
        let Run { length, place, slope } = *self;
        (0..length as i32).map(move |k| if place == Run::DEFAULT { place } else { place + k * slope })
    }

    /// Adds a run to those before it, of which it may be a continuation.
    fn join(self, runs: &mut Vec<Run>) {
        if self.length == 0 {
            return;
        }
        if let Some(last) = runs.last_mut()
            && last.slope == self.slope
            && (last.place == Run::DEFAULT) == (self.place == Run::DEFAULT)
            && (self.place == Run::DEFAULT || last.place + last.length as i32 * last.slope == self.place)
        {
            last.length += self.length;
            return;
        }
        runs.push(self);
    }
}

/// Where the elements of an operand are.
#[derive(Debug)]
pub(super) struct Table {
    entries: Entries,
    /// The elements of a block.
    block: usize,
    /// Where the first block is, what the origin of a call adds, and the axes outside of the block, innermost first: sizes and strides.
    offset: i64,
    by_origin: i64,
    outside: SmallVec<[(usize, i64); 4]>,
    default: u64,
}

#[derive(Debug)]
enum Entries {
    /// A place for each element.
    Places(Vec<i32>),
    Runs(Vec<Run>),
}

/// The tables of a program without a fold, by operand. `strided` has the operands that are read at strides; the slots of the others are
/// `staged`. What has a table is as if it were dense.
pub(super) fn tables(program: &LoopProgram, strided: &mut [Strided], staged: &mut Vec<usize>) -> Vec<(usize, Table)> {
    let Some(first) = block_of(program, strided, staged) else { return Vec::new() };
    let mut tables = Vec::new();
    for (slot, (load, strided)) in program.loads.iter().zip(strided).enumerate() {
        let is_staged = staged.contains(&slot);
        let table = match is_staged {
            true => guarded(load, program, first),
            false if lies_uneven(&strided.strides, &program.outer, first) => at_strides(strided, program, first),
            false => None,
        };
        if let Some(table) = table {
            tables.push((slot, table));
            *strided = Strided { offset: 0, strides: dense(&program.outer), by_origin: 0, list: None };
            staged.extend((!is_staged).then_some(slot));
        }
    }
    tables
}

/// The first axis of the block, if the program is better walked in blocks.
fn block_of(program: &LoopProgram, strided: &[Strided], staged: &[usize]) -> Option<usize> {
    let sizes = &program.outer;
    if sizes.contains(&0) || !is_dense(&program.store, sizes, 0) {
        return None;
    }
    let guards = staged.iter().filter_map(|&slot| guard_axis(&program.loads[slot], sizes.len())).min();
    let (mut first, mut block) = (sizes.len(), 1);
    while first > 0 && (block < LEAST || guards.is_some_and(|axis| axis < first)) && block * sizes[first - 1] <= MOST {
        first -= 1;
        block *= sizes[first];
    }
    if block < WORTHWHILE {
        return None;
    }
    // How long the rows are that operands allow as they lie.
    let given = (0..strided.len()).filter(|slot| !staged.contains(slot));
    let mut inner = sizes.len();
    let mut row = 1;
    while inner > 0 && given.clone().all(|slot| is_even(&strided[slot].strides, sizes, inner - 1)) {
        inner -= 1;
        row *= sizes[inner];
    }
    let last = sizes.iter().rposition(|&size| size > 1)?;
    let steps = given.clone().any(|slot| strided[slot].strides[last].unsigned_abs() > 1);
    let short = row < SHORT[usize::from(steps)] && (row < SHORT[0] || row % 8 != 0);
    let is_guarded = guards.is_some() && sizes[last] < LONG;
    (short && block >= 2 * row || is_guarded).then_some(first)
}

/// Whether neighbours over an axis and those inside of it are evenly apart.
fn is_even(strides: &[i64], sizes: &[usize], from: usize) -> bool {
    let axes: SmallVec<[usize; 8]> = (from..sizes.len()).filter(|&axis| sizes[axis] > 1).collect();
    axes.windows(2).all(|pair| strides[pair[0]] == strides[pair[1]].wrapping_mul(sizes[pair[1]] as i64))
}

fn is_dense(strides: &[i64], sizes: &[usize], from: usize) -> bool {
    let last = (from..sizes.len()).rev().find(|&axis| sizes[axis] > 1);
    is_even(strides, sizes, from) && last.is_none_or(|axis| strides[axis] == 1)
}

/// Whether an operand is neither dense over the block nor one element.
fn lies_uneven(strides: &[i64], sizes: &[usize], first: usize) -> bool {
    let is_one = (first..sizes.len()).all(|axis| sizes[axis] == 1 || strides[axis] == 0);
    !is_one && !is_dense(strides, sizes, first)
}

/// The outermost axis that decides whether an operand is read, if a table can tell so: the first axis counts from an origin.
fn guard_axis(load: &Load, rank: usize) -> Option<usize> {
    let (interval, _) = bounded(load, rank)?;
    interval.first_axis().filter(|&axis| axis > 0)
}

/// An operand with one default around even bounds.
fn bounded(load: &Load, rank: usize) -> Option<(Interval, u64)> {
    let Access::Computed { position, guards } = &load.access else { return None };
    let default = guards.first()?.default.bits();
    let conditions = guards.iter().map(|guard: &Guard| &guard.condition);
    let interval = Interval::of(position, conditions, rank).filter(|interval| interval.period.is_none())?;
    guards.iter().all(|guard| guard.default.bits() == default).then_some((interval, default))
}

fn guarded(load: &Load, program: &LoopProgram, first: usize) -> Option<Table> {
    let (interval, default) = bounded(load, program.outer.len())?;
    let is_told = interval.first_axis().is_none_or(|axis| axis > 0 && axis >= first);
    let (_, by_origin) = interval.position.at(&SmallVec::<[i64; 8]>::from_elem(0, program.outer.len()), 0);
    if is_told { Table::new(&interval, &program.outer, first, by_origin, default) } else { None }
}

fn at_strides(strided: &Strided, program: &LoopProgram, first: usize) -> Option<Table> {
    let position = Affine::new(strided.offset, &strided.strides);
    Table::new(&Interval::everywhere(position), &program.outer, first, strided.by_origin, 0)
}

impl Table {
    /// `None` if places are too far apart.
    fn new(at: &Interval, sizes: &[usize], first: usize, by_origin: i64, default: u64) -> Option<Table> {
        let mut index = SmallVec::<[i64; 8]>::from_elem(0, sizes.len());
        let (offset, _) = at.position.at(&index, 0);
        let strides = |axis: usize| at.position.at(&index, axis).1;
        let outside =
            (0..first).rev().filter(|&axis| sizes[axis] > 1).map(|axis| (sizes[axis], strides(axis))).collect();
        let block: usize = sizes[first..].iter().product();
        let along = (first..sizes.len()).rev().find(|&axis| sizes[axis] > 1).unwrap_or(sizes.len() - 1);
        let mut runs: Vec<Run> = Vec::new();
        for _ in 0..block / sizes[along] {
            let inside = at.inside(&index, along, sizes[along]);
            let (position, slope) = at.position.at(&index, along);
            let begin = position.checked_sub(offset)?.checked_add(slope.checked_mul(inside.start as i64)?)?;
            let end = begin.checked_add(slope.checked_mul(inside.len() as i64)?)?;
            let is_near = |place: i64| place.unsigned_abs() < 1 << 30;
            if !is_near(begin) || !is_near(end) || !is_near(slope) {
                return None;
            }
            let default = |length: usize| Run { length: length as u32, place: Run::DEFAULT, slope: 0 };
            let run = Run { length: inside.len() as u32, place: begin as i32, slope: slope as i32 };
            for run in [default(inside.start), run, default(sizes[along] - inside.end)] {
                run.join(&mut runs);
            }
            for axis in (first..along).rev() {
                index[axis] += 1;
                if index[axis] < sizes[axis] as i64 {
                    break;
                }
                index[axis] = 0;
            }
        }
        let entries = match runs.len() * WORTH_A_COPY <= block {
            true => Entries::Runs(runs),
            false => Entries::Places(runs.iter().flat_map(Run::places).collect()),
        };
        Some(Table { entries, block, offset, by_origin, outside, default })
    }

    /// Puts `count` elements side by side, from the one with the number `first` in the program's index space on.
    ///
    /// # Safety
    /// The elements are of the index space, and those that guards let through can be read; `to` has room; `T` is of the elements' size.
    pub(super) unsafe fn fill<T: Copy>(&self, base: *const T, origin: usize, [first, count]: [usize; 2], to: *mut T) {
        // SAFETY: low bytes come first on this machine, and eight are enough for any element.
        let default = unsafe { (&raw const self.default).cast::<T>().read() };
        let base = base.wrapping_offset((self.offset + self.by_origin * origin as i64) as isize);
        let (mut block, mut skip, mut done) = (first / self.block, first % self.block, 0);
        while done < count {
            let here = (self.block - skip).min(count - done);
            let from = base.wrapping_offset(self.place_of(block));
            let to = to.wrapping_add(done);
            // SAFETY: the caller's promise.
            unsafe {
                match &self.entries {
                    Entries::Places(places) => by_places(from, &places[skip..skip + here], default, to),
                    Entries::Runs(runs) => by_runs(from, runs, [skip, here], default, to),
                }
            }
            (done, block, skip) = (done + here, block + 1, 0);
        }
    }

    /// Where a block is from the first one.
    fn place_of(&self, block: usize) -> isize {
        let (mut rest, mut place) = (block, 0);
        for (k, &(size, stride)) in self.outside.iter().enumerate() {
            let index = if k + 1 == self.outside.len() { rest } else { rest % size };
            rest /= size;
            place += index as i64 * stride;
        }
        place as isize
    }
}

/// # Safety
/// What has a place can be read, and `to` has room.
unsafe fn by_places<T: Copy>(from: *const T, places: &[i32], default: T, to: *mut T) {
    for (k, &place) in places.iter().enumerate() {
        let at = if place == Run::DEFAULT { &raw const default } else { from.wrapping_offset(place as isize) };
        // SAFETY: the caller's promise.
        unsafe { to.add(k).write(*at) };
    }
}

/// The elements from number `skip` of the block on, so many of them.
///
/// # Safety
/// As for [`by_places`].
unsafe fn by_runs<T: Copy>(from: *const T, runs: &[Run], [mut skip, count]: [usize; 2], default: T, to: *mut T) {
    let mut done = 0;
    for run in runs {
        let length = run.length as usize;
        if length <= skip {
            skip -= length;
            continue;
        }
        let here = (length - skip).min(count - done);
        // SAFETY: the caller's promise.
        unsafe {
            match run.place {
                Run::DEFAULT => copy(&raw const default, 0, here, to.add(done)),
                place => {
                    let first = place as isize + skip as isize * run.slope as isize;
                    copy(from.wrapping_offset(first), run.slope as isize, here, to.add(done));
                }
            }
        }
        done += here;
        skip = 0;
        if done == count {
            return;
        }
    }
}
