//! Running a plan: buffers, threads, kernels in order.

mod cache;
mod contraction;
mod cost;
mod debug;
mod elements;
mod execute;
mod explain;
mod fault;
mod fetch;
mod gather;
mod in_place;
mod layout;
mod number;
mod prepared;
mod program;
mod row_tiles;
mod rows;
mod run;
mod scan;
mod scatter;
mod slots;
mod sort;
mod structural;
pub(crate) mod threads;
mod verify;

#[cfg(test)]
mod tests;

pub(crate) use execute::{OF_A_COMPILED_FUNCTION, execute, read};
pub use explain::Explanation;
pub(crate) use explain::{explain, lowered};
pub(crate) use program::{Nodes, Program};
pub use threads::{set_threads, threads};
pub(crate) use verify::is_on as verifies;
