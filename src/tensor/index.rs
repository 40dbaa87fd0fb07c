//! Indexing: `x.i((0, 1.., -1))`, with ranges, steps, new axes, an ellipsis and index tensors.
//!
//! Each part of the tuple takes one axis (a new axis takes none, an ellipsis any number); axes not named are whole.
//! The rank of the result is known to the compiler: a whole number takes an axis away, a range keeps it.

use super::twins::twins;
use super::{Dim1, Dimension, DynTensor, Tensor};
use crate::dtype::{IntegerDType, TensorDType};
use crate::error::{Error, ErrorKind, Result};
use crate::graph::build::whole_ranges;
use crate::graph::{Node, SliceRange};
use crate::ops::compose::indexing;
use crate::shape::Shape;
use std::ops::{Bound, Range, RangeFrom, RangeFull, RangeInclusive, RangeTo, RangeToInclusive};

/// A new axis of size 1: `x.i((.., NewAxis))`.
#[derive(Clone, Copy, Debug)]
pub struct NewAxis;

/// As many whole axes as are needed: `x.i((Ellipsis, 0))` takes from the last axis.
#[derive(Clone, Copy, Debug)]
pub struct Ellipsis;

/// What one part of an index asks of an axis.
#[derive(Clone, Debug)]
#[doc(hidden)]
pub enum Selection {
    At(isize),
    Range { start: Bound<isize>, end: Bound<isize>, step: isize },
    Index(IndexNode),
    NewAxis,
    Ellipsis,
}

/// The node of an index tensor.
#[derive(Clone)]
#[doc(hidden)]
pub struct IndexNode(pub(crate) Node);

impl std::fmt::Debug for IndexNode {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "index of shape {:?}", self.0.shape())
    }
}

/// One part of an index: a whole number, a range, a stepped range, an index tensor, [`NewAxis`], [`Ellipsis`].
pub trait IndexPart {
    /// What the part makes of a rank.
    type Apply<D: Dimension>: Dimension;

    #[doc(hidden)]
    fn selection(self) -> Selection;
}

/// A range with a step: `(1..).by(2)`, `(..).by(-1)`.
#[derive(Clone, Copy, Debug)]
pub struct Stepped {
    start: Bound<isize>,
    end: Bound<isize>,
    step: isize,
}

/// Gives ranges a step.
pub trait Step {
    /// Every `step`-th element; a negative step walks backwards, from the end where no start is given.
    ///
    /// As in NumPy, `(..).by(-1)` reverses an axis.
    fn by(self, step: isize) -> Stepped;
}

macro_rules! numbers {
    ($($ty:ty),*) => {$(
        impl IndexPart for $ty {
            type Apply<D: Dimension> = D::Smaller;
            fn selection(self) -> Selection {
                Selection::At(to_isize(self))
            }
        }
        numbers!(@range $ty, Range<$ty>, |r| (Bound::Included(r.start), Bound::Excluded(r.end)));
        numbers!(@range $ty, RangeInclusive<$ty>, |r| (Bound::Included(*r.start()), Bound::Included(*r.end())));
        numbers!(@range $ty, RangeFrom<$ty>, |r| (Bound::Included(r.start), Bound::Unbounded));
        numbers!(@range $ty, RangeTo<$ty>, |r| (Bound::Unbounded, Bound::Excluded(r.end)));
        numbers!(@range $ty, RangeToInclusive<$ty>, |r| (Bound::Unbounded, Bound::Included(r.end)));
    )*};
    (@range $ty:ty, $range:ty, $bounds:expr) => {
        impl Step for $range {
            fn by(self, step: isize) -> Stepped {
                let bounds: fn(&$range) -> (Bound<$ty>, Bound<$ty>) = $bounds;
                let (start, end) = bounds(&self);
                Stepped { start: start.map(to_isize), end: end.map(to_isize), step }
            }
        }
        impl IndexPart for $range {
            type Apply<D: Dimension> = D;
            fn selection(self) -> Selection {
                self.by(1).selection()
            }
        }
    };
}

numbers!(i32, i64, isize, usize);

/// Numbers too large for any axis stay too large.
fn to_isize(value: impl TryInto<isize>) -> isize {
    value.try_into().unwrap_or(isize::MAX)
}

