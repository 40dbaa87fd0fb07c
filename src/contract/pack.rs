//! Packing: a block of an operand is copied, through whatever strides it has, into panels that the kernels read in order.
//!
//! A panel has `width` lines (rows of the left operand, columns of the right one): element `(line, k)` is at
//! `k * width + line`. Where the last panel has no more lines it holds zeros, or some line again;
//! what comes of them is never stored.

use super::axes::{Group, Run};
use super::border::Seen;
use super::kernel::{Cut, Element, Kernel, Piece};
use smallvec::SmallVec;
use std::ops::Range;

/// The most lines a panel may have.
pub(super) const WIDEST: usize = 16;

/// The most depth that is packed at once through windows, and the most pieces of a panel.
pub(super) const DEEPEST: usize = 256;
const MOST_PIECES: usize = 4;

/// The pieces of a panel.
pub(super) type Pieces<E> = SmallVec<[Piece<E>; MOST_PIECES]>;

/// One batch index of an operand.
pub(super) struct View<'a, E> {
    pub(super) base: *const E,
    pub(super) lines: &'a Group,
    pub(super) depth: &'a Group,
    /// Where there are elements, if not everywhere.
    pub(super) border: Option<Seen<'a>>,
}

impl<E> View<'_, E> {
    /// Where depths are, from the element at depth 0.
    pub(super) fn places<'a>(&self, depth: Range<usize>, to: &'a mut [isize]) -> &'a [isize] {
        let mut done = 0;
        for run in self.depth.runs(depth) {
            for k in 0..run.len {
                to[done] = run.offset + k as isize * run.stride;
                done += 1;
            }
        }
        &to[..done]
    }

    /// The pieces of a panel of lines that lie side by side with breaks, unless there are too many.
    #[inline]
    pub(super) fn pieces(&self, lines: Range<usize>) -> Option<Pieces<E>> {
        let (mut pieces, mut lane) = (Pieces::new(), 0);
        for run in self.lines.runs(lines) {
            if pieces.len() == MOST_PIECES {
                return None;
            }
            let start = self.base.wrapping_offset(run.offset - lane as isize);
            pieces.push(Piece { start, lanes: (((1u32 << run.len) - 1) << lane) as u16 });
            lane += run.len;
        }
        Some(pieces)
    }
}

