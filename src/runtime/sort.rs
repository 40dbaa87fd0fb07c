//! The order of the elements of a line, and the places of values in a sorted one.
//!
//! Elements become unsigned keys of the same order, so that all dtypes share one sort: by digits, from the last to the first. The
//! first few of many are found without sorting the rest: what is not better than the worst of the best so far is passed over.

use super::scan::Lines;
use super::slots::Slots;
use super::threads::parallel;
use crate::dtype::{TensorDType, bf16, f16};

/// How many elements one thread takes at a time, at least.
const PART: usize = 1 << 14;

/// More parts than this are not needed to keep threads busy.
const MANY_PARTS: usize = 64;

/// Neighbouring lines that are read together where the elements of a line lie apart.
const TOGETHER: usize = 16;

/// Shorter lines are sorted by comparing.
const SHORT: usize = 192;

/// Lines from this length on are sorted by large digits.
const LONG: usize = 2048;

/// The first few are looked for, rather than all sorted, if they are so many times fewer.
const FEW: usize = 8;

/// How many keys are looked at together when the first few are looked for.
const CHUNK: usize = 64;

/// A number with the order of an element: NaN is the largest, zeros are equal.
pub(super) trait Keyed: TensorDType {
    type Key: Key;
    fn key(self) -> Self::Key;
}

/// An unsigned number that is sorted by.
pub(super) trait Key: Copy + Ord + Send + Sync + 'static {
    /// The key with its element's place.
    type Record: Record<Key = Self>;
    const BITS: u32;
    fn reversed(self) -> Self;
}

/// A key and a place: ordered by the key, and equal keys by the place.
pub(super) trait Record: Copy + Ord + Send + Sync {
    type Key;
    fn new(key: Self::Key, place: usize) -> Self;
    fn place(self) -> usize;
    fn key(self) -> Self::Key;
    /// Some bits of the key.
    fn digit(self, shift: u32, mask: usize) -> usize;
}

impl Key for u32 {
    type Record = u64;
    const BITS: u32 = 32;
    #[inline(always)]
    fn reversed(self) -> u32 {
        !self
    }
}

impl Record for u64 {
    type Key = u32;
    #[inline(always)]
    fn new(key: u32, place: usize) -> u64 {
        u64::from(key) << 32 | place as u64
    }
    #[inline(always)]
    fn place(self) -> usize {
        self as u32 as usize
    }
    #[inline(always)]
    fn key(self) -> u32 {
        (self >> 32) as u32
    }
    #[inline(always)]
    fn digit(self, shift: u32, mask: usize) -> usize {
        (self >> (32 + shift)) as usize & mask
    }
}

impl Key for u64 {
    type Record = (u64, u64);
    const BITS: u32 = 64;
    #[inline(always)]
    fn reversed(self) -> u64 {
        !self
    }
}

impl Record for (u64, u64) {
    type Key = u64;
    #[inline(always)]
    fn new(key: u64, place: usize) -> (u64, u64) {
        (key, place as u64)
    }
    #[inline(always)]
    fn place(self) -> usize {
        self.1 as usize
    }
    #[inline(always)]
    fn key(self) -> u64 {
        self.0
    }
    #[inline(always)]
    fn digit(self, shift: u32, mask: usize) -> usize {
        (self.0 >> shift) as usize & mask
    }
}

macro_rules! keys {
    ($($ty:ty, $key:ty, $f:expr;)*) => {$(
        impl Keyed for $ty {
            type Key = $key;
            #[inline(always)]
            fn key(self) -> $key {
                let f: fn($ty) -> $key = $f;
                f(self)
            }
        }
    )*};
}

/// Numbers below zero are reversed and come first; the others follow.
macro_rules! float_key {
    ($x:expr, $bits:ident) => {{
        let x = $x;
        let bits = if x == 0.0 { 0 } else { x.to_bits() };
        let top = 1 << ($bits::BITS - 1);
        let key = if bits & top != 0 { !bits } else { bits | top };
        if x != x { $bits::MAX } else { key }
    }};
}

keys! {
    bool, u32, |x| x.into();
    u8, u32, |x| x.into();
    u16, u32, |x| x.into();
    u32, u32, |x| x;
    u64, u64, |x| x;
    i8, u32, |x| (x as u8 ^ 0x80).into();
    i16, u32, |x| (x as u16 ^ 0x8000).into();
    i32, u32, |x| x as u32 ^ 0x8000_0000;
    i64, u64, |x| x as u64 ^ 0x8000_0000_0000_0000;
    f16, u32, |x| x.to_f32().key();
    bf16, u32, |x| x.to_f32().key();
    f32, u32, |x| float_key!(x, u32);
    f64, u64, |x| float_key!(x, u64);
}

/// Writes the positions of the first `count` elements of each line, in order. Equal elements stay in theirs.
///
/// # Safety
/// `out` has room for `count` positions of each line, and nobody else uses it.
pub(super) unsafe fn order<T: Keyed>(x: &[T], lines: Lines, descending: bool, count: usize, out: *mut i64) {
    let Lines { outer, len, inner, .. } = lines;
    if outer * inner * count == 0 {
        return;
    }
    assert!(u32::try_from(len).is_ok(), "longer lines are refused when it is asked for");
    let out = Slots::new(out);
    let together = TOGETHER.min(inner);
    let groups = inner.div_ceil(together);
    let pieces = outer * groups;
    let per_part = (PART / (len * together)).max(pieces / MANY_PARTS).max(1);
    parallel(pieces.div_ceil(per_part), &|part| {
        let mut keys: Vec<T::Key> = Vec::new();
        let mut sorter: Sorter<<T::Key as Key>::Record> = Sorter::default();
        for piece in part * per_part..((part + 1) * per_part).min(pieces) {
            let (block, first) = (piece / groups, piece % groups * together);
            let own = together.min(inner - first);
            read_keys(&x[block * len * inner..], lines, first, own, descending, &mut keys);
            for line in 0..own {
                for (k, record) in sorter.first(&keys[line * len..(line + 1) * len], count).iter().enumerate() {
                    let place = (block * count + k) * inner + first + line;
                    // SAFETY: the place lies among those of this line, which belongs to this part alone.
                    unsafe { out.write(place, record.place() as i64) };
                }
            }
        }
    });
}

