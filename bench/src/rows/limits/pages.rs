//! Memory straight from Linux, on pages of 4 KiB or on huge ones.

use std::ffi::{c_int, c_void};
use std::ops::{Deref, DerefMut};
use std::ptr::{self, NonNull};
use std::slice;
use std::time::Instant;

const HUGE_PAGE: usize = 2 << 20;
const PAGE: usize = 4096;

const PROT_READ_WRITE: c_int = 1 | 2;
const MAP_PRIVATE_ANONYMOUS: c_int = 0x02 | 0x20;
const MADV_HUGEPAGE: c_int = 14;
const MADV_NOHUGEPAGE: c_int = 15;

// Every Rust program on Linux is linked with the C library that has these.
unsafe extern "C" {
    fn mmap(at: *mut c_void, len: usize, protection: c_int, flags: c_int, file: c_int, offset: i64) -> *mut c_void;
    fn munmap(at: *mut c_void, len: usize) -> c_int;
    fn madvise(at: *mut c_void, len: usize, advice: c_int) -> c_int;
}

/// A mapping of zeros that nobody has touched yet. Its part from `start` begins at a multiple of a huge page.
struct Mapping {
    whole: *mut c_void,
    start: NonNull<u8>,
    bytes: usize,
}

impl Mapping {
    fn new(bytes: usize, is_huge: bool) -> Mapping {
        // SAFETY: a new private mapping at an address of the system's choice touches nothing that exists.
        let whole = unsafe { mmap(ptr::null_mut(), bytes + HUGE_PAGE, PROT_READ_WRITE, MAP_PRIVATE_ANONYMOUS, -1, 0) };
        assert_ne!(whole.addr(), usize::MAX, "no memory for {bytes} bytes");
        let start = whole.map_addr(|address| address.next_multiple_of(HUGE_PAGE));
        // SAFETY: the range lies in the mapping, which has room for one huge page more. Advice changes no contents.
        unsafe { madvise(start, bytes, if is_huge { MADV_HUGEPAGE } else { MADV_NOHUGEPAGE }) };
        Mapping { whole, start: NonNull::new(start.cast()).expect("mapped"), bytes }
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: exactly what was mapped, and nothing borrows from it any more.
        unsafe { munmap(self.whole, self.bytes + HUGE_PAGE) };
    }
}

/// Floats in memory that has been touched.
pub struct Floats {
    mapping: Mapping,
}

impl Floats {
    pub fn ones(len: usize, is_huge: bool) -> Floats {
        let mut floats = Floats { mapping: Mapping::new(len * size_of::<f32>(), is_huge) };
        floats.fill(1.0);
        floats
    }
}

impl Deref for Floats {
    type Target = [f32];

    fn deref(&self) -> &[f32] {
        let len = self.mapping.bytes / size_of::<f32>();
        // SAFETY: the mapping has so many bytes from `start`, aligned and zeroed by the system, and lives as long as `self`.
        unsafe { slice::from_raw_parts(self.mapping.start.as_ptr().cast(), len) }
    }
}

impl DerefMut for Floats {
    fn deref_mut(&mut self) -> &mut [f32] {
        let len = self.mapping.bytes / size_of::<f32>();
        // SAFETY: as in `deref`, and `self` is borrowed by the caller alone.
        unsafe { slice::from_raw_parts_mut(self.mapping.start.as_ptr().cast(), len) }
    }
}

/// The seconds of mapping memory and touching each of its pages: what a large fresh output costs before it is computed.
pub fn seconds_of_fresh(bytes: usize, is_huge: bool) -> f64 {
    let begun = Instant::now();
    let mapping = Mapping::new(bytes, is_huge);
    for offset in (0..bytes).step_by(PAGE) {
        // SAFETY: inside the mapping. Volatile, so that the store is not left out.
        unsafe { mapping.start.add(offset).write_volatile(1) };
    }
    begun.elapsed().as_secs_f64()
}
