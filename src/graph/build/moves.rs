//! Nodes that look at the same elements in another way. None of them copies, unless no single view can say it.

use crate::dtype::Literal;
use crate::error::{Error, ErrorKind, Result};
use crate::graph::movement::{Axes, Movement, SliceRange, Vjp};
use crate::graph::node::Flow;
use crate::graph::{Node, Op};
use crate::shape::{Expr, Shape, View, element_count, len_of};
use smallvec::SmallVec;
use std::sync::Arc;

/// The most axes that one view spreads.
const MOST_SPREAD: usize = 3;

/// The most parts of a mask's condition, a shared one counted each time.
const MOST_PARTS: usize = 64;

/// Why the history of a value with a derivative of its own is left behind.
const OWN_DERIVATIVE: &str = "it has a derivative of its own";

impl Node {
    /// A view of this node, `change` away; where no view can say it, of a dense copy of this node.
    #[track_caller]
    pub(super) fn moved(&self, movement: Movement, change: impl Fn(&View) -> Option<View>) -> Node {
        let (base, view) = self.base_and_view();
        if let Some(view) = change(&view) {
            let shape = Shape::from_slice(&view.shape());
            return Node::new(
                Op::View { input: self.clone(), movement, base, view: Arc::new(view) },
                shape,
                self.dtype(),
            );
        }
        let copy = self.contiguous();
        let view = change(&View::contiguous(self.shape())).expect("a dense tensor can be looked at in any way");
        let shape = Shape::from_slice(&view.shape());
        Node::new(Op::View { input: copy.clone(), movement, base: copy, view: Arc::new(view) }, shape, self.dtype())
    }

    /// A dense copy, or the node itself if it already owns dense elements.
    #[track_caller]
    pub(crate) fn contiguous(&self) -> Node {
        let is_view = self.with_op(|op| matches!(op, Op::View { .. }));
        if !is_view {
            return self.clone();
        }
        Node::new(Op::Contiguous { input: self.clone() }, Shape::from_slice(self.shape()), self.dtype())
    }

    /// Axis `i` of the result is axis `axes[i]`; `axes` is a permutation.
    #[track_caller]
    pub(crate) fn permuted(&self, axes: &[usize]) -> Node {
        if axes.iter().enumerate().all(|(i, &axis)| i == axis) {
            return self.clone();
        }
        self.moved(Movement::Permute(Axes::from_slice(axes)), |view| view.permute(axes))
    }

    /// Stretched to `shape`, which this node's shape broadcasts to.
    #[track_caller]
    pub(crate) fn broadcast_to(&self, shape: &[usize]) -> Result<Node> {
        if self.shape() == shape {
            return Ok(self.clone());
        }
        // A constant is the same constant in any shape.
        if let Some(value) = self.constant() {
            return Node::full(shape, value);
        }
        Ok(self.moved(Movement::Expand, |view| view.expand(shape)))
    }

    /// The value of a constant node that does not track.
    pub(crate) fn constant(&self) -> Option<Literal> {
        self.with_op(|op| if let Op::ConstFill(value) = op { Some(*value) } else { None })
    }

    /// The same elements in row-major order under another shape of the same size.
    #[track_caller]
    pub(crate) fn reshaped(&self, shape: &[usize]) -> Node {
        debug_assert_eq!(self.len(), len_of(shape));
        if self.shape() == shape {
            return self.clone();
        }
        self.moved(Movement::Reshape, |view| view.reshape(shape))
    }

    /// A part of each axis, by valid ranges.
    #[track_caller]
    pub(crate) fn sliced(&self, ranges: &[SliceRange]) -> Node {
        let whole = |(range, &size): (&SliceRange, &usize)| range.start == 0 && range.step == 1 && range.len == size;
        if ranges.iter().zip(self.shape()).all(whole) {
            return self.clone();
        }
        let triples: SmallVec<[(usize, isize, usize); 6]> = ranges.iter().map(|r| (r.start, r.step, r.len)).collect();
        self.moved(Movement::Slice(ranges.into()), |view| view.slice(&triples))
    }

    /// This node's elements at the places `ranges` name in a tensor of `shape`, zero elsewhere.
    #[track_caller]
    pub(crate) fn spread(&self, ranges: &[SliceRange], shape: &[usize]) -> Result<Node> {
        element_count("spread", shape, self.dtype())?;
        let zero = Literal::zero(self.dtype());
        // With steps of one, spreading is padding.
        if ranges.iter().all(|range| range.step == 1 || range.len <= 1) {
            let padding: SmallVec<[(usize, usize); 6]> = ranges
                .iter()
                .zip(shape)
                .map(
                    |(range, &size)| {
                        if range.len == 0 { (0, size) } else { (range.start, size - range.start - range.len) }
                    },
                )
                .collect();
            return self.padded(&padding, zero);
        }
        let is_whole = |axis: usize| ranges[axis] == SliceRange { start: 0, step: 1, len: shape[axis] };
        let changed: SmallVec<[usize; 6]> = (0..ranges.len()).filter(|&axis| !is_whole(axis)).collect();
        if changed.len() > MOST_SPREAD {
            // More axes than one condition can speak of: some first, then the others.
            let (mut first, mut second) = (whole_ranges(self.shape()), SmallVec::<[SliceRange; 6]>::from_slice(ranges));
            let mut between = Shape::from_slice(self.shape());
            for &axis in &changed[..MOST_SPREAD] {
                first[axis] = ranges[axis];
                between[axis] = shape[axis];
                second[axis] = SliceRange { start: 0, step: 1, len: shape[axis] };
            }
            return self.spread(&first, &between)?.spread(&second, shape);
        }
        let movement = Movement::Spread(ranges.into());
        Ok(self.moved(movement.clone(), |view| movement.apply(view, shape, zero)))
    }

