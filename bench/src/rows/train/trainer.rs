//! Parameters, and the rules they move by. A step is one request: loss, gradients and all that is kept.

use zither::{Compiled, DynTensor, Tensors, compile, realize_all};

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

/// From parameters, batch and labels to the loss.
pub type Loss = fn(&[DynTensor], &DynTensor, &DynTensor) -> DynTensor;

/// A batch with its labels.
pub type Batch<'a> = [&'a DynTensor; 2];

/// What is learned, with what the rule keeps about each parameter: Adam the running mean of its gradients and of their squares.
#[derive(Default)]
struct State {
    parameters: Vec<DynTensor>,
    means: Vec<[DynTensor; 2]>,
}

/// What a step needs besides: the corrections of Adam's means, which change from step to step; the batch; its labels.
type Given = [DynTensor; 4];

/// Moves parameters, step after step.
pub struct Trainer {
    rule: Rule,
    loss: Loss,
    steps: i32,
    state: State,
    step: Compiled<(State, Given), (State, DynTensor)>,
}

impl Tensors for State {
    fn each(&self, f: &mut dyn FnMut(DynTensor)) {
        self.parameters.each(f);
        self.means.each(f);
    }

    fn like(&self, next: &mut dyn FnMut() -> DynTensor) -> State {
        State { parameters: self.parameters.like(next), means: self.means.like(next) }
    }
}

impl Trainer {
    pub fn new(rule: Rule, loss: Loss, start: Vec<DynTensor>) -> Trainer {
        let zeros = |value: &DynTensor| [(); 2].map(|()| DynTensor::from_data(vec![0f32; value.len()], value.shape()));
        let means = match rule {
            Rule::Adam => start.iter().map(zeros).collect(),
            Rule::Descent => Vec::new(),
        };
        let state = State { parameters: start, means };
        Trainer {
            rule,
            loss,
            steps: 0,
            state,
            step: compile(move |(state, given)| advance(rule, loss, &state, &given)),
        }
    }

    /// The parameters as they are now.
    pub fn plain(&self) -> zither::Result<Vec<Vec<f64>>> {
        let plain = |p: &DynTensor| Ok(p.data::<f32>()?.into_iter().map(f64::from).collect());
        self.state.parameters.iter().map(plain).collect()
    }

    /// The gradients at the parameters as they are now. Nothing moves.
    pub fn gradients(&self, [x, labels]: Batch) -> zither::Result<Vec<Vec<f32>>> {
        gradients(self.loss, &self.state.parameters, x, labels).1.iter().map(DynTensor::data).collect()
    }

    /// One step, compiled, in the memory of the last. Gives the loss before it.
    pub fn step(&mut self, batch: Batch) -> zither::Result<f32> {
        let given = self.given(batch);
        let (state, loss) = self.step.call_owned((std::mem::take(&mut self.state), given))?;
        self.state = state;
        Ok(loss.data::<f32>()?[0])
    }

    /// One step, traced afresh and asked for at once. Gives the loss before it.
    pub fn traced_step(&mut self, batch: Batch) -> zither::Result<f32> {
        let given = self.given(batch);
        let (state, loss) = advance(self.rule, self.loss, &self.state, &given);
        realize_all(&state.parameters.iter().chain(state.means.iter().flatten()).chain([&loss]).collect::<Vec<_>>())?;
        self.state = state;
        Ok(loss.data::<f32>()?[0])
    }

    fn given(&mut self, [x, labels]: Batch) -> Given {
        self.steps += 1;
        let correction = |kept: f64| DynTensor::from_data(vec![(1.0 / (1.0 - kept.powi(self.steps))) as f32], &[1]);
        [correction(MEAN_KEPT), correction(SQUARES_KEPT), x.clone(), labels.clone()]
    }
}

/// The loss, and its gradient for each parameter.
fn gradients(loss: Loss, parameters: &[DynTensor], x: &DynTensor, labels: &DynTensor) -> (DynTensor, Vec<DynTensor>) {
    let leaves: Vec<DynTensor> = parameters.iter().map(|p| p.detach().set_requires_grad(true)).collect();
    let loss = loss(&leaves, x, labels);
    loss.backward();
    let gradient = |leaf: &DynTensor| leaf.grad().expect("the loss depends on every parameter");
    (loss.detach(), leaves.iter().map(gradient).collect())
}

/// The next state by the rule, and the loss.
fn advance(rule: Rule, loss: Loss, state: &State, [of_mean, of_squares, x, labels]: &Given) -> (State, DynTensor) {
    let (loss, gradients) = gradients(loss, &state.parameters, x, labels);
    let moves = state.parameters.iter().zip(&gradients);
    let next = match rule {
        Rule::Descent => State {
            parameters: moves.map(|(value, gradient)| value - gradient * DESCENT_RATE).collect(),
            means: Vec::new(),
        },
        Rule::Adam => {
            let adam = |((value, gradient), [mean, squares]): ((&DynTensor, &DynTensor), &[DynTensor; 2])| {
                let mean = mean * MEAN_KEPT + gradient * (1.0 - MEAN_KEPT);
                let squares = squares * SQUARES_KEPT + gradient * gradient * (1.0 - SQUARES_KEPT);
                let size = (&squares * of_squares).sqrt() + ADAM_EPS;
                (value - &mean * of_mean / size * ADAM_RATE, [mean, squares])
            };
            let (parameters, means) = moves.zip(&state.means).map(adam).unzip();
            State { parameters, means }
        }
    };
    (next, loss)
}
