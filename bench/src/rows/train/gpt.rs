//! A small GPT, as a user writes it.

use super::models::Start;
use zither::{AttentionOptions, CrossEntropyOptions, DynTensor};

pub const VOCABULARY: usize = 65;
pub const WIDTH: usize = 128;
pub const HEADS: usize = 4;
pub const LAYERS: usize = 4;
/// The parameters of a layer.
pub const OF_LAYER: usize = 12;
pub const EPS: f64 = 1e-5;
const POSITIONS: usize = 128;

/// Two embeddings, the layers, the last norm and the head.
pub fn parameters() -> Vec<Start> {
    let linear =
        |outputs: usize, inputs: usize| [Start::Random(vec![outputs, inputs], inputs), Start::Full(outputs, 0.0)];
    let norm = || [Start::Full(WIDTH, 1.0), Start::Full(WIDTH, 0.0)];
    let embedding = |count: usize| Start::Random(vec![count, WIDTH], WIDTH);
    let mut parameters = vec![embedding(VOCABULARY), embedding(POSITIONS)];
    for _ in 0..LAYERS {
        parameters.extend(norm().into_iter().chain(linear(3 * WIDTH, WIDTH)).chain(linear(WIDTH, WIDTH)));
        parameters.extend(norm().into_iter().chain(linear(4 * WIDTH, WIDTH)).chain(linear(WIDTH, 4 * WIDTH)));
    }
    parameters.extend(norm().into_iter().chain(linear(VOCABULARY, WIDTH)));
    parameters
}

/// The cross entropy of the next tokens.
pub fn loss(p: &[DynTensor], tokens: &DynTensor, labels: &DynTensor) -> DynTensor {
    let [batch, length] = *tokens.shape() else { unreachable!("a batch of sequences") };
    let (b, t, width) = (batch as isize, length as isize, WIDTH as isize);
    let words = p[0].index_select(0, &tokens.flatten(0, -1)).reshape(&[b, t, width]);
    let mut x = words + p[1].narrow(0, 0, length);
    for layer in p[2..].chunks_exact(OF_LAYER).take(LAYERS) {
        x = &x + attention(&norm(&x, &layer[0..2]), &layer[2..6]);
        let hidden = norm(&x, &layer[6..8]).linear(&layer[8], Some(&layer[9])).gelu_tanh();
        x = &x + hidden.linear(&layer[10], Some(&layer[11]));
    }
    let rest = &p[2 + LAYERS * OF_LAYER..];
    let scores = norm(&x, &rest[0..2]).linear(&rest[2], Some(&rest[3]));
    scores.reshape(&[b * t, VOCABULARY as isize]).cross_entropy(labels, CrossEntropyOptions::default())
}

fn norm(x: &DynTensor, p: &[DynTensor]) -> DynTensor {
    x.layer_norm(&[WIDTH], Some(&p[0]), Some(&p[1]), EPS)
}

/// Every position looks at those before it.
fn attention(x: &DynTensor, p: &[DynTensor]) -> DynTensor {
    let [batch, length] = [x.shape()[0] as isize, x.shape()[1] as isize];
    let (heads, size) = (HEADS as isize, (WIDTH / HEADS) as isize);
    let all = x.linear(&p[0], Some(&p[1])).reshape(&[batch, length, 3, heads, size]).permute(&[2, 0, 3, 1, 4]);
    let [q, k, v] = [0, 1, 2].map(|which| all.narrow(0, which, 1).squeeze(0));
    let causal = AttentionOptions { causal: true, ..AttentionOptions::default() };
    let seen = q.scaled_dot_product_attention(&k, &v, None, causal);
    let seen = seen.permute(&[0, 2, 1, 3]).reshape(&[batch, length, WIDTH as isize]);
    seen.linear(&p[2], Some(&p[3]))
}
