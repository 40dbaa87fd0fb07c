//! Blocks of aligned bytes, kept by size class when they are freed.
//!
//! A class is a rounded-up size, four to each doubling, so at most a fifth of a block goes unused
//! (the tail of a large block is never touched and so takes no memory). When more is kept than the limit allows, the
//! blocks that lay unused longest go first.

use super::Stats;
use super::system::{self, ALIGN};
use std::collections::VecDeque;
use std::ptr::NonNull;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// How many bytes may be kept unless the user says otherwise.
const DEFAULT_LIMIT: usize = 1 << 30;

/// One more than the class of the largest size that can be addressed.
const CLASSES: usize = 224;

/// The pool all tensors share.
pub(super) static HOST: Pool = Pool::new(DEFAULT_LIMIT);

/// Freed blocks, and the counts.
pub(super) struct Pool(Mutex<Shelves>);

struct Shelves {
    /// Kept blocks of each class, the longest unused in front.
    kept: [VecDeque<Kept>; CLASSES],
    /// Counts the blocks put back so far: a block's age.
    clock: u64,
    stats: Stats,
}

struct Kept {
    start: NonNull<u8>,
    since: u64,
}

// SAFETY: a kept block belongs to the pool alone; nobody else holds its address.
unsafe impl Send for Kept {}

/// Bytes owned by one holder; dropping it puts them back into the pool they came from.
pub(super) struct Block {
    start: NonNull<u8>,
    bytes: usize,
    pool: &'static Pool,
}

// SAFETY: a block owns its bytes; the address is not tied to a thread.
unsafe impl Send for Block {}
// SAFETY: a shared `&Block` gives out only the address; who reads or writes through it answers for that.
unsafe impl Sync for Block {}

impl Block {
    pub(super) fn start(&self) -> NonNull<u8> {
        self.start
    }

    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }
}

impl Drop for Block {
    fn drop(&mut self) {
        if self.bytes > 0 {
            self.pool.put(self.start, self.bytes);
        }
    }
}

impl Pool {
    pub(super) const fn new(limit: usize) -> Pool {
        let stats = Stats { live_bytes: 0, peak_bytes: 0, pooled_bytes: 0, pool_limit: limit, fresh: 0, reused: 0 };
        Pool(Mutex::new(Shelves { kept: [const { VecDeque::new() }; CLASSES], clock: 0, stats }))
    }

    /// A block of at least `bytes` bytes with any contents; `None` when the system has no more.
    pub(super) fn take(&'static self, bytes: usize) -> Option<Block> {
        if bytes == 0 {
            let start = NonNull::new(std::ptr::without_provenance_mut(ALIGN))?;
            return Some(Block { start, bytes, pool: self });
        }
        let (class, size) = class_of(bytes)?;
        let kept = self.shelves().take(class, size, bytes);
        let start = match kept {
            Some(start) => start,
            None => self.fresh(size, bytes)?,
        };
        Some(Block { start, bytes, pool: self })
    }

    /// Asks the system; when it refuses, empties the pool and asks once more.
    fn fresh(&self, size: usize, bytes: usize) -> Option<NonNull<u8>> {
        let start = system::take(size).or_else(|| {
            self.trim();
            system::take(size)
        })?;
        let mut shelves = self.shelves();
        shelves.stats.fresh += 1;
        shelves.count_live(bytes);
        Some(start)
    }

    fn put(&self, start: NonNull<u8>, bytes: usize) {
        let Some((class, size)) = class_of(bytes) else { return };
        let mut shelves = self.shelves();
        shelves.stats.live_bytes -= bytes;
        if size > shelves.stats.pool_limit {
            drop(shelves);
            // SAFETY: the block was taken with the size of its class, and its only holder gives it up here.
            unsafe { system::give_back(start, size) };
            return;
        }
        shelves.clock += 1;
        let since = shelves.clock;
        shelves.kept[class].push_back(Kept { start, since });
        shelves.stats.pooled_bytes += size;
        let limit = shelves.stats.pool_limit;
        shelves.shrink_to(limit);
    }

    pub(super) fn stats(&self) -> Stats {
        self.shelves().stats
    }

    pub(super) fn trim(&self) {
        self.shelves().shrink_to(0);
    }

    pub(super) fn set_limit(&self, bytes: usize) {
        let mut shelves = self.shelves();
        shelves.stats.pool_limit = bytes;
        shelves.shrink_to(bytes);
    }

    pub(super) fn reset_peak(&self) {
        let mut shelves = self.shelves();
        shelves.stats.peak_bytes = shelves.stats.live_bytes;
    }

    fn shelves(&self) -> MutexGuard<'_, Shelves> {
        // Nothing below panics halfway through a change, so a poisoned lock still guards sound shelves.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Shelves {
    /// The block of a class used last (its lines are the likeliest to be in a cache).
    fn take(&mut self, class: usize, size: usize, bytes: usize) -> Option<NonNull<u8>> {
        let kept = self.kept[class].pop_back()?;
        self.stats.pooled_bytes -= size;
        self.stats.reused += 1;
        self.count_live(bytes);
        Some(kept.start)
    }

    fn count_live(&mut self, bytes: usize) {
        self.stats.live_bytes += bytes;
        self.stats.peak_bytes = self.stats.peak_bytes.max(self.stats.live_bytes);
    }

