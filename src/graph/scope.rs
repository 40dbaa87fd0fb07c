//! What holds for a stretch of a thread's work: whether gradients are recorded, and whose line new nodes belong to.

use std::cell::Cell;
use std::panic::Location;

thread_local! {
    /// Why nothing is recorded; `None` when everything is.
    static PAUSED: Cell<Option<&'static str>> = const { Cell::new(None) };
    static ORIGIN: Cell<Option<&'static Location<'static>>> = const { Cell::new(None) };
}

/// Why new nodes of this thread do not remember how to be differentiated; `None` when they do.
pub(super) fn paused() -> Option<&'static str> {
    PAUSED.get()
}

/// Whether new nodes of this thread remember how to be differentiated.
pub(crate) fn is_recording() -> bool {
    paused().is_none()
}

/// While this lives, nodes made by this thread do not record how to be differentiated.
pub(crate) struct Pause(Option<&'static str>);

impl Pause {
    /// Recording stops, and `reason` will be named where a gradient is missed.
    pub(crate) fn because(reason: &'static str) -> Pause {
        Pause(PAUSED.replace(Some(reason)))
    }
}

impl Drop for Pause {
    fn drop(&mut self) {
        PAUSED.set(self.0);
    }
}

/// The line that a new node belongs to: the caller's, unless an [`Origin`] says otherwise.
#[track_caller]
pub(super) fn here() -> &'static Location<'static> {
    match ORIGIN.get() {
        Some(at) => at,
        None => Location::caller(),
    }
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
