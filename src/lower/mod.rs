//! A kernel becomes a loop program.

pub(crate) mod program;
