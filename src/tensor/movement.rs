//! Movement: other looks at the same elements. Nothing is copied, unless no single view can say it.

use super::twins::twins;
use super::{Dim, Dim1, DimDyn, Dimension, DynTensor, HasAxes, IntoShape, Tensor};
use crate::dtype::{DType, Literal, TensorDType};
use crate::error::{Error, ErrorKind, Result};
use crate::graph::build::whole_ranges;
use crate::graph::{Node, SliceRange};
use crate::ops::compose::pad::Border;
use crate::ops::compose::{movement, pad};
use crate::shape::Expr;

/// What stands where a padded or masked tensor has no element.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum PadValue {
    /// 0 (`false`): it changes no sum.
    Zero,
    /// 1 (`true`): it changes no product.
    One,
    /// The lowest value (-inf for floats): it changes no maximum.
    NegInf,
    /// Any number; an integer tensor needs one it can hold.
    Value(f64),
    /// The element nearest to the edge, mirrored there: `c b | a b c | b a`. For [`Tensor::pad`] only.
    Reflect,
    /// The edge repeated: `a a | a b c | c c`. For [`Tensor::pad`] only.
    Replicate,
    /// From the other end: `b c | a b c | a b`. For [`Tensor::pad`] only.
    Circular,
}

impl PadValue {
    /// The value in a dtype.
    fn literal(self, op: &str, dtype: DType) -> Result<Literal> {
        match self {
            PadValue::Zero => Ok(Literal::zero(dtype)),
            PadValue::One => Ok(Literal::one(dtype)),
            PadValue::NegInf => Ok(Literal::lowest(dtype)),
            PadValue::Value(value) => {
                let literal = Literal::from_f64(dtype, value);
                if !dtype.is_float() && literal.to_f64() != value {
                    return Err(Error::new(ErrorKind::DType, op, format!("{value} is not a value of {dtype}")));
                }
                Ok(literal)
            }
            PadValue::Reflect | PadValue::Replicate | PadValue::Circular => {
                let message = format!("{self:?} copies elements and is no value: use it with pad");
                Err(Error::new(ErrorKind::Value, op, message))
            }
        }
    }
}

/// Padding by any [`PadValue`].
#[track_caller]
fn padded(x: &Node, padding: &[(isize, isize)], value: PadValue) -> Result<Node> {
    let border = match value {
        PadValue::Reflect => Border::Reflect,
        PadValue::Replicate => Border::Replicate,
        PadValue::Circular => Border::Circular,
        PadValue::Zero | PadValue::One | PadValue::NegInf | PadValue::Value(_) => {
            return pad::constant(x, padding, value.literal("pad", x.dtype())?);
        }
    };
    let crop: Vec<(isize, isize)> = padding.iter().map(|&(a, b)| (a.min(0), b.min(0))).collect();
    let mut result = pad::constant(x, &crop, Literal::zero(x.dtype()))?;
    for (axis, &(before, after)) in padding.iter().enumerate() {
        let (before, after) = (before.max(0) as usize, after.max(0) as usize);
        result = pad::with_border(&result, axis as isize, before, after, border)?;
    }
    Ok(result)
}

/// Ranges `(start, end)` of each axis.
#[track_caller]
fn sliced(x: &Node, ranges: &[(usize, usize)]) -> Result<Node> {
    if ranges.len() > x.rank() {
        let message = format!("{} ranges for the {} axes of shape {:?}", ranges.len(), x.rank(), x.shape());
        return Err(Error::new(ErrorKind::Shape, "slice", message).made_at("tensor", x.at()));
    }
    let mut kept = whole_ranges(x.shape());
    for (axis, &(start, end)) in ranges.iter().enumerate() {
        let size = x.shape()[axis];
        if start > end || end > size {
            let message =
                format!("{start}..{end} is not within the {size} elements of axis {axis} of shape {:?}", x.shape());
            return Err(Error::new(ErrorKind::Index, "slice", message).made_at("tensor", x.at()));
        }
        kept[axis] = SliceRange { start, step: 1, len: end - start };
    }
    Ok(x.sliced(&kept))
}

