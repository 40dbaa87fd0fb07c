//! A node: one wish, where it was made, and its numbers once they are known.

mod harvest;
mod leaf;
mod make;
mod release;

pub(crate) use harvest::Harvest;
pub(super) use make::Flow;
pub(crate) use make::NOT_FLOAT;

use super::movement::Movement;
use super::op::Op;
use crate::dtype::DType;
use crate::memory::Buffer;
use crate::shape::{Shape, View, len_of};
use leaf::LeafSide;
use std::panic::Location;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, Weak};

/// A shared handle to a node. Cloning is cheap; two handles to one node are the same wish.
#[derive(Clone)]
pub(crate) struct Node(Arc<Inner>);

struct Inner {
    shape: Shape,
    dtype: DType,
    at: &'static Location<'static>,
    autograd: Autograd,
    /// What few nodes are.
    role: Option<Box<Role>>,
    /// Decided when the op is called: an elementwise node merges into its consumer, anything else stands alone.
    joins: bool,
    /// A view that may pass no gradient on, and then lets its base go; see [`Node::forget_history`].
    may_forget: bool,
    /// Someone will come for the numbers again: a run that computes them on the way to something else keeps them.
    kept: AtomicBool,
    state: RwLock<State>,
    /// Held while the node is being executed, so that many readers execute it once.
    running: Mutex<()>,
}

struct State {
    op: Op,
    buffer: Option<Buffer>,
    /// The gradients that were taken through the node last.
    harvest: Option<Arc<Harvest>>,
}

impl State {
    fn new(op: Op, buffer: Option<Buffer>) -> State {
        State { op, buffer, harvest: None }
    }
}

/// What a node knows of gradients.
#[derive(Default)]
struct Autograd {
    /// A gradient is wanted for this node or for one it is made from.
    tracks: bool,
    /// Why no gradient flows, although an input tracks. Shared by all that follows from the node.
    cut: Option<Arc<Cut>>,
}

/// What sets a node apart from most.
enum Role {
    /// An input, by name.
    Input(Box<str>),
    /// A side of a node that wants a gradient of its own.
    Leaf(LeafSide),
}

/// Which node something belongs to, for longer than the node lives: it is never that of another.
#[derive(Clone)]
pub(crate) struct Identity(Weak<Inner>);

impl PartialEq for Identity {
    fn eq(&self, other: &Identity) -> bool {
        Weak::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for Identity {}

impl std::hash::Hash for Identity {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        Weak::as_ptr(&self.0).hash(state);
    }
}

/// The op that stopped a gradient, and its line.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cut {
    pub(crate) op: &'static str,
    pub(crate) why: &'static str,
    pub(crate) at: &'static Location<'static>,
}

impl Node {
    /// The sizes of the axes.
    pub(crate) fn shape(&self) -> &[usize] {
        &self.0.shape
    }

    /// The number of axes.
    pub(crate) fn rank(&self) -> usize {
        self.0.shape.len()
    }

    /// The number of elements.
    pub(crate) fn len(&self) -> usize {
        len_of(&self.0.shape)
    }

    /// The type of the elements.
    pub(crate) fn dtype(&self) -> DType {
        self.0.dtype
    }

    /// The user's line that made the node.
    pub(crate) fn at(&self) -> &'static Location<'static> {
        self.0.at
    }

    /// The name of an input.
    pub(crate) fn name(&self) -> Option<&str> {
        match self.0.role.as_deref()? {
            Role::Input(name) => Some(name),
            Role::Leaf(_) => None,
        }
    }

    /// Whether a gradient is wanted through this node.
    pub(crate) fn tracks(&self) -> bool {
        self.0.autograd.tracks
    }

    /// Whether the node's expression merges into its consumer's: decided when the op was called.
    pub(crate) fn joins(&self) -> bool {
        self.0.joins
    }

    /// From now on a run that computes the node (of a view: its base) on the way to something else keeps its numbers.
    pub(super) fn keep(&self) {
        self.base().0.kept.store(true, Ordering::Relaxed);
    }

    /// Whether the node holds a parameter's numbers, which are written to memory whenever they are computed.
    pub(crate) fn is_parameter(&self) -> bool {
        self.0.kept.load(Ordering::Relaxed)
    }

    /// What stopped the gradient on the way to this node.
    pub(crate) fn cut(&self) -> Option<Cut> {
        self.0.autograd.cut.as_deref().copied()
    }

    /// An identity that outlasts the node.
    pub(crate) fn identity(&self) -> Identity {
        Identity(Arc::downgrade(&self.0))
    }

    /// An identity that lasts as long as the node.
    pub(crate) fn id(&self) -> usize {
        Arc::as_ptr(&self.0) as usize
    }

    fn read_state(&self) -> RwLockReadGuard<'_, State> {
        self.0.state.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write_state(&self) -> std::sync::RwLockWriteGuard<'_, State> {
        self.0.state.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// What the node wants done (`Executed` once that is done and let go), to keep while another thread lets go of it.
    pub(crate) fn op(&self) -> Op {
        self.read_state().op.clone()
    }

