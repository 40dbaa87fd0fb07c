//! The golden set's ops in zither's words.

use crate::case::{number, stepped};
use crate::store::dtype;
use crate::{elementwise, layers, losses, shapes};
use serde_json::Value;
use zither::{DType, DynTensor, Ellipsis, IndexPart, NewAxis, PadValue, Window};

pub(crate) type Outcome = Result<Vec<DynTensor>, String>;

pub(crate) fn text(error: zither::Error) -> String {
    error.to_string()
}

/// The axes a case names: one, several, or (missing) none.
pub(crate) fn axes(kw: &Value, key: &str) -> Option<Vec<isize>> {
    match &kw[key] {
        Value::Null => None,
        Value::Array(list) => Some(list.iter().map(|k| k.as_i64().unwrap() as isize).collect()),
        value => Some(vec![value.as_i64().unwrap() as isize]),
    }
}

pub(crate) fn axis(kw: &Value, key: &str) -> isize {
    kw[key].as_i64().unwrap_or_else(|| panic!("{key} of {kw}")) as isize
}

pub(crate) fn sizes(value: &Value) -> Vec<usize> {
    value.as_array().unwrap().iter().map(|k| k.as_u64().unwrap() as usize).collect()
}

/// One number for all axes, or one each.
pub(crate) fn each<const N: usize>(kw: &Value, key: &str, default: usize) -> [usize; N] {
    match &kw[key] {
        Value::Null => [default; N],
        Value::Array(list) => std::array::from_fn(|k| list[k].as_u64().unwrap() as usize),
        value => [value.as_u64().unwrap() as usize; N],
    }
}

pub(crate) fn window<const N: usize>(kw: &Value) -> Window<N> {
    Window {
        stride: each(kw, "stride", 1),
        padding: each(kw, "padding", 0),
        dilation: each(kw, "dilation", 1),
        groups: kw["groups"].as_u64().unwrap_or(1) as usize,
    }
}

/// `x[.., start:end:step, ..]` along an axis.
pub(crate) fn slice(x: &DynTensor, axis: isize, start: isize, end: isize, step: isize) -> DynTensor {
    let axis = if axis < 0 { axis + x.rank() as isize } else { axis };
    let size = x.shape()[axis as usize] as isize;
    let part = stepped(start.min(size), end.min(size), step);
    fn at(x: &DynTensor, axis: isize, part: impl IndexPart) -> DynTensor {
        // Bring the axis to the front, take the part, and bring it back.
        x.transpose(0, axis).i((part, Ellipsis)).transpose(0, axis)
    }
    at(x, axis, part)
}

type Reduce = fn(&DynTensor, &[isize], bool) -> zither::Result<DynTensor>;

/// A reduction over the named axes, or over all.
fn reduce(x: &DynTensor, kw: &Value, f: Reduce) -> Outcome {
    let all: Vec<isize> = (0..x.rank() as isize).collect();
    let axes = match axes(kw, "dim") {
        Some(axes) if x.rank() == 0 && axes.iter().all(|&axis| axis == 0 || axis == -1) => Vec::new(),
        // PyTorch reads an empty list as "all".
        Some(axes) if !axes.is_empty() => axes,
        _ => all,
    };
    one(f(x, &axes, kw["keepdim"].as_bool().unwrap_or(false)))
}

pub(crate) fn one(result: zither::Result<DynTensor>) -> Outcome {
    result.map(|tensor| vec![tensor]).map_err(text)
}

fn two(result: zither::Result<(DynTensor, DynTensor)>) -> Outcome {
    result.map(|(a, b)| vec![a, b]).map_err(text)
}

/// The axis of a case on a rank-0 tensor, which PyTorch takes as an axis of size 1.
fn along(x: &DynTensor, kw: &Value, f: impl Fn(&DynTensor, isize) -> zither::Result<DynTensor>) -> Outcome {
    let axis = axis(kw, "dim");
    if x.rank() > 0 {
        return one(f(x, axis));
    }
    one(f(&x.i(NewAxis), axis).and_then(|result| result.try_reshape(&[])))
}

