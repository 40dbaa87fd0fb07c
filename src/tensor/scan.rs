//! Running totals along an axis.

use super::twins::twins;
use super::{Dimension, DynTensor, Tensor};
use crate::dtype::{FloatDType, NumericDType};
use crate::ops::compose::scan;

impl<T: NumericDType, D: Dimension> Tensor<T, D> {
    twins! {
        /// The sum of each element and all before it along an axis. Integers wrap.
        ///
        /// ```
        /// use zither::Tensor;
        /// let x = Tensor::new([[1, 2, 3], [4, 5, 6]]);
        /// assert_eq!(x.cumsum(1).to_vec2()?, [[1, 3, 6], [4, 9, 15]]);
        /// assert_eq!(x.cumsum(0).to_vec2()?, [[1, 2, 3], [5, 7, 9]]);
        /// # Ok::<(), zither::Error>(())
        /// ```
        fn cumsum try_cumsum(&self, axis: isize) -> Tensor<T, D> {
            Ok(Tensor::wrap(scan::cumsum(self.node(), axis)?))
        }

        /// The product of each element and all before it along an axis. Integers wrap. The gradient is exact among zeros.
        ///
        /// ```
        /// use zither::{Tensor, grad};
        /// let x = Tensor::new([2.0f32, 0.0, 3.0, 4.0]);
        /// assert_eq!(x.cumprod(0).data()?, [2.0, 0.0, 0.0, 0.0]);
        /// assert_eq!(grad(&x.cumprod(0).sum_all(), &[&x])?[0].data()?, [1.0, 32.0, 0.0, 0.0]);
        /// # Ok::<(), zither::Error>(())
        /// ```
        fn cumprod try_cumprod(&self, axis: isize) -> Tensor<T, D> {
            Ok(Tensor::wrap(scan::cumprod(self.node(), axis)?))
        }

        /// The largest of each element and all before it along an axis, and the last place where it was met. NaN wins, and stays.
        ///
        /// ```
        /// let (values, places) = zither::Tensor::new([1.0f32, 3.0, 2.0, 3.0]).cummax(0);
        /// assert_eq!((values.data()?, places.data()?), (vec![1.0, 3.0, 3.0, 3.0], vec![0, 1, 1, 3]));
        /// # Ok::<(), zither::Error>(())
        /// ```
        fn cummax try_cummax(&self, axis: isize) -> (Tensor<T, D>, Tensor<i64, D>) {
            let (values, places) = scan::cummax(self.node(), axis)?;
            Ok((Tensor::wrap(values), Tensor::wrap(places)))
        }

        /// The smallest of each element and all before it along an axis, and the last place where it was met. NaN wins, and stays.
        ///
        /// ```
        /// let (values, places) = zither::Tensor::new([2, 3, 1, 5]).cummin(0);
        /// assert_eq!((values.data()?, places.data()?), (vec![2, 2, 1, 1], vec![0, 0, 2, 2]));
        /// # Ok::<(), zither::Error>(())
        /// ```
        fn cummin try_cummin(&self, axis: isize) -> (Tensor<T, D>, Tensor<i64, D>) {
            let (values, places) = scan::cummin(self.node(), axis)?;
            Ok((Tensor::wrap(values), Tensor::wrap(places)))
        }

        /// `h = a · h + x` along an axis, beginning with `h = 0`, with this tensor as `x` and `factor` as `a`: leaky sums,
        /// moving averages, state-space models.
        ///
        /// ```
        /// use zither::Tensor;
        /// let half = Tensor::full([3], 0.5f32);
        /// assert_eq!(Tensor::new([1.0f32, 1.0, 1.0]).linear_scan(&half, 0).data()?, [1.0, 1.5, 1.75]);
        /// # Ok::<(), zither::Error>(())
        /// ```
        fn linear_scan try_linear_scan(&self, factor: &Tensor<T, D>, axis: isize) -> Tensor<T, D> {
            Ok(Tensor::wrap(scan::linear_scan(factor.node(), self.node(), axis)?))
        }
    }
}

impl<T: FloatDType, D: Dimension> Tensor<T, D> {
    twins! {
        /// ln Σ eˣ of each element and all before it along an axis, without overflow.
        ///
        /// ```
        /// let y = zither::Tensor::new([1000.0f32, 1000.0]).logcumsumexp(0).data()?;
        /// assert_eq!(y, [1000.0, 1000.0 + 2f32.ln()]);
        /// # Ok::<(), zither::Error>(())
        /// ```
        fn logcumsumexp try_logcumsumexp(&self, axis: isize) -> Tensor<T, D> {
            Ok(Tensor::wrap(scan::logcumsumexp(self.node(), axis)?))
        }
    }
}

impl DynTensor {
    twins! {
        /// The sum of each element and all before it along an axis.
        ///
        /// See [`Tensor::cumsum`](crate::Tensor::cumsum).
        fn cumsum try_cumsum(&self, axis: isize) -> DynTensor {
            Ok(DynTensor::wrap(scan::cumsum(self.node(), axis)?))
        }

        /// The product of each element and all before it along an axis.
        ///
        /// See [`Tensor::cumprod`](crate::Tensor::cumprod).
        fn cumprod try_cumprod(&self, axis: isize) -> DynTensor {
            Ok(DynTensor::wrap(scan::cumprod(self.node(), axis)?))
        }

        /// The largest of each element and all before it along an axis, and the last place where it was met.
        ///
        /// See [`Tensor::cummax`](crate::Tensor::cummax).
        fn cummax try_cummax(&self, axis: isize) -> (DynTensor, DynTensor) {
            let (values, places) = scan::cummax(self.node(), axis)?;
            Ok((DynTensor::wrap(values), DynTensor::wrap(places)))
        }

        /// The smallest of each element and all before it along an axis, and the last place where it was met.
        ///
        /// See [`Tensor::cummin`](crate::Tensor::cummin).
        fn cummin try_cummin(&self, axis: isize) -> (DynTensor, DynTensor) {
            let (values, places) = scan::cummin(self.node(), axis)?;
            Ok((DynTensor::wrap(values), DynTensor::wrap(places)))
        }

        /// `h = factor · h + x` along an axis, beginning with `h = 0`.
        ///
        /// See [`Tensor::linear_scan`](crate::Tensor::linear_scan).
        fn linear_scan try_linear_scan(&self, factor: &DynTensor, axis: isize) -> DynTensor {
            Ok(DynTensor::wrap(scan::linear_scan(factor.node(), self.node(), axis)?))
        }

        /// ln Σ eˣ of each element and all before it along an axis, without overflow.
        ///
        /// See [`Tensor::logcumsumexp`](crate::Tensor::logcumsumexp).
        fn logcumsumexp try_logcumsumexp(&self, axis: isize) -> DynTensor {
            Ok(DynTensor::wrap(scan::logcumsumexp(self.node(), axis)?))
        }
    }
}