impl Step for RangeFull {
    fn by(self, step: isize) -> Stepped {
        Stepped { start: Bound::Unbounded, end: Bound::Unbounded, step }
    }
}

impl IndexPart for RangeFull {
    type Apply<D: Dimension> = D;
    fn selection(self) -> Selection {
        self.by(1).selection()
    }
}

impl IndexPart for Stepped {
    type Apply<D: Dimension> = D;
    fn selection(self) -> Selection {
        Selection::Range { start: self.start, end: self.end, step: self.step }
    }
}

impl IndexPart for NewAxis {
    type Apply<D: Dimension> = D::Larger;
    fn selection(self) -> Selection {
        Selection::NewAxis
    }
}

impl IndexPart for Ellipsis {
    type Apply<D: Dimension> = D;
    fn selection(self) -> Selection {
        Selection::Ellipsis
    }
}

impl<T: IntegerDType> IndexPart for &Tensor<T, Dim1> {
    type Apply<D: Dimension> = D;
    fn selection(self) -> Selection {
        Selection::Index(IndexNode(self.node().clone()))
    }
}

/// An index: one part, or a tuple of up to eight.
pub trait IndexParts {
    /// What the index makes of a rank.
    type Apply<D: Dimension>: Dimension;

    #[doc(hidden)]
    fn selections(self) -> Vec<Selection>;
}

impl<P: IndexPart> IndexParts for P {
    type Apply<D: Dimension> = P::Apply<D>;
    fn selections(self) -> Vec<Selection> {
        vec![self.selection()]
    }
}

macro_rules! tuples {
    ($($first:ident $($rest:ident)*;)*) => {$(
        #[allow(non_snake_case)]
        impl<$first: IndexPart, $($rest: IndexPart),*> IndexParts for ($first, $($rest,)*) {
            type Apply<Rank: Dimension> = tuples!(@apply Rank, $first $($rest)*);
            fn selections(self) -> Vec<Selection> {
                let ($first, $($rest,)*) = self;
                vec![$first.selection(), $($rest.selection()),*]
            }
        }
    )*};
    (@apply $d:ty, $first:ident) => { <$first as IndexPart>::Apply<$d> };
    (@apply $d:ty, $first:ident $($rest:ident)+) => { tuples!(@apply <$first as IndexPart>::Apply<$d>, $($rest)+) };
}

tuples! {
    A;
    A B;
    A B C;
    A B C D;
    A B C D E;
    A B C D E F;
    A B C D E F G;
    A B C D E F G H;
}

impl<T: TensorDType, D: Dimension> Tensor<T, D> {
    twins! {
        /// A part of the tensor: whole numbers, ranges, steps, index tensors; see [`IndexPart`].
        ///
        /// ```
        /// use zither::{Ellipsis, NewAxis, Step, Tensor};
        /// let x = Tensor::<i32, _>::arange(0, 24).reshape([2, 3, 4]);
        /// assert_eq!(x.i((0, 1, 3)).item()?, 7);
        /// assert_eq!(x.i((.., 0, 0)).data()?, [0, 12]);
        /// assert_eq!(x.i((Ellipsis, -1)).shape(), [2, 3]);
        /// assert_eq!(x.i((0, 0, (..).by(-1))).data()?, [3, 2, 1, 0]);
        /// assert_eq!(x.i((NewAxis, 1)).shape(), [1, 3, 4]);
        /// # Ok::<(), zither::Error>(())
        /// ```
        fn i try_i[P: IndexParts](&self, parts: P) -> Tensor<T, P::Apply<D>> {
            Ok(Tensor::wrap(select(self.node(), parts.selections())?))
        }

        /// This tensor with the part that an index names replaced by `value`, which broadcasts to it. The tensor itself
        /// does not change.
        ///
        /// ```
        /// use zither::Tensor;
        /// let x = Tensor::<f32, _>::zeros([2, 3]);
        /// let y = x.slice_assign((.., 1..), &Tensor::new([5.0]));
        /// assert_eq!(y.to_vec2()?, [[0.0, 5.0, 5.0], [0.0, 5.0, 5.0]]);
        /// # Ok::<(), zither::Error>(())
        /// ```
        fn slice_assign try_slice_assign[P: IndexParts, E: Dimension](&self, parts: P, value: &Tensor<T, E>) -> Tensor<T, D> {
            Ok(Tensor::wrap(assign(self.node(), parts.selections(), value.node())?))
        }

        /// The elements of an axis that `index` names, in its order; negative ones count from the end.
        ///
        /// ```
        /// # use zither::Tensor;
        /// let x = Tensor::new([[1, 2], [3, 4], [5, 6]]);
        /// assert_eq!(x.index_select(0, &Tensor::new([2i64, 0])).data()?, [5, 6, 1, 2]);
        /// # Ok::<(), zither::Error>(())
        /// ```
        fn index_select try_index_select[I: IntegerDType](&self, axis: isize, index: &Tensor<I, Dim1>) -> Tensor<T, D> {
            Ok(Tensor::wrap(indexing::index_select(self.node(), axis, index.node())?))
        }
    }
}

