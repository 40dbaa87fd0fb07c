//! RMSprop: steps over the root of the mean square of gradients (Hinton, 2012).

use super::sealed::{Hidden, HiddenNode, Rule};

/// `p - lr · g / (√v + eps)`, with `v` the running mean of `g²`; centred, less the square of the running mean of `g`.
///
/// ```
/// use zither::Tensor;
/// use zither::optim::{Optimizer, RmsProp};
/// let rms = RmsProp { lr: 0.5, alpha: 0.75, eps: 0.0, ..RmsProp::default() };
/// let (next, _) = rms.step(&Tensor::new([1.0f32]), &Tensor::new([4.0]), &rms.start());
/// assert_eq!(next.data()?, [0.0]); // √(¼ · 16) = 2
/// # Ok::<(), zither::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RmsProp {
    /// The length of a step.
    pub lr: f64,
    /// How slowly the mean square changes.
    pub alpha: f64,
    /// Added to the root, against division by 0.
    pub eps: f64,
    /// A pull towards 0, added to the gradient.
    pub weight_decay: f64,
    /// How much of the last step is kept.
    pub momentum: f64,
    /// Divide by the deviation from the mean gradient.
    pub centered: bool,
    /// Climb instead of descending.
    pub maximize: bool,
}

impl Default for RmsProp {
    fn default() -> RmsProp {
        RmsProp { lr: 1e-2, alpha: 0.99, eps: 1e-8, weight_decay: 0.0, momentum: 0.0, centered: false, maximize: false }
    }
}

impl Rule for RmsProp {
    #[track_caller]
    fn next(&self, update: &Hidden<'_>) -> (HiddenNode, Vec<HiddenNode>) {
        let update = &update.0;
        let p = update.parameter;
        let g = update.slope(self.maximize, self.weight_decay);
        let square = &(&update.slot(0) * self.alpha) + &(&(&g * &g) * (1.0 - self.alpha));
        let mut slots = vec![square.clone()];
        let mut spread = square;
        if self.centered {
            let mean = &(&update.slot(slots.len()) * self.alpha) + &(&g * (1.0 - self.alpha));
            spread = &spread - &(&mean * &mean);
            slots.push(mean);
        }
        let mut step = &g / &(&spread.sqrt() + self.eps);
        if self.momentum > 0.0 {
            step = &(&update.slot(slots.len()) * self.momentum) + &step;
            slots.push(step.clone());
        }
        (HiddenNode(p - &(&step * self.lr)), slots.into_iter().map(HiddenNode).collect())
    }
}
