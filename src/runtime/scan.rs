//! Running totals along an axis.
//!
//! A line is cut into blocks of [`BLOCK`] elements. Totals run through each block on their own, and what stands before the block (its
//! carry) is joined to each of them. So several blocks run side by side, in one thread and in several, and the result is the same
//! bits however they are shared out. Totals that cannot be joined so (a product that overflows in a block may be 0 in
//! the line) run through the whole line in one go.

use super::number::{Number, Wide};
use super::slots::Slots;
use super::threads::parallel;
use crate::graph::ScanKind;

/// How many elements run on their own.
const BLOCK: usize = 1024;

/// How many blocks or lines run side by side in one thread: an addition takes four times as long as it takes to begin the next.
const CHAINS: usize = 4;

/// How many elements one thread takes at a time, at least.
const PART: usize = 1 << 15;

/// The most columns that run side by side: their totals stay in the nearest cache.
const COLUMNS: usize = 1024;

/// A long line is shared by threads if there are fewer parts than this.
const FEW_PARTS: usize = 4;

/// The lines of a dense tensor: element `t` of a line lies at `t * inner` from its first.
#[derive(Clone, Copy)]
pub(super) struct Lines {
    pub(super) outer: usize,
    pub(super) len: usize,
    pub(super) inner: usize,
    pub(super) reverse: bool,
}

impl Lines {
    /// The lines along an axis.
    pub(super) fn new(shape: &[usize], axis: usize, reverse: bool) -> Lines {
        let product = |sizes: &[usize]| sizes.iter().product();
        Lines { outer: product(&shape[..axis]), len: shape[axis], inner: product(&shape[axis + 1..]), reverse }
    }

    /// The place on the axis of the element that is met as number `t`.
    fn on_axis(&self, t: usize) -> usize {
        if self.reverse { self.len - 1 - t } else { t }
    }

    /// How many blocks a line has.
    fn blocks(&self) -> usize {
        self.len.div_ceil(BLOCK)
    }
}

/// A kind of running total over dense elements, which are known by their places.
trait Scan: Sync {
    type Total: Copy + Send + Sync;
    type Out: Copy + Send;
    /// Totals of neighbouring blocks can be joined.
    const JOINS: bool;
    /// The total of one element, at a place of the tensor and of the axis.
    fn begin(&self, place: usize, at: usize) -> Self::Total;
    fn next(&self, total: Self::Total, place: usize, at: usize) -> Self::Total;
    /// The total of a block behind another one.
    fn join(carry: Self::Total, total: Self::Total) -> Self::Total;
    fn out(total: Self::Total) -> Self::Out;
}

/// Writes the running totals of `inputs` along the lines to `out`.
///
/// # Safety
/// `out` has room for as many elements as each input has, of the dtype that the kind gives, and nobody else uses it.
pub(super) unsafe fn scan<T: Number>(kind: ScanKind, inputs: &[&[T]], lines: Lines, out: *mut u8) {
    let x = inputs[inputs.len() - 1];
    let fits = lines.outer * lines.len * lines.inner;
    assert!(inputs.iter().all(|input| input.len() >= fits), "an input has all elements of the lines");
    match kind {
        ScanKind::Sum => run(&Sum(x), lines, out.cast()),
        ScanKind::Prod => run(&Prod(x), lines, out.cast()),
        ScanKind::Max => run(&Extreme::<T, true>(x), lines, out.cast()),
        ScanKind::Min => run(&Extreme::<T, false>(x), lines, out.cast()),
        ScanKind::ArgMax => run(&Where::<T, true>(x), lines, out.cast()),
        ScanKind::ArgMin => run(&Where::<T, false>(x), lines, out.cast()),
        ScanKind::Linear => run(&Linear(inputs[0], x), lines, out.cast()),
    }
}

fn run<K: Scan>(kind: &K, lines: Lines, out: *mut K::Out) {
    if lines.outer * lines.len * lines.inner == 0 {
        return;
    }
    let out = Slots::new(out);
    if lines.inner > 1 {
        across(kind, lines, &out);
    } else if K::JOINS && lines.len > BLOCK {
        along_blocks(kind, lines, &out);
    } else {
        along(kind, lines, &out);
    }
}

