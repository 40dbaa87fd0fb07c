//! Products of vectors, matrices and tensors.

use super::twins::twins;
use super::{Dim1, Dim2, DimDyn, Dimension, DynTensor, HasAxes, Tensor};
use crate::dtype::{FloatDType, NumericDType};
use crate::ops::compose::product;

impl<T: NumericDType, D: Dimension> Tensor<T, D> {
    twins! {
        /// The sum of products along the last axis of both, for all axes before.
        ///
        /// ```
        /// # use zither::Tensor;
        /// let a = Tensor::new([[1, 2], [3, 4]]);
        /// assert_eq!(a.inner(&a).data()?, [5, 11, 11, 25]);
        /// # Ok::<(), zither::Error>(())
        /// ```
        fn inner try_inner[E: Dimension](&self, other: &Tensor<T, E>) -> Tensor<T, DimDyn> {
            Ok(Tensor::wrap(product::inner(self.node(), other.node())?))
        }

        /// The sum of products over pairs of axes, `left` of this tensor and `right` of the other; what is left of this one
        /// comes first.
        ///
        /// ```
        /// # use zither::Tensor;
        /// let (a, b) = (Tensor::<f32, _>::ones([2, 3, 4]), Tensor::<f32, _>::ones([4, 3, 5]));
        /// assert_eq!(a.tensordot(&b, &[1, 2], &[1, 0]).shape(), [2, 5]);
        /// ```
        fn tensordot try_tensordot[E: Dimension](&self, other: &Tensor<T, E>, left: &[isize], right: &[isize]) -> Tensor<T, DimDyn> {
            Ok(Tensor::wrap(product::tensordot("tensordot", self.node(), other.node(), left, right)?))
        }

        /// Kronecker's product: each element of this tensor times the whole of the other.
        ///
        /// ```
        /// # use zither::Tensor;
        /// assert_eq!(Tensor::new([1, 10]).kron(&Tensor::new([1, 2])).data()?, [1, 2, 10, 20]);
        /// # Ok::<(), zither::Error>(())
        /// ```
        fn kron try_kron(&self, other: &Tensor<T, D>) -> Tensor<T, D> {
            Ok(Tensor::wrap(product::kron(self.node(), other.node())?))
        }
    }
}

impl<T: NumericDType, D: HasAxes> Tensor<T, D> {
    twins! {
        /// The sum of products along one axis; the others broadcast.
        ///
        /// ```
        /// # use zither::Tensor;
        /// let a = Tensor::new([[1, 2], [3, 4]]);
        /// assert_eq!(a.vecdot(&a, 1).data()?, [5, 25]);
        /// # Ok::<(), zither::Error>(())
        /// ```
        fn vecdot try_vecdot(&self, other: &Tensor<T, D>, axis: isize) -> Tensor<T, D::Smaller> {
            Ok(Tensor::wrap(product::vecdot(self.node(), other.node(), axis)?))
        }
    }
}

impl<T: NumericDType> Tensor<T, Dim1> {
    twins! {
        /// `a[i] · b[j]` for all `i` and `j`.
        ///
        /// ```
        /// # use zither::Tensor;
        /// assert_eq!(Tensor::new([1, 2]).outer(&Tensor::new([3, 4])).to_vec2()?, [[3, 4], [6, 8]]);
        /// # Ok::<(), zither::Error>(())
        /// ```
        fn outer try_outer(&self, other: &Tensor<T, Dim1>) -> Tensor<T, Dim2> {
            Ok(Tensor::wrap(product::outer(self.node(), other.node())?))
        }
    }
}

impl<T: FloatDType, D: Dimension> Tensor<T, D> {
    twins! {
        /// `beta · self + alpha · (a @ b)`; this tensor broadcasts. With `beta` 0 it is not looked at.
        ///
        /// ```
        /// # use zither::Tensor;
        /// let (a, b) = (Tensor::new([[1.0f32, 2.0]]), Tensor::new([[3.0f32], [4.0]]));
        /// assert_eq!(Tensor::new([10.0f32]).addmm(&a, &b, 1.0, 2.0).data()?, [32.0]);
        /// # Ok::<(), zither::Error>(())
        /// ```
        fn addmm try_addmm(&self, a: &Tensor<T, Dim2>, b: &Tensor<T, Dim2>, beta: f64, alpha: f64) -> Tensor<T, Dim2> {
            Ok(Tensor::wrap(product::addmm(self.node(), a.node(), b.node(), beta, alpha)?))
        }
    }
}

impl DynTensor {
    twins! {
        /// The sum of products along the last axis of both, for all axes before.
        ///
        /// See [`Tensor::inner`](crate::Tensor::inner).
        fn inner try_inner(&self, other: &DynTensor) -> DynTensor {
            Ok(DynTensor::wrap(product::inner(self.node(), other.node())?))
        }

        /// The sum of products over pairs of axes; see [`Tensor::tensordot`].
        fn tensordot try_tensordot(&self, other: &DynTensor, left: &[isize], right: &[isize]) -> DynTensor {
            Ok(DynTensor::wrap(product::tensordot("tensordot", self.node(), other.node(), left, right)?))
        }

        /// Kronecker's product.
        ///
        /// See [`Tensor::kron`](crate::Tensor::kron).
        fn kron try_kron(&self, other: &DynTensor) -> DynTensor {
            Ok(DynTensor::wrap(product::kron(self.node(), other.node())?))
        }

        /// The sum of products along one axis; the others broadcast.
        ///
        /// See [`Tensor::vecdot`](crate::Tensor::vecdot).
        fn vecdot try_vecdot(&self, other: &DynTensor, axis: isize) -> DynTensor {
            Ok(DynTensor::wrap(product::vecdot(self.node(), other.node(), axis)?))
        }

        /// `a[i] · b[j]` for all `i` and `j`.
        ///
        /// See [`Tensor::outer`](crate::Tensor::outer).
        fn outer try_outer(&self, other: &DynTensor) -> DynTensor {
            Ok(DynTensor::wrap(product::outer(self.node(), other.node())?))
        }

        /// `beta · self + alpha · (a @ b)`; see [`Tensor::addmm`].
        fn addmm try_addmm(&self, a: &DynTensor, b: &DynTensor, beta: f64, alpha: f64) -> DynTensor {
            Ok(DynTensor::wrap(product::addmm(self.node(), a.node(), b.node(), beta, alpha)?))
        }
    }
}
