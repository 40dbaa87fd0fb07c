//! Between typed and dynamic tensors, and between dtypes. What the types do not know is checked.

use super::twins::twins;
use super::{DimDyn, Dimension, DynTensor, Tensor};
use crate::dtype::TensorDType;
use crate::error::{Error, ErrorKind, Result};

impl<T: TensorDType, D: Dimension> Tensor<T, D> {
    /// The same tensor with the rank known at run time only.
    ///
    /// ```
    /// use zither::{DimDyn, Tensor};
    /// let x: Tensor<f32, DimDyn> = Tensor::new([1.0f32, 2.0]).into_dyn();
    /// assert_eq!(x.shape(), [2]);
    /// ```
    pub fn into_dyn(self) -> Tensor<T, DimDyn> {
        Tensor::wrap(self.node().clone())
    }

    /// The same tensor with dtype and rank known at run time only.
    ///
    /// ```
    /// use zither::{DType, Tensor};
    /// assert_eq!(Tensor::new([1.0f32]).to_dynamic().dtype(), DType::F32);
    /// ```
    pub fn to_dynamic(&self) -> DynTensor {
        DynTensor::wrap(self.node().clone())
    }

    twins! {
        /// The same tensor with its rank in the type.
        ///
        /// ```
        /// use zither::{Dim1, Dim2, Tensor};
        /// let x = Tensor::new([1.0f32, 2.0]).into_dyn();
        /// assert_eq!(x.to_dim::<Dim1>().data()?, [1.0, 2.0]);
        /// assert!(x.try_to_dim::<Dim2>().is_err());
        /// # Ok::<(), zither::Error>(())
        /// ```
        fn to_dim try_to_dim[E: Dimension](&self) -> Tensor<T, E> {
            check_rank::<E>("to_dim", self.node())?;
            Ok(Tensor::wrap(self.node().clone()))
        }

        /// Each element converted, as Rust's `as` does it; to `bool`, "is not zero".
        ///
        /// ```
        /// use zither::{Dim1, Tensor};
        /// let i = Tensor::new([1i32, 2, 3]);
        /// let f: Tensor<f32, Dim1> = i.cast();
        /// assert_eq!(f.data()?, [1.0, 2.0, 3.0]);
        /// # Ok::<(), zither::Error>(())
        /// ```
        fn cast try_cast[U: TensorDType](&self) -> Tensor<U, D> {
            Ok(Tensor::wrap(self.node().cast(U::DTYPE)?))
        }
    }
}

impl DynTensor {
    twins! {
        /// The same tensor with dtype and rank in the type.
        ///
        /// ```
        /// use zither::{Dim1, DynTensor, Tensor};
        /// let d: DynTensor = Tensor::new([1i64, 2]).to_dynamic();
        /// let t: Tensor<i64, Dim1> = d.to_typed();
        /// assert!(d.try_to_typed::<f32, Dim1>().is_err());
        /// ```
        fn to_typed try_to_typed[T: TensorDType, D: Dimension](&self) -> Tensor<T, D> {
            if self.dtype() != T::DTYPE {
                let message = format!("expected {}, got {}: cast it first", T::DTYPE, self.dtype());
                return Err(Error::new(ErrorKind::DType, "to_typed", message).made_at("tensor", self.node().at()));
            }
            check_rank::<D>("to_typed", self.node())?;
            Ok(Tensor::wrap(self.node().clone()))
        }
    }
}

/// An error unless the node has the rank the type says.
fn check_rank<D: Dimension>(op: &str, node: &crate::graph::Node) -> Result<()> {
    match D::RANK {
        Some(rank) if rank != node.rank() => {
            let message = format!("expected rank {rank}, got shape {:?} of rank {}", node.shape(), node.rank());
            Err(Error::new(ErrorKind::Shape, op, message).made_at("tensor", node.at()))
        }
        _ => Ok(()),
    }
}

impl<T: TensorDType, D: Dimension> From<Tensor<T, D>> for DynTensor {
    fn from(tensor: Tensor<T, D>) -> DynTensor {
        tensor.to_dynamic()
    }
}

impl<T: TensorDType, D: Dimension> TryFrom<DynTensor> for Tensor<T, D> {
    type Error = Error;
    #[track_caller]
    fn try_from(tensor: DynTensor) -> Result<Tensor<T, D>> {
        tensor.try_to_typed()
    }
}
