//! Convolutions read through the border of their input: no copy with a border is written where a contraction can do without.

use super::counts::{agrees, data, takes};
use super::*;
use crate::dtype::{DType, Literal};
use crate::grad;
use crate::ops::compose::activation;
use crate::ops::compose::convolution::{Sliding, conv};

fn sliding(stride: &[usize], padding: &[usize], dilation: &[usize]) -> Sliding {
    Sliding { stride: stride.into(), padding: padding.into(), dilation: dilation.into() }
}

/// Padding of so much on each of two axes.
fn around(padding: usize) -> Sliding {
    sliding(&[1; 2], &[padding; 2], &[1; 2])
}

/// The most elements that a kernel of the plan writes down.
fn largest(wanted: &[Node]) -> usize {
    let bases: Vec<Node> = wanted.iter().map(|node| node.base()).collect();
    let kernels = kernels(&bases);
    kernels.iter().flat_map(|kernel| &kernel.stages).map(|stage| stage.node.len()).max().unwrap_or(0)
}

#[test]
fn a_convolution_with_padding_is_one_kernel() {
    for padding in [1, 2, 4] {
        let (x, w, bias) = (data(&[2, 3, 9, 10], 1), data(&[16, 3, 3, 3], 2), data(&[16], 3));
        let y = conv("conv2d", &x, &w, Some(&bias), &around(padding), 1).unwrap();
        takes(1, &[activation::relu(&y).unwrap()]);
        let y = conv("conv2d", &x, &w, None, &around(padding), 1).unwrap();
        let gradients = grad::gradients(&y, data(y.shape(), 4), &[x.clone(), w.clone()]).unwrap();
        takes(2, &gradients);
    }
    let (x, w) = (data(&[2, 6, 9, 10], 1), data(&[8, 3, 3, 3], 2));
    takes(1, &[conv("conv2d", &x, &w, None, &around(1), 2).unwrap()]);
}

#[test]
fn what_is_computed_is_written_without_its_border() {
    let (x, w) = (data(&[2, 3, 9, 10], 1), data(&[3, 3, 3, 3], 2));
    let computed = || Node::map(&ops::EXP, &[&x]).unwrap();
    let y = conv("conv2d", &computed(), &w, None, &around(1), 1).unwrap();
    assert_eq!(largest(std::slice::from_ref(&y)), x.len());
    takes(2, &[y]);
    // Two layers: what follows the first one is written on its tiles, and read through a border by the second.
    let first = activation::relu(&conv("conv2d", &x, &w, None, &around(1), 1).unwrap()).unwrap();
    let second = conv("conv2d", &first, &w, None, &around(1), 1).unwrap();
    assert_eq!(largest(std::slice::from_ref(&second)), x.len());
    takes(2, &[second]);
}

#[test]
fn a_copy_that_others_read_has_its_border() {
    let (x, w) = (data(&[2, 3, 9, 10], 1), data(&[16, 3, 3, 3], 2));
    let padding = [(0, 0), (0, 0), (1, 1), (1, 1)];
    let copy = x.padded(&padding, Literal::F32(0.0)).unwrap().contiguous();
    let y = conv("conv2d", &copy, &w, None, &around(0), 1).unwrap();
    assert!(largest(&[y.clone(), &copy + 1.0]) >= copy.len());
    agrees(&[y, &copy + 1.0]);
    let y = conv("conv2d", &copy, &w, None, &around(0), 1).unwrap();
    takes(2, &[y, copy]);
    // Another border than one of zeros, one kernel for each channel, and windows of what is turned round are read from a copy.
    let ones = x.padded(&padding, Literal::F32(1.0)).unwrap().contiguous();
    takes(2, &[conv("conv2d", &ones, &w, None, &around(0), 1).unwrap()]);
    let each = data(&[3, 1, 3, 3], 3);
    agrees(&[conv("conv2d", &x, &each, None, &around(1), 3).unwrap()]);
    let turned = data(&[2, 9, 10, 3], 4).permuted(&[0, 3, 1, 2]);
    takes(2, &[conv("conv2d", &turned, &w, None, &around(1), 1).unwrap()]);
}

