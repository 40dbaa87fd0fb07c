//! Nodes that want a gradient of their own.

use super::{Autograd, Inner, Node, Role, State};
use crate::dtype::DType;
use crate::graph::op::Op;
use crate::graph::scope;
use crate::shape::Shape;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

/// A node that wants a gradient has two sides. The user holds the handle, and with it the gradient; ops are built on the
/// inner side, which knows the handle without keeping it. So a gradient, whose graph leads back to the inner side, never
/// keeps itself alive: it goes when the user's last handle goes.
pub(super) enum LeafSide {
    Handle { grad: Mutex<Option<Node>>, inner: Node },
    Inner { handle: Weak<Inner> },
}

/// Where the gradient of a node is accumulated, as long as the user can still ask for it.
pub(crate) struct GradSlot(Arc<Inner>);

impl GradSlot {
    fn lock(&self) -> MutexGuard<'_, Option<Node>> {
        match self.0.leaf_side() {
            Some(LeafSide::Handle { grad, .. }) => grad.lock().unwrap_or_else(PoisonError::into_inner),
            Some(LeafSide::Inner { .. }) | None => unreachable!("a slot is a handle's"),
        }
    }

    /// The gradient so far.
    pub(crate) fn get(&self) -> Option<Node> {
        self.lock().clone()
    }

    /// Adds to the gradient; several threads may do so at once.
    #[track_caller]
    pub(crate) fn add(&self, grad: &Node) {
        let mut slot = self.lock();
        let so_far = slot.take();
        *slot = Some(match &so_far {
            Some(so_far) => so_far + grad,
            None => grad.clone(),
        });
    }

    /// Forgets the gradient.
    pub(crate) fn clear(&self) {
        let old = self.lock().take();
        drop(old); // after the lock: dropping a graph may take long
    }
}

impl Inner {
    #[inline]
    fn leaf_side(&self) -> Option<&LeafSide> {
        match self.role.as_deref()? {
            Role::Leaf(side) => Some(side),
            Role::Input(_) => None,
        }
    }
}

impl Node {
    /// The handle of a node that wants a gradient of its own.
    #[track_caller]
    pub(in crate::graph) fn leaf(op: Op, shape: Shape, dtype: DType) -> Node {
        let at = scope::here();
        Node(Arc::new_cyclic(|handle| {
            let role = |side| Some(Box::new(Role::Leaf(side)));
            let autograd = || Autograd { tracks: true, cut: None };
            let side = LeafSide::Inner { handle: handle.clone() };
            let inner = Node::build(op, shape.clone(), dtype, at, role(side), autograd(), None);
            let side = LeafSide::Handle { grad: Mutex::new(None), inner };
            // A handle is never computed: its inner side is.
            Inner::new(shape, dtype, at, role(side), autograd(), State::new(Op::Executed, None))
        }))
    }

    /// The node that ops are built on.
    #[inline]
    pub(crate) fn inner(&self) -> &Node {
        match self.0.leaf_side() {
            Some(LeafSide::Handle { inner, .. }) => inner,
            Some(LeafSide::Inner { .. }) | None => self,
        }
    }

    /// The node that ops are built on, where the handle is no longer needed.
    #[inline]
    pub(crate) fn into_inner(self) -> Node {
        match self.0.leaf_side() {
            Some(LeafSide::Handle { inner, .. }) => inner.clone(),
            Some(LeafSide::Inner { .. }) | None => self,
        }
    }

    /// The node that a user holds.
    #[inline]
    pub(crate) fn handle(self) -> Node {
        if self.0.role.is_none() {
            return self;
        }
        self.slot().map_or(self, |slot| Node(slot.0))
    }

    /// Where `backward` leaves this node's gradient.
    pub(crate) fn slot(&self) -> Option<GradSlot> {
        match self.0.leaf_side()? {
            LeafSide::Handle { .. } => Some(GradSlot(self.0.clone())),
            LeafSide::Inner { handle } => handle.upgrade().map(GradSlot),
        }
    }
}
