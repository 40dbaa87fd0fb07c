//! S3.1–41: what a tensor is: lazy, typed by dtype and rank, branching, with derivatives of the user's own.

use std::any::TypeId;
use std::sync::Arc;
use zither::dtype::{
    FloatDType, IntegerDType, NumericDType, NumericInitDType, SignedIntDType, TensorDType, UnsignedIntDType,
};
use zither::{
    DType, Dim, Dim0, Dim1, Dim2, Dim3, Dim4, Dim5, Dim6, DimDyn, Dimension, DynTensor, ErrorKind, GradFn, Result,
    Tensor, bf16, f16, no_grad,
};

fn kernels<T: TensorDType, D: Dimension>(tensor: &Tensor<T, D>) -> Result<usize> {
    Ok(tensor.lowered()?.matches("kernel ").count())
}

#[test]
fn s3_1_lazy_differentiable_and_fused_in_one_type() -> Result<()> {
    let x = Tensor::new([[1.0f32, 2.0, 3.0], [4.0, 5.0, 6.0]]).set_requires_grad(true);
    let y = (&x * 2.0 + 1.0).sum_axis(1);
    assert!(!y.is_realized(), "nothing has run yet");
    assert_eq!(kernels(&y)?, 1, "multiply, add and sum are one kernel:\n{}", y.lowered()?);
    assert_eq!(y.data()?, [15.0, 33.0]);
    assert!(y.is_realized());
    y.backward();
    let grad = x.grad().expect("asked for");
    assert!(!grad.is_realized(), "gradients are lazy too");
    assert_eq!(grad.data()?, [2.0; 6]);
    Ok(())
}

#[test]
fn s3_2_a_tensor_is_one_arc_and_two_markers() {
    assert_eq!(size_of::<Tensor<f64, Dim3>>(), size_of::<Arc<()>>());
    assert_eq!(size_of::<Option<Tensor<f64, Dim3>>>(), size_of::<Arc<()>>());
    let default: Tensor = Tensor::zeros_dyn(&[2, 3]); // Tensor<f32, DimDyn>
    let same: &Tensor<f32, DimDyn> = &default;
    assert_eq!((same.dtype(), same.shape()), (DType::F32, &[2, 3][..]));
    assert!(default.clone().shares_storage(&default), "a clone is the same node");
}

/// Whether a type implements a trait: an associated constant of the type's own wins over the trait's.
macro_rules! implements {
    ($ty:ty: $bound:path) => {{
        #[allow(dead_code)]
        trait Otherwise {
            const YES: bool = false;
        }
        impl<T> Otherwise for T {}
        #[allow(dead_code)]
        struct Probe<T>(T);
        #[allow(dead_code)]
        impl<T: $bound> Probe<T> {
            const YES: bool = true;
        }
        <Probe<$ty>>::YES
    }};
}

#[test]
fn s3_7_8_9_the_ladder_of_dtype_traits() {
    macro_rules! row {
        ($ty:ty) => {
            [
                implements!($ty: TensorDType),
                implements!($ty: NumericDType),
                implements!($ty: FloatDType),
                implements!($ty: IntegerDType),
                implements!($ty: SignedIntDType),
                implements!($ty: UnsignedIntDType),
            ]
        };
    }
    let float = [true, true, true, false, false, false];
    let signed = [true, true, false, true, true, false];
    let unsigned = [true, true, false, true, false, true];
    assert_eq!([row!(f32), row!(f64), row!(f16), row!(bf16)], [float; 4]);
    assert_eq!([row!(i8), row!(i16), row!(i32), row!(i64)], [signed; 4]);
    assert_eq!([row!(u8), row!(u16), row!(u32), row!(u64)], [unsigned; 4]);
    assert_eq!(row!(bool), [true, false, false, false, false, false]);
    assert_eq!(row!(String), [false; 6]);

    // Each trait implies those above it, so the constant is there from any of them.
    fn of_float<T: FloatDType>() -> DType {
        of_numeric::<T>()
    }
    fn of_signed<T: SignedIntDType>() -> DType {
        of_integer::<T>()
    }
    fn of_unsigned<T: UnsignedIntDType>() -> DType {
        of_integer::<T>()
    }
    fn of_integer<T: IntegerDType>() -> DType {
        of_numeric::<T>()
    }
    fn of_numeric<T: NumericDType>() -> DType {
        T::DTYPE
    }
    assert_eq!((of_float::<f32>(), of_float::<f64>()), (DType::F32, DType::F64));
    assert_eq!((of_signed::<i8>(), of_unsigned::<u64>()), (DType::I8, DType::U64));
}

