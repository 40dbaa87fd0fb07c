//! Rows of products and windows: matmul, linear, convolution, unfold and fold.

use super::{Case, exact, numeric, x};
use crate::graph::Window;
use crate::ops::compose::contraction::{linear, matmul};
use crate::ops::compose::convolution::{Sliding, conv, fold, windows};

/// Stride, padding and dilation of each spatial axis.
fn sliding(stride: &[usize], padding: &[usize], dilation: &[usize]) -> Sliding {
    Sliding { stride: stride.into(), padding: padding.into(), dilation: dilation.into() }
}

pub(super) static CASES: &[Case] = &[
    numeric("contraction::matmul", 16.0, &[x(&[3, 5], -1.0, 1.0), x(&[5, 4], -1.0, 1.0)], |x, _| matmul(&x[0], &x[1])),
    numeric("contraction::matmul row", 16.0, &[x(&[5], -1.0, 1.0), x(&[5, 4], -1.0, 1.0)], |x, _| matmul(&x[0], &x[1])),
    numeric("contraction::matmul column", 16.0, &[x(&[3, 5], -1.0, 1.0), x(&[5], -1.0, 1.0)], |x, _| {
        matmul(&x[0], &x[1])
    }),
    numeric("contraction::matmul dot", 16.0, &[x(&[5], -1.0, 1.0), x(&[5], -1.0, 1.0)], |x, _| matmul(&x[0], &x[1])),
    numeric("contraction::matmul batched", 16.0, &[x(&[2, 3, 4], -1.0, 1.0), x(&[2, 4, 2], -1.0, 1.0)], |x, _| {
        matmul(&x[0], &x[1])
    }),
    numeric(
        "contraction::matmul of batches that broadcast",
        16.0,
        &[x(&[2, 1, 3, 4], -1.0, 1.0), x(&[3, 4, 2], -1.0, 1.0)],
        |x, _| matmul(&x[0], &x[1]),
    ),
    numeric("contraction::matmul batch by column", 16.0, &[x(&[2, 3, 4], -1.0, 1.0), x(&[4], -1.0, 1.0)], |x, _| {
        matmul(&x[0], &x[1])
    }),
    numeric("contraction::matmul of one", 16.0, &[x(&[1, 1], -1.0, 1.0), x(&[1, 3], -1.0, 1.0)], |x, _| {
        matmul(&x[0], &x[1])
    }),
    numeric("contraction::matmul of its own transpose", 16.0, &[x(&[3, 4], -1.0, 1.0)], |x, _| {
        matmul(&x[0], &x[0].swapped(0, 1))
    }),
    Case {
        name: "contraction::matmul over nothing",
        slope: super::Slope::Nothing,
        ..numeric("", 0.0, &[x(&[3, 0], -1.0, 1.0), x(&[0, 2], -1.0, 1.0)], |x, _| matmul(&x[0], &x[1]))
    },
    numeric(
        "contraction::linear",
        16.0,
        &[x(&[3, 4], -1.0, 1.0), x(&[5, 4], -1.0, 1.0), x(&[5], -1.0, 1.0)],
        |x, _| linear(&x[0], &x[1], Some(&x[2])),
    ),
    numeric("contraction::linear without bias", 16.0, &[x(&[2, 2, 3], -1.0, 1.0), x(&[4, 3], -1.0, 1.0)], |x, _| {
        linear(&x[0], &x[1], None)
    }),
    numeric(
        "convolution::conv 1d",
        24.0,
        &[x(&[2, 2, 6], -1.0, 1.0), x(&[3, 2, 3], -1.0, 1.0), x(&[3], -1.0, 1.0)],
        |x, _| conv("conv1d", &x[0], &x[1], Some(&x[2]), &sliding(&[1], &[0], &[1]), 1),
    ),
    numeric(
        "convolution::conv 1d of all settings",
        24.0,
        &[x(&[1, 4, 7], -1.0, 1.0), x(&[2, 2, 2], -1.0, 1.0), x(&[2], -1.0, 1.0)],
        |x, _| conv("conv1d", &x[0], &x[1], Some(&x[2]), &sliding(&[2], &[2], &[3]), 2),
    ),
    numeric("convolution::conv 2d", 24.0, &[x(&[1, 2, 4, 4], -1.0, 1.0), x(&[2, 2, 3, 3], -1.0, 1.0)], |x, _| {
        conv("conv2d", &x[0], &x[1], None, &sliding(&[1, 1], &[1, 1], &[1, 1]), 1)
    }),
    numeric(
        "convolution::conv 2d of all settings",
        24.0,
        &[x(&[2, 2, 5, 4], -1.0, 1.0), x(&[4, 1, 2, 3], -1.0, 1.0), x(&[4], -1.0, 1.0)],
        |x, _| conv("conv2d", &x[0], &x[1], Some(&x[2]), &sliding(&[2, 1], &[1, 2], &[2, 1]), 2),
    ),
    numeric(
        "convolution::conv 2d of one place",
        24.0,
        &[x(&[2, 3, 2, 2], -1.0, 1.0), x(&[2, 3, 1, 1], -1.0, 1.0)],
        |x, _| conv("conv2d", &x[0], &x[1], None, &sliding(&[1, 1], &[0, 0], &[1, 1]), 1),
    ),
    numeric(
        "convolution::conv 3d",
        24.0,
        &[x(&[1, 2, 3, 3, 2], -1.0, 1.0), x(&[2, 1, 2, 2, 1], -1.0, 1.0), x(&[2], -1.0, 1.0)],
        |x, _| conv("conv3d", &x[0], &x[1], Some(&x[2]), &sliding(&[1, 2, 1], &[1, 0, 1], &[1, 1, 2]), 2),
    ),
    exact("convolution::windows 1d", &[x(&[2, 7], -3.0, 3.0)], |x, _| {
        windows("unfold", &x[0], &[3], &sliding(&[2], &[1], &[1]))
    }),
    exact("convolution::windows 2d", &[x(&[1, 2, 4, 5], -3.0, 3.0)], |x, _| {
        windows("unfold", &x[0], &[2, 3], &sliding(&[1, 2], &[0, 1], &[2, 1]))
    }),
    exact("convolution::windows 3d", &[x(&[2, 3, 3, 2], -3.0, 3.0)], |x, _| {
        windows("unfold", &x[0], &[2, 2, 2], &sliding(&[1, 1, 1], &[0, 1, 0], &[1, 2, 1]))
    }),
    numeric("convolution::fold 1d", 8.0, &[x(&[2, 4, 3], -2.0, 2.0)], |x, _| {
        fold("fold", &x[0], &[7], &[3], &sliding(&[2], &[1], &[1]))
    }),
    numeric("convolution::fold 1d dilated", 8.0, &[x(&[2, 5, 2], -2.0, 2.0)], |x, _| {
        fold("fold", &x[0], &[8], &[2], &sliding(&[1], &[0], &[3]))
    }),
    numeric("convolution::fold 2d", 16.0, &[x(&[2, 3, 3, 2, 2], -2.0, 2.0)], |x, _| {
        fold("fold", &x[0], &[4, 4], &[2, 2], &sliding(&[1, 1], &[0, 0], &[1, 1]))
    }),
    numeric("convolution::fold 3d", 16.0, &[x(&[2, 2, 2, 2, 1, 2], -2.0, 2.0)], |x, _| {
        fold("fold", &x[0], &[3, 2, 3], &[2, 1, 2], &sliding(&[1, 1, 1], &[0, 0, 0], &[1, 1, 1]))
    }),
    exact("windows::unfolded", &[x(&[2, 7], -3.0, 3.0)], |x, _| x[0].unfolded(WINDOW)),
    numeric("windows::folded", 8.0, &[x(&[2, 3, 2], -2.0, 2.0)], |x, _| x[0].folded(WINDOW)),
    exact("windows::placed", &[x(&[2, 3, 2], -3.0, 3.0)], |x, _| x[0].placed(WINDOW)),
    exact("windows::picked", &[x(&[2, 7, 2], -3.0, 3.0)], |x, _| x[0].picked(WINDOW)),
];

/// Three windows of two elements, three apart, along seven.
const WINDOW: Window = Window { axis: 1, n: 7, size: 2, step: 1, dilation: 4 };
