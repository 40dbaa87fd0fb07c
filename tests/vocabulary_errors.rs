//! What users read when the arguments of the wider vocabulary do not fit, from typed and from dynamic tensors.

use zither::{
    AttentionOptions, DType, Dim2, Dim3, DynTensor, Error, ErrorKind, Interpolation, Pool, Reduction, Result, Tensor,
    Window, try_einsum,
};

/// An error's family and the first line of its text; the lines after it say where operands were made.
#[track_caller]
fn check<T>(result: Result<T>, kind: ErrorKind, text: &str) {
    let error: Error = result.err().expect("an error");
    assert_eq!(error.to_string().lines().next(), Some(text));
    assert_eq!(error.kind(), kind, "{text}");
}

/// The same from both kinds of tensors.
#[track_caller]
fn both<T, U>(typed: Result<T>, dynamic: Result<U>, kind: ErrorKind, text: &str) {
    check(typed, kind, text);
    check(dynamic, kind, text);
}

fn matrix() -> (Tensor<f32, Dim2>, DynTensor) {
    let x = Tensor::<f32, _>::zeros([2, 3]);
    let dynamic = x.to_dynamic();
    (x, dynamic)
}

fn images() -> (Tensor<f32, Dim3>, DynTensor) {
    let x = Tensor::<f32, _>::zeros([2, 4, 5]);
    let dynamic = x.to_dynamic();
    (x, dynamic)
}

fn whole(shape: &[usize]) -> DynTensor {
    DynTensor::zeros(shape, DType::I64)
}

#[test]
fn elementwise_and_activations() {
    let (x, d) = matrix();
    let four = Tensor::<f32, _>::zeros([4]);
    let text = "shapes [2, 3] and [4] do not broadcast: axis 1 is 3 on the left and 4 on the right";
    both(x.try_hypot(&four), d.try_hypot(&four.to_dynamic()), ErrorKind::Shape, &format!("hypot: {text}"));
    both(x.try_fmod(&four), d.try_fmod(&four.to_dynamic()), ErrorKind::Shape, &format!("fmod: {text}"));
    both(x.try_remainder(&four), d.try_remainder(&four.to_dynamic()), ErrorKind::Shape, &format!("remainder: {text}"));
    let float = "i64 is not a float dtype (f16, bf16, f32, f64): cast it first";
    check(whole(&[2]).try_elu(1.0), ErrorKind::DType, &format!("elu: {float}"));
    check(whole(&[2]).try_asinh(), ErrorKind::DType, &format!("asinh: {float}"));
    check(whole(&[2]).try_nan_to_num(0.0, None, None), ErrorKind::DType, &format!("nan_to_num: {float}"));
    check(
        d.try_lerp(&whole(&[3]), &d),
        ErrorKind::DType,
        "lerp: dtypes f32 and i64 do not mix: cast one, as in x.cast(DType::F32)",
    );
    both(
        x.try_glu(1),
        d.try_glu(1),
        ErrorKind::Shape,
        "glu: axis 1 of shape [2, 3] has no halves: its size must be even",
    );
    both(x.try_softshrink(-1.0), d.try_softshrink(-1.0), ErrorKind::Value, "softshrink: lambda is -1: use 0 or more");
    both(
        x.try_prelu(&four),
        d.try_prelu(&four.to_dynamic()),
        ErrorKind::Shape,
        "prelu: weight has shape [4]: give one number, or one for each of the 3 channels of shape [2, 3]",
    );
    both(
        x.try_swiglu(2),
        d.try_swiglu(2),
        ErrorKind::Axis,
        "swiglu: axis 2 is out of range for shape [2, 3] (rank 2): use -2 to 1",
    );
}