#[test]
fn s3_10_creation_works_alike_on_floats_and_integers() -> Result<()> {
    fn check<T: NumericInitDType + NumericDType>(value: T) -> Result<()> {
        assert_eq!((T::ZERO.to_f64(), T::ONE.to_f64()), (0.0, 1.0));
        assert_eq!(T::to_literal(value).dtype(), T::DTYPE);
        assert_eq!(T::to_literal(value).to_f64(), 7.0);
        assert_eq!(Tensor::<T, Dim2>::zeros([2, 3]).data()?, [T::ZERO; 6]);
        assert_eq!(Tensor::<T, Dim2>::ones([2, 3]).data()?, [T::ONE; 6]);
        assert_eq!(Tensor::<T, Dim1>::full([3], value).data()?, [value; 3]);
        let input = Tensor::<T, Dim1>::input("x", [3]);
        let given = DynTensor::from_data(vec![value; 3], &[3]);
        assert_eq!((&input + &input).realize_with(&[("x", &given)])?.data()?[2].to_f64(), 14.0);
        Ok(())
    }
    check(7.0f32)?;
    check(7.0f64)?;
    check(f16::from_f32(7.0))?;
    check(bf16::from_f32(7.0))?;
    check(7i8)?;
    check(7i16)?;
    check(7i32)?;
    check(7i64)?;
    check(7u8)?;
    check(7u16)?;
    check(7u32)?;
    check(7u64)
}

#[test]
fn s3_33_what_follows_a_reduction_is_right() -> Result<()> {
    let rows = [[1.0f64, 2.0, 4.0], [0.5, -1.0, 3.0]];
    let x = Tensor::new(rows);
    let sums = [7.0f64, 2.5];

    // Elementwise after it, with the reduced axis stretched back.
    let share = &x / &x.sum_keepdim(1);
    let wanted: Vec<f64> = (0..6).map(|k| rows[k / 3][k % 3] / sums[k / 3]).collect();
    assert_eq!(share.data()?, wanted);
    // A reduction of a reduction, and of an expression of it.
    assert_eq!(x.sum_axis(1).max_axis(0).item()?, 7.0);
    assert_eq!((x.sum_axis(1) * 2.0 + 1.0).prod_axis(0).item()?, 15.0 * 6.0);
    // A view of a reduction, a concatenation of reductions, one used twice.
    assert_eq!(x.sum_axis(1).flip(&[0]).data()?, [2.5, 7.0]);
    assert_eq!(Tensor::concat(&[&x.sum_axis(1), &x.max_axis(0)], 0).data()?, [7.0, 2.5, 1.0, 2.0, 4.0]);
    let total = x.sum_all();
    assert_eq!((&total * &total + &total).item()?, 9.5 * 9.5 + 9.5);
    // Softmax: two reductions, each used by what follows.
    let softmax = x.softmax(1).data()?;
    for (row, got) in rows.iter().zip(softmax.chunks(3)) {
        let sum: f64 = row.iter().map(|v| v.exp()).sum();
        for (value, got) in row.iter().zip(got) {
            assert!((value.exp() / sum - got).abs() < 1e-15);
        }
    }
    Ok(())
}

#[test]
fn s3_34_35_36_operands_may_be_consumed_and_fork_marks_a_branch() -> Result<()> {
    let x = Tensor::new([1.0f32, 2.0, 3.0]);
    let y = Tensor::new([10.0f32, 20.0, 30.0]);
    let borrowed = &x + &y;
    let owned = x.clone() + y.clone();
    assert_eq!(borrowed.data()?, owned.data()?);

    let a = x + y; // consumes x and y
    let a2 = a.fork();
    let b = a.sum_all();
    let c = a2 * 2.0;
    assert_eq!((b.item()?, c.data()?), (66.0, vec![22.0, 44.0, 66.0]));
    let fork = b.fork();
    assert!(fork.shares_storage(&b), "a fork copies nothing");

    // Gradients of both branches add up: d(sum(a) + sum(2a))/dx = 3.
    let x = Tensor::new([1.0f32, 2.0, 3.0]).set_requires_grad(true);
    let a = &x + 1.0;
    let a2 = a.fork();
    (a.sum_all() + (a2 * 2.0).sum_all()).backward();
    assert_eq!(x.grad().expect("asked for").data()?, [3.0; 3]);
    Ok(())
}

