//! Reading and writing by index tensors: gather, scatter and their relatives.

use super::elementwise::bound;
use super::twins::twins;
use super::{Dim1, Dim2, Dimension, DynTensor, Tensor};
use crate::dtype::{IntegerDType, NumericDType, TensorDType};
use crate::ops::compose::{indexing, scatter};

/// How elements that go to one place become one; see [`Tensor::scatter_reduce`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ScatterReduce {
    /// Their sum.
    Sum,
    /// Their product.
    Prod,
    /// The largest; NaN wins. Ties share the gradient.
    Max,
    /// The smallest; NaN wins. Ties share the gradient.
    Min,
    /// Their mean; of integers rounded as division is.
    Mean,
}

impl ScatterReduce {
    fn combine(self) -> scatter::Combine {
        match self {
            ScatterReduce::Sum => scatter::Combine::Add,
            ScatterReduce::Prod => scatter::Combine::Prod,
            ScatterReduce::Max => scatter::Combine::Max,
            ScatterReduce::Min => scatter::Combine::Min,
            ScatterReduce::Mean => scatter::Combine::Mean,
        }
    }
}

impl<T: TensorDType, D: Dimension> Tensor<T, D> {
    twins! {
        /// For each place of `index` the element it names along an axis: `out[i, j] = self[index[i, j], j]` along axis 0 of a matrix.
        /// The index may be shorter than the tensor along the other axes; numbers below zero count from the end. NumPy:
        /// `take_along_axis`.
        ///
        /// ```
        /// use zither::Tensor;
        /// let x = Tensor::new([[1, 2], [3, 4]]);
        /// assert_eq!(x.gather(1, &Tensor::new([[0, 0], [1, 0]])).to_vec2()?, [[1, 1], [4, 3]]);
        /// # Ok::<(), zither::Error>(())
        /// ```
        #[doc(alias = "take_along_axis")]
        #[doc(alias = "take_along_dim")]
        fn gather try_gather[I: IntegerDType](&self, axis: isize, index: &Tensor<I, D>) -> Tensor<T, D> {
            Ok(Tensor::wrap(indexing::gather(self.node(), axis, index.node())?))
        }

        /// The elements that `index` names in row-major order, in the shape of the index.
        ///
        /// ```
        /// use zither::Tensor;
        /// let x = Tensor::new([[1, 2], [3, 4]]);
        /// assert_eq!(x.take(&Tensor::new([3, 0, -2])).data()?, [4, 1, 3]);
        /// # Ok::<(), zither::Error>(())
        /// ```
        fn take try_take[I: IntegerDType, E: Dimension](&self, index: &Tensor<I, E>) -> Tensor<T, E> {
            Ok(Tensor::wrap(indexing::take(self.node(), index.node())?))
        }

        /// This tensor with elements of `source` where `index` says: `out[index[i, j], j] = source[i, j]` along axis 0 of a matrix. Of
        /// several for one place the last, in row-major order, stays. NumPy: `put_along_axis`.
        ///
        /// ```
        /// use zither::Tensor;
        /// let x = Tensor::new([1, 2, 3, 4]);
        /// assert_eq!(x.scatter(0, &Tensor::new([3, 0]), &Tensor::new([30, 0])).data()?, [0, 2, 3, 30]);
        /// # Ok::<(), zither::Error>(())
        /// ```
        #[doc(alias = "put_along_axis")]
        fn scatter try_scatter[I: IntegerDType](&self, axis: isize, index: &Tensor<I, D>, source: &Tensor<T, D>) -> Tensor<T, D> {
            Ok(Tensor::wrap(scatter::scatter(self.node(), axis, index.node(), source.node())?))
        }

        /// This tensor with slices of `source` at the places that `index` names along an axis; of several for one place the last stays.
        ///
        /// ```
        /// use zither::Tensor;
        /// let x = Tensor::new([[1, 1], [2, 2], [3, 3]]);
        /// let y = x.index_copy(0, &Tensor::new([2]), &Tensor::new([[7, 8]]));
        /// assert_eq!(y.to_vec2()?, [[1, 1], [2, 2], [7, 8]]);
        /// # Ok::<(), zither::Error>(())
        /// ```
        fn index_copy try_index_copy[I: IntegerDType](&self, axis: isize, index: &Tensor<I, Dim1>, source: &Tensor<T, D>) -> Tensor<T, D> {
            Ok(Tensor::wrap(scatter::index_copy(self.node(), axis, index.node(), source.node())?))
        }

        /// This tensor with one value at the places that `index` names along an axis.
        ///
        /// ```
        /// use zither::Tensor;
        /// let x = Tensor::new([[1, 2, 3], [4, 5, 6]]);
        /// assert_eq!(x.index_fill(1, &Tensor::new([0, -1]), 0).to_vec2()?, [[0, 2, 0], [0, 5, 0]]);
        /// # Ok::<(), zither::Error>(())
        /// ```
        fn index_fill try_index_fill[I: IntegerDType](&self, axis: isize, index: &Tensor<I, Dim1>, value: T) -> Tensor<T, D> {
            Ok(Tensor::wrap(scatter::index_fill(self.node(), axis, index.node(), value.literal())?))
        }

        /// This tensor with elements of `source` at the row-major places that `index`, of the same shape, names. Of several for one place
        /// the last stays.
        ///
        /// ```
        /// use zither::Tensor;
        /// let x = Tensor::new([[1, 2], [3, 4]]);
        /// assert_eq!(x.put(&Tensor::new([3, 0]), &Tensor::new([40, 10])).to_vec2()?, [[10, 2], [3, 40]]);
        /// # Ok::<(), zither::Error>(())
        /// ```
        fn put try_put[I: IntegerDType, E: Dimension](&self, index: &Tensor<I, E>, source: &Tensor<T, E>) -> Tensor<T, D> {
            Ok(Tensor::wrap(scatter::put(self.node(), index.node(), source.node(), false)?))
        }

        /// `value` where `mask`, which broadcasts, is true.
        ///
        /// ```
        /// use zither::Tensor;
        /// let x = Tensor::new([1.0f32, -2.0, 3.0]);
        /// assert_eq!(x.masked_fill(&x.lt(0.0), 0.5).data()?, [1.0, 0.5, 3.0]);
        /// # Ok::<(), zither::Error>(())
        /// ```
        fn masked_fill try_masked_fill[E: Dimension](&self, mask: &Tensor<bool, E>, value: T) -> Tensor<T, D> {
            Ok(Tensor::wrap(indexing::masked_fill(self.node(), mask.node(), value.literal())?))
        }
    }
}

