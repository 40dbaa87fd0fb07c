//! S3.89–113 and S3.133–134: the API as the specification writes it.

use zither::{Dim1, Dim2, Dim3, Dim4, DimDyn, ErrorKind, PadValue, Result, Tensor};

#[test]
fn s3_89_90_creation_with_static_and_dynamic_rank() -> Result<()> {
    let zeros = Tensor::<f32, Dim2>::zeros([3, 4]);
    let ones = Tensor::<f32, Dim2>::ones([3, 4]);
    let full = Tensor::<f32, Dim2>::full([3, 4], 2.5);
    assert_eq!((zeros.data()?, ones.data()?, full.data()?), (vec![0.0; 12], vec![1.0; 12], vec![2.5; 12]));
    let input = Tensor::<f32, Dim2>::input("x", [3, 4]);
    assert_eq!(input.shape(), [3, 4]);
    assert_eq!(input.data().unwrap_err().kind(), ErrorKind::Input);
    let given = input.realize_with(&[("x", &full.to_dynamic())])?;
    assert_eq!(given.data()?, [2.5; 12]);
    let dynamic = Tensor::<f32, DimDyn>::zeros_dyn(&[3, 4, 5]);
    assert_eq!((dynamic.shape(), dynamic.data()?), (&[3, 4, 5][..], vec![0.0; 60]));
    Ok(())
}

#[test]
fn s3_91_92_operators_between_tensors_and_with_numbers() -> Result<()> {
    let (a, b) = (Tensor::new([6.0f32, -1.0]), Tensor::new([4.0f32, 2.0]));
    assert_eq!((&a + &b).data()?, [10.0, 1.0]);
    assert_eq!((&a - &b).data()?, [2.0, -3.0]);
    assert_eq!((&a * &b).data()?, [24.0, -2.0]);
    assert_eq!((&a / &b).data()?, [1.5, -0.5]);
    assert_eq!((-&a).data()?, [-6.0, 1.0]);
    assert_eq!((&a + 1.0).data()?, [7.0, 0.0]);
    assert_eq!((2.0 * &a).data()?, [12.0, -2.0]);
    assert_eq!(((&a - 1.0).data()?, (1.0 - &a).data()?), (vec![5.0, -2.0], vec![-5.0, 2.0]));
    assert_eq!(((&a / 2.0).data()?, (3.0 / &a).data()?), (vec![3.0, -0.5], vec![0.5, -3.0]));
    assert_eq!(((3 * Tensor::new([2i64])).data()?, (Tensor::new([7u8]) / 2).data()?), (vec![6], vec![3]));
    Ok(())
}

#[test]
fn s3_93_functions() -> Result<()> {
    let x = Tensor::new([0.25f64, 4.0]);
    for (got, wanted) in [
        (x.exp(), [1.284_025_416_687_741_4, 54.598_150_033_144_236]),
        (x.ln(), [-1.386_294_361_119_890_6, 1.386_294_361_119_890_6]),
        (x.sqrt(), [0.5, 2.0]),
        (x.sin(), [0.247_403_959_254_522_94, -0.756_802_495_307_928_2]),
        ((&x - 1.0).relu(), [0.0, 3.0]),
    ] {
        for (got, wanted) in got.data()?.iter().zip(wanted) {
            assert!((got - wanted).abs() <= 2.0 * f64::EPSILON * wanted.abs(), "{got} is not {wanted}");
        }
    }
    Ok(())
}

#[test]
fn s3_94_95_sum_and_mean_along_axes() -> Result<()> {
    let x = Tensor::new([[1.0f32, 2.0, 3.0], [4.0, 5.0, 9.0]]);
    let sum = x.sum(&[0, 1], true);
    assert_eq!((sum.shape(), sum.data()?), (&[1, 1][..], vec![24.0]));
    let mean = x.mean(&[1], false);
    assert_eq!((mean.shape(), mean.data()?), (&[2][..], vec![2.0, 6.0]));
    assert_eq!(x.sum(&[-2], false).data()?, [5.0, 7.0, 12.0]);
    assert_eq!(x.sum(&[], false).data()?, x.data()?, "no axes: nothing is summed");
    assert_eq!(x.try_sum(&[2], false).unwrap_err().kind(), ErrorKind::Axis);
    Ok(())
}

