//! Borders: an operand of which some indices stand for no element, but for zero, as those do that a window has beyond an image.
//!
//! A border is a few bounds, all of which an index keeps if there is an element. A bound is a number that follows the indices with
//! steps, as a place in memory does with strides, and has to lie between two limits.

use super::Guard;
use super::axes::{Group, Run};
use smallvec::SmallVec;
use std::ops::Range;

/// The most taps that a border has a table of.
pub(super) const MOST_TAPS: usize = 256;

/// The lanes of a panel that have elements, one bit each, by tap.
pub(super) type Masks = [u16; MOST_TAPS];

/// Which indices of an operand stand for elements.
pub(super) struct Border {
    bounds: Vec<Bound>,
    taps: Option<Taps>,
}

/// `low <= batch + line + depth < high`, the three being what the groups say of their flat indices.
struct Bound {
    batch: Group,
    lines: Group,
    depth: Group,
    low: i64,
    high: i64,
}

/// The ways in which depths differ to the bounds: places in a window do, channels do not.
struct Taps {
    /// The tap of a flat index of depth.
    of: Group,
    count: usize,
    /// What each bound says of each tap, bound by bound.
    values: Vec<i64>,
}

/// A border as one batch index sees it.
pub(super) struct Seen<'a> {
    border: &'a Border,
    /// The limits of the bounds, without what they say of the batch index.
    limits: SmallVec<[(i64, i64); 4]>,
}

impl Border {
    /// The border that guards make over axes of these sizes: batch, lines and depth. `None` if there are no guards.
    pub(super) fn new(guards: &[Guard], sizes: [&[usize]; 3]) -> Option<Border> {
        let bound = |guard: &Guard| {
            let (batch, rest) = guard.steps.split_at(sizes[0].len());
            let (lines, depth) = rest.split_at(sizes[1].len());
            Bound {
                batch: Group::new(sizes[0], batch),
                lines: Group::new(sizes[1], lines),
                depth: Group::new(sizes[2], depth),
                low: guard.low,
                high: guard.high,
            }
        };
        let first = sizes[0].len() + sizes[1].len();
        let steps: Vec<&[i64]> = guards.iter().map(|guard| &guard.steps[first..]).collect();
        (!guards.is_empty())
            .then(|| Border { bounds: guards.iter().map(bound).collect(), taps: Taps::new(sizes[2], &steps) })
    }

    /// Whether every batch index has the same border.
    pub(super) fn is_still(&self) -> bool {
        self.bounds.iter().all(|bound| bound.batch.is_still())
    }

    /// The border of one batch index.
    pub(super) fn seen(&self, batch: usize) -> Seen<'_> {
        let limits = self.bounds.iter().map(|bound| {
            let value = bound.batch.offset(batch) as i64;
            (bound.low - value, bound.high - value)
        });
        Seen { border: self, limits: limits.collect() }
    }
}

impl Taps {
    /// The taps of depth, if there are not too many.
    fn new(sizes: &[usize], steps: &[&[i64]]) -> Option<Taps> {
        let mut strides = vec![0; sizes.len()];
        let mut count = 1;
        for axis in (0..sizes.len()).rev().filter(|&axis| steps.iter().any(|steps| steps[axis] != 0)) {
            strides[axis] = count as i64;
            count *= sizes[axis];
            if count > MOST_TAPS {
                return None;
            }
        }
        let mut values = Vec::with_capacity(count * steps.len());
        for steps in steps {
            for tap in 0..count {
                let along = |axis: usize| (tap / strides[axis] as usize % sizes[axis]) as i64 * steps[axis];
                values.push((0..sizes.len()).filter(|&axis| strides[axis] != 0).map(along).sum());
            }
        }
        Some(Taps { of: Group::new(sizes, &strides), count, values })
    }
}

impl Seen<'_> {
    /// Whether there is a table of taps.
    pub(super) fn has_taps(&self) -> bool {
        self.border.taps.is_some()
    }

    /// The taps of some depths, as many as there is room for.
    pub(super) fn taps(&self, depth: Range<usize>, to: &mut [u8]) {
        let Some(taps) = &self.border.taps else { return };
        let runs = taps.of.runs(depth).flat_map(|run| (0..run.len).map(move |k| run.offset + k as isize * run.stride));
        to.iter_mut().zip(runs).for_each(|(to, tap)| *to = tap as u8);
    }

    /// The lanes that have elements, by tap, of a panel of these lines, which are no more than there are bits. Whether all have at all taps.
    pub(super) fn masks(&self, lines: Range<usize>, to: &mut Masks) -> bool {
        let Some(taps) = &self.border.taps else { return false };
        let all = u16::MAX >> (u16::BITS as usize - lines.len());
        let mut common = all;
        to[..taps.count].fill(all);
        for ((bound, &(low, high)), values) in
            self.border.bounds.iter().zip(&self.limits).zip(taps.values.chunks_exact(taps.count.max(1)))
        {
            let runs: SmallVec<[Run; 16]> = bound.lines.runs(lines.clone()).collect();
            let mut known = (0, 0);
            for (tap, (&value, mask)) in values.iter().zip(&mut to[..taps.count]).enumerate() {
                if tap == 0 || value != known.0 {
                    known = (value, lanes(&runs, low - value, high - value));
                }
                *mask &= known.1;
                common &= known.1;
            }
        }
        common == all
    }

    /// How far, from a depth on, everything that bounds say follows one step.
    pub(super) fn even(&self, depth: usize) -> usize {
        self.border.bounds.iter().map(|bound| bound.depth.even(depth)).min().unwrap_or(usize::MAX)
    }

    /// Which of `len` depths from `first` on, that are even, have an element in each of some lines.
    pub(super) fn insides(&self, lines: Range<usize>, first: usize, len: usize, to: &mut [Range<usize>]) {
        to.fill(0..len);
        for (bound, &(low, high)) in self.border.bounds.iter().zip(&self.limits) {
            let (value, step) = (bound.depth.offset(first) as i64, bound.depth.inner() as i64);
            let step = if len > 1 { step } else { 0 };
            let last = value + step * (len as i64 - 1);
            let (least, most) = (value.min(last), value.max(last));
            let mut line = 0;
            for run in bound.lines.runs(lines.clone()) {
                for i in 0..run.len {
                    let own = run.offset as i64 + i as i64 * run.stride as i64;
                    if own + least < low || own + most >= high {
                        let inside = within(own + value, step, len, low, high);
                        let both = to[line].start.max(inside.start)..to[line].end.min(inside.end);
                        to[line] = if both.is_empty() { 0..0 } else { both };
                    }
                    line += 1;
                }
            }
        }
    }
}

