//! zither: lazy, fused, differentiable tensors, with rank and dtype in the type.

mod codegen;
pub mod dtype;
mod error;
mod grad;
mod graph;
mod lower;
pub mod memory;
mod ops;
mod reference;
pub mod runtime;
mod schedule;
pub mod shape;
pub mod strided;
mod tensor;

#[cfg(test)]
mod random_programs;
#[cfg(test)]
mod table_tests;

pub use dtype::{DType, Literal, bf16, f16};
pub use error::{Error, ErrorKind, Result};
pub use shape::{Expr, Layout, View};
pub use tensor::*;
