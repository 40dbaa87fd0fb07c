//! S3.43–76: every primitive, against numbers worked out by hand or by plain Rust.

use zither::{Dim0, Dim1, Dim2, DimDyn, ErrorKind, PadValue, Result, Tensor, Window, bf16, f16, manual_seed};

#[test]
fn s3_43_44_const_and_const_fill() -> Result<()> {
    let number: Tensor<f32, Dim0> = Tensor::new(2.5);
    assert_eq!((number.rank(), number.item()?), (0, 2.5));
    assert_eq!(Tensor::<f64, Dim0>::full([], -1.5).item()?, -1.5);
    assert_eq!(Tensor::<f32, Dim2>::full([2, 3], 0.1).data()?, [0.1f32; 6]);
    assert_eq!(Tensor::<u8, _>::full([3], 255).data()?, [255; 3]);
    assert_eq!(Tensor::<bool, _>::full([2], true).data()?, [true; 2]);
    assert_eq!(number.full_like(4.0).item()?, 4.0);
    Ok(())
}

#[test]
fn s3_45_rand_is_uniform_in_0_to_1() -> Result<()> {
    manual_seed(45);
    let check = |values: Vec<f64>| {
        assert!(values.iter().all(|v| (0.0..1.0).contains(v)));
        let n = values.len() as f64;
        let mean = values.iter().sum::<f64>() / n;
        let spread = values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / n;
        assert!((mean - 0.5).abs() < 0.005 && (spread - 1.0 / 12.0).abs() < 0.002, "mean {mean}, variance {spread}");
        let mut tenths = [0; 10];
        values.iter().for_each(|v| tenths[(v * 10.0) as usize] += 1);
        assert!(tenths.iter().all(|&count| (9_500..10_500).contains(&count)), "{tenths:?}");
    };
    check(Tensor::<f64, _>::rand([100, 1000]).data()?);
    check(Tensor::<f32, _>::rand([100_000]).data()?.into_iter().map(f64::from).collect());
    let halves = Tensor::<f16, _>::rand([100_000]).data()?;
    assert!(halves.iter().all(|v| (0.0..1.0).contains(&v.to_f32())));
    let again = Tensor::<f32, _>::rand([8]);
    assert_eq!(again.data()?, again.data()?, "a tensor never changes");
    assert_ne!(again.data()?, Tensor::<f32, _>::rand([8]).data()?);
    Ok(())
}

#[test]
fn s3_46_arange_on_every_numeric_dtype() -> Result<()> {
    assert_eq!(Tensor::<f32, _>::arange(0.0, 5.0).data()?, [0.0, 1.0, 2.0, 3.0, 4.0]);
    assert_eq!(Tensor::<f64, _>::arange_step(1.0, 2.0, 0.25).data()?, [1.0, 1.25, 1.5, 1.75]);
    assert_eq!(Tensor::<i32, _>::arange_step(5, -4, -3).data()?, [5, 2, -1]);
    assert_eq!(Tensor::<u8, _>::arange(250, 255).data()?, [250, 251, 252, 253, 254]);
    assert_eq!(Tensor::<i8, _>::arange(-128, -125).data()?, [-128, -127, -126]);
    assert_eq!(Tensor::<i16, _>::arange(-2, 2).data()?, [-2, -1, 0, 1]);
    assert_eq!(Tensor::<u16, _>::arange(65_533, 65_535).data()?, [65_533, 65_534]);
    assert_eq!(Tensor::<u32, _>::arange(4_294_967_293, 4_294_967_295).data()?, [4_294_967_293, 4_294_967_294]);
    assert_eq!(Tensor::<i64, _>::arange(i64::MIN, i64::MIN + 2).data()?, [i64::MIN, i64::MIN + 1]);
    assert_eq!(Tensor::<u64, _>::arange(u64::MAX - 2, u64::MAX).data()?, [u64::MAX - 2, u64::MAX - 1]);
    assert_eq!(Tensor::<f16, _>::arange(f16::ZERO, f16::from_f32(3.0)).data()?, [0.0, 1.0, 2.0].map(f16::from_f32));
    assert_eq!(Tensor::<bf16, _>::arange(bf16::ZERO, bf16::from_f32(2.0)).data()?, [0.0, 1.0].map(bf16::from_f32));
    assert!(Tensor::<i32, _>::arange(3, 3).is_empty());
    Ok(())
}

