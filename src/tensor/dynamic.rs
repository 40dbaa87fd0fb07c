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
    pub fn shape(&self) -> &[usize] {
        self.node.shape()
    }

    /// The number of axes.
    pub fn rank(&self) -> usize {
        self.node.rank()
    }

    /// The number of elements.
    pub fn len(&self) -> usize {
        self.node.len()
    }

    /// Whether there are no elements.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The type of the elements.
    pub fn dtype(&self) -> DType {
        self.node.dtype()
    }

    twin_functions! {
        /// A tensor of the given elements, in row-major order.
        fn from_data try_from_data[T: TensorDType](data: Vec<T>, shape: &[usize]) -> DynTensor {
            Ok(DynTensor::wrap(data_node(&data, shape.into())?))
        }

        /// The same value everywhere.
        fn full try_full(shape: &[usize], value: Literal) -> DynTensor {
            Ok(DynTensor::wrap(Node::full(shape, value)?))
        }

        /// Zeros (`false`).
        fn zeros try_zeros(shape: &[usize], dtype: DType) -> DynTensor {
            element_count("zeros", shape, dtype).made_here()?;
            DynTensor::try_full(shape, Literal::zero(dtype))
        }

        /// Ones (`true`).
        fn ones try_ones(shape: &[usize], dtype: DType) -> DynTensor {
            element_count("ones", shape, dtype).made_here()?;
            DynTensor::try_full(shape, Literal::one(dtype))
        }
    }

    twins! {
        /// Each element converted, as Rust's `as` does it; to `bool`, "is not zero".
        fn cast try_cast(&self, dtype: DType) -> DynTensor {
            Ok(DynTensor::wrap(self.node().cast(dtype)?))
        }
    }

    /// A branch made on purpose: the same elements under another handle. Never copies.
    #[track_caller]
    pub fn fork(&self) -> DynTensor {
        DynTensor::wrap(self.node().fork())
    }
}
