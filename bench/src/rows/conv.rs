//! Rows g: convolutions of images.

use crate::bench::{Bench, Outcome, Unit};
use crate::check::Near;
use crate::data::Input;
use zither::Window;

pub fn run(bench: &Bench) -> Outcome {
    conv(bench, "g_conv_16x64x56_64x3x3", [16, 64, 56, 56], [64, 64, 3, 3], 1)?;
    conv(bench, "g_conv_32x1x28_32x5x5", [32, 1, 28, 28], [32, 1, 5, 5], 0)
}

/// Images `[samples, channels, size, size]` and kernels `[outputs, channels, side, side]`.
fn conv(bench: &Bench, name: &str, images: [usize; 4], kernels: [usize; 4], padding: usize) -> Outcome {
    if !bench.wants(name) {
        return Ok(());
    }
    let (x, w) = (Input::<f32, 4>::random(images), Input::<f32, 4>::random(kernels));
    let ([samples, channels, size, _], [outputs, _, side, _]) = (images, kernels);
    let places = size + 2 * padding + 1 - side;
    let window = Window { padding: [padding; 2], ..Window::default() };
    // The element of the padded image, as a term of a sum.
    let padded = |s: usize, c: usize, i: usize, j: usize| {
        let inside = padding..padding + size;
        if inside.contains(&i) && inside.contains(&j) { x.at([s, c, i - padding, j - padding]) } else { 0.0 }
    };
    bench.row(
        name,
        Unit::Milliseconds,
        [samples, outputs, places, places],
        || x.tensor.conv2d(&w.tensor, None, window),
        |[s, o, i, j]| {
            let taps = (0..channels * side * side).map(|tap| [tap / side / side, tap / side % side, tap % side]);
            Near::sum(taps.map(|[c, di, dj]| padded(s, c, i + di, j + dj) * w.at([o, c, di, dj])))
        },
    )
}
