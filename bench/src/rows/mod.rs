//! The rows, a file for each group of them.

mod attention;
mod conv;
mod elementwise;
mod first;
mod limits;
mod lookup;
mod matmul;
mod norm;
mod reduce;
mod small;
mod train;
mod transpose;

use crate::bench::{Bench, Outcome};

/// Runs every row that is wanted.
pub fn run(bench: &Bench) -> Outcome {
    elementwise::run(bench)?;
    reduce::run(bench)?;
    norm::run(bench)?;
    transpose::run(bench)?;
    matmul::run(bench)?;
    conv::run(bench)?;
    small::run(bench)?;
    first::run(bench)?;
    train::run(bench)?;
    attention::run(bench)?;
    lookup::run(bench)?;
    limits::run(bench);
    Ok(())
}
