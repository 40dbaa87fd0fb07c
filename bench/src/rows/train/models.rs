//! The networks, as a user writes them.

use super::trainer::{Loss, Rule};
use super::{gpt, plain, plain_gpt};
use crate::data::random;
use zither::{CrossEntropyOptions, DynTensor, Window};

const CLASSES: usize = 10;

/// The same, plain.
type PlainLoss = fn(&[Vec<f64>], &[f64], &[usize]) -> f64;

/// A network with its loss, its batch and how it is trained.
pub struct Model {
    pub row: &'static str,
    pub rule: Rule,
    /// The shape of a batch.
    pub input: &'static [usize],
    /// The shape of a batch that is small enough for the plain loops, many times over.
    pub small_input: &'static [usize],
    /// What a batch is made of.
    pub batch: Kind,
    pub parameters: fn() -> Vec<Start>,
    pub loss: Loss,
    pub plain_loss: PlainLoss,
}

/// What a batch is made of.
#[derive(Clone, Copy)]
pub enum Kind {
    /// Numbers, with a label of so many for each sample.
    Numbers(usize),
    /// Tokens, so many different ones, each with the next one as its label.
    Tokens(usize),
}

/// How a parameter starts.
pub enum Start {
    /// Random, of a size that keeps the size of what passes, with so many inputs to each output.
    Random(Vec<usize>, usize),
    /// All the same.
    Full(usize, f32),
}

impl Start {
    fn tensor(&self) -> DynTensor {
        match self {
            Start::Random(shape, inputs) => {
                let scale = 1.0 / (*inputs as f32).sqrt();
                let values = random(shape.iter().product()).into_iter().map(|value| value * scale);
                DynTensor::from_data(values.collect(), shape)
            }
            Start::Full(count, value) => DynTensor::from_data(vec![*value; *count], &[*count]),
        }
    }
}

impl Model {
    pub fn start(&self) -> Vec<DynTensor> {
        (self.parameters)().iter().map(Start::tensor).collect()
    }
}

/// Random weights and biases of 0 in turn, of layers with these weights.
fn layers(weights: &[&[usize]]) -> Vec<Start> {
    let layer =
        |shape: &&[usize]| [Start::Random(shape.to_vec(), shape[1..].iter().product()), Start::Full(shape[0], 0.0)];
    weights.iter().flat_map(layer).collect()
}

/// Pre-norm, 4 layers of 128 with 4 heads, 128 positions, 65 tokens, on a batch of 16, with Adam.
pub static GPT: Model = Model {
    row: "i_gpt_step",
    rule: Rule::Adam,
    input: &[16, 128],
    small_input: &[2, 12],
    batch: Kind::Tokens(gpt::VOCABULARY),
    parameters: gpt::parameters,
    loss: gpt::loss,
    plain_loss: plain_gpt::loss,
};

/// 784-512-512-10 on a batch of 128, with Adam.
pub static MLP: Model = Model {
    row: "i_mlp_step",
    rule: Rule::Adam,
    input: &[128, 784],
    small_input: &[128, 784],
    batch: Kind::Numbers(CLASSES),
    parameters: || layers(&[&[512, 784], &[512, 512], &[CLASSES, 512]]),
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
    small_input: &[64, 1, 28, 28],
    batch: Kind::Numbers(CLASSES),
    parameters: || layers(&[&[6, 1, 5, 5], &[16, 6, 5, 5], &[120, 400], &[84, 120], &[CLASSES, 84]]),
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

/// The maxima of 2×2 squares beside each other. Such squares are axes of their own, which says the same as a pool.
fn pooled(x: &DynTensor) -> DynTensor {
    let [samples, channels, height, width] = x.shape() else { unreachable!("images have four axes") };
    let squares = [*samples, *channels, height / 2, 2, width / 2, 2].map(|size| size as isize);
    x.reshape(&squares).max(&[3, 5], false)
}
