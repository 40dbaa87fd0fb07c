//! Packing through a border: what lies outside becomes zeros, and is not read.
//!
//! Where the places of a window are few, each of them is a tap, and says once for a panel which of its lanes have elements. Elsewhere
//! depth is walked in stretches, of which each line has a part.

use super::axes::Run;
use super::border::{MOST_TAPS, Seen};
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
    /// As for [`View::pack`], but only elements inside the border are read.
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
                if border.has_taps() {
                    self.pack_taps::<K>(border, lines.clone(), depth, width, panel, to);
                } else {
                    for (i, start) in lines.clone().step_by(width).enumerate() {
                        let lines = start..(start + width).min(lines.end);
                        self.pack_stretches::<K>(border, lines, depth.clone(), width, to.wrapping_add(i * panel));
                    }
                }
            }
        }
    }

    /// Tap by tap.
    ///
    /// # Safety
    /// As for [`View::pack_border`], with at most [`DEEPEST`] depths, and taps.
    unsafe fn pack_taps<K: Kernel<Elem = E>>(
        &self,
        border: &Seen<'_>,
        lines: Range<usize>,
        depth: Range<usize>,
        width: usize,
        panel: usize,
        to: *mut E,
    ) {
        let (mut places, mut taps, mut masks) = ([0; DEEPEST], [0; DEEPEST], [0; MOST_TAPS]);
        let places = self.places(depth.clone(), &mut places);
        let taps = &mut taps[..depth.len()];
        border.taps(depth.clone(), taps);
        let side_by_side = self.lines.inner() == 1 && width == K::COLS;
        for (i, start) in lines.clone().step_by(width).enumerate() {
            let lines = start..(start + width).min(lines.end);
            let to = to.wrapping_add(i * panel);
            let is_whole = border.masks(lines.clone(), &mut masks);
            let cut = Cut { taps, masks: &masks };
            let pieces = if side_by_side { self.pieces(lines.clone()) } else { None };
            // SAFETY: the caller's promise; what the masks leave lies inside.
            unsafe {
                let quick = |pieces: &[_]| K::pack_pieces(pieces, places, (!is_whole).then_some(&cut), to);
                if pieces.is_some_and(|pieces| quick(&pieces)) {
                    continue;
                }
                match is_whole {
                    true => self.pack_across::<K>(lines, depth.clone(), 0, width, to),
                    false => self.pack_cut(lines, places, &cut, width, to),
                }
            }
        }
    }

    /// Any lines: one panel.
    ///
    /// # Safety
    /// As for [`View::pack_border`]; the lanes that the cut leaves may be read.
    unsafe fn pack_cut(&self, lines: Range<usize>, places: &[isize], cut: &Cut<'_>, width: usize, to: *mut E) {
        let starts = self.starts(lines);
        for (k, (&place, &tap)) in places.iter().zip(cut.taps).enumerate() {
            let mask = cut.masks[usize::from(tap)];
            for (lane, start) in starts[..width].iter().enumerate() {
                // SAFETY: the caller's promise.
                unsafe {
                    let is_inside = mask >> lane & 1 == 1;
                    *to.add(k * width + lane) = if is_inside { *start.wrapping_offset(place) } else { E::ZERO };
                }
            }
        }
    }

    /// Where lines begin; those that are missing where the first does.
    fn starts(&self, lines: Range<usize>) -> [*const E; WIDEST] {
        let mut starts = [self.base.wrapping_offset(self.lines.offset(lines.start)); WIDEST];
        let runs =
            self.lines.runs(lines).flat_map(|run| (0..run.len).map(move |i| run.offset + i as isize * run.stride));
        starts.iter_mut().zip(runs).for_each(|(start, offset)| *start = self.base.wrapping_offset(offset));
        starts
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
        let starts = self.starts(lines.clone());
        let mut insides = [const { 0..0 }; WIDEST];
        let mut first = depth.start;
        while first < depth.end {
            let len = self.depth.even(first).min(border.even(first)).min(LONGEST).min(depth.end - first);
            let run = Run { offset: self.depth.offset(first), len, stride: self.depth.inner() };
            border.insides(lines.clone(), first, len, &mut insides[..lines.len()]);
            let to = to.wrapping_add((first - depth.start) * width);
            // SAFETY: the caller's promise.
            unsafe {
                if insides[..lines.len()].iter().all(|inside| inside.len() == len) {
                    // Lines that are missing are the first one again.
                    pack_run::<K>(&starts[..width], run, 0, to);
                } else {
                    pack_stretch::<K>(&starts[..width], &insides, run, to);
                }
            }
            first += len;
        }
    }
}

/// One stretch of depth, of which each line has a part; lines that are missing have none.
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
    let zeros = [K::Elem::ZERO; LONGEST];
    // SAFETY: the caller's promise; a line of the room has as many places as a stretch is long.
    unsafe {
        for (lane, line) in lines[..width].iter_mut().enumerate() {
            let (inside, from) = (&insides[lane], starts[lane].wrapping_offset(run.offset));
            *line = if inside.is_empty() {
                zeros.as_ptr()
            } else if inside.len() == run.len && run.stride == 1 {
                from
            } else {
                let own = room[lane].as_mut_ptr().cast::<K::Elem>();
                for k in (0..inside.start).chain(inside.end..run.len) {
                    *own.add(k) = K::Elem::ZERO;
                }
                if run.stride == 1 {
                    let from = from.wrapping_add(inside.start);
                    std::ptr::copy_nonoverlapping(from, own.add(inside.start), inside.len());
                } else {
                    for k in inside.clone() {
                        *own.add(k) = *from.wrapping_offset(k as isize * run.stride);
                    }
                }
                own
            };
        }
        pack_run::<K>(&lines[..width], Run { offset: 0, len: run.len, stride: 1 }, 0, to);
    }
}
