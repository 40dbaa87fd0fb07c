//! Rows l: layers and losses that are composed: pools, batch norm, cross entropy, an equation.

use crate::bench::{Bench, Outcome, Unit};
use crate::check::{Near, near};
use crate::data::{Index, Input};
use crate::measure::OP;
use std::cell::RefCell;
use std::collections::HashMap;
use std::time::Instant;
use zither::{CrossEntropyOptions, Dim1, Dim2, Dim4, Pool, Reduction, Tensor, einsum, grad, realize_all};

pub fn run(bench: &Bench) -> Outcome {
    pool(bench)?;
    batch_norm(bench)?;
    equation(bench)?;
    cross_entropy(bench)
}

/// Windows of 3 × 3, two apart, over images with a border of one.
fn pool(bench: &Bench) -> Outcome {
    const SHAPE: [usize; 4] = [32, 64, 56, 56];
    const PLACES: [usize; 4] = [32, 64, 28, 28];
    if !bench.wants_some("l_max_pool2d") {
        return Ok(());
    }
    let x = Input::<f32, 4>::random(SHAPE);
    let windows = Pool { padding: [1, 1], ..Pool::new([3, 3]).stride([2, 2]) };
    // The places of a window that are inside.
    let inside = |i: usize| (2 * i).saturating_sub(1)..(2 * i + 2).min(SHAPE[2]);
    let largest = |[s, c, i, j]: Index<4>| -> (f64, [usize; 2]) {
        let places = inside(i).flat_map(|i| inside(j).map(move |j| [i, j]));
        places.fold((f64::NEG_INFINITY, [0, 0]), |best, [i, j]| {
            let value = x.at([s, c, i, j]);
            if value > best.0 { (value, [i, j]) } else { best }
        })
    };
    bench.row(
        "l_max_pool2d_32x64x56",
        Unit::Milliseconds,
        PLACES,
        || x.tensor.max_pool2d(windows),
        |at| Near::exact(largest(at).0),
    )?;
    let seed = Input::<f32, 4>::random(PLACES);
    bench.row(
        "l_max_pool2d_grad_32x64x56",
        Unit::Milliseconds,
        SHAPE,
        || grad(&(x.tensor.max_pool2d(windows) * &seed.tensor).sum_all(), &[&x.tensor]).expect("a gradient").remove(0),
        |[s, c, i, j]| {
            let windows = |i: usize| (i / 2..=i.div_ceil(2)).filter(|&place| place < PLACES[2]);
            let near = windows(i).flat_map(|p| windows(j).map(move |q| [p, q]));
            let chosen = near.filter(|&[p, q]| largest([s, c, p, q]).1 == [i, j]);
            Near::sum(chosen.map(|[p, q]| seed.at([s, c, p, q])))
        },
    )
}

/// Forward and backward of a batch norm in training: the output, and the gradients of the images, weights and biases.
fn batch_norm(bench: &Bench) -> Outcome {
    const SHAPE: [usize; 4] = [32, 64, 56, 56];
    const EPS: f64 = 1e-5;
    let name = "l_batch_norm_train_32x64x56";
    if !bench.wants(name) {
        return Ok(());
    }
    let (x, seed) = (Input::<f32, 4>::random(SHAPE), Input::<f32, 4>::random(SHAPE));
    let (weight, bias) = (Input::<f32, 1>::random([64]), Input::<f32, 1>::random([64]));
    let count = (SHAPE[0] * SHAPE[2] * SHAPE[3]) as f64;
    // Of each channel: mean, deviation, and the means of the gradient and of gradient times result.
    let known = RefCell::new(HashMap::new());
    let facts = |c: usize| -> [f64; 4] {
        *known.borrow_mut().entry(c).or_insert_with(|| {
            let places = || (0..SHAPE[0] * 56 * 56).map(|k| [k / (56 * 56), c, k / 56 % 56, k % 56]);
            let mean = places().map(|at| x.at(at)).sum::<f64>() / count;
            let var = places().map(|at| (x.at(at) - mean).powi(2)).sum::<f64>() / count;
            let deviation = (var + EPS).sqrt();
            let level = places().map(|at| seed.at(at)).sum::<f64>() / count;
            let along = places().map(|at| seed.at(at) * (x.at(at) - mean) / deviation).sum::<f64>() / count;
            [mean, deviation, level, along]
        })
    };
    let inputs = [x.tensor.clone().into_dyn(), weight.tensor.clone().into_dyn(), bias.tensor.clone().into_dyn()];
    let all = || -> zither::Result<Vec<Tensor>> {
        let y = x.tensor.batch_norm_train(Some(&weight.tensor), Some(&bias.tensor), EPS).output;
        let mut all = grad(&(&y * &seed.tensor).sum_all(), &[&inputs[0], &inputs[1], &inputs[2]])?;
        all.push(y.into_dyn());
        let wanted: Vec<_> = all.iter().map(Tensor::to_dynamic).collect();
        realize_all(&wanted.iter().collect::<Vec<_>>())?;
        Ok(all)
    };
    let begun = Instant::now();
    let made = all()?;
    let first = begun.elapsed().as_secs_f64();
    let normal = |at: Index<4>| (x.at(at) - facts(at[1])[0]) / facts(at[1])[1];
    near(name, &made[0].to_dim::<Dim4>(), SHAPE, |at| {
        let [_, deviation, level, along] = facts(at[1]);
        let scale = weight.at([at[1]]) / deviation;
        let slope = (seed.at(at) - level - normal(at) * along) * scale;
        Near::new(slope, (seed.at(at).abs() + level.abs() + (normal(at) * along).abs()) * scale.abs())
    })?;
    // Sums of many numbers near 1, which nearly cancel.
    near(name, &made[1].to_dim::<Dim1>(), [64], |[c]| Near::new(facts(c)[3] * count, count / 8.0))?;
    near(name, &made[2].to_dim::<Dim1>(), [64], |[c]| Near::new(facts(c)[2] * count, count / 8.0))?;
    near(name, &made[3].to_dim::<Dim4>(), SHAPE, |at| {
        let scaled = normal(at) * weight.at([at[1]]);
        Near::new(scaled + bias.at([at[1]]), scaled.abs() + bias.at([at[1]]).abs() + 1.0)
    })?;
    drop(made);
    bench.time(OP, name, Unit::Milliseconds, first, || all().map(drop))
}

