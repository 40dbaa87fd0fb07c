//! Products of a matrix and a vector, and dot products: as quick as the matrix can be read.
//!
//! The sum of one line is kept in lanes: the product at depth `k` goes to lane `k % 8`, or `k % 32` if there is only one line.
//! Lines of the matrix that lie side by side are added row by row, every eighth row to the same lane of each line; lines that are
//! dense in themselves are read as vectors; all others are brought together first. After each block of depth lanes are folded,
//! and the block's sum is added to those before. If there are few lines and much depth, spans of depth are parts of their own,
//! and a second phase adds their sums in order.

use super::deliver::{deliver, finished_stride};
use super::kernel::{Kernel, Number, same};
use super::pack::View;
use super::plan::{PART, Path, Sizes};
use super::room::Room;
use super::{Operand, Operands, Product, Source, TileShape, Wanted};
use std::ops::Range;

/// How a product with a vector runs.
pub(super) struct Plan {
    sizes: Sizes,
    /// Whether the matrix is the left operand: the result has one column then.
    is_left: bool,
    lines: usize,
    /// Lines of one part, and how many batch indices are one part.
    line_step: usize,
    batch_step: usize,
    /// Depth of a part.
    span: usize,
    places: Places,
}

/// Where things are in a thread's scratch, in bytes.
struct Places {
    /// A block of the vector.
    vector: usize,
    /// Lanes of lines or rows, and sums of lines.
    lanes: usize,
    sums: usize,
    /// Lines or rows that are brought together, and elements before they are widened.
    wide: usize,
    narrow: usize,
}

/// Depth of a block.
const BLOCK: usize = 1 << 11;
/// Rows that are added at once, and the lanes of a line.
const LANES: usize = 8;
/// Lanes of the only line.
const LONE_LANES: usize = 32;
/// Rows that are added lane by lane, before the next so many.
const TURN: usize = 1 << 9;
/// Lines of a part, where there are many: one lane of a stretch of so many stays in the first cache.
const LINES: usize = 1 << 10;
/// Lines that are read at once.
const BUNCH: usize = 4;

/// Makes a product ready that has one row or one column.
pub(super) fn prepare<K: Kernel>(product: &mut Product, sizes: Sizes) {
    let is_left = sizes.cols == 1;
    let lines = sizes.rows * sizes.cols;
    let matrix = if is_left { &product.left } else { &product.right };
    // Lines that lie side by side are read in long pieces.
    let most_parts = if matrix.lines.inner() == 1 { lines.div_ceil(LINES) } else { lines.div_ceil(64).min(32) };
    let line_parts = (sizes.work() / PART).min(most_parts).max(lines.div_ceil(LINES)).next_multiple_of(2);
    let line_step = lines.div_ceil(line_parts).next_multiple_of(16).min(lines);
    let line_parts = lines.div_ceil(line_step);
    let batch_step = (PART / sizes.work()).clamp(1, sizes.batch);
    let parts = sizes.batch.div_ceil(batch_step) * line_parts;
    let spans = if parts < 8 { (sizes.depth / (8 * BLOCK)).clamp(1, 16) } else { 1 };
    let span = sizes.depth.div_ceil(spans).next_multiple_of(BLOCK).max(BLOCK);
    let spans = sizes.depth.div_ceil(span).max(1);
    let mut room = Room::default();
    let mut take = |count: usize, size: usize| room.take(count, size);
    let (acc, elem) = (size_of::<K::Acc>(), size_of::<K::Elem>());
    let block = sizes.depth.min(BLOCK);
    let wide = (LANES * line_step).max(BUNCH * block);
    let places = Places {
        vector: take(block, acc),
        lanes: take((LANES * line_step.next_multiple_of(16)).max(LONE_LANES), acc),
        sums: take(line_step, acc),
        wide: take(wide, acc),
        narrow: take(if same::<K>() { 0 } else { wide }, elem),
    };
    product.thread_bytes = room.bytes;
    product.parts = vec![parts * spans];
    if spans > 1 {
        product.parts.push(parts);
        product.shared_bytes = sizes.batch * spans * lines * acc;
    }
    let tile = |lines: usize| match is_left {
        true => TileShape { rows: lines, cols: 1, stride: finished_stride::<K>(1) },
        false => TileShape { rows: 1, cols: lines, stride: finished_stride::<K>(lines) },
    };
    product.tiles = vec![tile(line_step)];
    if !lines.is_multiple_of(line_step) {
        product.tiles.push(tile(lines % line_step));
    }
    product.path = Path::Vector(Plan { sizes, is_left, lines, line_step, batch_step, span, places });
    product.run = if lines == 1 { run::<K, LONE_LANES> } else { run::<K, LANES> };
}

