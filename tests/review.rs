//! Arguments at the edge of what numbers can say, and users who do several things at once.

use zither::{
    CrossEntropyOptions, DType, Dim1, DimDyn, DynTensor, ErrorKind, Expr, GradFn, PadValue, Step, Tensor, Window, f16,
    grad,
};

fn square() -> zither::Matrix {
    Tensor::arange(0.0, 16.0).reshape([4, 4])
}

#[test]
fn a_step_longer_than_the_axis_takes_one_element() -> zither::Result<()> {
    let x = square().set_requires_grad(true);
    assert_eq!(x.i((..).by(isize::MAX)).data()?, [0.0, 1.0, 2.0, 3.0]);
    assert_eq!(x.i((..).by(isize::MIN)).data()?, [12.0, 13.0, 14.0, 15.0]);
    x.i(((..).by(isize::MIN), (..).by(2))).backward();
    assert_eq!(x.grad().unwrap().i(3).data()?, [1.0, 0.0, 1.0, 0.0]);
    assert_eq!(x.grad().unwrap().i(..3).sum_all().item()?, 0.0);
    Ok(())
}

#[test]
fn a_window_that_steps_beyond_the_axis_is_alone() -> zither::Result<()> {
    let x = Tensor::new([1.0f32, 2.0, 3.0]).set_requires_grad(true);
    assert_eq!(x.unfold(0, 2, usize::MAX, 1).to_vec2()?, [[1.0, 2.0]]);
    assert_eq!(x.unfold(0, 1, 2, usize::MAX).to_vec2()?, [[1.0], [3.0]]);
    assert_eq!(x.unfold(0, 2, 1, usize::MAX).shape(), [0, 2]);
    assert_eq!(x.unfold(0, usize::MAX, 1, 2).shape(), [0, usize::MAX]);
    x.unfold(0, 2, usize::MAX, 1).backward();
    assert_eq!(x.grad().unwrap().data()?, [1.0, 1.0, 0.0]);
    let far = Window { stride: [usize::MAX], dilation: [usize::MAX], ..Window::default() };
    assert_eq!(Tensor::new([[7.0f32]]).fold1d([1], [1], far).data()?, [7.0]);
    let (image, kernel) = (Tensor::<f32, _>::ones([1, 1, 4]), Tensor::<f32, _>::ones([1, 1, 2]));
    assert_eq!(image.conv1d(&kernel, None, Window { stride: [usize::MAX], ..Window::default() }).data()?, [2.0]);
    assert!(image.try_conv1d(&kernel, None, Window { dilation: [usize::MAX], ..Window::default() }).is_err());
    Ok(())
}

#[test]
fn windows_that_do_not_move_are_refused_in_the_words_of_the_op() {
    let x = Tensor::<f32, _>::ones([1, 1, 4]);
    let error = x.try_conv1d(&x, None, Window { stride: [0], ..Window::default() }).unwrap_err();
    assert!(error.to_string().starts_with("conv1d: kernel [4], stride [0] and dilation [1] must all be at least 1"));
    let windows = Tensor::<f32, _>::ones([3, 2]);
    let error = windows.try_fold1d([4], [2], Window { stride: [0], ..Window::default() }).unwrap_err();
    assert!(error.to_string().starts_with("fold1d: kernel [2], stride [0]"), "{error}");
}

#[test]
fn a_diagonal_far_outside_the_matrix_keeps_all_or_nothing() -> zither::Result<()> {
    let x = square() + 1.0;
    let (all, nothing) = (x.data()?, vec![0.0; 16]);
    for far in [4, 5, isize::MAX - 1, isize::MAX] {
        assert_eq!((x.tril(far).data()?, x.triu(far).data()?), (all.clone(), nothing.clone()), "{far}");
    }
    for far in [-4, -5, isize::MIN + 1, isize::MIN] {
        assert_eq!((x.tril(far).data()?, x.triu(far).data()?), (nothing.clone(), all.clone()), "{far}");
    }
    Ok(())
}

#[test]
fn an_axis_of_zero_makes_a_tensor_empty_however_long_the_others() -> zither::Result<()> {
    const MANY: usize = 1 << 40;
    let x = Tensor::<f32, _>::ones([MANY, MANY, 0]);
    assert_eq!((x.len(), x.is_empty(), x.data()?), (0, true, vec![]));
    assert_eq!(((&x * 2.0).exp().data()?, x.t().sum_all().item()?), (vec![], 0.0));
    assert_eq!(x.to_string(), "tensor([], shape=[1099511627776, 1099511627776, 0], dtype=f32)");
    assert_eq!((x.flatten().shape(), x.mean_all().item()?.is_nan()), (&[0][..], true));
    assert!(x.map(|v| v + 1.0)?.is_empty());
    assert_eq!(x.to_vec3().unwrap_err().kind(), ErrorKind::Memory);
    Ok(())
}

