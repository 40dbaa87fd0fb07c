//! Where the lanes of a block are found in an operand: runs along merged axes.
//!
//! Lanes walk the first axes of the index space in row-major order; the axes after those (the *steps*) stand still
//! within a block. Each operand merges the walked axes as far as its own strides allow, whatever the others do.

use crate::codegen::axes::{Axis, merge};
use smallvec::SmallVec;

/// An operand that is read at constant strides.
#[derive(Clone, Debug)]
pub(super) struct Strided {
    /// The position at index 0.
    offset: i64,
    /// What the origin of a call adds to it, for every index.
    pub(super) by_origin: i64,
    /// The walked axes, outermost first, merged. Never empty; the last is the one along which runs lie.
    axes: SmallVec<[Axis; 4]>,
    /// The strides of the step axes, as given.
    pub(super) steps: SmallVec<[i64; 4]>,
}

/// Where a block begins in an operand.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Place {
    /// The position of the first lane.
    pub(super) position: i64,
    /// How many lanes follow at a constant step, the first included.
    pub(super) room: usize,
}

impl Strided {
    /// An operand over axes of which the first `walked` are walked by the lanes.
    pub(super) fn new(offset: i64, strides: &[i64], sizes: &[usize], walked: usize, by_origin: i64) -> Strided {
        assert_eq!(strides.len(), sizes.len(), "one stride per axis");
        let axes = merge(&sizes[..walked], &strides[..walked]);
        Strided { offset, by_origin, axes, steps: SmallVec::from_slice(&strides[walked..]) }
    }

    /// The step between neighbouring lanes of a run.
    pub(super) fn stride(&self) -> i64 {
        self.axes[self.axes.len() - 1].stride
    }

    /// Whether all lanes read the same element.
    pub(super) fn is_uniform(&self) -> bool {
        self.axes.iter().all(|axis| axis.stride == 0)
    }

    /// Where lane `start` of the whole walk is.
    pub(super) fn place(&self, start: usize) -> Place {
        if let [axis] = self.axes[..] {
            return Place { position: self.offset + start as i64 * axis.stride, room: axis.size - start };
        }
        let (mut rest, mut position, mut room) = (start, self.offset, 0);
        for (k, axis) in self.axes.iter().enumerate().rev() {
            let index = if k == 0 { rest } else { rest % axis.size };
            rest /= axis.size;
            position += index as i64 * axis.stride;
            if k == self.axes.len() - 1 {
                room = axis.size - index;
            }
        }
        Place { position, room }
    }

    /// Calls `run(first lane, length, position)` for every run of the `n` lanes from `start`.
    pub(super) fn runs(&self, start: usize, n: usize, mut run: impl FnMut(usize, usize, i64)) {
        let inner = self.axes.len() - 1;
        let mut index = SmallVec::<[usize; 8]>::from_elem(0, self.axes.len());
        let (mut rest, mut position) = (start, self.offset);
        for k in (0..=inner).rev() {
            index[k] = if k == 0 { rest } else { rest % self.axes[k].size };
            rest /= self.axes[k].size;
            position += index[k] as i64 * self.axes[k].stride;
        }
        let mut lane = 0;
        loop {
            let length = (self.axes[inner].size - index[inner]).min(n - lane);
            run(lane, length, position);
            lane += length;
            if lane == n {
                return;
            }
            position -= index[inner] as i64 * self.axes[inner].stride;
            index[inner] = 0;
            for k in (0..inner).rev() {
                index[k] += 1;
                position += self.axes[k].stride;
                if index[k] < self.axes[k].size {
                    break;
                }
                position -= index[k] as i64 * self.axes[k].stride;
                index[k] = 0;
            }
        }
    }
}

/// The indices along one walked axis, for the lanes from `start`: they begin at `first`, stay for `inner` lanes and wrap after `size`.
pub(super) fn indices(to: &mut [i64], start: usize, size: usize, inner: usize, first: usize) {
    let mut index = start / inner % size;
    let mut lane = 0;
    let mut stay = inner - start % inner;
    while lane < to.len() {
        if inner == 1 {
            let length = (size - index).min(to.len() - lane);
            for (k, lane) in to[lane..lane + length].iter_mut().enumerate() {
                *lane = (first + index + k) as i64;
            }
            lane += length;
            index = 0;
        } else {
            let length = stay.min(to.len() - lane);
            to[lane..lane + length].fill((first + index) as i64);
            lane += length;
            stay = inner;
            index = if index + 1 == size { 0 } else { index + 1 };
        }
    }
}
