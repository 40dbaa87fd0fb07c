//! A group of axes as one operand walks it: a flat index that counts through them, the last axis fastest.

use smallvec::SmallVec;
use std::ops::Range;

/// Sizes and strides (in elements), with neighbours merged where one stride serves both.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Group {
    axes: SmallVec<[(usize, i64); 4]>,
    len: usize,
}

/// Neighbours of a group that lie at equal distances.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Run {
    /// The element the first one is.
    pub(super) offset: isize,
    pub(super) len: usize,
    pub(super) stride: isize,
}

impl Group {
    /// The axes of `sizes`, walked with `strides`.
    pub(super) fn new(sizes: &[usize], strides: &[i64]) -> Group {
        assert_eq!(sizes.len(), strides.len(), "one stride for each axis of a group");
        let mut axes = SmallVec::<[(usize, i64); 4]>::new();
        for (&size, &stride) in sizes.iter().zip(strides).filter(|(size, _)| **size != 1) {
            match axes.last_mut() {
                Some((before, wide)) if *wide == stride * size as i64 => (*before, *wide) = (*before * size, stride),
                _ => axes.push((size, stride)),
            }
        }
        Group { axes, len: sizes.iter().product() }
    }

    /// How many indices there are.
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// The element that a flat index stands for.
    pub(super) fn offset(&self, mut index: usize) -> isize {
        if let [(_, stride)] = self.axes[..] {
            return index as isize * stride as isize;
        }
        let mut offset = 0;
        for &(size, stride) in self.axes.iter().rev() {
            offset += (index % size) as i64 * stride;
            index /= size;
        }
        offset as isize
    }

    /// The stride within `range`, if one serves all of it.
    pub(super) fn uniform(&self, range: &Range<usize>) -> Option<isize> {
        match self.axes.last() {
            None => Some(0),
            Some(&(size, stride)) => {
                (self.axes.len() == 1 || range.start / size + 1 >= range.end.div_ceil(size)).then_some(stride as isize)
            }
        }
    }

    /// The stride of neighbours along the innermost axis.
    pub(super) fn inner(&self) -> isize {
        self.axes.last().map_or(0, |&(_, stride)| stride as isize)
    }

    /// How many indices, from one on, follow each other at one stride.
    pub(super) fn even(&self, index: usize) -> usize {
        match self.axes.last() {
            None => 1,
            Some(&(size, _)) => size - index % size,
        }
    }

    /// Whether every index stands for the same element.
    pub(super) fn is_still(&self) -> bool {
        self.axes.iter().all(|&(_, stride)| stride == 0)
    }

    /// The runs that make up `range`, in order.
    pub(super) fn runs(&self, range: Range<usize>) -> impl Iterator<Item = Run> + '_ {
        let ((size, stride), outer) = self.axes.split_last().map_or(((1, 0), &[][..]), |(&last, outer)| (last, outer));
        // Where the outer axes are, and what that adds; from run to run they are counted on.
        let (mut next, mut rest) = (range.start, range.start / size.max(1));
        let (mut within, mut start) = (range.start % size.max(1), 0);
        let mut at: SmallVec<[usize; 4]> = SmallVec::from_elem(0, outer.len());
        for (at, &(size, stride)) in at.iter_mut().zip(outer).rev() {
            (*at, rest) = (rest % size.max(1), rest / size.max(1));
            start += *at as i64 * stride;
        }
        std::iter::from_fn(move || {
            (next < range.end).then(|| {
                let len = (size - within).min(range.end - next);
                let run = Run { offset: (start + within as i64 * stride) as isize, len, stride: stride as isize };
                (next, within) = (next + len, 0);
                for (at, &(size, stride)) in at.iter_mut().zip(outer).rev() {
                    *at += 1;
                    start += stride;
                    if *at < size {
                        break;
                    }
                    start -= size as i64 * stride;
                    *at = 0;
                }
                run
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn axes_that_follow_each_other_are_merged() {
        let group = Group::new(&[2, 1, 3, 4], &[24, 99, 8, 2]);
        assert_eq!(group.axes[..], [(24, 2)]);
        assert_eq!((group.len(), group.offset(7), group.uniform(&(0..24))), (24, 14, Some(2)));
    }

    #[test]
    fn runs_are_what_offsets_say() {
        let group = Group::new(&[2, 3, 4], &[100, -7, 1]);
        for (start, end) in [(0, 24), (3, 5), (4, 8), (23, 24), (5, 5), (1, 23)] {
            let mut at = start;
            for run in group.runs(start..end) {
                for i in 0..run.len {
                    assert_eq!(group.offset(at), run.offset + i as isize * run.stride);
                    at += 1;
                }
            }
            assert_eq!(at, end);
        }
        assert_eq!((group.uniform(&(4..8)), group.uniform(&(4..9))), (Some(1), None));
    }

    #[test]
    fn a_group_without_axes_has_one_index() {
        let group = Group::new(&[], &[]);
        assert_eq!((group.len(), group.offset(0), group.runs(0..1).count()), (1, 0, 1));
        assert_eq!(Group::new(&[3, 0], &[1, 1]).runs(0..0).count(), 0);
    }
}
