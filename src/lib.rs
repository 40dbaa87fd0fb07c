//! zither: lazy, fused, differentiable tensors, with rank and dtype in the type.

pub mod dtype;
mod error;
mod ops;

pub use error::{Error, ErrorKind, Result};
