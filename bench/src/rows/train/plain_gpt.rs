//! The GPT's loss by plain loops in `f64`.

use super::gpt::{EPS, HEADS, LAYERS, OF_LAYER, WIDTH};
use super::plain::{cross_entropy, linear};

/// As `gpt::loss`, for two sequences.
pub fn loss(p: &[Vec<f64>], tokens: &[f64], labels: &[usize]) -> f64 {
    const SEQUENCES: usize = 2;
    let length = tokens.len() / SEQUENCES;
    let mut x: Vec<f64> = Vec::with_capacity(tokens.len() * WIDTH);
    for (place, &token) in tokens.iter().enumerate() {
        let (word, position) = (token as usize * WIDTH, place % length * WIDTH);
        x.extend((0..WIDTH).map(|i| p[0][word + i] + p[1][position + i]));
    }
    for layer in p[2..].chunks_exact(OF_LAYER).take(LAYERS) {
        let all = linear(&norm(&x, &layer[0], &layer[1]), &layer[2], &layer[3]);
        let seen: Vec<f64> = all.chunks_exact(length * 3 * WIDTH).flat_map(|all| attention(all, length)).collect();
        add(&mut x, &linear(&seen, &layer[4], &layer[5]));
        let mut hidden = linear(&norm(&x, &layer[6], &layer[7]), &layer[8], &layer[9]);
        hidden.iter_mut().for_each(|value| *value = gelu(*value));
        add(&mut x, &linear(&hidden, &layer[10], &layer[11]));
    }
    let rest = &p[2 + LAYERS * OF_LAYER..];
    cross_entropy(&linear(&norm(&x, &rest[0], &rest[1]), &rest[2], &rest[3]), labels)
}

fn add(x: &mut [f64], y: &[f64]) {
    x.iter_mut().zip(y).for_each(|(x, y)| *x += y);
}

fn norm(x: &[f64], gain: &[f64], shift: &[f64]) -> Vec<f64> {
    let mut result = Vec::with_capacity(x.len());
    for row in x.chunks_exact(WIDTH) {
        let mean = row.iter().sum::<f64>() / WIDTH as f64;
        let variance = row.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / WIDTH as f64;
        let scale = 1.0 / (variance + EPS).sqrt();
        result.extend(row.iter().zip(gain.iter().zip(shift)).map(|(value, (g, s))| (value - mean) * scale * g + s));
    }
    result
}

fn gelu(x: f64) -> f64 {
    let inner = (2.0 / std::f64::consts::PI).sqrt() * (x + 0.044715 * x.powi(3));
    0.5 * x * (1.0 + inner.tanh())
}

/// From rows of q, k and v to rows of what each position sees.
fn attention(all: &[f64], length: usize) -> Vec<f64> {
    let size = WIDTH / HEADS;
    let part = |which: usize, head: usize, place: usize| &all[(place * 3 + which) * WIDTH + head * size..][..size];
    let mut seen = vec![0.0; length * WIDTH];
    for head in 0..HEADS {
        for place in 0..length {
            let score = |other: usize| -> f64 {
                let products = part(0, head, place).iter().zip(part(1, head, other)).map(|(q, k)| q * k);
                (products.sum::<f64>() / (size as f64).sqrt()).exp()
            };
            let scores: Vec<f64> = (0..=place).map(score).collect();
            let sum: f64 = scores.iter().sum();
            for (other, score) in scores.iter().enumerate() {
                for (i, value) in part(2, head, other).iter().enumerate() {
                    seen[place * WIDTH + head * size + i] += score / sum * value;
                }
            }
        }
    }
    seen
}
