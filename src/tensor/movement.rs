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
        fn permute try_permute(&self, axes: &[isize]) -> Tensor<T, D> {
            Ok(Tensor::wrap(movement::permute(self.node(), axes)?))
        }

        /// Two axes exchanged.
        fn transpose try_transpose(&self, a: isize, b: isize) -> Tensor<T, D> {
            Ok(Tensor::wrap(movement::transpose(self.node(), a, b)?))
        }

        /// The same elements, row-major, under another shape with as many elements.
        fn reshape try_reshape[const M: usize](&self, shape: [usize; M]) -> Tensor<T, Dim<M>> [Dim<M>: Dimension] {
            Ok(Tensor::wrap(movement::reshape(self.node(), &isizes(&shape))?))
        }

        /// As [`reshape`](Self::reshape) with a shape that only the run knows; one size may be -1 for "what is left".
        fn reshape_dyn try_reshape_dyn(&self, shape: &[isize]) -> Tensor<T, DimDyn> {
            Ok(Tensor::wrap(movement::reshape(self.node(), shape)?))
        }

        /// Stretched to a shape: axes of size 1 repeat, new axes come in front.
        fn broadcast_as try_broadcast_as[E: Dimension, S: IntoShape<E>](&self, shape: S) -> Tensor<T, E> {
            Ok(Tensor::wrap(movement::broadcast_as("broadcast_as", self.node(), &shape.into_shape())?))
        }

        /// As [`broadcast_as`](Self::broadcast_as), where -1 keeps an axis as it is.
        fn expand try_expand(&self, shape: &[isize]) -> Tensor<T, DimDyn> {
            Ok(Tensor::wrap(movement::expand(self.node(), shape)?))
        }

        /// A new axis of size 1 before `axis` (-1: at the end).
        fn unsqueeze try_unsqueeze(&self, axis: isize) -> Tensor<T, D::Larger> {
            Ok(Tensor::wrap(movement::unsqueeze("unsqueeze", self.node(), axis)?))
        }

        /// All axes as one.
        fn flatten try_flatten(&self) -> Tensor<T, Dim1> {
            Ok(Tensor::wrap(self.node().reshaped(&[self.len()])))
        }

        /// The order of elements reversed along axes.
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
        fn slice try_slice(&self, ranges: &[(usize, usize)]) -> Tensor<T, D> {
            Ok(Tensor::wrap(sliced(self.node(), ranges)?))
        }

        /// `len` elements of an axis, from `start`.
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
        fn tril try_tril(&self, k: isize) -> Tensor<T, D> {
            Ok(Tensor::wrap(movement::triangle("tril", self.node(), k)?))
        }

        /// The part on and above diagonal `k` of the last two axes; 0 elsewhere.
        fn triu try_triu(&self, k: isize) -> Tensor<T, D> {
            Ok(Tensor::wrap(movement::triangle("triu", self.node(), k)?))
        }

        /// Windows of `size` elements along an axis, each `step` after the last, every `dilation`-th element; the place
        /// in the window is a new last axis.
        fn unfold try_unfold(&self, axis: isize, size: usize, step: usize, dilation: usize) -> Tensor<T, D::Larger> {
            Ok(Tensor::wrap(movement::unfold(self.node(), axis, size, step, dilation)?))
        }
    }

    /// A dense copy, once it is executed; a tensor that is dense already stays as it is. Only makes a node.
    #[track_caller]
    pub fn contiguous(&self) -> Tensor<T, D> {
        Tensor::wrap(self.node().contiguous())
    }
}

impl<T: TensorDType, D: HasAxes> Tensor<T, D> {
    twins! {
        /// An axis of size 1 taken away.
        fn squeeze try_squeeze(&self, axis: isize) -> Tensor<T, D::Smaller> {
            Ok(Tensor::wrap(movement::squeeze(self.node(), axis)?))
        }
    }
}

