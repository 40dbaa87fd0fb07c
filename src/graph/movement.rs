//! The ways in which one look at a tensor follows from another. None of them touches an element.

use super::node::Node;
use crate::dtype::Literal;
use crate::error::Result;
use crate::shape::{Expr, Shape};
use smallvec::SmallVec;
use std::sync::Arc;

/// A short list of axes.
pub(crate) type Axes = SmallVec<[usize; 6]>;

/// One axis of a slice: element `k` is `start + k * step`, for `k < len`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct SliceRange {
    pub(crate) start: usize,
    pub(crate) step: isize,
    pub(crate) len: usize,
}

/// Windows along an axis of length `n`: window `o`, element `k` is at `o * step + k * dilation`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Window {
    pub(crate) axis: usize,
    /// The length of the axis that is (or was) cut into windows.
    pub(crate) n: usize,
    /// The number of elements of one window.
    pub(crate) size: usize,
    pub(crate) step: usize,
    pub(crate) dilation: usize,
}

impl Window {
    /// Windows along an axis of length `n`. Steps longer than the axis are all the same: they leave it at once.
    pub(crate) fn new(axis: usize, n: usize, size: usize, step: usize, dilation: usize) -> Window {
        let most = n.max(1);
        Window { axis, n, size, step: step.min(most), dilation: dilation.min(most) }
    }

    /// How many whole windows fit.
    pub(crate) fn count(&self) -> usize {
        let reach = self.size.saturating_sub(1).saturating_mul(self.dilation);
        if self.size == 0 || self.n <= reach { 0 } else { (self.n - reach - 1) / self.step + 1 }
    }
}

/// The derivative of a user's own function: from the gradient of its result to those of its inputs.
pub(crate) trait Vjp: Send + Sync {
    /// The function's name.
    fn name(&self) -> &'static str;
    /// The nodes the result depends on.
    fn inputs(&self) -> &[Node];
    /// Other nodes behind the result that the derivative is written with; none of them takes a gradient.
    fn beside(&self) -> &[Node] {
        &[]
    }
    /// One gradient for each input.
    fn backward(&self, grad: &Node) -> Result<Vec<Node>>;
    /// The same derivative for a value computed again from other inputs; `None` where only the user could tell.
    fn rebuilt(&self, inputs: Vec<Node>, beside: Vec<Node>, value: Node) -> Option<Arc<dyn Vjp>> {
        let _ = (inputs, beside, value);
        None
    }
}

/// How a view follows from its input, kept for the gradient.
#[derive(Clone)]
pub(crate) enum Movement {
    /// Axis `i` of the result is axis `axes[i]` of the input.
    Permute(Axes),
    /// Size-1 axes stretched, new axes in front.
    Expand,
    Reshape,
    Slice(Box<[SliceRange]>),
    /// The adjoint of `Slice`: the input's elements at the places the ranges name, zero elsewhere.
    Spread(Box<[SliceRange]>),
    /// Elements added before and after each axis, all with one value.
    Pad(Box<[(usize, usize)]>, Literal),
    /// Elements where the condition is 0 replaced by one value.
    Mask(Expr, Literal),
    /// An axis becomes its windows, with the place in the window as a new last axis.
    Unfold(Window),
    /// From windows (`[.., o, .., k]`) to places (`[.., n, .., k]`): each element where its window had it, zero elsewhere.
    /// Summed over `k` this is `fold`, the adjoint of `Unfold`.
    Place(Window),
    /// The adjoint of `Place`: element `[.., o, .., k]` is the input's `[.., o * step + k * dilation, .., k]`.
    Pick(Window),
    /// The same elements: a branch made on purpose.
    Fork,
    /// The same elements: a node that wants a gradient of its own.
    Leaf,
    /// The same elements, without their history: which op left it behind, and why.
    Detach {
        by: &'static str,
        why: &'static str,
    },
    /// The same elements, with a derivative of the user's.
    Custom(Arc<dyn Vjp>),
}

impl Movement {
    /// The name in messages and listings.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Movement::Permute(_) => "permute",
            Movement::Expand => "expand",
            Movement::Reshape => "reshape",
            Movement::Slice(_) => "slice",
            Movement::Spread(_) => "spread",
            Movement::Pad(..) => "pad",
            Movement::Mask(..) => "mask",
            Movement::Unfold(_) => "unfold",
            Movement::Place(_) => "place",
            Movement::Pick(_) => "pick",
            Movement::Fork => "fork",
            Movement::Leaf => "set_requires_grad",
            Movement::Detach { by, .. } => by,
            Movement::Custom(vjp) => vjp.name(),
        }
    }
}

/// The shape with one axis's size replaced.
pub(super) fn with_size(shape: &[usize], axis: usize, size: usize) -> Shape {
    let mut shape = Shape::from_slice(shape);
    shape[axis] = size;
    shape
}