impl DynTensor {
    twins! {
        /// A part of the tensor; see [`Tensor::i`].
        fn i try_i[P: IndexParts](&self, parts: P) -> DynTensor {
            Ok(DynTensor::wrap(select(self.node(), parts.selections())?))
        }

        /// This tensor with the part that an index names replaced by `value`.
        ///
        /// See [`Tensor::slice_assign`](crate::Tensor::slice_assign).
        fn slice_assign try_slice_assign[P: IndexParts](&self, parts: P, value: &DynTensor) -> DynTensor {
            Ok(DynTensor::wrap(assign(self.node(), parts.selections(), value.node())?))
        }

        /// The elements of an axis that `index` (rank 1) names, in its order.
        ///
        /// See [`Tensor::index_select`](crate::Tensor::index_select).
        fn index_select try_index_select(&self, axis: isize, index: &DynTensor) -> DynTensor {
            Ok(DynTensor::wrap(indexing::index_select(self.node(), axis, index.node())?))
        }
    }
}

/// What an index does to each axis of a node, ellipses filled in.
struct Resolved {
    ranges: smallvec::SmallVec<[SliceRange; 6]>,
    /// For each axis, whether a whole number took it away.
    dropped: Vec<bool>,
    /// How many new axes come before each axis (and after the last).
    new_axes: Vec<usize>,
    /// Index tensors by axis.
    indices: Vec<(usize, Node)>,
}

fn resolve(op: &str, x: &Node, selections: Vec<Selection>) -> Result<Resolved> {
    let fail = |message: String| Err(Error::new(ErrorKind::Index, op, message).made_at("tensor", x.at()));
    let taking = selections.iter().filter(|s| !matches!(s, Selection::NewAxis | Selection::Ellipsis)).count();
    let ellipses = selections.iter().filter(|s| matches!(s, Selection::Ellipsis)).count();
    if taking > x.rank() {
        return fail(format!("{taking} indices for the {} axes of shape {:?}", x.rank(), x.shape()));
    }
    if ellipses > 1 {
        return fail("more than one Ellipsis: it is not clear which axes each stands for".to_string());
    }
    let mut resolved = Resolved {
        ranges: whole_ranges(x.shape()),
        dropped: vec![false; x.rank()],
        new_axes: vec![0; x.rank() + 1],
        indices: Vec::new(),
    };
    let mut axis = 0;
    for selection in selections {
        match selection {
            Selection::NewAxis => resolved.new_axes[axis] += 1,
            Selection::Ellipsis => axis += x.rank() - taking,
            Selection::At(index) => {
                let size = x.shape()[axis];
                let place = if index < 0 { index + size as isize } else { index };
                if place < 0 || place as usize >= size {
                    return fail(format!("index {index} is out of range for axis {axis} of shape {:?}", x.shape()));
                }
                resolved.ranges[axis] = SliceRange { start: place as usize, step: 1, len: 1 };
                resolved.dropped[axis] = true;
                axis += 1;
            }
            Selection::Range { start, end, step } => {
                let Some(range) = range(start, end, step, x.shape()[axis]) else {
                    let text = describe(start, end, step);
                    return fail(format!("{text} does not fit axis {axis} of shape {:?}", x.shape()));
                };
                resolved.ranges[axis] = range;
                axis += 1;
            }
            Selection::Index(index) => {
                resolved.indices.push((axis, index.0));
                axis += 1;
            }
        }
    }
    Ok(resolved)
}

