//! Results whose size only the numbers tell: they are computed at once, as far as the size needs it.

use super::twins::twins;
use super::{Dim1, Dim2, Dimension, DynTensor, Tensor};
use crate::dtype::{DType, IntegerDType, Literal, NumericDType, TensorDType};
use crate::error::{Error, ErrorKind, Result};
use crate::graph::{Node, ReduceKind};
use crate::memory::Buffer;
use crate::ops::compose::{indexing, movement, scan, scatter, sort};
use crate::runtime;
use crate::shape::{Shape, ordinal_to_index};

/// The row-major places at which a node is not zero.
#[track_caller]
fn places(op: &str, x: &Node) -> Result<Vec<i64>> {
    let holds = runtime::read(&x.cast(DType::Bool)?)?;
    let holds = holds.try_as_slice::<bool>(op)?;
    let mut places = Vec::new();
    let count = holds.iter().filter(|&&holds| holds).count();
    places.try_reserve_exact(count).map_err(|_| crate::memory::no_memory(op, DType::I64, count))?;
    places.extend(holds.iter().enumerate().filter(|(_, holds)| **holds).map(|(place, _)| place as i64));
    Ok(places)
}

#[track_caller]
fn given<T: TensorDType>(op: &str, values: Vec<T>, shape: &[usize]) -> Result<Node> {
    Ok(Node::from_buffer(Buffer::from_vec(op, values)?, Shape::from_slice(shape)))
}

#[track_caller]
fn nonzero(x: &Node) -> Result<Node> {
    let op = "nonzero";
    let found = places(op, x)?;
    let rows = found.len();
    let index = |place: i64| ordinal_to_index(place as usize, x.shape()).into_iter().map(|at| at as i64);
    given(op, found.into_iter().flat_map(index).collect::<Vec<i64>>(), &[rows, x.rank()])
}

#[track_caller]
fn masked_select(x: &Node, mask: &Node) -> Result<Node> {
    let op = "masked_select";
    if mask.dtype() != DType::Bool {
        let message = format!("the mask is {}, not bool: compare it, as in x.ne(0)", mask.dtype());
        return Err(Error::new(ErrorKind::DType, op, message).made_at("mask", mask.at()));
    }
    let mask = movement::broadcast_as(op, mask, x.shape())?;
    let found = places(op, &mask)?;
    let count = found.len();
    if count == 0 {
        return Node::full(&[0], Literal::zero(x.dtype()));
    }
    indexing::chosen(op, x, &given(op, found, &[count])?)
}

/// The different elements in order; where each element stands among them, in the shape of `x`; and how often each occurs.
#[track_caller]
fn unique(x: &Node) -> Result<[Node; 3]> {
    let op = "unique";
    let x_flat = x.reshaped(&[x.len()]).left_behind(op, "which elements differ is no smooth question");
    let (sorted, order) = sort::sort(&x_flat, 0, false)?;
    let begins = sort::begins_run(&sorted)?;
    let rank = scan::cumsum(&begins.cast(DType::I64)?, 0)?;
    let first = places(op, &begins)?;
    let count = first.len();
    let first = given(op, first, &[count])?;
    let values = if count == 0 { sorted.clone() } else { indexing::chosen(op, &sorted, &first)? };
    // The rank of a sorted element belongs to the place it came from.
    let rank = &rank - &rank.full_like(Literal::I64(1));
    let inverse = scatter::scatter(&rank, 0, &order, &rank)?.reshaped(x.shape());
    let counts = scatter::bincount(&rank, None, count)?;
    Ok([values, inverse, counts])
}

#[track_caller]
fn bincount(x: &Node, weights: Option<&Node>, least: usize) -> Result<Node> {
    let op = "bincount";
    if x.rank() != 1 || !x.dtype().is_integer() {
        let message =
            format!("whole numbers along one axis are counted, these are {} of shape {:?}", x.dtype(), x.shape());
        return Err(Error::new(ErrorKind::Value, op, message).made_at("tensor", x.at()));
    }
    let largest = if x.len() == 0 {
        -1
    } else {
        let largest = runtime::read(&x.reduce(op, ReduceKind::Max, &[0], false)?)?.literal(0);
        i64::try_from(largest.to_integer().unwrap_or(0)).unwrap_or(i64::MAX)
    };
    let size = usize::try_from(largest.saturating_add(1)).unwrap_or(0).max(least);
    scatter::bincount(x, weights, size)
}

