//! Optimisers as functions: from parameter, gradient and state to the next parameter and state.
//!
//! Nothing is changed in place, and nothing runs: a step makes lazy tensors, so the gradients, the updates of all
//! parameters and whatever else a training step makes can be asked for as one request with
//! [`realize_all`](crate::realize_all).
//!
//! ```
//! use zither::optim::{Adam, Optimizer};
//! use zither::{Tensor, grad};
//!
//! let adam = Adam { lr: 0.1, ..Adam::default() };
//! let mut x = Tensor::new([3.0f64, -2.0]);
//! let mut state = adam.start();
//! for _ in 0..200 {
//!     let loss = (&x - 1.0).square().sum_all();
//!     let slope = &grad(&loss, &[&x])?[0];
//!     (x, state) = adam.step(&x, slope, &state);
//!     zither::realize_all(&[&x.to_dynamic()])?;
//!     x = x.detach();
//! }
//! assert!(x.data()?.iter().all(|value| (value - 1.0).abs() < 0.05));
//! # Ok::<(), zither::Error>(())
//! ```
//!
//! A whole step of training can be [compiled](crate::compile): a [`State`] is among what a function may be given and give back. Given
//! [by value](crate::Compiled::call_owned), parameters and states are updated in their own memory.
//!
//! ```
//! use zither::optim::{Adam, Optimizer, State};
//! use zither::{Tensor, Vector, compile, grad};
//!
//! let adam = Adam { lr: 0.1, ..Adam::default() };
//! let step = compile(move |(x, state): (Vector, State)| {
//!     let x = x.set_requires_grad(true);
//!     let loss = (&x - 1.0).square().sum_all();
//!     let slope = &grad(&loss, &[&x]).unwrap()[0];
//!     (adam.step(&x, slope, &state), loss.detach())
//! });
//! let (mut trained, mut loss) = ((Tensor::new([3.0f32, -2.0]), adam.start()), Tensor::new(0.0));
//! for _ in 0..200 {
//!     (trained, loss) = step.call_owned(trained)?;
//! }
//! assert_eq!(trained.1.steps(), 200);
//! assert!(loss.item()? < 0.01);
//! # Ok::<(), zither::Error>(())
//! ```
//!
//! | here | PyTorch |
//! |---|---|
//! | [`Sgd`] | `SGD`: momentum, dampening, Nesterov, weight decay |
//! | [`Adam`] | `Adam`, and `AMSGrad` |
//! | [`AdamW`] | `AdamW` |
//! | [`RmsProp`] | `RMSprop`: momentum, centred |
//! | [`Adagrad`] | `Adagrad` |

mod adagrad;
mod adam;
mod number;
mod rms_prop;
mod sgd;

pub use adagrad::Adagrad;
pub use adam::{Adam, AdamW};
pub use rms_prop::RmsProp;
pub use sgd::Sgd;

use crate::dtype::{DType, FloatDType, Literal};
use crate::error::{Error, ErrorKind, OrRaise, Result};
use crate::graph::{Node, Pause};
use crate::ops::record::Dtypes;
use crate::tensor::{Dimension, DynTensor, Tensor, Tensors};
use number::Number;

/// What an optimiser remembers of one parameter from step to step.
#[derive(Clone, Default)]
pub struct State {
    /// How many steps were taken.
    steps: Steps,
    /// Running values of the parameter's shape; none before the first step.
    slots: Vec<DynTensor>,
}

/// A number of steps.
#[derive(Clone)]
enum Steps {
    Taken(u64),
    /// As a tensor of one `i64`: a compiled function has it so, and gives it back so.
    Counted(DynTensor),
}

impl Default for Steps {
    fn default() -> Steps {
        Steps::Taken(0)
    }
}

impl State {
    /// How many steps were taken.
    ///
    /// # Panics
    /// Inside a compiled function, which cannot read numbers.
    #[track_caller]
    pub fn steps(&self) -> u64 {
        self.try_steps().or_raise()
    }

    /// As [`steps`](Self::steps), with an error in place of a panic.
    #[track_caller]
    pub fn try_steps(&self) -> Result<u64> {
        match &self.steps {
            Steps::Taken(steps) => Ok(*steps),
            Steps::Counted(steps) => Ok(steps.data::<i64>()?[0].max(0) as u64),
        }
    }

    /// The running values, to be asked for together with the parameters, or kept in a file.
    pub fn tensors(&self) -> &[DynTensor] {
        &self.slots
    }

    /// The state after so many steps with these running values, as they were kept.
    pub fn restore(steps: u64, tensors: Vec<DynTensor>) -> State {
        State { steps: Steps::Taken(steps), slots: tensors }
    }
}

impl Tensors for State {
    fn each(&self, f: &mut dyn FnMut(DynTensor)) {
        f(match &self.steps {
            Steps::Taken(steps) => DynTensor::full(&[], Literal::I64(i64::try_from(*steps).unwrap_or(i64::MAX))),
            Steps::Counted(steps) => steps.clone(),
        });
        self.slots.each(f);
    }