    /// Elements of one value added before and after each axis.
    #[track_caller]
    pub(crate) fn padded(&self, padding: &[(usize, usize)], value: Literal) -> Result<Node> {
        if padding.iter().all(|&pair| pair == (0, 0)) {
            return Ok(self.clone());
        }
        let sizes = self.shape().iter().zip(padding);
        let shape: Shape = sizes.map(|(&size, &(a, b))| size.saturating_add(a).saturating_add(b)).collect();
        element_count("pad", &shape, self.dtype())?;
        if let Some(axis) = shape.iter().position(|&size| isize::try_from(size).is_err()) {
            let message = format!("axis {axis} of shape {:?} grows beyond what can be counted", self.shape());
            return Err(Error::new(ErrorKind::Memory, "pad", message).made_at("tensor", self.at()));
        }
        Ok(self.moved(Movement::Pad(padding.into(), value), |view| view.pad(padding, value)))
    }

    /// `value` wherever `condition` is 0. The condition may use only this node's axes.
    #[track_caller]
    pub(crate) fn masked(&self, condition: Expr, value: Literal) -> Result<Node> {
        if condition.is_larger_than(MOST_PARTS) {
            let message = format!("the condition has more than {MOST_PARTS} parts: use where_ with a bool tensor");
            return Err(Error::new(ErrorKind::Value, "mask", message).made_at("tensor", self.at()));
        }
        if condition.rank() > self.rank() {
            let axis = condition.rank() - 1;
            let message =
                format!("the condition uses axis {axis}, but shape {:?} has rank {}", self.shape(), self.rank());
            return Err(Error::new(ErrorKind::Axis, "mask", message).made_at("tensor", self.at()));
        }
        Ok(self.moved(Movement::Mask(condition.clone(), value), |view| view.mask(condition.clone(), value)))
    }

    /// This node moved in a known way, to a known shape.
    #[track_caller]
    pub(crate) fn moved_by(&self, movement: &Movement, shape: &[usize]) -> Result<Node> {
        Ok(match movement {
            Movement::Permute(axes) => self.permuted(axes),
            Movement::Expand => self.broadcast_to(shape)?,
            Movement::Reshape => self.reshaped(shape),
            Movement::Slice(ranges) => self.sliced(ranges),
            Movement::Spread(ranges) => self.spread(ranges, shape)?,
            Movement::Pad(padding, value) => self.padded(padding, *value)?,
            Movement::Mask(condition, value) => self.masked(condition.clone(), *value)?,
            Movement::Unfold(window) => self.unfolded(*window)?,
            Movement::Place(window) => self.placed(*window)?,
            Movement::Pick(window) => self.picked(*window)?,
            Movement::Fork | Movement::Leaf => self.fork(),
            Movement::Detach { by, why } => self.left_behind(by, why),
            Movement::Custom(_) => unreachable!("a derivative belongs to its value and does not move"),
        })
    }

    /// A node of the same elements.
    #[track_caller]
    fn same_elements(&self, movement: Movement) -> Op {
        self.forget_history();
        let (base, view) = self.with_op(|op| match op {
            Op::View { base, view, .. } => (base.clone(), view.clone()),
            _ => (self.clone(), Arc::new(View::contiguous(self.shape()))),
        });
        Op::View { input: self.clone(), movement, base, view }
    }

    /// A branch made on purpose: the same elements, another node.
    #[track_caller]
    pub(crate) fn fork(&self) -> Node {
        Node::new(self.same_elements(Movement::Fork), Shape::from_slice(self.shape()), self.dtype())
    }

    /// The same elements, without their history.
    #[track_caller]
    pub(crate) fn detach(&self) -> Node {
        self.left_behind("detach", "it was asked to")
    }

    /// The same elements, without their history; the op `by` has no use for it, and says why.
    #[track_caller]
    pub(crate) fn left_behind(&self, by: &'static str, why: &'static str) -> Node {
        let op = self.same_elements(Movement::Detach { by, why });
        Node::with_flow(op, Shape::from_slice(self.shape()), self.dtype(), Flow::Stops(why))
    }

    /// The same elements as the handle of a node that wants a gradient of its own.
    #[track_caller]
    pub(crate) fn as_leaf(&self) -> Node {
        self.keep(); // or every step of a training loop would begin at the first
        Node::leaf(self.same_elements(Movement::Leaf), Shape::from_slice(self.shape()), self.dtype())
    }

    /// The same elements, with a derivative of the user's.
    #[track_caller]
    pub(crate) fn with_vjp(&self, vjp: Arc<dyn Vjp>) -> Node {
        let tracked = vjp.inputs().iter().any(Node::tracks);
        let value = if self.tracks() { self.left_behind("detach", OWN_DERIVATIVE) } else { self.clone() };
        let op = value.same_elements(Movement::Custom(vjp));
        Node::custom(op, Shape::from_slice(self.shape()), self.dtype(), tracked)
    }

    /// Of the input of a node with a derivative of its own: the value with its history.
    pub(in crate::graph) fn with_history(&self) -> Node {
        let behind = self.with_op(|op| match op {
            Op::View { input, movement: Movement::Detach { why: OWN_DERIVATIVE, .. }, .. } => Some(input.clone()),
            _ => None,
        });
        behind.unwrap_or_else(|| self.clone())
    }
}

/// Ranges that keep every element.
pub(crate) fn whole_ranges(shape: &[usize]) -> SmallVec<[SliceRange; 6]> {
    shape.iter().map(|&len| SliceRange { start: 0, step: 1, len }).collect()
}
