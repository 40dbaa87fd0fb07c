//! Running a plan: buffers, threads, kernels in order.

mod execute;
mod rows;
mod run;
mod structural;
pub(crate) mod threads;

#[cfg(test)]
mod tests;

pub(crate) use execute::{execute, read};
pub use threads::{set_threads, threads};
