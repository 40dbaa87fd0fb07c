//! What went wrong for users of other libraries, and does not here. Rows of the list of peers' bugs, by name.

use zither::runtime::set_threads;
use zither::{Dim1, DimDyn, DynTensor, ErrorKind, Result, Step, Tensor, f16, grad, manual_seed};

type Array = Tensor<f64, DimDyn>;

fn array(values: &[f64], shape: &[usize]) -> Array {
    Tensor::from_data(values.to_vec(), shape)
}

/// Distinct numbers, none of them whole.
fn numbers(count: usize) -> Vec<f64> {
    (0..count).map(|k| ((k * 37) % 101) as f64 / 17.0 - 2.05).collect()
}

#[test]
fn peer_candle_3744_matmul_with_expanded_permuted_and_sliced_batches() -> Result<()> {
    let b = array(&numbers(4 * 3 * 5), &[4, 3, 5]);
    let lefts = [
        array(&numbers(6), &[1, 2, 3]).expand(&[4, 2, 3]),
        array(&numbers(24), &[2, 4, 3]).permute(&[1, 0, 2]),
        array(&numbers(48), &[8, 2, 3]).i((..).by(2)),
        array(&numbers(24), &[4, 2, 3]).flip(&[0, 2]),
        array(&numbers(6), &[2, 3]).expand(&[4, 2, 3]),
    ];
    for left in &lefts {
        let a = left.data()?;
        let (right, product) = (b.data()?, left.matmul(&b));
        assert_eq!(product.shape(), [4, 2, 5]);
        for (place, got) in product.data()?.iter().enumerate() {
            let (batch, row, col) = (place / 10, place / 5 % 2, place % 5);
            let wanted: f64 = (0..3).map(|k| a[batch * 6 + row * 3 + k] * right[batch * 15 + k * 5 + col]).sum();
            assert!((got - wanted).abs() < 1e-13, "{got} is not {wanted}");
        }
        assert_eq!(left.contiguous().realize()?.matmul(&b).data()?, product.data()?);
    }
    Ok(())
}