/// Queries and keys: `"bhid,bhjd->bhij"`.
fn equation(bench: &Bench) -> Outcome {
    const SHAPE: [usize; 4] = [8, 12, 256, 64];
    let name = "l_einsum_bhid_bhjd_8x12x256x64";
    if !bench.wants(name) {
        return Ok(());
    }
    let (q, k) = (Input::<f32, 4>::random(SHAPE), Input::<f32, 4>::random(SHAPE));
    bench.row(
        name,
        Unit::Milliseconds,
        [8, 12, 256, 256],
        || einsum("bhid,bhjd->bhij", (&q.tensor, &k.tensor)).reshape([8, 12, 256, 256]),
        |[b, h, i, j]| Near::sum((0..64).map(|d| q.at([b, h, i, d]) * k.at([b, h, j, d]))),
    )
}

/// The losses of a language model's logits, and their gradient.
fn cross_entropy(bench: &Bench) -> Outcome {
    const ROWS: usize = 8192;
    const CLASSES: usize = 50257;
    let (forward, backward) = ("l_cross_entropy_8192x50257", "l_cross_entropy_grad_8192x50257");
    if !bench.wants_some(forward) && !bench.wants_some(backward) {
        return Ok(());
    }
    let logits: Tensor<f32, Dim2> = (Tensor::<f32, _>::rand([ROWS, CLASSES]) * 8.0).realize()?;
    let labels: Vec<i64> = (0..ROWS).map(|k| ((k * 7919) % CLASSES) as i64).collect();
    let target = Tensor::new(labels.as_slice().to_vec());
    let row = |i: usize| -> Vec<f64> {
        let row = logits.narrow(0, i, 1).data().expect("a row");
        row.iter().map(|&value| f64::from(value)).collect()
    };
    let log_sum = |row: &[f64]| row.iter().map(|value| value.exp()).sum::<f64>().ln();
    let each = CrossEntropyOptions { reduction: Reduction::None, ..Default::default() };
    bench.row(
        forward,
        Unit::Milliseconds,
        [ROWS],
        || logits.cross_entropy_with(&target, each).reshape([ROWS]),
        |[i]| {
            let row = row(i);
            let loss = log_sum(&row) - row[labels[i] as usize];
            Near::new(loss, 4.0 * loss.abs().max(10.0))
        },
    )?;
    bench.row(
        backward,
        Unit::Milliseconds,
        [ROWS, CLASSES],
        || grad(&logits.cross_entropy(&target), &[&logits]).expect("a gradient").remove(0),
        |[i, j]| {
            let row = row(i);
            let share = (row[j] - log_sum(&row)).exp();
            let hit = f64::from(u8::from(labels[i] as usize == j));
            Near::new((share - hit) / ROWS as f64, 20.0 * (share + hit) / ROWS as f64)
        },
    )
}
