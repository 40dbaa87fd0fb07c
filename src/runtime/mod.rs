//! Where numbers are made: the threads that run a kernel's parts.

pub(crate) mod threads;

pub use threads::{set_threads, threads};
