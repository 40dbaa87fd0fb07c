//! An output whose elements are written by several threads, each its own.

/// The start of such an output.
pub(super) struct Slots<T>(*mut T);

impl<T> Slots<T> {
    pub(super) fn new(start: *mut T) -> Slots<T> {
        Slots(start)
    }

    /// Writes the element at a place.
    ///
    /// # Safety
    /// There is such a place, and no other thread uses it meanwhile.
    #[inline(always)]
    pub(super) unsafe fn write(&self, place: usize, value: T) {
        // SAFETY: the caller's promise.
        unsafe { self.0.add(place).write(value) }
    }

    /// The address of a place.
    #[inline(always)]
    pub(super) fn at(&self, place: usize) -> *mut T {
        self.0.wrapping_add(place)
    }
}

// SAFETY: it is only an address; whoever writes through it says why nobody else does.
unsafe impl<T: Send> Sync for Slots<T> {}
