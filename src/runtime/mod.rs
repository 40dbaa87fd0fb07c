//! Running a plan: buffers, threads, kernels in order.

mod cache;
mod cost;
mod execute;
mod fault;
mod layout;
mod prepared;
mod program;
mod rows;
mod run;
mod structural;
pub(crate) mod threads;

#[cfg(test)]
mod tests;

pub(crate) use execute::{execute, read};
pub(crate) use program::{Nodes, Program};
pub use threads::{set_threads, threads};