fn isizes(shape: &[usize]) -> Vec<isize> {
    shape.iter().map(|&size| isize::try_from(size).unwrap_or(isize::MAX)).collect()
}

impl<T: TensorDType, D: Dimension> Tensor<T, D> {
    twins! {
        /// Axis `i` of the result is axis `axes[i]` of this tensor.
        ///
        /// ```
        /// # use zither::Tensor;
        /// assert_eq!(Tensor::<f32, _>::zeros([2, 3, 4]).permute(&[2, 0, 1]).shape(), [4, 2, 3]);
        /// ```
        fn permute try_permute(&self, axes: &[isize]) -> Tensor<T, D> {
            Ok(Tensor::wrap(movement::permute(self.node(), axes)?))
        }

        /// Two axes exchanged.
        ///
        /// ```
        /// # use zither::Tensor;
        /// assert_eq!(Tensor::new([[1, 2], [3, 4]]).transpose(0, 1).data()?, [1, 3, 2, 4]);
        /// # Ok::<(), zither::Error>(())
        /// ```
        fn transpose try_transpose(&self, a: isize, b: isize) -> Tensor<T, D> {
            Ok(Tensor::wrap(movement::transpose(self.node(), a, b)?))
        }

        /// The same elements, row-major, under another shape with as many elements.
        ///
        /// ```
        /// # use zither::Tensor;
        /// assert_eq!(Tensor::new([1, 2, 3, 4]).reshape([2, 2]).to_vec2()?, [[1, 2], [3, 4]]);
        /// # Ok::<(), zither::Error>(())
        /// ```
        fn reshape try_reshape[const M: usize](&self, shape: [usize; M]) -> Tensor<T, Dim<M>> [Dim<M>: Dimension] {
            Ok(Tensor::wrap(movement::reshape(self.node(), &isizes(&shape))?))
        }

        /// As [`reshape`](Self::reshape) with a shape that only the run knows; one size may be -1 for "what is left".
        ///
        /// ```
        /// # use zither::Tensor;
        /// assert_eq!(Tensor::new([1, 2, 3, 4]).reshape_dyn(&[2, -1]).shape(), [2, 2]);
        /// ```
        fn reshape_dyn try_reshape_dyn(&self, shape: &[isize]) -> Tensor<T, DimDyn> {
            Ok(Tensor::wrap(movement::reshape(self.node(), shape)?))
        }

        /// Stretched to a shape: axes of size 1 repeat, new axes come in front.
        ///
        /// ```
        /// # use zither::Tensor;
        /// assert_eq!(Tensor::new([1, 2]).broadcast_as([2, 2]).data()?, [1, 2, 1, 2]);
        /// # Ok::<(), zither::Error>(())
        /// ```
        fn broadcast_as try_broadcast_as[E: Dimension, S: IntoShape<E>](&self, shape: S) -> Tensor<T, E> {
            Ok(Tensor::wrap(movement::broadcast_as("broadcast_as", self.node(), &shape.into_shape())?))
        }

        /// As [`broadcast_as`](Self::broadcast_as), where -1 keeps an axis as it is.
        ///
        /// ```
        /// # use zither::Tensor;
        /// assert_eq!(Tensor::new([[1], [2]]).expand(&[-1, 2]).data()?, [1, 1, 2, 2]);
        /// # Ok::<(), zither::Error>(())
        /// ```
        fn expand try_expand(&self, shape: &[isize]) -> Tensor<T, DimDyn> {
            Ok(Tensor::wrap(movement::expand(self.node(), shape)?))
        }

        /// A new axis of size 1 before `axis` (-1: at the end).
        ///
        /// ```
        /// # use zither::Tensor;
        /// assert_eq!(Tensor::new([1, 2]).unsqueeze(-1).shape(), [2, 1]);
        /// ```
        fn unsqueeze try_unsqueeze(&self, axis: isize) -> Tensor<T, D::Larger> {
            Ok(Tensor::wrap(movement::unsqueeze("unsqueeze", self.node(), axis)?))
        }

        /// All axes as one.
        ///
        /// ```
        /// # use zither::Tensor;
        /// assert_eq!(Tensor::new([[1, 2], [3, 4]]).flatten().data()?, [1, 2, 3, 4]);
        /// # Ok::<(), zither::Error>(())
        /// ```
        fn flatten try_flatten(&self) -> Tensor<T, Dim1> {
            Ok(Tensor::wrap(self.node().reshaped(&[self.len()])))
        }

        /// The order of elements reversed along axes.
        ///
        /// ```
        /// # use zither::Tensor;
        /// assert_eq!(Tensor::new([1, 2, 3]).flip(&[0]).data()?, [3, 2, 1]);
        /// # Ok::<(), zither::Error>(())
        /// ```
        fn flip try_flip(&self, axes: &[isize]) -> Tensor<T, D> {
            Ok(Tensor::wrap(movement::flip(self.node(), axes)?))
        }

        /// Elements added before and after each axis.
        ///
        /// ```
        /// use zither::{PadValue, Tensor};
        /// let x = Tensor::new([[1.0f32]]).pad(&[(0, 1), (1, 0)], PadValue::Zero);
        /// assert_eq!(x.to_vec2()?, [[0.0, 1.0], [0.0, 0.0]]);
        /// # Ok::<(), zither::Error>(())
        /// ```
        fn pad try_pad(&self, padding: &[(usize, usize)], value: PadValue) -> Tensor<T, D> {
            let padding: Vec<(isize, isize)> = padding
                .iter()
                .map(|&(a, b)| (isize::try_from(a).unwrap_or(isize::MAX), isize::try_from(b).unwrap_or(isize::MAX)))
                .collect();
            Ok(Tensor::wrap(padded(self.node(), &padding, value)?))
        }

        /// The part `start..end` of each axis; axes not named are whole.
        ///
        /// ```
        /// # use zither::Tensor;
        /// assert_eq!(Tensor::new([[1, 2], [3, 4], [5, 6]]).slice(&[(1, 3)]).data()?, [3, 4, 5, 6]);
        /// # Ok::<(), zither::Error>(())
        /// ```
        fn slice try_slice(&self, ranges: &[(usize, usize)]) -> Tensor<T, D> {
            Ok(Tensor::wrap(sliced(self.node(), ranges)?))
        }

        /// `len` elements of an axis, from `start`.
        ///
        /// ```
        /// # use zither::Tensor;
        /// assert_eq!(Tensor::new([1, 2, 3, 4]).narrow(0, 1, 2).data()?, [2, 3]);
        /// # Ok::<(), zither::Error>(())
        /// ```
        fn narrow try_narrow(&self, axis: isize, start: usize, len: usize) -> Tensor<T, D> {
            Ok(Tensor::wrap(movement::narrow(self.node(), axis, start, len)?))
        }

        /// `value` wherever the condition over the element's indices is 0.
        ///
        /// ```
        /// use zither::{Expr, PadValue, Tensor};
        /// let causal = Expr::idx(1).le(Expr::idx(0));
        /// let x = Tensor::<f32, _>::ones([2, 2]).mask(causal, PadValue::Zero);
        /// assert_eq!(x.to_vec2()?, [[1.0, 0.0], [1.0, 1.0]]);
        /// # Ok::<(), zither::Error>(())
        /// ```
        fn mask try_mask(&self, condition: Expr, value: PadValue) -> Tensor<T, D> {
            let value = value.literal("mask", T::DTYPE)?;
            Ok(Tensor::wrap(self.node().masked(condition, value)?))
        }

        /// The part on and below diagonal `k` of the last two axes; 0 elsewhere.
        ///
        /// ```
        /// # use zither::Tensor;
        /// assert_eq!(Tensor::new([[1, 2], [3, 4]]).tril(0).data()?, [1, 0, 3, 4]);
        /// # Ok::<(), zither::Error>(())
        /// ```
        fn tril try_tril(&self, k: isize) -> Tensor<T, D> {
            Ok(Tensor::wrap(movement::triangle("tril", self.node(), k)?))
        }

        /// The part on and above diagonal `k` of the last two axes; 0 elsewhere.
        ///
        /// ```
        /// # use zither::Tensor;
        /// assert_eq!(Tensor::new([[1, 2], [3, 4]]).triu(1).data()?, [0, 2, 0, 0]);
        /// # Ok::<(), zither::Error>(())
        /// ```
        fn triu try_triu(&self, k: isize) -> Tensor<T, D> {
            Ok(Tensor::wrap(movement::triangle("triu", self.node(), k)?))
        }

        /// Windows of `size` elements along an axis, each `step` after the last, every `dilation`-th element; the place
        /// in the window is a new last axis.
        ///
        /// ```
        /// # use zither::Tensor;
        /// let windows = Tensor::new([1, 2, 3, 4]).unfold(0, 2, 1, 1);
        /// assert_eq!(windows.to_vec2()?, [[1, 2], [2, 3], [3, 4]]);
        /// # Ok::<(), zither::Error>(())
        /// ```
        fn unfold try_unfold(&self, axis: isize, size: usize, step: usize, dilation: usize) -> Tensor<T, D::Larger> {
            Ok(Tensor::wrap(movement::unfold(self.node(), axis, size, step, dilation)?))
        }
    }

