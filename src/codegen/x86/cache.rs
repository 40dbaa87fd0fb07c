//! Kernels that were written before: programs of the same structure share one.

use super::build::Spec;
use super::kernel::Kernel;
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::{Arc, Mutex, PoisonError};

/// When there are so many, all are forgotten; whoever still runs one keeps it.
const MOST: usize = 4096;

type Kernels = HashMap<Arc<Spec>, Option<Arc<Kernel>>, BuildHasherDefault<Mix>>;

static KERNELS: Mutex<Option<Kernels>> = Mutex::new(None);

/// A quick hash: specs are long, and nobody makes them collide on purpose.
#[derive(Default)]
struct Mix(u64);

impl Hasher for Mix {
    fn write(&mut self, bytes: &[u8]) {
        for chunk in bytes.chunks(8) {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            self.write_u64(u64::from_le_bytes(word));
        }
    }

    fn write_u64(&mut self, word: u64) {
        self.0 = (self.0.rotate_left(23) ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }

    fn write_u8(&mut self, word: u8) {
        self.write_u64(word.into());
    }

    fn write_u16(&mut self, word: u16) {
        self.write_u64(word.into());
    }

    fn write_u32(&mut self, word: u32) {
        self.write_u64(word.into());
    }

    fn write_usize(&mut self, word: usize) {
        self.write_u64(word as u64);
    }

    fn finish(&self) -> u64 {
        self.0 ^ self.0 >> 29
    }
}

/// The kernel of a spec, or `None` where there is none.
pub(super) fn kernel(spec: Spec) -> Option<Arc<Kernel>> {
    let lock = || KERNELS.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = lock().get_or_insert_default().get(&spec) {
        return known.clone();
    }
    // Two threads may write the same kernel at the same time; one of them is kept.
    let spec = Arc::new(spec);
    let written = Kernel::new(spec.clone()).map(Arc::new);
    let mut kernels = lock();
    let kernels = kernels.get_or_insert_default();
    if kernels.len() >= MOST {
        kernels.clear();
    }
    kernels.entry(spec).or_insert(written).clone()
}
