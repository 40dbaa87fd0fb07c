//! Borders: an operand of which some indices stand for no element, but for zero, as those do that a window has beyond an image.
//!
//! A border is a few bounds, all of which an index keeps if there is an element. A bound is a number that follows the indices with
//! steps, as a place in memory does with strides, and has to lie between two limits.

use super::Guard;
use super::axes::{Group, Run};
use smallvec::SmallVec;
use std::collections::HashMap;
use std::ops::Range;

/// The most kinds of depth that one scale tells apart if it is made of several bounds, the most scales, and the most masks that are worth making.
const MOST_KINDS: usize = 256;
const MOST_SCALES: usize = 3;
const MOST_MASKS: usize = 1 << 24;

/// Which indices of an operand stand for elements.
pub(super) struct Border {
    bounds: Vec<Bound>,
    /// How many elements the operand's buffer has.
    len: usize,
    table: Option<Table>,
}

/// `low <= batch + line + depth < high`, the three being what the groups say of their flat indices.
struct Bound {
    batch: Group,
    lines: Group,
    depth: Group,
    low: i64,
    high: i64,
}

/// Which lanes of panels have elements.
///
/// To a bound many depths are alike: channels are, places in a window are not. A scale tells the kinds apart that there are to some
/// bounds, and an index has an element where all scales say so.
pub(super) struct Table {
    /// The lines of a panel.
    width: usize,
    scales: Vec<Scale>,
    /// The masks of the kinds of all scales, one bit for each lane, for panels that differ.
    masks: Vec<u16>,
    /// Where the masks of each panel begin.
    panels: Vec<u32>,
}

/// Kinds of depth.
struct Scale {
    /// The kind of a flat index of depth.
    of: Group,
    count: usize,
    /// Whether the kind of a flat index is its remainder by the count.
    in_turn: bool,
}

/// A border as one batch index sees it.
pub(super) struct Seen<'a> {
    border: &'a Border,
    /// The limits of the bounds, without what they say of the batch index.
    limits: SmallVec<[(i64, i64); 4]>,
    /// The place in the buffer of the batch index's first element, wherever that is.
    pub(super) at: isize,
}

impl Border {
    /// The border that guards make over axes of these sizes, batch, lines and depth, in a buffer of `len` elements. `None` if there are no
    /// guards.
    pub(super) fn new(guards: &[Guard], sizes: [&[usize]; 3], len: usize) -> Option<Border> {
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
        (!guards.is_empty()).then(|| Border { bounds: guards.iter().map(bound).collect(), len, table: None })
    }

    /// Notes which lanes of panels of `width` lines have elements, if that is the same for every batch index and not too much to note.
    pub(super) fn tabulate(&mut self, width: usize, guards: &[Guard], depth: &[usize]) {
        self.table = if self.is_still() { Table::new(&self.bounds, width, guards, depth) } else { None };
    }

    /// Whether every batch index has the same border.
    pub(super) fn is_still(&self) -> bool {
        self.bounds.iter().all(|bound| bound.batch.is_still())
    }

    /// Whether it is noted which lanes have elements.
    pub(super) fn has_table(&self) -> bool {
        self.table.is_some()
    }

    /// How many kinds of depth come in turn, if it is noted which lanes they have.
    pub(super) fn kinds_in_turn(&self) -> Option<usize> {
        self.table.as_ref()?.kinds_in_turn()
    }

    /// The table for panels of these lines, if there is one.
    pub(super) fn table(&self, lines: &Range<usize>, width: usize) -> Option<&Table> {
        self.table.as_ref().filter(|table| table.width == width && lines.start.is_multiple_of(width))
    }

    /// The border of one batch index, whose first element is at a place of the buffer.
    pub(super) fn seen(&self, batch: usize, at: isize) -> Seen<'_> {
        let limits = self.bounds.iter().map(|bound| {
            let value = bound.batch.offset(batch) as i64;
            (bound.low - value, bound.high - value)
        });
        Seen { border: self, limits: limits.collect(), at }
    }
}

