//! Stochastic gradient descent.

use super::sealed::{Hidden, HiddenNode, Rule};

/// `p - lr · g`, with momentum and weight decay if wanted.
///
/// ```
/// use zither::Tensor;
/// use zither::optim::{Optimizer, Sgd};
/// let sgd = Sgd { lr: 0.5, ..Sgd::default() };
/// let (next, _) = sgd.step(&Tensor::new([1.0f32]), &Tensor::new([0.5]), &sgd.start());
/// assert_eq!(next.data()?, [0.75]);
/// # Ok::<(), zither::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sgd {
    /// The length of a step.
    pub lr: f64,
    /// How much of the last step is kept.
    pub momentum: f64,
    /// How much of a gradient does not enter the momentum.
    pub dampening: f64,
    /// A pull towards 0, added to the gradient.
    pub weight_decay: f64,
    /// Look ahead along the momentum.
    pub nesterov: bool,
    /// Climb instead of descending.
    pub maximize: bool,
}

impl Default for Sgd {
    fn default() -> Sgd {
        Sgd { lr: 1e-3, momentum: 0.0, dampening: 0.0, weight_decay: 0.0, nesterov: false, maximize: false }
    }
}

impl Rule for Sgd {
    #[track_caller]
    fn next(&self, update: &Hidden<'_>) -> (HiddenNode, Vec<HiddenNode>) {
        let update = &update.0;
        let p = update.parameter;
        let g = update.slope(self.maximize, self.weight_decay);
        if self.momentum == 0.0 {
            return (HiddenNode(p - &(&g * self.lr)), Vec::new());
        }
        // The first gradient is the first momentum, undampened.
        let momentum = match update.slots.first() {
            Some(last) => &(last * self.momentum) + &(&g * (1.0 - self.dampening)),
            None => g.clone(),
        };
        let step = if self.nesterov { &g + &(&momentum * self.momentum) } else { momentum.clone() };
        (HiddenNode(p - &(&step * self.lr)), vec![HiddenNode(momentum)])
    }
}
