//! Rows h: a thousand ops on 64 elements, where what counts is the cost of an op and not of its numbers; and a network so small
//! that only the call counts.

use crate::bench::{Bench, Outcome, Unit};
use crate::check::Near;
use crate::data::Input;
use zither::{Dim, Tensor, compile};

const ELEMENTS: usize = 64;
const PAIRS: usize = 500;

type Vector = Tensor<f32, Dim<1>>;
type Matrix = Tensor<f32, Dim<2>>;

pub fn run(bench: &Bench) -> Outcome {
    chain(bench)?;
    network(bench)
}

/// The chain as one compiled function, and traced afresh in each call.
fn chain(bench: &Bench) -> Outcome {
    let x = Input::<f32, 1>::random([ELEMENTS]);
    let ops = |x: Vector| (0..PAIRS).fold(x, |y, _| y * 0.999 + 0.001);
    let expected = |[i]: [usize; 1]| {
        let y = (0..PAIRS).fold(x.plain()[i], |y, _| y * 0.999 + 0.001);
        Near::new(y.into(), 1.0)
    };
    let unit = Unit::MicrosecondsOf(2.0 * PAIRS as f64);
    let compiled = compile(ops);
    let call = || compiled.call(&x.tensor).expect("a chain of sums and products");
    bench.row("h_small_op_64", unit, [ELEMENTS], call, expected)?;
    bench.row("h_small_op_64_traced", unit, [ELEMENTS], || ops(x.tensor.clone()), expected)
}

/// A compiled 6-64-8-4 network on one sample.
fn network(bench: &Bench) -> Outcome {
    let x = Input::<f32, 2>::random([1, 6]);
    let weights = [[6, 64], [64, 8], [8, 4]].map(Input::<f32, 2>::random);
    let biases = [64, 8, 4].map(|size| Input::<f32, 1>::random([size]));
    let layers: Vec<(Matrix, Vector)> =
        weights.iter().zip(&biases).map(|(weight, bias)| (weight.tensor.clone(), bias.tensor.clone())).collect();
    let compiled = compile(move |x: Matrix| {
        let hidden = layers[..2].iter().fold(x, |x, (weight, bias)| (x.matmul(weight) + bias).relu());
        hidden.matmul(&layers[2].0) + &layers[2].1
    });
    let expected = |[_, output]: [usize; 2]| {
        let mut values: Vec<f64> = x.plain().iter().map(|&value| value.into()).collect();
        for (place, (weight, bias)) in weights.iter().zip(&biases).enumerate() {
            let (weight, bias) = (weight.plain(), bias.plain());
            let outputs = bias.len();
            let sum = |j: usize| {
                let terms = values.iter().enumerate().map(|(i, value)| value * f64::from(weight[i * outputs + j]));
                terms.sum::<f64>() + f64::from(bias[j])
            };
            let next: Vec<f64> = (0..outputs).map(sum).collect();
            values = if place < 2 { next.iter().map(|value| value.max(0.0)).collect() } else { next };
        }
        Near::new(values[output], 64.0)
    };
    let call = || compiled.call(&x.tensor).expect("a small network");
    bench.row("h_mlp_6_64_8_4", Unit::MicrosecondsOf(1.0), [1, 4], call, expected)
}