impl<T: NumericDType, D: Dimension> Tensor<T, D> {
    twins! {
        /// This tensor with elements of `source` added where `index` says: `out[index[i, j], j] += source[i, j]` along axis 0 of a
        /// matrix. The sum is the same bits for any number of threads.
        ///
        /// ```
        /// use zither::Tensor;
        /// let x = Tensor::<f32, _>::zeros([3]);
        /// let y = x.scatter_add(0, &Tensor::new([0, 2, 0]), &Tensor::new([1.0, 2.0, 3.0]));
        /// assert_eq!(y.data()?, [4.0, 0.0, 2.0]);
        /// # Ok::<(), zither::Error>(())
        /// ```
        fn scatter_add try_scatter_add[I: IntegerDType](&self, axis: isize, index: &Tensor<I, D>, source: &Tensor<T, D>) -> Tensor<T, D> {
            Ok(Tensor::wrap(scatter::scatter_add(self.node(), axis, index.node(), source.node())?))
        }

        /// This tensor combined with elements of `source` where `index` says; without `include_self` what was at a place gives way to
        /// what comes.
        ///
        /// ```
        /// use zither::{ScatterReduce, Tensor};
        /// let (x, index) = (Tensor::new([5, 0, 9]), Tensor::new([0, 0, 1]));
        /// let source = Tensor::new([3, 8, 4]);
        /// assert_eq!(x.scatter_reduce(0, &index, &source, ScatterReduce::Max, true).data()?, [8, 4, 9]);
        /// assert_eq!(x.scatter_reduce(0, &index, &source, ScatterReduce::Min, false).data()?, [3, 4, 9]);
        /// # Ok::<(), zither::Error>(())
        /// ```
        fn scatter_reduce try_scatter_reduce[I: IntegerDType](&self, axis: isize, index: &Tensor<I, D>, source: &Tensor<T, D>, how: ScatterReduce, include_self: bool) -> Tensor<T, D> {
            let node = scatter::scatter_reduce(self.node(), axis, index.node(), source.node(), how.combine(), include_self)?;
            Ok(Tensor::wrap(node))
        }

        /// This tensor with slices of `source` added at the places that `index` names along an axis. NumPy: `add.at`.
        ///
        /// ```
        /// use zither::Tensor;
        /// let x = Tensor::<i32, _>::zeros([2, 2]);
        /// let y = x.index_add(0, &Tensor::new([1, 1]), &Tensor::new([[1, 2], [3, 4]]));
        /// assert_eq!(y.to_vec2()?, [[0, 0], [4, 6]]);
        /// # Ok::<(), zither::Error>(())
        /// ```
        #[doc(alias = "add_at")]
        fn index_add try_index_add[I: IntegerDType](&self, axis: isize, index: &Tensor<I, Dim1>, source: &Tensor<T, D>) -> Tensor<T, D> {
            Ok(Tensor::wrap(scatter::index_add(self.node(), axis, index.node(), source.node())?))
        }

        /// As [`put`](Self::put), but elements are added to what is there.
        ///
        /// ```
        /// use zither::Tensor;
        /// let x = Tensor::new([[1, 2], [3, 4]]);
        /// assert_eq!(x.put_add(&Tensor::new([0, 0]), &Tensor::new([10, 20])).to_vec2()?, [[31, 2], [3, 4]]);
        /// # Ok::<(), zither::Error>(())
        /// ```
        fn put_add try_put_add[I: IntegerDType, E: Dimension](&self, index: &Tensor<I, E>, source: &Tensor<T, E>) -> Tensor<T, D> {
            Ok(Tensor::wrap(scatter::put(self.node(), index.node(), source.node(), true)?))
        }
    }
}

