//! A tensor whose dtype and rank only the run knows: files, user input, generic tools.

use super::create::data_node;
use super::twins::{twin_functions, twins};
use crate::dtype::{DType, Literal, TensorDType};
use crate::error::MadeHere;
use crate::graph::Node;
use crate::shape::element_count;

/// The same node as a [`Tensor`](super::Tensor), without dtype and rank in the type.
///
/// Ops check at run time what the typed tensor's compiler checks: dtypes never mix silently.
///
/// ```
/// use zither::{DType, DynTensor};
/// let a = DynTensor::from_data(vec![1.0f32, 2.0], &[2]);
/// let b = DynTensor::from_data(vec![1i64, 2], &[2]);
/// assert!(a.try_add(&b).is_err());
/// assert_eq!((&a + &b.cast(DType::F32)).data::<f32>()?, [2.0, 4.0]);
/// # Ok::<(), zither::Error>(())
/// ```
#[derive(Clone)]
pub struct DynTensor {
    node: Node,
}

impl DynTensor {
    /// A handle on a node.
    pub(crate) fn wrap(node: Node) -> DynTensor {
        DynTensor { node: node.handle() }
    }

    /// The node that ops are built on.
    pub(crate) fn node(&self) -> &Node {
        self.node.inner()
    }

    /// The sizes of the axes.
    ///
    /// See [`Tensor::shape`](crate::Tensor::shape).
    pub fn shape(&self) -> &[usize] {
        self.node.shape()
    }

    /// The number of axes.
    ///
    /// See [`Tensor::rank`](crate::Tensor::rank).
    pub fn rank(&self) -> usize {
        self.node.rank()
    }

    /// The number of elements.
    ///
    /// See [`Tensor::len`](crate::Tensor::len).
    pub fn len(&self) -> usize {
        self.node.len()
    }

    /// Whether there are no elements.
    ///
    /// See [`Tensor::is_empty`](crate::Tensor::is_empty).
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The type of the elements.
    ///
    /// See [`Tensor::dtype`](crate::Tensor::dtype).
    pub fn dtype(&self) -> DType {
        self.node.dtype()
    }

    twin_functions! {
        /// A tensor of the given elements, in row-major order.
        ///
        /// ```
        /// # use zither::DynTensor;
        /// assert_eq!(DynTensor::from_data(vec![1i64, 2], &[1, 2]).shape(), [1, 2]);
        /// ```
        fn from_data try_from_data[T: TensorDType](data: Vec<T>, shape: &[usize]) -> DynTensor {
            Ok(DynTensor::wrap(data_node(&data, shape.into())?))
        }

        /// The same value everywhere.
        ///
        /// ```
        /// use zither::{DynTensor, Literal};
        /// assert_eq!(DynTensor::full(&[2], Literal::I32(7)).data::<i32>()?, [7, 7]);
        /// # Ok::<(), zither::Error>(())
        /// ```
        fn full try_full(shape: &[usize], value: Literal) -> DynTensor {
            Ok(DynTensor::wrap(Node::full(shape, value)?))
        }

        /// Zeros (`false`).
        ///
        /// ```
        /// use zither::{DType, DynTensor};
        /// assert_eq!(DynTensor::zeros(&[2], DType::F32).data::<f32>()?, [0.0, 0.0]);
        /// # Ok::<(), zither::Error>(())
        /// ```
        fn zeros try_zeros(shape: &[usize], dtype: DType) -> DynTensor {
            element_count("zeros", shape, dtype).made_here()?;
            DynTensor::try_full(shape, Literal::zero(dtype))
        }

        /// Ones (`true`).
        ///
        /// ```
        /// use zither::{DType, DynTensor};
        /// assert_eq!(DynTensor::ones(&[2], DType::U8).data::<u8>()?, [1, 1]);
        /// # Ok::<(), zither::Error>(())
        /// ```
        fn ones try_ones(shape: &[usize], dtype: DType) -> DynTensor {
            element_count("ones", shape, dtype).made_here()?;
            DynTensor::try_full(shape, Literal::one(dtype))
        }
    }

    twins! {
        /// Each element converted, as Rust's `as` does it; to `bool`, "is not zero".
        ///
        /// ```
        /// use zither::{DType, DynTensor};
        /// let x = DynTensor::from_data(vec![1.5f32, -2.5], &[2]).cast(DType::I32);
        /// assert_eq!(x.data::<i32>()?, [1, -2]);
        /// # Ok::<(), zither::Error>(())
        /// ```
        fn cast try_cast(&self, dtype: DType) -> DynTensor {
            Ok(DynTensor::wrap(self.node().cast(dtype)?))
        }
    }

    /// A branch made on purpose: the same elements under another handle. Never copies.
    ///
    /// See [`Tensor::fork`](crate::Tensor::fork).
    #[track_caller]
    pub fn fork(&self) -> DynTensor {
        DynTensor::wrap(self.node().fork())
    }
}
