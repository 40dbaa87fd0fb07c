//! The movements: each gives a view of the same buffer, or `None` where the caller has to copy first.

use super::map::{Affine, Map};
use super::substitute::guarded;
use super::{MOST_NODES, View};
use crate::dtype::Literal;
use crate::shape::{Expr, Shape, Strides};
use smallvec::SmallVec;

impl View {
    /// The axes in a new order: axis `i` of the result is axis `axes[i]`.
    pub(crate) fn permute(&self, axes: &[usize]) -> Option<View> {
        let old = self.shape();
        debug_assert_eq!(axes.len(), old.len(), "permute names every axis once");
        let mut map = Map {
            shape: axes.iter().map(|&axis| old[axis]).collect(),
            axes: old.iter().map(|_| Affine::zero(old.len())).collect(),
        };
        for (new, &axis) in axes.iter().enumerate() {
            map.axes[axis].coefficients[new] = 1;
        }
        self.apply(&map)
    }

    /// Axes of 1 stretched to `shape`, which may have more axes in front.
    pub(crate) fn expand(&self, shape: &[usize]) -> Option<View> {
        let lead = shape.len().checked_sub(self.rank())?;
        debug_assert!(
            self.shape().iter().zip(&shape[lead..]).all(|(a, b)| a == b || *a == 1),
            "expand {:?} to {shape:?}",
            self.shape()
        );
        let is_stretched = |axis: usize, size: usize| size == 1 && shape[lead + axis] != 1;
        // The one that every bias and every mean goes through, so it does without a map.
        if let View::Linear { shape: old, strides, offset } = self
            && !shape.contains(&0)
        {
            let mut stretched: Strides = SmallVec::from_elem(0, lead);
            let steps = old.iter().zip(strides).enumerate();
            stretched.extend(steps.map(|(axis, (&size, &step))| if is_stretched(axis, size) { 0 } else { step }));
            return Some(View::Linear { shape: Shape::from_slice(shape), strides: stretched, offset: *offset });
        }
        let axes = self
            .shape()
            .into_iter()
            .enumerate()
            .map(|(axis, size)| Affine::along(shape.len(), lead + axis, 0, i64::from(!is_stretched(axis, size))));
        self.apply(&Map { shape: shape.into(), axes: axes.collect() })
    }

    /// `(start, step, len)` per axis: element `k` of the result is element `start + k · step`.
    pub(crate) fn slice(&self, ranges: &[(usize, isize, usize)]) -> Option<View> {
        let rank = ranges.len();
        debug_assert_eq!(rank, self.rank(), "slice has a range per axis");
        let axes = ranges.iter().enumerate().map(|(axis, &(start, step, _))| {
            Some(Affine::along(rank, axis, i64::try_from(start).ok()?, i64::try_from(step).ok()?))
        });
        let shape: Shape = ranges.iter().map(|&(_, _, len)| len).collect();
        if shape.contains(&0) {
            return Some(View::contiguous(&shape));
        }
        self.apply(&Map { shape, axes: axes.collect::<Option<_>>()? })
    }

    /// The windows along an axis: `size` elements, `dilation` apart, each window `step` after the one before.
    ///
    /// The axis then counts windows, and a new last axis runs within a window. A window that is too large gives none.
    pub(crate) fn unfold(&self, axis: usize, size: usize, step: usize, dilation: usize) -> Option<View> {
        let old = self.shape();
        let rank = old.len() + 1;
        let span = if size == 0 { 0 } else { (size - 1).saturating_mul(dilation).saturating_add(1) };
        let windows = match old[axis].checked_sub(span) {
            Some(room) => room.checked_div(step)?.checked_add(1)?,
            None => 0,
        };
        let mut shape = old.clone();
        shape[axis] = windows;
        shape.push(size);
        if shape.contains(&0) {
            return Some(View::contiguous(&shape));
        }
        let mut map = Map { shape, axes: (0..old.len()).map(|axis| Affine::along(rank, axis, 0, 1)).collect() };
        map.axes[axis].coefficients[axis] = i64::try_from(step).ok()?;
        map.axes[axis].coefficients[old.len()] = i64::try_from(dilation).ok()?;
        self.apply(&map)
    }

    /// `(before, after)` places added per axis, which read as `default`.
    pub(crate) fn pad(&self, padding: &[(usize, usize)], default: Literal) -> Option<View> {
        debug_assert_eq!(padding.len(), self.rank(), "padding is given per axis");
        if padding.iter().all(|border| *border == (0, 0)) {
            return Some(self.clone());
        }
        let old = self.shape();
        let sizes = old.iter().zip(padding);
        let shape = sizes
            .map(|(size, (before, after))| size.checked_add(*before)?.checked_add(*after))
            .map(|size| size.filter(|&size| isize::try_from(size).is_ok()));
        let shape = shape.collect::<Option<Shape>>()?;
        if shape.contains(&0) {
            return Some(View::contiguous(&shape));
        }
        if old.contains(&0) || self.as_constant() == Some(default) {
            return Some(View::constant(&shape, default));
        }
        let padded = match self {
            View::Padded { inner, padding: under, default: same } if *same == default => {
                // Cannot overflow: the whole shape did not.
                let borders = under.iter().zip(padding).map(|(a, b)| (a.0 + b.0, a.1 + b.1));
                View::Padded { inner: inner.clone(), padding: borders.collect(), default }
            }
            _ => View::Padded { inner: Box::new(self.clone()), padding: padding.into(), default },
        };
        padded.within_limits()
    }

    /// `default` wherever the condition is 0. The condition may name no axis that the view does not have.
    pub(crate) fn mask(&self, condition: Expr, default: Literal) -> Option<View> {
        let shape = self.shape();
        if condition.is_larger_than(MOST_NODES) || condition.rank() > shape.len() {
            return None;
        }
        if shape.contains(&0) {
            return Some(self.clone());
        }
        guarded(&shape, condition.simplify(&shape), default, || Some(self.clone()))?.within_limits()
    }
}