impl<T: TensorDType, D: Dimension> Tensor<T, D> {
    twins! {
        /// The indices of the elements that are not zero, a row each. This computes the tensor, since their number is not known before.
        /// NumPy: `argwhere`.
        ///
        /// ```
        /// let x = zither::Tensor::new([[0, 5], [7, 0]]);
        /// assert_eq!(x.nonzero().to_vec2()?, [[0, 1], [1, 0]]);
        /// # Ok::<(), zither::Error>(())
        /// ```
        #[doc(alias = "argwhere")]
        fn nonzero try_nonzero(&self) -> Tensor<i64, Dim2> {
            Ok(Tensor::wrap(nonzero(self.node())?))
        }

        /// The elements where `mask`, which broadcasts, is true, in row-major order. This computes the mask, since their number is not
        /// known before; the elements themselves are as lazy and as differentiable as ever.
        ///
        /// ```
        /// let x = zither::Tensor::new([1.0f32, -2.0, 3.0]);
        /// assert_eq!(x.masked_select(&x.gt(0.0)).data()?, [1.0, 3.0]);
        /// # Ok::<(), zither::Error>(())
        /// ```
        #[doc(alias = "compress")]
        fn masked_select try_masked_select[E: Dimension](&self, mask: &Tensor<bool, E>) -> Tensor<T, Dim1> {
            Ok(Tensor::wrap(masked_select(self.node(), mask.node())?))
        }

        /// The different elements in order. This computes the tensor, since their number is not known before. NaN is one element, as in
        /// NumPy.
        ///
        /// ```
        /// assert_eq!(zither::Tensor::new([3, 1, 3, 2]).unique().data()?, [1, 2, 3]);
        /// # Ok::<(), zither::Error>(())
        /// ```
        fn unique try_unique(&self) -> Tensor<T, Dim1> {
            let [values, ..] = unique(self.node())?;
            Ok(Tensor::wrap(values))
        }

        /// The different elements in order, where each element stands among them, and how often each occurs.
        ///
        /// ```
        /// let (values, inverse, counts) = zither::Tensor::new([3, 1, 3, 2]).unique_with_counts();
        /// assert_eq!(values.data()?, [1, 2, 3]);
        /// assert_eq!(inverse.data()?, [2, 0, 2, 1]);
        /// assert_eq!(counts.data()?, [1, 1, 2]);
        /// # Ok::<(), zither::Error>(())
        /// ```
        fn unique_with_counts try_unique_with_counts(&self) -> (Tensor<T, Dim1>, Tensor<i64, D>, Tensor<i64, Dim1>) {
            let [values, inverse, counts] = unique(self.node())?;
            Ok((Tensor::wrap(values), Tensor::wrap(inverse), Tensor::wrap(counts)))
        }
    }
}

impl<I: IntegerDType> Tensor<I, Dim1> {
    twins! {
        /// How often each number from 0 on occurs, up to the largest there is and at least `least` of them. This computes the largest.
        ///
        /// ```
        /// assert_eq!(zither::Tensor::new([1, 3, 1]).bincount(0).data()?, [0, 2, 0, 1]);
        /// # Ok::<(), zither::Error>(())
        /// ```
        fn bincount try_bincount(&self, least: usize) -> Tensor<i64, Dim1> {
            Ok(Tensor::wrap(bincount(self.node(), None, least)?))
        }

        /// As [`bincount`](Self::bincount), with the sums of weights in place of counts.
        ///
        /// ```
        /// use zither::Tensor;
        /// let sums = Tensor::new([1, 0, 1]).bincount_with(&Tensor::new([0.5f32, 1.0, 2.0]), 0);
        /// assert_eq!(sums.data()?, [1.0, 2.5]);
        /// # Ok::<(), zither::Error>(())
        /// ```
        fn bincount_with try_bincount_with[T: NumericDType](&self, weights: &Tensor<T, Dim1>, least: usize) -> Tensor<T, Dim1> {
            Ok(Tensor::wrap(bincount(self.node(), Some(weights.node()), least)?))
        }
    }
}

impl DynTensor {
    twins! {
        /// The indices of the elements that are not zero, a row each; see [`Tensor::nonzero`].
        fn nonzero try_nonzero(&self) -> DynTensor {
            Ok(DynTensor::wrap(nonzero(self.node())?))
        }

        /// The elements where `mask`, which broadcasts, is true; see [`Tensor::masked_select`].
        fn masked_select try_masked_select(&self, mask: &DynTensor) -> DynTensor {
            Ok(DynTensor::wrap(masked_select(self.node(), mask.node())?))
        }

        /// The different elements in order; see [`Tensor::unique`].
        fn unique try_unique(&self) -> DynTensor {
            let [values, ..] = unique(self.node())?;
            Ok(DynTensor::wrap(values))
        }

        /// The different elements in order, where each element stands among them, and how often each occurs.
        ///
        /// See [`Tensor::unique_with_counts`](crate::Tensor::unique_with_counts).
        fn unique_with_counts try_unique_with_counts(&self) -> (DynTensor, DynTensor, DynTensor) {
            let [values, inverse, counts] = unique(self.node())?;
            Ok((DynTensor::wrap(values), DynTensor::wrap(inverse), DynTensor::wrap(counts)))
        }

        /// How often each number from 0 on occurs (rank 1), or the sums of weights; see [`Tensor::bincount`].
        fn bincount try_bincount(&self, weights: Option<&DynTensor>, least: usize) -> DynTensor {
            Ok(DynTensor::wrap(bincount(self.node(), weights.map(DynTensor::node), least)?))
        }
    }
}
