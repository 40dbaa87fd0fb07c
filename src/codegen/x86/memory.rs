//! Pages of machine code: written first, then executable, never both at once.

use std::ffi::{c_int, c_void};
use std::ptr::NonNull;
use std::sync::{Arc, Mutex, PoisonError};

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
/// All pages are there at once, where the system can do that.
const POPULATE: c_int = if cfg!(any(target_os = "linux", target_os = "android")) { 0x8000 } else { 0 };
/// Enough for the pages of any x86-64 system.
pub(super) const PAGE: usize = 4096;

/// The bytes of a region: code of a dozen kernels or more.
const REGION: usize = 32 * PAGE;

/// Pages for code, mapped together for several kernels: to ask the system for each would take longer than to write its code.
/// Given back when the last kernel is gone.
#[derive(Debug)]
struct Region {
    start: NonNull<u8>,
    length: usize,
}

// SAFETY: each page is written by the one who took it, before anyone else knows of it, and only read and executed from then on.
unsafe impl Send for Region {}
// SAFETY: as above.
unsafe impl Sync for Region {}

impl Region {
    /// Fresh pages that can be written.
    fn new(length: usize) -> Option<Region> {
        let flags = PRIVATE | ANONYMOUS | POPULATE;
        // SAFETY: a fresh private mapping touches no other memory.
        let start = unsafe { mmap(std::ptr::null_mut(), length, READ | WRITE, flags, -1, 0) };
        if start.addr() == usize::MAX {
            return None;
        }
        Some(Region { start: NonNull::new(start.cast())?, length })
    }
}

impl Drop for Region {
    fn drop(&mut self) {
        // SAFETY: the mapping is ours, and whoever could run its code has kept the region until now.
        let failed = unsafe { munmap(self.start.as_ptr().cast(), self.length) };
        debug_assert_eq!(failed, 0, "a mapping can be given back");
    }
}

/// The region that is being filled, and how many of its bytes are taken.
static FILLING: Mutex<Option<(Arc<Region>, usize)>> = Mutex::new(None);

/// So many bytes of a region, whole pages, for nobody else: the region, and where they begin in it.
fn take(length: usize) -> Option<(Arc<Region>, usize)> {
    if length > REGION {
        return Some((Arc::new(Region::new(length)?), 0));
    }
    let mut filling = FILLING.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((region, taken)) = &mut *filling
        && *taken + length <= REGION
    {
        *taken += length;
        return Some((region.clone(), *taken - length));
    }
    let region = Arc::new(Region::new(REGION)?);
    *filling = Some((region.clone(), length));
    Some((region, 0))
}

/// Machine code in pages of its own.
#[derive(Debug)]
pub(super) struct Pages {
    region: Arc<Region>,
    /// Where they begin in the region.
    offset: usize,
}

impl Pages {
    /// Executable pages that begin with `code`, or `None` where the system does not allow them.
    pub(super) fn new(code: &[u8]) -> Option<Pages> {
        let length = code.len().max(1).next_multiple_of(PAGE);
        let (region, offset) = take(length)?;
        let pages = Pages { region, offset };
        let start = pages.start().cast_mut();
        // SAFETY: these pages of the region are writable, ours alone, and have room for the code; nobody executes them yet.
        let executable = unsafe {
            start.copy_from_nonoverlapping(code.as_ptr(), code.len());
            mprotect(start.cast(), length, READ | EXECUTE) == 0
        };
        executable.then_some(pages)
    }

    /// The address of the first byte.
    pub(super) fn start(&self) -> *const u8 {
        // SAFETY: the offset is within the region.
        unsafe { self.region.start.as_ptr().add(self.offset) }
    }
}
