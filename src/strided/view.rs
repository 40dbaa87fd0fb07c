//! Where an operand's elements lie, and the checks that make the inner loops sound.

use crate::error::{Error, ErrorKind, Result};
use smallvec::SmallVec;

/// This many axes need no memory from the heap.
pub(super) const INLINE: usize = 8;

/// One stride for each axis.
pub(super) type Strides = SmallVec<[isize; INLINE]>;

/// A view of a flat slice: the element at `index` lies at position `offset + Σ index[axis] * strides[axis]`.
///
/// Strides count elements. They may be negative (an axis read backwards, with an offset to start from) or zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Strided<'a> {
    /// How many elements along each axis.
    pub shape: &'a [usize],
    /// How many positions one step along each axis makes.
    pub strides: &'a [isize],
    /// The position of the first element.
    pub offset: usize,
}

impl<'a> Strided<'a> {
    /// A view that starts at position 0.
    pub const fn new(shape: &'a [usize], strides: &'a [isize]) -> Strided<'a> {
        Strided { shape, strides, offset: 0 }
    }

    /// The same view, starting at another position.
    pub const fn at(self, offset: usize) -> Strided<'a> {
        Strided { offset, ..self }
    }

    /// Each axis with more than one element: how many, and the stride.
    fn moving_axes(&self) -> impl Iterator<Item = (usize, isize)> + '_ {
        self.shape.iter().copied().zip(self.strides.iter().copied()).filter(|&(size, _)| size > 1)
    }

    /// An error unless every axis has a stride.
    pub(super) fn check_rank(&self, op: &str, who: &str) -> Result<()> {
        if self.shape.len() == self.strides.len() {
            return Ok(());
        }
        let (shape, strides) = (self.shape, self.strides);
        let message = format!("{who} has shape {shape:?} and strides {strides:?}: give one stride for each axis");
        Err(Error::new(ErrorKind::Shape, op, message))
    }

    /// An error unless all positions lie within a slice of `len` elements (and below `isize::MAX`).
    pub(super) fn check_bounds(&self, op: &str, who: &str, len: usize) -> Result<()> {
        if self.shape.contains(&0) {
            return Ok(());
        }
        let (mut low, mut high) = (self.offset as i128, self.offset as i128);
        for (size, stride) in self.moving_axes() {
            let reach = ((size - 1) as i128).saturating_mul(stride as i128);
            low = low.saturating_add(reach.min(0));
            high = high.saturating_add(reach.max(0));
        }
        let problem = if low < 0 {
            format!("goes back to position {low}: start at an offset of at least {}", self.offset as i128 - low)
        } else if high >= len.min(isize::MAX as usize) as i128 {
            format!("reaches position {high}, but the slice has {len} elements: pass a longer slice, or a smaller view")
        } else {
            return Ok(());
        };
        let Strided { shape, strides, offset } = self;
        let message = format!("{who} of shape {shape:?} with strides {strides:?} from offset {offset} {problem}");
        Err(Error::new(ErrorKind::Index, op, message))
    }

    /// An error unless every element has a position of its own, as an output's must.
    ///
    /// Each stride has to step over all that the smaller ones can reach. That holds for every slice, permutation and
    /// flip of a dense tensor (and refuses a few exotic layouts whose elements interleave without meeting).
    pub(super) fn check_no_overlap(&self, op: &str) -> Result<()> {
        if self.shape.contains(&0) {
            return Ok(());
        }
        let mut axes: SmallVec<[(usize, usize); INLINE]> =
            self.moving_axes().map(|(size, stride)| (stride.unsigned_abs(), size)).collect();
        axes.sort_unstable();
        let mut reach: u128 = 0;
        for (stride, size) in axes {
            if stride as u128 <= reach {
                let (shape, strides) = (self.shape, self.strides);
                let message = format!(
                    "the output of shape {shape:?} with strides {strides:?} overlaps itself: let each stride step over what the \
                     smaller ones reach, as those of a dense tensor do"
                );
                return Err(Error::new(ErrorKind::Value, op, message));
            }
            reach = reach.saturating_add((size - 1) as u128 * stride as u128);
        }
        Ok(())
    }

    /// The strides of this view seen in a larger shape: 0 along the axes it is repeated on.
    pub(super) fn broadcast_to(&self, op: &str, who: &str, out_shape: &[usize]) -> Result<Strides> {
        check_broadcast(op, who, self.shape, out_shape)?;
        let missing = out_shape.len() - self.shape.len();
        let own = self.shape.iter().zip(self.strides).map(|(&size, &stride)| if size == 1 { 0 } else { stride });
        Ok(std::iter::repeat_n(0, missing).chain(own).collect())
    }
}

/// An error unless `shape`, aligned right, has the output's size or 1 along every axis.
pub(super) fn check_broadcast(op: &str, who: &str, shape: &[usize], out_shape: &[usize]) -> Result<()> {
    let fail = |problem: String| {
        let message = format!("{who} shape {shape:?} does not broadcast to the output's {out_shape:?}: {problem}");
        Err(Error::new(ErrorKind::Shape, op, message))
    };
    let Some(missing) = out_shape.len().checked_sub(shape.len()) else {
        return fail(format!("it has {} axes, the output {}", shape.len(), out_shape.len()));
    };
    for (axis, (&size, &wanted)) in shape.iter().zip(&out_shape[missing..]).enumerate() {
        if size != wanted && size != 1 {
            return fail(format!("axis {axis} is {size} and should be {wanted} or 1"));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn overlaps(shape: &[usize], strides: &[isize]) -> bool {
        Strided::new(shape, strides).check_no_overlap("map").is_err()
    }

    #[test]
    fn outputs_that_meet_themselves_are_refused() {
        assert!(overlaps(&[2, 3], &[0, 1]));
        assert!(overlaps(&[2, 3], &[2, 1]));
        assert!(overlaps(&[2, 3], &[1, 1]));
        assert!(overlaps(&[3, 3], &[-1, 1]));
        assert!(overlaps(&[2, usize::MAX, usize::MAX], &[isize::MIN, isize::MAX, 1]));
    }

    #[test]
    fn slices_permutations_and_flips_are_allowed() {
        assert!(!overlaps(&[2, 3], &[3, 1]));
        assert!(!overlaps(&[3, 2], &[1, 3]));
        assert!(!overlaps(&[2, 3], &[-8, -2]));
        assert!(!overlaps(&[1, 3], &[0, 1]));
        assert!(!overlaps(&[0, 3], &[0, 0]));
        assert!(!overlaps(&[], &[]));
    }

    #[test]
    fn bounds_are_exact_on_both_sides() {
        let view = Strided::new(&[2, 3], &[-4, 2]).at(4);
        assert!(view.check_bounds("map", "input", 9).is_ok());
        assert!(view.check_bounds("map", "input", 8).is_err());
        assert!(view.at(3).check_bounds("map", "input", 9).is_err());
        assert!(Strided::new(&[], &[]).check_bounds("map", "input", 0).is_err());
        assert!(Strided::new(&[0], &[7]).at(99).check_bounds("map", "input", 0).is_ok());
        let huge = Strided::new(&[usize::MAX, usize::MAX], &[isize::MAX, isize::MAX]);
        assert!(huge.check_bounds("map", "input", usize::MAX).is_err());
    }
}
