//! Rows of normalisations over batches, pools, transposed convolutions, images, attention and equations.

use super::{Case, FLOATS, Slope, condition, exact, numeric, smooth, x};
use crate::dtype::Literal;
use crate::graph::{Node, ReduceKind};
use crate::ops;
use crate::ops::compose::attention::{Attention, scaled_dot_product};
use crate::ops::compose::batch_norm::{given, group_norm, instance_norm, train};
use crate::ops::compose::convolution::Sliding;
use crate::ops::compose::einsum::einsum;
use crate::ops::compose::interpolate::{Interpolation, interpolate, pixel_shuffle, pixel_unshuffle};
use crate::ops::compose::length::{norm, normalize};
use crate::ops::compose::pool::Pooling;
use crate::ops::compose::pool::adaptive::{adaptive_avg_pool, adaptive_max_pool};
use crate::ops::compose::pool::average::{Divisor, avg_pool, lp_pool};
use crate::ops::compose::pool::max::{max_pool, max_pool_with_indices};
use crate::ops::compose::positions::{dropout, rotary};
use crate::ops::compose::transposed::conv_transpose;
use crate::table_tests::compare::Agreement;

fn pooling(kernel: &[usize], stride: &[usize], padding: &[usize], dilation: &[usize], ceil: bool) -> Pooling {
    let sliding = Sliding { stride: stride.into(), padding: padding.into(), dilation: dilation.into() };
    Pooling { kernel: kernel.into(), sliding, ceil }
}

fn sliding(stride: &[usize], padding: &[usize], dilation: &[usize]) -> Sliding {
    Sliding { stride: stride.into(), padding: padding.into(), dilation: dilation.into() }
}

/// Different elements everywhere, so that no two are the largest, whatever the layout repeats.
fn ranked(x: &Node) -> crate::error::Result<Node> {
    let number = |value: i64| Node::full(&[x.len()], Literal::I64(value));
    let mixed = Node::map(&ops::REM, &[&(&Node::positions(x.len())? * &number(37)?), &number(101)?])?;
    Ok(x + &(&mixed.cast(x.dtype())?.reshaped(x.shape()) * 0.25))
}

fn bilinear(x: &Node, size: &[usize], corners: bool) -> crate::error::Result<Node> {
    interpolate("interpolate", x, size, None, Interpolation::Linear, corners)
}

const PLAIN: Attention = Attention { causal: false, scale: None };