#[test]
fn what_is_left_of_an_axis_of_zero_must_fit_into_memory() {
    const MANY: usize = 1 << 40;
    let x = Tensor::<f32, _>::ones([0, MANY, MANY]);
    let kinds = [
        x.try_sum_axis(0).unwrap_err(),
        x.try_any_axis(0).unwrap_err(),
        x.fold(0, 0.0f32, |a, b| a + b).unwrap_err(),
        x.try_pad(&[(0, 0), (0, 0), (usize::MAX, usize::MAX)], PadValue::One).unwrap_err(),
        x.to_dynamic().try_flatten(1, 2).unwrap_err(),
        Tensor::<f32, _>::ones([MANY, 0]).try_matmul(&Tensor::ones([0, MANY])).unwrap_err(),
    ]
    .map(|error| error.kind());
    assert_eq!(kinds, [ErrorKind::Memory; 6]);
}

#[test]
fn borders_too_wide_for_memory_are_an_error() {
    let x = Tensor::new([1u8, 2, 3]);
    for wide in [1 << 50, usize::MAX / 2 - 1, usize::MAX] {
        let error = x.try_pad(&[(wide, wide)], PadValue::Replicate).unwrap_err();
        assert_eq!((error.kind(), error.op()), (ErrorKind::Memory, "pad"));
    }
}

#[test]
fn a_condition_that_shares_its_parts_a_million_times_over_is_refused_at_once() {
    let mut condition = Expr::idx(0);
    for k in 0..60 {
        condition = (condition.clone() * condition).rem(1000 + k);
    }
    let error = square().try_mask(condition, PadValue::Zero).unwrap_err();
    assert!(error.to_string().starts_with("mask: the condition has more than 64 parts"), "{error}");
}

#[test]
fn sums_inside_an_op_may_be_larger_than_the_largest_f16() -> zither::Result<()> {
    let close = |x: f16, to: f32| assert!((x.to_f32() - to).abs() <= to.abs() * 1e-3, "{x} is not {to}");
    let h = f16::from_f32;
    let many = Tensor::<f16, _>::ones([100_000]).set_requires_grad(true);
    close(many.mean_all().item()?, 1.0);
    close(many.logsumexp_all().item()?, 1.0 + 100_000f32.ln());
    close(many.log_softmax(0).i(0).item()?, -100_000f32.ln());
    assert_eq!(many.softmax(0).i(7).item()?, h(1e-5));
    many.mean_all().backward();
    assert_eq!(many.grad().unwrap().i(0).item()?, h(1e-5));
    let wide = Tensor::<f16, _>::new([[h(-300.0), h(300.0)]]);
    close(wide.std_with(&[1], 0.0, false).item()?, 300.0);
    close(wide.layer_norm::<Dim1>(&[2], None, None, 1e-5).i((0, 1)).item()?, 1.0);
    close(wide.rms_norm::<Dim1>(&[2], None, 1e-5).i((0, 1)).item()?, 1.0);
    let loss = Tensor::<f16, _>::ones([70_000, 2]).cross_entropy(&Tensor::<i64, _>::zeros([70_000]));
    close(loss.item()?, 2f32.ln());
    Ok(())
}

#[test]
fn label_smoothing_is_a_share() {
    let logits = Tensor::<f32, _>::ones([2, 3]);
    for wrong in [-0.1, 1.5, f64::NAN] {
        let options = CrossEntropyOptions { label_smoothing: wrong, ..CrossEntropyOptions::default() };
        let error = logits.try_cross_entropy_with(&Tensor::new([0i64, 1]), options).unwrap_err();
        assert_eq!((error.kind(), error.op()), (ErrorKind::Value, "cross_entropy"));
    }
}

/// A function that lets the gradient through.
struct Through(Tensor<f32, DimDyn>);

impl GradFn<f32> for Through {
    fn name(&self) -> &'static str {
        "through"
    }
    fn inputs(&self) -> Vec<Tensor<f32, DimDyn>> {
        vec![self.0.reshape_dyn(&[-1, 1])] // another node each time it is asked
    }
    fn backward(&self, grad: &Tensor<f32, DimDyn>) -> Vec<Tensor<f32, DimDyn>> {
        vec![grad.reshape_dyn(&[-1, 1])]
    }
}

