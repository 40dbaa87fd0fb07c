//! The networks, as a user writes them.

use super::plain;
use super::trainer::Rule;
use crate::data::random;
use zither::{CrossEntropyOptions, DynTensor, Window};

pub const CLASSES: usize = 10;

/// From parameters, batch and labels to the loss.
type Loss = fn(&[DynTensor], &DynTensor, &DynTensor) -> DynTensor;
/// The same, plain.
type PlainLoss = fn(&[Vec<f64>], &[f64], &[usize]) -> f64;

/// A network with its loss, its batch and how it is trained.
pub struct Model {
    pub row: &'static str,
    pub rule: Rule,
    /// The shape of a batch.
    pub input: &'static [usize],
    /// The shapes of the parameters: weights and biases in turn.
    parameters: &'static [&'static [usize]],
    pub loss: Loss,
    pub plain_loss: PlainLoss,
}

impl Model {
    /// Random weights that keep the size of what passes, and biases of 0.
    pub fn start(&self) -> Vec<DynTensor> {
        let start = |shape: &&'static [usize]| {
            let (count, fan_in) = (shape.iter().product(), shape[1..].iter().product::<usize>());
            let scale = if shape.len() == 1 { 0.0 } else { 1.0 / (fan_in as f32).sqrt() };
            DynTensor::from_data(random(count).into_iter().map(|value| value * scale).collect(), shape)
        };
        self.parameters.iter().map(start).collect()
    }
}

/// 784-512-512-10 on a batch of 128, with Adam.
pub static MLP: Model = Model {
    row: "i_mlp_step",
    rule: Rule::Adam,
    input: &[128, 784],
    parameters: &[&[512, 784], &[512], &[512, 512], &[512], &[CLASSES, 512], &[CLASSES]],
    loss: |p, x, labels| {
        let hidden = x.linear(&p[0], Some(&p[1])).relu();
        let hidden = hidden.linear(&p[2], Some(&p[3])).relu();
        hidden.linear(&p[4], Some(&p[5])).cross_entropy(labels, CrossEntropyOptions::default())
    },
    plain_loss: plain::mlp,
};

/// LeNet: two convolutions with pooling, then 120-84-10, on a batch of 64, with plain gradient descent.
pub static CNN: Model = Model {
    row: "i_cnn_step",
    rule: Rule::Descent,
    input: &[64, 1, 28, 28],
    parameters: &[
        &[6, 1, 5, 5],
        &[6],
        &[16, 6, 5, 5],
        &[16],
        &[120, 400],
        &[120],
        &[84, 120],
        &[84],
        &[CLASSES, 84],
        &[CLASSES],
    ],
    loss: |p, x, labels| {
        let padded = Window { padding: [2, 2], ..Window::default() };
        let image = pooled(&x.conv(&p[0], Some(&p[1]), padded).relu());
        let image = pooled(&image.conv(&p[2], Some(&p[3]), Window::<2>::default()).relu());
        let hidden = image.flatten(1, -1).linear(&p[4], Some(&p[5])).relu();
        let hidden = hidden.linear(&p[6], Some(&p[7])).relu();
        hidden.linear(&p[8], Some(&p[9])).cross_entropy(labels, CrossEntropyOptions::default())
    },
    plain_loss: plain::cnn,
};

/// The maxima of 2×2 squares beside each other. There is no pooling op yet; such squares are axes of their own.
fn pooled(x: &DynTensor) -> DynTensor {
    let [samples, channels, height, width] = x.shape() else { unreachable!("images have four axes") };
    let squares = [*samples, *channels, height / 2, 2, width / 2, 2].map(|size| size as isize);
    x.reshape(&squares).max(&[3, 5], false)
}