/// Runs one part.
///
/// # Safety
/// As for [`Product::run`]; the machine is of the kernel's kind.
unsafe fn run<K: Kernel, const N: usize>(product: &Product, phase: usize, part: usize, call: &Operands<'_>) {
    let Path::Vector(plan) = &product.path else { return };
    let spans = plan.sizes.depth.div_ceil(plan.span).max(1);
    let (part, span) = if phase == 0 { (part / spans, part % spans) } else { (part, 0) };
    let line_parts = plan.lines.div_ceil(plan.line_step);
    let (batch_part, line_part) = (part / line_parts, part % line_parts);
    let start = line_part * plan.line_step;
    let lines = start..(start + plan.line_step).min(plan.lines);
    let first = batch_part * plan.batch_step;
    for batch in first..(first + plan.batch_step).min(plan.sizes.batch) {
        let worker = Worker { product, plan, call, batch };
        let sums = call.scratch.wrapping_add(plan.places.sums).cast::<K::Acc>();
        let shared = call.shared.cast::<K::Acc>().wrapping_add(batch * spans * plan.lines);
        // SAFETY: the caller's promise; each span and line has a place of its own in what is shared.
        unsafe {
            if spans == 1 {
                worker.sum::<K, N>(&lines, 0..plan.sizes.depth, sums);
                worker.deliver::<K>(lines.clone(), sums);
            } else if phase == 0 {
                let depth = span * plan.span..((span + 1) * plan.span).min(plan.sizes.depth);
                worker.sum::<K, N>(&lines, depth, shared.add(span * plan.lines + start));
            } else {
                for (j, line) in lines.clone().enumerate() {
                    let all = (0..spans).map(|span| *shared.add(span * plan.lines + line));
                    *sums.add(j) = all.fold(K::Acc::ZERO, Number::plus);
                }
                worker.deliver::<K>(lines.clone(), sums);
            }
        }
    }
}

/// The sum of a line's lanes, each `stride` from the next.
///
/// # Safety
/// `N` lanes may be read.
#[inline(always)]
unsafe fn fold<A: Number, const N: usize>(lanes: *const A, stride: usize) -> A {
    // SAFETY: the caller's promise.
    unsafe {
        let lane = |i: usize| *lanes.add(i * stride);
        let eighth = |i: usize| match N {
            LANES => lane(i),
            _ => lane(i).plus(lane(i + 16)).plus(lane(i + 8).plus(lane(i + 24))),
        };
        let quarter = |i: usize| eighth(i).plus(eighth(i + 4));
        quarter(0).plus(quarter(2)).plus(quarter(1).plus(quarter(3)))
    }
}

/// One thread at work on one batch index.
struct Worker<'a> {
    product: &'a Product,
    plan: &'a Plan,
    call: &'a Operands<'a>,
    batch: usize,
}

