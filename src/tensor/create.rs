//! Creation: constants, ranges, random numbers, data.

use super::twins::{twin_functions, twins};
use super::{Dim1, Dim2, DimDyn, Dimension, DynTensor, IntoShape, Tensor};
use crate::dtype::{DType, FloatDType, IntegerDType, Literal, NumericDType, TensorDType};
use crate::error::{Error, ErrorKind, MadeHere, Result};
use crate::graph::Node;
use crate::memory::Buffer;
use crate::ops::compose::create;
use crate::shape::{Shape, element_count};

/// Starts this thread's random numbers anew: the same seed gives the same numbers on any machine and for any number
/// of threads that execute.
///
/// ```
/// use zither::{Tensor, manual_seed};
/// manual_seed(7);
/// let a = Tensor::<f32, _>::rand([3]);
/// manual_seed(7);
/// let b = Tensor::<f32, _>::rand([3]);
/// assert_eq!(a.data()?, b.data()?);
/// # Ok::<(), zither::Error>(())
/// ```
pub fn manual_seed(seed: u64) {
    create::seed(seed);
}

/// A node for data of a shape, after checking that the counts agree.
#[track_caller]
pub(super) fn data_node<T: TensorDType>(data: &[T], shape: Shape) -> Result<Node> {
    let count = element_count("from_data", &shape, T::DTYPE).made_here()?;
    if count != data.len() {
        let message = format!("{} elements do not fill shape {shape:?}, which has {count}", data.len());
        return Err(Error::new(ErrorKind::Shape, "from_data", message)).made_here();
    }
    Ok(Node::from_buffer(Buffer::from_slice("from_data", data).made_here()?, shape))
}

impl<T: TensorDType, D: Dimension> Tensor<T, D> {
    twin_functions! {
        /// A tensor of the given elements, in row-major order.
        ///
        /// ```
        /// let t = zither::Tensor::from_data(vec![1.0f32, 2.0, 3.0, 4.0], [2, 2]);
        /// assert_eq!(t.to_vec2()?, [[1.0, 2.0], [3.0, 4.0]]);
        /// # Ok::<(), zither::Error>(())
        /// ```
        fn from_data try_from_data(data: Vec<T>, shape: impl IntoShape<D>) -> Tensor<T, D> {
            Ok(Tensor::wrap(data_node(&data, shape.into_shape())?))
        }

        /// A tensor with the same value everywhere.
        ///
        /// ```
        /// # use zither::Tensor;
        /// assert_eq!(Tensor::full([2, 2], 7i32).data()?, [7; 4]);
        /// # Ok::<(), zither::Error>(())
        /// ```
        fn full try_full(shape: impl IntoShape<D>, value: T) -> Tensor<T, D> {
            Ok(Tensor::wrap(Node::full(&shape.into_shape(), value.literal())?))
        }

        /// Data that will be given by name when the tensor is read with [`realize_with`](Self::realize_with).
        ///
        /// ```
        /// use zither::{Dim1, Tensor};
        /// let y = Tensor::<f32, Dim1>::input("x", [2]) * 2.0;
        /// let x = Tensor::new([1.0f32, 2.0]).to_dynamic();
        /// assert_eq!(y.realize_with(&[("x", &x)])?.data()?, [2.0, 4.0]);
        /// # Ok::<(), zither::Error>(())
        /// ```
        fn input try_input(name: &str, shape: impl IntoShape<D>) -> Tensor<T, D> {
            Ok(Tensor::wrap(Node::input(name, &shape.into_shape(), T::DTYPE)?))
        }
    }

    twins! {
        /// The value everywhere, in this tensor's shape.
        ///
        /// ```
        /// # use zither::Tensor;
        /// assert_eq!(Tensor::new([1, 2]).full_like(7).data()?, [7, 7]);
        /// # Ok::<(), zither::Error>(())
        /// ```
        fn full_like try_full_like(&self, value: T) -> Tensor<T, D> {
            Ok(Tensor::wrap(Node::full(self.shape(), value.literal())?))
        }
    }
}

