//! Views that read at strides within bounds: their guards as limits of sums of indices.

use super::{Position, View};
use crate::dtype::Literal;
use crate::shape::Expr;
use smallvec::SmallVec;

/// Where a view's elements lie, and within which bounds there are any.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Bounded {
    /// The element at an index is at `offset + Σ index · stride`.
    pub(crate) offset: i64,
    pub(crate) strides: SmallVec<[i64; 6]>,
    /// An index that does not keep all of these reads as the default.
    pub(crate) bounds: Vec<Bound>,
}

/// `low <= Σ index · step < high`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Bound {
    pub(crate) steps: SmallVec<[i64; 6]>,
    pub(crate) low: i64,
    pub(crate) high: i64,
}

impl Bounded {
    /// Whether what is read depends on the index along an axis.
    pub(crate) fn follows(&self, axis: usize) -> bool {
        self.strides[axis] != 0 || self.bounds.iter().any(|bound| bound.steps[axis] != 0)
    }

    /// Adds `Σ index · step >= least`.
    fn at_least(&mut self, steps: SmallVec<[i64; 6]>, least: i64, shape: &[usize]) -> Option<()> {
        let is_negative = *steps.iter().find(|step| **step != 0)? < 0;
        let steps = if is_negative { steps.iter().map(|step| -step).collect() } else { steps };
        let (low, high) = range(&steps, shape)?;
        let (low, high) = if is_negative { (low, high.min(1_i64.checked_sub(least)?)) } else { (low.max(least), high) };
        match self.bounds.iter_mut().find(|bound| bound.steps == steps) {
            Some(bound) => (bound.low, bound.high) = (bound.low.max(low), bound.high.min(high)),
            None => self.bounds.push(Bound { steps, low, high }),
        }
        Some(())
    }

    /// Adds a condition, if it says nothing but that sums of indices are within limits.
    fn keep(&mut self, condition: &Expr, shape: &[usize]) -> Option<()> {
        let difference = |a: &Expr, b: &Expr| {
            let ((offset, mut steps), (other, others)) = (a.affine(shape.len())?, b.affine(shape.len())?);
            for (step, other) in steps.iter_mut().zip(others) {
                *step = step.checked_sub(other)?;
            }
            Some((offset.checked_sub(other)?, steps))
        };
        match condition {
            Expr::Const(0) => None,
            Expr::Const(_) => Some(()),
            Expr::And(a, b) => self.keep(a, shape).and_then(|()| self.keep(b, shape)),
            Expr::Lt(a, b) => {
                let (offset, steps) = difference(b, a)?;
                self.at_least(steps, 1_i64.checked_sub(offset)?, shape)
            }
            Expr::Not(a) => {
                let Expr::Lt(a, b) = &**a else { return None };
                let (offset, steps) = difference(a, b)?;
                self.at_least(steps, offset.checked_neg()?, shape)
            }
            _ => None,
        }
    }
}

/// The least that a sum of indices can be, and one more than the most.
fn range(steps: &[i64], shape: &[usize]) -> Option<(i64, i64)> {
    const WIDEST: i64 = 1 << 60;
    let (mut low, mut high) = (0_i64, 1_i64);
    for (&step, &size) in steps.iter().zip(shape) {
        let reach = step.checked_mul(i64::try_from(size).ok()? - 1)?;
        low = low.checked_add(reach.min(0))?;
        high = high.checked_add(reach.max(0))?;
    }
    (-WIDEST < low && high < WIDEST).then_some((low, high))
}

impl View {
    /// Strides and bounds, if they say everything but what is read outside: `default`.
    pub(crate) fn bounded(&self, default: Literal) -> Option<Bounded> {
        let (Position::Strided { offset, strides }, guards) = self.access() else { return None };
        let shape = self.shape();
        let mut bounded = Bounded { offset, strides, bounds: Vec::new() };
        if !guards.is_empty() && shape.contains(&0) {
            return None;
        }
        for (condition, outside) in &guards {
            if *outside != default {
                return None;
            }
            bounded.keep(condition, &shape)?;
        }
        Some(bounded)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shape::{Read, ordinal_to_index};

    const ZERO: Literal = Literal::F32(0.0);

    /// Asserts that a view reads what its bounds say.
    fn check(view: &View) -> Bounded {
        let bounded = view.bounded(ZERO).unwrap();
        let shape = view.shape();
        for ordinal in 0..shape.iter().product() {
            let index = ordinal_to_index(ordinal, &shape);
            let sum = |steps: &[i64]| steps.iter().zip(&index).map(|(step, &at)| step * at as i64).sum::<i64>();
            let is_inside = bounded.bounds.iter().all(|bound| (bound.low..bound.high).contains(&sum(&bound.steps)));
            let read = match is_inside {
                true => Read::At((bounded.offset + sum(&bounded.strides)) as usize),
                false => Read::Default(ZERO),
            };
            assert_eq!(view.read(&index), read, "{index:?} of {view:?}: {bounded:?}");
        }
        bounded
    }

    #[test]
    fn windows_over_a_border_have_one_bound_for_each_axis() {
        let padding = [(0, 0), (1, 2), (3, 1)];
        let image = View::contiguous(&[2, 6, 7]).pad(&padding, ZERO).unwrap();
        for (taps, stride, dilation) in [(3, 1, 1), (2, 2, 1), (3, 1, 2), (1, 3, 1)] {
            let rows = image.unfold(1, taps, stride, dilation).unwrap();
            let windows = rows.unfold(2, taps, stride, dilation).unwrap();
            assert_eq!(check(&windows).bounds.len(), 2);
            check(&windows.permute(&[0, 3, 4, 1, 2]).unwrap());
        }
        assert!(check(&View::contiguous(&[2, 6])).bounds.is_empty());
    }

    #[test]
    fn other_conditions_are_bounds_too() {
        let square = View::contiguous(&[5, 5]);
        let triangle = square.mask(Expr::idx(0).le(Expr::idx(1)), ZERO).unwrap();
        assert_eq!(check(&triangle).bounds.len(), 1);
        let band = triangle.mask((Expr::idx(0) + 2).gt(Expr::idx(1)), ZERO).unwrap();
        assert_eq!(check(&band).bounds.len(), 1);
        assert!(check(&square.pad(&[(1, 0), (0, 0)], ZERO).unwrap()).follows(0));
    }

    #[test]
    fn what_is_no_bound_is_none() {
        let line = View::contiguous(&[6]);
        assert!(line.mask(Expr::idx(0).rem(2).eq_expr(0), ZERO).unwrap().bounded(ZERO).is_none());
        assert!(line.pad(&[(1, 1)], Literal::F32(1.0)).unwrap().bounded(ZERO).is_none());
        assert!(line.pad(&[(1, 1)], Literal::F32(-0.0)).unwrap().bounded(ZERO).is_none());
        assert!(View::constant(&[3], ZERO).bounded(ZERO).is_none());
        assert!(line.substitute([6].as_slice().into(), &[(Expr::idx(0) + 2) % 6]).unwrap().bounded(ZERO).is_none());
    }
}
