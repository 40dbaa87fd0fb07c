//! Pooling: each window becomes one number. Windows are views; nothing is copied.

pub(crate) mod adaptive;
pub(crate) mod average;
pub(crate) mod max;

use super::convolution::{Sliding, Spatial};
use super::pad;
use crate::dtype::Literal;
use crate::error::{Error, ErrorKind, Result};
use crate::graph::{Node, ReduceKind, Window};
use crate::ops::record::Dtypes;
use crate::shape::Shape;
use smallvec::SmallVec;

/// The windows of a pooling over the last axes.
#[derive(Clone, Debug)]
pub(crate) struct Pooling {
    pub(crate) kernel: Spatial,
    pub(crate) sliding: Sliding,
    /// Windows that begin inside may end outside.
    pub(crate) ceil: bool,
}

/// Where the windows of one tensor are: the sizes of its last axes before and after padding, and how many windows there are.
#[derive(Clone, Debug)]
struct Frame {
    size: Spatial,
    /// What the windows reach over, padding counted.
    reach: Spatial,
    places: Spatial,
}

impl Pooling {
    fn spatial(&self) -> usize {
        self.kernel.len()
    }

    /// Checks the settings and finds the windows of `x`.
    fn frame(&self, op: &str, x: &Node, dtypes: Dtypes) -> Result<Frame> {
        dtypes.check(op, x)?;
        let Sliding { stride, padding, dilation } = &self.sliding;
        let spatial = self.spatial();
        let fail = |kind: ErrorKind, message: String| Err(Error::new(kind, op, message).made_at("tensor", x.at()));
        if x.rank() < spatial {
            return fail(ErrorKind::Shape, format!("shape {:?} has fewer than {spatial} axes", x.shape()));
        }
        if self.kernel.iter().chain(stride).chain(dilation).any(|&size| size == 0) {
            return fail(
                ErrorKind::Value,
                format!("kernel {:?}, stride {stride:?} and dilation {dilation:?} must all be at least 1", self.kernel),
            );
        }
        if padding.iter().zip(&self.kernel).any(|(&padding, &kernel)| padding > kernel / 2) {
            return fail(
                ErrorKind::Value,
                format!("padding {padding:?} is more than half of the kernel {:?}", self.kernel),
            );
        }
        let size: Spatial = x.shape()[x.rank() - spatial..].into();
        let (mut reach, mut places) = (Spatial::new(), Spatial::new());
        for k in 0..spatial {
            let span = (self.kernel[k] - 1).saturating_mul(dilation[k]);
            let Some(room) = (size[k] + 2 * padding[k]).checked_sub(span.saturating_add(1)) else {
                return fail(
                    ErrorKind::Shape,
                    format!("a kernel of {:?} does not fit into {:?} with padding {padding:?}", self.kernel, &size[..]),
                );
            };
            let mut count = room / stride[k] + 1;
            // One more that begins inside, if it may end outside.
            if self.ceil && !room.is_multiple_of(stride[k]) && count * stride[k] < size[k] + padding[k] {
                count += 1;
            }
            places.push(count);
            reach.push((count - 1) * stride[k] + span + 1);
        }
        Ok(Frame { size, reach, places })
    }

    /// The amounts that bring the last axes from their sizes to what the windows reach over; a negative one crops.
    fn borders(&self, x: &Node, frame: &Frame) -> Vec<(isize, isize)> {
        let mut borders = vec![(0, 0); x.rank()];
        let lead = x.rank() - self.spatial();
        for k in 0..self.spatial() {
            let before = self.sliding.padding[k] as isize;
            borders[lead + k] = (before, frame.reach[k] as isize - frame.size[k] as isize - before);
        }
        borders
    }

    /// The windows, `[.., ..places, ..kernel]`, with `outside` where they leave the tensor.
    #[track_caller]
    fn windows(&self, x: &Node, frame: &Frame, outside: Literal) -> Result<Node> {
        let mut view = pad::constant(x, &self.borders(x, frame), outside)?;
        let lead = x.rank() - self.spatial();
        for k in 0..self.spatial() {
            view = view.unfolded(self.window(lead + k, frame.reach[k], k))?;
        }
        Ok(view)
    }

    fn window(&self, axis: usize, n: usize, k: usize) -> Window {
        Window::new(axis, n, self.kernel[k], self.sliding.stride[k], self.sliding.dilation[k])
    }

    /// The axes of the elements of a window.
    fn inner_axes(&self) -> SmallVec<[isize; 6]> {
        (1..=self.spatial() as isize).map(|k| -k).collect()
    }

    /// What is at the windows, `[.., ..places]`, seen from the elements: `[.., ..reach, ..kernel]` in some order of the kernel's
    /// axes, zero where an element is in no such window.
    #[track_caller]
    fn placed(&self, places: &Node, frame: &Frame) -> Result<Node> {
        let spatial = self.spatial();
        let lead = places.rank() - spatial;
        let mut apart = Shape::from_slice(places.shape());
        apart.extend(std::iter::repeat_n(1, spatial));
        let mut whole = Shape::from_slice(places.shape());
        whole.extend(self.kernel.iter().copied());
        let mut seen = places.reshaped(&apart).broadcast_to(&whole)?;
        for k in (0..spatial).rev() {
            seen = seen.placed(self.window(lead + k, frame.reach[k], k))?;
            // The next window's elements last.
            let first = lead + spatial;
            let order: Shape = (0..first).chain([seen.rank() - 1]).chain(first..seen.rank() - 1).collect();
            seen = seen.permuted(&order);
        }
        Ok(seen)
    }

    /// What was seen from the elements added up over the windows they are in, and the padding taken off.
    #[track_caller]
    fn gathered(&self, op: &str, seen: &Node, x: &Node, frame: &Frame) -> Result<Node> {
        let sum = seen.reduce(op, ReduceKind::Sum, &self.inner_axes(), false)?;
        let back: Vec<(isize, isize)> = self.borders(x, frame).iter().map(|&(a, b)| (-a, -b)).collect();
        pad::constant(&sum, &back, Literal::zero(sum.dtype()))
    }
}
