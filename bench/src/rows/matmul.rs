//! Rows f: products of matrices.

use crate::bench::{Bench, Outcome, Unit};
use crate::check::{Near, Real};
use crate::data::Input;

pub fn run(bench: &Bench) -> Outcome {
    for size in [128, 512, 1024, 2048] {
        square::<f32>(bench, &format!("f_matmul_{size}"), size)?;
    }
    gemv(bench)?;
    batched(bench)?;
    square::<f64>(bench, "f_matmul_f64_1024", 1024)?;
    times_transposed(bench)
}

fn flops(sizes: [usize; 3]) -> f64 {
    2.0 * sizes.iter().product::<usize>() as f64
}

fn square<T: Real>(bench: &Bench, name: &str, size: usize) -> Outcome {
    if !bench.wants(name) {
        return Ok(());
    }
    let (a, b) = (Input::<T, 2>::random([size, size]), Input::<T, 2>::random([size, size]));
    bench.row(
        name,
        Unit::GigaflopsOf(flops([size; 3])),
        [size, size],
        || a.tensor.matmul(&b.tensor),
        |[i, j]| Near::sum((0..size).map(|k| a.at([i, k]) * b.at([k, j]))),
    )
}

fn gemv(bench: &Bench) -> Outcome {
    let name = "f_gemv_1x4096x4096";
    if !bench.wants(name) {
        return Ok(());
    }
    let (a, b) = (Input::<f32, 2>::random([1, 4096]), Input::<f32, 2>::random([4096, 4096]));
    bench.row(
        name,
        Unit::Milliseconds,
        [1, 4096],
        || a.tensor.matmul(&b.tensor),
        |[_, j]| Near::sum((0..4096).map(|k| a.at([0, k]) * b.at([k, j]))),
    )
}

fn batched(bench: &Bench) -> Outcome {
    let name = "f_batched_96x128x64x128";
    if !bench.wants(name) {
        return Ok(());
    }
    let (a, b) = (Input::<f32, 3>::random([96, 128, 64]), Input::<f32, 3>::random([96, 64, 128]));
    bench.row(
        name,
        Unit::GigaflopsOf(96.0 * flops([128, 64, 128])),
        [96, 128, 128],
        || a.tensor.matmul(&b.tensor),
        |[s, i, j]| Near::sum((0..64).map(|k| a.at([s, i, k]) * b.at([s, k, j]))),
    )
}

fn times_transposed(bench: &Bench) -> Outcome {
    let name = "f_xwT_512x768x3072";
    if !bench.wants(name) {
        return Ok(());
    }
    let (x, w) = (Input::<f32, 2>::random([512, 768]), Input::<f32, 2>::random([3072, 768]));
    bench.row(
        name,
        Unit::GigaflopsOf(flops([512, 768, 3072])),
        [512, 3072],
        || x.tensor.matmul(&w.tensor.t()),
        |[i, j]| Near::sum((0..768).map(|k| x.at([i, k]) * w.at([j, k]))),
    )
}
