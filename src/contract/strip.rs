//! Products of a few rows at a time with a right operand that stays packed, of which some columns or some of the depth may be left out.
//!
//! The order of sums is that of the whole product, so depth that is left out is as if it had been multiplied by 0.

use super::axes::Group;
#[cfg(target_arch = "x86_64")]
use super::kernel::{Avx2, Avx512};
use super::kernel::{Kernel, Next, Plain, Tile, narrow_tile, panels_at_once, same};
use super::pack::View;
use super::plan::{Depth, Machine, operand};
use super::{Contraction, Operand};
use crate::dtype::DType;
use std::ops::Range;

/// A product without a batch, made ready for a few rows at a time.
pub(crate) struct Strip {
    left: Operand,
    right: Operand,
    /// The strides of the left operand's rows and depth, and of the result's rows.
    left_row: isize,
    left_depth: isize,
    out_row: isize,
    depth: Depth,
    packed_bytes: usize,
    pack: unsafe fn(&Strip, *const u8, *mut u8),
    run: unsafe fn(&Strip, &StripRun),
}

/// One run of a [`Strip`].
#[derive(Clone, Debug)]
pub(crate) struct StripRun {
    /// The first of the rows of the left operand and of the result.
    pub left: *const u8,
    pub out: *mut u8,
    /// The packed right operand.
    pub packed: *const u8,
    pub rows: usize,
    /// What is computed of the columns; some beside them may be as well.
    pub cols: Range<usize>,
    /// What is summed over.
    pub depth: Range<usize>,
}

impl Strip {
    /// Makes a contraction ready; `None` if it is not one for strips: the left operand is to be read where it is, the columns of the result
    /// to be written side by side, and elements to be summed as they are.
    pub(crate) fn new(c: &Contraction) -> Option<Strip> {
        match (Machine::best(), c.dtype) {
            #[cfg(target_arch = "x86_64")]
            (Machine::Avx512, DType::F32) => ready::<Avx512<f32>>(c),
            #[cfg(target_arch = "x86_64")]
            (Machine::Avx512, DType::F64) => ready::<Avx512<f64>>(c),
            #[cfg(target_arch = "x86_64")]
            (Machine::Avx2, DType::F32) => ready::<Avx2<f32>>(c),
            #[cfg(target_arch = "x86_64")]
            (Machine::Avx2, DType::F64) => ready::<Avx2<f64>>(c),
            (Machine::Plain, DType::F32) => ready::<Plain<f32>>(c),
            (Machine::Plain, DType::F64) => ready::<Plain<f64>>(c),
            _ => None,
        }
    }

    /// The bytes of the packed operand.
    pub(crate) fn packed_bytes(&self) -> usize {
        self.packed_bytes
    }

    /// All columns, and all depth.
    pub(crate) fn whole(&self) -> [Range<usize>; 2] {
        [0..self.right.lines.len(), 0..self.depth.len]
    }

    /// Packs the right operand.
    ///
    /// # Safety
    /// The operand covers what the contraction reads; `to` has room for [`Strip::packed_bytes`], and is aligned to 64 bytes.
    pub(crate) unsafe fn pack(&self, right: *const u8, to: *mut u8) {
        // SAFETY: the caller's promise; the kernel was chosen for this machine.
        unsafe { (self.pack)(self, right, to) }
    }

    /// Computes some rows.
    ///
    /// # Safety
    /// The left operand has the rows, the result room for all columns of them, `packed` is the packed operand; the ranges are of the columns and of
    /// the depth that there are. Nobody else uses the result meanwhile.
    pub(crate) unsafe fn run(&self, run: &StripRun) {
        // SAFETY: as above.
        unsafe { (self.run)(self, run) }
    }
}

