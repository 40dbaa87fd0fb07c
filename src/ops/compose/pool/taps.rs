//! Windows seen element by element of the kernel: "tap" `k` of every window at once.
//!
//! For small kernels this is quicker than to look at windows as axes. The way back needs no division: the elements that tap
//! `k` touches are `stride` apart, so those with one remainder modulo the stride (a *phase*) are sums of shifted taps.

use super::{Frame, Pooling};
use crate::dtype::Literal;
use crate::error::Result;
use crate::graph::build::whole_ranges;
use crate::graph::{Node, SliceRange};
use crate::ops::compose::{join, pad};
use crate::shape::Shape;

/// The most taps, and the most phases, that are written out.
const MOST_TAPS: usize = 64;
const MOST_PHASES: usize = 16;

impl Pooling {
    /// Whether the kernel is small enough to be written out.
    pub(super) fn is_small(&self) -> bool {
        let product = |sizes: &[usize]| sizes.iter().fold(1usize, |product, &size| product.saturating_mul(size));
        product(&self.kernel) <= MOST_TAPS && product(&self.sliding.stride) <= MOST_PHASES
    }

    /// The places of the taps within a window, in row-major order.
    pub(super) fn taps(&self) -> Vec<Shape> {
        let mut taps: Vec<Shape> = vec![Shape::new()];
        for &size in &self.kernel {
            taps =
                taps.iter().flat_map(|tap| (0..size).map(move |k| tap.iter().copied().chain([k]).collect())).collect();
        }
        taps
    }

    /// What one tap of each window sees: `[.., ..places]`. `padded` reaches over all windows.
    #[track_caller]
    pub(super) fn tap(&self, padded: &Node, frame: &Frame, tap: &[usize]) -> Node {
        let lead = padded.rank() - self.spatial();
        let mut ranges = whole_ranges(padded.shape());
        for (k, &place) in tap.iter().enumerate() {
            let (start, step) = (place * self.sliding.dilation[k], self.sliding.stride[k] as isize);
            ranges[lead + k] = SliceRange { start, step, len: frame.places[k] };
        }
        padded.sliced(&ranges)
    }

    /// The adjoint of all [`tap`](Self::tap)s: what each tap gives, added up at the elements of `x`.
    #[track_caller]
    pub(super) fn untapped(&self, given: impl Fn(usize) -> Result<Node>, x: &Node, frame: &Frame) -> Result<Node> {
        let spatial = self.spatial();
        let lead = x.rank() - spatial;
        let grid: Shape = (0..spatial).map(|k| frame.reach[k].div_ceil(self.sliding.stride[k])).collect();
        let mut parts = Vec::new();
        for phase in self.phases() {
            parts.push(self.phase(&phase, &given, frame, &grid, lead)?);
        }
        // The phases of the last axis side by side, then those of the one before it.
        for k in (0..spatial).rev() {
            let stacked = parts.chunks(self.sliding.stride[k]);
            let axis = (lead + k + 1) as isize;
            parts = stacked.map(|part| join::stack(&part.iter().collect::<Vec<_>>(), axis)).collect::<Result<_>>()?;
        }
        let whole = parts.pop().expect("at least one phase");
        let mut shape = Shape::from_slice(&x.shape()[..lead]);
        shape.extend((0..spatial).map(|k| grid[k] * self.sliding.stride[k]));
        let mut borders = vec![(0, 0); x.rank()];
        for k in 0..spatial {
            let before = self.sliding.padding[k] as isize;
            borders[lead + k] = (-before, frame.size[k] as isize + before - shape[lead + k] as isize);
        }
        pad::constant(&whole.reshaped(&shape), &borders, Literal::zero(whole.dtype()))
    }

    /// Every remainder modulo the strides, in row-major order.
    fn phases(&self) -> Vec<Shape> {
        let strides = Pooling { kernel: self.sliding.stride.clone(), ..self.clone() };
        strides.taps()
    }

    /// The elements of one phase: taps that touch them, shifted to where they do.
    #[track_caller]
    fn phase(
        &self,
        phase: &[usize],
        given: &impl Fn(usize) -> Result<Node>,
        frame: &Frame,
        grid: &[usize],
        lead: usize,
    ) -> Result<Node> {
        let mut sum: Option<Node> = None;
        let place = |tap: &[usize], k: usize| tap[k] * self.sliding.dilation[k];
        let touches = |tap: &Shape| (0..phase.len()).all(|k| place(tap, k) % self.sliding.stride[k] == phase[k]);
        for (number, tap) in self.taps().iter().enumerate().filter(|(_, tap)| touches(tap)) {
            let mut padding = vec![(0, 0); lead + phase.len()];
            for k in 0..phase.len() {
                let shift = place(tap, k) / self.sliding.stride[k];
                padding[lead + k] = (shift, grid[k] - frame.places[k] - shift);
            }
            let part = given(number)?;
            let part = part.padded(&padding, Literal::zero(part.dtype()))?;
            sum = Some(match sum {
                Some(sum) => &sum + &part,
                None => part,
            });
        }
        match sum {
            Some(sum) => Ok(sum),
            // No window touches them.
            None => {
                let any = given(0)?;
                let mut shape = Shape::from_slice(&any.shape()[..lead]);
                shape.extend(grid.iter().copied());
                Node::full(&shape, Literal::zero(any.dtype()))
            }
        }
    }
}