    fn like(&self, next: &mut dyn FnMut() -> DynTensor) -> State {
        State { steps: Steps::Counted(next()), slots: self.slots.like(next) }
    }
}

/// One step of an optimiser on nodes.
pub(crate) struct Update<'a> {
    /// The number of this step, from 1.
    step: Number,
    parameter: &'a Node,
    gradient: Node,
    /// The running values before the step.
    slots: Vec<Node>,
}

impl Update<'_> {
    /// Running value `k`; zeros in the first step.
    #[track_caller]
    fn slot(&self, k: usize) -> Node {
        self.slots.get(k).cloned().unwrap_or_else(|| self.parameter.fill(0.0))
    }

    /// The gradient to go against: turned round to climb, and with the parameter's share that makes it decay.
    #[track_caller]
    fn slope(&self, maximize: bool, weight_decay: f64) -> Node {
        let g = if maximize { -&self.gradient } else { self.gradient.clone() };
        if weight_decay == 0.0 { g } else { &g + &(self.parameter * weight_decay) }
    }
}

mod sealed {
    use super::{Node, Update};

    /// How a step is computed.
    pub trait Rule {
        /// The next parameter and the next running values.
        #[doc(hidden)]
        fn next(&self, update: &Hidden<'_>) -> (HiddenNode, Vec<HiddenNode>);
    }

    /// A step, seen from outside.
    #[doc(hidden)]
    pub struct Hidden<'a>(pub(crate) Update<'a>);

    /// A node, seen from outside.
    #[doc(hidden)]
    pub struct HiddenNode(pub(crate) Node);
}

use sealed::{Hidden, Rule};

/// A way from gradients to better parameters.
pub trait Optimizer: Rule {
    /// The state of a parameter before the first step.
    fn start(&self) -> State {
        State::default()
    }

    /// The next parameter and its state. Neither has a history: gradients do not flow through steps.
    #[track_caller]
    fn step<T: FloatDType, D: Dimension>(
        &self,
        parameter: &Tensor<T, D>,
        gradient: &Tensor<T, D>,
        state: &State,
    ) -> (Tensor<T, D>, State) {
        self.try_step(parameter, gradient, state).or_raise()
    }

    /// As [`step`](Self::step), with an error in place of a panic.
    #[track_caller]
    fn try_step<T: FloatDType, D: Dimension>(
        &self,
        parameter: &Tensor<T, D>,
        gradient: &Tensor<T, D>,
        state: &State,
    ) -> Result<(Tensor<T, D>, State)> {
        let (next, state) = advance(self, parameter.node(), gradient.node(), state)?;
        Ok((Tensor::wrap(next), state))
    }

    /// As [`step`](Self::step), on dynamic tensors.
    #[track_caller]
    fn step_dyn(&self, parameter: &DynTensor, gradient: &DynTensor, state: &State) -> (DynTensor, State) {
        self.try_step_dyn(parameter, gradient, state).or_raise()
    }

    /// As [`step_dyn`](Self::step_dyn), with an error in place of a panic.
    #[track_caller]
    fn try_step_dyn(&self, parameter: &DynTensor, gradient: &DynTensor, state: &State) -> Result<(DynTensor, State)> {
        let (next, state) = advance(self, parameter.node(), gradient.node(), state)?;
        Ok((DynTensor::wrap(next), state))
    }
}

impl<R: Rule> Optimizer for R {}

/// Checks a step and takes it.
#[track_caller]
fn advance<R: Rule + ?Sized>(rule: &R, parameter: &Node, gradient: &Node, state: &State) -> Result<(Node, State)> {
    let op = "step";
    Dtypes::Float.check(op, parameter)?;
    for (what, other) in
        std::iter::once(("gradient", gradient)).chain(state.slots.iter().map(|slot| ("state", slot.node())))
    {
        if other.shape() != parameter.shape() || other.dtype() != parameter.dtype() {
            let message = format!(
                "the parameter is {} of shape {:?}, the {what} {} of shape {:?}",
                parameter.dtype(),
                parameter.shape(),
                other.dtype(),
                other.shape()
            );
            return Err(Error::new(ErrorKind::Shape, op, message).operands(parameter.at(), other.at()));
        }
    }
    let _pause = Pause::because("an optimiser's step");
    let (steps, step) = match &state.steps {
        Steps::Taken(steps) => (Steps::Taken(steps + 1), Number::Known((steps + 1) as f64)),
        Steps::Counted(steps) => {
            let next = steps.node() + 1.0;
            let step = Number::Later(next.cast(DType::F64)?);
            (Steps::Counted(DynTensor::wrap(next)), step)
        }
    };
    let slots = state.slots.iter().map(|slot| slot.node().clone()).collect();
    let (next, slots) = rule.next(&Hidden(Update { step, parameter, gradient: gradient.clone(), slots }));
    let slots = slots.into_iter().map(|slot| DynTensor::wrap(slot.0)).collect();
    Ok((next.0, State { steps, slots }))
}
