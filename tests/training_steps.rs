//! Steps of training: what lies between is not kept, and a compiled step allocates nothing once it runs.
//!
//! Allocations and bytes are counted in this process, so the tests take turns.

mod allocator;

use allocator::allocations as count;
use std::sync::{Mutex, MutexGuard, PoisonError};
use zither::{AttentionOptions, CrossEntropyOptions, DynTensor, Result, Window, compile, memory, no_grad, realize_all};

/// Held by the test whose turn it is.
fn take_turn() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::new(());
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Numbers by a formula.
fn data(shape: &[usize], seed: usize) -> DynTensor {
    let value = |k: usize| (((k + seed) * 7919 % 1009) as f32 - 504.0) / 2000.0;
    DynTensor::from_data((0..shape.iter().product()).map(value).collect::<Vec<f32>>(), shape)
}

fn labels(count: usize, classes: usize) -> DynTensor {
    DynTensor::from_data((0..count).map(|k| (k * 7 % classes) as i64).collect::<Vec<i64>>(), &[count])
}

fn mlp(p: &[DynTensor], x: &DynTensor, labels: &DynTensor) -> DynTensor {
    let hidden = x.linear(&p[0], Some(&p[1])).relu();
    hidden.linear(&p[2], Some(&p[3])).cross_entropy(labels, CrossEntropyOptions::default())
}

/// One block of a small GPT, of one head.
fn block(p: &[DynTensor], x: &DynTensor, labels: &DynTensor) -> DynTensor {
    let [width, length] = [x.shape()[2], x.shape()[1]];
    let normed = x.layer_norm(&[width], Some(&p[0]), Some(&p[1]), 1e-5);
    let all = normed.linear(&p[2], Some(&p[3]));
    let [q, k, v] = [0, 1, 2].map(|which| all.narrow(2, which * width, width));
    let causal = AttentionOptions { causal: true, ..AttentionOptions::default() };
    let x = x + q.scaled_dot_product_attention(&k, &v, None, causal);
    let scores = (x.linear(&p[4], Some(&p[5])).gelu_tanh() + &x).linear(&p[6], Some(&p[7]));
    let (rows, classes) = ((x.shape()[0] * length) as isize, p[7].shape()[0] as isize);
    scores.reshape(&[rows, classes]).cross_entropy(labels, CrossEntropyOptions::default())
}

/// Two convolutions with pooling, and two layers.
fn cnn(p: &[DynTensor], x: &DynTensor, labels: &DynTensor) -> DynTensor {
    let padded = Window { padding: [2, 2], ..Window::default() };
    let image = x.conv(&p[0], Some(&p[1]), padded).relu();
    let [samples, channels, height, width] = [0, 1, 2, 3].map(|axis| image.shape()[axis] as isize);
    let image = image.reshape(&[samples, channels, height / 2, 2, width / 2, 2]).max(&[3, 5], false);
    let image = image.conv(&p[2], Some(&p[3]), Window::<2>::default()).relu();
    let hidden = image.flatten(1, -1).linear(&p[4], Some(&p[5])).relu();
    hidden.linear(&p[6], Some(&p[7])).cross_entropy(labels, CrossEntropyOptions::default())
}

/// Parameters, and both means of Adam.
type Step<const N: usize> = [[DynTensor; 3]; N];

/// A step of Adam.
fn adam<const N: usize>(state: &Step<N>, loss_of: impl Fn(&[DynTensor]) -> DynTensor) -> (Step<N>, DynTensor) {
    let leaves: Vec<DynTensor> = state.iter().map(|[value, ..]| value.clone().set_requires_grad(true)).collect();
    let loss = loss_of(&leaves);
    loss.backward();
    let advance = |k: usize| {
        let ([value, mean, squares], g) = (&state[k], leaves[k].grad().expect("every parameter is used"));
        let mean = mean * 0.9 + &g * 0.1;
        let squares = squares * 0.999 + &g * &g * 0.001;
        [value - &mean / (squares.sqrt() + 1e-8) * 1e-2, mean, squares]
    };
    (no_grad(|| std::array::from_fn(advance)), loss.detach())
}

/// Thirty compiled steps, which have to learn, and to allocate nothing after the first few: with a state that is lent to each, and with one that
/// is given away. Both learn the same.
fn learns_without_allocating<const N: usize>(
    shapes: [&[usize]; N],
    loss_of: impl Fn(&[DynTensor]) -> DynTensor + Send + Sync + 'static,
) -> Result<()> {
    let _turn = take_turn();
    let start = || -> Step<N> {
        std::array::from_fn(|k| {
            let zeros = || DynTensor::from_data(vec![0f32; shapes[k].iter().product()], shapes[k]);
            [data(shapes[k], (k + 1) * 100), zeros(), zeros()]
        })
    };
    let step = compile(move |state: Step<N>| adam(&state, &loss_of));
    // All of the state can be written over: whatever else reads a parameter runs before its update.
    let bytes: usize = shapes.iter().map(|shape| shape.iter().product::<usize>() * 3 * 4).sum();
    let in_place = step.explain(&start())?.in_place_bytes;
    assert!(in_place >= bytes, "{in_place} of {bytes} bytes");

    let mut learned = Vec::new();
    for is_given in [false, true] {
        let mut state = start();
        let mut losses = Vec::new();
        let mut counts = Vec::new();
        for _ in 0..30 {
            let before = count();
            let (next, loss) = if is_given { step.call_owned(state)? } else { step.call(&state)? };
            state = next;
            counts.push(count() - before);
            losses.push(loss.data::<f32>()?[0]);
        }
        assert!(losses[29] < losses[0] * 0.8, "{losses:?}");
        // The test runner's own thread may allocate now and then.
        let quiet = counts[4..].iter().filter(|&&count| count == 0).count();
        assert!(quiet >= 20, "{counts:?}");
        learned.push((losses, state.iter().flatten().map(DynTensor::data::<f32>).collect::<Result<Vec<_>>>()?));
    }
    assert!(learned[0] == learned[1], "the same bits");
    Ok(())
}