/// The outputs of an op.
pub(crate) fn apply(op: &str, x: &[DynTensor], kw: &Value) -> Outcome {
    let a = &x[0];
    match op {
        "neg" => Ok(vec![-a]),
        "exp" => one(a.try_exp()),
        "exp2" => one(a.try_exp2()),
        "expm1" => one(a.try_expm1()),
        "log" => one(a.try_ln()),
        "log2" => one(a.try_log2()),
        "log1p" => one(a.try_log1p()),
        "sqrt" => one(a.try_sqrt()),
        "rsqrt" => one(a.try_rsqrt()),
        "sin" => one(a.try_sin()),
        "cos" => one(a.try_cos()),
        "tan" => one(a.try_tan()),
        "tanh" => one(a.try_tanh()),
        "sinh" => one(a.try_sinh()),
        "cosh" => one(a.try_cosh()),
        "asin" => one(a.try_asin()),
        "acos" => one(a.try_acos()),
        "atan" => one(a.try_atan()),
        "atan2" => one(a.try_atan2(&x[1])),
        "sigmoid" => one(a.try_sigmoid()),
        "floor" => one(a.try_floor()),
        "ceil" => one(a.try_ceil()),
        "round" => one(a.try_round()),
        "trunc" => one(a.try_trunc()),
        "abs" => one(a.try_abs()),
        "sign" => one(a.try_sign()),
        "reciprocal" => one(a.try_recip()),
        "square" => one(a.try_square()),
        "erf" => one(a.try_erf()),
        "relu" => one(a.try_relu()),
        "silu" => one(a.try_silu()),
        "softplus" => one(a.try_softplus()),
        "gelu" if kw["approximate"] == "tanh" => one(a.try_gelu_tanh()),
        "gelu" => one(a.try_gelu()),
        "add" => one(a.try_add(&x[1])),
        "sub" => one(a.try_sub(&x[1])),
        "mul" => one(a.try_mul(&x[1])),
        "div" => one(a.try_div(&x[1])),
        "maximum" => one(a.try_maximum(&x[1])),
        "minimum" => one(a.try_minimum(&x[1])),
        "pow" => one(a.try_pow(&x[1])),
        "eq" => one(a.try_eq(&x[1])),
        "ne" => one(a.try_ne(&x[1])),
        "lt" => one(a.try_lt(&x[1])),
        "le" => one(a.try_le(&x[1])),
        "gt" => one(a.try_gt(&x[1])),
        "ge" => one(a.try_ge(&x[1])),
        "add_scalar" => Ok(vec![a + number(&kw["s"])]),
        "mul_scalar" => Ok(vec![a * number(&kw["s"])]),
        "pow_scalar" => one(a.try_powf(number(&kw["s"]))),
        "rsub_scalar" => Ok(vec![-(a - number(&kw["s"]))]),
        "rdiv_scalar" => Ok(vec![a.recip() * number(&kw["s"])]),
        "clamp" => {
            let bound = |key: &str| (!kw[key].is_null()).then(|| number(&kw[key]));
            one(a.try_clamp(bound("min"), bound("max")))
        }
        "where" => one(a.try_where(&x[1], &x[2])),
        // PyTorch adds integers up as i64; zither keeps the dtype, so the cast is written out.
        "sum" if a.dtype().is_integer() => reduce(&a.cast(DType::I64), kw, DynTensor::try_sum),
        "sum" => reduce(a, kw, DynTensor::try_sum),
        "prod" if a.dtype().is_integer() => reduce(&a.cast(DType::I64), kw, DynTensor::try_prod),
        "prod" => reduce(a, kw, DynTensor::try_prod),
        "mean" => reduce(a, kw, DynTensor::try_mean),
        "amax" => reduce(a, kw, DynTensor::try_max),
        "amin" => reduce(a, kw, DynTensor::try_min),
        "any" => reduce(a, kw, DynTensor::try_any),
        "all" => reduce(a, kw, DynTensor::try_all),
        "logsumexp" => reduce(a, kw, DynTensor::try_logsumexp),
        "var" | "std" => spread(op, a, kw),
        "argmax" | "argmin" => position(op, a, kw),
        "max_dim" => {
            let keepdim = kw["keepdim"].as_bool().unwrap_or(false);
            let axis = axis(kw, "dim");
            Ok(vec![a.max(&[axis], keepdim), a.argmax(Some(axis), keepdim)])
        }
        "softmax" => along(a, kw, DynTensor::try_softmax),
        "log_softmax" => along(a, kw, DynTensor::try_log_softmax),
        "layer_norm" => {
            let eps = if kw["eps"].is_null() { 1e-5 } else { number(&kw["eps"]) };
            one(a.try_layer_norm(&sizes(&kw["shape"]), x.get(1), x.get(2), eps))
        }
        "rms_norm" => one(a.try_rms_norm(&sizes(&kw["shape"]), x.get(1), number(&kw["eps"]))),
        "matmul" | "bmm" => one(a.try_matmul(&x[1])),
        "linear" => one(a.try_linear(&x[1], x.get(2))),
        "conv1d" => one(a.try_conv::<1>(&x[1], x.get(2), window(kw))),
        "conv2d" => one(a.try_conv::<2>(&x[1], x.get(2), window(kw))),
        "conv3d" => one(a.try_conv::<3>(&x[1], x.get(2), window(kw))),
        "unfold" => im2col(a, kw),
        "fold" => col2im(a, kw),
        "unfold_dim" => {
            let (size, step) = (axis(kw, "size") as usize, axis(kw, "step") as usize);
            one(a.try_unfold(axis(kw, "dim"), size, step, 1))
        }
        "pad" => pad(a, kw),
        "cat" => one(DynTensor::try_concat(&x.iter().collect::<Vec<_>>(), axis(kw, "dim"))),
        "stack" => one(DynTensor::try_stack(&x.iter().collect::<Vec<_>>(), axis(kw, "dim"))),
        "split" => match &kw["sizes"] {
            Value::Array(_) => a.try_split(&sizes(&kw["sizes"]), axis(kw, "dim")).map_err(text),
            size => a.try_split_every(size.as_u64().unwrap() as usize, axis(kw, "dim")).map_err(text),
        },
        "permute" => one(a.try_permute(&axes(kw, "dims").unwrap_or_default())),
        "transpose" => one(a.try_transpose(axis(kw, "d0"), axis(kw, "d1"))),
        "reshape" => one(a.try_reshape(&axes(kw, "shape").unwrap_or_default())),
        "expand" => one(a.try_expand(&axes(kw, "shape").unwrap_or_default())),
        "flip" => one(a.try_flip(&axes(kw, "dims").unwrap_or_default())),
        "narrow" => one(a.try_narrow(axis(kw, "dim"), axis(kw, "start") as usize, axis(kw, "length") as usize)),
        "slice" => Ok(vec![slice(a, axis(kw, "dim"), axis(kw, "start"), axis(kw, "end"), axis(kw, "step"))]),
        // PyTorch leaves an axis that is not 1 as it is; zither says so (S3.98).
        "squeeze" if a.shape()[axis(kw, "dim") as usize] != 1 => Ok(vec![a.clone()]),
        "squeeze" => one(a.try_squeeze(axis(kw, "dim"))),
        "unsqueeze" => one(a.try_unsqueeze(axis(kw, "dim"))),
        "cumsum" if a.dtype().is_integer() => along(&a.cast(DType::I64), kw, DynTensor::try_cumsum),
        "cumsum" => along(a, kw, DynTensor::try_cumsum),
        "cumprod" => along(a, kw, DynTensor::try_cumprod),
        "gather" => one(a.try_gather(axis(kw, "dim"), &x[1])),
        "take" => one(a.try_take(&x[1])),
        "embedding" => one(a.try_embedding(&x[1])),
        "one_hot" => one(a.try_one_hot(axis(kw, "n") as usize)),
        "masked_fill" => one(a.try_masked_fill(&x[1], number(&kw["value"]))),
        "scatter" => one(a.try_scatter(axis(kw, "dim"), &x[1], &x[2])),
        "scatter_add" => one(a.try_scatter_add(axis(kw, "dim"), &x[1], &x[2])),
        "index_add" => one(a.try_index_add(axis(kw, "dim"), &x[1], &x[2])),
        "argsort" => one(a.try_argsort(axis(kw, "dim"), kw["descending"] == true)),
        "sort" => two(a.try_sort(axis(kw, "dim"), kw["descending"] == true)),
        "topk" => two(a.try_topk(axis(kw, "k") as usize, axis(kw, "dim"), kw["largest"] == true)),
        "index_select" => one(a.try_index_select(axis(kw, "dim"), &x[1])),
        "tril" => one(a.try_tril(axis(kw, "k"))),
        "triu" => one(a.try_triu(axis(kw, "k"))),
        "cast" => one(a.try_cast(dtype(kw["to"].as_str().unwrap_or("f32")))),
        other => composed(other, x, kw),
    }
}