impl Worker<'_> {
    fn scratch<T>(&self, start: usize) -> *mut T {
        self.call.scratch.wrapping_add(start).cast()
    }

    /// The left or the right operand: its axes, where this batch index begins, and what computes it.
    fn operand<E>(&self, is_left: bool) -> (&Operand, *const E, Option<&dyn Source>) {
        let (operand, data, source) = match is_left {
            true => (&self.product.left, self.call.left, self.call.left_source),
            false => (&self.product.right, self.call.right, self.call.right_source),
        };
        let at = operand.offset + operand.batch.offset(self.batch);
        (operand, data.cast::<E>().wrapping_offset(at), source)
    }

    /// # Safety
    /// As for [`run`].
    unsafe fn deliver<K: Kernel>(&self, lines: Range<usize>, sums: *mut K::Acc) {
        let (rows, cols, stride) = match self.plan.is_left {
            true => (lines, 0..1, 1),
            false => (0..1, lines.clone(), lines.len()),
        };
        // SAFETY: the caller's promise.
        unsafe { deliver::<K>(self.product, self.call, self.batch, rows, cols, sums, stride) }
    }

    /// Sums lines over some depth.
    ///
    /// # Safety
    /// As for [`run`].
    unsafe fn sum<K: Kernel, const N: usize>(&self, lines: &Range<usize>, depth: Range<usize>, sums: *mut K::Acc) {
        let (matrix, _, source) = self.operand::<K::Elem>(self.plan.is_left);
        let is_there = source.is_none() && matrix.border.is_none();
        let side_by_side = N == LANES && is_there && matrix.lines.uniform(lines) == Some(1);
        // SAFETY: the caller's promise.
        unsafe {
            (0..lines.len()).for_each(|j| *sums.add(j) = K::Acc::ZERO);
            for start in depth.clone().step_by(BLOCK) {
                let depths = start..(start + BLOCK).min(depth.end);
                let vector = self.line::<K>(!self.plan.is_left, 0, &depths, self.scratch(self.plan.places.vector));
                if side_by_side && lines.len() > 1 {
                    self.add_rows::<K>(lines, depths, vector, sums);
                } else {
                    self.add_lines::<K, N>(lines, depths, vector, sums);
                }
            }
        }
    }

    /// A stretch of one line, where it is if it can be read there, or else brought to `to`.
    ///
    /// # Safety
    /// As for [`run`]; `to` has room for it.
    unsafe fn line<K: Kernel>(
        &self,
        is_left: bool,
        line: usize,
        depths: &Range<usize>,
        to: *mut K::Acc,
    ) -> *const K::Acc {
        let (operand, base, source) = self.operand::<K::Elem>(is_left);
        let data = base.wrapping_offset(operand.lines.offset(line));
        let is_there = source.is_none() && operand.border.is_none();
        let dense = is_there && operand.depth.uniform(depths) == Some(1);
        let mut from = data.wrapping_offset(operand.depth.offset(depths.start));
        // SAFETY: the caller's promise; the scratch has room for a block.
        unsafe {
            if !dense {
                let all = if same::<K>() { to.cast() } else { self.scratch::<K::Elem>(self.plan.places.narrow) };
                from = all.cast_const();
                let mut at = all;
                if let Some(source) = source {
                    let lines = line..line + 1;
                    let depth = depths.clone();
                    let wanted = Wanted { batch: self.batch, lines, depth, width: 1, panel: depths.len() };
                    source.fill(&wanted, at.cast());
                    operand.at(self.batch, all.cast_const()).close_border(&wanted, all);
                } else if let Some(border) = &operand.border {
                    let at = operand.offset + operand.batch.offset(self.batch);
                    let border = Some(border.seen(self.batch, at));
                    let view = View { base, lines: &operand.lines, depth: &operand.depth, border };
                    view.pack::<K>(line..line + 1, depths.clone(), 1, depths.len(), all);
                } else {
                    for run in operand.depth.runs(depths.clone()) {
                        for k in 0..run.len {
                            *at = *data.offset(run.offset + k as isize * run.stride);
                            at = at.add(1);
                        }
                    }
                }
            }
            if same::<K>() {
                return from.cast();
            }
            K::widen(from, to, depths.len());
            to
        }
    }

    /// Adds a block of depth of lines that lie side by side.
    ///
    /// # Safety
    /// As for [`run`].
    unsafe fn add_rows<K: Kernel>(
        &self,
        lines: &Range<usize>,
        depths: Range<usize>,
        vector: *const K::Acc,
        sums: *mut K::Acc,
    ) {
        let (matrix, data, _) = self.operand::<K::Elem>(self.plan.is_left);
        let data = data.wrapping_offset(matrix.lines.offset(lines.start));
        let lanes = self.scratch::<K::Acc>(self.plan.places.lanes);
        // SAFETY: the caller's promise; the scratch has room for the lanes of these lines, and for eight rows of them.
        unsafe {
            (0..lines.len() * LANES).for_each(|j| *lanes.add(j) = K::Acc::ZERO);
            let mut rows = [data; TURN];
            let mut done = 0;
            for run in matrix.depth.runs(depths.clone()) {
                for k in 0..run.len {
                    rows[done % TURN] = data.offset(run.offset + k as isize * run.stride);
                    done += 1;
                    if done.is_multiple_of(TURN) || done == depths.len() {
                        let count = (done - 1) % TURN + 1;
                        self.add_turn::<K>(&rows[..count], vector.add(done - count), lanes, lines.len());
                    }
                }
            }
            for j in 0..lines.len() {
                *sums.add(j) = (*sums.add(j)).plus(fold::<K::Acc, LANES>(lanes.add(j), lines.len()));
            }
        }
    }

    /// Adds rows to the lanes of all lines, lane by lane: the sums of one lane stay near while its rows go by.
    ///
    /// # Safety
    /// As for [`run`]; the rows and lanes are `len` long.
    unsafe fn add_turn<K: Kernel>(&self, rows: &[*const K::Elem], x: *const K::Acc, lanes: *mut K::Acc, len: usize) {
        let wide = self.scratch::<K::Acc>(self.plan.places.wide);
        for lane in 0..LANES.min(rows.len()) {
            for first in (lane..rows.len()).step_by(LANES * LANES) {
                let mut factors = [K::Acc::ZERO; LANES];
                let mut eight = [std::ptr::null(); LANES];
                let mut count = 0;
                for k in (first..rows.len()).step_by(LANES).take(LANES) {
                    // SAFETY: the caller's promise; the scratch has room for eight rows.
                    unsafe {
                        factors[count] = *x.add(k);
                        eight[count] = rows[k].cast();
                        if !same::<K>() {
                            eight[count] = wide.add(count * len);
                            K::widen(rows[k], wide.add(count * len), len);
                        }
                    }
                    count += 1;
                }
                let next = if first + LANES * LANES < rows.len() { first + LANES * LANES } else { lane + 1 };
                let next = rows.get(next).map_or(0, |next| (*next as isize) - (rows[first] as isize));
                let ahead = if same::<K>() { next / size_of::<K::Elem>() as isize } else { 0 };
                // SAFETY: the caller's promise.
                unsafe { K::add_rows(factors.as_ptr(), &eight[..count], ahead, lanes.add(lane * len), len) }
            }
        }
    }

    /// Adds a block of depth of any lines, a few of them at a time.
    ///
    /// # Safety
    /// As for [`run`].
    unsafe fn add_lines<K: Kernel, const N: usize>(
        &self,
        lines: &Range<usize>,
        depths: Range<usize>,
        vector: *const K::Acc,
        sums: *mut K::Acc,
    ) {
        let lanes = self.scratch::<K::Acc>(self.plan.places.lanes);
        let wide = self.scratch::<K::Acc>(self.plan.places.wide);
        for start in lines.clone().step_by(BUNCH) {
            let count = (lines.end - start).min(BUNCH);
            let mut bunch = [std::ptr::null::<K::Acc>(); BUNCH];
            // SAFETY: the caller's promise; the scratch has room for a bunch of lines, and its lanes.
            unsafe {
                for (i, line) in bunch[..count].iter_mut().enumerate() {
                    *line = self.line::<K>(self.plan.is_left, start + i, &depths, wide.add(i * depths.len()));
                }
                (0..count * N).for_each(|i| *lanes.add(i) = K::Acc::ZERO);
                K::add_lines::<N>(vector, &bunch[..count], depths.len(), lanes);
                for i in 0..count {
                    let sum = sums.add(start - lines.start + i);
                    *sum = (*sum).plus(fold::<K::Acc, N>(lanes.add(i * N), 1));
                }
            }
        }
    }
}