    /// Whether the node's data will be given by name.
    pub(crate) fn is_input(&self) -> bool {
        matches!(self.read_state().op, Op::Input)
    }

    /// The op and the result, at one moment, to keep.
    pub(crate) fn op_and_buffer(&self) -> (Op, Option<Buffer>) {
        let state = self.read_state();
        (state.op.clone(), state.buffer.clone())
    }

    /// Looks at the op, and holds it while `f` runs: a short look, which makes no node and does not come back to this one.
    pub(crate) fn with_op<R>(&self, f: impl FnOnce(&Op) -> R) -> R {
        f(&self.read_state().op)
    }

    /// Looks at the op and the result at one moment, as [`Node::with_op`] does.
    pub(crate) fn with_op_and_buffer<R>(&self, f: impl FnOnce(&Op, Option<&Buffer>) -> R) -> R {
        let state = self.read_state();
        f(&state.op, state.buffer.as_ref())
    }

    /// The result, once executed.
    pub(crate) fn buffer(&self) -> Option<Buffer> {
        self.read_state().buffer.clone()
    }

    /// The address of the node's elements, to write others there: only where nobody else has the node or its buffer.
    pub(crate) fn overwrite(&mut self) -> Option<*mut u8> {
        let state = Arc::get_mut(&mut self.0)?.state.get_mut().unwrap_or_else(PoisonError::into_inner);
        state.buffer.as_mut()?.overwrite()
    }

    /// As [`Node::overwrite`], for what will have another shape, of as many elements, and nothing of what the node was.
    pub(crate) fn overwrite_as(&mut self, shape: &Shape) -> Option<*mut u8> {
        let pointer = self.overwrite().filter(|_| self.is_plain())?;
        let inner = Arc::get_mut(&mut self.0)?;
        debug_assert_eq!(len_of(shape), len_of(&inner.shape));
        inner.shape.clone_from(shape);
        *inner.kept.get_mut() = false;
        Some(pointer)
    }

    /// Whether the node is numbers and nothing else: no input, no way to a gradient.
    fn is_plain(&self) -> bool {
        let state = self.read_state();
        let is_done = matches!(state.op, Op::Buffer | Op::Executed) && state.harvest.is_none();
        is_done && self.0.role.is_none() && !self.0.autograd.tracks && self.0.autograd.cut.is_none()
    }

    /// Whether the node's own buffer has its numbers.
    pub(crate) fn has_buffer(&self) -> bool {
        self.read_state().buffer.is_some()
    }

    /// Whether the numbers are here (a view's are when its base's are).
    pub(crate) fn is_realized(&self) -> bool {
        self.with_op_and_buffer(|op, buffer| match op {
            Op::View { base, .. } => base.read_state().buffer.is_some(),
            _ => buffer.is_some(),
        })
    }

    /// The node that holds the elements, and the way to them. A node that is not a view is its own base.
    pub(crate) fn base_and_view(&self) -> (Node, View) {
        self.forget_history();
        self.with_op(|op| match op {
            Op::View { base, view, .. } => (base.clone(), (**view).clone()),
            _ => (self.clone(), View::contiguous(self.shape())),
        })
    }

    /// The node that holds the elements: a view's base, or the node itself.
    pub(crate) fn base(&self) -> Node {
        self.forget_history();
        self.with_op(|op| match op {
            Op::View { base, .. } => base.clone(),
            _ => self.clone(),
        })
    }

    /// Waits for, and then holds, the right to execute this node.
    pub(crate) fn lock_running(&self) -> MutexGuard<'_, ()> {
        self.0.running.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Every node this one is made from.
    pub(crate) fn inputs(&self) -> smallvec::SmallVec<[Node; 3]> {
        let mut inputs = smallvec::SmallVec::new();
        self.with_op(|op| op.for_each_input(|input| inputs.push(input.clone())));
        inputs
    }
}

impl PartialEq for Node {
    fn eq(&self, other: &Node) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for Node {}

impl std::hash::Hash for Node {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.id().hash(state);
    }
}

impl Inner {
    #[inline]
    fn new(
        shape: Shape,
        dtype: DType,
        at: &'static Location<'static>,
        role: Option<Box<Role>>,
        autograd: Autograd,
        state: State,
    ) -> Inner {
        let joins =
            matches!(state.op, Op::Map { .. } | Op::Cast { .. } | Op::ConstFill(_) | Op::Arange | Op::Rand { .. });
        let may_forget = matches!(&state.op, Op::View { movement: Movement::Detach { .. } | Movement::Leaf, .. });
        let (kept, state, running) = (AtomicBool::new(false), RwLock::new(state), Mutex::new(()));
        Inner { shape, dtype, at, autograd, role, joins, may_forget, kept, state, running }
    }
}
