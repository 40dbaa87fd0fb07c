//! The one error of the library.
//!
//! A message says what was asked (the op), what was wrong with it (shapes, dtypes, axes) and what to change,
//! and it names the source lines where the operands were made.

use std::fmt;
use std::panic::Location;

/// What every fallible call of the library returns.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// The family an [`Error`] belongs to, for code that wants to react to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// Shapes that do not fit each other or the op.
    Shape,
    /// An axis that the tensor does not have.
    Axis,
    /// An index, or a slice, outside the tensor.
    Index,
    /// Dtypes that clash, or that the op does not take.
    DType,
    /// A size too large to address, or memory that could not be had.
    Memory,
    /// A gradient that cannot flow.
    Gradient,
    /// An `input` that was read but never given.
    Input,
    /// An argument outside its range.
    Value,
    /// A result that the reference evaluator does not agree with (only with `ZITHER_VERIFY=1`).
    Verify,
}

/// What went wrong, in words meant for the person who wrote the call.
#[derive(Clone, PartialEq, Eq)]
pub struct Error(Box<Inner>);

#[derive(Clone, PartialEq, Eq)]
struct Inner {
    kind: ErrorKind,
    op: String,
    message: String,
    notes: Vec<String>,
}

impl Error {
    /// An error of `op`; `message` starts after "op: ".
    pub(crate) fn new(kind: ErrorKind, op: impl Into<String>, message: impl Into<String>) -> Error {
        Error(Box::new(Inner { kind, op: op.into(), message: message.into(), notes: Vec::new() }))
    }

    /// Adds a line below the message.
    pub(crate) fn note(mut self, note: impl Into<String>) -> Error {
        self.0.notes.push(note.into());
        self
    }

    /// Adds "`what` made at file:line".
    pub(crate) fn made_at(self, what: &str, at: &Location<'_>) -> Error {
        self.note(format!("{what} made at {}:{}", at.file(), at.line()))
    }

    /// Adds where both operands were made, on one line.
    pub(crate) fn operands(self, left: &Location<'_>, right: &Location<'_>) -> Error {
        self.note(format!(
            "left made at {}:{}, right made at {}:{}",
            left.file(),
            left.line(),
            right.file(),
            right.line()
        ))
    }

    /// The family of the error.
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// The name of the op that failed.
    pub fn op(&self) -> &str {
        &self.0.op
    }

    /// Panics with this error's text; the panic is reported at the caller's caller.
    #[track_caller]
    #[cold]
    pub(crate) fn raise(self) -> ! {
        panic!("{self}")
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.0.op, self.0.message)?;
        for note in &self.0.notes {
            write!(f, "\n  {note}")?;
        }
        Ok(())
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for Error {}

/// Tells in an error which line of the user's asked for a tensor that could not be made.
pub(crate) trait MadeHere {
    /// Adds "tensor made at" with the caller's line to an error.
    #[track_caller]
    fn made_here(self) -> Self;
}

impl<T> MadeHere for Result<T> {
    #[track_caller]
    #[inline]
    fn made_here(self) -> Result<T> {
        match self {
            Ok(value) => Ok(value),
            Err(error) => Err(error.made_at("tensor", Location::caller())),
        }
    }
}

/// Turns a `Result` into a value, or panics at the user's line with the error's text.
pub(crate) trait OrRaise<T> {
    /// The value, or a panic reported at the caller.
    #[track_caller]
    fn or_raise(self) -> T;
}

impl<T> OrRaise<T> for Result<T> {
    #[track_caller]
    #[inline]
    fn or_raise(self) -> T {
        match self {
            Ok(value) => value,
            Err(error) => error.raise(),
        }
    }
}
