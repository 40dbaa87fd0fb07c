//! Whole families of ops say the same when they are called in the same wrong way.

use zither::{DType, Dim1, Dim2, DynTensor, ErrorKind, Interpolation, Pool, Reduction, Result, Tensor, Window};

fn whole(shape: &[usize]) -> DynTensor {
    DynTensor::zeros(shape, DType::I64)
}

fn float(shape: &[usize]) -> DynTensor {
    DynTensor::zeros(shape, DType::F32)
}

#[track_caller]
fn says<T>(result: Result<T>, kind: ErrorKind, text: &str) {
    let error = result.err().unwrap_or_else(|| panic!("no error, but not: {text}"));
    assert_eq!((error.to_string().lines().next(), error.kind()), (Some(text), kind));
}

/// Calls of methods on one tensor, each with the name that its error begins with; the rest of the text is the same.
macro_rules! each {
    ($x:expr, $kind:ident, $text:expr; $($name:literal $method:ident($($arg:expr),*);)*) => {
        $(says($x.$method($($arg),*), ErrorKind::$kind, &format!(concat!($name, ": {}"), $text));)*
    };
}

#[test]
fn what_is_for_floats_says_so_of_integers() {
    let (x, none) = (whole(&[2, 2]), None);
    each! { x, DType, "i64 is not a float dtype (f16, bf16, f32, f64): cast it first";
        "exp" try_exp(); "exp2" try_exp2(); "expm1" try_expm1(); "ln" try_ln(); "log2" try_log2(); "log10" try_log10();
        "log1p" try_log1p(); "sqrt" try_sqrt(); "rsqrt" try_rsqrt(); "recip" try_recip(); "sin" try_sin(); "cos" try_cos();
        "tan" try_tan(); "asin" try_asin(); "acos" try_acos(); "atan" try_atan(); "sinh" try_sinh(); "cosh" try_cosh();
        "tanh" try_tanh(); "asinh" try_asinh(); "acosh" try_acosh(); "atanh" try_atanh(); "sigmoid" try_sigmoid();
        "erf" try_erf(); "erfc" try_erfc(); "floor" try_floor(); "ceil" try_ceil(); "trunc" try_trunc(); "round" try_round();
        "silu" try_silu(); "gelu" try_gelu(); "gelu_tanh" try_gelu_tanh(); "softplus" try_softplus();
        "softplus" try_softplus_with(1.0); "elu" try_elu(1.0); "celu" try_celu(1.0); "selu" try_selu();
        "leaky_relu" try_leaky_relu(0.1); "hardtanh" try_hardtanh(0.0, 1.0); "relu6" try_relu6();
        "hardsigmoid" try_hardsigmoid(); "hardswish" try_hardswish(); "mish" try_mish(); "softsign" try_softsign();
        "logsigmoid" try_logsigmoid(); "tanhshrink" try_tanhshrink(); "softshrink" try_softshrink(0.5);
        "hardshrink" try_hardshrink(0.5); "threshold" try_threshold(0.5, 0.0); "geglu" try_geglu(0); "swiglu" try_swiglu(0);
        "sinc" try_sinc(); "deg2rad" try_deg2rad(); "rad2deg" try_rad2deg(); "logit" try_logit(); "frac" try_frac();
        "mean" try_mean(&[0], false); "mean" try_mean_all(); "var" try_var(&[0], false); "var" try_var_all();
        "std" try_std(&[0], false); "std" try_std_all(); "logsumexp" try_logsumexp(&[0], false);
        "logsumexp" try_logsumexp_all(); "var" try_var_with(&[0], 0.0, false); "std" try_std_with(&[0], 0.0, false);
        "softmax" try_softmax(0); "log_softmax" try_log_softmax(0); "layer_norm" try_layer_norm(&[2], none, none, 1e-5);
        "rms_norm" try_rms_norm(&[2], none, 1e-5); "group_norm" try_group_norm(1, none, none, 1e-5);
        "instance_norm" try_instance_norm(none, none, 1e-5); "normalize" try_normalize(2.0, 0, 1e-8);
        "norm" try_norm(2.0, &[0], false); "dropout" try_dropout(0.5); "feature_dropout" try_feature_dropout(0.5, 1);
        "interpolate" try_interpolate_by([2.0], Interpolation::Nearest); "lp_pool" try_lp_pool(2.0, Pool::new([1]));
        "avg_pool" try_avg_pool(Pool::new([1])); "adaptive_avg_pool" try_adaptive_avg_pool(&[1]); "pow" try_powf(0.5);
        "logcumsumexp" try_logcumsumexp(0);
    }
    each! { x, DType, "i64 is not f32 or f64: cast it first";
        "inverse" try_inverse(); "det" try_det(); "cholesky" try_cholesky(); "slogdet" try_slogdet(); "qr" try_qr();
        "eigh" try_eigh(); "svd" try_svd();
    }
}