impl<T: NumericDType, D: Dimension> Tensor<T, D> {
    twin_functions! {
        /// Zeros.
        ///
        /// ```
        /// # use zither::Tensor;
        /// assert_eq!(Tensor::<f32, _>::zeros([2, 2]).data()?, [0.0; 4]);
        /// # Ok::<(), zither::Error>(())
        /// ```
        fn zeros try_zeros(shape: impl IntoShape<D>) -> Tensor<T, D> {
            let shape = shape.into_shape();
            element_count("zeros", &shape, T::DTYPE).made_here()?;
            Ok(Tensor::wrap(Node::full(&shape, T::ZERO.literal())?))
        }

        /// Ones.
        ///
        /// ```
        /// # use zither::Tensor;
        /// assert_eq!(Tensor::<i64, _>::ones([3]).data()?, [1, 1, 1]);
        /// # Ok::<(), zither::Error>(())
        /// ```
        fn ones try_ones(shape: impl IntoShape<D>) -> Tensor<T, D> {
            let shape = shape.into_shape();
            element_count("ones", &shape, T::DTYPE).made_here()?;
            Ok(Tensor::wrap(Node::full(&shape, T::ONE.literal())?))
        }
    }

    twins! {
        /// Zeros in this tensor's shape.
        ///
        /// ```
        /// # use zither::Tensor;
        /// assert_eq!(Tensor::new([1, 2]).zeros_like().data()?, [0, 0]);
        /// # Ok::<(), zither::Error>(())
        /// ```
        fn zeros_like try_zeros_like(&self) -> Tensor<T, D> {
            Ok(Tensor::wrap(Node::full(self.shape(), T::ZERO.literal())?))
        }

        /// Ones in this tensor's shape.
        ///
        /// ```
        /// # use zither::Tensor;
        /// assert_eq!(Tensor::new([1, 2]).ones_like().data()?, [1, 1]);
        /// # Ok::<(), zither::Error>(())
        /// ```
        fn ones_like try_ones_like(&self) -> Tensor<T, D> {
            Ok(Tensor::wrap(Node::full(self.shape(), T::ONE.literal())?))
        }
    }
}

impl<T: NumericDType> Tensor<T, DimDyn> {
    twin_functions! {
        /// Zeros of a shape that only the run knows.
        ///
        /// ```
        /// # use zither::Tensor;
        /// assert_eq!(Tensor::<f32>::zeros_dyn(&[2, 3]).shape(), [2, 3]);
        /// ```
        fn zeros_dyn try_zeros_dyn(shape: &[usize]) -> Tensor<T, DimDyn> {
            Tensor::try_zeros(shape)
        }

        /// Ones of a shape that only the run knows.
        ///
        /// ```
        /// # use zither::Tensor;
        /// assert_eq!(Tensor::<f32>::ones_dyn(&[2]).data()?, [1.0, 1.0]);
        /// # Ok::<(), zither::Error>(())
        /// ```
        fn ones_dyn try_ones_dyn(shape: &[usize]) -> Tensor<T, DimDyn> {
            Tensor::try_ones(shape)
        }
    }
}

impl<T: NumericDType> Tensor<T, Dim1> {
    twin_functions! {
        /// `start, start + 1, …` below `end`.
        ///
        /// ```
        /// # use zither::Tensor;
        /// assert_eq!(Tensor::arange(2, 5).data()?, [2, 3, 4]);
        /// # Ok::<(), zither::Error>(())
        /// ```
        fn arange try_arange(start: T, end: T) -> Tensor<T, Dim1> {
            Ok(Tensor::wrap(create::arange(start.literal(), end.literal(), T::ONE.literal())?))
        }

        /// `start, start + step, …` below `end` (above it, for a negative step).
        ///
        /// ```
        /// # use zither::Tensor;
        /// assert_eq!(Tensor::arange_step(1.0f32, 0.0, -0.25).data()?, [1.0, 0.75, 0.5, 0.25]);
        /// # Ok::<(), zither::Error>(())
        /// ```
        fn arange_step try_arange_step(start: T, end: T, step: T) -> Tensor<T, Dim1> {
            Ok(Tensor::wrap(create::arange(start.literal(), end.literal(), step.literal())?))
        }
    }
}

impl<T: FloatDType> Tensor<T, Dim1> {
    twin_functions! {
        /// `count` numbers from `start` to `end`, both of them there.
        ///
        /// ```
        /// # use zither::Tensor;
        /// assert_eq!(Tensor::linspace(0.0f32, 1.0, 3).data()?, [0.0, 0.5, 1.0]);
        /// # Ok::<(), zither::Error>(())
        /// ```
        fn linspace try_linspace(start: T, end: T, count: usize) -> Tensor<T, Dim1> {
            Ok(Tensor::wrap(create::linspace(start.to_f64(), end.to_f64(), count, T::DTYPE)?))
        }
    }
}