    /// Frees kept blocks, the longest unused first, until at most `limit` bytes are kept.
    fn shrink_to(&mut self, limit: usize) {
        while self.stats.pooled_bytes > limit {
            let ages = self.kept.iter().enumerate().filter_map(|(class, shelf)| Some((shelf.front()?.since, class)));
            let Some((_, class)) = ages.min() else { return };
            if let Some(kept) = self.kept[class].pop_front() {
                let size = class_size(class);
                self.stats.pooled_bytes -= size;
                // SAFETY: a kept block was taken with the size of its class, and is on no shelf any more.
                unsafe { system::give_back(kept.start, size) };
            }
        }
    }
}

/// The class that serves `bytes` (at least 1), and its size; `None` for a size that cannot be addressed.
fn class_of(bytes: usize) -> Option<(usize, usize)> {
    if bytes > isize::MAX as usize - ALIGN {
        return None;
    }
    let last = bytes - 1;
    let class = match last {
        0..=255 => last / 64,
        _ => {
            let doubling = last.ilog2() as usize;
            4 * (doubling - 7) + ((last >> (doubling - 2)) & 3)
        }
    };
    Some((class, class_size(class)))
}

/// The bytes that a buffer of `bytes` takes from the system.
pub(crate) fn block_bytes(bytes: usize) -> usize {
    if bytes == 0 { 0 } else { class_of(bytes).map_or(bytes, |(_, size)| size) }
}

/// The bytes of a block of a class: 64, 128, 192, 256, 320, 384, 448, 512, 640 …
fn class_size(class: usize) -> usize {
    match class {
        0..=3 => 64 * (class + 1),
        _ => (5 + class % 4) << (class / 4 + 5),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_class_is_the_smallest_that_fits_and_wastes_at_most_a_fifth() {
        let mut previous = 0;
        for class in 0..4 * (usize::BITS as usize - 9) {
            let size = class_size(class);
            assert_eq!(size % ALIGN, 0);
            assert_eq!(class_of(size), Some((class, size)));
            assert_eq!(class_of(previous + 1), Some((class, size)));
            assert!(class < 4 || (size - previous) * 5 <= size, "{previous} {size}");
            previous = size;
        }
        assert!(class_of(isize::MAX as usize - ALIGN).unwrap().0 < CLASSES);
        assert_eq!(class_of(usize::MAX), None);
    }

    #[test]
    fn a_freed_block_is_used_again_and_the_counts_tell() {
        let pool: &'static Pool = Box::leak(Box::new(Pool::new(1 << 20)));
        let first = pool.take(1000).unwrap();
        let start = first.start();
        assert_eq!((pool.stats().live_bytes, pool.stats().fresh), (1000, 1));
        drop(first);
        assert_eq!((pool.stats().live_bytes, pool.stats().pooled_bytes), (0, 1024));
        let again = pool.take(1024).unwrap();
        assert_eq!(again.start(), start);
        assert_eq!((pool.stats().live_bytes, pool.stats().pooled_bytes, pool.stats().reused), (1024, 0, 1));
        drop(again);
        assert_eq!(pool.stats().peak_bytes, 1024);
        pool.reset_peak();
        assert_eq!(pool.stats().peak_bytes, 0);
        pool.trim();
        assert_eq!(pool.stats().pooled_bytes, 0);
    }

    #[test]
    fn the_limit_holds_and_the_longest_unused_goes_first() {
        let pool: &'static Pool = Box::leak(Box::new(Pool::new(1024)));
        let (a, b, c) = (pool.take(512).unwrap(), pool.take(256).unwrap(), pool.take(512).unwrap());
        drop(a);
        drop(b);
        assert_eq!(pool.stats().pooled_bytes, 768);
        drop(c); // 1280 are too many: `a`, the oldest, goes
        assert_eq!(pool.stats().pooled_bytes, 768);
        assert_eq!(pool.take(256).map(|_| pool.stats().reused), Some(1));
        drop(pool.take(2048).unwrap()); // larger than the whole pool may be
        assert_eq!(pool.stats().pooled_bytes, 768);
        pool.set_limit(0);
        assert_eq!(pool.stats().pooled_bytes, 0);
        drop(pool.take(64).unwrap());
        assert_eq!(pool.stats().pooled_bytes, 0);
        assert_eq!(pool.stats().live_bytes, 0);
    }

    #[test]
    fn many_threads_may_take_and_drop_at_once() {
        let pool: &'static Pool = Box::leak(Box::new(Pool::new(1 << 16)));
        std::thread::scope(|scope| {
            for seed in 1..5usize {
                scope.spawn(move || {
                    let mut held = VecDeque::new();
                    for i in 1..2000 {
                        let block = pool.take(i * seed * 37 % 5000 + 1).unwrap();
                        // SAFETY: the block is ours alone and has at least one byte.
                        unsafe { block.start().as_ptr().write(seed as u8) };
                        held.push_back(block);
                        if held.len() > 8 {
                            let oldest = held.pop_front().unwrap();
                            // SAFETY: written above, and ours still.
                            assert_eq!(unsafe { oldest.start().as_ptr().read() }, seed as u8);
                        }
                    }
                });
            }
        });
        let stats = pool.stats();
        assert_eq!(stats.live_bytes, 0);
        assert!(stats.pooled_bytes <= 1 << 16);
        assert_eq!(stats.fresh + stats.reused, 4 * 1999);
    }
}
