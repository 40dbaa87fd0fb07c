//! Packing through a border: what lies outside becomes zeros. Nothing is read outside the operand's buffer.
//!
//! Where there is a table of the lanes that have elements, lines that lie side by side are read with its masks; others are read as if
//! there were no border, where that stays within the buffer, and the lanes without elements are set to zero. Without a table, depth is
//! walked in stretches, of which each line has a part.

use super::Wanted;
use super::axes::Run;
use super::border::{Seen, Table};
use super::kernel::{Cut, Element, Kernel};
use super::pack::{DEEPEST, View, WIDEST, pack_run};
use std::mem::MaybeUninit;
use std::ops::Range;

/// The longest stretch of depth.
const LONGEST: usize = 128;

impl<E: Element> View<'_, E> {
    /// Packs lines × depths into panels of `width` lines, `panel` elements from one to the next. Lines that are missing in the last panel are
    /// zeros, or some line again.
    ///
    /// # Safety
    /// As for [`View::pack`], but only elements inside the border must be there, and all of the buffer may be read.
    pub(super) unsafe fn pack_border<K: Kernel<Elem = E>>(
        &self,
        border: &Seen<'_>,
        lines: Range<usize>,
        depth: Range<usize>,
        width: usize,
        panel: usize,
        to: *mut E,
    ) {
        for first in depth.clone().step_by(DEEPEST) {
            let to = to.wrapping_add((first - depth.start) * width);
            let depth = first..(first + DEEPEST).min(depth.end);
            // SAFETY: the caller's promise.
            unsafe {
                if let Some(table) = border.table(&lines, width) {
                    self.pack_by_table::<K>(border, table, lines.clone(), depth, width, panel, to);
                } else {
                    for (i, start) in lines.clone().step_by(width).enumerate() {
                        let lines = start..(start + width).min(lines.end);
                        self.pack_stretches::<K>(border, lines, depth.clone(), width, to.wrapping_add(i * panel));
                    }
                }
            }
        }
    }

    /// # Safety
    /// As for [`View::pack_border`], with at most [`DEEPEST`] depths.
    #[allow(clippy::too_many_arguments)]
    unsafe fn pack_by_table<K: Kernel<Elem = E>>(
        &self,
        border: &Seen<'_>,
        table: &Table,
        lines: Range<usize>,
        depth: Range<usize>,
        width: usize,
        panel: usize,
        to: *mut E,
    ) {
        let (mut places, mut open) = ([0; DEEPEST], [0; DEEPEST]);
        let side_by_side = self.lines.inner() == 1 && width == K::COLS;
        let places = if side_by_side { self.places(depth.clone(), &mut places) } else { &[] };
        for (i, start) in lines.clone().step_by(width).enumerate() {
            let lines = start..(start + width).min(lines.end);
            let to = to.wrapping_add(i * panel);
            let cut = table.cut(&lines, &depth, &mut open);
            // SAFETY: the caller's promise; what the masks leave lies inside.
            unsafe {
                if side_by_side && self.pack_pieces::<K>(lines.clone(), places, cut.as_ref(), to) {
                    continue;
                }
                self.pack_nearby::<K>(border, lines, depth.clone(), width, to);
                if let Some(cut) = cut {
                    close(cut, depth.len(), width, to);
                }
            }
        }
    }

    /// Puts the zeros of the border, if there is one, into panels.
    ///
    /// # Safety
    /// The panels may be written.
    pub(super) unsafe fn close_border(&self, panels: &Wanted, to: *mut E) {
        let Some(border) = &self.border else { return };
        let Wanted { lines, depth, width, panel, .. } = panels;
        let mut open = [0; DEEPEST];
        for first in depth.clone().step_by(DEEPEST) {
            let depth = first..(first + DEEPEST).min(depth.end);
            for (i, start) in lines.clone().step_by(*width).enumerate() {
                let to = to.wrapping_add(i * panel + (first - panels.depth.start) * width);
                let own = start..(start + width).min(lines.end);
                // SAFETY: the caller's promise.
                unsafe {
                    match border.table(lines, *width) {
                        Some(table) => {
                            if let Some(cut) = table.cut(&own, &depth, &mut open) {
                                close(cut, depth.len(), *width, to);
                            }
                        }
                        None => self.close_stretches(border, own, depth.clone(), *width, to),
                    }
                }
            }
        }
    }

    /// Stretch by stretch: one panel.
    ///
    /// # Safety
    /// The panel may be written.
    unsafe fn close_stretches(
        &self,
        border: &Seen<'_>,
        lines: Range<usize>,
        depth: Range<usize>,
        width: usize,
        to: *mut E,
    ) {
        let mut insides = [const { 0..0 }; WIDEST];
        let mut first = depth.start;
        while first < depth.end {
            let len = border.even(first).min(depth.end - first);
            border.insides(lines.clone(), first, len, &mut insides[..lines.len()]);
            for (lane, inside) in insides[..lines.len()].iter().enumerate() {
                for k in (0..inside.start).chain(inside.end..len) {
                    // SAFETY: the caller's promise.
                    unsafe { *to.add((first - depth.start + k) * width + lane) = E::ZERO };
                }
            }
            first += len;
        }
    }

    /// One panel as if there were no border; where that would be outside the buffer there is a zero.
    ///
    /// # Safety
    /// As for [`View::pack_border`].
    unsafe fn pack_nearby<K: Kernel<Elem = E>>(
        &self,
        border: &Seen<'_>,
        lines: Range<usize>,
        depth: Range<usize>,
        width: usize,
        to: *mut E,
    ) {
        let offsets = self.offsets(lines);
        let starts = offsets.map(|offset| self.base.wrapping_offset(offset));
        let (first, last) = offsets.iter().fold((isize::MAX, isize::MIN), |(a, b), &at| (a.min(at), b.max(at)));
        let len = border.len() as isize;
        let mut to = to;
        for whole in self.depth.runs(depth) {
            for done in (0..whole.len).step_by(LONGEST) {
                let offset = whole.offset + done as isize * whole.stride;
                let run = Run { offset, len: (whole.len - done).min(LONGEST), ..whole };
                let reach = (run.len as isize - 1) * run.stride;
                let at = border.at + run.offset;
                // SAFETY: the caller's promise; lines are read where all of the run is within the buffer.
                unsafe {
                    if first + at + reach.min(0) >= 0 && last + at + reach.max(0) < len {
                        pack_run::<K>(&starts[..width], run, 0, to);
                    } else {
                        let inside = |lane: usize| {
                            let at = at + offsets[lane];
                            match run.stride {
                                stride if stride > 0 => up(-at, stride)..up(len - at, stride),
                                0 => 0..if (0..len).contains(&at) { isize::MAX } else { 0 },
                                stride => up(at - len + 1, -stride)..up(at + 1, -stride),
                            }
                        };
                        let part = |lane: usize| {
                            let Range { start, end } = inside(lane);
                            let place = |at: isize| at.clamp(0, run.len as isize) as usize;
                            place(start)..place(end).max(place(start))
                        };
                        pack_stretch::<K>(&starts[..width], &std::array::from_fn(part), run, to);
                    }
                    to = to.add(run.len * width);
                }
            }
        }
    }

    /// Where lines are, from the element at line 0; those that are missing where the first is.
    fn offsets(&self, lines: Range<usize>) -> [isize; WIDEST] {
        let mut offsets = [self.lines.offset(lines.start); WIDEST];
        let runs = self.lines.runs(lines);
        let each = runs.flat_map(|run| (0..run.len).map(move |i| run.offset + i as isize * run.stride));
        offsets.iter_mut().zip(each).for_each(|(to, offset)| *to = offset);
        offsets
    }

    /// Stretch by stretch: one panel.
    ///
    /// # Safety
    /// As for [`View::pack_border`].
    unsafe fn pack_stretches<K: Kernel<Elem = E>>(
        &self,
        border: &Seen<'_>,
        lines: Range<usize>,
        depth: Range<usize>,
        width: usize,
        to: *mut E,
    ) {
        let starts = self.offsets(lines.clone()).map(|offset| self.base.wrapping_offset(offset));
        let mut insides = [const { 0..0 }; WIDEST];
        let mut first = depth.start;
        while first < depth.end {
            let len = self.depth.even(first).min(border.even(first)).min(LONGEST).min(depth.end - first);
            let run = Run { offset: self.depth.offset(first), len, stride: self.depth.inner() };
            border.insides(lines.clone(), first, len, &mut insides[..lines.len()]);
            // SAFETY: the caller's promise.
            unsafe { pack_stretch::<K>(&starts[..width], &insides, run, to.add((first - depth.start) * width)) };
            first += len;
        }
    }
}