#[test]
fn the_inputs_of_a_derivative_may_be_made_when_they_are_asked_for() -> zither::Result<()> {
    let x = Tensor::new([1.0f32, 2.0]).set_requires_grad(true);
    Tensor::<f32, Dim1>::ones([2]).with_grad_fn(Through(x.clone().into_dyn())).backward();
    assert_eq!(x.grad().unwrap().data()?, [1.0, 1.0]);
    Ok(())
}

#[test]
fn a_long_chain_of_derivatives_is_dropped_without_recursion() {
    let chain = || {
        let x = Tensor::new([1.0f32]).set_requires_grad(true).into_dyn();
        let mut y = x.clone();
        for _ in 0..50_000 {
            y = Tensor::<f32, _>::ones(&[1]).with_grad_fn(Through(y));
        }
        y.backward();
        assert_eq!(x.grad().unwrap().data().unwrap(), [1.0]);
    };
    std::thread::Builder::new().stack_size(2 << 20).spawn(chain).unwrap().join().unwrap();
}

#[test]
fn a_tensor_made_after_backward_has_no_gradient_in_it() {
    let x = Tensor::new([1.0f32, 2.0]).set_requires_grad(true);
    let gradients = (0..64).fold(x.clone(), |y, _| y * 1.5).backward();
    // The nodes in between are gone, and new ones may lie where they lay.
    let later: Vec<_> = (0..1000).map(|_| &x + 1.0).collect();
    assert!(later.iter().all(|tensor| gradients.get(tensor).is_none()));
    assert!(gradients.get(&x).is_some());
}

#[test]
fn backward_on_many_threads_loses_no_gradient() -> zither::Result<()> {
    let x = Tensor::new([1.0f32, 2.0]).set_requires_grad(true);
    let y = &x * 3.0;
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| (0..100).for_each(|_| drop(y.backward())));
        }
    });
    assert_eq!(x.grad().unwrap().data()?, [2400.0; 2]);
    Ok(())
}

#[test]
fn a_gradient_asked_for_while_another_thread_reads_is_whole_or_an_error() {
    for wait in 0..200 {
        let x = Tensor::new([1.0f64, 2.0]);
        let y = (0..1000).fold(x.clone(), |y, _| y + &x);
        std::thread::scope(|scope| {
            scope.spawn(|| y.data().unwrap());
            scope.spawn(|| y.graph());
            std::thread::sleep(std::time::Duration::from_micros(10 * wait));
            match grad(&y, &[&x]) {
                Ok(slopes) => assert_eq!(slopes[0].data().unwrap(), [1001.0; 2]),
                Err(error) => assert!(error.to_string().contains("its history was let go"), "{error}"),
            }
        });
    }
}

#[test]
fn a_try_twin_never_panics_whatever_the_dtype() {
    let image = |dtype| DynTensor::ones(&[1, 1, 4], dtype);
    let (floats, whole, bools) = (image(DType::F32), image(DType::I32), image(DType::Bool));
    let window = Window::<1>::default();
    let errors = [
        ("conv", floats.try_conv(&whole, None, window)),
        ("conv", bools.try_conv(&bools, None, window)),
        ("conv", floats.try_conv(&floats, Some(&DynTensor::ones(&[1], DType::F64)), window)),
        ("gelu", bools.try_gelu()),
        ("gelu_tanh", bools.try_gelu_tanh()),
        ("softplus", bools.try_softplus()),
        ("silu", whole.try_silu()),
        ("rsqrt", whole.try_rsqrt()),
        ("mul", bools.try_powf(3.0)),
        ("matmul", bools.try_matmul(&bools)),
        ("cross_entropy", whole.try_cross_entropy(&DynTensor::zeros(&[1, 4], DType::I64), Default::default())),
        ("neg", image(DType::U8).try_neg()),
        ("bitnot", floats.try_not()),
        ("add", image(DType::U8).try_add(300)),
        ("div", whole.try_div(0.5)),
        ("gt", whole.try_gt(0.5)),
        (
            "linear",
            floats.try_linear(&DynTensor::ones(&[3, 4], DType::F32), Some(&DynTensor::ones(&[5, 1, 3], DType::F32))),
        ),
    ];
    for (op, result) in errors {
        assert_eq!(result.unwrap_err().op(), op);
    }
    assert_eq!(floats.gt(0.5).all_all().data::<bool>().unwrap(), [true]);
    assert_eq!(whole.maximum(3).sum_all().data::<i32>().unwrap(), [12]);
}

