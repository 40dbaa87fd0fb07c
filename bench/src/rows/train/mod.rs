//! Rows i: steps of training, with the loss read in each.
//!
//! - `models.rs`: the networks, as a user writes them.
//! - `gpt.rs`: the largest of them.
//! - `plain.rs`, `plain_gpt.rs`: the same losses by plain loops in `f64`.
//! - `trainer.rs`: parameters, and the rules they move by.

mod gpt;
mod models;
mod plain;
mod plain_gpt;
mod trainer;

use crate::bench::{Bench, Outcome, Unit, note, print};
use crate::check::{self, Near};
use crate::data::random;
use crate::measure::STEP;
use models::{CNN, GPT, Kind, MLP, Model};
use std::time::Instant;
use trainer::Trainer;
use zither::DynTensor;

pub fn run(bench: &Bench) -> Outcome {
    if bench.wants(PEAK) {
        match bench.wants_only(PEAK) {
            true => peak_memory(&GPT)?,
            false => alone(PEAK)?,
        }
    }
    for model in [&MLP, &CNN, &GPT] {
        if bench.wants(&first_steps(model)) {
            two_steps(model)?;
        }
        if bench.wants(model.row) {
            row(bench, model)?;
        }
    }
    Ok(())
}

/// The row that tells the most memory of a process.
const PEAK: &str = "j_gpt_peak_rss";

/// Runs one row in a process of its own.
fn alone(row: &str) -> Outcome {
    let done = std::process::Command::new(std::env::current_exe()?).arg(row).status()?;
    if done.success() { Ok(()) } else { Err(format!("{row} failed").into()) }
}

fn first_steps(model: &Model) -> String {
    format!("{}_first2steps", model.row)
}

/// The time until the second step of training is done, with all that is compiled on the way.
fn two_steps(model: &Model) -> Outcome {
    let batch = Batch::random(model, model.input);
    let mut trainer = Trainer::new(model.rule, model.loss, model.start());
    let begun = Instant::now();
    trainer.step(batch.given())?;
    trainer.step(batch.given())?;
    print(&first_steps(model), "zither", (begun.elapsed().as_secs_f64(), "s"));
    Ok(())
}

/// The most memory of a process that has done nothing but a few steps of training.
fn peak_memory(model: &Model) -> Outcome {
    let batch = Batch::random(model, model.input);
    let mut trainer = Trainer::new(model.rule, model.loss, model.start());
    for _ in 0..10 {
        trainer.step(batch.given())?;
    }
    let status = std::fs::read_to_string("/proc/self/status")?;
    let peak =
        status.lines().find_map(|line| line.strip_prefix("VmHWM:")?.trim().strip_suffix(" kB")?.parse::<f64>().ok());
    match peak {
        Some(kib) => print(PEAK, "zither", (kib / 1024.0, "MiB")),
        None => note(PEAK, "left out, this system does not tell"),
    }
    Ok(())
}

fn row(bench: &Bench, model: &Model) -> Outcome {
    let small = Batch::random(model, model.small_input);
    let mut trainer = Trainer::new(model.rule, model.loss, model.start());
    check_gradients(model, &small, &trainer)?;

    // The first step has to move the parameters by the rule; the second has to see the parameters it moved to.
    let (before, gradients) = (trainer.plain()?, trainer.gradients(small.given())?);
    trainer.step(small.given())?;
    let after = trainer.plain()?;
    for (k, gradient) in gradients.iter().enumerate() {
        // The step is another plan, which may add up in another order: what cancels is as exact as what it is made of.
        let largest = gradient.iter().fold(0.0, |largest: f64, &value| largest.max(f64::from(value).abs()));
        for i in check::samples(gradient.len()) {
            let what = format!("{}, element {i} of parameter {k} after a step", model.row);
            let moved = model.rule.first_move(gradient[i].into());
            let size = before[k][i].abs() + model.rule.first_move(largest).abs();
            let near = Near::new(before[k][i] + moved, size);
            near.check(&what, after[k][i] as f32)?;
        }
    }
    let second = trainer.step(small.given())?;
    let expected = small.plain_loss(model, &after);
    Near::new(expected, expected).check(&format!("{}, the second loss", model.row), second)?;

    let batch = Batch::random(model, model.input);
    let first = trainer.step(batch.given())?;
    let begun = Instant::now();
    trainer.step(batch.given())?;
    let seconds = begun.elapsed().as_secs_f64();
    bench.time(STEP, model.row, Unit::Milliseconds, seconds, || trainer.step(batch.given()).map(drop))?;
    let traced = format!("{}_traced", model.row);
    bench.time(STEP, &traced, Unit::Milliseconds, seconds, || trainer.traced_step(batch.given()).map(drop))?;
    note(model.row, &format!("loss {first:.4} -> {:.4}", trainer.step(batch.given())?));
    Ok(())
}

/// The gradient of each parameter against a difference quotient of the plain loss, in a random direction.
fn check_gradients(model: &Model, batch: &Batch, trainer: &Trainer) -> Outcome {
    const REACH: f64 = 1e-8; // small, so that no maximum changes hands on the way
    const PRECISION: f64 = 1e-3;
    let parameters = trainer.plain()?;
    for (k, gradient) in trainer.gradients(batch.given())?.into_iter().enumerate() {
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
    fn random(model: &Model, shape: &[usize]) -> Batch {
        let whole = |count: usize, most: usize| -> Vec<i64> {
            random(count).iter().map(|value| (value.abs() * 1e4) as i64 % most as i64).collect()
        };
        let count: usize = shape.iter().product();
        let (x, plain_x, labels) = match model.batch {
            Kind::Numbers(classes) => {
                let x = random(count);
                let plain = x.iter().map(|&value| value.into()).collect();
                (DynTensor::from_data(x, shape), plain, whole(shape[0], classes))
            }
            Kind::Tokens(vocabulary) => {
                let x = whole(count, vocabulary);
                let plain = x.iter().map(|&token| token as f64).collect();
                (DynTensor::from_data(x, shape), plain, whole(count, vocabulary))
            }
        };
        let plain_labels = labels.iter().map(|&label| label as usize).collect();
        let count = labels.len();
        Batch { x, labels: DynTensor::from_data(labels, &[count]), plain_x, plain_labels }
    }

    fn given(&self) -> trainer::Batch<'_> {
        [&self.x, &self.labels]
    }

    fn plain_loss(&self, model: &Model, parameters: &[Vec<f64>]) -> f64 {
        (model.plain_loss)(parameters, &self.plain_x, &self.plain_labels)
    }
}
