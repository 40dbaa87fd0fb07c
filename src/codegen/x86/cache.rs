//! Kernels that were written before: programs of the same structure share one.

use super::build::Spec;
use super::kernel::Kernel;
use crate::ops::vector::{QuickMap, quick_hash};
use std::hash::{Hash, Hasher};
use std::sync::{Arc, Mutex, PoisonError};

/// When there are so many, all are forgotten; whoever still runs one keeps it.
const MOST: usize = 4096;

type Kernels = QuickMap<Key, Option<Arc<Kernel>>>;

/// A spec whose hash is made once: specs are long.
#[derive(Clone, PartialEq, Eq)]
struct Key {
    hash: u64,
    spec: Arc<Spec>,
}

impl Key {
    fn new(spec: Spec) -> Key {
        Key { hash: quick_hash(&spec), spec: Arc::new(spec) }
    }
}

impl Hash for Key {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(self.hash);
    }
}

static KERNELS: Mutex<Option<Kernels>> = Mutex::new(None);

/// The kernel of a spec, or `None` where there is none.
pub(super) fn kernel(spec: Spec) -> Option<Arc<Kernel>> {
    let lock = || KERNELS.lock().unwrap_or_else(PoisonError::into_inner);
    let key = Key::new(spec);
    if let Some(known) = lock().get_or_insert_default().get(&key) {
        return known.clone();
    }
    // Two threads may write the same kernel at the same time; one of them is kept.
    let written = Kernel::new(key.spec.clone()).map(Arc::new);
    let mut kernels = lock();
    let kernels = kernels.get_or_insert_default();
    if kernels.len() >= MOST {
        kernels.clear();
    }
    kernels.entry(key).or_insert(written).clone()
}
