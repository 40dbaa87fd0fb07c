//! What dynamic tensors can do that typed ones can.

use zither::{DType, DynTensor, ErrorKind, Literal, Result, Tensor, Var, manual_seed};

fn floats() -> DynTensor {
    DynTensor::from_data(vec![1.0f32, 2.0, 4.0], &[3])
}

#[test]
fn numbers_stand_on_the_left_too() -> Result<()> {
    let x = floats();
    assert_eq!((2.0 + &x).data::<f32>()?, [3.0, 4.0, 6.0]);
    assert_eq!((2.0 - &x).data::<f32>()?, [1.0, 0.0, -2.0]);
    assert_eq!((3.0 * &x).data::<f32>()?, [3.0, 6.0, 12.0]);
    assert_eq!((2.0 / &x).data::<f32>()?, [2.0, 1.0, 0.5]);
    assert_eq!((10 - x.clone()).data::<f32>()?, [9.0, 8.0, 6.0], "a whole number beside floats");
    let i = x.cast(DType::I64);
    assert_eq!((7 / &i).data::<i64>()?, [7, 3, 1], "towards zero");
    assert_eq!((7 - i).data::<i64>()?, [6, 5, 3]);
    Ok(())
}

#[test]
#[should_panic(expected = "sub: i64 does not take the float 0.5")]
fn a_float_on_the_left_of_integers_is_refused() {
    let _ = 0.5 - &floats().cast(DType::I64);
}

#[test]
fn backward_with_weighs_the_elements() -> Result<()> {
    let x = floats().set_requires_grad(true);
    let weights = DynTensor::from_data(vec![1.0f32, 0.0, -1.0], &[3]);
    (1.0 / &x).backward_with(&weights); // the slope is -1 / x²
    assert_eq!(x.grad().expect("x is reached").data::<f32>()?, [-1.0, 0.0, 0.0625]);

    let refused = |weights: &DynTensor| (&x * &x).try_backward_with(weights).unwrap_err();
    assert_eq!(refused(&weights.cast(DType::F64)).kind(), ErrorKind::DType);
    assert_eq!(refused(&DynTensor::ones(&[2], DType::F32)).kind(), ErrorKind::Shape);
    Ok(())
}

#[test]
fn ranges_and_random_numbers_are_those_of_typed_tensors() -> Result<()> {
    let range = DynTensor::arange_step(Literal::F64(1.0), Literal::F64(0.0), Literal::F64(-0.25));
    assert_eq!(range.data::<f64>()?, [1.0, 0.75, 0.5, 0.25]);
    assert_eq!(DynTensor::arange(Literal::U8(250), Literal::U8(253)).data::<u8>()?, [250, 251, 252]);
    assert_eq!(DynTensor::try_arange(Literal::Bool(false), Literal::Bool(true)).unwrap_err().kind(), ErrorKind::DType);
    manual_seed(3);
    let typed = (Tensor::<f32, _>::rand([5]).data()?, Tensor::<f64, _>::randn([5]).data()?);
    manual_seed(3);
    assert_eq!(DynTensor::rand(&[5], DType::F32).data::<f32>()?, typed.0);
    assert_eq!(DynTensor::randn(&[5], DType::F64).data::<f64>()?, typed.1);
    Ok(())
}

#[test]
fn a_variable_says_what_it_holds_and_forgets_its_gradient() {
    let (x, line) = (Var::new(Tensor::new([1.0f32, 2.0])), line!());
    let text = format!("{x:?}");
    assert!(text.starts_with("Var(Tensor(") && text.contains("shape=[2], dtype=f32"), "{text}");
    assert!(text.contains(&format!("{}:{line}", file!())), "{text}");
    x.get().square().backward();
    assert!(x.grad().is_some());
    x.zero_grad();
    assert!(x.grad().is_none());
}

#[test]
fn a_tensor_like_another_has_its_shape_and_dtype() -> Result<()> {
    let x = DynTensor::zeros(&[2, 0, 3], DType::F16);
    for like in [x.zeros_like(), x.ones_like(), x.full_like(Literal::zero(DType::F16))] {
        assert_eq!((like.shape(), like.dtype()), (x.shape(), x.dtype()));
    }
    let x = floats();
    assert_eq!(x.zeros_like().data::<f32>()?, [0.0; 3]);
    assert_eq!(x.ones_like().data::<f32>()?, [1.0; 3]);
    assert_eq!(x.full_like(Literal::F32(2.5)).data::<f32>()?, [2.5; 3]);
    let refused = x.try_full_like(Literal::I64(2)).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::DType);
    assert!(
        refused.to_string().starts_with("full_like: the value is i64, the tensor f32: cast one of them"),
        "{refused}"
    );
    Ok(())
}
