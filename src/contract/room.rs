//! What a thread's scratch is divided into.

/// Bytes that were given away so far, each piece from the beginning of a cache line on.
#[derive(Default)]
pub(super) struct Room {
    pub(super) bytes: usize,
}

impl Room {
    /// Where `count` things of `size` bytes begin, in bytes.
    pub(super) fn take(&mut self, count: usize, size: usize) -> usize {
        let start = self.bytes;
        self.bytes += (count * size).next_multiple_of(64);
        start
    }
}
