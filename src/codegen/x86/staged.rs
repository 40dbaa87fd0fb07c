//! Operands that kernels cannot read as they are: guarded ones, rows that an index names, and those at positions that must be computed.
//!
//! What a kernel is about to read of such an operand is first put into scratch, side by side, piece by piece of a row
//! ([`super::pieces`]): a run of the operand, or as many times a guard's default. To the kernel, that is any dense operand. What no
//! guard lets through is never looked at. Numbers that words compute from the index are put there in the same way, unless they are listed
//! ([`super::walk`]).

use super::call::Call;
use super::gathered::Gathered;
use super::pieces::{Interval, Line};
use super::table::Table;
use super::walk::Strided;
use crate::codegen;
use crate::dtype::DType;
use crate::lower::program::{Access, Guard, Load, LoopProgram};
use crate::ops::vector::{Fault, Lane, Val, Word};
use crate::shape::Expr;
use smallvec::SmallVec;
use std::borrow::Cow;
use std::mem::MaybeUninit;
use std::slice;

/// The most elements of an operand that are in scratch at a time: they stay in the cache.
pub(super) const MOST: usize = 4096;
/// The bytes of scratch for one operand, with a line between them.
const ROOM: usize = MOST * 8 + 64;
/// However many operands there are, so many elements of each are worth the call.
const FEW: usize = 512;
/// Along shorter axes there is little to be gained over the interpreter, whose blocks reach over many of them.
const SHORTEST: usize = 8;

/// An index over all axes of a program; the first outer one counts from the origin.
type Index = SmallVec<[i64; 8]>;

/// One such operand.
struct Staged {
    slot: usize,
    /// The bytes of an element.
    size: usize,
    access: Way,
}

/// How elements are found.
enum Way {
    /// Where a table says.
    Table(Table),
    /// In one run of a row, with one default around it.
    Interval(Interval, u64),
    /// Anywhere, where some conditions hold; each has an element for where it fails.
    Pieces {
        position: Line,
        guards: Vec<(Line, u64)>,
    },
    /// Nowhere: it is the value of an expression, as an `i64`.
    Number(Line),
    /// Nowhere: it is whether a condition holds, as a `bool`; often that is so in one run of a row.
    Run(Interval),
    Truth(Line),
    /// Where an index says, in rows.
    Gathered(Gathered),
}

impl Way {
    /// The value of an expression, as one of two dtypes. Lanes move along axis `along`.
    fn computed(expr: &Expr, dtype: DType, rank: usize, along: usize) -> Way {
        if dtype != DType::Bool {
            return Way::Number(Line::of(expr, rank));
        }
        let run = Interval::of(&Expr::Const(0), [expr].into_iter(), rank).filter(|run| run.suits(along));
        run.map_or_else(|| Way::Truth(Line::of(expr, rank)), Way::Run)
    }

    fn of(position: &Expr, guards: &[Guard], rank: usize, along: usize) -> Way {
        let default = guards.first().map_or(0, |guard| guard.default.bits());
        if guards.iter().all(|guard| guard.default.bits() == default) {
            let conditions = guards.iter().map(|guard| &guard.condition);
            if let Some(interval) = Interval::of(position, conditions, rank).filter(|interval| interval.suits(along)) {
                return Way::Interval(interval, default);
            }
        }
        let guard = |guard: &Guard| (Line::of(&guard.condition, rank), guard.default.bits());
        Way::Pieces { position: Line::of(position, rank), guards: guards.iter().map(guard).collect() }
    }
}

/// A program in which the numbers that words compute from the index, and the elements that an index names, are operands, behind those
/// that are given.
pub(super) struct Written<'p> {
    pub(super) program: Cow<'p, LoopProgram>,
    pub(super) given: usize,
    /// The operands that an index names: of which operand they are, and how far behind.
    gathers: Vec<(usize, usize, Val)>,
}