impl Table {
    /// As [`Table::cut`], from a depth on, if the masks of all depths come in turn or there is nothing to cut.
    pub(super) fn cut_in_turn(&self, lines: &Range<usize>, depth: usize) -> Option<Option<Cut<'_>>> {
        let masks = self.masks(lines.start);
        match self.in_turn(depth) {
            _ if is_whole(&masks, lines) => Some(None),
            Some(first) => Some(Some(Cut { masks: masks[0], first })),
            None => None,
        }
    }

    /// The lanes that have elements in a panel of lines, at some depths; `None` if all have. There is room for the masks in `open`.
    fn cut<'a>(&'a self, lines: &Range<usize>, depth: &Range<usize>, open: &'a mut [u16; DEEPEST]) -> Option<Cut<'a>> {
        let masks = self.masks(lines.start);
        if is_whole(&masks, lines) {
            return None;
        }
        Some(match self.in_turn(depth.start) {
            Some(first) => Cut { masks: masks[0], first },
            None => {
                let open = &mut open[..depth.len()];
                self.open(&masks, depth, open);
                Cut { masks: open, first: 0 }
            }
        })
    }
}

/// Whether masks leave all lanes of a panel of lines.
fn is_whole(masks: &[&[u16]], lines: &Range<usize>) -> bool {
    let all = u16::MAX >> (16 - lines.len());
    masks.iter().all(|masks| masks.iter().all(|&mask| mask == all))
}