#[test]
fn s3_47_48_49_add_mul_max_of_floats_and_integers() -> Result<()> {
    let (a, b) = (Tensor::new([1.5f32, -2.0, 0.0]), Tensor::new([0.25f32, 8.0, -0.5]));
    assert_eq!((&a + &b).data()?, [1.75, 6.0, -0.5]);
    assert_eq!((&a * &b).data()?, [0.375, -16.0, 0.0]);
    assert_eq!(a.maximum(&b).data()?, [1.5, 8.0, 0.0]);
    let (a, b) = (Tensor::new([200u8, 3]), Tensor::new([100u8, 250]));
    assert_eq!((&a + &b).data()?, [44, 253]); // integers wrap
    assert_eq!((&a * &b).data()?, [(200u32 * 100 % 256) as u8, (3u32 * 250 % 256) as u8]);
    assert_eq!(a.maximum(&b).data()?, [200, 250]);
    let (a, b) = (Tensor::new([i64::MAX, -5]), Tensor::new([1i64, 7]));
    assert_eq!((&a + &b).data()?, [i64::MIN, 2]);
    assert_eq!((&a * &b).data()?, [i64::MAX, -35]);
    assert_eq!(a.maximum(&b).data()?, [i64::MAX, 7]);
    let nan = Tensor::new([f64::NAN, 1.0]).maximum(&Tensor::new([1.0, f64::NAN])).data()?;
    assert!(nan.iter().all(|v| v.is_nan()), "NaN wins from either side");
    Ok(())
}

#[test]
fn s3_50_51_idiv_and_rem_go_towards_zero() -> Result<()> {
    let (a, b) = (Tensor::new([7i32, -7, 7, -7]), Tensor::new([2i32, 2, -2, -2]));
    assert_eq!((&a / &b).data()?, [3, -3, -3, 3]);
    assert_eq!((&a % &b).data()?, [1, -1, 1, -1]);
    assert_eq!((Tensor::new([250u8, 255]) / 7).data()?, [35, 36]);
    assert_eq!((Tensor::new([u64::MAX]) % 10).data()?, [u64::MAX % 10]);
    assert_eq!((Tensor::new([i8::MIN]) / -1i8).data()?, [i8::MIN], "wraps as Rust's wrapping_div");
    let error = (Tensor::new([1i32]) / 0).data().unwrap_err();
    assert!(error.to_string().contains("zero"), "{error}");
    Ok(())
}

#[test]
fn s3_52_53_54_55_56_57_bits_and_shifts() -> Result<()> {
    let (x, y) = (0b1100_1010u8, 0b1010_0110u8);
    let (a, b) = (Tensor::new([x]), Tensor::new([y]));
    assert_eq!((&a & &b).data()?, [x & y]);
    assert_eq!((&a | &b).data()?, [x | y]);
    assert_eq!((&a ^ &b).data()?, [x ^ y]);
    assert_eq!((!&a).data()?, [0b0011_0101]);
    assert_eq!((&a << 3).data()?, [0b0101_0000]);
    assert_eq!((&a >> 3).data()?, [0b0001_1001]);
    let c = Tensor::new([-20i64, i64::MAX]);
    assert_eq!((!&c).data()?, [19, i64::MIN]);
    assert_eq!((&c >> 2).data()?, [-5, i64::MAX >> 2], "shifts of signed integers keep the sign");
    assert_eq!((&c << 1).data()?, [-40, -2]);
    assert_eq!((&c & 0xFF).data()?, [0xEC, 0xFF]);
    let t = Tensor::new([true, true, false, false]);
    let u = Tensor::new([true, false, true, false]);
    assert_eq!((&t & &u).data()?, [true, false, false, false]);
    assert_eq!((&t ^ &u).data()?, [false, true, true, false]);
    assert_eq!((!t | u).data()?, [true, false, true, true]);
    Ok(())
}

