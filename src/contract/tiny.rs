//! Many products of tiny matrices: sixteen of them at once, one in each lane.
//!
//! The elements of sixteen batch indices are brought abreast (element by element, sixteen lanes each), multiplied as if they
//! were one matrix of vectors, and taken apart again.

use super::deliver::{deliver, finished_stride};
use super::kernel::{Kernel, same};
use super::plan::{PART, Path, Sizes};
use super::room::Room;
use super::{Operand, Operands, Product, TileShape};

/// How tiny products run.
pub(super) struct Plan {
    sizes: Sizes,
    batch_step: usize,
    left: Reading,
    right: Reading,
    /// Where the elements of the result are; whether one after the other.
    out: Vec<isize>,
    dense: bool,
    /// Where things are in a thread's scratch, in bytes.
    sums: usize,
    narrow: usize,
    tile: usize,
}

/// How the elements of one batch index of an operand are read.
struct Reading {
    /// The elements that are read, from the first of the batch index.
    offsets: Vec<isize>,
    /// Whether they follow each other.
    dense: bool,
    /// Which of them is used at each depth of each line.
    which: Vec<u16>,
    /// Where they are in a thread's scratch, in bytes.
    wide: usize,
}

/// The largest of tiny matrices, and how many there must be.
const LARGEST: usize = 8;
const MANY: usize = 32;
/// Batch indices abreast.
const LANES: usize = 16;
/// Elements that are read with those that are used, if they lie between them.
const SPAN: usize = 96;

/// Whether products of these sizes are of this kind.
pub(super) fn serves(sizes: Sizes) -> bool {
    sizes.rows.max(sizes.cols).max(sizes.depth) <= LARGEST && sizes.batch >= MANY && sizes.depth > 0
}

/// Makes many tiny products ready.
pub(super) fn prepare<K: Kernel>(product: &mut Product, sizes: Sizes) {
    let mut left = Reading::new(&product.left);
    let mut right = Reading::new(&product.right);
    let mut room = Room::default();
    let mut take = |count: usize, size: usize| room.take(count, size);
    let (acc, elem) = (size_of::<K::Acc>(), size_of::<K::Elem>());
    let count = sizes.rows * sizes.cols;
    left.wide = take(left.offsets.len() * LANES, acc);
    right.wide = take(right.offsets.len() * LANES, acc);
    let most = left.offsets.len().max(right.offsets.len()).max(count);
    let (sums, narrow, tile) = (take(count * LANES, acc), take(most * LANES, elem), take(count, acc));
    let places = |row| (0..sizes.cols).map(move |col| (row, col));
    let out: Vec<isize> = (0..sizes.rows)
        .flat_map(places)
        .map(|(row, col)| product.out.rows.offset(row) + product.out.cols.offset(col))
        .collect();
    let dense = out.iter().enumerate().all(|(i, &offset)| offset == i as isize);
    let batch_step = (PART / sizes.work()).next_multiple_of(LANES).max(LANES);
    product.thread_bytes = room.bytes;
    product.parts = vec![sizes.batch.div_ceil(batch_step)];
    product.tiles = vec![TileShape { rows: sizes.rows, cols: sizes.cols, stride: finished_stride::<K>(sizes.cols) }];
    product.path = Path::Tiny(Plan { sizes, batch_step, left, right, out, dense, sums, narrow, tile });
    product.run = run::<K>;
}

impl Reading {
    fn new(operand: &Operand) -> Reading {
        let (lines, depth) = (operand.lines.len(), operand.depth.len());
        let used: Vec<isize> = (0..lines)
            .flat_map(|line| (0..depth).map(move |k| (line, k)))
            .map(|(line, k)| operand.lines.offset(line) + operand.depth.offset(k))
            .collect();
        let (least, most) = (used.iter().min().copied().unwrap_or(0), used.iter().max().copied().unwrap_or(0));
        let dense = ((most - least) as usize) < SPAN;
        let offsets: Vec<isize> = if dense { (least..=most).collect() } else { used.clone() };
        let which =
            used.iter().enumerate().map(|(i, &at)| if dense { (at - least) as u16 } else { i as u16 }).collect();
        Reading { offsets, dense, which, wide: 0 }
    }
}