/// Sets the lanes of a panel that a cut does not leave to zero.
///
/// # Safety
/// The panel may be written.
unsafe fn close<E: Element>(cut: Cut<'_>, depth: usize, width: usize, to: *mut E) {
    let all = u16::MAX >> (16 - width);
    for start in (0..depth).step_by(cut.masks.len()) {
        for (k, open) in (start..depth).zip(cut.masks()) {
            let mut closed = all & !open;
            while closed != 0 {
                // SAFETY: the caller's promise.
                unsafe { *to.add(k * width + closed.trailing_zeros() as usize) = E::ZERO };
                closed &= closed - 1;
            }
        }
    }
}

/// A quotient by a number above zero, rounded up.
fn up(number: isize, by: isize) -> isize {
    (number + by - 1).div_euclid(by)
}

/// One stretch of depth, of which each line has a part; elsewhere there are zeros.
///
/// # Safety
/// The parts of the lines may be read, and the places written.
unsafe fn pack_stretch<K: Kernel>(
    starts: &[*const K::Elem],
    insides: &[Range<usize>; WIDEST],
    run: Run,
    to: *mut K::Elem,
) {
    let width = starts.len();
    let mut room = [const { MaybeUninit::<[K::Elem; LONGEST]>::uninit() }; WIDEST];
    let mut lines = [std::ptr::null::<K::Elem>(); WIDEST];
    // SAFETY: the caller's promise; a line of the room has as many places as a stretch is long.
    unsafe {
        for (lane, line) in lines[..width].iter_mut().enumerate() {
            let (inside, from) = (&insides[lane], starts[lane].wrapping_offset(run.offset));
            if inside.len() == run.len && run.stride == 1 {
                *line = from;
                continue;
            }
            let own = room[lane].as_mut_ptr().cast::<K::Elem>();
            *line = own;
            for k in (0..inside.start).chain(inside.end..run.len) {
                *own.add(k) = K::Elem::ZERO;
            }
            for k in inside.clone() {
                *own.add(k) = *from.wrapping_offset(k as isize * run.stride);
            }
        }
        pack_run::<K>(&lines[..width], Run { offset: 0, len: run.len, stride: 1 }, 0, to);
    }
}
