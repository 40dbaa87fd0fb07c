//! Axes that make one even walk are one axis.

use smallvec::SmallVec;

/// One axis of an operand: its size, and the step between its neighbours in elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Axis {
    pub(crate) size: usize,
    pub(crate) stride: i64,
}

/// Merges axes, outermost first: an axis joins the one inside it where both make one even walk.
pub(crate) fn merge(sizes: &[usize], strides: &[i64]) -> SmallVec<[Axis; 4]> {
    let mut axes = SmallVec::<[Axis; 4]>::new();
    for (&size, &stride) in sizes.iter().zip(strides) {
        if size == 1 {
            continue;
        }
        match axes.last_mut() {
            Some(outside) if outside.stride == stride.wrapping_mul(size as i64) => {
                *outside = Axis { size: outside.size * size, stride };
            }
            _ => axes.push(Axis { size, stride }),
        }
    }
    if axes.is_empty() {
        axes.push(Axis { size: 1, stride: 0 });
    }
    axes
}