/// Runs one part.
///
/// # Safety
/// As for [`Product::run`]; the machine is of the kernel's kind.
unsafe fn run<K: Kernel>(product: &Product, _phase: usize, part: usize, call: &Operands<'_>) {
    let Path::Tiny(plan) = &product.path else { return };
    let start = part * plan.batch_step;
    let end = (start + plan.batch_step).min(plan.sizes.batch);
    for first in (start..end).step_by(LANES) {
        // SAFETY: the caller's promise.
        unsafe {
            bring::<K>(plan, &plan.left, &product.left, call.left, first, call.scratch);
            bring::<K>(plan, &plan.right, &product.right, call.right, first, call.scratch);
            multiply::<K>(plan, call.scratch);
            take_apart::<K>(plan, product, call, first, (end - first).min(LANES));
        }
    }
}

/// Brings the elements of sixteen batch indices abreast. Beyond the last one it is read again.
///
/// # Safety
/// As for [`run`].
unsafe fn bring<K: Kernel>(
    plan: &Plan,
    reading: &Reading,
    operand: &Operand,
    data: *const u8,
    first: usize,
    scratch: *mut u8,
) {
    let data = data.cast::<K::Elem>().wrapping_offset(operand.offset);
    let lanes: [*const K::Elem; LANES] = std::array::from_fn(|lane| {
        data.wrapping_offset(operand.batch.offset((first + lane).min(plan.sizes.batch - 1)))
    });
    let wide = scratch.wrapping_add(reading.wide).cast::<K::Acc>();
    let to = if same::<K>() { wide.cast() } else { scratch.wrapping_add(plan.narrow).cast::<K::Elem>() };
    let count = reading.offsets.len();
    // SAFETY: the caller's promise; elements between those that are used are in the same buffer.
    unsafe {
        let starts = lanes.map(|lane| lane.wrapping_offset(reading.offsets[0]));
        let ahead = 2 * (LANES as isize) * operand.batch.inner();
        if !(reading.dense && K::turn(&starts, count, ahead, to)) {
            for (e, &offset) in reading.offsets.iter().enumerate() {
                for (i, lane) in lanes.iter().enumerate() {
                    *to.add(e * LANES + i) = *lane.offset(offset);
                }
            }
        }
        if !same::<K>() {
            K::widen(to, wide, count * LANES);
        }
    }
}

/// # Safety
/// As for [`run`].
#[inline]
unsafe fn multiply<K: Kernel>(plan: &Plan, scratch: *mut u8) {
    let depth = plan.sizes.depth;
    let (a, b) = (scratch.wrapping_add(plan.left.wide).cast(), scratch.wrapping_add(plan.right.wide).cast());
    let mut sums = scratch.wrapping_add(plan.sums).cast::<K::Acc>();
    for left in plan.left.which.chunks_exact(depth) {
        for right in plan.right.which.chunks_exact(depth) {
            // SAFETY: the caller's promise.
            unsafe { K::abreast(a, left, b, right, sums) };
            sums = sums.wrapping_add(LANES);
        }
    }
}

/// Writes the sums of the first `count` lanes, or hands them over.
///
/// # Safety
/// As for [`run`].
unsafe fn take_apart<K: Kernel>(plan: &Plan, product: &Product, call: &Operands<'_>, first: usize, count: usize) {
    let sums = call.scratch.wrapping_add(plan.sums).cast::<K::Acc>();
    let narrow = call.scratch.wrapping_add(plan.narrow).cast::<K::Elem>();
    let len = plan.out.len();
    // SAFETY: the caller's promise.
    unsafe {
        if call.finish.is_some() {
            let tile = call.scratch.wrapping_add(plan.tile).cast::<K::Acc>();
            for lane in 0..count {
                (0..len).for_each(|e| *tile.add(e) = *sums.add(e * LANES + lane));
                let (rows, cols) = (plan.sizes.rows, plan.sizes.cols);
                deliver::<K>(product, call, first + lane, 0..rows, 0..cols, tile, cols);
            }
            return;
        }
        let out = call.out.cast::<K::Elem>();
        let mut lanes = [out; LANES];
        for (lane, to) in lanes[..count].iter_mut().enumerate() {
            *to = out.wrapping_offset(product.out.batch.offset(first + lane));
        }
        let elems = if same::<K>() { sums.cast() } else { narrow };
        if !same::<K>() {
            K::narrow(sums, narrow, len * LANES);
        }
        if plan.dense {
            K::turn_back(elems, len, &lanes[..count]);
            return;
        }
        for (e, &offset) in plan.out.iter().enumerate() {
            for (lane, to) in lanes[..count].iter().enumerate() {
                *to.offset(offset) = *elems.add(e * LANES + lane);
            }
        }
    }
}