impl<T: NumericDType> Tensor<T, Dim2> {
    twin_functions! {
        /// The identity matrix.
        ///
        /// ```
        /// # use zither::Tensor;
        /// assert_eq!(Tensor::<i32, _>::eye(2).data()?, [1, 0, 0, 1]);
        /// # Ok::<(), zither::Error>(())
        /// ```
        fn eye try_eye(size: usize) -> Tensor<T, Dim2> {
            Ok(Tensor::wrap(create::eye(size, size, T::DTYPE)?))
        }
    }
}

impl<T: FloatDType, D: Dimension> Tensor<T, D> {
    twin_functions! {
        /// Random numbers, uniform in [0, 1).
        ///
        /// ```
        /// # use zither::Tensor;
        /// let x = Tensor::<f32, _>::rand([100]).data()?;
        /// assert!(x.iter().all(|x| (0.0..1.0).contains(x)));
        /// # Ok::<(), zither::Error>(())
        /// ```
        fn rand try_rand(shape: impl IntoShape<D>) -> Tensor<T, D> {
            Ok(Tensor::wrap(create::rand(&shape.into_shape(), T::DTYPE)?))
        }

        /// Random numbers, normal with mean 0 and variance 1.
        ///
        /// ```
        /// # use zither::Tensor;
        /// let mean = Tensor::<f32, _>::randn([10_000]).mean_all().item()?;
        /// assert!(mean.abs() < 0.1);
        /// # Ok::<(), zither::Error>(())
        /// ```
        fn randn try_randn(shape: impl IntoShape<D>) -> Tensor<T, D> {
            Ok(Tensor::wrap(create::randn(&shape.into_shape(), T::DTYPE)?))
        }
    }

    twins! {
        /// [`rand`](Self::rand) in this tensor's shape.
        ///
        /// ```
        /// # use zither::Tensor;
        /// assert_eq!(Tensor::new([1.0f32, 2.0]).rand_like().shape(), [2]);
        /// ```
        fn rand_like try_rand_like(&self) -> Tensor<T, D> {
            Ok(Tensor::wrap(create::rand(self.shape(), T::DTYPE)?))
        }

        /// [`randn`](Self::randn) in this tensor's shape.
        ///
        /// ```
        /// # use zither::Tensor;
        /// assert_eq!(Tensor::new([1.0f32, 2.0]).randn_like().shape(), [2]);
        /// ```
        fn randn_like try_randn_like(&self) -> Tensor<T, D> {
            Ok(Tensor::wrap(create::randn(self.shape(), T::DTYPE)?))
        }
    }
}

impl<T: IntegerDType, D: Dimension> Tensor<T, D> {
    twin_functions! {
        /// Random whole numbers in `low..high`, all equally likely (to one part in 2^64 divided by their number).
        ///
        /// ```
        /// # use zither::Tensor;
        /// let dice = Tensor::<i32, _>::randint([100], 1, 7).data()?;
        /// assert!(dice.iter().all(|x| (1..7).contains(x)));
        /// # Ok::<(), zither::Error>(())
        /// ```
        fn randint try_randint(shape: impl IntoShape<D>, low: T, high: T) -> Tensor<T, D> {
            Ok(Tensor::wrap(create::randint(&shape.into_shape(), low.literal(), high.literal())?))
        }
    }
}

impl<D: Dimension> Tensor<bool, D> {
    twin_functions! {
        /// `true` with probability `p`.
        ///
        /// ```
        /// # use zither::Tensor;
        /// assert_eq!(Tensor::bernoulli([3], 1.0).data()?, [true; 3]);
        /// # Ok::<(), zither::Error>(())
        /// ```
        fn bernoulli try_bernoulli(shape: impl IntoShape<D>, p: f64) -> Tensor<bool, D> {
            Ok(Tensor::wrap(create::bernoulli(&shape.into_shape(), p)?))
        }
    }
}