impl<'p> Written<'p> {
    pub(super) fn new(program: &'p LoopProgram) -> Written<'p> {
        let (given, mut gathers) = (program.loads.len(), Vec::new());
        if !program.words.iter().any(|(word, _)| matches!(word, Word::Index(_) | Word::Gather { .. })) {
            return Written { program: Cow::Borrowed(program), given, gathers };
        }
        let mut program = program.clone();
        for (word, lane) in &mut program.words {
            let (dtype, position) = match *word {
                Word::Index(which) => {
                    let dtype = if *lane == Lane::Mask { DType::Bool } else { DType::I64 };
                    (dtype, program.indices[usize::from(which)].clone())
                }
                Word::Gather { slot, dtype, at } => {
                    gathers.push((program.loads.len(), usize::from(slot), at));
                    (dtype, Expr::Const(0))
                }
                _ => continue,
            };
            *word = Word::Load { slot: program.loads.len() as u16, dtype };
            program.loads.push(Load { dtype, access: Access::Computed { position, guards: vec![] } });
        }
        Written { program: Cow::Owned(program), given, gathers }
    }

    /// Whether there are elements that an index names.
    pub(super) fn gathers(&self) -> bool {
        !self.gathers.is_empty()
    }
}

/// All such operands of a program.
pub(super) struct Stages {
    list: Vec<Staged>,
    /// All axes of the program, and how many of them are outer ones.
    sizes: Vec<usize>,
    outer: usize,
    /// Axes from this one on stand still while lanes move.
    walked: usize,
}

impl Stages {
    /// The operands at the given slots, some of them with tables; lanes walk the first `walked` axes. `strided` has all operands. `None` if the
    /// interpreter serves them better.
    pub(super) fn new(
        written: &Written<'_>,
        strided: &[Strided],
        slots: &[usize],
        mut tables: Vec<(usize, Table)>,
        walked: usize,
    ) -> Option<Stages> {
        let program = &written.program;
        let is_told = slots.len() == tables.len();
        let sizes: Vec<usize> = program.outer.iter().chain(&program.reduced).copied().collect();
        let along = along(&sizes, walked);
        let list = slots.iter().map(|&slot| {
            let load = &program.loads[slot];
            if let Some(&(_, of, at)) = written.gathers.iter().find(|(gathered, ..)| *gathered == slot) {
                let is_strided = of < written.given && !slots.contains(&of);
                let rows = is_strided.then(|| Gathered::of(program, strided, slots, (of, at), along)).flatten()?;
                return Some(Staged { slot, size: load.dtype.size(), access: Way::Gathered(rows) });
            }
            if let Some(at) = tables.iter().position(|(of, _)| *of == slot) {
                let access = Way::Table(tables.swap_remove(at).1);
                return Some(Staged { slot, size: load.dtype.size(), access });
            }
            let Access::Computed { position, guards } = &load.access else { unreachable!("it is not strided") };
            let access = match slot < written.given {
                true => Way::of(position, guards, sizes.len(), along),
                false => Way::computed(position, load.dtype, sizes.len(), along),
            };
            Some(Staged { slot, size: load.dtype.size(), access })
        });
        let list = list.collect::<Option<Vec<Staged>>>()?;
        let inner = sizes[..walked].iter().rev().find(|&&size| size > 1).copied().unwrap_or(1);
        let stages = Stages { list, outer: program.outer.len(), sizes, walked };
        (is_told || inner >= SHORTEST).then_some(stages)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// The bytes of scratch that are needed.
    pub(super) fn bytes(&self) -> usize {
        self.list.len() * ROOM
    }

    /// How many elements of each operand are best asked for at once: together, they stay in the nearest cache. Whole cache lines, for
    /// stores that go past the cache.
    pub(super) fn most(&self) -> usize {
        (MOST / self.list.len().max(1) / 64 * 64).max(FEW)
    }

    /// How many rows of so many elements (no more than [`MOST`]) may be asked for at once.
    pub(super) fn rows(&self, length: usize) -> usize {
        if self.is_empty() { usize::MAX } else { (self.most() / length.max(1)).max(1) }
    }

    /// The scratch of an operand, if it is one of these.
    pub(super) fn scratch(&self, scratch: *mut u8, slot: usize) -> Option<*mut u8> {
        let at = self.list.iter().position(|staged| staged.slot == slot)?;
        Some(scratch.wrapping_add(at * ROOM))
    }

    /// Brings in rows of `length` elements, of which the first begins at element `first` of the walk and the others `step` elements
    /// after each other; tells the kernel.
    ///
    /// # Safety
    /// The elements are of the program's index space, for which the caller of [`codegen::Compiled::run`] vouches; no more rows
    /// than [`Stages::rows`]; there is scratch as asked for.
    pub(super) unsafe fn bring_rows(
        &self,
        on: &codegen::Call<'_>,
        call: &mut Call<'_>,
        scratch: *mut u8,
        [first, step]: [usize; 2],
        [rows, length]: [usize; 2],
    ) -> Result<(), Fault> {
        for (at, staged) in self.list.iter().enumerate() {
            assert!(rows * length <= MOST, "there is room for the rows");
            let to = scratch.wrapping_add(at * ROOM);
            let row = length * staged.size;
            // Rows that follow each other are one.
            let (times, together) = if step == length { (1, rows * length) } else { (rows, length) };
            for time in 0..times {
                if let Way::Table(table) = &staged.access {
                    let range = [first + time * step, together];
                    // SAFETY: the caller's promise.
                    unsafe { staged.by_table(table, on, range, to.wrapping_add(time * row)) };
                    continue;
                }
                let mut index = self.index(on, first + time * step, 0);
                // SAFETY: the caller's promise.
                unsafe { self.fill(staged, on, &mut index, together, to.wrapping_add(time * row))? };
            }
            call.pointer(staged.slot, to.addr() as i64);
            call.step(staged.slot, row as i64);
        }
        Ok(())
    }

    /// Brings in the `n` elements from `start` on for each of some steps, one after the other.
    ///
    /// # Safety
    /// As for [`Stages::bring_rows`]; `n` times the steps is no more than [`MOST`].
    pub(super) unsafe fn bring_steps(
        &self,
        on: &codegen::Call<'_>,
        scratch: *mut u8,
        [start, n]: [usize; 2],
        steps: std::ops::Range<usize>,
    ) -> Result<(), Fault> {
        assert!(self.is_empty() || n * steps.len() <= MOST, "there is room for the steps");
        for (at, staged) in self.list.iter().enumerate() {
            for (k, step) in steps.clone().enumerate() {
                let mut index = self.index(on, start, step);
                let to = scratch.wrapping_add(at * ROOM + k * n * staged.size);
                // SAFETY: the caller's promise.
                unsafe { self.fill(staged, on, &mut index, n, to)? };
            }
        }
        Ok(())
    }

    /// The index of an element of the walk at a step, and room for what a period leaves of the first.
    fn index(&self, on: &codegen::Call<'_>, element: usize, step: usize) -> Index {
        let mut index = Index::from_elem(0, self.sizes.len() + 1);
        let mut rest = step;
        for axis in (self.walked..self.sizes.len()).rev() {
            index[axis] = (rest % self.sizes[axis]) as i64;
            rest /= self.sizes[axis];
        }
        rest = element;
        for axis in (0..self.walked).rev() {
            index[axis] = if axis == 0 { rest } else { rest % self.sizes[axis] } as i64;
            rest /= self.sizes[axis];
        }
        if self.outer > 0 {
            index[0] += on.origin as i64;
        }
        index
    }

    /// Writes the elements from an index on side by side.
    ///
    /// # Safety
    /// `to` has room for them; the rest is as for [`Stages::bring_rows`].
    unsafe fn fill(
        &self,
        staged: &Staged,
        on: &codegen::Call<'_>,
        index: &mut Index,
        count: usize,
        to: *mut u8,
    ) -> Result<(), Fault> {
        let along = along(&self.sizes, self.walked);
        let period = staged.period();
        let first = |axis: usize| if axis == 0 && self.outer > 0 { on.origin as i64 } else { 0 };
        // A value that is computed has no memory.
        let base = on.loads.get(staged.slot).copied().unwrap_or(std::ptr::null());
        let mut done = 0;
        while done < count {
            if let Some(period) = period {
                index[self.sizes.len()] = index[0] % period;
            }
            let size = self.sizes.get(along).copied().unwrap_or(1);
            let room = (first(along) + size as i64 - index[along]) as usize;
            let most = room.min(count - done);
            let here = to.wrapping_add(done * staged.size);
            if let Way::Interval(interval, _) | Way::Run(interval) = &staged.access
                && along > 0
                && most == size
            {
                // Whole rows, as far as the axis outside goes; the first axis goes on.
                let across = along - 1;
                let left = match across {
                    0 => usize::MAX,
                    _ => (first(across) + self.sizes[across] as i64 - index[across]) as usize,
                };
                let rows = interval.together(index, across, left.min((count - done) / size));
                // SAFETY: the caller's promise.
                unsafe { staged.rows(base, index, [along, across], [rows, size], here) };
                done += rows * size;
                index[across] += rows as i64 - 1;
                self.next_row(index, along, first);
                continue;
            }
            // SAFETY: the caller's promise.
            let length = unsafe {
                match &staged.access {
                    Way::Gathered(rows) => {
                        let (from, stride) = rows.find(on, index, along, staged.size)?;
                        staged.copy(from, stride, most, here);
                        most
                    }
                    _ => staged.piece(base, index, along, most, here),
                }
            };
            done += length;
            if length < room {
                index[along] += length as i64;
                continue;
            }
            if along == 0 {
                index[0] += length as i64;
            } else {
                self.next_row(index, along, first);
            }
        }
        Ok(())
    }

    /// Goes to the first index along an axis, and to the next one of the axes outside.
    fn next_row(&self, index: &mut Index, along: usize, first: impl Fn(usize) -> i64) {
        index[along] = first(along);
        for axis in (0..along).rev() {
            index[axis] += 1;
            if axis == 0 || index[axis] < first(axis) + self.sizes[axis] as i64 {
                break;
            }
            index[axis] = first(axis);
        }
    }
}

/// The axis that lanes move along, of the first `walked` ones.
fn along(sizes: &[usize], walked: usize) -> usize {
    (0..walked).rev().find(|&axis| sizes[axis] > 1).unwrap_or(0)
}

impl Staged {
    fn period(&self) -> Option<i64> {
        match &self.access {
            Way::Interval(interval, _) | Way::Run(interval) => interval.period,
            _ => None,
        }
    }