type Unary = (&'static str, fn(&Array) -> Array);

/// Every op with a derivative that takes one tensor of shape [3, 4], smooth at positive numbers.
const OPS: &[Unary] = &[
    ("exp", |x| x.exp()),
    ("exp2", |x| x.exp2()),
    ("expm1", |x| x.expm1()),
    ("ln", |x| x.ln()),
    ("log2", |x| x.log2()),
    ("log1p", |x| x.log1p()),
    ("sqrt", |x| x.sqrt()),
    ("rsqrt", |x| x.rsqrt()),
    ("recip", |x| x.recip()),
    ("sin", |x| x.sin()),
    ("cos", |x| x.cos()),
    ("tan", |x| (x * 0.1).tan()),
    ("tanh", |x| x.tanh()),
    ("sigmoid", |x| x.sigmoid()),
    ("erf", |x| x.erf()),
    ("silu", |x| x.silu()),
    ("gelu", |x| x.gelu()),
    ("gelu_tanh", |x| x.gelu_tanh()),
    ("softplus", |x| x.softplus()),
    ("abs", |x| x.abs()),
    ("square", |x| x.square()),
    ("relu", |x| x.relu()),
    ("neg", |x| -x),
    ("floor", |x| x.floor()),
    ("sign", |x| x.sign()),
    ("powf", |x| x.powf(2.5)),
    ("pow", |x| x.pow(&(x * 0.5))),
    ("clamp", |x| x.clamp(1.05, 4.0)),
    ("affine", |x| x.affine(3.0, -1.0)),
    ("add", |x| x + &x.flip(&[0])),
    ("sub", |x| x - &x.flip(&[0])),
    ("mul", |x| x * &x.flip(&[1])),
    ("div", |x| x / &x.flip(&[1])),
    ("maximum", |x| x.maximum(&x.flip(&[1]))),
    ("minimum", |x| x.minimum(&x.flip(&[0, 1]))),
    ("mul_add", |x| x.mul_add(x, &x.flip(&[0]))),
    ("where", |x| x.gt(2.0).where_(&(x * 3.0), &x.square())),
    ("sum", |x| x.sum(&[0], false)),
    ("prod", |x| x.prod(&[1], false)),
    ("max", |x| x.max(&[0], true)),
    ("min", |x| x.min(&[0, 1], false)),
    ("mean", |x| x.mean(&[1], true)),
    ("var", |x| x.var(&[1], false)),
    ("std", |x| x.std(&[0], false)),
    ("logsumexp", |x| x.logsumexp(&[1], false)),
    ("softmax", |x| x.softmax(1)),
    ("log_softmax", |x| x.log_softmax(0)),
    ("layer_norm", |x| x.layer_norm::<Dim1>(&[4], None, None, 1e-5)),
    ("rms_norm", |x| x.rms_norm::<Dim1>(&[4], None, 1e-5)),
    ("cross_entropy", |x| x.cross_entropy(&Tensor::new([1i64, 3, 0]).into_dyn()).into_dyn()),
    ("matmul", |x| x.matmul(&x.transpose(0, 1))),
    ("permute", |x| x.permute(&[1, 0])),
    ("reshape", |x| x.reshape_dyn(&[2, -1])),
    ("expand", |x| x.unsqueeze(1).expand(&[3, 2, 4])),
    ("flip", |x| x.flip(&[1])),
    ("slice", |x| x.slice(&[(1, 3), (0, 3)])),
    ("i", |x| x.i((1.., (..).by(-2)))),
    ("narrow", |x| x.narrow(1, 1, 2)),
    ("pad", |x| x.pad(&[(1, 2), (0, 1)], zither::PadValue::Zero)),
    ("pad reflect", |x| x.pad(&[(1, 1), (2, 0)], zither::PadValue::Reflect)),
    ("tril", |x| x.tril(0)),
    ("unfold", |x| x.unfold(1, 2, 1, 2)),
    ("fold", |x| x.unfold1d([2], zither::Window::default()).fold1d([4], [2], zither::Window::default())),
    ("concat", |x| Tensor::concat(&[x, &x.flip(&[0])], 1)),
    ("stack", |x| Tensor::stack(&[x, x], 0)),
    ("index_select", |x| x.index_select(0, &Tensor::new([2i64, 0, 2]))),
    ("slice_assign", |x| x.slice_assign((0, ..2), &x.i((1, 2..)))),
    ("cast", |x| x.cast::<f64>().contiguous()),
];

/// Numbers above 1, no two alike and none near a whole number, so that every op is smooth there.
fn smooth(count: usize) -> Vec<f64> {
    (0..count).map(|k| 1.13 + ((k * 5) % 12) as f64 * 0.313).collect()
}

#[test]
fn peer_candle_3253_1948_every_op_on_every_layout_equals_the_dense_result() -> Result<()> {
    let many = array(&smooth(96), &[4, 4, 6]).realize()?;
    let layouts = [
        many.i((0, ..3, ..4)),
        many.i((.., 1, ..3)).transpose(0, 1),
        many.i((1, 1.., 1..5)).flip(&[1]),
        many.i((0, (..).by(1), (..).by(2))).transpose(0, 1),
        many.i((2, 0, ..4)).unsqueeze(0).expand(&[3, 4]),
        many.i((2, ..3, 0..1)).expand(&[3, 4]),
        many.i((3, ..2, ..4)).pad(&[(1, 0), (0, 0)], zither::PadValue::One),
        many.i((1, ..3, ..4)).mask(zither::Expr::idx(1).le(zither::Expr::idx(0)), zither::PadValue::One),
    ];
    for layout in &layouts {
        assert_eq!(layout.shape(), [3, 4]);
        let dense: Array = Tensor::from_data(layout.data()?, [3, 4].as_slice());
        for (name, op) in OPS {
            assert_eq!(op(layout).data()?, op(&dense).data()?, "{name} of {:?}", layout.view());
        }
    }
    Ok(())
}

/// `Σ (k + 1) · y_k`, so that no gradient is hidden by symmetry.
fn weighted_sum(y: &Array) -> Tensor<f64, zither::Dim0> {
    let weights = (0..y.len()).map(|k| 1.0 + (k % 7) as f64).collect();
    (y * &Tensor::from_data(weights, y.shape())).sum_all()
}

#[test]
fn peer_candle_2168_3011_3569_every_op_has_its_gradient() -> Result<()> {
    let values = smooth(12);
    for (name, op) in OPS {
        let x = array(&values, &[3, 4]).set_requires_grad(true);
        weighted_sum(&op(&x)).backward();
        let found = x.grad().unwrap_or_else(|| panic!("{name} lost its gradient")).data()?;
        for k in 0..12 {
            let at = |shift: f64| {
                let mut moved = values.clone();
                moved[k] += shift;
                weighted_sum(&op(&array(&moved, &[3, 4]))).item()
            };
            let slope = (at(1e-5)? - at(-1e-5)?) / 2e-5;
            let error = (slope - found[k]).abs() / slope.abs().max(1.0);
            assert!(error < 1e-6, "{name}, element {k}: gradient {}, central difference {slope}", found[k]);
        }
    }
    Ok(())
}

#[test]
fn peer_candle_2168_ops_without_a_gradient_say_so_by_name() {
    type ToFloat = fn(&Array) -> Array;
    let cuts: [(&str, ToFloat); 8] = [
        ("argmax", |x| x.argmax(0).cast()),
        ("argmin", |x| x.softmax(1).argmin(1).cast()),
        ("lt", |x| x.lt(2.0).cast()),
        ("eq", |x| x.eq(x).cast()),
        ("cast", |x| x.cast::<i64>().cast()),
        ("detach", |x| x.exp().detach() + 1.0),
        ("map", |x| x.map(|v| v + 1.0).expect("it runs")),
        ("fold", |x| x.fold(0, 0.0, |a, b| a + b).expect("it runs")),
    ];
    for (name, f) in cuts {
        let x = array(&smooth(12), &[3, 4]).set_requires_grad(true);
        let (y, line) = (f(&x), line!());
        let error = y.try_backward().err().unwrap_or_else(|| panic!("{name} has no derivative"));
        assert_eq!(error.kind(), ErrorKind::Gradient);
        assert!(error.to_string().contains(&format!("{name} at {}:", file!())), "{name} at line {line}: {error}");
        let plain = array(&smooth(12), &[3, 4]); // not said to require a gradient
        if !["map", "fold"].contains(&name) {
            let error = grad(&f(&plain), &[&plain]).err().unwrap_or_else(|| panic!("{name} has no derivative"));
            assert!(error.to_string().contains(&format!("{name} at {}:", file!())), "{name}: {error}");
        }
    }
}

#[test]
fn peer_candle_upsample_gradients_of_a_tensor_used_twice_add_up() -> Result<()> {
    for (name, op) in OPS {
        let once = array(&smooth(12), &[3, 4]).set_requires_grad(true);
        weighted_sum(&op(&once)).backward();
        let twice = array(&smooth(12), &[3, 4]).set_requires_grad(true);
        let (first, second) = (op(&twice), op(&twice));
        (weighted_sum(&first) * 2.0 + weighted_sum(&second)).backward();
        let once = once.grad().expect("asked for").data()?;
        let twice = twice.grad().expect("asked for").data()?;
        for (once, twice) in once.iter().zip(&twice) {
            assert!((3.0 * once - twice).abs() <= 1e-12 * once.abs().max(1.0), "{name}: 3 · {once} is not {twice}");
        }
    }
    Ok(())
}

#[test]
fn peer_candle_2115_an_integer_divided_by_a_float_is_an_error_that_says_to_cast() -> Result<()> {
    // The typed tensor: `Tensor::new([3u8]) / 4.0` does not compile (see the documentation of `Tensor`).
    let x = DynTensor::from_data(vec![3u8], &[1]);
    for scalar in [4.0, 0.5, -1.0, 300.0] {
        let panic = std::panic::catch_unwind(|| &x / scalar).expect_err("3u8 / 4.0 is neither 0 nor 0.75");
        let text = panic.downcast_ref::<String>().expect("a message");
        assert!(text.contains("u8") && text.contains("cast"), "{text}");
    }
    assert_eq!((&x.cast(zither::DType::F32) / 4.0).data::<f32>()?, [0.75]);
    for scalar in [0.5, 1.0] {
        assert!(std::panic::catch_unwind(|| &x + scalar).is_err(), "integer tensors take whole numbers only");
    }
    assert_eq!((&x + 4).data::<u8>()?, [7]);
    assert_eq!((&x / 2).data::<u8>()?, [1]);
    assert!(std::panic::catch_unwind(|| &x + 300).is_err(), "300 is not a u8");
    Ok(())
}

#[test]
fn peer_candle_2651_3297_random_numbers_are_seeded_and_do_not_depend_on_threads() -> Result<()> {
    let draw = |seed: u64, threads: usize| -> Result<(Vec<f32>, Vec<f64>, Vec<i32>)> {
        set_threads(threads);
        manual_seed(seed);
        let draws = (
            Tensor::<f32, _>::rand([100_003]).data()?,
            Tensor::<f64, _>::randn([300, 401]).data()?,
            Tensor::<i32, _>::randint([70_001], -5, 5).data()?,
        );
        set_threads(0);
        Ok(draws)
    };
    let first = draw(7, 1)?;
    assert_eq!(first, draw(7, 2)?);
    assert_eq!(first, draw(7, 3)?);
    assert_ne!(first.0, draw(8, 2)?.0);
    assert!(first.2.iter().all(|v| (-5..5).contains(v)));
    Ok(())
}

#[test]
fn peer_burn_5533_prod_with_zeros_and_a_70000_way_tie_in_f16() -> Result<()> {
    let x = Tensor::new([2.0f32, 0.0, 3.0, 4.0]).set_requires_grad(true);
    x.prod_all().backward();
    assert_eq!(x.grad().expect("asked for").data()?, [0.0, 24.0, 0.0, 0.0]);

    let ties = Tensor::<f16, Dim1>::full([70_000], f16::ONE).set_requires_grad(true);
    (ties.max_all() * f16::from_f32(35_000.0)).backward();
    let share = f16::from_f64(f64::from(f16::from_f32(35_000.0)) / 70_000.0); // about 0.5; as f16, 70000 would be infinite
    let grads = ties.grad().expect("asked for").data()?;
    assert!(grads.iter().all(|&grad| grad == share), "{} is not {share}", grads[0]);
    Ok(())
}

#[test]
fn peer_burn_1942_hessian_of_the_rosenbrock_function() -> Result<()> {
    let [x, y] = [1.5f64, 2.0].map(|v| Tensor::new(v).set_requires_grad(true));
    let f = (1.0 - &x).square() + (&y - x.square()).square() * 100.0;
    assert_eq!(f.item()?, 0.25 + 100.0 * 0.0625);
    let slope = grad(&f, &[&x, &y])?;
    assert_eq!([slope[0].item()?, slope[1].item()?], [-2.0 * -0.5 - 400.0 * 1.5 * -0.25, 200.0 * -0.25]);
    let (row_x, row_y) = (grad(&slope[0], &[&x, &y])?, grad(&slope[1], &[&x, &y])?);
    let hessian = [row_x[0].item()?, row_x[1].item()?, row_y[0].item()?, row_y[1].item()?];
    // 2 - 400(y - 3x²), -400x, -400x, 200.
    assert_eq!(hessian, [2.0 - 400.0 * (2.0 - 6.75), -600.0, -600.0, 200.0]);
    Ok(())
}