#[test]
fn losses() {
    let (x, d) = matrix();
    let y = Tensor::<f32, _>::zeros([2, 4]);
    let mean = Reduction::Mean;
    let differ = "shapes [2, 3] and [2, 4] differ: give tensors of one shape";
    let other = y.to_dynamic();
    both(x.try_mse_loss(&y), d.try_mse_loss(&other, mean), ErrorKind::Shape, &format!("mse_loss: {differ}"));
    both(x.try_kl_div(&y), d.try_kl_div(&other, false, mean), ErrorKind::Shape, &format!("kl_div: {differ}"));
    both(
        x.try_binary_cross_entropy(&y),
        d.try_binary_cross_entropy(&other, None, mean),
        ErrorKind::Shape,
        &format!("binary_cross_entropy: {differ}"),
    );
    both(
        x.try_huber_loss_with(&x, 0.0, mean),
        d.try_huber_loss(&d, 0.0, mean),
        ErrorKind::Value,
        "huber_loss: delta is 0: use a number above 0",
    );
    let (labels, many) = (Tensor::new([0i64, 1]), Tensor::new([0i64, 1, 2]));
    both(
        x.try_nll_loss(&many),
        d.try_nll_loss(&many.to_dynamic(), None, -100, mean),
        ErrorKind::Shape,
        "nll_loss: logits of shape [2, 3] need a target of shape [2], not [3]",
    );
    let weight = Tensor::<f32, _>::ones([4]);
    both(
        x.try_cross_entropy_weighted(&labels, &weight, Default::default()),
        d.try_cross_entropy_weighted(&labels.to_dynamic(), &weight.to_dynamic(), Default::default()),
        ErrorKind::Shape,
        "cross_entropy: weight has shape [4], not one number for each of 3 classes",
    );
    check(
        d.try_nll_loss(&d, None, -100, mean),
        ErrorKind::DType,
        "nll_loss: class numbers are integers, the target is f32: cast it",
    );
    let wrong = x.nll_loss(&Tensor::new([0i64, 7])).item();
    check(wrong, ErrorKind::Index, "nll_loss: index 7 is out of range for an axis of 3: use 0 to 2");
}

#[test]
fn shapes_and_products() {
    let (x, d) = matrix();
    let axis = |op: &str| format!("{op}: axis 5 is out of range for shape [2, 3] (rank 2): use -2 to 1");
    both(x.try_chunk(2, 5), d.try_chunk(2, 5), ErrorKind::Axis, &axis("chunk"));
    both(x.try_unbind(5), d.try_unbind(5), ErrorKind::Axis, &axis("unbind"));
    both(x.try_roll(&[1], &[5]), d.try_roll(&[1], &[5]), ErrorKind::Axis, &axis("roll"));
    both(x.try_repeat_interleave(2, 5), d.try_repeat_interleave(2, 5), ErrorKind::Axis, &axis("repeat_interleave"));
    both(x.try_movedim(&[5], &[0]), d.try_movedim(&[5], &[0]), ErrorKind::Axis, &axis("movedim"));
    both(x.try_chunk(0, 0), d.try_chunk(0, 0), ErrorKind::Value, "chunk: 0 parts hold nothing: use 1 or more");
    both(
        x.try_repeat(&[2]),
        d.try_repeat(&[2]),
        ErrorKind::Shape,
        "repeat: 1 repeats for the 2 axes of shape [2, 3]: give one for each",
    );
    both(
        x.try_tile(&[usize::MAX, 2]),
        d.try_tile(&[usize::MAX, 2]),
        ErrorKind::Memory,
        "tile: shape [18446744073709551615, 6] of f32 has more elements than memory can address",
    );
    both(
        x.try_roll(&[1, 2], &[0]),
        d.try_roll(&[1, 2], &[0]),
        ErrorKind::Value,
        "roll: 2 shifts for 1 axes: give one for each",
    );
    both(
        x.try_diagonal(0, 1, -1),
        d.try_diagonal(0, 1, -1),
        ErrorKind::Axis,
        "diagonal: axis 1 is given twice: a diagonal runs over two axes",
    );
    check(
        whole(&[2, 2, 2]).try_diag(0),
        ErrorKind::Shape,
        "diag: shape [2, 2, 2] is neither a vector nor a matrix: use diagonal or diag_embed",
    );
    check(whole(&[2]).try_trace(), ErrorKind::Shape, "trace: shape [2] has no rows and columns: two axes are needed");
    check(d.try_outer(&d), ErrorKind::Shape, "outer: shapes [2, 3] and [2, 3] are not two vectors: flatten them");
    both(
        x.try_tensordot(&x, &[0], &[1]),
        d.try_tensordot(&d, &[0], &[1]),
        ErrorKind::Shape,
        "tensordot: shapes [2, 3] and [2, 3] do not multiply: axis 0 on the left is 2, axis 1 on the right is 3",
    );
    check(
        d.try_addmm(&d, &whole(&[3, 2]), 1.0, 1.0),
        ErrorKind::DType,
        "matmul: dtypes f32 and i64 do not mix: cast one",
    );
}

