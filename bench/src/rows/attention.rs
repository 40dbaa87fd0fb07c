//! Rows k: causal attention, forward and with its gradients, and very many very small products.

use crate::bench::{Bench, Outcome, Unit};
use crate::check::{self, Near};
use crate::data::Input;
use crate::measure::{Method, OP};
use std::time::Instant;
use zither::{AttentionOptions, Dim4, Tensor, grad, realize_all};

const HEADS: usize = 8;
const WIDTH: usize = 64;
/// A score's error is multiplied on its way through the exponential.
const AMPLIFIED: f64 = 8.0;

pub fn run(bench: &Bench) -> Outcome {
    for length in [512, 1024, 2048] {
        attention(bench, length)?;
    }
    products_of_3x3(bench)
}

/// softmax(q·kᵀ/√d, where j ≤ i)·v.
fn causal(q: &Tensor<f32, Dim4>, k: &Tensor<f32, Dim4>, v: &Tensor<f32, Dim4>) -> Tensor<f32, Dim4> {
    q.scaled_dot_product_attention(k, v, AttentionOptions { causal: true, ..AttentionOptions::default() })
}

/// Result and gradients, all of them there.
fn with_gradients(inputs: &[Input<f32, 4>; 3]) -> zither::Result<[Tensor<f32, Dim4>; 4]> {
    let [q, k, v] = inputs.each_ref().map(|input| &input.tensor);
    let result = causal(q, k, v);
    let [dq, dk, dv] = grad(&result, &[q, k, v])?.try_into().expect("one gradient for each");
    let wanted = [result, dq, dk, dv];
    let dynamic = wanted.each_ref().map(|tensor| tensor.to_dynamic());
    realize_all(&dynamic.each_ref())?;
    Ok(wanted)
}

fn attention(bench: &Bench, length: usize) -> Outcome {
    let forward = format!("k_attention_causal_fwd_{length}");
    let both = format!("k_attention_causal_fwdbwd_{length}");
    if !bench.wants(&forward) && !bench.wants(&both) {
        return Ok(());
    }
    let inputs = [(); 3].map(|()| Input::<f32, 4>::random([1, HEADS, length, WIDTH]));
    let heads = [0, HEADS - 1].map(|head| (head, PlainHead::new(&inputs, head, length)));
    let near = |name: &str, result: &Tensor<f32, Dim4>, which: usize| -> Outcome {
        for (head, plain) in &heads {
            let of_head = result.narrow(1, *head, 1);
            check::near(name, &of_head, [1, 1, length, WIDTH], |[_, _, i, c]| plain.near(which, i, c))?;
        }
        Ok(())
    };

    if bench.wants(&forward) {
        let [q, k, v] = inputs.each_ref().map(|input| &input.tensor);
        let begun = Instant::now();
        let result = causal(q, k, v).realize()?;
        let first = begun.elapsed().as_secs_f64();
        near(&forward, &result, 0)?;
        bench.time(OP, &forward, Unit::Milliseconds, first, || causal(q, k, v).realize().map(drop))?;
    }
    if bench.wants(&both) {
        let begun = Instant::now();
        let results = with_gradients(&inputs)?;
        let first = begun.elapsed().as_secs_f64();
        for (which, result) in results.iter().enumerate() {
            near(&both, result, which)?;
        }
        bench.time(OP, &both, Unit::Milliseconds, first, || with_gradients(&inputs).map(drop))?;
    }
    Ok(())
}

/// One head's attention and its gradients by their formulas, with everything kept.
struct PlainHead {
    q: Vec<f64>,
    k: Vec<f64>,
    v: Vec<f64>,
    /// The softmax: `length` rows of `length`, 0 where masked.
    shares: Vec<f64>,
    /// The gradients of the scores, and the size of what was subtracted to get them.
    scores: Vec<(f64, f64)>,
    length: usize,
}

impl PlainHead {
    fn new(inputs: &[Input<f32, 4>; 3], head: usize, length: usize) -> PlainHead {
        let part = length * WIDTH;
        let [q, k, v] = inputs.each_ref().map(|input| {
            input.plain()[head * part..(head + 1) * part].iter().map(|&value| value.into()).collect::<Vec<f64>>()
        });
        let row = |of: &[f64], i: usize| of[i * WIDTH..(i + 1) * WIDTH].to_vec();
        let (mut shares, mut scores) = (vec![0.0; length * length], vec![(0.0, 0.0); length * length]);
        // The gradient of a share is its value's sum, since the gradient of every result is 1.
        let slopes: Vec<f64> = (0..length).map(|j| row(&v, j).iter().sum()).collect();
        for i in 0..length {
            let (query, line) = (row(&q, i), i * length..i * length + i + 1);
            for (j, share) in shares[line.clone()].iter_mut().enumerate() {
                let score: f64 = query.iter().zip(&k[j * WIDTH..]).map(|(a, b)| a * b).sum();
                *share = (score / (WIDTH as f64).sqrt()).exp();
            }
            let total: f64 = shares[line.clone()].iter().sum();
            shares[line.clone()].iter_mut().for_each(|share| *share /= total);
            let mean: f64 = shares[line.clone()].iter().zip(&slopes).map(|(share, slope)| share * slope).sum();
            for (j, score) in scores[line.clone()].iter_mut().enumerate() {
                let share = shares[i * length + j];
                *score = (share * (slopes[j] - mean), share * (slopes[j].abs() + mean.abs()));
            }
        }
        PlainHead { q, k, v, shares, scores, length }
    }

    /// Element `[i, c]` of the result (0) or of the gradient of q, k or v (1, 2, 3).
    fn near(&self, which: usize, i: usize, c: usize) -> Near {
        let n = self.length;
        let root = (WIDTH as f64).sqrt();
        let term = |other: usize| -> (f64, f64) {
            let score_times = |(value, size): (f64, f64), of: &[f64]| {
                let factor = of[other * WIDTH + c] / root;
                (value * factor, size * factor.abs())
            };
            match which {
                0 => (self.shares[i * n + other] * self.v[other * WIDTH + c], self.shares[i * n + other]),
                1 => score_times(self.scores[i * n + other], &self.k),
                2 => score_times(self.scores[other * n + i], &self.q),
                _ => (self.shares[other * n + i], self.shares[other * n + i]),
            }
        };
        let (value, size) = (0..n).map(term).fold((0.0, 0.0), |(a, b), (value, size)| (a + value, b + size));
        Near::new(value, AMPLIFIED * size)
    }
}

fn products_of_3x3(bench: &Bench) -> Outcome {
    const COUNT: usize = 10_000_000;
    let name = "k_bmm_3x3_10M";
    if !bench.wants(name) {
        return Ok(());
    }
    let (a, b) = (Input::<f32, 3>::random([COUNT, 3, 3]), Input::<f32, 3>::random([COUNT, 3, 3]));
    bench.row_by(
        Method { rounds: 3, ..OP },
        name,
        Unit::Milliseconds,
        [COUNT, 3, 3],
        || a.tensor.matmul(&b.tensor),
        |[s, i, j]| Near::sum((0..3).map(|k| a.at([s, i, k]) * b.at([s, k, j]))),
    )
}
