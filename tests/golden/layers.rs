//! Layers of the golden set: normalisations, pools, transposed convolutions, images, attention, equations.

use crate::case::number;
use crate::ops::{Outcome, axes, each, one, sizes, window};
use serde_json::Value;
use zither::{AttentionOptions, DynTensor, Interpolation, Pool};

fn pool<const N: usize>(kw: &Value) -> Pool<N> {
    let kernel = each(kw, "kernel_size", 1);
    let stride = if kw["stride"].is_null() { kernel } else { each(kw, "stride", 1) };
    Pool {
        kernel,
        stride,
        padding: each(kw, "padding", 0),
        dilation: each(kw, "dilation", 1),
        ceil_mode: kw["ceil_mode"].as_bool().unwrap_or(false),
        count_include_pad: kw["count_include_pad"].as_bool().unwrap_or(true),
    }
}

fn conv_transpose<const N: usize>(x: &[DynTensor], kw: &Value) -> Outcome {
    one(x[0].try_conv_transpose::<N>(&x[1], x.get(2), window(kw), each(kw, "output_padding", 0)))
}

fn norm(x: &DynTensor, kw: &Value) -> Outcome {
    let keepdim = kw["keepdim"].as_bool().unwrap_or(false);
    let all: Vec<isize> = (0..x.rank() as isize).collect();
    one(x.try_norm(number(&kw["p"]), &axes(kw, "dim").unwrap_or(all), keepdim))
}

/// The outputs of a layer; `None` if the op is none.
pub(crate) fn apply(op: &str, x: &[DynTensor], kw: &Value) -> Option<Outcome> {
    let a = &x[0];
    let eps = if kw["eps"].is_null() { 1e-5 } else { number(&kw["eps"]) };
    Some(match op {
        "adaptive_avg_pool2d" => one(a.try_adaptive_avg_pool(&sizes(&kw["size"]))),
        "avg_pool1d" => one(a.try_avg_pool::<1>(pool(kw))),
        "avg_pool2d" => one(a.try_avg_pool::<2>(pool(kw))),
        "batch_norm_eval" => one(a.try_batch_norm(&x[1], &x[2], x.get(3), x.get(4), eps)),
        "batch_norm_train" => one(a.try_batch_norm_train(x.get(1), x.get(2), eps).map(|normed| normed.output)),
        "conv_transpose1d" => conv_transpose::<1>(x, kw),
        "conv_transpose2d" => conv_transpose::<2>(x, kw),
        "einsum" => one(DynTensor::try_einsum(kw["eq"].as_str().unwrap_or(""), &x.iter().collect::<Vec<_>>())),
        "group_norm" => one(a.try_group_norm(kw["groups"].as_u64().unwrap_or(1) as usize, x.get(1), x.get(2), eps)),
        "instance_norm" => one(a.try_instance_norm(x.get(1), x.get(2), eps)),
        "interpolate_bilinear" => {
            let corners = kw["align_corners"].as_bool().unwrap_or(false);
            one(a.try_interpolate(&sizes(&kw["size"]), Interpolation::Linear, corners))
        }
        "interpolate_nearest" => {
            let scale = number(&kw["scale"]);
            one(a.try_interpolate_by([scale, scale], Interpolation::Nearest))
        }
        "max_pool1d" => one(a.try_max_pool::<1>(pool(kw))),
        "max_pool2d" => one(a.try_max_pool::<2>(pool(kw))),
        "norm" => norm(a, kw),
        "sdpa" => {
            let causal = kw["causal"].as_bool().unwrap_or(false);
            one(a.try_scaled_dot_product_attention(&x[1], &x[2], None, AttentionOptions { causal, scale: None }))
        }
        _ => return None,
    })
}
