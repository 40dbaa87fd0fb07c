//! What the machine is and has.

use super::asm::Width;
use std::arch::x86_64::{__cpuid, __cpuid_count};
use std::sync::{LazyLock, OnceLock};

/// Whether this machine has the instructions.
pub(super) fn machine() -> bool {
    is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") && is_x86_feature_detected!("f16c")
}

/// Whether it has registers of 512 bits, and the instructions for them.
pub(super) fn is_wide_machine() -> bool {
    machine()
        && is_x86_feature_detected!("avx512f")
        && is_x86_feature_detected!("avx512bw")
        && is_x86_feature_detected!("avx512dq")
        && is_x86_feature_detected!("avx512vl")
}

/// The family of AMD's it is one of, if it is.
pub(super) fn family_of_amd() -> Option<u32> {
    static FAMILY: LazyLock<Option<u32>> = LazyLock::new(|| {
        #[allow(unused_unsafe, reason = "older compilers call it unsafe")]
        // SAFETY: every x86-64 has the instruction.
        let [name, version] = unsafe { [__cpuid(0), __cpuid(1)] };
        let is_of_amd = [name.ebx, name.edx, name.ecx].map(u32::to_le_bytes).as_flattened() == b"AuthenticAMD";
        is_of_amd.then_some((version.eax >> 8 & 0xf) + (version.eax >> 20 & 0xff))
    });
    *FAMILY
}

/// Zen 5's family.
pub(super) const ZEN_5: u32 = 0x1a;

/// The bytes of a last cache where the machine does not tell.
const A_LAST_CACHE: usize = 32 << 20;
/// What a machine may have more of than anyone counts.
const MOST_CACHES: u32 = 16;

/// The bytes of the largest cache that a processor reads through. Others may have one of their own, or share it: virtual machines tell that wrong.
pub(super) fn last_cache() -> usize {
    static BYTES: LazyLock<usize> = LazyLock::new(|| {
        #[allow(unused_unsafe, reason = "older compilers call it unsafe")]
        // SAFETY: every x86-64 has the instruction.
        let told = |leaf, sub| unsafe { __cpuid_count(leaf, sub) };
        let leaf = if family_of_amd().is_some() { 0x8000_001d } else { 4 };
        if told(leaf & 0x8000_0000, 0).eax < leaf {
            return A_LAST_CACHE;
        }
        let caches = (0..MOST_CACHES).map(|sub| told(leaf, sub)).take_while(|cache| cache.eax & 0x1f != 0);
        let fields = |ebx: u32| [ebx & 0xfff, ebx >> 12 & 0x3ff, ebx >> 22];
        let bytes =
            caches.map(|cache| fields(cache.ebx).iter().fold(cache.ecx as usize + 1, |n, &k| n * (k as usize + 1)));
        bytes.max().unwrap_or(A_LAST_CACHE)
    });
    *BYTES
}

/// Whether `ZITHER_JIT` says so.
fn is_told(what: &str) -> bool {
    std::env::var_os("ZITHER_JIT").is_some_and(|value| value == what)
}

/// Whether machine code may be made here: the machine has the instructions, and `ZITHER_JIT` does not say `off`.
pub(in crate::codegen) fn allowed() -> bool {
    static ALLOWED: OnceLock<bool> = OnceLock::new();
    *ALLOWED.get_or_init(|| machine() && !is_told("off"))
}

/// The widest registers of the machine, unless `ZITHER_JIT` says `avx2`.
pub(super) fn registers() -> Width {
    static REGISTERS: OnceLock<Width> = OnceLock::new();
    *REGISTERS.get_or_init(|| if is_wide_machine() && !is_told("avx2") { Width::Z } else { Width::Y })
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_last_cache_is_no_less_than_any_machine_s_second() {
        assert!((1 << 19..1 << 32).contains(&super::last_cache()), "{} bytes", super::last_cache());
    }
}