/// Where a chain begins: the place of its first element, and how many elements of the line come before it.
#[derive(Clone, Copy)]
struct Start {
    place: usize,
    met: usize,
}

/// Lets `C` chains run side by side over `len` elements each. Calls `emit` with each total, its chain and its number in it.
#[inline(always)]
fn chains<K: Scan, const C: usize>(
    kind: &K,
    lines: Lines,
    starts: [Start; C],
    len: usize,
    mut emit: impl FnMut(usize, usize, K::Total),
) -> [K::Total; C] {
    let place = |start: Start, k: usize| if lines.reverse { start.place - k } else { start.place + k };
    let mut totals: [K::Total; C] = std::array::from_fn(|c| {
        let total = kind.begin(starts[c].place, lines.on_axis(starts[c].met));
        emit(c, 0, total);
        total
    });
    for k in 1..len {
        for c in 0..C {
            totals[c] = kind.next(totals[c], place(starts[c], k), lines.on_axis(starts[c].met + k));
            emit(c, k, totals[c]);
        }
    }
    totals
}

impl Lines {
    /// The beginning of a line of neighbouring elements, after `met` of them.
    fn start(&self, line: usize, met: usize) -> Start {
        Start { place: line * self.len + self.on_axis(met), met }
    }
}

/// Whole lines of neighbouring elements, a few at a time.
fn along<K: Scan>(kind: &K, lines: Lines, out: &Slots<K::Out>) {
    let group = (PART / lines.len).max(1);
    parallel(lines.outer.div_ceil(group), &|part| {
        let end = ((part + 1) * group).min(lines.outer);
        let mut line = part * group;
        while line + CHAINS <= end {
            whole_lines::<K, CHAINS>(kind, lines, line, out);
            line += CHAINS;
        }
        (line..end).for_each(|line| whole_lines::<K, 1>(kind, lines, line, out));
    });
}

fn whole_lines<K: Scan, const C: usize>(kind: &K, lines: Lines, line: usize, out: &Slots<K::Out>) {
    let starts = std::array::from_fn(|c| lines.start(line + c, 0));
    chains::<K, C>(kind, lines, starts, lines.len, |c, k, total| {
        // SAFETY: each place belongs to one line, and each line to one part.
        unsafe { out.write((line + c) * lines.len + lines.on_axis(k), K::out(total)) }
    });
}

/// Lines of neighbouring elements, a few blocks at a time.
fn along_blocks<K: Scan>(kind: &K, lines: Lines, out: &Slots<K::Out>) {
    let group = (PART / lines.len).max(1);
    let parts = lines.outer.div_ceil(group);
    let blocks = lines.blocks();
    if parts >= FEW_PARTS || blocks < 2 * CHAINS {
        parallel(parts, &|part| {
            let mut scratch = Vec::new();
            for line in part * group..((part + 1) * group).min(lines.outer) {
                let mut carry = None;
                for block in (0..blocks).step_by(CHAINS) {
                    let end = (block + CHAINS).min(blocks);
                    joined(kind, lines, line, block..end, &mut scratch, out, &mut |_, total| {
                        let before = carry;
                        carry = Some(carry.map_or(total, |carry| K::join(carry, total)));
                        before
                    });
                }
            }
        });
        return;
    }
    // The totals of all blocks first, then what stands before each, then the elements.
    let per_part = (PART / BLOCK).next_multiple_of(CHAINS);
    let line_parts = blocks.div_ceil(per_part);
    let range = |part: usize| {
        let first = part % line_parts * per_part;
        (part / line_parts, first..(first + per_part).min(blocks))
    };
    let mut carries: Vec<Option<K::Total>> = vec![None; lines.outer * blocks];
    let slots = Slots::new(carries.as_mut_ptr());
    parallel(lines.outer * line_parts, &|part| {
        let (line, own) = range(part);
        for block in own.clone().step_by(CHAINS) {
            let end = (block + CHAINS).min(own.end);
            let totals = locals(kind, lines, line, block..end, |_, _, _| {});
            for (k, &total) in totals.iter().enumerate().take(end - block) {
                // SAFETY: each block belongs to one part.
                unsafe { slots.write(line * blocks + block + k, total) };
            }
        }
    });
    carries.chunks_mut(blocks).for_each(|line| hand_on::<K>(line.iter_mut()));
    parallel(lines.outer * line_parts, &|part| {
        let (line, own) = range(part);
        let mut scratch = Vec::new();
        for block in own.clone().step_by(CHAINS) {
            let end = (block + CHAINS).min(own.end);
            joined(kind, lines, line, block..end, &mut scratch, out, &mut |block, _| carries[line * blocks + block]);
        }
    });
}

