//! The rows, a file for each group of them.

mod attention;
mod conv;
mod elementwise;
mod first;
mod layers;
pub mod limits;
mod lookup;
mod matmul;
mod norm;
mod reduce;
mod small;
mod train;
mod transpose;

use crate::bench::{Bench, Outcome};

/// Runs every row that is wanted. Beside their limits, those of much memory.
pub fn run(bench: &Bench) -> Outcome {
    elementwise::run(bench)?;
    reduce::run(bench)?;
    norm::run(bench)?;
    transpose::run(bench)?;
    if bench.is_beside_limits() {
        return Ok(());
    }
    matmul::run(bench)?;
    conv::run(bench)?;
    small::run(bench)?;
    first::run(bench)?;
    train::run(bench)?;
    attention::run(bench)?;
    lookup::run(bench)?;
    layers::run(bench)?;
    limits::run(bench);
    Ok(())
}
