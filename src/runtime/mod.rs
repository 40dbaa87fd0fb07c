//! Running a plan: buffers, threads, kernels in order.

mod cache;
mod cost;
mod debug;
mod execute;
mod explain;
mod fault;
mod fetch;
mod layout;
mod prepared;
mod program;
mod rows;
mod run;
mod structural;
pub(crate) mod threads;
mod verify;

#[cfg(test)]
mod tests;

pub(crate) use execute::{execute, read};
pub use explain::Explanation;
pub(crate) use explain::{explain, lowered};
pub(crate) use program::{Nodes, Program};
pub use threads::{set_threads, threads};
pub(crate) use verify::is_on as verifies;
