//! Host memory: aligned buffers, and the pool that keeps freed ones for the next kernel.
//!
//! Touching fresh memory costs several times what a kernel spends on it (every page faults once), so a freed
//! buffer stays in the pool until its memory is wanted again, up to a limit.
//!
//! - `pool.rs`: blocks of bytes, by size class; the counts that [`stats`] reports.
//! - `system.rs`: where those come from; large ones lie on huge pages.
//! - `buffer.rs`: a shared, read-only `Buffer` with a dtype.
//! - `buffer_mut.rs`: the one owner's `BufferMut`, which is filled and then frozen into a `Buffer`.

mod buffer;
mod buffer_mut;
mod pool;
mod system;

#[cfg(test)]
mod tests;

pub(crate) use buffer::{Buffer, no_memory};
pub(crate) use buffer_mut::BufferMut;
pub(crate) use pool::block_bytes;
pub(crate) use system::ALIGN;

/// What the library holds of the host's memory, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Stats {
    /// Bytes asked for by the buffers alive now.
    pub live_bytes: usize,
    /// The largest `live_bytes` since the start, or since [`reset_peak`].
    pub peak_bytes: usize,
    /// Bytes of freed memory kept for reuse.
    pub pooled_bytes: usize,
    /// How many bytes the pool may keep.
    pub pool_limit: usize,
    /// How many blocks came fresh from the system.
    pub fresh: usize,
    /// How many blocks came out of the pool.
    pub reused: usize,
}

/// What is in use and what is kept, now.
///
/// ```
/// let before = zither::memory::stats();
/// assert!(before.peak_bytes >= before.live_bytes);
/// ```
pub fn stats() -> Stats {
    pool::HOST.stats()
}

/// Gives all memory that is kept for reuse back to the system.
pub fn trim() {
    pool::HOST.trim();
}

/// Sets how many bytes of freed memory may be kept for reuse; what is kept above that is given back, the longest
/// unused first. The default is 1 GiB; 0 keeps nothing.
pub fn set_pool_limit(bytes: usize) {
    pool::HOST.set_limit(bytes);
}

/// Starts measuring [`Stats::peak_bytes`] anew.
pub fn reset_peak() {
    pool::HOST.reset_peak();
}
