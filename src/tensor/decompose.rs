//! Linear algebra of small matrices: solving, inverting and taking apart. The numbers are computed at once, in `f64`.

use super::twins::twins;
use super::{Dimension, DynTensor, HasAxes, Tensor};
use crate::dtype::FloatDType;
use crate::linalg::nodes;

/// `U`, the singular values and `Vᵀ`.
type Svd<T, D> = (Tensor<T, D>, Tensor<T, <D as Dimension>::Smaller>, Tensor<T, D>);

/// One number for each matrix.
type Numbers<T, D> = Tensor<T, <<D as Dimension>::Smaller as Dimension>::Smaller>;

impl<T: FloatDType, D: HasAxes> Tensor<T, D> {
    twins! {
        /// `self⁻¹ · b` for square matrices in the last two axes; batches stretch, and a vector `b` is one column.
        ///
        /// ```
        /// # use zither::Tensor;
        /// let a = Tensor::new([[2.0f64, 0.0], [0.0, 4.0]]);
        /// assert_eq!(a.solve(&Tensor::new([[2.0], [8.0]])).data()?, [1.0, 2.0]);
        /// # Ok::<(), zither::Error>(())
        /// ```
        fn solve try_solve[E: Dimension](&self, b: &Tensor<T, E>) -> Tensor<T, E> {
            let result = nodes::solve(self.node(), b.node())?;
            if E::RANK.is_some_and(|rank| rank != result.rank()) {
                let message = format!("a batch of matrices {:?} needs a batch on the right, not {:?}", self.shape(), b.shape());
                return Err(crate::error::Error::new(crate::error::ErrorKind::Shape, "solve", message));
            }
            Ok(Tensor::wrap(result))
        }

        /// The inverse of the matrices in the last two axes.
        ///
        /// ```
        /// # use zither::Tensor;
        /// assert_eq!(Tensor::new([[0.0f64, 2.0], [4.0, 0.0]]).inverse().data()?, [0.0, 0.25, 0.5, 0.0]);
        /// # Ok::<(), zither::Error>(())
        /// ```
        fn inverse try_inverse(&self) -> Tensor<T, D> {
            Ok(Tensor::wrap(nodes::inverse(self.node())?))
        }

        /// The lower triangle `L` of positive definite matrices, `L · Lᵀ`.
        ///
        /// ```
        /// # use zither::Tensor;
        /// assert_eq!(Tensor::new([[4.0f64, 2.0], [2.0, 2.0]]).cholesky().data()?, [2.0, 0.0, 1.0, 1.0]);
        /// # Ok::<(), zither::Error>(())
        /// ```
        fn cholesky try_cholesky(&self) -> Tensor<T, D> {
            Ok(Tensor::wrap(nodes::cholesky(self.node())?))
        }

        /// `Q` with orthonormal columns and `R` upper triangular, whose product this is. No derivative is built.
        ///
        /// ```
        /// # use zither::Tensor;
        /// let (q, r) = Tensor::new([[0.0f64, 2.0], [1.0, 3.0]]).qr();
        /// let back = q.matmul(&r).data()?;
        /// assert!(back.iter().zip([0.0, 2.0, 1.0, 3.0]).all(|(a, b)| (a - b).abs() < 1e-12));
        /// # Ok::<(), zither::Error>(())
        /// ```
        fn qr try_qr(&self) -> (Tensor<T, D>, Tensor<T, D>) {
            let (q, r) = nodes::qr(self.node())?;
            Ok((Tensor::wrap(q), Tensor::wrap(r)))
        }

        /// The eigenvalues, smallest first, and eigenvectors (columns) of symmetric matrices. The values have a derivative.
        ///
        /// ```
        /// # use zither::Tensor;
        /// let (values, _) = Tensor::new([[3.0f64, 0.0], [0.0, 1.0]]).eigh();
        /// assert_eq!(values.data()?, [1.0, 3.0]);
        /// # Ok::<(), zither::Error>(())
        /// ```
        fn eigh try_eigh(&self) -> (Tensor<T, D::Smaller>, Tensor<T, D>) {
            let (values, vectors) = nodes::eigh(self.node())?;
            Ok((Tensor::wrap(values), Tensor::wrap(vectors)))
        }

        /// `U`, the singular values, largest first, and `Vᵀ`: this is `U · diag(s) · Vᵀ`. The values have a derivative.
        ///
        /// ```
        /// # use zither::Tensor;
        /// let (_, s, _) = Tensor::new([[0.0f64, 3.0], [-4.0, 0.0]]).svd();
        /// assert_eq!(s.data()?, [4.0, 3.0]);
        /// # Ok::<(), zither::Error>(())
        /// ```
        fn svd try_svd(&self) -> Svd<T, D> {
            let (u, s, vt) = nodes::svd(self.node())?;
            Ok((Tensor::wrap(u), Tensor::wrap(s), Tensor::wrap(vt)))
        }
    }
}