#[test]
fn s3_58_59_60_61_62_63_64_unary_primitives() -> Result<()> {
    assert_eq!((-Tensor::new([1.5f32, -0.0, 3.0])).data()?, [-1.5, 0.0, -3.0]);
    assert_eq!((-Tensor::new([5i8, i8::MIN])).data()?, [-5, i8::MIN]);
    assert_eq!(Tensor::new([4.0f32, -0.5, 3.0]).recip().data()?, [0.25, -2.0, 1.0 / 3.0]);
    assert_eq!(Tensor::new([9.0f64, 2.0, 0.0]).sqrt().data()?, [3.0, 2f64.sqrt(), 0.0]);
    assert_eq!(Tensor::new([8.0f32, 0.25, 1.0]).log2().data()?, [3.0, -2.0, 0.0]);
    assert_eq!(Tensor::new([3.0f32, -2.0, 0.5]).exp2().data()?, [8.0, 0.25, 2f32.sqrt()]);
    assert_eq!(Tensor::new([1.5f32, -1.5, -0.0]).floor().data()?, [1.0, -2.0, -0.0]);
    let sines = Tensor::new([0.0f64, std::f64::consts::FRAC_PI_6, 2.0]).sin().data()?;
    for (got, wanted) in sines.iter().zip([0.0, 0.5, 0.909_297_426_825_681_7]) {
        assert!((got - wanted).abs() < 2e-16, "{got} is not {wanted}");
    }
    assert!(Tensor::new([-1.0f32]).sqrt().item()?.is_nan() && Tensor::new([-1.0f32]).log2().item()?.is_nan());
    assert_eq!(Tensor::new([0.0f32]).log2().item()?, f32::NEG_INFINITY);
    Ok(())
}

#[test]
fn s3_65_66_67_sum_prod_max() -> Result<()> {
    let x = Tensor::new([[1.0f32, 2.0, 3.0], [4.0, 5.0, -6.0]]);
    assert_eq!((x.sum_axis(0).data()?, x.sum_axis(1).data()?), (vec![5.0, 7.0, -3.0], vec![6.0, 3.0]));
    assert_eq!((x.prod_axis(0).data()?, x.prod_axis(1).data()?), (vec![4.0, 10.0, -18.0], vec![6.0, -120.0]));
    assert_eq!((x.max_axis(0).data()?, x.max_axis(1).data()?), (vec![4.0, 5.0, 3.0], vec![3.0, 5.0]));
    assert_eq!((x.sum_all().item()?, x.prod_all().item()?, x.max_all().item()?), (9.0, -720.0, 5.0));
    let i = Tensor::new([100i8, 100, -1]);
    assert_eq!((i.sum_all().item()?, i.prod_all().item()?, i.max_all().item()?), (-57, -16, 100)); // 199 and -10000, wrapped
    let none = Tensor::<f32, _>::zeros([0]);
    assert_eq!((none.sum_all().item()?, none.prod_all().item()?), (0.0, 1.0));
    assert_eq!(none.try_max_all().unwrap_err().kind(), ErrorKind::Shape, "nothing to choose from");
    Ok(())
}

#[test]
fn s3_68_69_75_view_contiguous_and_clone() -> Result<()> {
    let x = Tensor::new([[1i32, 2, 3], [4, 5, 6]]);
    let view = x.transpose(0, 1);
    assert!(view.shares_storage(&x), "a view copies nothing");
    assert_eq!(view.to_vec2()?, [[1, 4], [2, 5], [3, 6]]);
    let dense = view.contiguous();
    assert!(!dense.shares_storage(&x));
    assert_eq!((dense.data()?, dense.layout().expect("linear").strides()), (vec![1, 4, 2, 5, 3, 6], &[2, 1][..]));
    assert!(x.contiguous().shares_storage(&x), "what is dense stays as it is");
    let clone = x.fork();
    assert_eq!(clone.data()?, x.data()?);
    Ok(())
}

#[test]
fn s3_70_71_72_pad_slice_concat() -> Result<()> {
    let x = Tensor::new([[1.0f32, 2.0], [3.0, 4.0]]);
    let padded = x.pad(&[(1, 0), (0, 2)], PadValue::One);
    assert_eq!(padded.to_vec2()?, [[1.0, 1.0, 1.0, 1.0], [1.0, 2.0, 1.0, 1.0], [3.0, 4.0, 1.0, 1.0]]);
    assert_eq!(x.pad(&[(0, 1), (0, 0)], PadValue::NegInf).max_axis(0).data()?, [3.0, 4.0]);
    assert_eq!(x.pad(&[(0, 1), (0, 0)], PadValue::NegInf).i((2, ..)).data()?, [f32::NEG_INFINITY; 2]);
    assert_eq!(padded.slice(&[(1, 3), (0, 2)]).to_vec2()?, x.to_vec2()?, "the way back");
    assert!(padded.shares_storage(&x), "padding is a view");
    let y = Tensor::new([[5.0f32, 6.0]]);
    assert_eq!(Tensor::concat(&[&x, &y, &x], 0).data()?, [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 1.0, 2.0, 3.0, 4.0]);
    let columns = Tensor::concat(&[&x, &y.t()], 1);
    assert_eq!(columns.to_vec2()?, [[1.0, 2.0, 5.0], [3.0, 4.0, 6.0]]);
    Ok(())
}

