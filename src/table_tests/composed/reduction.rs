//! Rows of reductions, normalisations and losses.

use super::{ALL, Case, FLOATS, NUMBERS, Slope, index, numeric, smooth, x};
use crate::dtype::DType;
use crate::graph::ReduceKind::{Max, Min, Prod, Sum};
use crate::ops::compose::loss::Reduction;
use crate::ops::compose::loss::classes::{CrossEntropy, cross_entropy};
use crate::ops::compose::{loss, norm, reduction};
use crate::table_tests::compare::Agreement;

const fn position(
    name: &'static str,
    stops: &'static str,
    build: fn(&[crate::graph::Node], DType) -> crate::error::Result<crate::graph::Node>,
) -> Case {
    let inputs = &[super::Input { shape: &[3, 4, 2], range: -3.0..3.0, dtype: None }];
    Case { name, inputs, dtypes: NUMBERS, agreement: Agreement::Exact, slope: Slope::Stops(stops), build }
}

const fn truth(
    name: &'static str,
    build: fn(&[crate::graph::Node], DType) -> crate::error::Result<crate::graph::Node>,
) -> Case {
    let inputs = &[super::Input { shape: &[3, 4], range: 0.0..1.0, dtype: None }];
    Case { name, inputs, dtypes: ALL, agreement: Agreement::Exact, slope: Slope::Stops("cast"), build }
}

const fn labels(smoothing: f64, reduction: Reduction, ignore_index: i64) -> CrossEntropy {
    CrossEntropy { reduction, label_smoothing: smoothing, ignore_index }
}