#[test]
fn an_error_names_the_op_that_was_called() {
    const MANY: usize = 1 << 40;
    let x = square();
    let errors = [
        ("to_dim", x.try_to_dim::<Dim1>().map(|_| ())),
        ("stack", Tensor::try_stack(&[&x, &x], 9).map(|_| ())),
        ("split_every", x.try_split_every(0, 0).map(|_| ())),
        ("linspace", Tensor::<f32, _>::try_linspace(0.0, 1.0, usize::MAX).map(|_| ())),
        ("randn", Tensor::<f32, _>::try_randn([MANY, MANY]).map(|_| ())),
        ("randint", Tensor::<u8, _>::try_randint([MANY, MANY], 0, 3).map(|_| ())),
        ("bernoulli", Tensor::try_bernoulli([MANY, MANY], 0.5).map(|_| ())),
        ("zeros", Tensor::<f32>::try_zeros_dyn(&[MANY, MANY]).map(|_| ())),
    ];
    for (op, result) in errors {
        assert_eq!(result.unwrap_err().op(), op);
    }
}

#[test]
fn reading_a_view_computes_what_it_looks_at_once() -> zither::Result<()> {
    let x = square() * 2.0;
    let y = x.t();
    assert_eq!(y.data()?[1], 8.0);
    assert!(x.is_realized() && y.is_realized());
    let constant = Tensor::<f32, _>::zeros([1, 1 << 20]);
    assert_eq!(constant.i((.., 5..7)).data()?, [0.0; 2]);
    assert!(!constant.is_realized(), "a constant needs no memory");
    Ok(())
}

#[test]
fn mul_add_broadcasts() -> zither::Result<()> {
    let (a, b) = (Tensor::new([1.0f32, 2.0]).into_dyn(), Tensor::new([[3.0f32, 4.0]]).into_dyn());
    assert_eq!(a.mul_add(&b, &a).shape(), [1, 2]);
    assert_eq!(a.mul_add(&b, &a).data()?, [4.0, 10.0]);
    Ok(())
}

#[test]
fn a_label_below_zero_is_no_class() -> zither::Result<()> {
    let logits = square().set_requires_grad(true);
    let text = "cross_entropy: index -1 is out of range for an axis of 4: use 0 to 3";
    let loss = logits.cross_entropy(&Tensor::new([0i64, 1, -1, 2]));
    assert!(loss.item().unwrap_err().to_string().starts_with(text));
    loss.backward();
    assert!(logits.grad().unwrap().data().unwrap_err().to_string().starts_with(text), "nor in the gradient");
    assert!(logits.cross_entropy(&Tensor::new([0, 1, u64::MAX, 2])).item().is_err());
    let options = CrossEntropyOptions { ignore_index: -1, ..CrossEntropyOptions::default() };
    assert!(logits.cross_entropy_with(&Tensor::new([0i64, 1, -1, 2]), options).item()?.is_finite());
    Ok(())
}

#[test]
fn an_unsigned_index_does_not_count_from_the_end() {
    let x = Tensor::new([1.0f32, 2.0]);
    let error = x.index_select(0, &Tensor::new([u64::MAX])).data().unwrap_err();
    assert_eq!((error.kind(), error.op()), (ErrorKind::Index, "index_select"));
}

#[test]
fn products_of_sixteen_bits_are_added_up_in_thirty_two() -> zither::Result<()> {
    // 2,048 times 1.001² is 2052.1; rounded products of 1.002 would add up to 2051.97, sixteen-bit sums to far less.
    let one = f16::from_f32(1.001);
    let exact = f16::from_f32(one.to_f32() * one.to_f32() * 2048.0);
    let a = Tensor::<f16, _>::full([1, 2048], one);
    assert_eq!(a.matmul(&a.t()).item()?, exact);
    let kernel = Tensor::<f16, _>::full([1, 1, 2048], one);
    let image = Tensor::<f16, _>::full([1, 1, 2048], one);
    assert_eq!(image.conv1d(&kernel, None, Window::default()).item()?, exact);
    // The gradient of a shared operand is a long sum of products too.
    let w = Tensor::<f16, _>::full([1, 1], one).set_requires_grad(true);
    let x = Tensor::<f16, _>::full([2048, 1], one);
    x.matmul(&w).backward_with(&Tensor::full([2048, 1], one));
    assert_eq!(w.grad().expect("w is reached").item()?, exact);
    Ok(())
}