impl<T: TensorDType> Tensor<T, Dim2> {
    twins! {
        /// The rows of this table that `index`, of any shape, names: `out[i, j, :] = self[index[i, j], :]`. The gradient adds up what
        /// each row was used for.
        ///
        /// ```
        /// use zither::Tensor;
        /// let table = Tensor::new([[1.0f32, 2.0], [3.0, 4.0], [5.0, 6.0]]);
        /// let words = table.embedding(&Tensor::new([2, 0]));
        /// assert_eq!(words.to_vec2()?, [[5.0, 6.0], [1.0, 2.0]]);
        /// # Ok::<(), zither::Error>(())
        /// ```
        fn embedding try_embedding[I: IntegerDType, E: Dimension](&self, index: &Tensor<I, E>) -> Tensor<T, E::Larger> {
            Ok(Tensor::wrap(indexing::embedding(self.node(), index.node())?))
        }
    }
}

impl<I: IntegerDType, D: Dimension> Tensor<I, D> {
    twins! {
        /// 1 at the class that each number names along a new last axis of `classes`, 0 elsewhere. Nothing is written down: a product with it,
        /// or a sum over it, computes it on the way.
        ///
        /// ```
        /// let classes = zither::Tensor::new([2, 0]).one_hot(3);
        /// assert_eq!(classes.to_vec2()?, [[0, 0, 1], [1, 0, 0]]);
        /// # Ok::<(), zither::Error>(())
        /// ```
        fn one_hot try_one_hot(&self, classes: usize) -> Tensor<i64, D::Larger> {
            Ok(Tensor::wrap(indexing::one_hot(self.node(), classes)?))
        }
    }
}