impl<E: Element> View<'_, E> {
    /// Packs lines × depths into panels of `width` lines, `panel` elements from one to the next.
    ///
    /// # Safety
    /// The elements may be read; `to` has room for whole panels; the machine is of the kernel's kind.
    #[inline]
    pub(super) unsafe fn pack<K: Kernel<Elem = E>>(
        &self,
        lines: Range<usize>,
        depth: Range<usize>,
        width: usize,
        panel: usize,
        to: *mut E,
    ) {
        // SAFETY: the caller's promise.
        unsafe {
            if let Some(border) = &self.border {
                self.pack_border::<K>(border, lines, depth, width, panel, to);
            } else if self.lines.is_still() {
                self.repeat(lines, depth, width, panel, to);
            } else if self.lines.uniform(&lines) == Some(1) {
                match width {
                    4 => self.pack_along::<K, 4>(lines, depth, panel, to),
                    6 => self.pack_along::<K, 6>(lines, depth, panel, to),
                    8 => self.pack_along::<K, 8>(lines, depth, panel, to),
                    _ => self.pack_along::<K, WIDEST>(lines, depth, panel, to),
                }
            } else if self.lines.inner() == 1 && width == K::COLS {
                self.pack_windows::<K>(lines, depth, panel, to);
            } else {
                for (i, start) in lines.clone().step_by(width).enumerate() {
                    let end = (start + width).min(lines.end);
                    let ahead = if end < lines.end { self.lines.offset(end) - self.lines.offset(start) } else { 0 };
                    self.pack_across::<K>(start..end, depth.clone(), ahead, width, to.add(i * panel));
                }
            }
        }
    }

    /// Lines that lie side by side: each depth is copied a panel's width at a time. Eight depths go through all panels
    /// before the next eight, so that memory is read in long pieces.
    ///
    /// # Safety
    /// As for [`View::pack`], with lines of stride 1.
    unsafe fn pack_along<K: Kernel<Elem = E>, const W: usize>(
        &self,
        lines: Range<usize>,
        depth: Range<usize>,
        panel: usize,
        to: *mut E,
    ) {
        // SAFETY: the caller's promise.
        unsafe {
            let base = self.base.offset(self.lines.offset(lines.start));
            let (whole, rest) = (lines.len() / W, lines.len() % W);
            let mut done = 0;
            for run in self.depth.runs(depth) {
                for first in (0..run.len).step_by(8) {
                    let count = (run.len - first).min(8);
                    let from = base.offset(run.offset + first as isize * run.stride);
                    let to = to.add((done + first) * W);
                    for p in 0..whole {
                        K::along::<W>(from.add(p * W), run.stride, count, to.add(p * panel));
                    }
                    if rest > 0 {
                        for k in 0..count {
                            let from = from.offset(k as isize * run.stride).add(whole * W);
                            let to = to.add(whole * panel + k * W);
                            for i in 0..W {
                                *to.add(i) = if i < rest { *from.add(i) } else { E::ZERO };
                            }
                        }
                    }
                }
                done += run.len;
            }
        }
    }

    /// Lines that are all the same: each element fills a panel's width.
    ///
    /// # Safety
    /// As for [`View::pack`].
    unsafe fn repeat(&self, lines: Range<usize>, depth: Range<usize>, width: usize, panel: usize, to: *mut E) {
        let len = depth.len() * width;
        let mut done = 0;
        // SAFETY: the caller's promise.
        unsafe {
            for run in self.depth.runs(depth) {
                for k in 0..run.len {
                    let element = *self.base.offset(run.offset + k as isize * run.stride);
                    (0..width).for_each(|i| *to.add((done + k) * width + i) = element);
                }
                done += run.len;
            }
            // All panels are the same.
            (1..lines.len().div_ceil(width)).for_each(|i| to.copy_to_nonoverlapping(to.add(i * panel), len));
        }
    }

    /// Lines that lie side by side with breaks, as windows over the rows of an image do.
    ///
    /// # Safety
    /// As for [`View::pack`], with columns.
    unsafe fn pack_windows<K: Kernel<Elem = E>>(
        &self,
        lines: Range<usize>,
        depth: Range<usize>,
        panel: usize,
        to: *mut E,
    ) {
        let mut places = [0; DEEPEST];
        for first in depth.clone().step_by(DEEPEST) {
            let to = to.wrapping_add((first - depth.start) * K::COLS);
            let depth = first..(first + DEEPEST).min(depth.end);
            let places = self.places(depth.clone(), &mut places);
            for (i, start) in lines.clone().step_by(K::COLS).enumerate() {
                let lines = start..(start + K::COLS).min(lines.end);
                let to = to.wrapping_add(i * panel);
                // SAFETY: the caller's promise.
                unsafe {
                    if !self.pack_pieces::<K>(lines.clone(), places, None, to) {
                        self.pack_across::<K>(lines, depth.clone(), 0, K::COLS, to);
                    }
                }
            }
        }
    }

    /// One panel of lines that lie side by side with breaks. False if there is no quick way; nothing has been done then.
    ///
    /// # Safety
    /// As for [`View::pack`], with at most a panel of columns; only what the cut leaves must be there.
    #[inline]
    pub(super) unsafe fn pack_pieces<K: Kernel<Elem = E>>(
        &self,
        lines: Range<usize>,
        places: &[isize],
        cut: Option<&Cut<'_>>,
        to: *mut E,
    ) -> bool {
        let Some(pieces) = self.pieces(lines) else { return false };
        // SAFETY: the caller's promise.
        unsafe { K::pack_pieces(&pieces, places, cut, to) }
    }

    /// Any lines: one panel. The next one is `ahead` of it.
    ///
    /// # Safety
    /// As for [`View::pack`], with at most `width` lines.
    unsafe fn pack_across<K: Kernel<Elem = E>>(
        &self,
        lines: Range<usize>,
        depth: Range<usize>,
        ahead: isize,
        width: usize,
        to: *mut E,
    ) {
        // SAFETY: the caller's promise. Lines that are missing are the first one again.
        unsafe {
            let mut starts = [self.base.offset(self.lines.offset(lines.start)); WIDEST];
            let mut at = 0;
            for run in self.lines.runs(lines) {
                for i in 0..run.len {
                    starts[at] = self.base.offset(run.offset + i as isize * run.stride);
                    at += 1;
                }
            }
            let mut to = to;
            for run in self.depth.runs(depth) {
                pack_run::<K>(&starts[..width], run, ahead, to);
                to = to.add(run.len * width);
            }
        }
    }
}

/// Depths at equal distances of any lines.
///
/// # Safety
/// As for [`View::pack`].
#[inline]
pub(super) unsafe fn pack_run<K: Kernel>(starts: &[*const K::Elem], run: Run, ahead: isize, to: *mut K::Elem) {
    let width = starts.len();
    let mut lines = [std::ptr::null(); WIDEST];
    for (line, start) in lines.iter_mut().zip(starts) {
        *line = start.wrapping_offset(run.offset);
    }
    let lines = &lines[..width];
    // SAFETY: the caller's promise.
    unsafe {
        if run.stride == 1 && run.len >= 4 && K::turn(lines, run.len, ahead, to) {
            return;
        }
        for k in 0..run.len {
            for (i, line) in lines.iter().enumerate() {
                *to.add(k * width + i) = *line.offset(k as isize * run.stride);
            }
        }
    }
}