    /// Writes so many elements from one of the walk on.
    ///
    /// # Safety
    /// `to` has room for them; the rest is as for [`Stages::bring_rows`].
    unsafe fn by_table(&self, table: &Table, on: &codegen::Call<'_>, range: [usize; 2], to: *mut u8) {
        let base = on.loads[self.slot];
        // SAFETY: the caller's promise; operands are aligned for their elements, and so is scratch.
        unsafe {
            match self.size {
                1 => table.fill::<u8>(base, on.origin, range, to),
                2 => table.fill::<u16>(base.cast(), on.origin, range, to.cast()),
                4 => table.fill::<u32>(base.cast(), on.origin, range, to.cast()),
                _ => table.fill::<u64>(base.cast(), on.origin, range, to.cast()),
            }
        }
    }

    /// Writes whole rows of one run each, which follow each other along the second of two axes.
    ///
    /// # Safety
    /// `to` has room for them, and what bounds let through can be read.
    unsafe fn rows(&self, base: *const u8, index: &[i64], axes: [usize; 2], sizes: [usize; 2], to: *mut u8) {
        // SAFETY: the caller's promise; operands are aligned for their elements, and so are defaults and scratch; low bytes come first.
        unsafe {
            match (&self.access, self.size) {
                (Way::Run(run), _) => run.each_row(index, axes, sizes, |row, inside, _| {
                    let to = slice::from_raw_parts_mut(to.add(row * sizes[1]).cast::<MaybeUninit<u8>>(), sizes[1]);
                    to.fill(MaybeUninit::new(0));
                    to[inside].fill(MaybeUninit::new(1));
                }),
                (Way::Interval(run, default), 1) => {
                    rows::<u8>(run, default, base.cast(), index, axes, sizes, to.cast())
                }
                (Way::Interval(run, default), 2) => {
                    rows::<u16>(run, default, base.cast(), index, axes, sizes, to.cast())
                }
                (Way::Interval(run, default), 4) => {
                    rows::<u32>(run, default, base.cast(), index, axes, sizes, to.cast())
                }
                (Way::Interval(run, default), _) => {
                    rows::<u64>(run, default, base.cast(), index, axes, sizes, to.cast())
                }
                (Way::Table(_) | Way::Pieces { .. } | Way::Number(_) | Way::Truth(_) | Way::Gathered(_), _) => {
                    unreachable!("its rows are not of one run each")
                }
            }
        }
    }

