//! What two requests have in common when one plan serves both.
//!
//! Everything a plan depends on is written down as a list of words: ops, shapes, layouts, dtypes, who uses whom, what is wanted and
//! what is kept. Numbers are not: neither those in buffers nor the constants that are told when a plan is run. Requests
//! with equal lists have the same plan.

use super::snapshot::Snapshot;
use crate::dtype::Literal;
use crate::graph::{Node, Op};
use std::cell::Cell;
use std::hash::{Hash, Hasher};

/// The fingerprint of a request.
#[derive(PartialEq, Eq)]
pub(crate) struct Fingerprint {
    hash: u64,
    words: Vec<u64>,
}

/// Lists of up to so many words are kept for the next request.
const MOST_KEPT: usize = 1 << 16;

thread_local! {
    /// The list of the last fingerprint that the thread had and let go.
    static SPARE: Cell<Vec<u64>> = const { Cell::new(Vec::new()) };
}

impl Drop for Fingerprint {
    fn drop(&mut self) {
        if self.words.capacity() <= MOST_KEPT {
            // Where the thread is ending there is no next request.
            let _ = SPARE.try_with(|spare| spare.set(std::mem::take(&mut self.words)));
        }
    }
}

impl Hash for Fingerprint {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(self.hash);
    }
}

/// Whether a constant is part of a plan, rather than told when it is run: numbers that everyone uses, and all that are not floats.
pub(crate) fn is_structural(literal: Literal) -> bool {
    let value = literal.to_f64();
    !literal.dtype().is_float() || !value.is_finite() || [0.0, 1.0, -1.0, 2.0, 0.5].contains(&value)
}

impl Fingerprint {
    /// The same, to be kept for long: with no more room than it needs.
    pub(crate) fn for_long(mut self) -> Fingerprint {
        self.words.shrink_to_fit();
        self
    }

    /// The fingerprint of what `wanted` needs.
    pub(crate) fn of(snapshot: &Snapshot, wanted: &[Node]) -> Fingerprint {
        let mut words = SPARE.try_with(Cell::take).unwrap_or_default();
        words.clear();
        words.reserve(12 * snapshot.nodes.len() + wanted.len());
        let mut words = Words(words);
        for (node, seen) in snapshot.nodes.iter().zip(&snapshot.seen) {
            node.dtype().hash(&mut words);
            node.shape().hash(&mut words);
            if seen.has_numbers {
                words.write_u64(u64::MAX);
            } else {
                (node.is_parameter(), snapshot.keeps(node)).hash(&mut words);
                words.op(snapshot, &seen.op);
            }
        }
        wanted.iter().for_each(|node| words.write_usize(snapshot.number(node)));
        let words = words.0;
        let mix = |hash: u64, &word: &u64| (hash ^ word).wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(29);
        Fingerprint { hash: words.iter().fold(0, mix), words }
    }
}

/// Takes everything that is hashed into it, as it is.
struct Words(Vec<u64>);

impl Words {
    fn op(&mut self, snapshot: &Snapshot, op: &Op) {
        std::mem::discriminant(op).hash(self);
        match op {
            Op::Buffer | Op::Input | Op::Arange | Op::Executed => {}
            Op::ConstFill(value) => {
                let fixed = is_structural(*value);
                fixed.hash(self);
                if fixed {
                    value.hash(self);
                }
            }
            // Seed and stream are told when the plan is run.
            Op::Rand { word, .. } => word.hash(self),
            // How a view came about does not matter: it says the same.
            Op::View { base, view, .. } => {
                self.write_usize(snapshot.number(base));
                view.hash(self);
                return;
            }
            Op::Map { primitive, .. } => self.write_usize(std::ptr::from_ref(*primitive).addr()),
            Op::Contiguous { .. } | Op::Cast { .. } => {}
            Op::Reduce { kind, axes, keepdim, .. } => (kind, axes, keepdim).hash(self),
            Op::Concat { inputs, axis } => (inputs.len(), axis).hash(self),
            Op::Gather { lookup, axis, .. } => (lookup, axis).hash(self),
            Op::Scatter { kind, lookup, axis, .. } => (kind, lookup, axis).hash(self),
            Op::Lines { work, axis, .. } => (work, axis).hash(self),
            Op::Closure { inputs, .. } => inputs.len().hash(self),
        }
        op.for_each_input(|input| self.write_usize(snapshot.number(input)));
    }
}

impl Hasher for Words {
    fn finish(&self) -> u64 {
        unreachable!("the words themselves are wanted")
    }

    fn write(&mut self, bytes: &[u8]) {
        for chunk in bytes.chunks(8) {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            self.0.push(u64::from_le_bytes(word));
        }
    }

    fn write_u8(&mut self, value: u8) {
        self.0.push(value.into());
    }

    fn write_u32(&mut self, value: u32) {
        self.0.push(value.into());
    }

    fn write_u64(&mut self, value: u64) {
        self.0.push(value);
    }

    fn write_usize(&mut self, value: usize) {
        self.0.push(value as u64);
    }

    fn write_isize(&mut self, value: isize) {
        self.0.push(value as u64);
    }
}