#[test]
fn s3_96_cast_by_the_wanted_type_and_back() -> Result<()> {
    let i = Tensor::new([[1i32, -2], [3, 4]]);
    let f: Tensor<f32, Dim2> = i.cast();
    assert_eq!((&f / 2.0).data()?, [0.5, -1.0, 1.5, 2.0]);
    let back: Tensor<i32, Dim2> = (&f * 1.75).cast();
    assert_eq!(back.data()?, [1, -3, 5, 7]);
    Ok(())
}

#[test]
fn s3_97_98_unsqueeze_and_squeeze_change_the_rank_in_the_type() -> Result<()> {
    let a = Tensor::new([[1.0f32, 2.0], [3.0, 4.0]]);
    let front: Tensor<f32, Dim3> = a.unsqueeze(0);
    let middle: Tensor<f32, Dim3> = a.unsqueeze(1);
    let end: Tensor<f32, Dim4> = front.unsqueeze(-1);
    assert_eq!((front.shape(), middle.shape(), end.shape()), (&[1, 2, 2][..], &[2, 1, 2][..], &[1, 2, 2, 1][..]));
    let back: Tensor<f32, Dim2> = middle.squeeze(1);
    assert_eq!(back.to_vec2()?, a.to_vec2()?);
    let error = middle.try_squeeze(0).unwrap_err();
    assert!(error.to_string().contains("axis 0 of shape [2, 1, 2] has size 2, not 1"), "{error}");
    Ok(())
}

#[test]
fn s3_99_100_pad_and_slice() -> Result<()> {
    let a = Tensor::new([[1.0f32, 2.0], [3.0, 4.0]]);
    let padded: Tensor<f32, Dim2> = a.pad(&[(1, 1), (2, 2)], PadValue::Zero);
    assert_eq!(padded.shape(), [4, 6]);
    let mut wanted = [[0.0; 6]; 4];
    (wanted[1][2], wanted[1][3], wanted[2][2], wanted[2][3]) = (1.0, 2.0, 3.0, 4.0);
    assert_eq!(padded.to_vec2()?, wanted);
    let sliced = padded.slice(&[(1, 3), (0, 3)]);
    assert_eq!(sliced.to_vec2()?, [[0.0, 0.0, 1.0], [0.0, 0.0, 3.0]]);
    assert_eq!(a.try_slice(&[(1, 3)]).unwrap_err().kind(), ErrorKind::Index);
    Ok(())
}

#[test]
fn s3_101_concat_is_a_static_method() -> Result<()> {
    let (a, b) = (Tensor::new([[1i32, 2]]), Tensor::new([[3i32, 4], [5, 6]]));
    let joined: Tensor<i32, Dim2> = Tensor::concat(&[&a, &b], 0);
    assert_eq!(joined.to_vec2()?, [[1, 2], [3, 4], [5, 6]]);
    assert_eq!(Tensor::try_concat(&[&a, &b], 1).unwrap_err().kind(), ErrorKind::Shape);
    Ok(())
}

#[test]
fn s3_102_103_104_contiguous_flatten_reshape() -> Result<()> {
    let a = Tensor::new([[1i32, 2, 3], [4, 5, 6]]);
    let turned = a.t().contiguous();
    assert!(turned.layout().expect("linear").is_contiguous());
    let flat: Tensor<i32, Dim1> = a.t().flatten();
    assert_eq!((turned.data()?, flat.data()?), (vec![1, 4, 2, 5, 3, 6], vec![1, 4, 2, 5, 3, 6]));
    let cube: Tensor<i32, Dim3> = a.reshape([3, 1, 2]);
    assert_eq!(cube.to_vec3()?, [[[1, 2]], [[3, 4]], [[5, 6]]]);
    assert_eq!(a.reshape_dyn(&[-1, 2]).shape(), [3, 2]);
    assert_eq!(a.try_reshape([4, 2]).unwrap_err().kind(), ErrorKind::Shape);
    Ok(())
}