#[test]
fn equations() {
    let (x, d) = matrix();
    let four = Tensor::<f32, _>::zeros([4]);
    let dynamic = four.to_dynamic();
    let cases = [
        ("ij", "einsum: \"ij\": the equation names 1 tensors, 2 were given"),
        ("ij,j->i", "einsum: \"ij,j->i\": axis 'j' is 3 in one tensor and 4 in another"),
        ("ijk,j->i", "einsum: \"ijk,j->i\": \"ijk\" names 3 axes of a tensor of rank 2"),
        ("ij,k->il", "einsum: \"ij,k->il\": axis 'l' of the result is in no tensor"),
        ("ij,k->ii", "einsum: \"ij,k->ii\": axis 'i' stands twice in the result"),
        ("i!,k->i", "einsum: \"i!,k->i\": '!' names no axis: use letters, one \"...\" a tensor, ',' and \"->\""),
        ("ii,k->i", "einsum: \"ii,k->i\": axis 'i' is 2 and 3 in one tensor"),
    ];
    for (equation, text) in cases {
        both(
            try_einsum(equation, (&x, &four)),
            DynTensor::try_einsum(equation, &[&d, &dynamic]),
            ErrorKind::Value,
            text,
        );
    }
}

#[test]
fn layers() {
    let (x, d) = images();
    let kernel = "kernel [0, 2], stride [0, 2] and dilation [1, 1] must all be at least 1";
    check(x.try_max_pool2d(Pool::new([0, 2])), ErrorKind::Value, &format!("max_pool2d: {kernel}"));
    check(d.try_max_pool(Pool::new([0, 2])), ErrorKind::Value, &format!("max_pool: {kernel}"));
    check(
        x.try_avg_pool2d(Pool { padding: [2, 0], ..Pool::new([2, 2]) }),
        ErrorKind::Value,
        "avg_pool2d: padding [2, 0] is more than half of the kernel [2, 2]",
    );
    check(
        x.try_max_pool2d(Pool::new([9, 2])),
        ErrorKind::Shape,
        "max_pool2d: a kernel of [9, 2] does not fit into [4, 5] with padding [0, 0]",
    );
    check(
        x.try_avg_pool1d(Pool { dilation: [2], ..Pool::new([2]) }),
        ErrorKind::Value,
        "avg_pool1d: dilation [2] is for max pooling: a mean is over whole windows",
    );
    check(
        x.try_adaptive_avg_pool2d([0, 1]),
        ErrorKind::Value,
        "adaptive_avg_pool2d: size [0, 1] asks for no windows: use 1 or more",
    );
    check(
        d.try_adaptive_avg_pool(&[0, 1]),
        ErrorKind::Value,
        "adaptive_avg_pool: size [0, 1] asks for no windows: use 1 or more",
    );
    both(
        x.try_group_norm(3, None, None, 1e-5),
        d.try_group_norm(3, None, None, 1e-5),
        ErrorKind::Value,
        "group_norm: 3 groups do not divide 4 channels of shape [2, 4, 5]",
    );
    let two = Tensor::<f32, _>::ones([2]);
    both(
        x.try_batch_norm_train(Some(&two), None, 1e-5),
        d.try_batch_norm_train(Some(&two.to_dynamic()), None, 1e-5),
        ErrorKind::Shape,
        "batch_norm_train: weight has shape [2], not one number for each of 4 channels",
    );
    let weight = Tensor::<f32, _>::zeros([3, 2, 2]);
    let channels = "input [2, 4, 5] has 4 channels, weight [3, 2, 2] takes 3";
    let typed = x.try_conv_transpose1d(&weight, None, Window::default(), [0]);
    check(typed, ErrorKind::Shape, &format!("conv_transpose1d: {channels}"));
    let dynamic = d.try_conv_transpose::<1>(&weight.to_dynamic(), None, Window::default(), [0]);
    check(dynamic, ErrorKind::Shape, &format!("conv_transpose: {channels}"));
    let weight = Tensor::<f32, _>::zeros([4, 2, 2]);
    check(
        x.try_conv_transpose1d(&weight, None, Window::default(), [1]),
        ErrorKind::Value,
        "conv_transpose1d: output_padding [1] must be less than stride [1] or dilation [1]",
    );
    check(
        x.try_interpolate2d([0, 2], Interpolation::Linear, false),
        ErrorKind::Shape,
        "interpolate2d: sizes [4, 5] and [0, 2] must all be at least 1",
    );
    check(
        d.try_interpolate(&[0, 2], Interpolation::Linear, false),
        ErrorKind::Shape,
        "interpolate: sizes [4, 5] and [0, 2] must all be at least 1",
    );
    both(
        x.try_pixel_shuffle(3),
        d.try_pixel_shuffle(3),
        ErrorKind::Shape,
        "pixel_shuffle: shape [2, 4, 5] does not end in [channels · 3², rows, columns]",
    );
    let keys = Tensor::<f32, _>::zeros([2, 4, 6]);
    let options = AttentionOptions::default();
    both(
        x.try_scaled_dot_product_attention(&keys, &keys, options),
        d.try_scaled_dot_product_attention(&keys.to_dynamic(), &keys.to_dynamic(), None, options),
        ErrorKind::Shape,
        "scaled_dot_product_attention: queries [2, 4, 5], keys [2, 4, 6] and values [2, 4, 6]: queries and keys must have one width",
    );
    let mask = Tensor::<i64, _>::zeros([4, 4]);
    both(
        x.try_scaled_dot_product_attention_masked(&x, &x, &mask, options),
        d.try_scaled_dot_product_attention(&d, &d, Some(&mask.to_dynamic()), options),
        ErrorKind::DType,
        "scaled_dot_product_attention: a mask is bool (true is seen) or float (added), this one is i64: cast it",
    );
    both(x.try_dropout(1.5), d.try_dropout(1.5), ErrorKind::Value, "dropout: 1.5 is not a probability: use 0 to 1");
    both(
        x.try_norm(f64::NAN, &[0], false),
        d.try_norm(f64::NAN, &[0], false),
        ErrorKind::Value,
        "norm: the order p is NaN: use a number",
    );
}

#[test]
fn optimisers() {
    use zither::optim::{Optimizer, Sgd};
    let (x, d) = matrix();
    let sgd = Sgd::default();
    let other = Tensor::<f32, _>::zeros([3, 2]);
    both(
        sgd.try_step(&x, &other, &sgd.start()),
        sgd.try_step_dyn(&d, &other.to_dynamic(), &sgd.start()),
        ErrorKind::Shape,
        "step: the parameter is f32 of shape [2, 3], the gradient f32 of shape [3, 2]",
    );
}