impl<T: FloatDType, D: HasAxes> Tensor<T, D>
where
    D::Smaller: HasAxes,
{
    twins! {
        /// The determinant of the matrices in the last two axes.
        ///
        /// ```
        /// # use zither::Tensor;
        /// assert_eq!(Tensor::new([[1.0f64, 2.0], [3.0, 4.0]]).det().item()?, -2.0);
        /// # Ok::<(), zither::Error>(())
        /// ```
        fn det try_det(&self) -> Numbers<T, D> {
            Ok(Tensor::wrap(nodes::det(self.node())?))
        }

        /// The sign of the determinants, and the logarithms of their sizes.
        ///
        /// ```
        /// # use zither::Tensor;
        /// let (sign, logarithm) = Tensor::new([[2.0f64, 0.0], [0.0, -3.0]]).slogdet();
        /// assert_eq!(sign.item()?, -1.0);
        /// assert!((logarithm.item()? - 6f64.ln()).abs() < 1e-12);
        /// # Ok::<(), zither::Error>(())
        /// ```
        fn slogdet try_slogdet(&self) -> (Numbers<T, D>, Numbers<T, D>) {
            let (sign, log) = nodes::slogdet(self.node())?;
            Ok((Tensor::wrap(sign), Tensor::wrap(log)))
        }
    }
}

impl DynTensor {
    twins! {
        /// `self⁻¹ · b`; see [`Tensor::solve`].
        fn solve try_solve(&self, b: &DynTensor) -> DynTensor {
            Ok(DynTensor::wrap(nodes::solve(self.node(), b.node())?))
        }

        /// The inverse of the matrices in the last two axes.
        ///
        /// See [`Tensor::inverse`](crate::Tensor::inverse).
        fn inverse try_inverse(&self) -> DynTensor {
            Ok(DynTensor::wrap(nodes::inverse(self.node())?))
        }

        /// The determinant of the matrices in the last two axes.
        ///
        /// See [`Tensor::det`](crate::Tensor::det).
        fn det try_det(&self) -> DynTensor {
            Ok(DynTensor::wrap(nodes::det(self.node())?))
        }

        /// The sign of the determinants, and the logarithms of their sizes.
        ///
        /// See [`Tensor::slogdet`](crate::Tensor::slogdet).
        fn slogdet try_slogdet(&self) -> (DynTensor, DynTensor) {
            let (sign, log) = nodes::slogdet(self.node())?;
            Ok((DynTensor::wrap(sign), DynTensor::wrap(log)))
        }

        /// The lower triangle `L` of positive definite matrices, `L · Lᵀ`.
        ///
        /// See [`Tensor::cholesky`](crate::Tensor::cholesky).
        fn cholesky try_cholesky(&self) -> DynTensor {
            Ok(DynTensor::wrap(nodes::cholesky(self.node())?))
        }

        /// `Q` and `R`; see [`Tensor::qr`].
        fn qr try_qr(&self) -> (DynTensor, DynTensor) {
            let (q, r) = nodes::qr(self.node())?;
            Ok((DynTensor::wrap(q), DynTensor::wrap(r)))
        }

        /// Eigenvalues and eigenvectors of symmetric matrices; see [`Tensor::eigh`].
        fn eigh try_eigh(&self) -> (DynTensor, DynTensor) {
            let (values, vectors) = nodes::eigh(self.node())?;
            Ok((DynTensor::wrap(values), DynTensor::wrap(vectors)))
        }

        /// `U`, the singular values and `Vᵀ`; see [`Tensor::svd`].
        fn svd try_svd(&self) -> (DynTensor, DynTensor, DynTensor) {
            let (u, s, vt) = nodes::svd(self.node())?;
            Ok((DynTensor::wrap(u), DynTensor::wrap(s), DynTensor::wrap(vt)))
        }
    }
}