    /// Writes the elements of one piece, at most so many; how many it had.
    ///
    /// # Safety
    /// `to` has room for them, and what guards let through can be read.
    unsafe fn piece(&self, base: *const u8, index: &[i64], along: usize, most: usize, to: *mut u8) -> usize {
        let (position, guards) = match &self.access {
            Way::Table(_) | Way::Gathered(_) => unreachable!("it has no pieces"),
            Way::Pieces { position, guards } => (position, guards),
            Way::Number(line) => {
                let piece = line.piece(index, along, most);
                // SAFETY: the caller's promise.
                let to = unsafe { slice::from_raw_parts_mut(to.cast::<i64>(), piece.length) };
                for (k, to) in to.iter_mut().enumerate() {
                    *to = piece.value.wrapping_add(piece.slope.wrapping_mul(k as i64));
                }
                return piece.length;
            }
            Way::Truth(line) => {
                let truth = line.piece(index, along, most).truth();
                // SAFETY: the caller's promise.
                unsafe { to.write_bytes(truth.value as u8, truth.length) };
                return truth.length;
            }
            Way::Run(run) => {
                let inside = run.inside(index, along, most);
                // SAFETY: the caller's promise.
                unsafe {
                    to.write_bytes(0, inside.start);
                    to.add(inside.start).write_bytes(1, inside.len());
                    to.add(inside.end).write_bytes(0, most - inside.end);
                }
                return most;
            }
            Way::Interval(interval, default) => {
                let inside = interval.inside(index, along, most);
                // SAFETY: the caller's promise; low bytes come first on this machine.
                unsafe {
                    self.copy((default as *const u64).cast(), 0, inside.start, to);
                    if !inside.is_empty() {
                        let (position, slope) = interval.position.at(index, along);
                        let first = position + inside.start as i64 * slope;
                        let from = base.offset(first as isize * self.size as isize);
                        self.copy(from, slope as isize, inside.len(), to.add(inside.start * self.size));
                    }
                    let rest = to.add(inside.end * self.size);
                    self.copy((default as *const u64).cast(), 0, most - inside.end, rest);
                }
                return most;
            }
        };
        let mut length = most;
        for (condition, default) in guards {
            let truth = condition.piece(index, along, length).truth();
            length = truth.length;
            if truth.value == 0 {
                // SAFETY: the caller's promise; low bytes come first on this machine.
                unsafe { self.copy((default as *const u64).cast(), 0, length, to) };
                return length;
            }
        }
        let position = position.piece(index, along, length);
        // SAFETY: the caller's promise: all guards have let the piece through.
        unsafe {
            let from = base.offset(position.value as isize * self.size as isize);
            self.copy(from, position.slope as isize, position.length, to);
        }
        position.length
    }