#[test]
fn s3_105_106_107_108_109_tracking_gradients() -> Result<()> {
    let x = Tensor::<f32, Dim2>::ones([2, 2]).set_requires_grad(true);
    assert!(x.requires_grad() && x.grad().is_none());
    let y = &x * &x;
    assert!(y.requires_grad());
    y.backward();
    assert_eq!(x.grad().expect("asked for").data()?, [2.0; 4]);
    y.backward(); // adds to what is there
    assert_eq!(x.grad().expect("asked for").data()?, [4.0; 4]);
    x.zero_grad();
    assert!(x.grad().is_none());

    let detached = x.detach();
    assert!(!detached.requires_grad());
    (&x * &detached).backward(); // only one of the factors counts
    assert_eq!(x.grad().expect("asked for").data()?, [1.0; 4]);
    assert!(!x.clone().set_requires_grad(false).requires_grad());

    let x = Tensor::<f64, Dim2>::ones([2, 2]).set_requires_grad(true);
    (&x * &x).backward();
    assert_eq!(x.grad().expect("asked for").data()?, [2.0f64; 4]);
    Ok(())
}

#[test]
fn s3_110_111_112_113_realize_data_contiguous_from_data() -> Result<()> {
    let x: Tensor<f32, DimDyn> = Tensor::from_data(vec![1.0, 2.0, 3.0, 4.0], vec![2, 2]);
    assert_eq!(x.shape(), [2, 2]);
    let y = &x + &x;
    assert!(!y.is_realized());
    let result = y.realize()?;
    assert!(result.is_realized() && y.is_realized());
    let data: Vec<f32> = result.data()?;
    assert_eq!(data, [2.0, 4.0, 6.0, 8.0]);
    let copy = (&x * 3.0).transpose(0, 1).contiguous();
    assert!(!copy.is_realized(), "contiguous() only makes a node");
    assert_eq!(copy.data()?, [3.0, 9.0, 6.0, 12.0]);
    let (error, line) = (Tensor::<f32, Dim2>::try_from_data(vec![1.0; 5], [2, 2]).unwrap_err(), line!());
    let made = format!("tensor made at {}:{line}", file!());
    assert_eq!(error.to_string(), format!("from_data: 5 elements do not fill shape [2, 2], which has 4\n  {made}"));
    Ok(())
}

#[test]
fn s3_133_134_the_loop_program_as_text() -> Result<()> {
    let a = Tensor::<f32, Dim2>::input("a", [2, 3]);
    let b = Tensor::<f32, Dim2>::input("b", [2, 3]);
    let (c, line) = (&a + &b, line!());
    let at = format!("{}:{line}", file!());
    let wanted = format!(
        "kernel 0: f32 [2, 3]  // {at}
for i0 in 0..2 {{
  for i1 in 0..3 {{
    v0: F32 = load f32 in0[i0*3 + i1]
    v1: F32 = load f32 in1[i0*3 + i1]
    v2: F32 = add v0 v1
    out[i0, i1] = v2 as f32
  }}
}}
"
    );
    assert_eq!(c.lowered()?, wanted);
    assert!(!c.is_realized(), "lowering runs nothing");

    // Multiply, add and sum of a transposed operand: still one kernel, read through its strides.
    let (d, line) = ((&a.t() * &b.t()).sum_axis(0), line!());
    let wanted = format!(
        "kernel 0: f32 [2]  // {}:{line}
for i0 in 0..2 {{
  acc = 0
  for i1 in 0..3 {{
    v0: F32 = load f32 in0[i0*3 + i1]
    v1: F32 = load f32 in1[i0*3 + i1]
    v2: F32 = mul v0 v1
    acc = sum(acc, v2)
  }}
  out[i0] = acc as f32
}}
",
        file!()
    );
    assert_eq!(d.lowered()?, wanted);
    let here = Tensor::new([1.0f32]);
    assert_eq!(here.lowered()?, "the numbers are here: nothing to run\n");
    assert!(c.to_dynamic().lowered()?.contains("add v0 v1"));
    Ok(())
}