/// From the totals of blocks to what stands before each.
fn hand_on<'a, K: Scan>(totals: impl Iterator<Item = &'a mut Option<K::Total>>)
where
    K::Total: 'a,
{
    let mut carry: Option<K::Total> = None;
    for slot in totals {
        let total = slot.take();
        *slot = carry;
        carry = match (carry, total) {
            (Some(carry), Some(total)) => Some(K::join(carry, total)),
            (carry, total) => total.or(carry),
        };
    }
}

/// The totals of up to [`CHAINS`] blocks of a line.
fn locals<K: Scan>(
    kind: &K,
    lines: Lines,
    line: usize,
    blocks: std::ops::Range<usize>,
    mut emit: impl FnMut(usize, usize, K::Total),
) -> [Option<K::Total>; CHAINS] {
    let is_whole = blocks.len() == CHAINS && blocks.end * BLOCK <= lines.len;
    if is_whole {
        let starts = std::array::from_fn(|c| lines.start(line, (blocks.start + c) * BLOCK));
        return chains::<K, CHAINS>(kind, lines, starts, BLOCK, emit).map(Some);
    }
    std::array::from_fn(|c| {
        let first = (blocks.start + c) * BLOCK;
        let len = BLOCK.min(lines.len.saturating_sub(first));
        (c < blocks.len())
            .then(|| chains::<K, 1>(kind, lines, [lines.start(line, first)], len, |_, k, total| emit(c, k, total))[0])
    })
}

/// Runs through some blocks of a line and joins to each what stands before it, as `carry` says of the block and its total.
fn joined<K: Scan>(
    kind: &K,
    lines: Lines,
    line: usize,
    blocks: std::ops::Range<usize>,
    scratch: &mut Vec<K::Total>,
    out: &Slots<K::Out>,
    carry: &mut dyn FnMut(usize, K::Total) -> Option<K::Total>,
) {
    if scratch.is_empty() {
        let start = lines.start(line, 0);
        scratch.resize(CHAINS * BLOCK, kind.begin(start.place, lines.on_axis(0)));
    }
    let totals = locals(kind, lines, line, blocks.clone(), |c, k, total| scratch[c * BLOCK + k] = total);
    for (c, (block, total)) in blocks.zip(totals.into_iter().flatten()).enumerate() {
        let carry = carry(block, total);
        let first = block * BLOCK;
        let own = &scratch[c * BLOCK..c * BLOCK + BLOCK.min(lines.len - first)];
        for (k, &total) in own.iter().enumerate() {
            let total = carry.map_or(total, |carry| K::join(carry, total));
            // SAFETY: each place belongs to one block, and each block to one part.
            unsafe { out.write(line * lines.len + lines.on_axis(first + k), K::out(total)) };
        }
    }
}

