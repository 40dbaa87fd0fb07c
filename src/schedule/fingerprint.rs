//! What two requests have in common when one plan serves both.
//!
//! Everything a plan depends on is written down as a list of words: ops, shapes, layouts, dtypes, who uses whom, what is wanted and
//! what is kept. Numbers are not: neither those in buffers nor the constants that are told when a plan is run. Requests
//! with equal lists have the same plan.

use crate::dtype::Literal;
use crate::graph::{Node, Op};
use std::hash::{Hash, Hasher};

/// The fingerprint of a request.
#[derive(Default, PartialEq, Eq)]
pub(crate) struct Fingerprint {
    hash: u64,
    words: Vec<u64>,
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
    pub(crate) fn for_long(&self) -> Fingerprint {
        Fingerprint { hash: self.hash, words: self.words.clone() }
    }

    /// Its list, for another one.
    pub(super) fn take_words(&mut self) -> Vec<u64> {
        std::mem::take(&mut self.words)
    }
}

/// A list of words that is being written. It takes everything that is hashed into it, as it is.
pub(super) struct Words(Vec<u64>);

impl Words {
    /// Writes into an empty list.
    pub(super) fn new(list: Vec<u64>) -> Words {
        debug_assert!(list.is_empty());
        Words(list)
    }

    #[inline]
    pub(super) fn count(&mut self, count: usize) {
        self.0.push(count as u64);
    }

    #[inline]
    pub(super) fn truth(&mut self, truth: bool) {
        self.0.push(truth.into());
    }

    /// Everything of a node but the numbers of those it needs, which follow.
    pub(super) fn node(&mut self, node: &Node, op: &Op, has_numbers: bool) {
        let own = !has_numbers;
        let facts = [has_numbers, own && node.is_parameter(), own && node.tracks()];
        let facts = facts.iter().fold(0, |bits, &fact| bits << 1 | u64::from(fact));
        self.0.push((node.rank() as u64) << 16 | u64::from(node.dtype() as u8) << 8 | facts);
        self.0.extend(node.shape().iter().map(|&size| size as u64));
        if own {
            self.op(op);
        }
    }

    fn op(&mut self, op: &Op) {
        std::mem::discriminant(op).hash(self);
        match op {
            Op::Buffer | Op::Input | Op::Arange | Op::Executed | Op::Contiguous { .. } | Op::Cast { .. } => {}
            Op::ConstFill(value) => {
                let fixed = is_structural(*value);
                self.truth(fixed);
                if fixed {
                    value.hash(self);
                }
            }
            // Seed and stream are told when the plan is run.
            Op::Rand { word, .. } => word.hash(self),
            // How a view came about does not matter: it says the same.
            Op::View { view, .. } => view.hash(self),
            Op::Map { primitive, .. } => self.write_usize(std::ptr::from_ref(*primitive).addr()),
            Op::Reduce { kind, axes, keepdim, .. } => (kind, axes, keepdim).hash(self),
            Op::Concat { inputs, axis } => (inputs.len(), axis).hash(self),
            Op::Gather { lookup, axis, .. } => (lookup, axis).hash(self),
            Op::Scatter { kind, lookup, axis, .. } => (kind, lookup, axis).hash(self),
            Op::Lines { work, inputs, axis } => (work, inputs.len(), axis).hash(self),
            Op::Closure { inputs, .. } => inputs.len().hash(self),
        }
    }

    /// The fingerprint that the words are.
    pub(super) fn fingerprint(self) -> Fingerprint {
        let mix = |hash: u64, word: u64| (hash ^ word).wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(29);
        // Four at a time: each waits only for itself.
        let mut hashes = [1, 2, 3, 4];
        let (fours, rest) = self.0.as_chunks::<4>();
        for four in fours {
            hashes = std::array::from_fn(|at| mix(hashes[at], four[at]));
        }
        Fingerprint { hash: hashes.into_iter().chain(rest.iter().copied()).fold(0, mix), words: self.0 }
    }
}

impl Hasher for Words {
    fn finish(&self) -> u64 {
        unreachable!("the words themselves are wanted")
    }

    #[inline]
    fn write(&mut self, bytes: &[u8]) {
        let (words, rest) = bytes.as_chunks::<8>();
        self.0.extend(words.iter().map(|&word| u64::from_le_bytes(word)));
        if !rest.is_empty() {
            let mut word = [0; 8];
            word[..rest.len()].copy_from_slice(rest);
            self.0.push(u64::from_le_bytes(word));
        }
    }

    #[inline]
    fn write_u8(&mut self, value: u8) {
        self.0.push(value.into());
    }

    #[inline]
    fn write_u32(&mut self, value: u32) {
        self.0.push(value.into());
    }

    #[inline]
    fn write_u64(&mut self, value: u64) {
        self.0.push(value);
    }

    #[inline]
    fn write_usize(&mut self, value: usize) {
        self.0.push(value as u64);
    }

    #[inline]
    fn write_isize(&mut self, value: isize) {
        self.0.push(value as u64);
    }
}
