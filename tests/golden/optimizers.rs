//! Trajectories of optimisers: eight steps, each compared.

use crate::case::number;
use crate::compare::{Tolerance, compare};
use serde_json::Value;
use zither::DynTensor;
use zither::optim::{Adagrad, Adam, AdamW, Optimizer, RmsProp, Sgd};

/// Takes the steps of a trajectory from its start, gradients and parameters.
pub(crate) fn run(
    name: &str,
    hyper: &Value,
    [start, gradients, parameters]: [DynTensor; 3],
    tolerance: Tolerance,
) -> Result<(), String> {
    let get = |key: &str| number(&hyper[key]);
    let is = |key: &str| hyper[key].as_bool().unwrap_or(false);
    let betas = || (number(&hyper["betas"][0]), number(&hyper["betas"][1]));
    let (lr, weight_decay, maximize) = (get("lr"), get("weight_decay"), is("maximize"));
    let data = [start, gradients, parameters];
    match name {
        "SGD" => {
            let (momentum, dampening, nesterov) = (get("momentum"), get("dampening"), is("nesterov"));
            follow(&Sgd { lr, momentum, dampening, weight_decay, nesterov, maximize }, data, tolerance)
        }
        "Adam" => {
            let adam = Adam { lr, betas: betas(), eps: get("eps"), weight_decay, amsgrad: is("amsgrad"), maximize };
            follow(&adam, data, tolerance)
        }
        "AdamW" => {
            let adam = AdamW { lr, betas: betas(), eps: get("eps"), weight_decay, amsgrad: is("amsgrad"), maximize };
            follow(&adam, data, tolerance)
        }
        "RMSprop" => {
            let (alpha, eps, momentum, centered) = (get("alpha"), get("eps"), get("momentum"), is("centered"));
            follow(&RmsProp { lr, alpha, eps, weight_decay, momentum, centered, maximize }, data, tolerance)
        }
        "Adagrad" => {
            let (lr_decay, eps, initial) = (get("lr_decay"), get("eps"), get("initial_accumulator_value"));
            follow(&Adagrad { lr, lr_decay, eps, weight_decay, initial, maximize }, data, tolerance)
        }
        other => Err(format!("unknown optimiser {other}")),
    }
}

fn follow(
    optimizer: &impl Optimizer,
    [start, gradients, parameters]: [DynTensor; 3],
    tolerance: Tolerance,
) -> Result<(), String> {
    let (mut parameter, mut state) = (start, optimizer.start());
    let steps = gradients.shape()[0];
    assert!(steps > 0 && parameters.shape()[0] == steps, "a trajectory has steps");
    for (k, (gradient, expected)) in gradients.unbind(0).iter().zip(parameters.unbind(0)).enumerate() {
        (parameter, state) = optimizer.try_step_dyn(&parameter, gradient, &state).map_err(|error| error.to_string())?;
        compare(&format!("step {}", k + 1), &parameter, &expected, tolerance)?;
    }
    Ok(())
}