/// Ops that have a file of their own by theme.
fn composed(op: &str, x: &[DynTensor], kw: &Value) -> Outcome {
    elementwise::apply(op, x, kw)
        .or_else(|| layers::apply(op, x, kw))
        .or_else(|| losses::apply(op, x, kw))
        .or_else(|| shapes::apply(op, x, kw))
        .unwrap_or_else(|| Err(format!("unknown op {op}")))
}

fn spread(op: &str, x: &DynTensor, kw: &Value) -> Outcome {
    let correction = kw["correction"].as_f64().unwrap_or(1.0);
    let all: Vec<isize> = (0..x.rank() as isize).collect();
    let axes = match axes(kw, "dim") {
        Some(axes) if x.rank() > 0 && !axes.is_empty() => axes,
        _ => all,
    };
    let keepdim = kw["keepdim"].as_bool().unwrap_or(false);
    one(if op == "var" {
        x.try_var_with(&axes, correction, keepdim)
    } else {
        x.try_std_with(&axes, correction, keepdim)
    })
}

fn position(op: &str, x: &DynTensor, kw: &Value) -> Outcome {
    let axis = kw["dim"].as_i64().map(|axis| axis as isize).filter(|_| x.rank() > 0);
    let keepdim = kw["keepdim"].as_bool().unwrap_or(false);
    one(if op == "argmax" { x.try_argmax(axis, keepdim) } else { x.try_argmin(axis, keepdim) })
}