#[test]
fn a_compiled_step_of_a_gpt_allocates_nothing_once_it_runs() -> Result<()> {
    let (x, y) = (data(&[2, 40, 16], 1), labels(80, 5));
    let shapes: [&[usize]; 8] = [&[16], &[16], &[48, 16], &[48], &[16, 16], &[16], &[5, 16], &[5]];
    learns_without_allocating(shapes, move |p| block(p, &x, &y))
}

#[test]
fn a_compiled_step_of_an_mlp_allocates_nothing_once_it_runs() -> Result<()> {
    let (x, y) = (data(&[32, 20], 1), labels(32, 5));
    learns_without_allocating([&[24, 20], &[24], &[5, 24], &[5]], move |p| mlp(p, &x, &y))
}

#[test]
fn a_compiled_step_of_a_cnn_allocates_nothing_once_it_runs() -> Result<()> {
    let (x, y) = (data(&[8, 1, 12, 12], 1), labels(8, 5));
    let shapes: [&[usize]; 8] = [&[3, 1, 5, 5], &[3], &[4, 3, 3, 3], &[4], &[12, 64], &[12], &[5, 12], &[5]];
    learns_without_allocating(shapes, move |p| cnn(p, &x, &y))
}

#[test]
fn a_deep_network_keeps_what_its_layers_made_and_little_else() -> Result<()> {
    let _turn = take_turn();
    const LAYERS: usize = 12;
    let (x, y) = (data(&[512, 256], 1).realize()?, labels(512, 256));
    let step = compile(move |state: Step<LAYERS>| {
        adam(&state, |p| {
            let hidden = p[1..].iter().fold(x.linear(&p[0], None), |x, layer| x.relu().linear(layer, None));
            hidden.cross_entropy(&y, CrossEntropyOptions::default())
        })
    });
    let state: Step<LAYERS> = std::array::from_fn(|k| [0, 1, 2].map(|part| data(&[256, 256], k + part)));
    let (plan, activation) = (step.explain(&state)?, 512 * 256 * 4);
    let results = LAYERS * 3 * 256 * 256 * 4;
    // What a layer makes on the way forward, before and after `relu`; and on the way back what one of them needs, not the gradients of all.
    let most = results + (2 * LAYERS + 6) * activation;
    assert!(plan.peak_bytes <= most, "{} of {most} bytes", plan.peak_bytes);
    assert!(plan.in_place_bytes >= results, "{} of {results} bytes", plan.in_place_bytes);
    Ok(())
}

#[test]
fn what_lies_between_is_not_kept_when_all_gradients_are_asked_for() -> Result<()> {
    let _turn = take_turn();
    let (x, y) = (data(&[512, 64], 1).realize()?, labels(512, 10));
    let start = || [data(&[256, 64], 2), data(&[256], 3), data(&[10, 256], 4), data(&[10], 5)];
    let leaves = || start().map(|value| value.set_requires_grad(true));
    let asked_at_once = {
        let p = leaves();
        let loss = mlp(&p, &x, &y);
        loss.backward();
        let gradients: Vec<DynTensor> = p.iter().map(|leaf| leaf.grad().expect("it is used")).collect();
        let before = memory::stats().live_bytes;
        realize_all(&gradients.iter().chain([&loss]).collect::<Vec<_>>())?;
        let made: usize = gradients.iter().map(|gradient| gradient.len() * 4).sum();
        // The hidden layer alone would be 512 KiB.
        let stays = memory::stats().live_bytes - before;
        assert!(stays < made + (64 << 10), "{stays} bytes stay, gradients are {made}");
        // Asked again, what is missing is computed again.
        loss.backward();
        let twice: Vec<DynTensor> = p.iter().map(|leaf| leaf.grad().expect("it is used")).collect();
        for (once, twice) in gradients.iter().zip(&twice) {
            let (once, twice) = (once.data::<f32>()?, twice.data::<f32>()?);
            assert!(once.iter().zip(&twice).all(|(a, b)| (2.0 * a - b).abs() <= 1e-5 * a.abs().max(1e-3)));
        }
        gradients.iter().map(|gradient| gradient.data::<f32>()).collect::<Result<Vec<_>>>()?
    };
    // One after the other they are the same, and the first to be read keeps what the others need.
    let p = leaves();
    let loss = mlp(&p, &x, &y);
    loss.backward();
    for (leaf, expected) in p.iter().zip(asked_at_once) {
        let found = leaf.grad().expect("it is used").data::<f32>()?;
        assert!(found.iter().zip(&expected).all(|(a, b)| (a - b).abs() <= 1e-5 * b.abs().max(1e-3)));
    }
    Ok(())
}
