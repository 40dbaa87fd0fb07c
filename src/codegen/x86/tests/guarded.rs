//! Memory between two pages that nobody may touch: an access beyond it ends the test.

use super::super::memory::{ANONYMOUS, PAGE, PRIVATE, READ, WRITE, mmap, mprotect, munmap};
use crate::codegen::block::tests::from_bits;
use crate::dtype::{DType, Literal};

/// What bytes are at first.
const FRESH: u8 = 0xa5;

/// Some bytes, right before a forbidden page or right after one.
pub(super) struct Guarded {
    pages: *mut u8,
    mapped: usize,
    start: *mut u8,
    bytes: usize,
}

impl Guarded {
    /// So many bytes that end at a forbidden page, or begin after one.
    pub(super) fn new(bytes: usize, at_end: bool) -> Guarded {
        let room = bytes.next_multiple_of(PAGE);
        let mapped = room + 2 * PAGE;
        // SAFETY: a fresh mapping touches nothing else; the part that is opened is inside it.
        unsafe {
            let pages = mmap(std::ptr::null_mut(), mapped, 0, PRIVATE | ANONYMOUS, -1, 0).cast::<u8>();
            assert_ne!(pages.addr(), usize::MAX);
            let open = pages.add(PAGE);
            assert!(room == 0 || mprotect(open.cast(), room, READ | WRITE) == 0);
            open.write_bytes(FRESH, room);
            Guarded { pages, mapped, start: if at_end { open.add(room - bytes) } else { open }, bytes }
        }
    }

    /// The elements of an operand.
    pub(super) fn of(values: &[Literal], at_end: bool) -> Guarded {
        let size = values.first().map_or(1, |value| value.dtype().size());
        let guarded = Guarded::new(values.len() * size, at_end);
        for (i, value) in values.iter().enumerate() {
            // SAFETY: there is room for all values; low bytes come first on this machine.
            unsafe {
                guarded.start.add(i * size).copy_from_nonoverlapping(value.bits().to_le_bytes().as_ptr(), size);
            }
        }
        guarded
    }

    pub(super) fn start(&self) -> *const u8 {
        self.start
    }

    pub(super) fn start_mut(&mut self) -> *mut u8 {
        self.start
    }

    /// The elements of a dtype at some places. The bytes of the others must be as they were.
    pub(super) fn elements(&self, dtype: DType, places: &[usize]) -> Vec<Literal> {
        // SAFETY: the bytes are open and were written when they were mapped.
        let bytes = unsafe { std::slice::from_raw_parts(self.start, self.bytes) };
        let element = |bytes: &[u8]| {
            let mut all = [0; 8];
            all[..bytes.len()].copy_from_slice(bytes);
            if dtype == DType::Bool {
                assert!(bytes[0] < 2, "a bool is 0 or 1");
            }
            from_bits(dtype, u64::from_le_bytes(all))
        };
        let mut rest = bytes.to_vec();
        let mut take = |place: usize| {
            let at = place * dtype.size()..(place + 1) * dtype.size();
            rest[at.clone()].fill(FRESH);
            element(&bytes[at])
        };
        let elements = places.iter().map(|&place| take(place)).collect();
        assert!(rest.iter().all(|&byte| byte == FRESH), "written between the outputs");
        elements
    }
}

impl Drop for Guarded {
    fn drop(&mut self) {
        // SAFETY: the mapping is this one's own.
        unsafe { munmap(self.pages.cast(), self.mapped) };
    }
}