impl DynTensor {
    twins! {
        /// For each place of `index` the element it names along an axis; see [`Tensor::gather`].
        fn gather try_gather(&self, axis: isize, index: &DynTensor) -> DynTensor {
            Ok(DynTensor::wrap(indexing::gather(self.node(), axis, index.node())?))
        }

        /// The elements that `index` names in row-major order; see [`Tensor::take`].
        fn take try_take(&self, index: &DynTensor) -> DynTensor {
            Ok(DynTensor::wrap(indexing::take(self.node(), index.node())?))
        }

        /// This tensor with elements of `source` where `index` says; see [`Tensor::scatter`].
        fn scatter try_scatter(&self, axis: isize, index: &DynTensor, source: &DynTensor) -> DynTensor {
            Ok(DynTensor::wrap(scatter::scatter(self.node(), axis, index.node(), source.node())?))
        }

        /// This tensor with elements of `source` added where `index` says; see [`Tensor::scatter_add`].
        fn scatter_add try_scatter_add(&self, axis: isize, index: &DynTensor, source: &DynTensor) -> DynTensor {
            Ok(DynTensor::wrap(scatter::scatter_add(self.node(), axis, index.node(), source.node())?))
        }

        /// This tensor combined with elements of `source` where `index` says; see [`Tensor::scatter_reduce`].
        fn scatter_reduce try_scatter_reduce(&self, axis: isize, index: &DynTensor, source: &DynTensor, how: ScatterReduce, include_self: bool) -> DynTensor {
            let node = scatter::scatter_reduce(self.node(), axis, index.node(), source.node(), how.combine(), include_self)?;
            Ok(DynTensor::wrap(node))
        }

        /// This tensor with slices of `source` added at the places that `index` (rank 1) names along an axis.
        ///
        /// See [`Tensor::index_add`](crate::Tensor::index_add).
        fn index_add try_index_add(&self, axis: isize, index: &DynTensor, source: &DynTensor) -> DynTensor {
            Ok(DynTensor::wrap(scatter::index_add(self.node(), axis, index.node(), source.node())?))
        }

        /// This tensor with slices of `source` at the places that `index` (rank 1) names along an axis.
        ///
        /// See [`Tensor::index_copy`](crate::Tensor::index_copy).
        fn index_copy try_index_copy(&self, axis: isize, index: &DynTensor, source: &DynTensor) -> DynTensor {
            Ok(DynTensor::wrap(scatter::index_copy(self.node(), axis, index.node(), source.node())?))
        }

        /// This tensor with one value at the places that `index` (rank 1) names along an axis.
        ///
        /// See [`Tensor::index_fill`](crate::Tensor::index_fill).
        fn index_fill try_index_fill(&self, axis: isize, index: &DynTensor, value: f64) -> DynTensor {
            let value = bound("index_fill", self, value)?;
            Ok(DynTensor::wrap(scatter::index_fill(self.node(), axis, index.node(), value)?))
        }

        /// This tensor with elements of `source` at the row-major places that `index` names.
        ///
        /// See [`Tensor::put`](crate::Tensor::put).
        fn put try_put(&self, index: &DynTensor, source: &DynTensor) -> DynTensor {
            Ok(DynTensor::wrap(scatter::put(self.node(), index.node(), source.node(), false)?))
        }

        /// As [`put`](Self::put), but elements are added to what is there.
        ///
        /// See [`Tensor::put_add`](crate::Tensor::put_add).
        fn put_add try_put_add(&self, index: &DynTensor, source: &DynTensor) -> DynTensor {
            Ok(DynTensor::wrap(scatter::put(self.node(), index.node(), source.node(), true)?))
        }

        /// `value` where `mask`, which broadcasts, is true.
        ///
        /// See [`Tensor::masked_fill`](crate::Tensor::masked_fill).
        fn masked_fill try_masked_fill(&self, mask: &DynTensor, value: f64) -> DynTensor {
            let value = bound("masked_fill", self, value)?;
            Ok(DynTensor::wrap(indexing::masked_fill(self.node(), mask.node(), value)?))
        }

        /// The rows of this table (rank 2) that `index`, of any shape, names.
        ///
        /// See [`Tensor::embedding`](crate::Tensor::embedding).
        fn embedding try_embedding(&self, index: &DynTensor) -> DynTensor {
            Ok(DynTensor::wrap(indexing::embedding(self.node(), index.node())?))
        }

        /// 1 at the class that each number names along a new last axis of `classes`, 0 elsewhere, as `i64`.
        ///
        /// See [`Tensor::one_hot`](crate::Tensor::one_hot).
        fn one_hot try_one_hot(&self, classes: usize) -> DynTensor {
            Ok(DynTensor::wrap(indexing::one_hot(self.node(), classes)?))
        }
    }
}
