//! The losses of the networks by plain loops in `f64`.

/// As `models::MLP`.
pub fn mlp(p: &[Vec<f64>], x: &[f64], labels: &[usize]) -> f64 {
    let hidden = relu(linear(x, &p[0], &p[1]));
    let hidden = relu(linear(&hidden, &p[2], &p[3]));
    cross_entropy(&linear(&hidden, &p[4], &p[5]), labels)
}

/// As `models::CNN`.
pub fn cnn(p: &[Vec<f64>], x: &[f64], labels: &[usize]) -> f64 {
    let image = pooled(&relu(conv_5x5(x, 28, &p[0], &p[1], 2)), 28);
    let image = pooled(&relu(conv_5x5(&image, 14, &p[2], &p[3], 0)), 10);
    let hidden = relu(linear(&image, &p[4], &p[5]));
    let hidden = relu(linear(&hidden, &p[6], &p[7]));
    cross_entropy(&linear(&hidden, &p[8], &p[9]), labels)
}

fn relu(x: Vec<f64>) -> Vec<f64> {
    x.into_iter().map(|value| value.max(0.0)).collect()
}

/// `x·wᵀ + b`, with as many outputs as there are biases.
pub(super) fn linear(x: &[f64], w: &[f64], b: &[f64]) -> Vec<f64> {
    let inputs = w.len() / b.len();
    let mut result = Vec::with_capacity(x.len() / inputs * b.len());
    for row in x.chunks_exact(inputs) {
        for (weights, bias) in w.chunks_exact(inputs).zip(b) {
            result.push(bias + row.iter().zip(weights).map(|(a, b)| a * b).sum::<f64>());
        }
    }
    result
}

/// Square images of `size`, as many channels as the weights say, kernels of 5×5.
fn conv_5x5(x: &[f64], size: usize, w: &[f64], b: &[f64], padding: usize) -> Vec<f64> {
    let channels = w.len() / b.len() / 25;
    let places = size + 2 * padding - 4;
    let mut result = Vec::new();
    for sample in x.chunks_exact(channels * size * size) {
        for (kernel, bias) in w.chunks_exact(channels * 25).zip(b) {
            for place in 0..places * places {
                let mut sum = *bias;
                for (tap, weight) in kernel.iter().enumerate() {
                    let (channel, i, j) = (tap / 25, place / places + tap / 5 % 5, place % places + tap % 5);
                    if (padding..padding + size).contains(&i) && (padding..padding + size).contains(&j) {
                        sum += weight * sample[(channel * size + i - padding) * size + j - padding];
                    }
                }
                result.push(sum);
            }
        }
    }
    result
}

/// The maxima of 2×2 squares beside each other, in square images of `size`.
fn pooled(x: &[f64], size: usize) -> Vec<f64> {
    let half = size / 2;
    let mut result = Vec::with_capacity(x.len() / 4);
    for image in x.chunks_exact(size * size) {
        for place in 0..half * half {
            let corner = place / half * 2 * size + place % half * 2;
            let square = [corner, corner + 1, corner + size, corner + size + 1];
            result.push(square.iter().map(|&k| image[k]).fold(f64::NEG_INFINITY, f64::max));
        }
    }
    result
}

/// The mean of `-ln softmax(scores)[label]`.
pub(super) fn cross_entropy(scores: &[f64], labels: &[usize]) -> f64 {
    let classes = scores.len() / labels.len();
    let losses = scores.chunks_exact(classes).zip(labels).map(|(scores, &label)| {
        let sum: f64 = scores.iter().map(|score| score.exp()).sum();
        sum.ln() - scores[label]
    });
    losses.sum::<f64>() / labels.len() as f64
}
