//! Long blocks of [`super::twins`], of which the pieces of the next pair are copied between the parts of this one.
//!
//! Where processors share a last cache and one way to memory, results that are stored block after block and pieces that are asked for meanwhile take as long
//! as both take alone; copies in between make room for each other, and for longer rows. It takes twice the scratch, more than the first
//! cache holds, which is no loss only there: where each has a way of its own, short blocks take a third less time.

use super::call::Call;
use super::kernel::turned;
use super::tiled::Tiled;
use super::transpose_wide;
use super::twins::{Blocks, LONG, Twins};
use crate::codegen;
use std::ops::Range;

/// So many pairs are on their way from memory, or are being copied.
const AHEAD: usize = 2;
/// A kernel makes so many rows of a part, for each of its columns of a short block: enough stores, and few enough, between copies.
const ROWS_OF_BLOCK: usize = 2;
/// The parts of a long block.
const PARTS: usize = LONG * LONG * ROWS_OF_BLOCK;

impl Tiled {
    /// Tells the kernel of parts what is the same for all of them. It asks for every other row in turn.
    pub(super) fn prepare_long<'k>(&self, twins: &Twins, on: &codegen::Call<'_>, mut call: Call<'k>) -> Call<'k> {
        let operands = on.loads.len();
        self.prepare(twins, LONG * twins.block * self.bases.size(twins.turned) as usize, on, &mut call);
        call.sizes(twins.block / ROWS_OF_BLOCK, twins.block);
        [1, 2].into_iter().for_each(|behind| call.step(operands + behind, 2 * self.apart(twins) as i64));
        call
    }

    /// Makes some long whole blocks and their mirror images; pieces are copied to two places in turn.
    ///
    /// # Safety
    /// As for [`Tiled::run`]; the kernel has been told all that is the same for all parts.
    pub(super) unsafe fn run_long(
        &self,
        blocks: &Blocks<'_>,
        numbers: Range<usize>,
        call: &mut Call<'_>,
        to: [*mut u8; 2],
    ) {
        const LINES: usize = LONG * turned::VECTORS;
        let &Blocks { pairs, block, apart, .. } = blocks;
        let (mut copied, mut copying) = (blocks.to, to);
        let Some(first) = pairs[numbers.clone()].first() else { return };
        // SAFETY: the caller's promise; the pieces of whole blocks have so many rows of so many lines.
        unsafe { transpose_wide::copy_lines::<LINES, 2>(first.from, apart, block, copied) };
        for at in numbers.clone() {
            let next = pairs[..numbers.end].get(at + 1);
            let soon = pairs.get(at + AHEAD).unwrap_or(&pairs[at]).from;
            for side in 0..2 {
                let share = block / PARTS;
                for part in 0..PARTS {
                    // SAFETY: the caller's promise; as above, and either place has room for them.
                    unsafe {
                        if let Some(next) = next {
                            let from = next.from[side].wrapping_offset((part * share) as isize * apart);
                            let to = copying[side].add(part * share * LINES * super::tiled::LINE);
                            transpose_wide::copy_lines::<LINES, 1>([from], apart, share, [to]);
                        }
                        if side == 0 || pairs[at].mirror.is_some() {
                            let pieces = [copied[side], copied[1 - side]];
                            self.part_of_long(blocks, (at, side, part), pieces, soon[side], call);
                        }
                    }
                }
            }
            std::mem::swap(&mut copied, &mut copying);
        }
    }

    /// Makes a part of one side of a pair.
    ///
    /// # Safety
    /// As for [`Tiled::run_long`]; what the side reads as it lies, and turned, has been copied.
    unsafe fn part_of_long(
        &self,
        &Blocks { twins, tiles, pairs, on, block, apart, .. }: &Blocks<'_>,
        (at, side, part): (usize, usize, usize),
        [plain, other]: [*mut u8; 2],
        soon: *const u8,
        call: &mut Call<'_>,
    ) {
        let (operands, size) = (on.loads.len(), self.bases.size(twins.turned) as usize);
        let (pitch, out_apart) = (block * size, self.strides(operands)[0] * self.stored);
        let (row, column) = (part / LONG * (twins.block / ROWS_OF_BLOCK), part % LONG * twins.block);
        if (0..operands).any(|k| twins.are_others(k)) {
            let (tile, [down, across]) = pairs[at].side(side, tiles);
            self.others_at(twins, (tile, [down + row, across + column]), on, call);
        }
        let plain = plain.wrapping_add(row * pitch + column * size);
        twins.plain.into_iter().for_each(|k| call.pointer(k, plain.addr() as i64));
        call.pointer(twins.turned, other.wrapping_add(column * pitch + row * size).addr() as i64);
        call.pointer(operands, pairs[at].to[side] + row as i64 * out_apart + column as i64 * self.stored);
        let soon = soon.wrapping_offset(row as isize * apart + (column * size) as isize);
        call.pointer(operands + 1, soon.wrapping_offset(apart).addr() as i64);
        call.pointer(operands + 2, soon.addr() as i64);
        // SAFETY: the caller's promise; a part has a whole number of times the rows that the kernel turns at once.
        unsafe { call.run_again() };
    }
}
