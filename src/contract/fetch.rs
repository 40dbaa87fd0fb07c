//! Bringing what will be packed next nearer, a little before each tile: all at once would hold up the products.

use super::axes::Group;
use std::ops::Range;

/// The bytes that memory is fetched by.
const LINE: usize = 64;

/// A block of an operand that will be wanted soon: pieces of memory at equal distances.
#[derive(Clone, Copy)]
pub(super) struct Fetch {
    start: *const u8,
    /// Bytes from one piece to the next.
    apart: isize,
    /// How many lines of the cache a piece has.
    lines: usize,
    pieces: usize,
}

impl Default for Fetch {
    /// Nothing.
    fn default() -> Fetch {
        Fetch { start: std::ptr::null(), apart: 0, lines: 0, pieces: 0 }
    }
}

impl Fetch {
    /// Lines × depths of an operand whose first element is at `base`, each with one stride. Nothing if neither lie side by side.
    pub(super) fn new<E>(base: *const E, lines: (&Group, Range<usize>), depth: (&Group, Range<usize>)) -> Fetch {
        let start = base.wrapping_offset(lines.0.offset(lines.1.start));
        let stride = |(group, range): &(&Group, Range<usize>)| group.uniform(range).filter(|_| !range.is_empty());
        let (Some(line), Some(step)) = (stride(&lines), stride(&depth)) else { return Fetch::default() };
        let start = start.wrapping_offset(depth.0.offset(depth.1.start));
        let size = size_of::<E>();
        let pieces = |apart: isize, len: usize, pieces: usize| Fetch {
            start: start.cast(),
            apart: apart * size as isize,
            lines: (len * size).div_ceil(LINE),
            pieces,
        };
        match (line, step) {
            (_, 1) => pieces(line, depth.1.len(), lines.1.len()),
            (1, _) => pieces(step, lines.1.len(), depth.1.len()),
            _ => Fetch::default(),
        }
    }

    /// Asks for one of `parts` parts.
    #[inline]
    pub(super) fn part(&self, part: usize, parts: usize) {
        let all = self.lines * self.pieces;
        for at in all * part / parts..all * (part + 1) / parts {
            let piece = (at / self.lines) as isize * self.apart;
            ask(self.start.wrapping_offset(piece).wrapping_add(at % self.lines * LINE));
        }
    }
}

/// Asks for a line of memory, which will be wanted soon. Any address will do: there is no harm in one that is not there.
#[inline(always)]
fn ask(line: *const u8) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T1, _mm_prefetch};
        // SAFETY: every machine of this kind can do it, and nothing is read.
        unsafe { _mm_prefetch::<_MM_HINT_T1>(line.cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = line;
}