impl DynTensor {
    twin_functions! {
        /// `start, start + 1, …` below `end`, in their dtype.
        ///
        /// ```
        /// use zither::{DynTensor, Literal};
        /// let x = DynTensor::arange(Literal::I64(2), Literal::I64(5));
        /// assert_eq!(x.data::<i64>()?, [2, 3, 4]);
        /// # Ok::<(), zither::Error>(())
        /// ```
        fn arange try_arange(start: Literal, end: Literal) -> DynTensor {
            DynTensor::try_arange_step(start, end, Literal::one(start.dtype()))
        }

        /// `start, start + step, …` below `end` (above it, for a negative step), in their dtype.
        ///
        /// ```
        /// use zither::{DynTensor, Literal};
        /// let x = DynTensor::arange_step(Literal::I32(5), Literal::I32(0), Literal::I32(-2));
        /// assert_eq!(x.data::<i32>()?, [5, 3, 1]);
        /// # Ok::<(), zither::Error>(())
        /// ```
        fn arange_step try_arange_step(start: Literal, end: Literal, step: Literal) -> DynTensor {
            let dtype = start.dtype();
            if !dtype.is_numeric() || [end.dtype(), step.dtype()] != [dtype; 2] {
                let message = format!("{dtype}, {} and {} are not one dtype of numbers", end.dtype(), step.dtype());
                return Err(Error::new(ErrorKind::DType, "arange", message)).made_here();
            }
            Ok(DynTensor::wrap(create::arange(start, end, step)?))
        }

        /// Random numbers of a float dtype, uniform in [0, 1).
        ///
        /// ```
        /// use zither::{DType, DynTensor};
        /// let x = DynTensor::rand(&[2, 3], DType::F64).data::<f64>()?;
        /// assert!(x.len() == 6 && x.iter().all(|x| (0.0..1.0).contains(x)));
        /// # Ok::<(), zither::Error>(())
        /// ```
        fn rand try_rand(shape: &[usize], dtype: DType) -> DynTensor {
            check_float("rand", dtype).made_here()?;
            Ok(DynTensor::wrap(create::rand(shape, dtype)?))
        }

        /// Random numbers of a float dtype, normal with mean 0 and variance 1.
        ///
        /// ```
        /// use zither::{DType, DynTensor};
        /// assert_eq!(DynTensor::randn(&[2, 3], DType::F64).shape(), [2, 3]);
        /// ```
        fn randn try_randn(shape: &[usize], dtype: DType) -> DynTensor {
            check_float("randn", dtype).made_here()?;
            Ok(DynTensor::wrap(create::randn(shape, dtype)?))
        }
    }
}

impl DynTensor {
    twins! {
        /// The value everywhere, in this tensor's shape; it is of this tensor's dtype.
        ///
        /// ```
        /// use zither::{DType, DynTensor, Literal};
        /// let x = DynTensor::zeros(&[2], DType::I64);
        /// assert_eq!(x.full_like(Literal::I64(7)).data::<i64>()?, [7, 7]);
        /// # Ok::<(), zither::Error>(())
        /// ```
        fn full_like try_full_like(&self, value: Literal) -> DynTensor {
            if value.dtype() != self.dtype() {
                let message = format!("the value is {}, the tensor {}: cast one of them", value.dtype(), self.dtype());
                return Err(Error::new(ErrorKind::DType, "full_like", message).made_at("tensor", self.node().at()));
            }
            Ok(DynTensor::wrap(Node::full(self.shape(), value)?))
        }

        /// Zeros in this tensor's shape and dtype.
        ///
        /// ```
        /// # use zither::{DType, DynTensor};
        /// assert_eq!(DynTensor::ones(&[2], DType::U8).zeros_like().data::<u8>()?, [0, 0]);
        /// # Ok::<(), zither::Error>(())
        /// ```
        fn zeros_like try_zeros_like(&self) -> DynTensor {
            Ok(DynTensor::wrap(Node::full(self.shape(), Literal::zero(self.dtype()))?))
        }

        /// Ones in this tensor's shape and dtype.
        ///
        /// ```
        /// # use zither::{DType, DynTensor};
        /// assert_eq!(DynTensor::zeros(&[2], DType::U8).ones_like().data::<u8>()?, [1, 1]);
        /// # Ok::<(), zither::Error>(())
        /// ```
        fn ones_like try_ones_like(&self) -> DynTensor {
            Ok(DynTensor::wrap(Node::full(self.shape(), Literal::one(self.dtype()))?))
        }
    }
}

/// An error unless numbers between others can be had in the dtype.
fn check_float(op: &str, dtype: DType) -> Result<()> {
    if dtype.is_float() {
        return Ok(());
    }
    let message = format!("{dtype} is not a float dtype (f16, bf16, f32, f64): cast the result instead");
    Err(Error::new(ErrorKind::DType, op, message))
}
