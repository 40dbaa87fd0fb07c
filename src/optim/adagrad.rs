//! Adagrad: steps over the root of the sum of squared gradients (Duchi, Hazan, Singer, 2011).

use super::number::Number;
use super::sealed::{Hidden, HiddenNode, Rule};

/// `p - lr · g / (√Σg² + eps)`, with `lr` shrinking by `1 / (1 + (step - 1) · lr_decay)`.
///
/// ```
/// use zither::Tensor;
/// use zither::optim::{Adagrad, Optimizer};
/// let adagrad = Adagrad { lr: 0.5, eps: 0.0, ..Adagrad::default() };
/// let (next, _) = adagrad.step(&Tensor::new([1.0f32]), &Tensor::new([4.0]), &adagrad.start());
/// assert_eq!(next.data()?, [0.5]);
/// # Ok::<(), zither::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Adagrad {
    /// The length of a step.
    pub lr: f64,
    /// How fast steps get shorter.
    pub lr_decay: f64,
    /// Added to the root, against division by 0.
    pub eps: f64,
    /// A pull towards 0, added to the gradient.
    pub weight_decay: f64,
    /// What the sum of squares starts with.
    pub initial: f64,
    /// Climb instead of descending.
    pub maximize: bool,
}

impl Default for Adagrad {
    fn default() -> Adagrad {
        Adagrad { lr: 1e-2, lr_decay: 0.0, eps: 1e-10, weight_decay: 0.0, initial: 0.0, maximize: false }
    }
}

impl Rule for Adagrad {
    #[track_caller]
    fn next(&self, update: &Hidden<'_>) -> (HiddenNode, Vec<HiddenNode>) {
        let update = &update.0;
        let p = update.parameter;
        let g = update.slope(self.maximize, self.weight_decay);
        let before = update.slots.first().cloned().unwrap_or_else(|| p.fill(self.initial));
        let sum = &before + &(&g * &g);
        let slowed = |step: f64| self.lr / (1.0 + (step - 1.0) * self.lr_decay);
        let rate = match self.lr_decay {
            0.0 => Number::Known(self.lr),
            decay => update.step.map(slowed, |step| self.lr / &(&(&(step - 1.0) * decay) + 1.0)),
        };
        let step = rate.times(&(&g / &(&sum.sqrt() + self.eps)));
        (HiddenNode(p - &step), vec![HiddenNode(sum)])
    }
}
