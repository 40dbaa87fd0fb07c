//! Rows c: sums and maxima along each axis.

use crate::bench::{Bench, Outcome, Unit};
use crate::check::Near;
use crate::data::Input;

const SIZE: usize = 4096;

pub fn run(bench: &Bench) -> Outcome {
    if bench.wants_some("c_sum_a") || bench.wants_some("c_max_") {
        let x = Input::<f32, 2>::random([SIZE, SIZE]);
        bench.row(
            "c_sum_axis0",
            Unit::Milliseconds,
            [SIZE],
            || x.tensor.sum_axis(0),
            |[j]| Near::sum((0..SIZE).map(|i| x.at([i, j]))),
        )?;
        bench.row(
            "c_sum_axis1",
            Unit::Milliseconds,
            [SIZE],
            || x.tensor.sum_axis(1),
            |[i]| Near::sum((0..SIZE).map(|j| x.at([i, j]))),
        )?;
        bench.row(
            "c_sum_all",
            Unit::Milliseconds,
            [],
            || x.tensor.sum_all(),
            |[]| Near::sum(x.plain().iter().map(|&value| value.into())),
        )?;
        bench.row(
            "c_max_axis1",
            Unit::Milliseconds,
            [SIZE],
            || x.tensor.max_axis(1),
            |[i]| Near::exact((0..SIZE).map(|j| x.at([i, j])).fold(f64::NEG_INFINITY, f64::max)),
        )?;
    }
    if bench.wants_some("c_sum_mid") {
        let x = Input::<f32, 3>::random([256, 512, 128]);
        bench.row(
            "c_sum_mid_256x512x128",
            Unit::Milliseconds,
            [256, 128],
            || x.tensor.sum_axis(1),
            |[i, k]| Near::sum((0..512).map(|j| x.at([i, j, k]))),
        )?;
    }
    Ok(())
}