pub(super) static CASES: &[Case] = &[
    numeric("reduction::reduce sum", 24.0, &[x(&[3, 4, 2], -2.0, 2.0)], |x, _| {
        reduction::reduce("sum", Sum, &x[0], Some(&[0, 2]), true)
    }),
    numeric("reduction::reduce sum of all", 48.0, &[x(&[3, 4, 2], -2.0, 2.0)], |x, _| {
        reduction::reduce("sum", Sum, &x[0], None, false)
    }),
    numeric("reduction::reduce prod", 16.0, &[x(&[3, 4], -2.0, 2.0)], |x, _| {
        reduction::reduce("prod", Prod, &x[0], Some(&[1]), false)
    }),
    smooth("reduction::reduce prod of two axes", 16.0, &[x(&[2, 3, 2], 0.5, 1.5)], |x, _| {
        reduction::reduce("prod", Prod, &x[0], Some(&[0, 2]), true)
    }),
    smooth("reduction::reduce prod of all", 16.0, &[x(&[2, 3], 0.5, 1.5)], |x, _| {
        reduction::reduce("prod", Prod, &x[0], None, false)
    }),
    numeric("reduction::reduce max", 0.0, &[x(&[3, 4, 2], -2.0, 2.0)], |x, _| {
        reduction::reduce("max", Max, &x[0], Some(&[1]), false)
    }),
    numeric("reduction::reduce min of two axes", 0.0, &[x(&[3, 4, 2], -2.0, 2.0)], |x, _| {
        reduction::reduce("min", Min, &x[0], Some(&[0, 2]), true)
    }),
    numeric("compute::reduce a product", 24.0, &[x(&[3, 4], -2.0, 2.0), x(&[3, 4], -2.0, 2.0)], |x, _| {
        (&x[0] * &x[1]).reduce("sum", Sum, &[0], false)
    }),
    numeric("compute::reduce_all", 0.0, &[x(&[3, 4], -2.0, 2.0)], |x, _| x[0].reduce_all("max", Max)),
    smooth("reduction::mean", 16.0, &[x(&[3, 4, 2], -2.0, 2.0)], |x, _| {
        reduction::mean("mean", &x[0], Some(&[-1, 0]), false)
    }),
    smooth("reduction::mean of all", 16.0, &[x(&[3, 4], -2.0, 2.0)], |x, _| {
        reduction::mean("mean", &x[0], None, false)
    }),
    smooth("reduction::var", 24.0, &[x(&[3, 5], -2.0, 2.0)], |x, _| {
        reduction::var("var", &x[0], Some(&[1]), 1.0, false)
    }),
    smooth("reduction::var of all", 24.0, &[x(&[3, 4], -2.0, 2.0)], |x, _| {
        reduction::var("var", &x[0], None, 0.0, false)
    }),
    // Far enough apart that the root is not taken near 0, also where every element is the same one plus padding.
    smooth("reduction::std", 24.0, &[x(&[3, 5], -2.0, 2.0)], |x, _| {
        let ramp = crate::graph::Node::positions(5)?.cast(x[0].dtype())?;
        reduction::std("std", &(&x[0] + &(&ramp * 2.0)), Some(&[1]), 1.0, true)
    }),
    smooth("reduction::logsumexp", 16.0, &[x(&[3, 4], -2.0, 2.0)], |x, _| {
        reduction::logsumexp("logsumexp", &x[0], Some(&[0]), false)
    }),
    smooth("reduction::logsumexp of all", 16.0, &[x(&[3, 4], -2.0, 2.0)], |x, _| {
        reduction::logsumexp("logsumexp", &x[0], None, false)
    }),
    truth("reduction::any", |x, _| reduction::any("any", &x[0], Some(&[1]), false)),
    truth("reduction::any of all", |x, _| reduction::any("any", &x[0], None, false)),
    truth("reduction::all", |x, _| reduction::all("all", &x[0], Some(&[0]), true)),
    truth("reduction::all of all", |x, _| reduction::all("all", &x[0], None, false)),
    position("reduction::arg max", "argmax", |x, _| reduction::arg("argmax", Max, &x[0], Some(1), false)),
    position("reduction::arg min", "argmin", |x, _| reduction::arg("argmin", Min, &x[0], Some(-1), true)),
    position("reduction::arg max of all", "argmax", |x, _| reduction::arg("argmax", Max, &x[0], None, false)),
    smooth("norm::softmax", 12.0, &[x(&[3, 5], -3.0, 3.0)], |x, _| norm::softmax(&x[0], -1)),
    smooth("norm::softmax down", 12.0, &[x(&[2, 4, 3], -3.0, 3.0)], |x, _| norm::softmax(&x[0], 1)),
    smooth("norm::log_softmax", 12.0, &[x(&[3, 5], -3.0, 3.0)], |x, _| norm::log_softmax(&x[0], -1)),
    smooth("norm::log_softmax down", 12.0, &[x(&[2, 4, 3], -3.0, 3.0)], |x, _| norm::log_softmax(&x[0], 0)),
    smooth("norm::layer_norm", 64.0, &[x(&[3, 6], -3.0, 3.0), x(&[6], 0.5, 1.5), x(&[6], -1.0, 1.0)], |x, _| {
        norm::layer_norm(&x[0], &[6], Some(&x[1]), Some(&x[2]), 0.1)
    }),
    smooth("norm::layer_norm of two axes", 64.0, &[x(&[2, 2, 3], -3.0, 3.0)], |x, _| {
        norm::layer_norm(&x[0], &[2, 3], None, None, 0.1)
    }),
    smooth("norm::rms_norm", 32.0, &[x(&[3, 6], -3.0, 3.0), x(&[6], 0.5, 1.5)], |x, _| {
        norm::rms_norm(&x[0], &[6], Some(&x[1]), 0.1)
    }),
    smooth("loss::reduce mean", 16.0, &[x(&[3, 4], -2.0, 2.0)], |x, _| loss::reduce("loss", &x[0], Reduction::Mean)),
    smooth("loss::reduce sum", 32.0, &[x(&[3, 4], -2.0, 2.0)], |x, _| loss::reduce("loss", &x[0], Reduction::Sum)),
    smooth("loss::reduce none", 0.0, &[x(&[3, 4], -2.0, 2.0)], |x, _| loss::reduce("loss", &x[0], Reduction::None)),
    smooth("classes::cross_entropy", 16.0, &[x(&[6, 4], -3.0, 3.0), index(&[6], 0.0, 3.0)], |x, _| {
        cross_entropy(&x[0], &x[1], None, labels(0.0, Reduction::Mean, -100))
    }),
    smooth("classes::cross_entropy smoothed sum", 64.0, &[x(&[6, 4], -3.0, 3.0), index(&[6], 0.0, 3.0)], |x, _| {
        cross_entropy(&x[0], &x[1], None, labels(0.2, Reduction::Sum, 1))
    }),
    smooth("classes::cross_entropy of images", 24.0, &[x(&[2, 3, 2], -3.0, 3.0), index(&[2, 2], 0.0, 2.0)], |x, _| {
        cross_entropy(&x[0], &x[1], None, labels(0.1, Reduction::None, 2))
    }),
    smooth("classes::cross_entropy of one", 16.0, &[x(&[5], -3.0, 3.0), index(&[], 0.0, 4.0)], |x, _| {
        cross_entropy(&x[0], &x[1], None, labels(0.0, Reduction::Mean, -100))
    }),
    Case {
        name: "norm::softmax of large numbers",
        inputs: &[x(&[3, 5], -900.0, 900.0)],
        dtypes: FLOATS,
        agreement: Agreement::Epsilons(12.0),
        slope: Slope::Nothing,
        build: |x, _| norm::softmax(&x[0], -1),
    },
];
