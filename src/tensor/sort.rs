//! Sorting and what follows from it. Equal elements stay in order, and NaN is larger than every number, as in PyTorch and NumPy.

use super::twins::twins;
use super::{Dimension, DynTensor, Tensor};
use crate::dtype::TensorDType;
use crate::graph::Node;
use crate::ops::compose::sort;

fn typed<T: TensorDType, D: Dimension>((values, places): (Node, Node)) -> (Tensor<T, D>, Tensor<i64, D>) {
    (Tensor::wrap(values), Tensor::wrap(places))
}

fn dynamic((values, places): (Node, Node)) -> (DynTensor, DynTensor) {
    (DynTensor::wrap(values), DynTensor::wrap(places))
}

impl<T: TensorDType, D: Dimension> Tensor<T, D> {
    twins! {
        /// The elements of an axis in order, and the positions they had. Equal elements keep their order.
        ///
        /// ```
        /// let (values, places) = zither::Tensor::new([3.0f32, f32::NAN, 1.0]).sort(0, false);
        /// assert_eq!((values.data()?[..2].to_vec(), places.data()?), (vec![1.0, 3.0], vec![2, 0, 1]));
        /// # Ok::<(), zither::Error>(())
        /// ```
        fn sort try_sort(&self, axis: isize, descending: bool) -> (Tensor<T, D>, Tensor<i64, D>) {
            Ok(typed(sort::sort(self.node(), axis, descending)?))
        }

        /// The positions that bring an axis in order. Equal elements keep their order.
        ///
        /// ```
        /// assert_eq!(zither::Tensor::new([3, 1, 2, 1]).argsort(0, false).data()?, [1, 3, 2, 0]);
        /// # Ok::<(), zither::Error>(())
        /// ```
        fn argsort try_argsort(&self, axis: isize, descending: bool) -> Tensor<i64, D> {
            Ok(Tensor::wrap(sort::argsort(self.node(), axis, descending)?))
        }

        /// The `k` largest elements of an axis (or the smallest), the best first, and their positions. NumPy: `partition`.
        ///
        /// ```
        /// let (values, places) = zither::Tensor::new([3, 9, 2, 7]).topk(2, 0, true);
        /// assert_eq!((values.data()?, places.data()?), (vec![9, 7], vec![1, 3]));
        /// # Ok::<(), zither::Error>(())
        /// ```
        fn topk try_topk(&self, k: usize, axis: isize, largest: bool) -> (Tensor<T, D>, Tensor<i64, D>) {
            Ok(typed(sort::topk(self.node(), k, axis, largest)?))
        }

        /// The `k`-th smallest element of an axis, counted from 1, and its position; the axis stays as 1.
        ///
        /// ```
        /// let (value, place) = zither::Tensor::new([3, 9, 2, 7]).kthvalue(3, 0);
        /// assert_eq!((value.data()?, place.data()?), (vec![7], vec![3]));
        /// # Ok::<(), zither::Error>(())
        /// ```
        fn kthvalue try_kthvalue(&self, k: usize, axis: isize) -> (Tensor<T, D>, Tensor<i64, D>) {
            Ok(typed(sort::kthvalue("kthvalue", self.node(), k, axis)?))
        }

        /// The element in the middle of an axis (of two the smaller, as PyTorch does), and its position; the axis stays as 1. NaN wins.
        ///
        /// ```
        /// let (value, place) = zither::Tensor::new([3, 9, 2, 7]).median(0);
        /// assert_eq!((value.data()?, place.data()?), (vec![3], vec![0]));
        /// # Ok::<(), zither::Error>(())
        /// ```
        fn median try_median(&self, axis: isize) -> (Tensor<T, D>, Tensor<i64, D>) {
            Ok(typed(sort::median(self.node(), axis)?))
        }

        /// For each of `values` how many elements of this tensor, whose last axis is in order, come before it; with `right` those that
        /// are equal too. This has one axis, or the axes of `values` but for the last.
        ///
        /// ```
        /// use zither::Tensor;
        /// let edges = Tensor::new([1, 3, 5]);
        /// assert_eq!(edges.searchsorted(&Tensor::new([0, 3, 9]), false).data()?, [0, 1, 3]);
        /// assert_eq!(edges.searchsorted(&Tensor::new([0, 3, 9]), true).data()?, [0, 2, 3]);
        /// # Ok::<(), zither::Error>(())
        /// ```
        #[doc(alias = "bucketize")]
        #[doc(alias = "digitize")]
        fn searchsorted try_searchsorted[E: Dimension](&self, values: &Tensor<T, E>, right: bool) -> Tensor<i64, E> {
            Ok(Tensor::wrap(sort::searchsorted(self.node(), values.node(), right)?))
        }
    }
}

impl DynTensor {
    twins! {
        /// The elements of an axis in order, and the positions they had.
        ///
        /// See [`Tensor::sort`](crate::Tensor::sort).
        fn sort try_sort(&self, axis: isize, descending: bool) -> (DynTensor, DynTensor) {
            Ok(dynamic(sort::sort(self.node(), axis, descending)?))
        }

        /// The positions that bring an axis in order.
        ///
        /// See [`Tensor::argsort`](crate::Tensor::argsort).
        fn argsort try_argsort(&self, axis: isize, descending: bool) -> DynTensor {
            Ok(DynTensor::wrap(sort::argsort(self.node(), axis, descending)?))
        }

        /// The `k` largest elements of an axis (or the smallest), the best first, and their positions.
        ///
        /// See [`Tensor::topk`](crate::Tensor::topk).
        fn topk try_topk(&self, k: usize, axis: isize, largest: bool) -> (DynTensor, DynTensor) {
            Ok(dynamic(sort::topk(self.node(), k, axis, largest)?))
        }

        /// The `k`-th smallest element of an axis, counted from 1, and its position; the axis stays as 1.
        ///
        /// See [`Tensor::kthvalue`](crate::Tensor::kthvalue).
        fn kthvalue try_kthvalue(&self, k: usize, axis: isize) -> (DynTensor, DynTensor) {
            Ok(dynamic(sort::kthvalue("kthvalue", self.node(), k, axis)?))
        }

        /// The element in the middle of an axis, and its position; the axis stays as 1.
        ///
        /// See [`Tensor::median`](crate::Tensor::median).
        fn median try_median(&self, axis: isize) -> (DynTensor, DynTensor) {
            Ok(dynamic(sort::median(self.node(), axis)?))
        }

        /// For each of `values` how many elements of this tensor's last axis, which is in order, come before it.
        ///
        /// See [`Tensor::searchsorted`](crate::Tensor::searchsorted).
        fn searchsorted try_searchsorted(&self, values: &DynTensor, right: bool) -> DynTensor {
            Ok(DynTensor::wrap(sort::searchsorted(self.node(), values.node(), right)?))
        }
    }
}