pub(super) static CASES: &[Case] = &[
    smooth("batch_norm::train", 96.0, &[x(&[3, 2, 4], -3.0, 3.0), x(&[2], 0.5, 1.5), x(&[2], -1.0, 1.0)], |x, _| {
        Ok(train(&x[0], Some(&x[1]), Some(&x[2]), 0.1)?.output)
    }),
    smooth("batch_norm::train of rows", 96.0, &[x(&[5, 3], -3.0, 3.0)], |x, _| {
        Ok(train(&x[0], None, None, 0.1)?.output)
    }),
    smooth("batch_norm::train its statistics", 64.0, &[x(&[3, 2, 4], -3.0, 3.0)], |x, _| {
        let normed = train(&x[0], None, None, 0.1)?;
        Ok(&normed.mean * &normed.var)
    }),
    smooth(
        "batch_norm::given",
        16.0,
        &[x(&[3, 2, 4], -3.0, 3.0), x(&[2], -1.0, 1.0), x(&[2], 0.5, 2.0), x(&[2], 0.5, 1.5), x(&[2], -1.0, 1.0)],
        |x, _| given(&x[0], &x[1], &x[2], Some(&x[3]), Some(&x[4]), 0.1),
    ),
    smooth(
        "batch_norm::group_norm",
        96.0,
        &[x(&[2, 4, 3], -3.0, 3.0), x(&[4], 0.5, 1.5), x(&[4], -1.0, 1.0)],
        |x, _| group_norm(&x[0], 2, Some(&x[1]), Some(&x[2]), 0.1),
    ),
    smooth(
        "batch_norm::instance_norm",
        96.0,
        &[x(&[2, 2, 5], -3.0, 3.0), x(&[2], 0.5, 1.5), x(&[2], -1.0, 1.0)],
        |x, _| instance_norm(&x[0], Some(&x[1]), Some(&x[2]), 0.1),
    ),
    smooth("length::norm 2", 16.0, &[x(&[3, 4], 0.5, 3.0)], |x, _| norm("norm", &x[0], 2.0, Some(&[1]), false)),
    smooth("length::norm 2 of all", 32.0, &[x(&[3, 4], 0.5, 3.0)], |x, _| norm("norm", &x[0], 2.0, None, false)),
    smooth("length::norm 1", 24.0, &[x(&[3, 4], 0.5, 3.0)], |x, _| norm("norm", &x[0], 1.0, Some(&[0]), true)),
    smooth("length::norm 3", 32.0, &[x(&[3, 4], 0.5, 3.0)], |x, _| norm("norm", &x[0], 3.0, Some(&[1]), true)),
    smooth("length::norm 0.5", 96.0, &[x(&[3, 2], 0.5, 3.0)], |x, _| norm("norm", &x[0], 0.5, Some(&[1]), false)),
    smooth("length::norm of the largest", 0.0, &[x(&[3, 4], 0.02, 0.08)], |x, _| {
        norm("norm", &ranked(&x[0])?, f64::INFINITY, Some(&[1]), false)
    }),
    smooth("length::norm of the smallest", 0.0, &[x(&[3, 4], 0.02, 0.08)], |x, _| {
        norm("norm", &ranked(&x[0])?, f64::NEG_INFINITY, Some(&[1]), false)
    }),
    Case {
        slope: Slope::Stops("ne"),
        ..smooth("length::norm 0", 0.0, &[x(&[3, 4], -3.0, 3.0)], |x, _| norm("norm", &x[0], 0.0, Some(&[1]), false))
    },
    smooth("length::normalize", 16.0, &[x(&[3, 4], 0.5, 3.0)], |x, _| normalize(&x[0], 2.0, 1, 1e-12)),
    smooth("max::max_pool", 0.0, &[x(&[2, 6, 7], 0.02, 0.08)], |x, _| {
        max_pool("max_pool2d", &ranked(&x[0])?, &pooling(&[2, 2], &[2, 2], &[0, 0], &[1, 1], false))
    }),
    smooth("max::max_pool of windows that overlap", 0.0, &[x(&[2, 6, 7], 0.02, 0.08)], |x, _| {
        max_pool("max_pool2d", &ranked(&x[0])?, &pooling(&[3, 3], &[1, 2], &[1, 1], &[1, 1], true))
    }),
    smooth("max::max_pool of windows with gaps", 0.0, &[x(&[2, 9], 0.02, 0.08)], |x, _| {
        max_pool("max_pool1d", &ranked(&x[0])?, &pooling(&[3], &[2], &[1], &[2], true))
    }),
    numeric("max::max_pool of numbers", 0.0, &[x(&[3, 4, 5], -2.0, 2.0)], |x, dtype| {
        let x = if dtype.is_float() { ranked(&x[0])? } else { x[0].clone() };
        max_pool("max_pool3d", &x, &pooling(&[2, 2, 3], &[1, 2, 1], &[0, 1, 1], &[1, 1, 1], false))
    }),
    Case {
        slope: Slope::Stops("max_pool2d"),
        ..numeric("max::max_pool_with_indices", 0.0, &[x(&[2, 6, 7], -3.0, 3.0)], |x, _| {
            let pooling = pooling(&[3, 2], &[2, 1], &[1, 1], &[1, 2], false);
            Ok(max_pool_with_indices("max_pool2d", &x[0], &pooling)?.1)
        })
    },
    smooth("average::avg_pool", 8.0, &[x(&[2, 6, 7], -3.0, 3.0)], |x, _| {
        let pooling = pooling(&[2, 3], &[2, 3], &[0, 0], &[1, 1], false);
        avg_pool("avg_pool2d", &x[0], &pooling, Divisor::WithPadding)
    }),
    smooth("average::avg_pool of windows that overlap", 16.0, &[x(&[2, 6, 7], -3.0, 3.0)], |x, _| {
        let pooling = pooling(&[3, 3], &[2, 1], &[1, 1], &[1, 1], true);
        avg_pool("avg_pool2d", &x[0], &pooling, Divisor::WithPadding)
    }),
    smooth("average::avg_pool of what is inside", 16.0, &[x(&[2, 7], -3.0, 3.0)], |x, _| {
        avg_pool("avg_pool1d", &x[0], &pooling(&[3], &[2], &[1], &[1], true), Divisor::Inside)
    }),
    smooth("average::avg_pool by three", 24.0, &[x(&[3, 4, 5], -3.0, 3.0)], |x, _| {
        let pooling = pooling(&[2, 2, 2], &[1, 2, 1], &[1, 0, 1], &[1, 1, 1], false);
        avg_pool("avg_pool3d", &x[0], &pooling, Divisor::Always(3))
    }),
    smooth("average::lp_pool", 24.0, &[x(&[2, 7], 0.5, 3.0)], |x, _| {
        lp_pool("lp_pool1d", &x[0], 2.0, &pooling(&[3], &[2], &[0], &[1], false))
    }),
    smooth("adaptive::adaptive_avg_pool", 16.0, &[x(&[2, 5, 7], -3.0, 3.0)], |x, _| {
        adaptive_avg_pool("adaptive_avg_pool2d", &x[0], &[2, 3])
    }),
    smooth("adaptive::adaptive_avg_pool even", 16.0, &[x(&[2, 4, 6], -3.0, 3.0)], |x, _| {
        adaptive_avg_pool("adaptive_avg_pool2d", &x[0], &[2, 3])
    }),
    smooth("adaptive::adaptive_avg_pool larger", 16.0, &[x(&[2, 3], -3.0, 3.0)], |x, _| {
        adaptive_avg_pool("adaptive_avg_pool1d", &x[0], &[5])
    }),
    smooth("adaptive::adaptive_max_pool", 0.0, &[x(&[2, 5, 7], 0.02, 0.08)], |x, _| {
        adaptive_max_pool("adaptive_max_pool2d", &ranked(&x[0])?, &[2, 3])
    }),
    smooth("adaptive::adaptive_max_pool even", 0.0, &[x(&[4, 6], 0.02, 0.08)], |x, _| {
        adaptive_max_pool("adaptive_max_pool1d", &ranked(&x[0])?, &[3])
    }),
    numeric(
        "transposed::conv_transpose 1d",
        32.0,
        &[x(&[2, 3, 4], -1.0, 1.0), x(&[3, 2, 3], -1.0, 1.0), x(&[2], -1.0, 1.0)],
        |x, _| conv_transpose("conv_transpose1d", &x[0], &x[1], Some(&x[2]), &sliding(&[1], &[0], &[1]), &[0], 1),
    ),
    numeric(
        "transposed::conv_transpose 2d of all settings",
        32.0,
        &[x(&[1, 4, 3, 2], -1.0, 1.0), x(&[4, 1, 2, 3], -1.0, 1.0), x(&[2], -1.0, 1.0)],
        |x, _| {
            let sliding = sliding(&[2, 3], &[1, 0], &[2, 1]);
            conv_transpose("conv_transpose2d", &x[0], &x[1], Some(&x[2]), &sliding, &[1, 2], 2)
        },
    ),
    numeric(
        "transposed::conv_transpose 3d",
        32.0,
        &[x(&[1, 2, 2, 2, 3], -1.0, 1.0), x(&[2, 2, 2, 1, 2], -1.0, 1.0)],
        |x, _| {
            let sliding = sliding(&[1, 2, 2], &[0, 0, 1], &[1, 1, 1]);
            conv_transpose("conv_transpose3d", &x[0], &x[1], None, &sliding, &[0, 1, 0], 1)
        },
    ),
    smooth("interpolate::interpolate nearest", 0.0, &[x(&[2, 3, 4], -3.0, 3.0)], |x, _| {
        interpolate("interpolate", &x[0], &[6, 7], None, Interpolation::Nearest, false)
    }),
    smooth("interpolate::interpolate nearest exact", 0.0, &[x(&[2, 5], -3.0, 3.0)], |x, _| {
        interpolate("interpolate", &x[0], &[8], None, Interpolation::NearestExact, false)
    }),
    smooth("interpolate::interpolate linear", 8.0, &[x(&[2, 3, 4], -3.0, 3.0)], |x, _| bilinear(&x[0], &[5, 3], false)),
    smooth("interpolate::interpolate linear to the corners", 8.0, &[x(&[2, 3, 4], -3.0, 3.0)], |x, _| {
        bilinear(&x[0], &[5, 1], true)
    }),
    smooth("interpolate::interpolate cubic", 24.0, &[x(&[2, 3, 4], -3.0, 3.0)], |x, _| {
        interpolate("interpolate", &x[0], &[5, 7], None, Interpolation::Cubic, false)
    }),
    exact("interpolate::pixel_shuffle", &[x(&[2, 8, 2, 3], -3.0, 3.0)], |x, _| pixel_shuffle(&x[0], 2)),
    exact("interpolate::pixel_unshuffle", &[x(&[2, 4, 6], -3.0, 3.0)], |x, _| pixel_unshuffle(&x[0], 2)),
    smooth(
        "attention::scaled_dot_product",
        32.0,
        &[x(&[2, 3, 4], -1.0, 1.0), x(&[2, 5, 4], -1.0, 1.0), x(&[2, 5, 2], -1.0, 1.0)],
        |x, _| scaled_dot_product(&x[0], &x[1], &x[2], None, PLAIN),
    ),
    smooth(
        "attention::scaled_dot_product causal",
        32.0,
        &[x(&[3, 4], -1.0, 1.0), x(&[3, 4], -1.0, 1.0), x(&[3, 2], -1.0, 1.0)],
        |x, _| scaled_dot_product(&x[0], &x[1], &x[2], None, Attention { causal: true, scale: Some(0.3) }),
    ),
    smooth(
        "attention::scaled_dot_product of a mask that is added",
        32.0,
        &[x(&[3, 4], -1.0, 1.0), x(&[5, 4], -1.0, 1.0), x(&[5, 2], -1.0, 1.0), x(&[3, 5], -1.0, 1.0)],
        |x, _| scaled_dot_product(&x[0], &x[1], &x[2], Some(&x[3]), PLAIN),
    ),
    smooth(
        "attention::scaled_dot_product of a mask that hides",
        32.0,
        &[x(&[3, 4], -1.0, 1.0), x(&[5, 4], -1.0, 1.0), x(&[5, 2], -1.0, 1.0), condition(&[3, 5])],
        |x, _| {
            // The first key is always seen.
            let first = Node::positions(5)?.eq(&Node::positions(5)?.fill(0.0));
            let seen = Node::map(&crate::ops::BITOR, &[&x[3], &first])?;
            scaled_dot_product(&x[0], &x[1], &x[2], Some(&seen), PLAIN)
        },
    ),
    smooth(
        "positions::rotary",
        4.0,
        &[x(&[2, 3, 4], -1.0, 1.0), x(&[3, 2], -1.0, 1.0), x(&[3, 2], -1.0, 1.0)],
        |x, _| rotary(&x[0], &x[1], &x[2]),
    ),
    Case {
        name: "positions::dropout",
        inputs: &[x(&[3, 50], 0.5, 3.0)],
        dtypes: FLOATS,
        agreement: Agreement::Epsilons(0.0),
        slope: Slope::Nothing,
        build: |x, _| dropout("dropout", &x[0], 0.3, 0),
    },
    Case {
        name: "positions::dropout of channels",
        inputs: &[x(&[3, 5, 4], 0.5, 3.0)],
        dtypes: FLOATS,
        agreement: Agreement::Epsilons(0.0),
        slope: Slope::Nothing,
        build: |x, _| dropout("feature_dropout", &x[0], 0.5, 1),
    },
    numeric("einsum::einsum a product", 16.0, &[x(&[3, 5], -1.0, 1.0), x(&[5, 4], -1.0, 1.0)], |x, _| {
        einsum("ij,jk", &[&x[0], &x[1]])
    }),
    numeric("einsum::einsum in batches", 16.0, &[x(&[2, 3, 4], -1.0, 1.0), x(&[1, 5, 4], -1.0, 1.0)], |x, _| {
        einsum("bid,bjd->bij", &[&x[0], &x[1]])
    }),
    numeric("einsum::einsum of a diagonal", 16.0, &[x(&[3, 2, 3], -1.0, 1.0)], |x, _| einsum("iji->ij", &[&x[0]])),
    numeric("einsum::einsum of a trace", 16.0, &[x(&[3, 3], -1.0, 1.0)], |x, _| einsum("ii", &[&x[0]])),
    numeric("einsum::einsum of the rest", 16.0, &[x(&[2, 1, 3, 4], -1.0, 1.0), x(&[3, 4, 2], -1.0, 1.0)], |x, _| {
        einsum("...ij, ...jk -> k...i", &[&x[0], &x[1]])
    }),
    numeric(
        "einsum::einsum of three",
        24.0,
        &[x(&[2, 3, 2], -1.0, 1.0), x(&[3, 2], -1.0, 1.0), x(&[2, 2], -1.0, 1.0)],
        |x, _| einsum("ijk,jl,kl->il", &[&x[0], &x[1], &x[2]]),
    ),
    numeric("einsum::einsum without a sum", 0.0, &[x(&[3], -1.0, 1.0), x(&[4], -1.0, 1.0)], |x, _| {
        einsum("i,j->ji", &[&x[0], &x[1]])
    }),
    smooth(
        "einsum::einsum of an operand that is summed alone",
        24.0,
        &[x(&[3, 2], -1.0, 1.0), x(&[4], -1.0, 1.0)],
        |x, _| einsum("ij,k->i", &[&x[0], &x[1]])?.reduce("sum", ReduceKind::Sum, &[0], true),
    ),
];
