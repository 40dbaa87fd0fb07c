//! zither: lazy, fused, differentiable tensors, with rank and dtype in the type.

#[allow(dead_code)]
mod codegen;
pub mod dtype;
mod error;
#[allow(dead_code)]
mod grad;
#[allow(dead_code)]
mod graph;
#[allow(dead_code)]
mod lower;
#[allow(dead_code)]
pub mod memory;
#[allow(dead_code)]
mod ops;
#[allow(dead_code)]
mod reference;
#[allow(dead_code)]
pub mod runtime;
#[allow(dead_code)]
mod schedule;
pub mod shape;
pub mod strided;

pub use error::{Error, ErrorKind, Result};