impl Table {
    fn new(bounds: &[Bound], width: usize, guards: &[Guard], depth: &[usize]) -> Option<Table> {
        let steps: Vec<&[i64]> = guards.iter().map(|guard| &guard.steps[guard.steps.len() - depth.len()..]).collect();
        // One scale for all bounds, or else one for each.
        let scales: Vec<(Scale, Range<usize>)> = match Scale::new(depth, &steps).filter(|one| one.count <= MOST_KINDS) {
            Some(one) => vec![(one, 0..bounds.len())],
            None => (0..bounds.len())
                .map(|bound| Some((Scale::new(depth, &steps[bound..=bound])?, bound..bound + 1)))
                .collect::<Option<_>>()?,
        };
        let lines = bounds[0].lines.len();
        let kinds: usize = scales.iter().map(|(scale, _)| scale.count).sum();
        if scales.len() > MOST_SCALES || kinds.checked_mul(lines.div_ceil(width))? > MOST_MASKS {
            return None;
        }
        // What each bound says of the kinds of its scale.
        let values: Vec<Vec<i64>> =
            scales.iter().flat_map(|(scale, of)| of.clone().map(|bound| scale.values(depth, steps[bound]))).collect();
        let mut known: HashMap<Vec<u16>, u32> = HashMap::new();
        let (mut masks, mut panels) = (Vec::new(), Vec::new());
        for start in (0..lines).step_by(width) {
            let lines = start..(start + width).min(lines);
            let mut own = Vec::with_capacity(kinds);
            for (scale, of) in &scales {
                let first = own.len();
                own.resize(first + scale.count, u16::MAX >> (16 - lines.len()));
                of.clone().for_each(|bound| bounds[bound].cut(&lines, &values[bound], &mut own[first..]));
            }
            let next = u32::try_from(masks.len()).ok()?;
            panels.push(*known.entry(own).or_insert_with_key(|own| {
                masks.extend(own);
                next
            }));
        }
        Some(Table { width, scales: scales.into_iter().map(|(scale, _)| scale).collect(), masks, panels })
    }

    /// The kind of a depth, if depths are of all kinds in turn, again and again.
    pub(super) fn in_turn(&self, depth: usize) -> Option<usize> {
        self.kinds_in_turn().map(|kinds| depth % kinds)
    }

    /// How many kinds there are, if depths are of all kinds in turn.
    fn kinds_in_turn(&self) -> Option<usize> {
        match &self.scales[..] {
            [scale] if scale.in_turn => Some(scale.count),
            _ => None,
        }
    }

    /// The masks of some depths of a panel, of which these are the masks of kinds.
    pub(super) fn open(&self, masks: &[&[u16]; MOST_SCALES], depth: &Range<usize>, to: &mut [u16]) {
        to.fill(u16::MAX);
        for (scale, masks) in self.scales.iter().zip(masks) {
            let mut rest = &mut *to;
            for run in scale.of.runs(depth.clone()) {
                let (now, later) = rest.split_at_mut(run.len);
                let first = run.offset as usize;
                match run.stride {
                    0 => now.iter_mut().for_each(|to| *to &= masks[first]),
                    1 => now.iter_mut().zip(&masks[first..]).for_each(|(to, mask)| *to &= mask),
                    step => now.iter_mut().enumerate().for_each(|(k, to)| *to &= masks[first + k * step as usize]),
                }
                rest = later;
            }
        }
    }

    /// The masks of the panel that begins with a line: those of the kinds of each scale.
    pub(super) fn masks(&self, line: usize) -> [&[u16]; MOST_SCALES] {
        let mut rest = &self.masks[self.panels[line / self.width] as usize..];
        let mut masks = [&rest[..0]; MOST_SCALES];
        for (masks, scale) in masks.iter_mut().zip(&self.scales) {
            (*masks, rest) = rest.split_at(scale.count);
        }
        masks
    }
}

impl Bound {
    /// Takes the lanes of some lines that are beyond a limit out of the masks of kinds, of which the bound says these values.
    fn cut(&self, lines: &Range<usize>, values: &[i64], masks: &mut [u16]) {
        let runs: SmallVec<[Run; 16]> = self.lines.runs(lines.clone()).collect();
        let mut known = None;
        for (&value, mask) in values.iter().zip(masks) {
            if known.is_none_or(|(of, _)| of != value) {
                known = Some((value, lanes(&runs, self.low - value, self.high - value)));
            }
            *mask &= known.expect("just noted").1;
        }
    }
}

impl Scale {
    /// The kinds of depth to guards of these steps, if numbers can tell them.
    fn new(sizes: &[usize], steps: &[&[i64]]) -> Option<Scale> {
        let mut strides = vec![0; sizes.len()];
        let mut count = 1_usize;
        for axis in (0..sizes.len()).rev().filter(|&axis| steps.iter().any(|steps| steps[axis] != 0)) {
            strides[axis] = count as i64;
            count = count.checked_mul(sizes[axis]).filter(|&count| count <= 1 << 16)?;
        }
        let long = (0..sizes.len()).filter(|&axis| sizes[axis] != 1);
        let in_turn = long.map(|axis| strides[axis] != 0).is_sorted();
        Some(Scale { of: Group::new(sizes, &strides), count, in_turn })
    }

    /// What a guard of these steps says of each kind.
    fn values(&self, sizes: &[usize], steps: &[i64]) -> Vec<i64> {
        let value = Group::new(sizes, steps);
        let mut values = vec![0; self.count];
        let mut left = self.count;
        // Every kind comes before long.
        let mut seen = vec![false; self.count];
        for depth in 0..value.len() {
            let kind = self.of.offset(depth) as usize;
            if !std::mem::replace(&mut seen[kind], true) {
                values[kind] = value.offset(depth) as i64;
                left -= 1;
                if left == 0 {
                    break;
                }
            }
        }
        values
    }
}

