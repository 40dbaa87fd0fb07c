//! Rows e: what reads along the other axis.

use crate::bench::{Bench, Outcome};
use crate::check::Near;
use crate::data::Input;
use crate::rows::limits::Moved;

const SIZE: usize = 4096;

pub fn run(bench: &Bench) -> Outcome {
    if !bench.wants_some("e_") {
        return Ok(());
    }
    let x = Input::<f32, 2>::random([SIZE, SIZE]);
    bench.row_of_memory(
        "e_transpose_copy",
        Moved::Copied(2 * SIZE * SIZE * size_of::<f32>()),
        [SIZE, SIZE],
        || x.tensor.t().contiguous(),
        |[i, j]| Near::exact(x.at([j, i])),
    )?;
    bench.row_of_memory(
        "e_x_plus_xT",
        Moved::Copied(2 * SIZE * SIZE * size_of::<f32>()),
        [SIZE, SIZE],
        || &x.tensor + x.tensor.t(),
        |[i, j]| Near::sum([x.at([i, j]), x.at([j, i])].into_iter()),
    )
}