    /// A dense copy, once it is executed; a tensor that is dense already stays as it is. Only makes a node.
    ///
    /// ```
    /// # use zither::Tensor;
    /// let x = Tensor::new([[1, 2], [3, 4]]).t().contiguous();
    /// assert_eq!(x.layout().unwrap().strides(), [2, 1]);
    /// ```
    #[track_caller]
    pub fn contiguous(&self) -> Tensor<T, D> {
        Tensor::wrap(self.node().contiguous())
    }
}

impl<T: TensorDType, D: HasAxes> Tensor<T, D> {
    twins! {
        /// An axis of size 1 taken away.
        ///
        /// ```
        /// # use zither::Tensor;
        /// assert_eq!(Tensor::new([[1, 2]]).squeeze(0).shape(), [2]);
        /// ```
        fn squeeze try_squeeze(&self, axis: isize) -> Tensor<T, D::Smaller> {
            Ok(Tensor::wrap(movement::squeeze(self.node(), axis)?))
        }
    }
}

impl<T: TensorDType, D: Dimension> Tensor<T, D> {
    /// The last two axes exchanged (a vector or a scalar stays as it is).
    ///
    /// ```
    /// # use zither::Tensor;
    /// assert_eq!(Tensor::new([[1, 2, 3]]).t().shape(), [3, 1]);
    /// ```
    #[track_caller]
    pub fn t(&self) -> Tensor<T, D> {
        match self.rank() {
            0 | 1 => self.clone(),
            rank => Tensor::wrap(self.node().swapped(rank - 2, rank - 1)),
        }
    }
}