fn ready<K: Kernel>(c: &Contraction) -> Option<Strip> {
    let stride = |group: &Group| group.uniform(&(0..group.len()));
    let left = operand(&c.left, [&[], &c.rows, &c.depth]);
    let right = operand(&c.right, [&[], &c.cols, &c.depth]);
    let (rows, cols) = c.out.split_at(c.rows.len());
    let cols = Group::new(&c.cols, cols);
    let (left_row, left_depth) = (stride(&left.lines)?, stride(&left.depth)?);
    let out_row = stride(&Group::new(&c.rows, rows))?;
    let depth = Depth::new(left.depth.len());
    let serves = same::<K>() && c.batch.is_empty() && left.is_plain() && right.is_plain();
    if !serves || (cols.len() > 1 && stride(&cols) != Some(1)) || depth.len == 0 {
        return None;
    }
    let acc = size_of::<K::Acc>();
    Some(Strip {
        packed_bytes: right.lines.len().next_multiple_of(K::COLS) * depth.len * acc,
        left,
        right,
        left_row,
        left_depth,
        out_row,
        depth,
        pack: pack::<K>,
        run: run::<K>,
    })
}

/// # Safety
/// As for [`Strip::pack`]; the machine is of the kernel's kind.
unsafe fn pack<K: Kernel>(strip: &Strip, right: *const u8, to: *mut u8) {
    let Operand { lines, depth, offset, .. } = &strip.right;
    // SAFETY: the caller's promise.
    unsafe {
        let view = View { base: right.cast::<K::Elem>().offset(*offset), lines, depth, border: None };
        view.pack::<K>(0..lines.len(), 0..depth.len(), K::COLS, depth.len() * K::COLS, to.cast());
    }
}

/// # Safety
/// As for [`Strip::run`]; the machine is of the kernel's kind.
unsafe fn run<K: Kernel>(strip: &Strip, run: &StripRun) {
    let all = strip.right.lines.len();
    let panels = run.cols.start / K::COLS..run.cols.end.div_ceil(K::COLS);
    let (packed, left) = (run.packed.cast::<K::Acc>(), run.left.cast::<K::Acc>().wrapping_offset(strip.left.offset));
    let mut is_first = true;
    for block in 0..strip.depth.blocks() {
        let depth = strip.depth.block(block);
        let depth = depth.start.max(run.depth.start)..depth.end.min(run.depth.end);
        if depth.is_empty() {
            continue;
        }
        let mut panel = panels.start;
        while panel < panels.end {
            let count = panels_at_once::<K>(panels.end - panel);
            let b = packed.wrapping_add((panel * strip.depth.len + depth.start) * K::COLS);
            let cols = panel * K::COLS..((panel + count) * K::COLS).min(all);
            let b_panel = strip.depth.len * K::COLS;
            // While the rows go through some panels, the next ones are fetched.
            let (next, row_panels) = (b.wrapping_add(count * b_panel), run.rows.div_ceil(K::ROWS));
            for row in (0..run.rows).step_by(K::ROWS) {
                let rows = (run.rows - row).min(K::ROWS);
                let a = row as isize * strip.left_row + depth.start as isize * strip.left_depth;
                let c = run.out.cast::<K::Acc>().wrapping_offset(row as isize * strip.out_row).wrapping_add(cols.start);
                let tile = Tile {
                    depth: depth.len(),
                    a: left.wrapping_offset(a),
                    a_row: strip.left_row,
                    a_depth: strip.left_depth,
                    b,
                    b_depth: K::COLS as isize,
                    b_panel: b_panel as isize,
                    c,
                    c_row: strip.out_row,
                    add: !is_first,
                    next: match panel + count < panels.end {
                        true => Next::part(next, K::COLS as isize, depth.len(), row / K::ROWS, row_panels),
                        false => Next::none(),
                    },
                    keep: std::ptr::null_mut(),
                };
                // SAFETY: the caller's promise.
                unsafe {
                    if cols.len().is_multiple_of(K::COLS) || K::EXACT {
                        K::tile(rows, cols.len(), &tile);
                    } else {
                        narrow_tile::<K>(rows, cols.len(), tile);
                    }
                }
            }
            panel += count;
        }
        is_first = false;
    }
}