#[test]
fn products_of_what_is_padded_or_masked_are_contractions() {
    let (x, y) = (data(&[30, 40], 1), data(&[44, 50], 2));
    let product = |x: &Node| crate::ops::compose::contraction::matmul(x, &y).unwrap();
    takes(1, &[product(&x.padded(&[(2, 1), (1, 3)], Literal::F32(0.0)).unwrap())]);
    let square = data(&[44, 44], 3);
    let triangle = square.masked(crate::shape::Expr::idx(1).le(crate::shape::Expr::idx(0)), Literal::F32(0.0)).unwrap();
    takes(1, &[product(&triangle)]);
}

/// One convolution: the input, the outputs, the kernel, its sliding and the groups.
type Case<'a> = (&'a [usize], usize, &'a [usize], Sliding, usize);

#[test]
fn convolutions_of_any_kind_agree_with_the_reference() {
    let cases: [Case<'_>; 16] = [
        (&[2, 3, 50], 8, &[3], sliding(&[1], &[1], &[1]), 1),
        (&[2, 4, 41], 8, &[5], sliding(&[2], &[3], &[2]), 2),
        (&[1, 2, 300], 4, &[7], sliding(&[1], &[3], &[1]), 1),
        (&[2, 3, 12, 11], 6, &[3, 2], sliding(&[1, 1], &[1, 1], &[1, 1]), 1),
        (&[2, 3, 12, 11], 6, &[3, 3], sliding(&[2, 1], &[1, 2], &[1, 2]), 3),
        (&[2, 2, 17, 16], 5, &[3, 3], sliding(&[2, 2], &[1, 1], &[1, 1]), 1),
        (&[1, 2, 20, 18], 5, &[5, 5], sliding(&[1, 1], &[2, 2], &[1, 1]), 1),
        (&[2, 2, 9, 9], 4, &[3, 1], sliding(&[1, 1], &[1, 0], &[1, 1]), 1),
        (&[2, 2, 9, 9], 4, &[1, 3], sliding(&[1, 1], &[1, 1], &[1, 1]), 1),
        (&[3, 2, 1, 1], 40, &[3, 3], sliding(&[1, 1], &[3, 3], &[1, 1]), 1),
        (&[2, 3, 16, 1], 40, &[3, 3], sliding(&[1, 1], &[1, 1], &[1, 1]), 1),
        (&[0, 3, 12, 12], 6, &[3, 3], sliding(&[1, 1], &[1, 1], &[1, 1]), 1),
        (&[2, 1, 14, 14], 6, &[4, 4], sliding(&[3, 3], &[6, 6], &[1, 1]), 1),
        (&[1, 2, 30, 20], 3, &[17, 16], sliding(&[1, 1], &[8, 8], &[1, 1]), 1),
        (&[2, 2, 5, 6, 7], 6, &[3, 3, 3], sliding(&[1, 1, 1], &[1, 1, 1], &[1, 1, 1]), 1),
        (&[1, 4, 6, 7, 5], 4, &[2, 3, 3], sliding(&[1, 2, 1], &[1, 0, 2], &[2, 1, 1]), 2),
    ];
    for (shape, outputs, kernel, sliding, groups) in &cases {
        let weight: Vec<usize> = [*outputs, shape[1] / groups].iter().chain(*kernel).copied().collect();
        let (x, w) = (data(shape, 5), data(&weight, 6));
        let y = conv("conv", &x, &w, None, sliding, *groups).unwrap();
        agrees(&[y]);
        let y = conv("conv", &x, &w, None, sliding, *groups).unwrap();
        let gradients = grad::gradients(&y, data(y.shape(), 7), &[x.clone(), w.clone()]).unwrap();
        // Forward and gradients at once, as in a step of training.
        agrees(&[y, gradients[0].clone(), gradients[1].clone()]);
        for dtype in [DType::F64, DType::I32, DType::U8] {
            let whole = |node: &Node| (node * 4.0).cast(dtype).unwrap();
            agrees(&[conv("conv", &whole(&x), &whole(&w), None, sliding, *groups).unwrap()]);
        }
    }
}

#[test]
fn a_zero_of_the_border_meets_what_is_not_finite() {
    let (x, w) = (data(&[1, 2, 9, 9], 1), data(&[8, 2, 3, 3], 2));
    // Numbers whose reciprocals are infinite here and there.
    let steep = Node::map(&ops::MAXIMUM, &[&w, &w.full_like(Literal::F32(0.0))]).unwrap();
    let steep = &w.full_like(Literal::F32(1.0)) / &steep;
    agrees(&[conv("conv2d", &x, &steep, None, &around(1), 1).unwrap()]);
}
