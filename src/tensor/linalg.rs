//! Products of matrices.

use super::twins::twins;
use super::{Dimension, DynTensor, MatMulWith, Tensor};
use crate::dtype::NumericDType;
use crate::ops::compose::contraction;

impl<T: NumericDType, D: Dimension> Tensor<T, D> {
    twins! {
        /// The matrix product of the last two axes; axes before them broadcast. A vector is a row on the left and a
        /// column on the right, and its axis goes away.
        ///
        /// ```
        /// use zither::Tensor;
        /// let a = Tensor::new([[1.0f32, 2.0], [3.0, 4.0]]);
        /// let x = Tensor::new([1.0f32, 1.0]);
        /// assert_eq!(a.matmul(&x).data()?, [3.0, 7.0]);
        /// # Ok::<(), zither::Error>(())
        /// ```
        fn matmul try_matmul[E: Dimension](&self, other: &Tensor<T, E>) -> Tensor<T, <D as MatMulWith<E>>::Output> [D: MatMulWith<E>] {
            Ok(Tensor::wrap(contraction::matmul(self.node(), other.node())?))
        }
    }
}

impl DynTensor {
    twins! {
        /// The matrix product of the last two axes; axes before them broadcast.
        ///
        /// See [`Tensor::matmul`](crate::Tensor::matmul).
        fn matmul try_matmul(&self, other: &DynTensor) -> DynTensor {
            Ok(DynTensor::wrap(contraction::matmul(self.node(), other.node())?))
        }
    }
}
