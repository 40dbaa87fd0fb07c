//! Rows of a few elements, made into long ones.
//!
//! A row costs as much to begin as a vector or two. Where rows follow each other evenly but for operands that are the same for each of
//! them, such as a bias for the last axis, those are written out side by side, as often as there are rows in a long one: a sum of rows of 32
//! takes half the time then. The same serves operands that lie in any way over some axes and are the same along the one outside of those, such
//! as a factor for each channel of small images.

use super::call::Call;
use super::staged::copy_elements;
use super::walk::{Bases, Walk};
use crate::codegen;
use crate::lower::program::LoopProgram;
use smallvec::SmallVec;

/// Rows of more elements are long enough.
const SHORT: usize = 128;
/// The elements that all operands written out have together: enough for long rows; and at most, where one block has so many.
const ENOUGH: usize = 1024;
const MOST: usize = 4096;
/// What is written out once is read so many times.
const TIMES: usize = 8;
/// Programs of fewer elements are done before that pays.
const WORTHWHILE: usize = 8192;
/// Operands that are written out begin on cache lines, and so do long rows of the output, if the first does.
const LINE: usize = 64;

/// How short rows are made into long ones.
pub(super) struct Longer {
    /// The short rows, or blocks of such, in a long one.
    together: usize,
    /// The elements of one of them.
    block: usize,
    /// The elements of the last long row of an axis.
    last: usize,
    copies: SmallVec<[Copied; 2]>,
}

/// An operand that is the same for each row.
struct Copied {
    operand: usize,
    /// The bytes of an element.
    size: usize,
    /// How it lies over the axes of a block, outermost first.
    axes: SmallVec<[(usize, i64); 3]>,
    /// Where it is written out.
    offset: usize,
}

impl Longer {
    /// For a walk of a program's operands and its output, which then goes by long rows.
    pub(super) fn of(program: &LoopProgram, walk: &mut Walk) -> Option<Longer> {
        let (sizes, output) = (&walk.sizes, program.loads.len());
        let elements: usize = sizes.iter().product();
        if walk.inner() > SHORT || elements < WORTHWHILE {
            return None;
        }
        let axis = (0..sizes.len() - 1).rev().find(|&axis| {
            let is_served = |strides: &[i64]| strides[axis] == 0 || is_even(strides, sizes, axis);
            walk.strides[..output].iter().all(|strides| is_served(strides))
                && is_even(&walk.strides[output], sizes, axis)
        })?;
        let block: usize = sizes[axis + 1..].iter().product();
        let copied = |&operand: &usize| !is_even(&walk.strides[operand], sizes, axis);
        let copied: SmallVec<[usize; 4]> = (0..output).filter(copied).collect();
        let (rows, elements) = (sizes[axis], block * copied.len());
        let most = (ENOUGH / elements).max(usize::from(elements <= MOST));
        let mut together = most.min(rows / TIMES);
        // Stores past the caches want rows to begin on lines.
        let lines = LINE >> (block * program.stored.size()).trailing_zeros().min(LINE.trailing_zeros());
        if together > lines {
            together -= together % lines;
        }
        if together == 0 || together * block < 2 * walk.inner() {
            return None;
        }
        let mut offset = 0;
        let copies = copied.iter().map(|&operand| {
            let size = program.loads[operand].dtype.size();
            let axes = (axis + 1..sizes.len()).map(|inner| (sizes[inner], walk.strides[operand][inner])).collect();
            let copied = Copied { operand, size, axes, offset };
            offset += (together * block * size).next_multiple_of(LINE);
            copied
        });
        let copies = copies.collect();
        for (operand, strides) in walk.strides.iter_mut().enumerate() {
            let along = if copied.contains(&operand) { 1 } else { strides[strides.len() - 1] };
            strides.truncate(axis + 1);
            strides[axis] *= together as i64;
            strides.push(along);
        }
        walk.sizes.truncate(axis);
        walk.sizes.extend([rows.div_ceil(together), together * block]);
        let last = (rows - 1) % together + 1;
        Some(Longer { together, block, last: last * block, copies })
    }

    /// The elements of all long rows of an axis of so many.
    pub(super) fn elements(&self, rows: usize) -> usize {
        (rows - 1) * self.together * self.block + self.last
    }

    /// How many long rows, of so many that are left of an axis, are run at once, and their elements: the last one has a turn of its own.
    pub(super) fn next(&self, rows: usize, is_last: bool) -> [usize; 2] {
        let whole = self.together * self.block;
        match rows {
            _ if !is_last || self.last == whole => [rows, whole],
            1 => [1, self.last],
            _ => [rows - 1, whole],
        }
    }

    /// Whether an operand is written out.
    pub(super) fn copies(&self, operand: usize) -> bool {
        self.copies.iter().any(|copied| copied.operand == operand)
    }

    /// The bytes of scratch that are needed.
    pub(super) fn bytes(&self) -> usize {
        let end = |copied: &Copied| copied.offset + self.together * self.block * copied.size;
        self.copies.last().map_or(0, end)
    }

    /// Writes out what is the same for all rows of an axis, which begin at such positions.
    ///
    /// # Safety
    /// The elements of the operands are of the call, and `scratch` has room for [`Longer::bytes`].
    pub(super) unsafe fn write(&self, bases: &Bases, on: &codegen::Call<'_>, positions: &[i64], scratch: *mut u8) {
        for copied in &self.copies {
            let from = bases.address(on, copied.operand, positions[copied.operand]);
            let base = on.loads[copied.operand];
            let from = base.wrapping_offset(from as isize - base.addr() as isize);
            let to = scratch.wrapping_add(copied.offset);
            let bytes = self.block * copied.size;
            // SAFETY: the caller's promise: a block first, then what there is of them, until there are enough.
            unsafe {
                copied.block(from, to);
                let mut done = 1;
                while done < self.together {
                    let more = done.min(self.together - done);
                    to.add(done * bytes).copy_from_nonoverlapping(to, more * bytes);
                    done += more;
                }
            }
        }
    }

    /// Tells a kernel where they are.
    pub(super) fn tell(&self, call: &mut Call<'_>, scratch: *mut u8) {
        for copied in &self.copies {
            call.pointer(copied.operand, scratch.wrapping_add(copied.offset).addr() as i64);
        }
    }
}

impl Copied {
    /// Writes the elements of a block side by side.
    ///
    /// # Safety
    /// They can be read, and `to` has room for them.
    unsafe fn block(&self, from: *const u8, to: *mut u8) {
        let (&(count, stride), outside) = self.axes.split_last().expect("a block has an axis");
        let rows: usize = outside.iter().map(|&(size, _)| size).product();
        for row in 0..rows {
            let (mut rest, mut place) = (row, 0);
            for &(size, stride) in outside.iter().rev() {
                place += (rest % size) as i64 * stride;
                rest /= size;
            }
            let from = from.wrapping_offset(place as isize * self.size as isize);
            // SAFETY: the caller's promise.
            unsafe { copy_elements(self.size, from, stride as isize, count, to.add(row * count * self.size)) };
        }
    }
}

/// Whether neighbours over an axis and all inside of it are evenly apart.
fn is_even(strides: &[i64], sizes: &[usize], from: usize) -> bool {
    (from..sizes.len() - 1).all(|axis| strides[axis] == strides[axis + 1].wrapping_mul(sizes[axis + 1] as i64))
}
