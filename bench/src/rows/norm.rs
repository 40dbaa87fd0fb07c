//! Rows d: softmax and layer norm over the last axis.

use crate::bench::{Bench, Outcome};
use crate::check::Near;
use crate::data::Input;
use crate::rows::limits::Moved;

const ROWS: usize = 8192;
const COLUMNS: usize = 1024;
const EPS: f64 = 1e-5;

pub fn run(bench: &Bench) -> Outcome {
    if !bench.wants_some("d_") {
        return Ok(());
    }
    let x = Input::<f32, 2>::random([ROWS, COLUMNS]);
    let row = |i: usize| (0..COLUMNS).map(|j| x.at([i, j])).collect::<Vec<f64>>();
    bench.row_of_memory(
        "d_softmax_8192x1024",
        Moved::Copied(2 * ROWS * COLUMNS * size_of::<f32>()),
        [ROWS, COLUMNS],
        || x.tensor.softmax(-1),
        |[i, j]| {
            let exponentials: Vec<f64> = row(i).iter().map(|value| value.exp()).collect();
            let share = exponentials[j] / exponentials.iter().sum::<f64>();
            Near::new(share, 4.0 * share) // the exponent's own rounding counts as often as it is large
        },
    )?;

    let (weight, bias) = (Input::<f32, 1>::random([COLUMNS]), Input::<f32, 1>::random([COLUMNS]));
    bench.row_of_memory(
        "d_layernorm_8192x1024",
        Moved::Copied(2 * ROWS * COLUMNS * size_of::<f32>()),
        [ROWS, COLUMNS],
        || x.tensor.layer_norm(&[COLUMNS], Some(&weight.tensor), Some(&bias.tensor), EPS),
        |[i, j]| {
            let row = row(i);
            let mean = row.iter().sum::<f64>() / COLUMNS as f64;
            let variance = row.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / COLUMNS as f64;
            let scaled = (row[j] - mean) / (variance + EPS).sqrt() * weight.at([j]);
            Near::new(scaled + bias.at([j]), scaled.abs() + weight.at([j]).abs() + bias.at([j]).abs())
        },
    )
}
