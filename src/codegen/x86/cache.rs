//! Kernels that were written before: programs of the same structure share one.

use super::build::Spec;
use super::kernel::Kernel;
use crate::ops::vector::QuickMap;
use std::sync::{Arc, Mutex, PoisonError};

/// When there are so many, all are forgotten; whoever still runs one keeps it.
const MOST: usize = 4096;

type Kernels = QuickMap<Arc<Spec>, Option<Arc<Kernel>>>;

static KERNELS: Mutex<Option<Kernels>> = Mutex::new(None);

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
