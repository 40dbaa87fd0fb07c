//! zither: lazy, fused, differentiable tensors, with rank and dtype in the type.

#[allow(dead_code)]
#[path = "tensor/display/mod.rs"]
mod display;
pub mod dtype;
mod error;
#[allow(dead_code)]
mod lower;
#[allow(dead_code)]
pub mod memory;
#[allow(dead_code)]
mod ops;
#[allow(dead_code)]
pub mod runtime;
pub mod shape;
pub mod strided;

pub use error::{Error, ErrorKind, Result};