#[test]
fn s3_37_38_39_the_rank_is_in_the_type() {
    fn same<A: 'static, B: 'static>() -> bool {
        TypeId::of::<A>() == TypeId::of::<B>()
    }
    assert!(same::<Dim0, Dim<0>>() && same::<Dim1, Dim<1>>() && same::<Dim2, Dim<2>>() && same::<Dim3, Dim<3>>());
    assert!(same::<Dim4, Dim<4>>() && same::<Dim5, Dim<5>>() && same::<Dim6, Dim<6>>());
    assert_eq!((Dim0::RANK, Dim6::RANK, DimDyn::RANK), (Some(0), Some(6), None));
    assert!(same::<<Dim3 as Dimension>::Smaller, Dim2>() && same::<<Dim3 as Dimension>::Larger, Dim4>());
    assert!(same::<<Dim1 as Dimension>::Smaller, Dim0>() && same::<<Dim0 as Dimension>::Larger, Dim1>());
    assert!(same::<<DimDyn as Dimension>::Smaller, DimDyn>() && same::<<DimDyn as Dimension>::Larger, DimDyn>());

    let matrix = Tensor::<f32, _>::zeros([3, 4]);
    let cube: Tensor<f32, Dim3> = matrix.unsqueeze(0);
    let back: Tensor<f32, Dim2> = cube.squeeze(0);
    let row_sums: Tensor<f32, Dim1> = back.sum_axis(1);
    let number: Tensor<f32, Dim0> = row_sums.sum_all();
    assert_eq!([cube.rank(), back.rank(), row_sums.rank(), number.rank()], [3, 2, 1, 0]);

    let dynamic: Tensor<f32, DimDyn> = cube.clone().into_dyn();
    assert_eq!(dynamic.to_dim::<Dim3>().shape(), [1, 3, 4]);
    assert_eq!(dynamic.try_to_dim::<Dim2>().unwrap_err().kind(), ErrorKind::Shape);
}

/// `x·y` with the derivative written by hand; keeps its inputs with their ranks.
struct Product<D: Dimension> {
    x: Tensor<f64, D>,
    y: Tensor<f64, D>,
}

impl<D: Dimension> GradFn<f64> for Product<D> {
    fn backward(&self, grad_output: &Tensor<f64, DimDyn>) -> Vec<Tensor<f64, DimDyn>> {
        let [x, y] = [self.x.clone().into_dyn(), self.y.clone().into_dyn()];
        vec![grad_output * &y, grad_output * &x]
    }
    fn inputs(&self) -> Vec<Tensor<f64, DimDyn>> {
        vec![self.x.clone().into_dyn(), self.y.clone().into_dyn()]
    }
    fn name(&self) -> &'static str {
        "product"
    }
}

#[test]
fn s3_40_41_a_derivative_of_the_users_own() -> Result<()> {
    fn is_send_sync<T: Send + Sync>(_: &T) {}
    let x = Tensor::new([[1.0f64, 2.0]]).set_requires_grad(true);
    let y = Tensor::new([[5.0f64, 7.0]]).set_requires_grad(true);
    let rule = Product { x: x.clone(), y: y.clone() };
    is_send_sync(&rule);
    let object: &dyn GradFn<f64> = &rule;
    assert_eq!((object.name(), object.inputs().len()), ("product", 2));

    let z = no_grad(|| &x * &y).with_grad_fn(rule);
    assert_eq!(z.data()?, [5.0, 14.0]);
    (&z * 3.0).backward();
    assert_eq!(x.grad().expect("asked for").data()?, [15.0, 21.0]);
    assert_eq!(y.grad().expect("asked for").data()?, [3.0, 6.0]);
    assert!(z.graph().contains("product"), "{}", z.graph());
    Ok(())
}

/// Gives back less than it should.
struct Forgetful(Tensor<f64, DimDyn>);

impl GradFn<f64> for Forgetful {
    fn backward(&self, _: &Tensor<f64, DimDyn>) -> Vec<Tensor<f64, DimDyn>> {
        Vec::new()
    }
    fn inputs(&self) -> Vec<Tensor<f64, DimDyn>> {
        vec![self.0.clone()]
    }
    fn name(&self) -> &'static str {
        "forgetful"
    }
}

#[test]
fn s3_40_a_derivative_that_gives_too_little_is_an_error_with_its_name() {
    let x = Tensor::new([1.0f64]).set_requires_grad(true);
    let (y, made) = (x.with_grad_fn(Forgetful(x.clone().into_dyn())), line!());
    let error = y.try_backward().err().expect("one gradient is missing");
    let wanted = format!("forgetful: backward gave 0 gradients for 1 inputs\n  result made at {}:{made}", file!());
    assert_eq!(error.to_string(), wanted);
}
