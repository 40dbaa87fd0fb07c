//! Adam and AdamW: steps of the mean of gradients over the root of their mean square (Kingma and Ba, 2015; Loshchilov
//! and Hutter, 2019).

use super::Update;
use super::sealed::{Hidden, HiddenNode, Rule};
use crate::error::OrRaise;
use crate::graph::Node;
use crate::ops;

/// Adam, with weight decay as part of the gradient; with `amsgrad`, the largest mean square so far.
///
/// ```
/// use zither::Tensor;
/// use zither::optim::{Adam, Optimizer};
/// let adam = Adam { lr: 0.5, eps: 0.0, ..Adam::default() };
/// let (next, state) = adam.step(&Tensor::new([1.0f64]), &Tensor::new([0.25]), &adam.start());
/// assert!((next.item()? - 0.5).abs() < 1e-12); // the first step has the length lr
/// assert_eq!(state.steps(), 1);
/// # Ok::<(), zither::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Adam {
    /// The length of a step.
    pub lr: f64,
    /// How slowly the means of gradients and of their squares change.
    pub betas: (f64, f64),
    /// Added to the root, against division by 0.
    pub eps: f64,
    /// A pull towards 0, added to the gradient.
    pub weight_decay: f64,
    /// Divide by the largest root so far.
    pub amsgrad: bool,
    /// Climb instead of descending.
    pub maximize: bool,
}

impl Default for Adam {
    fn default() -> Adam {
        Adam { lr: 1e-3, betas: (0.9, 0.999), eps: 1e-8, weight_decay: 0.0, amsgrad: false, maximize: false }
    }
}

/// Adam whose weight decay shrinks the parameter itself, apart from the gradient.
///
/// ```
/// use zither::Tensor;
/// use zither::optim::{AdamW, Optimizer};
/// let adam = AdamW { lr: 0.5, weight_decay: 0.5, ..AdamW::default() };
/// let (next, _) = adam.step(&Tensor::new([1.0f64]), &Tensor::new([0.0]), &adam.start());
/// assert_eq!(next.data()?, [0.75]);
/// # Ok::<(), zither::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AdamW {
    /// The length of a step.
    pub lr: f64,
    /// How slowly the means of gradients and of their squares change.
    pub betas: (f64, f64),
    /// Added to the root, against division by 0.
    pub eps: f64,
    /// The part of the parameter, times `lr`, that is taken off in each step.
    pub weight_decay: f64,
    /// Divide by the largest root so far.
    pub amsgrad: bool,
    /// Climb instead of descending.
    pub maximize: bool,
}

impl Default for AdamW {
    fn default() -> AdamW {
        AdamW { lr: 1e-3, betas: (0.9, 0.999), eps: 1e-8, weight_decay: 1e-2, amsgrad: false, maximize: false }
    }
}

impl Rule for Adam {
    #[track_caller]
    fn next(&self, update: &Hidden<'_>) -> (HiddenNode, Vec<HiddenNode>) {
        let update = &update.0;
        let g = update.slope(self.maximize, self.weight_decay);
        step(self, update, update.parameter.clone(), &g)
    }
}

impl Rule for AdamW {
    #[track_caller]
    fn next(&self, update: &Hidden<'_>) -> (HiddenNode, Vec<HiddenNode>) {
        let update = &update.0;
        let AdamW { lr, betas, eps, weight_decay, amsgrad, maximize } = *self;
        let g = update.slope(maximize, 0.0);
        let shrunk = update.parameter * (1.0 - lr * weight_decay);
        step(&Adam { lr, betas, eps, weight_decay: 0.0, amsgrad, maximize }, update, shrunk, &g)
    }
}

/// `p - lr · m̂ / (√v̂ + eps)`, with the means corrected for their start at 0.
#[track_caller]
fn step(adam: &Adam, update: &Update<'_>, p: Node, g: &Node) -> (HiddenNode, Vec<HiddenNode>) {
    let (first, second) = adam.betas;
    let mean = &(&update.slot(0) * first) + &(g * (1.0 - first));
    let square = &(&update.slot(1) * second) + &(&(g * g) * (1.0 - second));
    // How much of a mean is not its start at 0.
    let share = |kept: f64| update.step.map(|step| 1.0 - kept.powf(step), |step| 1.0 - &step.fill(kept).pow(step));
    let (early, early_square) = (share(first), share(second));
    let mut slots = vec![mean.clone(), square.clone()];
    let mut spread = square;
    if adam.amsgrad {
        spread = Node::map(&ops::MAXIMUM, &[&update.slot(2), &spread]).or_raise();
        slots.push(spread.clone());
    }
    let root = &early_square.map(f64::sqrt, Node::sqrt).under(&spread.sqrt()) + adam.eps;
    let rate = early.map(|early| adam.lr / early, |early| adam.lr / early);
    let next = &p - &rate.times(&(&mean / &root));
    (HiddenNode(next), slots.into_iter().map(HiddenNode).collect())
}