/// Lines whose elements lie apart: neighbouring lines run side by side.
fn across<K: Scan>(kind: &K, lines: Lines, out: &Slots<K::Out>) {
    let width = lines.inner.min(COLUMNS);
    let tiles = lines.inner.div_ceil(width);
    let tile = |part: usize| {
        let first = part % tiles * width;
        (part / tiles, first..(first + width).min(lines.inner))
    };
    let parts = lines.outer * tiles;
    let blocks = if K::JOINS { lines.blocks() } else { 1 };
    let rows = |block: usize| if K::JOINS { block * BLOCK..((block + 1) * BLOCK).min(lines.len) } else { 0..lines.len };
    if parts >= FEW_PARTS || blocks < 2 * FEW_PARTS {
        // Small ones together.
        let group = (PART / (width * lines.len)).max(1);
        parallel(parts.div_ceil(group), &|part| {
            for part in part * group..((part + 1) * group).min(parts) {
                let (outer, columns) = tile(part);
                let mut carry: Vec<K::Total> = Vec::new();
                let mut totals = Vec::new();
                for block in 0..blocks {
                    block_across(kind, lines, outer, columns.clone(), rows(block), &mut totals, Some((&carry, out)));
                    if carry.is_empty() {
                        carry.extend(&totals);
                    } else {
                        carry.iter_mut().zip(&totals).for_each(|(carry, &total)| *carry = K::join(*carry, total));
                    }
                }
            }
        });
        return;
    }
    let mut carries: Vec<Option<K::Total>> = vec![None; parts * blocks * width];
    let slots = Slots::new(carries.as_mut_ptr());
    parallel(parts * blocks, &|piece| {
        let ((outer, columns), block) = (tile(piece / blocks), piece % blocks);
        let mut totals = Vec::new();
        block_across(kind, lines, outer, columns, rows(block), &mut totals, None);
        for (k, total) in totals.into_iter().enumerate() {
            // SAFETY: each piece has slots of its own.
            unsafe { slots.write(piece * width + k, Some(total)) };
        }
    });
    for part in carries.chunks_mut(blocks * width) {
        for column in 0..width {
            hand_on::<K>(part[column..].iter_mut().step_by(width));
        }
    }
    parallel(parts * blocks, &|piece| {
        let ((outer, columns), block) = (tile(piece / blocks), piece % blocks);
        let carry: Vec<K::Total> = carries[piece * width..][..columns.len()].iter().copied().flatten().collect();
        block_across(kind, lines, outer, columns, rows(block), &mut Vec::new(), Some((&carry, out)));
    });
}

/// What stands before some columns (nothing, or a number for each), and where their totals go.
type Target<'a, K> = (&'a [<K as Scan>::Total], &'a Slots<<K as Scan>::Out>);

/// Runs through some rows of some columns, on their own; with an output, what stands before them (nothing, or a number for each
/// column) is joined to each total that is written.
fn block_across<K: Scan>(
    kind: &K,
    lines: Lines,
    outer: usize,
    columns: std::ops::Range<usize>,
    rows: std::ops::Range<usize>,
    totals: &mut Vec<K::Total>,
    write: Option<Target<'_, K>>,
) {
    let start = |met: usize| (outer * lines.len + lines.on_axis(met)) * lines.inner + columns.start;
    totals.clear();
    for met in rows.clone() {
        let (place, at) = (start(met), lines.on_axis(met));
        if met == rows.start {
            totals.extend((0..columns.len()).map(|k| kind.begin(place + k, at)));
        } else {
            totals.iter_mut().enumerate().for_each(|(k, total)| *total = kind.next(*total, place + k, at));
        }
        let Some((carry, out)) = write else { continue };
        if carry.is_empty() {
            for (k, &total) in totals.iter().enumerate() {
                // SAFETY: each place belongs to one column and one row, and those to one piece of work.
                unsafe { out.write(place + k, K::out(total)) };
            }
        } else {
            for (k, (&total, &carry)) in totals.iter().zip(carry).enumerate() {
                // SAFETY: as above.
                unsafe { out.write(place + k, K::out(K::join(carry, total))) };
            }
        }
    }
}

/// The element at a place of the lines.
#[inline(always)]
fn element<T: Number>(values: &[T], place: usize) -> T {
    debug_assert!(place < values.len());
    // SAFETY: `scan` has checked that there are as many elements as the lines have places, and asks for no others.
    unsafe { *values.get_unchecked(place) }
}

#[inline(always)]
fn at<T: Number>(values: &[T], place: usize) -> T::Wide {
    element(values, place).widen()
}

#[inline(always)]
fn running<T: Number>(values: &[T], place: usize) -> T::Running {
    element(values, place).to_running()
}

struct Sum<'a, T>(&'a [T]);

