//! Rows `first_*`: how long a program takes that was never run before, and how much of that one new kernel takes.
//!
//! Every call runs another program of fifty kernels, each a random chain of ops over a vector, so that nothing can come out
//! of a cache.

use crate::bench::{Bench, Outcome, Unit};
use crate::measure::Method;
use std::cell::Cell;
use zither::{Dim, DynTensor, Tensor, realize_all};

const KERNELS: usize = 50;
const OPS: usize = 12;

/// Few and short rounds: each call fills the caches with something new.
const FIRST: Method = Method { rounds: 5, round_seconds: 0.05, warm_seconds: 0.0 };

type Vector = Tensor<f32, Dim<1>>;

pub fn run(bench: &Bench) -> Outcome {
    let inputs: Vec<Vec<f32>> = (0..KERNELS).map(|k| (0..64 + k).map(|i| i as f32 / 128.0).collect()).collect();
    let tensors: Vec<Vector> = inputs.iter().map(|plain| Tensor::from_data(plain.clone(), [plain.len()])).collect();
    let seed = Cell::new(0u64);
    let program = || -> zither::Result<()> {
        seed.set(seed.get() + 1);
        let results: Vec<DynTensor> =
            tensors.iter().enumerate().map(|(k, x)| chain(x, number(seed.get(), k)).to_dynamic()).collect();
        realize_all(&results.iter().collect::<Vec<_>>())?;
        for (k, result) in results.iter().enumerate().take(2) {
            let found = result.data::<f32>()?;
            let wanted = plain_chain(inputs[k][7], number(seed.get(), k));
            assert!((found[7] - wanted).abs() <= 1e-4 * wanted.abs().max(1.0), "{} {wanted}", found[7]);
        }
        Ok(())
    };
    for (name, unit) in
        [("first_run_50_kernels", Unit::Milliseconds), ("first_run_new_kernel", Unit::MicrosecondsOf(KERNELS as f64))]
    {
        if bench.wants(name) {
            program()?;
            bench.time(FIRST, name, unit, 0.0, program)?;
        }
    }
    Ok(())
}

/// What the chain of a kernel is made from.
fn number(seed: u64, kernel: usize) -> u64 {
    (seed * KERNELS as u64 + kernel as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15)
}

fn chain(x: &Vector, number: u64) -> Vector {
    (0..OPS).fold(x.clone(), |y, place| match number >> (4 * place) & 7 {
        0 => y.exp() * 0.1,
        1 => y.sin(),
        2 => (y.square() + 1.0).sqrt(),
        3 => y * x,
        4 => y + x,
        5 => y.tanh(),
        6 => (&y - x).abs(),
        _ => y.maximum(x) * 0.7,
    })
}

fn plain_chain(x: f32, number: u64) -> f32 {
    (0..OPS).fold(x, |y, place| match number >> (4 * place) & 7 {
        0 => y.exp() * 0.1,
        1 => y.sin(),
        2 => (y * y + 1.0).sqrt(),
        3 => y * x,
        4 => y + x,
        5 => y.tanh(),
        6 => (y - x).abs(),
        _ => y.max(x) * 0.7,
    })
}
