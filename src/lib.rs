//! zither: lazy, fused, differentiable tensors, with rank and dtype in the type.

#[allow(dead_code)]
mod codegen;
pub mod dtype;
mod error;
#[allow(dead_code)]
mod lower;
#[allow(dead_code)]
mod ops;
pub mod shape;

pub use error::{Error, ErrorKind, Result};
