//! Stores past the caches, for outputs that are far larger than those.
//!
//! An ordinary store first reads the line it writes to, and pushes another out of the cache. Where nothing of the output would stay in a
//! cache anyway, lines are better written whole and straight to memory.

use super::asm::Width;
use super::build::{Kind, Spec};
use super::cache;
use super::elements::Step;
use super::kernel::Kernel;
use super::machine::last_cache;
use super::trial::Trial;
use super::walk::Walk;
use crate::codegen::Around;
use std::arch::x86_64::_mm_sfence;
use std::sync::Arc;
use std::thread::available_parallelism;

/// Outputs of so many bytes do not stay in the caches: measured, stores past them win from about half of the last one on.
pub(super) const LARGE: usize = 16 << 20;

/// Ways of storing an output that part of the caches may hold: so many parts of so many are left there. Ordinary stores push out of the caches what
/// will be read, and leave there what they store; stores past them do neither, and go at the pace of the memory.
const SHARES: [usize; 4] = [0, 2, 4, 8];
const OF: usize = 8;

/// The kernel of a program without a fold, in the two ways of storing.
pub(super) struct Stores {
    near: Arc<Kernel>,
    far: Option<Arc<Kernel>>,
}

/// Waits until others can see what was stored past the caches.
pub(super) fn finish() {
    // SAFETY: every x86-64 has it.
    unsafe { _mm_sfence() };
}

/// Whether all rows of a walk's output, of elements of so many bytes, begin as stores past the caches from such registers need it if the
/// first does, in all runs: those lie so many bytes apart.
pub(super) fn are_aligned(walk: &Walk, output: usize, size: usize, apart: i64, width: Width) -> bool {
    let (strides, to) = (&walk.strides[output], width.bytes() as i64);
    apart % to == 0 && strides[..strides.len() - 1].iter().all(|stride| stride * size as i64 % to == 0)
}

/// Whether a part is left in the caches, the shares being tried out.
pub(super) fn is_kept(way: usize, part: usize) -> bool {
    part % OF < SHARES[way]
}

impl Stores {
    /// For an output of which the walk's operand `output` may be a part. Where narrower registers can store past the caches and wider ones cannot, they do.
    /// The kernel that does so fetches operands so far ahead, if `ahead` says it.
    pub(super) fn new(mut spec: Spec, ahead: &[i32], around: Around<'_>, walk: &Walk, output: usize) -> Option<Stores> {
        let far = if around.bytes >= LARGE && spec.output == Step::Dense {
            let is_aligned = |width: Width| are_aligned(walk, output, spec.stored.size(), around.apart, width);
            if spec.full == Width::Z && !is_aligned(Width::Z) && is_aligned(Width::Y) {
                spec.full = Width::Y;
            }
            let kind = match spec.kind {
                Kind::Map { most, .. } => Kind::Map { stream: true, most },
                fold => fold,
            };
            let mut far = Spec { kind, ..spec.clone() };
            far.operands.iter_mut().zip(ahead).for_each(|(read, &ahead)| read.ahead = ahead);
            let far = cache::kernel(far);
            far.filter(|_| is_aligned(spec.full))
        } else {
            None
        };
        Some(Stores { near: cache::kernel(spec)?, far })
    }

    /// The kernel for rows that begin at this address.
    pub(super) fn choose(&self, address: i64) -> &Kernel {
        match &self.far {
            Some(far) if address % far.vector_bytes() == 0 => far,
            _ => &self.near,
        }
    }

    /// The kernel that leaves in the caches what it stores.
    pub(super) fn ordinary(&self) -> &Kernel {
        &self.near
    }

    /// The shares to be tried out, if stores of an output of so many bytes may take either way and the caches of all processors together may hold some of
    /// it.
    pub(super) fn trial(&self, bytes: usize) -> Option<Trial> {
        // Asking how many processors there are takes as long as making a kernel: small outputs do without.
        self.far.as_ref()?;
        let processors = available_parallelism().map_or(1, usize::from);
        let is_held = (LARGE..processors.saturating_mul(last_cache())).contains(&bytes);
        is_held.then(|| Trial::new(SHARES.len()))
    }

    /// The kernel for outputs that begin as they should for it, and whether it stores past the caches.
    pub(super) fn preferred(&self) -> (&Kernel, bool) {
        (self.far.as_ref().unwrap_or(&self.near), self.far.is_some())
    }

    /// The bytes that either kernel's frame needs.
    pub(super) fn frame_bytes(&self) -> usize {
        self.near.frame_bytes.max(self.far.as_ref().map_or(0, |far| far.frame_bytes))
    }

    /// Waits until others can see what was stored.
    pub(super) fn finish(&self) {
        if self.far.is_some() {
            finish();
        }
    }

    /// The kernels.
    pub(super) fn all(&self) -> Vec<Arc<Kernel>> {
        std::iter::once(&self.near).chain(&self.far).cloned().collect()
    }
}