/// PyTorch lists pairs from the last axis backwards.
fn pad(x: &DynTensor, kw: &Value) -> Outcome {
    let amounts = axes(kw, "pad").unwrap_or_default();
    let mut padding = vec![(0, 0); x.rank()];
    for (k, pair) in amounts.chunks(2).enumerate() {
        padding[x.rank() - 1 - k] = (pair[0], pair[1]);
    }
    let value = match kw["mode"].as_str() {
        Some("reflect") => PadValue::Reflect,
        Some("replicate") => PadValue::Replicate,
        Some("circular") => PadValue::Circular,
        _ => PadValue::Value(number(&kw["value"])),
    };
    one(x.try_pad(&padding, value))
}

/// `[N, C, H, W]` to `[N, C · kh · kw, L]`.
fn im2col(x: &DynTensor, kw: &Value) -> Outcome {
    let windows = x.try_unfold_windows::<2>(each(kw, "kernel", 1), window(kw)).map_err(text)?;
    let shape = windows.shape().to_vec();
    let columns = (shape[1] * shape[4] * shape[5]) as isize;
    one(windows.permute(&[0, 1, 4, 5, 2, 3]).try_reshape(&[shape[0] as isize, columns, -1]))
}

/// `[N, C · kh · kw, L]` to `[N, C, H, W]`.
fn col2im(x: &DynTensor, kw: &Value) -> Outcome {
    let (size, kernel, window) = (each::<2>(kw, "size", 1), each::<2>(kw, "kernel", 1), window::<2>(kw));
    let places: Vec<isize> = (0..2)
        .map(|k| {
            ((size[k] + 2 * window.padding[k] - window.dilation[k] * (kernel[k] - 1) - 1) / window.stride[k] + 1)
                as isize
        })
        .collect();
    let (rows, columns) = (kernel[0] as isize, kernel[1] as isize);
    let windows =
        x.reshape(&[x.shape()[0] as isize, -1, rows, columns, places[0], places[1]]).permute(&[0, 1, 4, 5, 2, 3]);
    one(windows.try_fold_windows(size, kernel, window))
}
