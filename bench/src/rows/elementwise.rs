//! Rows a and b: a sum that broadcasts, and a chain with a transcendental function in it.

use crate::bench::{Bench, Outcome, Unit};
use crate::check::Near;
use crate::data::Input;
use crate::rows::limits::Moved;
use std::f64::consts::PI;

pub fn run(bench: &Bench) -> Outcome {
    if bench.wants_some("a_") {
        let x = Input::<f32, 4>::random([32, 630, 12, 32]);
        let b = Input::<f32, 4>::random([32, 1, 1, 32]);
        bench.row_of_memory(
            "a_broadcast_add",
            Moved::Copied(2 * 32 * 630 * 12 * 32 * size_of::<f32>()),
            [32, 630, 12, 32],
            || &x.tensor + &b.tensor,
            |[i, j, k, l]| Near::sum([x.at([i, j, k, l]), b.at([i, 0, 0, l])].into_iter()),
        )?;
    }
    gelu_affine(bench, "b_gelu_affine_16M", Unit::Milliseconds, 4096, 4096)?;
    gelu_affine(bench, "b_gelu_affine_64x256", Unit::MicrosecondsOf(1.0), 64, 256)
}

fn gelu_affine(bench: &Bench, name: &str, unit: Unit, rows: usize, columns: usize) -> Outcome {
    if !bench.wants(name) {
        return Ok(());
    }
    let x = Input::<f32, 2>::random([rows, columns]);
    let (w, b) = (Input::<f32, 1>::random([columns]), Input::<f32, 1>::random([columns]));
    bench.row(
        name,
        unit,
        [rows, columns],
        || (&x.tensor * &w.tensor + &b.tensor).gelu_tanh(),
        |[i, j]| {
            let (product, offset) = (x.at([i, j]) * w.at([j]), b.at([j]));
            Near::new(gelu_tanh(product + offset), product.abs() + offset.abs())
        },
    )
}

fn gelu_tanh(x: f64) -> f64 {
    0.5 * x * (1.0 + ((2.0 / PI).sqrt() * (x + 0.044715 * x.powi(3))).tanh())
}
