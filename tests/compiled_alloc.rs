//! A compiled function allocates nothing after its first call.
//!
//! Allocations are counted in this process, so the one test that counts them is alone in it.

mod allocator;

use allocator::allocations as count;
use zither::{Matrix, Result, Tensor, Vector, compile};

/// The weights of a 6-64-8-4 network, by a formula.
fn weights() -> Vec<(Matrix<f32>, Vector<f32>)> {
    let layer = |inputs: usize, outputs: usize| {
        let value = |k: usize| ((k * 7919 % 101) as f32 - 50.0) / 100.0;
        let weight = Tensor::from_data((0..inputs * outputs).map(value).collect(), [inputs, outputs]);
        (weight, Tensor::from_data((0..outputs).map(value).collect(), [outputs]))
    };
    vec![layer(6, 64), layer(64, 8), layer(8, 4)]
}

fn network(x: &Matrix<f32>, weights: &[(Matrix<f32>, Vector<f32>)]) -> Matrix<f32> {
    let mut x = x.clone();
    for (place, (weight, bias)) in weights.iter().enumerate() {
        x = x.matmul(weight) + bias;
        if place + 1 < weights.len() {
            x = x.relu();
        }
    }
    x
}

/// The same with plain loops.
fn plain(x: &[f32], weights: &[(Matrix<f32>, Vector<f32>)]) -> Result<Vec<f32>> {
    let mut x = x.to_vec();
    for (place, (weight, bias)) in weights.iter().enumerate() {
        let (w, b) = (weight.data()?, bias.data()?);
        let outputs = b.len();
        let sum = |j: usize| (0..x.len()).map(|i| x[i] * w[i * outputs + j]).sum::<f32>() + b[j];
        let next: Vec<f32> = (0..outputs).map(sum).collect();
        x = if place + 1 < weights.len() { next.iter().map(|v| v.max(0.0)).collect() } else { next };
    }
    Ok(x)
}

#[test]
fn a_compiled_network_allocates_nothing_and_is_right_for_every_input() -> Result<()> {
    let weights = weights();
    let captured = weights.clone();
    let run = compile(move |x: Matrix<f32>| network(&x, &captured));
    let inputs: Vec<Matrix<f32>> = (0..8)
        .map(|k| Tensor::new([[k as f32, 1.0, -2.0, 0.5, 3.0 - k as f32, 0.25]]).realize())
        .collect::<Result<_>>()?;
    for x in &inputs {
        let wanted = plain(&x.data()?, &weights)?;
        for (a, b) in run.call(x)?.data()?.iter().zip(wanted) {
            assert!((a - b).abs() <= 1e-5 * b.abs().max(1.0), "{a} {b}");
        }
    }
    // The test runner's own thread may allocate: the quietest of many rounds counts.
    let counted = (0..100).map(|_| {
        let before = count();
        for x in &inputs {
            drop(run.call(x).expect("it ran before"));
        }
        count() - before
    });
    assert_eq!(counted.min(), Some(0));

    // A result that is still held is not overwritten.
    let first = run.call(&inputs[0])?;
    let second = run.call(&inputs[1])?;
    assert_eq!(first.data()?, run.call(&inputs[0])?.data()?);
    assert_ne!(first.data()?, second.data()?);
    Ok(())
}
