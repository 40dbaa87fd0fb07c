//! Rows c: sums and maxima along each axis.

use crate::bench::{Bench, Outcome};
use crate::check::Near;
use crate::data::Input;
use crate::rows::limits::Moved;

const SIZE: usize = 4096;

pub fn run(bench: &Bench) -> Outcome {
    if bench.wants_some("c_sum_a") || bench.wants_some("c_max_") {
        let x = Input::<f32, 2>::random([SIZE, SIZE]);
        bench.row_of_memory(
            "c_sum_axis0",
            Moved::Read(SIZE * SIZE * size_of::<f32>()),
            [SIZE],
            || x.tensor.sum_axis(0),
            |[j]| Near::sum((0..SIZE).map(|i| x.at([i, j]))),
        )?;
        bench.row_of_memory(
            "c_sum_axis1",
            Moved::Read(SIZE * SIZE * size_of::<f32>()),
            [SIZE],
            || x.tensor.sum_axis(1),
            |[i]| Near::sum((0..SIZE).map(|j| x.at([i, j]))),
        )?;
        bench.row_of_memory(
            "c_sum_all",
            Moved::Read(SIZE * SIZE * size_of::<f32>()),
            [],
            || x.tensor.sum_all(),
            |[]| Near::sum(x.plain().iter().map(|&value| value.into())),
        )?;
        bench.row_of_memory(
            "c_max_axis1",
            Moved::Read(SIZE * SIZE * size_of::<f32>()),
            [SIZE],
            || x.tensor.max_axis(1),
            |[i]| Near::exact((0..SIZE).map(|j| x.at([i, j])).fold(f64::NEG_INFINITY, f64::max)),
        )?;
    }
    if bench.wants_some("c_sum_mid") {
        let x = Input::<f32, 3>::random([256, 512, 128]);
        bench.row_of_memory(
            "c_sum_mid_256x512x128",
            Moved::Read(SIZE * SIZE * size_of::<f32>()),
            [256, 128],
            || x.tensor.sum_axis(1),
            |[i, k]| Near::sum((0..512).map(|j| x.at([i, j, k]))),
        )?;
    }
    Ok(())
}