impl<T: TensorDType, D: Dimension> Tensor<T, D> {
    /// The last two axes exchanged (a vector or a scalar stays as it is).
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
        fn permute try_permute(&self, axes: &[isize]) -> DynTensor {
            Ok(DynTensor::wrap(movement::permute(self.node(), axes)?))
        }

        /// Two axes exchanged.
        fn transpose try_transpose(&self, a: isize, b: isize) -> DynTensor {
            Ok(DynTensor::wrap(movement::transpose(self.node(), a, b)?))
        }

        /// The same elements, row-major, under another shape; one size may be -1 for "what is left".
        fn reshape try_reshape(&self, shape: &[isize]) -> DynTensor {
            Ok(DynTensor::wrap(movement::reshape(self.node(), shape)?))
        }

        /// Stretched to a shape; -1 keeps an axis as it is.
        fn expand try_expand(&self, shape: &[isize]) -> DynTensor {
            Ok(DynTensor::wrap(movement::expand(self.node(), shape)?))
        }

        /// A new axis of size 1 before `axis`.
        fn unsqueeze try_unsqueeze(&self, axis: isize) -> DynTensor {
            Ok(DynTensor::wrap(movement::unsqueeze("unsqueeze", self.node(), axis)?))
        }

        /// An axis of size 1 taken away.
        fn squeeze try_squeeze(&self, axis: isize) -> DynTensor {
            Ok(DynTensor::wrap(movement::squeeze(self.node(), axis)?))
        }

        /// Axes `from` to `to`, both counted, as one.
        fn flatten try_flatten(&self, from: isize, to: isize) -> DynTensor {
            Ok(DynTensor::wrap(movement::flatten(self.node(), from, to)?))
        }

        /// The order of elements reversed along axes.
        fn flip try_flip(&self, axes: &[isize]) -> DynTensor {
            Ok(DynTensor::wrap(movement::flip(self.node(), axes)?))
        }

        /// Elements added before and after each axis; negative amounts crop.
        fn pad try_pad(&self, padding: &[(isize, isize)], value: PadValue) -> DynTensor {
            Ok(DynTensor::wrap(padded(self.node(), padding, value)?))
        }

        /// The part `start..end` of each axis; axes not named are whole.
        fn slice try_slice(&self, ranges: &[(usize, usize)]) -> DynTensor {
            Ok(DynTensor::wrap(sliced(self.node(), ranges)?))
        }

        /// `len` elements of an axis, from `start`.
        fn narrow try_narrow(&self, axis: isize, start: usize, len: usize) -> DynTensor {
            Ok(DynTensor::wrap(movement::narrow(self.node(), axis, start, len)?))
        }

        /// `value` wherever the condition over the element's indices is 0.
        fn mask try_mask(&self, condition: Expr, value: PadValue) -> DynTensor {
            let value = value.literal("mask", self.dtype())?;
            Ok(DynTensor::wrap(self.node().masked(condition, value)?))
        }

        /// The part on and below diagonal `k` of the last two axes; 0 elsewhere.
        fn tril try_tril(&self, k: isize) -> DynTensor {
            Ok(DynTensor::wrap(movement::triangle("tril", self.node(), k)?))
        }

        /// The part on and above diagonal `k` of the last two axes; 0 elsewhere.
        fn triu try_triu(&self, k: isize) -> DynTensor {
            Ok(DynTensor::wrap(movement::triangle("triu", self.node(), k)?))
        }

        /// Windows along an axis; the place in the window is a new last axis.
        fn unfold try_unfold(&self, axis: isize, size: usize, step: usize, dilation: usize) -> DynTensor {
            Ok(DynTensor::wrap(movement::unfold(self.node(), axis, size, step, dilation)?))
        }
    }

    /// A dense copy, once it is executed; a tensor that is dense already stays as it is.
    #[track_caller]
    pub fn contiguous(&self) -> DynTensor {
        DynTensor::wrap(self.node().contiguous())
    }
}
