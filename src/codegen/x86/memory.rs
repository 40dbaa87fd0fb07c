//! Pages of machine code: written first, then executable, never both at once.

use std::ffi::{c_int, c_void};
use std::ptr::NonNull;

// What every unix has; the standard library links it anyway.
unsafe extern "C" {
    pub(super) fn mmap(
        address: *mut c_void,
        length: usize,
        protection: c_int,
        flags: c_int,
        file: c_int,
        offset: i64,
    ) -> *mut c_void;
    pub(super) fn mprotect(address: *mut c_void, length: usize, protection: c_int) -> c_int;
    pub(super) fn munmap(address: *mut c_void, length: usize) -> c_int;
}

pub(super) const READ: c_int = 1;
pub(super) const WRITE: c_int = 2;
const EXECUTE: c_int = 4;
pub(super) const PRIVATE: c_int = 2;
pub(super) const ANONYMOUS: c_int = if cfg!(any(target_os = "linux", target_os = "android")) { 0x20 } else { 0x1000 };
/// Enough for the pages of any x86-64 system.
pub(super) const PAGE: usize = 4096;

/// Machine code in pages of its own, given back when dropped.
#[derive(Debug)]
pub(super) struct Pages {
    start: NonNull<u8>,
    length: usize,
}

// SAFETY: the pages are written before anyone else knows of them, and only read and executed from then on.
unsafe impl Send for Pages {}
// SAFETY: as above.
unsafe impl Sync for Pages {}

impl Pages {
    /// Executable pages that begin with `code`, or `None` where the system does not allow them.
    pub(super) fn new(code: &[u8]) -> Option<Pages> {
        let length = code.len().max(1).next_multiple_of(PAGE);
        // SAFETY: a fresh private mapping touches no other memory.
        let start = unsafe { mmap(std::ptr::null_mut(), length, READ | WRITE, PRIVATE | ANONYMOUS, -1, 0) };
        if start.addr() == usize::MAX {
            return None;
        }
        // From here on, a return gives the mapping back.
        let pages = Pages { start: NonNull::new(start.cast())?, length };
        // SAFETY: the mapping is writable, ours alone, and has room for the code; nobody executes it yet.
        let executable = unsafe {
            pages.start.as_ptr().copy_from_nonoverlapping(code.as_ptr(), code.len());
            mprotect(start, length, READ | EXECUTE) == 0
        };
        executable.then_some(pages)
    }

    /// The address of the first byte.
    pub(super) fn start(&self) -> *const u8 {
        self.start.as_ptr()
    }
}

impl Drop for Pages {
    fn drop(&mut self) {
        // SAFETY: the mapping is ours, and whoever could run its code has borrowed the pages until now.
        let failed = unsafe { munmap(self.start.as_ptr().cast(), self.length) };
        debug_assert_eq!(failed, 0, "a mapping can be given back");
    }
}