/// The elements a range with a step names; `None` if a bound is outside the axis or the step is 0.
fn range(start: Bound<isize>, end: Bound<isize>, step: isize, size: usize) -> Option<SliceRange> {
    let size = isize::try_from(size).ok()?;
    let wrap = |value: isize| if value < 0 { value.checked_add(size) } else { Some(value) };
    if step == 0 {
        return None;
    }
    // Positions run from `first` while before `limit` in the direction of the step.
    let (first, limit) = if step > 0 {
        let first = match start {
            Bound::Included(value) => wrap(value)?,
            Bound::Excluded(value) => wrap(value)? + 1,
            Bound::Unbounded => 0,
        };
        let limit = match end {
            Bound::Included(value) => wrap(value)?.checked_add(1)?,
            Bound::Excluded(value) => wrap(value)?,
            Bound::Unbounded => size,
        };
        if first < 0 || limit < 0 || first > size || limit > size {
            return None;
        }
        (first, limit)
    } else {
        let first = match start {
            Bound::Included(value) => wrap(value)?,
            Bound::Excluded(value) => wrap(value)? - 1,
            Bound::Unbounded => size - 1,
        };
        let limit = match end {
            Bound::Included(value) => wrap(value)? - 1,
            Bound::Excluded(value) => wrap(value)?,
            Bound::Unbounded => -1,
        };
        if first >= size || first < -1 || limit < -1 || limit >= size.max(1) {
            return None;
        }
        (first, limit)
    };
    let distance = if step > 0 { limit - first } else { first - limit };
    let len = if distance <= 0 { 0 } else { (distance as usize).div_ceil(step.unsigned_abs()) };
    // Nobody takes a second step along one element, and a huge one could not be multiplied.
    let step = if len > 1 { step } else { 1 };
    Some(SliceRange { start: if len == 0 { 0 } else { first as usize }, step, len })
}

fn describe(start: Bound<isize>, end: Bound<isize>, step: isize) -> String {
    let text = |bound: Bound<isize>| match bound {
        Bound::Included(value) | Bound::Excluded(value) => value.to_string(),
        Bound::Unbounded => String::new(),
    };
    let equals = if matches!(end, Bound::Included(_)) { "=" } else { "" };
    let by = if step == 1 { String::new() } else { format!(" by {step}") };
    format!("{}..{equals}{}{by}", text(start), text(end))
}

#[track_caller]
fn select(x: &Node, selections: Vec<Selection>) -> Result<Node> {
    let resolved = resolve("i", x, selections)?;
    let mut result = x.sliced(&resolved.ranges);
    for (axis, index) in &resolved.indices {
        result = indexing::index_select(&result, *axis as isize, index)?;
    }
    let mut shape = Shape::new();
    for (axis, &new_axes) in resolved.new_axes.iter().enumerate() {
        shape.extend(std::iter::repeat_n(1, new_axes));
        if axis < x.rank() && !resolved.dropped[axis] {
            shape.push(result.shape()[axis]);
        }
    }
    Ok(result.reshaped(&shape))
}

#[track_caller]
fn assign(x: &Node, selections: Vec<Selection>, value: &Node) -> Result<Node> {
    let op = "slice_assign";
    let resolved = resolve(op, x, selections)?;
    if !resolved.indices.is_empty() || resolved.new_axes.iter().any(|&count| count > 0) {
        let message = "a part to assign to is named by whole numbers and ranges only";
        return Err(Error::new(ErrorKind::Index, op, message).made_at("tensor", x.at()));
    }
    // The value has no axis where a whole number stands: give it one of size 1.
    let kept: Vec<usize> = (0..x.rank()).filter(|&axis| !resolved.dropped[axis]).collect();
    let part: Shape = kept.iter().map(|&axis| resolved.ranges[axis].len).collect();
    let value = crate::ops::compose::movement::broadcast_as(op, value, &part)?;
    let whole: Shape = resolved.ranges.iter().map(|range| range.len).collect();
    indexing::slice_assign(x, &resolved.ranges, &value.reshaped(&whole))
}