/// The lanes, one bit each, at which runs lie between limits.
fn lanes(runs: &[Run], low: i64, high: i64) -> u16 {
    let (mut lanes, mut lane) = (0u32, 0);
    for run in runs {
        let inside = within(run.offset as i64, run.stride as i64, run.len, low, high);
        lanes |= ((1 << inside.len()) - 1) << (lane + inside.start);
        lane += run.len;
    }
    lanes as u16
}

/// Which of `len` numbers, that begin with `first` and follow a step, lie between limits.
fn within(first: i64, step: i64, len: usize, low: i64, high: i64) -> Range<usize> {
    let place = |at: i64| at.clamp(0, len as i64) as usize;
    let (start, end) = match step {
        0 if low <= first && first < high => (0, len),
        0 => (0, 0),
        1 => (place(low - first), place(high - first)),
        // The first number that is not below a limit, or not above one.
        1.. => (place(up(low - first, step)), place(up(high - first, step))),
        _ => (place(up(first - high + 1, -step)), place(up(first - low + 1, -step))),
    };
    start..end.max(start)
}

/// A quotient by a number above zero, rounded up.
fn up(number: i64, by: i64) -> i64 {
    (number + by - 1).div_euclid(by)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_lies_between_limits_is_what_comparing_says() {
        for step in [-7, -3, -1, 0, 1, 2, 5] {
            for first in -12..12 {
                for (low, high) in [(0, 1), (-3, 4), (2, 2), (5, 3), (-100, 100), (1, 8)] {
                    for len in [0, 1, 2, 9] {
                        let inside: Vec<usize> =
                            (0..len).filter(|&i| (low..high).contains(&(first + step * i as i64))).collect();
                        let range = within(first, step, len, low, high);
                        assert!(range.clone().eq(inside), "{first} {step} {len} {low}..{high}: {range:?}");
                    }
                }
            }
        }
    }

    /// Windows of 3×2 over an image of 4×5 with a border of 1, as lines 4×6 and depth of 2 channels.
    fn windows() -> Border {
        let guards = [
            Guard { steps: vec![0, 1, 0, 0, 1, 0], low: 1, high: 5 },
            Guard { steps: vec![0, 0, 1, 0, 0, 1], low: 1, high: 6 },
        ];
        Border::new(&guards, [&[3], &[4, 6], &[2, 3, 2]]).unwrap()
    }

    #[test]
    fn taps_are_the_places_of_a_window() {
        let border = windows();
        let mut taps = [9; 12];
        border.seen(0).taps(0..12, &mut taps);
        assert_eq!(taps, [0, 1, 2, 3, 4, 5, 0, 1, 2, 3, 4, 5]);
    }

    #[test]
    fn masks_and_insides_are_what_bounds_say() {
        let border = windows();
        let seen = border.seen(1);
        let inside = |line: usize, depth: usize| {
            let (row, col) = (line / 6 + depth / 2 % 3, line % 6 + depth % 2);
            (1..5).contains(&row) && (1..6).contains(&col)
        };
        for (start, end) in [(0, 16), (3, 5), (13, 24), (7, 8), (8, 10)] {
            let mut masks = [0; MOST_TAPS];
            let all = seen.masks(start..end, &mut masks);
            let mut every = true;
            for depth in 0..6 {
                for line in start..end {
                    every &= inside(line, depth);
                    assert_eq!(masks[depth] >> (line - start) & 1 == 1, inside(line, depth), "{line} {depth}");
                }
            }
            assert_eq!(all, every, "{start}..{end}");
            for depth in 0..12 {
                let even = seen.even(depth);
                assert_eq!(even, 2 - depth % 2);
                let mut insides = vec![7..8; end - start];
                seen.insides(start..end, depth, even, &mut insides);
                for (line, range) in (start..end).zip(insides) {
                    assert!(range.eq((0..even).filter(|k| inside(line, depth + k))), "{line} {depth}");
                }
            }
        }
    }

    #[test]
    fn too_many_taps_have_no_table() {
        let guard = Guard { steps: vec![1, 1], low: 0, high: 9 };
        assert!(!Border::new(&[guard], [&[], &[4], &[300]]).unwrap().seen(0).has_taps());
        assert!(Border::new(&[], [&[], &[4], &[300]]).is_none());
    }
}