#[test]
fn what_is_for_whole_numbers_says_so_of_floats() {
    let (x, y) = (float(&[4]), float(&[4]));
    each! { x, DType, "f32 is not an integer dtype or bool: cast it first";
        "bitand" try_bitand(&y); "bitor" try_bitor(&y); "bitxor" try_bitxor(&y); "bitnot" try_not();
    }
    each! { x, DType, "f32 is not an integer dtype: cast it first"; "shl" try_shl(&y); "shr" try_shr(&y); "rem" try_rem(&y); }
}

#[test]
fn shapes_that_do_not_broadcast_are_named_in_the_order_given() {
    let (x, y) = (Tensor::<f32, Dim2>::zeros([2, 3]), Tensor::<f32, Dim1>::zeros([4]));
    let text = "shapes [2, 3] and [4] do not broadcast: axis 1 is 3 on the left and 4 on the right";
    macro_rules! both {
        ($x:expr, $y:expr) => {
            each! { $x, Shape, text;
                "add" try_add($y); "sub" try_sub($y); "mul" try_mul($y); "div" try_div($y); "maximum" try_maximum($y);
                "minimum" try_minimum($y); "lt" try_lt($y); "le" try_le($y); "gt" try_gt($y); "ge" try_ge($y); "eq" try_eq($y);
                "ne" try_ne($y); "atan2" try_atan2($y); "pow" try_pow($y); "logaddexp" try_logaddexp($y);
                "xlogy" try_xlogy($y); "heaviside" try_heaviside($y);
            }
        };
    }
    both!(x, &y);
    both!(x.to_dynamic(), &y.to_dynamic());
    let text = "dtypes f32 and i64 do not mix: cast one, as in x.cast(DType::F32)";
    let (x, y) = (float(&[2]), whole(&[2]));
    each! { x, DType, text; "gt" try_gt(&y); "ge" try_ge(&y); "lt" try_lt(&y); "kron" try_kron(&y); }
}

#[test]
fn losses_want_one_shape() {
    let (x, y, mean) = (float(&[2, 3]), float(&[4]), Reduction::Mean);
    each! { x, Shape, "shapes [2, 3] and [4] differ: give tensors of one shape";
        "mse_loss" try_mse_loss(&y, mean); "l1_loss" try_l1_loss(&y, mean); "smooth_l1_loss" try_smooth_l1_loss(&y, 1.0, mean);
        "huber_loss" try_huber_loss(&y, 1.0, mean); "hinge_loss" try_hinge_loss(&y, 1.0, mean);
        "hinge_embedding_loss" try_hinge_embedding_loss(&y, 1.0, mean); "kl_div" try_kl_div(&y, false, mean);
        "binary_cross_entropy" try_binary_cross_entropy(&y, None, mean);
        "binary_cross_entropy_with_logits" try_binary_cross_entropy_with_logits(&y, None, None, mean);
        "triplet_margin_loss" try_triplet_margin_loss(&y, &x, 1.0, mean);
    }
    says(
        x.try_cosine_embedding_loss(&x, &y, 0.0, mean),
        ErrorKind::Shape,
        "cosine_embedding_loss: shapes [2] and [4] differ: give tensors of one shape",
    );
}

#[test]
fn an_axis_that_is_not_there() {
    let (x, index) = (Tensor::<f32, Dim2>::zeros([2, 3]), Tensor::new([0i64]));
    let text = "axis 2 is out of range for shape [2, 3] (rank 2): use -2 to 1";
    macro_rules! both {
        ($x:expr, $index:expr) => {
            each! { $x, Axis, text;
                "sum" try_sum(&[2], false); "prod" try_prod(&[2], false); "max" try_max(&[2], false);
                "min" try_min(&[2], false); "any" try_any(&[2], false); "all" try_all(&[2], false);
                "mean" try_mean(&[2], false); "var" try_var(&[2], false); "std" try_std(&[2], false);
                "logsumexp" try_logsumexp(&[2], false); "softmax" try_softmax(2); "log_softmax" try_log_softmax(2);
                "cumsum" try_cumsum(2); "cumprod" try_cumprod(2); "logcumsumexp" try_logcumsumexp(2);
                "argsort" try_argsort(2, false); "flip" try_flip(&[2]); "squeeze" try_squeeze(2);
                "transpose" try_transpose(0, 2); "narrow" try_narrow(2, 0, 1); "roll" try_roll(&[1], &[2]);
                "rot90" try_rot90(1, [0, 2]); "movedim" try_movedim(&[2], &[0]);
                "repeat_interleave" try_repeat_interleave(2, 2); "diagonal" try_diagonal(0, 0, 2);
                "unfold" try_unfold(2, 1, 1, 1); "index_select" try_index_select(2, $index);
                "normalize" try_normalize(2.0, 2, 1e-8); "norm" try_norm(2.0, &[2], false); "glu" try_glu(2);
                "permute" try_permute(&[0, 2]);
            }
        };
    }
    both!(x, &index);
    both!(x.to_dynamic(), &index.to_dynamic());
    says(x.try_argmax(2), ErrorKind::Axis, &format!("argmax: {text}"));
    says(x.to_dynamic().try_argmin(Some(2), false), ErrorKind::Axis, &format!("argmin: {text}"));
    says(x.try_sum(&[0, 0], false), ErrorKind::Axis, "sum: axis 0 is given twice in [0, 0] for shape [2, 3]");
    says(
        x.try_unsqueeze(4),
        ErrorKind::Axis,
        "unsqueeze: axis 4 is out of range for a new axis in shape [2, 3]: use -3 to 2",
    );
}

