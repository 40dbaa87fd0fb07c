//! Rows i: steps of training, with the loss read in each.
//!
//! - `models.rs`: the networks, as a user writes them.
//! - `plain.rs`: the same losses by plain loops in `f64`.
//! - `trainer.rs`: parameters, and the rules they move by.

mod models;
mod plain;
mod trainer;

use crate::bench::{Bench, Outcome, Unit, note};
use crate::check::{self, Near};
use crate::data::random;
use crate::measure::STEP;
use models::{CNN, MLP, Model};
use std::time::Instant;
use trainer::Trainer;
use zither::DynTensor;

pub fn run(bench: &Bench) -> Outcome {
    for model in [&MLP, &CNN] {
        if bench.wants(model.row) {
            row(bench, model)?;
        }
    }
    if bench.wants("i_gpt_step") {
        note("i_gpt_step", "left out, it is not written yet");
    }
    Ok(())
}

fn row(bench: &Bench, model: &Model) -> Outcome {
    let batch = Batch::random(model);
    let loss = |parameters: &[DynTensor]| (model.loss)(parameters, &batch.x, &batch.labels);
    let mut trainer = Trainer::new(model.rule, model.start());
    check_gradients(model, &batch, &trainer)?;

    // The first step has to move the parameters by the rule; the second has to see the parameters it moved to.
    let (before, gradients) = (trainer.plain()?, trainer.gradients(&loss)?);
    trainer.step(&loss)?;
    let after = trainer.plain()?;
    for (k, gradient) in gradients.iter().enumerate() {
        for i in check::samples(gradient.len()) {
            let what = format!("{}, element {i} of parameter {k} after a step", model.row);
            let moved = model.rule.first_move(gradient[i].into());
            let near = Near::new(before[k][i] + moved, before[k][i].abs() + moved.abs());
            near.check(&what, after[k][i] as f32)?;
        }
    }
    let begun = Instant::now();
    let second = trainer.step(&loss)?;
    let seconds = begun.elapsed().as_secs_f64();
    let expected = batch.plain_loss(model, &after);
    Near::new(expected, expected).check(&format!("{}, the second loss", model.row), second)?;

    bench.time(STEP, model.row, Unit::Milliseconds, seconds, || trainer.step(&loss).map(drop))?;
    note(model.row, &format!("loss {second:.4} -> {:.4}", trainer.step(&loss)?));
    Ok(())
}

/// The gradient of each parameter against a difference quotient of the plain loss, in a random direction.
fn check_gradients(model: &Model, batch: &Batch, trainer: &Trainer) -> Outcome {
    const REACH: f64 = 1e-8; // small, so that no maximum changes hands on the way
    const PRECISION: f64 = 1e-3;
    let loss = |parameters: &[DynTensor]| (model.loss)(parameters, &batch.x, &batch.labels);
    let parameters = trainer.plain()?;
    for (k, gradient) in trainer.gradients(&loss)?.into_iter().enumerate() {
        let direction = random(gradient.len());
        let moved_by = |reach: f64| {
            let mut moved = parameters.clone();
            moved[k].iter_mut().zip(&direction).for_each(|(value, &way)| *value += reach * f64::from(way));
            batch.plain_loss(model, &moved)
        };
        let quotient = (moved_by(REACH) - moved_by(-REACH)) / (2.0 * REACH);
        let slope: f64 = gradient.iter().zip(&direction).map(|(&a, &b)| f64::from(a) * f64::from(b)).sum();
        let length = gradient.iter().map(|&value| f64::from(value).powi(2)).sum::<f64>().sqrt();
        let is_near = (slope - quotient).abs() <= PRECISION * length;
        if !is_near || length == 0.0 {
            let what =
                format!("the gradient of parameter {k} is wrong: slope {slope:e} where {quotient:e} was expected");
            return Err(format!("{}: {what}", model.row).into());
        }
    }
    Ok(())
}

/// One fixed random batch, as tensors and plain.
struct Batch {
    x: DynTensor,
    labels: DynTensor,
    plain_x: Vec<f64>,
    plain_labels: Vec<usize>,
}

impl Batch {
    fn random(model: &Model) -> Batch {
        let samples = model.input[0];
        let x = random(model.input.iter().product());
        let labels: Vec<i64> =
            random(samples).iter().map(|value| (value.abs() * 1e4) as i64 % models::CLASSES as i64).collect();
        Batch {
            plain_x: x.iter().map(|&value| value.into()).collect(),
            plain_labels: labels.iter().map(|&label| label as usize).collect(),
            x: DynTensor::from_data(x, model.input),
            labels: DynTensor::from_data(labels, &[samples]),
        }
    }

    fn plain_loss(&self, model: &Model, parameters: &[Vec<f64>]) -> f64 {
        (model.plain_loss)(parameters, &self.plain_x, &self.plain_labels)
    }
}
