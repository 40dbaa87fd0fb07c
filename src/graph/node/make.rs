//! New nodes, and whether gradients flow through them.

use super::{Autograd, Cut, Inner, Node, Role, State};
use crate::dtype::DType;
use crate::graph::op::Op;
use crate::graph::scope;
use crate::memory::Buffer;
use crate::shape::{Shape, len_of};
use std::panic::Location;
use std::sync::Arc;

/// Why integers and bools stop a gradient.
pub(crate) const NOT_FLOAT: &str = "only floats have a gradient";

/// How a new node stands towards gradients.
pub(in crate::graph) enum Flow {
    /// Tracks if an input does, and the dtype is a float.
    Natural,
    /// Never tracks, and why: a comparison, an explicit `detach`.
    Stops(&'static str),
}

impl Node {
    /// A node for `op`, made at the user's line.
    #[track_caller]
    pub(in crate::graph) fn new(op: Op, shape: Shape, dtype: DType) -> Node {
        Node::with_flow(op, shape, dtype, Flow::Natural)
    }

    /// A node for `op` that says itself whether gradients flow.
    #[track_caller]
    pub(in crate::graph) fn with_flow(op: Op, shape: Shape, dtype: DType, flow: Flow) -> Node {
        let at = scope::here();
        let (mut input_tracks, mut input_cut) = (false, None);
        op.for_each_input(|input| {
            input_tracks |= input.0.autograd.tracks;
            input_cut = input_cut.or(input.0.autograd.cut.as_ref());
        });
        let autograd = if input_tracks {
            let cut = match (scope::paused(), flow) {
                (Some(reason), _) => Some(Cut { op: reason, why: "nothing is recorded there", at }),
                (None, Flow::Stops(why)) => Some(Cut { op: op.name(), why, at }),
                (None, Flow::Natural) if !dtype.is_float() => Some(Cut { op: op.name(), why: NOT_FLOAT, at }),
                (None, Flow::Natural) => None,
            };
            Autograd { tracks: cut.is_none(), cut: cut.map(Arc::new) }
        } else {
            Autograd { tracks: false, cut: input_cut.cloned() }
        };
        Node::build(op, shape, dtype, at, None, autograd, None)
    }

    /// A node whose numbers are already here.
    #[track_caller]
    pub(crate) fn from_buffer(buffer: Buffer, shape: Shape) -> Node {
        debug_assert_eq!(buffer.len(), len_of(&shape));
        let at = scope::here();
        let dtype = buffer.dtype();
        Node::build(Op::Buffer, shape, dtype, at, None, Autograd::default(), Some(buffer))
    }

    /// The result of a closure over `inputs`: the numbers are here, the derivative is unknown.
    #[track_caller]
    pub(crate) fn from_closure(name: &'static str, inputs: Vec<Node>, buffer: Buffer, shape: Shape) -> Node {
        if !inputs.iter().any(Node::tracks) {
            return Node::from_buffer(buffer, shape);
        }
        let dtype = buffer.dtype();
        let node = Node::new(Op::Closure { name, inputs }, shape, dtype);
        node.write_state().buffer = Some(buffer);
        node
    }

    /// A placeholder with a name.
    #[track_caller]
    pub(in crate::graph) fn placeholder(name: &str, shape: Shape, dtype: DType) -> Node {
        let at = scope::here();
        Node::build(Op::Input, shape, dtype, at, Some(Box::new(Role::Input(name.into()))), Autograd::default(), None)
    }

    /// A node with a derivative of the user's; it tracks if one of that derivative's inputs does.
    #[track_caller]
    pub(in crate::graph) fn custom(op: Op, shape: Shape, dtype: DType, tracked: bool) -> Node {
        let at = scope::here();
        let cut =
            scope::paused().filter(|_| tracked).map(|reason| Cut { op: reason, why: "nothing is recorded there", at });
        let autograd = Autograd { tracks: tracked && cut.is_none(), cut: cut.map(Arc::new) };
        Node::build(op, shape, dtype, at, None, autograd, None)
    }

    #[inline]
    pub(super) fn build(
        op: Op,
        shape: Shape,
        dtype: DType,
        at: &'static Location<'static>,
        role: Option<Box<Role>>,
        autograd: Autograd,
        buffer: Option<Buffer>,
    ) -> Node {
        Node(Arc::new(Inner::new(shape, dtype, at, role, autograd, State::new(op, buffer))))
    }
}