impl<T: Number> Scan for Sum<'_, T> {
    type Total = T::Running;
    type Out = T;
    const JOINS: bool = true;
    #[inline(always)]
    fn begin(&self, place: usize, _: usize) -> T::Running {
        running(self.0, place)
    }
    #[inline(always)]
    fn next(&self, total: T::Running, place: usize, _: usize) -> T::Running {
        total.plus(running(self.0, place))
    }
    #[inline(always)]
    fn join(carry: T::Running, total: T::Running) -> T::Running {
        carry.plus(total)
    }
    #[inline(always)]
    fn out(total: T::Running) -> T {
        T::from_running(total)
    }
}

struct Prod<'a, T>(&'a [T]);

impl<T: Number> Scan for Prod<'_, T> {
    type Total = T::Running;
    type Out = T;
    const JOINS: bool = !T::Running::IS_FLOAT;
    #[inline(always)]
    fn begin(&self, place: usize, _: usize) -> T::Running {
        running(self.0, place)
    }
    #[inline(always)]
    fn next(&self, total: T::Running, place: usize, _: usize) -> T::Running {
        total.times(running(self.0, place))
    }
    #[inline(always)]
    fn join(carry: T::Running, total: T::Running) -> T::Running {
        carry.times(total)
    }
    #[inline(always)]
    fn out(total: T::Running) -> T {
        T::from_running(total)
    }
}

/// Whether a running extreme gives way to `x`: NaN does to nothing but NaN, and equal ones to the later.
#[inline(always)]
fn replaces<W: Wide, const LARGEST: bool>(x: W, total: W) -> bool {
    x.is_nan() || if LARGEST { x >= total } else { x <= total }
}

/// The running maximum or minimum.
struct Extreme<'a, T, const LARGEST: bool>(&'a [T]);

impl<T: Number, const LARGEST: bool> Scan for Extreme<'_, T, LARGEST> {
    type Total = T::Wide;
    type Out = T;
    const JOINS: bool = true;
    #[inline(always)]
    fn begin(&self, place: usize, _: usize) -> T::Wide {
        at(self.0, place)
    }
    #[inline(always)]
    fn next(&self, total: T::Wide, place: usize, _: usize) -> T::Wide {
        Self::join(total, at(self.0, place))
    }
    #[inline(always)]
    fn join(carry: T::Wide, total: T::Wide) -> T::Wide {
        if replaces::<_, LARGEST>(total, carry) { total } else { carry }
    }
    #[inline(always)]
    fn out(total: T::Wide) -> T {
        T::narrow(total)
    }
}

/// Where the running maximum or minimum was met last.
struct Where<'a, T, const LARGEST: bool>(&'a [T]);

impl<T: Number, const LARGEST: bool> Scan for Where<'_, T, LARGEST> {
    type Total = (T::Wide, i64);
    type Out = i64;
    const JOINS: bool = true;
    #[inline(always)]
    fn begin(&self, place: usize, on_axis: usize) -> (T::Wide, i64) {
        (at(self.0, place), on_axis as i64)
    }
    #[inline(always)]
    fn next(&self, total: (T::Wide, i64), place: usize, on_axis: usize) -> (T::Wide, i64) {
        Self::join(total, (at(self.0, place), on_axis as i64))
    }
    #[inline(always)]
    fn join(carry: (T::Wide, i64), total: (T::Wide, i64)) -> (T::Wide, i64) {
        if replaces::<_, LARGEST>(total.0, carry.0) { total } else { carry }
    }
    #[inline(always)]
    fn out(total: (T::Wide, i64)) -> i64 {
        total.1
    }
}

/// `h = a · h + b`.
struct Linear<'a, T>(&'a [T], &'a [T]);

impl<T: Number> Scan for Linear<'_, T> {
    type Total = T::Running;
    type Out = T;
    const JOINS: bool = false;
    #[inline(always)]
    fn begin(&self, place: usize, _: usize) -> T::Running {
        running(self.1, place)
    }
    #[inline(always)]
    fn next(&self, total: T::Running, place: usize, _: usize) -> T::Running {
        running(self.0, place).times(total).plus(running(self.1, place))
    }
    fn join(_: T::Running, _: T::Running) -> T::Running {
        unreachable!("these run through the whole line in one go")
    }
    #[inline(always)]
    fn out(total: T::Running) -> T {
        T::from_running(total)
    }
}