#[test]
fn nothing_to_choose_from() {
    let x = float(&[0]);
    each! { x, Shape, "nothing to choose from: shape [0] is empty along axes [0]";
        "max" try_max_all(); "min" try_min_all(); "max" try_max(&[0], false); "argmax" try_argmax(None, false);
        "argmin" try_argmin(Some(0), false);
    }
}

#[test]
fn shapes_and_values_that_mean_nothing() {
    let (x, vector) = (float(&[2, 3]), float(&[4]));
    each! { vector, Shape, "shape [4] has no rows and columns: two axes are needed";
        "tril" try_tril(0); "triu" try_triu(0); "inverse" try_inverse(); "trace" try_trace();
    }
    let shape = ErrorKind::Shape;
    let text = "linear: shape [2, 3] does not end in the 4 inputs that the weight [4, 4] has: give [outputs, inputs]";
    says(x.try_linear(&float(&[4, 4]), None), shape, text);
    let text = "matmul: shapes [2, 3] and [4] do not multiply: axis 1 on the left is 3, axis 0 on the right is 4";
    says(x.try_matmul(&vector), shape, text);
    says(
        x.try_solve(&float(&[4, 1])),
        shape,
        "solve: shapes [2, 3] and [4, 1] do not fit: give [.., n, n] and [.., n, k]",
    );
    says(x.try_addmm(&vector, &vector, 1.0, 1.0), shape, "addmm: shapes [4] and [4] are not two matrices");
    let text = "batch_norm: mean has shape [4], not one number for each of 3 channels";
    says(x.try_batch_norm(&vector, &float(&[3]), None, None, 1e-5), shape, text);
    let text = "rotary_embedding: the last axis of shape [2, 3] must be even: its halves are turned as pairs";
    says(x.try_rotary_embedding(&vector, &vector), shape, text);
    says(x.try_repeat(&[2]), shape, "repeat: 1 repeats for the 2 axes of shape [2, 3]: give one for each");
    says(vector.try_put(&whole(&[1]), &float(&[2])), shape, "put: index [1] and source [2] must have one shape");
    says(vector.try_feature_dropout(0.5, 2), shape, "feature_dropout: shape [4] has fewer than 2 axes");
    says(
        vector.try_unfold_windows([2, 2], Window::default()),
        shape,
        "unfold_windows: shape [4] has fewer than 2 axes",
    );
    let text = "fold_windows: shape [4] does not end in windows of [2]";
    says(vector.try_fold_windows([2], [2], Window::default()), shape, text);
    let text = "pixel_unshuffle: shape [4] does not end in [channels, rows · 2, columns · 2]";
    says(vector.try_pixel_unshuffle(2), shape, text);
    let text = "max_pool: a kernel of [5] does not fit into [4] with padding [0]";
    says(vector.try_max_pool(Pool::new([5])), shape, text);
    let value = ErrorKind::Value;
    says(vector.try_adaptive_max_pool(&[0]), value, "adaptive_max_pool: size [0] asks for no windows: use 1 or more");
    says(vector.try_dropout(1.5), value, "dropout: 1.5 is not a probability: use 0 to 1");
    let text = "interpolate: factors [0.0] for shape [4]: give one above 0 for each of the last axes";
    says(vector.try_interpolate_by([0.0], Interpolation::Nearest), value, text);
    let text = "bincount: whole numbers along one axis are counted, these are f32 of shape [4]";
    says(vector.try_bincount(None, 0), value, text);
    let text = "index_fill: an index is an integer tensor, this one is f32: cast it";
    says(vector.try_index_fill(0, &float(&[1]), 0.0), ErrorKind::DType, text);
}