impl DynTensor {
    twins! {
        /// Axis `i` of the result is axis `axes[i]` of this tensor.
        ///
        /// See [`Tensor::permute`](crate::Tensor::permute).
        fn permute try_permute(&self, axes: &[isize]) -> DynTensor {
            Ok(DynTensor::wrap(movement::permute(self.node(), axes)?))
        }

        /// Two axes exchanged.
        ///
        /// See [`Tensor::transpose`](crate::Tensor::transpose).
        fn transpose try_transpose(&self, a: isize, b: isize) -> DynTensor {
            Ok(DynTensor::wrap(movement::transpose(self.node(), a, b)?))
        }

        /// The same elements, row-major, under another shape; one size may be -1 for "what is left".
        ///
        /// See [`Tensor::reshape`](crate::Tensor::reshape).
        fn reshape try_reshape(&self, shape: &[isize]) -> DynTensor {
            Ok(DynTensor::wrap(movement::reshape(self.node(), shape)?))
        }

        /// Stretched to a shape; -1 keeps an axis as it is.
        ///
        /// See [`Tensor::expand`](crate::Tensor::expand).
        fn expand try_expand(&self, shape: &[isize]) -> DynTensor {
            Ok(DynTensor::wrap(movement::expand(self.node(), shape)?))
        }

        /// A new axis of size 1 before `axis`.
        ///
        /// See [`Tensor::unsqueeze`](crate::Tensor::unsqueeze).
        fn unsqueeze try_unsqueeze(&self, axis: isize) -> DynTensor {
            Ok(DynTensor::wrap(movement::unsqueeze("unsqueeze", self.node(), axis)?))
        }

        /// An axis of size 1 taken away.
        ///
        /// See [`Tensor::squeeze`](crate::Tensor::squeeze).
        fn squeeze try_squeeze(&self, axis: isize) -> DynTensor {
            Ok(DynTensor::wrap(movement::squeeze(self.node(), axis)?))
        }

        /// Axes `from` to `to`, both counted, as one.
        ///
        /// See [`Tensor::flatten`](crate::Tensor::flatten).
        fn flatten try_flatten(&self, from: isize, to: isize) -> DynTensor {
            Ok(DynTensor::wrap(movement::flatten(self.node(), from, to)?))
        }

        /// The order of elements reversed along axes.
        ///
        /// See [`Tensor::flip`](crate::Tensor::flip).
        fn flip try_flip(&self, axes: &[isize]) -> DynTensor {
            Ok(DynTensor::wrap(movement::flip(self.node(), axes)?))
        }

        /// Elements added before and after each axis; negative amounts crop.
        ///
        /// See [`Tensor::pad`](crate::Tensor::pad).
        fn pad try_pad(&self, padding: &[(isize, isize)], value: PadValue) -> DynTensor {
            Ok(DynTensor::wrap(padded(self.node(), padding, value)?))
        }

        /// The part `start..end` of each axis; axes not named are whole.
        ///
        /// See [`Tensor::slice`](crate::Tensor::slice).
        fn slice try_slice(&self, ranges: &[(usize, usize)]) -> DynTensor {
            Ok(DynTensor::wrap(sliced(self.node(), ranges)?))
        }

        /// `len` elements of an axis, from `start`.
        ///
        /// See [`Tensor::narrow`](crate::Tensor::narrow).
        fn narrow try_narrow(&self, axis: isize, start: usize, len: usize) -> DynTensor {
            Ok(DynTensor::wrap(movement::narrow(self.node(), axis, start, len)?))
        }

        /// `value` wherever the condition over the element's indices is 0.
        ///
        /// See [`Tensor::mask`](crate::Tensor::mask).
        fn mask try_mask(&self, condition: Expr, value: PadValue) -> DynTensor {
            let value = value.literal("mask", self.dtype())?;
            Ok(DynTensor::wrap(self.node().masked(condition, value)?))
        }

        /// The part on and below diagonal `k` of the last two axes; 0 elsewhere.
        ///
        /// See [`Tensor::tril`](crate::Tensor::tril).
        fn tril try_tril(&self, k: isize) -> DynTensor {
            Ok(DynTensor::wrap(movement::triangle("tril", self.node(), k)?))
        }

        /// The part on and above diagonal `k` of the last two axes; 0 elsewhere.
        ///
        /// See [`Tensor::triu`](crate::Tensor::triu).
        fn triu try_triu(&self, k: isize) -> DynTensor {
            Ok(DynTensor::wrap(movement::triangle("triu", self.node(), k)?))
        }

        /// Windows along an axis; the place in the window is a new last axis.
        ///
        /// See [`Tensor::unfold`](crate::Tensor::unfold).
        fn unfold try_unfold(&self, axis: isize, size: usize, step: usize, dilation: usize) -> DynTensor {
            Ok(DynTensor::wrap(movement::unfold(self.node(), axis, size, step, dilation)?))
        }
    }

    /// A dense copy, once it is executed; a tensor that is dense already stays as it is.
    ///
    /// See [`Tensor::contiguous`](crate::Tensor::contiguous).
    #[track_caller]
    pub fn contiguous(&self) -> DynTensor {
        DynTensor::wrap(self.node().contiguous())
    }
}