    /// See [`copy_elements`].
    ///
    /// # Safety
    /// As there.
    unsafe fn copy(&self, from: *const u8, stride: isize, count: usize, to: *mut u8) {
        // SAFETY: the caller's promise.
        unsafe { copy_elements(self.size, from, stride, count, to) }
    }
}

/// Writes rows along two axes, each a run of an operand with a default before and after it.
///
/// # Safety
/// As for [`Staged::rows`]; low bytes of the default come first on this machine.
unsafe fn rows<T: Copy>(
    interval: &Interval,
    default: &u64,
    base: *const T,
    index: &[i64],
    axes: [usize; 2],
    [rows, most]: [usize; 2],
    to: *mut T,
) {
    let (_, slope) = interval.position.at(index, axes[0]);
    // SAFETY: the caller's promise.
    unsafe {
        let default = *std::ptr::from_ref(default).cast::<T>();
        interval.each_row(index, axes, [rows, most], |row, inside, position| {
            let to = slice::from_raw_parts_mut(to.add(row * most).cast::<MaybeUninit<T>>(), most);
            to[..inside.start].fill(MaybeUninit::new(default));
            if !inside.is_empty() {
                let from = base.offset((position + inside.start as i64 * slope) as isize);
                copy(from, slope as isize, inside.len(), to.as_mut_ptr().add(inside.start).cast());
            }
            to[inside.end..].fill(MaybeUninit::new(default));
        });
    }
}

/// Copies elements of so many bytes, which lie `stride` elements apart.
///
/// # Safety
/// They can be read and are aligned, as is `to`, which has room for them.
pub(super) unsafe fn copy_elements(size: usize, from: *const u8, stride: isize, count: usize, to: *mut u8) {
    // SAFETY: the caller's promise.
    unsafe {
        match size {
            1 => copy::<u8>(from.cast(), stride, count, to.cast()),
            2 => copy::<u16>(from.cast(), stride, count, to.cast()),
            4 => copy::<u32>(from.cast(), stride, count, to.cast()),
            _ => copy::<u64>(from.cast(), stride, count, to.cast()),
        }
    }
}

/// Copies elements that lie `stride` apart.
///
/// # Safety
/// `count` elements that lie `stride` apart can be read, and `to` has room for as many elsewhere.
pub(super) unsafe fn copy<T: Copy>(from: *const T, stride: isize, count: usize, to: *mut T) {
    // SAFETY: the caller's promise.
    unsafe {
        match stride {
            1 => to.copy_from_nonoverlapping(from, count),
            0 => slice::from_raw_parts_mut(to, count).fill(*from),
            // Several at once: the distance is known.
            2 => (0..count).for_each(|k| to.add(k).write(*from.add(2 * k))),
            _ => {
                for k in 0..count {
                    to.add(k).write(*from.offset(k as isize * stride));
                }
            }
        }
    }
}
