//! Rows of the losses.

use super::{Case, index, smooth, x};
use crate::dtype::{DType, Literal};
use crate::graph::Node;
use crate::ops::compose::loss::Reduction::{self, BatchMean, Mean, Sum};
use crate::ops::compose::loss::binary::*;
use crate::ops::compose::loss::classes::{CrossEntropy, cross_entropy, nll};
use crate::ops::compose::loss::regression::*;
use crate::ops::compose::loss::similarity::*;
use crate::ops::compose::loss::{self};

/// -1 and 1 by turns, of a shape.
fn signs(like: &Node, dtype: DType) -> crate::error::Result<Node> {
    let positions = Node::positions(like.len())?.reshaped(like.shape());
    let two = Node::full(like.shape(), Literal::I64(2))?;
    let odd = Node::map(&crate::ops::REM, &[&positions, &two])?.cast(dtype)?;
    Ok(&(&odd * 2.0) - 1.0)
}

const fn labels(smoothing: f64, reduction: Reduction, ignore_index: i64) -> CrossEntropy {
    CrossEntropy { reduction, label_smoothing: smoothing, ignore_index }
}

pub(super) static CASES: &[Case] = &[
    smooth("loss::reduce mean of samples", 32.0, &[x(&[3, 4], -2.0, 2.0)], |x, _| {
        loss::reduce("loss", &x[0], BatchMean)
    }),
    smooth("regression::mse", 16.0, &[x(&[3, 4], -2.0, 2.0), x(&[3, 4], -2.0, 2.0)], |x, _| mse(&x[0], &x[1], Mean)),
    smooth("regression::mse none", 4.0, &[x(&[3, 4], -2.0, 2.0), x(&[3, 4], -2.0, 2.0)], |x, _| {
        mse(&x[0], &x[1], Reduction::None)
    }),
    smooth("regression::l1", 32.0, &[x(&[3, 4], -2.0, 0.0), x(&[3, 4], 0.5, 2.0)], |x, _| l1(&x[0], &x[1], Sum)),
    smooth("regression::smooth_l1", 32.0, &[x(&[3, 4], 0.5, 1.0), x(&[3, 4], 1.2, 3.0)], |x, _| {
        smooth_l1(&x[0], &x[1], 0.75, Sum)
    }),
    smooth("regression::huber", 32.0, &[x(&[3, 4], 0.5, 1.0), x(&[3, 4], 1.2, 3.0)], |x, _| {
        huber(&x[0], &x[1], 0.75, Mean)
    }),
    smooth("binary::bce", 32.0, &[x(&[3, 4], 0.2, 0.8), x(&[3, 4], 0.1, 0.9)], |x, _| bce(&x[0], &x[1], None, Sum)),
    smooth("binary::bce of weights", 16.0, &[x(&[3, 4], 0.2, 0.8), x(&[3, 4], 0.1, 0.9), x(&[4], 0.5, 2.0)], |x, _| {
        bce(&x[0], &x[1], Some(&x[2]), Mean)
    }),
    smooth("binary::bce_with_logits", 16.0, &[x(&[3, 4], -3.0, 3.0), x(&[3, 4], 0.1, 0.9)], |x, _| {
        bce_with_logits(&x[0], &x[1], None, None, Mean)
    }),
    smooth(
        "binary::bce_with_logits of weights",
        48.0,
        &[x(&[3, 4], -3.0, 3.0), x(&[3, 4], 0.1, 0.9), x(&[3, 1], 0.5, 2.0), x(&[4], 0.5, 2.0)],
        |x, _| bce_with_logits(&x[0], &x[1], Some(&x[2]), Some(&x[3]), Sum),
    ),
    smooth("binary::hinge", 32.0, &[x(&[3, 4], 1.5, 4.0)], |x, dtype| hinge(&x[0], &signs(&x[0], dtype)?, 1.0, Sum)),
    smooth("binary::hinge_embedding", 32.0, &[x(&[3, 4], 0.2, 0.9)], |x, dtype| {
        hinge_embedding(&x[0], &signs(&x[0], dtype)?, 1.0, Sum)
    }),
    smooth("binary::kl_div", 32.0, &[x(&[3, 4], -3.0, -0.5), x(&[3, 4], 0.1, 0.9)], |x, _| {
        kl_div(&x[0], &x[1], false, BatchMean)
    }),
    smooth("binary::kl_div of logarithms", 48.0, &[x(&[3, 4], -3.0, -0.5), x(&[3, 4], -3.0, -0.5)], |x, _| {
        kl_div(&x[0], &x[1], true, Sum)
    }),
    smooth("classes::nll", 16.0, &[x(&[6, 4], -3.0, -0.5), index(&[6], 0.0, 3.0)], |x, _| {
        nll(&x[0], &x[1], None, -100, Mean)
    }),
    smooth(
        "classes::nll of weights",
        16.0,
        &[x(&[2, 4, 3], -3.0, -0.5), index(&[2, 3], 0.0, 3.0), x(&[4], 0.5, 2.0)],
        |x, _| nll(&x[0], &x[1], Some(&x[2]), -100, Mean),
    ),
    smooth("classes::nll of one", 16.0, &[x(&[4], -3.0, -0.5), index(&[], 0.0, 3.0)], |x, _| {
        nll(&x[0], &x[1], None, 2, Sum)
    }),
    smooth(
        "classes::cross_entropy of weights",
        32.0,
        &[x(&[6, 4], -3.0, 3.0), index(&[6], 0.0, 3.0), x(&[4], 0.5, 2.0)],
        |x, _| cross_entropy(&x[0], &x[1], Some(&x[2]), labels(0.2, Mean, -100)),
    ),
    smooth("similarity::cosine", 12.0, &[x(&[3, 5], 0.5, 3.0), x(&[1, 5], 0.5, 3.0)], |x, _| {
        cosine("cosine_similarity", &x[0], &x[1], 1, 1e-8)
    }),
    smooth("similarity::cosine_embedding", 48.0, &[x(&[4, 5], 0.5, 3.0), x(&[4, 5], 0.5, 3.0)], |x, dtype| {
        let target = signs(&Node::positions(4)?, dtype)?;
        cosine_embedding(&x[0], &x[1], &target, 0.1, Sum)
    }),
    smooth("similarity::triplet", 48.0, &[x(&[4, 5], 0.5, 3.0), x(&[4, 5], 4.0, 5.0), x(&[4, 5], 4.0, 5.0)], |x, _| {
        triplet(&x[0], &x[1], &x[2], 9.0, Mean)
    }),
];
