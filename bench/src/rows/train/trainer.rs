//! Parameters, and the rules they move by. A step is one request: loss, gradients and all that is kept.

use zither::{DynTensor, no_grad, realize_all};

/// How parameters follow their gradients.
#[derive(Clone, Copy)]
pub enum Rule {
    Adam,
    /// Against the gradient.
    Descent,
}

const ADAM_RATE: f64 = 1e-3;
const ADAM_EPS: f64 = 1e-8;
const MEAN_KEPT: f64 = 0.9;
const SQUARES_KEPT: f64 = 0.999;
const DESCENT_RATE: f64 = 1e-2;

impl Rule {
    /// By how much the first step moves a parameter with that gradient.
    pub fn first_move(self, gradient: f64) -> f64 {
        match self {
            // With the corrections for their start at 0, the running means are those of one gradient.
            Rule::Adam => -ADAM_RATE * gradient / (gradient.abs() + ADAM_EPS),
            Rule::Descent => -DESCENT_RATE * gradient,
        }
    }
}

/// What is learned, with what the rule keeps about it.
pub struct Trainer {
    rule: Rule,
    steps: i32,
    parameters: Vec<Parameter>,
}

struct Parameter {
    value: DynTensor,
    /// The running mean of the gradients and of their squares. Only Adam has them.
    means: Option<[DynTensor; 2]>,
}

impl Trainer {
    pub fn new(rule: Rule, start: Vec<DynTensor>) -> Trainer {
        let parameter = |value: DynTensor| {
            let means = match rule {
                Rule::Adam => Some([(); 2].map(|()| DynTensor::from_data(vec![0f32; value.len()], value.shape()))),
                Rule::Descent => None,
            };
            Parameter { value: value.set_requires_grad(true), means }
        };
        Trainer { rule, steps: 0, parameters: start.into_iter().map(parameter).collect() }
    }

    /// The parameters as they are now.
    pub fn plain(&self) -> zither::Result<Vec<Vec<f64>>> {
        let plain = |p: &Parameter| Ok(p.value.data::<f32>()?.into_iter().map(f64::from).collect());
        self.parameters.iter().map(plain).collect()
    }

    fn values(&self) -> Vec<DynTensor> {
        self.parameters.iter().map(|p| p.value.clone()).collect()
    }

    /// The gradients at the parameters as they are now. Nothing moves.
    pub fn gradients(&self, loss: &impl Fn(&[DynTensor]) -> DynTensor) -> zither::Result<Vec<Vec<f32>>> {
        let leaves: Vec<DynTensor> = self.values().iter().map(|p| p.detach().set_requires_grad(true)).collect();
        loss(&leaves).backward();
        leaves.iter().map(|leaf| leaf.grad().expect("the loss depends on every parameter").data()).collect()
    }

    /// One step. Gives the loss before it.
    pub fn step(&mut self, loss: &impl Fn(&[DynTensor]) -> DynTensor) -> zither::Result<f32> {
        let loss = loss(&self.values());
        loss.backward();
        self.steps += 1;
        // These change from step to step, so they are data: as numbers in the expression they would make it a new one.
        let correction = |kept: f64| DynTensor::from_data(vec![(1.0 / (1.0 - kept.powi(self.steps))) as f32], &[1]);
        let corrections = [correction(MEAN_KEPT), correction(SQUARES_KEPT)];
        for parameter in &mut self.parameters {
            no_grad(|| parameter.advance(self.rule, &corrections));
        }
        let kept = self.parameters.iter().flat_map(|p| p.means.iter().flatten().chain([&p.value]));
        realize_all(&kept.chain([&loss]).collect::<Vec<_>>())?;
        Ok(loss.data::<f32>()?[0])
    }
}

impl Parameter {
    /// Only says what the next value is.
    fn advance(&mut self, rule: Rule, [of_mean, of_squares]: &[DynTensor; 2]) {
        let gradient = self.value.grad().expect("the loss depends on every parameter");
        let next = match (rule, &mut self.means) {
            (Rule::Adam, Some([mean, squares])) => {
                *mean = &*mean * MEAN_KEPT + &gradient * (1.0 - MEAN_KEPT);
                *squares = &*squares * SQUARES_KEPT + &gradient * &gradient * (1.0 - SQUARES_KEPT);
                let size = (&*squares * of_squares).sqrt() + ADAM_EPS;
                &self.value - &*mean * of_mean / size * ADAM_RATE
            }
            (Rule::Adam | Rule::Descent, _) => &self.value - gradient * DESCENT_RATE,
        };
        self.value = next.detach().set_requires_grad(true);
    }
}