#[test]
fn s3_73_74_unfold_and_fold_in_1d_2d_3d() -> Result<()> {
    let x = Tensor::<i64, _>::arange(0, 5);
    let windows = x.unfold1d([3], Window::default());
    assert_eq!((windows.shape(), windows.data()?), (&[3, 3][..], vec![0, 1, 2, 1, 2, 3, 2, 3, 4]));
    assert!(windows.shares_storage(&x));
    let strided = Window { stride: [2], padding: [1], dilation: [2], groups: 1 };
    // Padded: 0 | 0 1 2 3 4 | 0; windows of every other element, two apart.
    assert_eq!(x.unfold1d([2], strided).data()?, [0, 1, 1, 3, 3, 0]);
    // Folding adds each element as often as windows saw it.
    let ones = windows.ones_like();
    assert_eq!(ones.fold1d([5], [3], Window::default()).data()?, [1, 2, 3, 2, 1]);
    assert_eq!(windows.fold1d([5], [3], Window::default()).data()?, [0, 2, 6, 6, 4]);

    let image = Tensor::<i64, _>::arange(0, 9).reshape([3, 3]);
    let patches = image.unfold2d([2, 2], Window::default());
    assert_eq!(patches.shape(), [2, 2, 2, 2]);
    assert_eq!(patches.data()?, [0, 1, 3, 4, 1, 2, 4, 5, 3, 4, 6, 7, 4, 5, 7, 8]);
    assert_eq!(patches.fold2d([3, 3], [2, 2], Window::default()).data()?, [0, 2, 2, 6, 16, 10, 6, 14, 8]);

    let cube = Tensor::<i64, _>::arange(0, 27).reshape([3, 3, 3]);
    let blocks = cube.unfold3d([2, 2, 2], Window { stride: [1, 1, 1], ..Window::default() });
    assert_eq!(blocks.shape(), [2; 6]);
    assert_eq!(blocks.data()?[..8], [0, 1, 3, 4, 9, 10, 12, 13]);
    let counts = blocks.ones_like().fold3d([3, 3, 3], [2, 2, 2], Window::default()).data()?;
    let times = |k: usize| [1, 2, 1][k / 9] * [1, 2, 1][k / 3 % 3] * [1, 2, 1][k % 3];
    assert_eq!(counts, (0..27).map(times).collect::<Vec<i64>>());
    Ok(())
}

#[test]
fn s3_76_cast_converts_as_rust_does() -> Result<()> {
    let f = Tensor::new([1.9f32, -1.9, 300.0, f32::NAN, f32::INFINITY, -0.0]);
    assert_eq!(f.cast::<i32>().data()?, [1, -1, 300, 0, i32::MAX, 0]);
    assert_eq!(f.cast::<u8>().data()?, [1, 0, 255, 0, 255, 0]);
    assert_eq!(f.cast::<bool>().data()?, [true, true, true, true, true, false]);
    assert_eq!(Tensor::new([300i32, -1]).cast::<u8>().data()?, [44, 255]);
    assert_eq!(Tensor::new([true, false]).cast::<f64>().data()?, [1.0, 0.0]);
    assert_eq!(Tensor::new([0.1f64]).cast::<f32>().data()?, [0.1f64 as f32]);
    assert_eq!(Tensor::new([65_519.0f32, 65_520.0]).cast::<f16>().data()?, [f16::MAX, f16::INFINITY]);
    let sum: Tensor<i64, DimDyn> = Tensor::new([1u8; 300]).cast::<i64>().sum(&[0], false);
    assert_eq!(sum.item()?, 300);
    let there: Tensor<f32, Dim1> = Tensor::new([16_777_217i32]).cast();
    assert_eq!(there.cast::<i32>().data()?, [16_777_216]); // rounded to even on the way
    Ok(())
}