impl Seen<'_> {
    /// See [`Border::table`].
    pub(super) fn table(&self, lines: &Range<usize>, width: usize) -> Option<&Table> {
        self.border.table(lines, width)
    }

    /// How many elements the buffer has.
    pub(super) fn len(&self) -> usize {
        self.border.len
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
            let runs = bound.lines.runs(lines.clone());
            let values = runs.flat_map(|run| (0..run.len).map(move |i| run.offset + i as isize * run.stride));
            for (to, line) in to.iter_mut().zip(values) {
                let inside = within(line as i64 + value, step, len, low, high);
                let both = to.start.max(inside.start)..to.end.min(inside.end);
                *to = if both.is_empty() { 0..0 } else { both };
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
    fn windows(width: usize) -> Border {
        let steps = [vec![0, 1, 0, 0, 1, 0], vec![0, 0, 1, 0, 0, 1]];
        let [rows, cols] = steps.map(|steps| Guard { steps, low: 1, high: 5 });
        let guards = [rows, Guard { high: 6, ..cols }];
        let mut border = Border::new(&guards, [&[3], &[4, 6], &[2, 3, 2]], 120).unwrap();
        border.tabulate(width, &guards, &[2, 3, 2]);
        border
    }

    fn is_inside(line: usize, depth: usize) -> bool {
        let (row, col) = (line / 6 + depth / 2 % 3, line % 6 + depth % 2);
        (1..5).contains(&row) && (1..6).contains(&col)
    }

    #[test]
    fn depths_are_the_places_of_a_window_in_turn() {
        let border = windows(16);
        let table = border.table.unwrap();
        assert!((0..12).all(|depth| table.in_turn(depth) == Some(depth % 6)));
        let masks = table.masks(16);
        for depth in [0..12, 3..10, 5..6] {
            let mut open = vec![7; depth.len()];
            table.open(&masks, &depth, &mut open);
            assert!(depth.zip(open).all(|(depth, open)| open == masks[0][depth % 6]));
        }
    }

    #[test]
    fn masks_are_what_bounds_say() {
        for width in [1, 5, 8, 16] {
            let border = windows(width);
            let seen = border.seen(1, 0);
            let table = seen.table(&(0..24), width).unwrap();
            for start in (0..24).step_by(width) {
                let [masks, ..] = table.masks(start);
                for (depth, mask) in masks.iter().enumerate() {
                    for lane in 0..16 {
                        let wanted = lane < width && start + lane < 24 && is_inside(start + lane, depth);
                        assert_eq!(mask >> lane & 1 == 1, wanted, "{width}: {start} + {lane}, {depth}");
                    }
                }
            }
        }
    }

    #[test]
    fn insides_are_what_bounds_say() {
        let border = windows(16);
        let seen = border.seen(1, 0);
        for (start, end) in [(0, 16), (3, 5), (13, 24), (7, 8), (8, 10)] {
            for depth in 0..12 {
                let even = seen.even(depth);
                assert_eq!(even, 2 - depth % 2);
                let mut insides = vec![7..8; end - start];
                seen.insides(start..end, depth, even, &mut insides);
                for (line, range) in (start..end).zip(insides) {
                    assert!(range.eq((0..even).filter(|k| is_inside(line, depth + k))), "{line} {depth}");
                }
            }
        }
    }

    #[test]
    fn many_kinds_have_a_scale_for_each_bound() {
        let guard = |steps: Vec<i64>| Guard { steps, low: 3, high: 20 };
        let guards = [guard(vec![1, 0, 1]), guard(vec![1, 1, 0])];
        let mut border = Border::new(&guards, [&[], &[20], &[20, 30]], 1).unwrap();
        border.tabulate(8, &guards, &[20, 30]);
        let table = border.table.unwrap();
        assert!(table.in_turn(0).is_none());
        let masks = table.masks(8);
        let [first, second, _] = masks;
        let mut open = [0; 200];
        table.open(&masks, &(70..270), &mut open);
        assert!((70..270).zip(open).all(|(depth, open)| open == first[depth % 30] & second[depth / 30]));
        assert_eq!((first.len(), second.len()), (30, 20));
        for lane in 0..8 {
            assert!((0..30).all(|kind| (first[kind] >> lane & 1 == 1) == (3..20).contains(&(8 + lane + kind))));
            assert!((0..20).all(|kind| (second[kind] >> lane & 1 == 1) == (3..20).contains(&(8 + lane + kind))));
        }
        assert!(Border::new(&[], [&[], &[4], &[300]], 1).is_none());
    }
}
