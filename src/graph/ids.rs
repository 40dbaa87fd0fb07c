//! Maps and sets by a node's id, quick enough to ask at every node of a walk.

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasherDefault, Hasher};

/// A map by [`Node::id`](super::Node::id).
pub(crate) type IdMap<V> = HashMap<usize, V, BuildHasherDefault<IdHasher>>;

/// A set of [`Node::id`](super::Node::id)s.
pub(crate) type IdSet = HashSet<usize, BuildHasherDefault<IdHasher>>;

/// Spreads addresses: they differ in their middle bits, and nobody chooses them to collide.
#[derive(Default)]
pub(crate) struct IdHasher(u64);

impl Hasher for IdHasher {
    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|&byte| self.write_usize(byte.into()));
    }

    #[inline]
    fn write_usize(&mut self, id: usize) {
        // 2⁶⁴ over the golden ratio: neighbours land far apart. The table takes its place from the low bits, where a product
        // is poor, and a tag from the high ones.
        let product = (self.0 ^ id as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        self.0 = product ^ (product >> 32);
    }

    #[inline]
    fn finish(&self) -> u64 {
        self.0
    }
}
