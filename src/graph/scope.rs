//! What holds for a stretch of a thread's work: whether gradients are recorded, and whose line new nodes belong to.

use std::cell::Cell;
use std::panic::Location;

thread_local! {
    static GRAD: Cell<bool> = const { Cell::new(true) };
    static ORIGIN: Cell<Option<&'static Location<'static>>> = const { Cell::new(None) };
}

/// Whether new nodes of this thread remember how to be differentiated.
pub(crate) fn grad_enabled() -> bool {
    GRAD.get()
}

/// Switches recording on or off for this thread and tells what it was.
pub(crate) fn set_grad_enabled(enabled: bool) -> bool {
    GRAD.replace(enabled)
}

/// The line that new nodes belong to, if it is not their caller's.
pub(super) fn origin() -> Option<&'static Location<'static>> {
    ORIGIN.get()
}

/// While this lives, nodes made by this thread belong to one line of the user's: the gradient of an op belongs to the op.
pub(crate) struct Origin(Option<&'static Location<'static>>);

impl Origin {
    /// New nodes belong to `at` from now on.
    pub(crate) fn set(at: &'static Location<'static>) -> Origin {
        Origin(ORIGIN.replace(Some(at)))
    }
}

impl Drop for Origin {
    fn drop(&mut self) {
        ORIGIN.set(self.0);
    }
}