/// The keys of some neighbouring lines, line after line.
fn read_keys<T: Keyed>(x: &[T], lines: Lines, first: usize, own: usize, descending: bool, keys: &mut Vec<T::Key>) {
    let key = |x: T| if descending { x.key().reversed() } else { x.key() };
    keys.clear();
    if lines.inner == 1 {
        if descending {
            keys.extend(x[..lines.len].iter().map(|x| x.key().reversed()));
        } else {
            keys.extend(x[..lines.len].iter().map(|x| x.key()));
        }
        return;
    }
    keys.resize(own * lines.len, key(x[first]));
    for (t, row) in x.chunks(lines.inner).take(lines.len).enumerate() {
        for (line, &x) in row[first..first + own].iter().enumerate() {
            keys[line * lines.len + t] = key(x);
        }
    }
}

/// Memory for sorting one line after the other.
struct Sorter<R> {
    records: Vec<R>,
    spare: Vec<R>,
    counts: Vec<u32>,
}

impl<R> Default for Sorter<R> {
    fn default() -> Sorter<R> {
        Sorter { records: Vec::new(), spare: Vec::new(), counts: Vec::new() }
    }
}

impl<R: Record> Sorter<R>
where
    R::Key: Key<Record = R>,
{
    /// The first `count` of the keys in order, with their places.
    fn first(&mut self, keys: &[R::Key], count: usize) -> &[R] {
        if count < keys.len() && count.saturating_mul(FEW) <= keys.len() {
            self.select(keys, count);
        } else {
            self.sort(keys);
        }
        &self.records[..count]
    }

    /// Keeps a list of the best so far, with room for as many again: when it is full, the worse half goes.
    fn select(&mut self, keys: &[R::Key], count: usize) {
        let room = (2 * count).max(CHUNK);
        let records = &mut self.records;
        records.clear();
        let start = room.min(keys.len());
        records.extend(keys[..start].iter().enumerate().map(|(place, &key)| R::new(key, place)));
        let keep_best = |records: &mut Vec<R>| {
            let worst = records.select_nth_unstable(count - 1).1.key();
            records.truncate(count);
            worst
        };
        let mut worst = keep_best(records);
        for (chunk, keys) in keys[start..].chunks(CHUNK).enumerate() {
            // Of equal keys those that came first stay, so only smaller ones count.
            if !keys.iter().fold(false, |any, key| any | (*key < worst)) {
                continue;
            }
            for (k, &key) in keys.iter().enumerate() {
                if key < worst {
                    records.push(R::new(key, start + chunk * CHUNK + k));
                    if records.len() == room {
                        worst = keep_best(records);
                    }
                }
            }
        }
        keep_best(records);
        records.sort_unstable();
    }

    /// All of them.
    fn sort(&mut self, keys: &[R::Key]) {
        self.records.clear();
        self.records.extend(keys.iter().enumerate().map(|(place, &key)| R::new(key, place)));
        if keys.len() < SHORT {
            return self.records.sort_unstable();
        }
        let width = if keys.len() < LONG { 8 } else { 11 };
        self.by_digits(width, R::Key::BITS.div_ceil(width) as usize);
    }

    /// Sorts by each digit in turn, the last first. Equal ones keep their order.
    fn by_digits(&mut self, width: u32, digits: usize) {
        let (size, mask) = (1 << width, (1 << width) - 1);
        self.counts.clear();
        self.counts.resize(digits * size, 0);
        for record in &self.records {
            for (digit, counts) in self.counts.chunks_exact_mut(size).enumerate() {
                counts[record.digit(digit as u32 * width, mask)] += 1;
            }
        }
        self.spare.clear();
        self.spare.resize(self.records.len(), self.records[0]);
        for (digit, places) in self.counts.chunks_exact_mut(size).enumerate() {
            let shift = digit as u32 * width;
            // A digit that all have in common changes nothing.
            if places[self.records[0].digit(shift, mask)] as usize == self.records.len() {
                continue;
            }
            let mut before = 0;
            for place in places.iter_mut() {
                before += std::mem::replace(place, before);
            }
            for &record in &self.records {
                let place = &mut places[record.digit(shift, mask)];
                self.spare[*place as usize] = record;
                *place += 1;
            }
            std::mem::swap(&mut self.records, &mut self.spare);
        }
    }
}

/// Writes how many elements of a sorted line come before each value; with `right` those that are equal too.
///
/// # Safety
/// `out` has room for a position for each value, and nobody else uses it.
pub(super) unsafe fn search<T: Keyed>(sorted: &[T], values: &[T], lines: usize, right: bool, out: *mut i64) {
    if values.is_empty() || lines == 0 {
        return;
    }
    let out = Slots::new(out);
    let (len, count) = (sorted.len() / lines, values.len() / lines);
    parallel(values.len().div_ceil(PART), &|part| {
        for (k, value) in values.iter().enumerate().skip(part * PART).take(PART) {
            let (line, value) = (k / count, value.key());
            let own = &sorted[line * len..(line + 1) * len];
            let place = own.partition_point(|x| if right { x.key() <= value } else { x.key() < value });
            // SAFETY: each value belongs to one part.
            unsafe { out.write(k, place as i64) };
        }
    });
}
