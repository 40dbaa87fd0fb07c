//! A node: one wish, where it was made, and its numbers once they are known.

use super::movement::Movement;
use super::op::Op;
use super::scope;
use crate::dtype::DType;
use crate::memory::Buffer;
use crate::shape::{Shape, View, len_of};
use std::cell::RefCell;
use std::panic::Location;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, Weak};

/// A shared handle to a node. Cloning is cheap; two handles to one node are the same wish.
#[derive(Clone)]
pub(crate) struct Node(Arc<Inner>);

struct Inner {
    shape: Shape,
    dtype: DType,
    at: &'static Location<'static>,
    name: Option<Box<str>>,
    autograd: Autograd,
    /// Decided when the op is called: an elementwise node merges into its consumer, anything else stands alone.
    joins: bool,
    /// Someone will come for the numbers again: a run that computes them on the way to something else keeps them.
    kept: AtomicBool,
    state: RwLock<State>,
    /// Held while the node is being executed, so that many readers execute it once.
    running: Mutex<()>,
}

struct State {
    /// Shared, so that whoever looks at an op keeps it while another thread lets go of it.
    op: Arc<Op>,
    buffer: Option<Buffer>,
}

/// What a node knows of gradients.
#[derive(Default)]
struct Autograd {
    /// A gradient is wanted for this node or for one it is made from.
    tracks: bool,
    /// Where `backward` leaves the gradient, if one was asked for here.
    leaf: Option<Box<LeafSide>>,
    /// Why no gradient flows, although an input tracks.
    cut: Option<Cut>,
}

/// A node that wants a gradient has two sides. The user holds the handle, and with it the gradient; ops are built on the
/// inner side, which knows the handle without keeping it. So a gradient, whose graph leads back to the inner side, never
/// keeps itself alive: it goes when the user's last handle goes.
enum LeafSide {
    Handle { grad: Mutex<Option<Node>>, inner: Node },
    Inner { handle: Weak<Inner> },
}

/// Where the gradient of a node is accumulated, as long as the user can still ask for it.
pub(crate) struct GradSlot(Arc<Inner>);

impl GradSlot {
    fn lock(&self) -> MutexGuard<'_, Option<Node>> {
        match self.0.autograd.leaf.as_deref() {
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

/// Why integers and bools stop a gradient.
pub(crate) const NOT_FLOAT: &str = "only floats have a gradient";

/// How a new node stands towards gradients.
pub(super) enum Flow {
    /// Tracks if an input does, and the dtype is a float.
    Natural,
    /// Never tracks, and why: a comparison, an explicit `detach`.
    Stops(&'static str),
}

impl Node {
    /// A node for `op`, made at the user's line.
    #[track_caller]
    pub(super) fn new(op: Op, shape: Shape, dtype: DType) -> Node {
        Node::with_flow(op, shape, dtype, Flow::Natural)
    }

    /// A node for `op` that says itself whether gradients flow.
    #[track_caller]
    pub(super) fn with_flow(op: Op, shape: Shape, dtype: DType, flow: Flow) -> Node {
        let at = scope::here();
        let mut autograd = Autograd::default();
        let (mut input_tracks, mut input_cut) = (false, None);
        op.for_each_input(|input| {
            input_tracks |= input.0.autograd.tracks;
            input_cut = input_cut.or(input.0.autograd.cut);
        });
        if input_tracks {
            autograd.cut = match (scope::paused(), flow) {
                (Some(reason), _) => Some(Cut { op: reason, why: "nothing is recorded there", at }),
                (None, Flow::Stops(why)) => Some(Cut { op: op.name(), why, at }),
                (None, Flow::Natural) if !dtype.is_float() => Some(Cut { op: op.name(), why: NOT_FLOAT, at }),
                (None, Flow::Natural) => None,
            };
            autograd.tracks = autograd.cut.is_none();
        } else {
            autograd.cut = input_cut;
        }
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
    pub(super) fn placeholder(name: &str, shape: Shape, dtype: DType) -> Node {
        let at = scope::here();
        Node::build(Op::Input, shape, dtype, at, Some(name.into()), Autograd::default(), None)
    }

    /// The handle of a node that wants a gradient of its own.
    #[track_caller]
    pub(super) fn leaf(op: Op, shape: Shape, dtype: DType) -> Node {
        let at = scope::here();
        Node(Arc::new_cyclic(|handle| {
            let side = LeafSide::Inner { handle: handle.clone() };
            let autograd = Autograd { tracks: true, leaf: Some(Box::new(side)), cut: None };
            let inner = Node::build(op, shape.clone(), dtype, at, None, autograd, None);
            let side = LeafSide::Handle { grad: Mutex::new(None), inner };
            let autograd = Autograd { tracks: true, leaf: Some(Box::new(side)), cut: None };
            // A handle is never computed: its inner side is.
            Inner::new(shape, dtype, at, None, autograd, State { op: executed(), buffer: None })
        }))
    }

    /// The node that ops are built on.
    pub(crate) fn inner(&self) -> &Node {
        match self.0.autograd.leaf.as_deref() {
            Some(LeafSide::Handle { inner, .. }) => inner,
            Some(LeafSide::Inner { .. }) | None => self,
        }
    }

    /// The node that a user holds.
    pub(crate) fn handle(self) -> Node {
        self.slot().map_or(self, |slot| Node(slot.0))
    }

    /// A node with a derivative of the user's; it tracks if one of that derivative's inputs does.
    #[track_caller]
    pub(super) fn custom(op: Op, shape: Shape, dtype: DType, tracked: bool) -> Node {
        let at = scope::here();
        let cut =
            scope::paused().filter(|_| tracked).map(|reason| Cut { op: reason, why: "nothing is recorded there", at });
        let autograd = Autograd { tracks: tracked && cut.is_none(), leaf: None, cut };
        Node::build(op, shape, dtype, at, None, autograd, None)
    }

    fn build(
        op: Op,
        shape: Shape,
        dtype: DType,
        at: &'static Location<'static>,
        name: Option<Box<str>>,
        autograd: Autograd,
        buffer: Option<Buffer>,
    ) -> Node {
        Node(Arc::new(Inner::new(shape, dtype, at, name, autograd, State { op: Arc::new(op), buffer })))
    }

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
        self.0.name.as_deref()
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
        self.base_and_view().0.0.kept.store(true, Ordering::Relaxed);
    }

    /// Whether the node holds a parameter's numbers, which are written to memory whenever they are computed.
    pub(crate) fn is_parameter(&self) -> bool {
        self.0.kept.load(Ordering::Relaxed)
    }

    /// Whether the numbers, once in memory, will be wanted again.
    pub(crate) fn is_kept(&self) -> bool {
        self.tracks() || self.is_parameter()
    }

    /// Where `backward` leaves this node's gradient.
    pub(crate) fn slot(&self) -> Option<GradSlot> {
        match self.0.autograd.leaf.as_deref()? {
            LeafSide::Handle { .. } => Some(GradSlot(self.0.clone())),
            LeafSide::Inner { handle } => handle.upgrade().map(GradSlot),
        }
    }

    /// What stopped the gradient on the way to this node.
    pub(crate) fn cut(&self) -> Option<Cut> {
        self.0.autograd.cut
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

    /// What the node wants done (`Executed` once that is done and let go).
    pub(crate) fn op(&self) -> Arc<Op> {
        self.read_state().op.clone()
    }

    /// The op and the result, at one moment.
    pub(crate) fn op_and_buffer(&self) -> (Arc<Op>, Option<Buffer>) {
        let state = self.read_state();
        (state.op.clone(), state.buffer.clone())
    }

    /// Looks at the op.
    pub(crate) fn with_op<R>(&self, f: impl FnOnce(&Op) -> R) -> R {
        f(&self.op())
    }

    /// The result, once executed.
    pub(crate) fn buffer(&self) -> Option<Buffer> {
        self.read_state().buffer.clone()
    }

    /// Whether the numbers are here (a view's are when its base's are).
    pub(crate) fn is_realized(&self) -> bool {
        let (op, buffer) = self.op_and_buffer();
        match &*op {
            Op::View { base, .. } => base.buffer().is_some(),
            _ => buffer.is_some(),
        }
    }

    /// Stores the result. What led to it is let go, unless a gradient will need it.
    pub(crate) fn set_buffer(&self, buffer: Buffer) {
        let mut state = self.write_state();
        if state.buffer.is_some() {
            return;
        }
        state.buffer = Some(buffer);
        let released = (!self.tracks()).then(|| std::mem::replace(&mut state.op, executed()));
        drop(state);
        if let Some(op) = released {
            drop_op(op);
        }
    }

    /// The node that holds the elements, and the way to them. A node that is not a view is its own base.
    pub(crate) fn base_and_view(&self) -> (Node, View) {
        self.forget_history();
        match &*self.op() {
            Op::View { base, view, .. } => (base.clone(), (**view).clone()),
            _ => (self.clone(), View::contiguous(self.shape())),
        }
    }

    /// A view that passes no gradient on needs its base's numbers, but not how they came about. Once they are there, it
    /// looks at them and lets the base go, which may hold a long history for others.
    pub(crate) fn forget_history(&self) {
        let op = self.op();
        let Op::View { input, movement, base, view } = &*op else { return };
        let forgets = match movement {
            Movement::Detach { .. } => true,
            Movement::Leaf => !input.tracks(),
            _ => false,
        };
        if !forgets || !base.tracks() {
            return;
        }
        let Some(buffer) = base.buffer() else { return };
        let _origin = scope::Origin::set(base.at());
        let plain = Node::from_buffer(buffer, base.0.shape.clone());
        let short = Op::View { input: plain.clone(), movement: movement.clone(), base: plain, view: view.clone() };
        let mut state = self.write_state();
        if Arc::ptr_eq(&state.op, &op) {
            let long = std::mem::replace(&mut state.op, Arc::new(short));
            drop(state);
            drop(op);
            drop_op(long);
        }
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
    fn new(
        shape: Shape,
        dtype: DType,
        at: &'static Location<'static>,
        name: Option<Box<str>>,
        autograd: Autograd,
        state: State,
    ) -> Inner {
        let joins =
            matches!(*state.op, Op::Map { .. } | Op::Cast { .. } | Op::ConstFill(_) | Op::Arange | Op::Rand { .. });
        let (kept, state, running) = (AtomicBool::new(false), RwLock::new(state), Mutex::new(()));
        Inner { shape, dtype, at, name, autograd, joins, kept, state, running }
    }
}

/// The op of a node that has let go of what led to it.
fn executed() -> Arc<Op> {
    static EXECUTED: LazyLock<Arc<Op>> = LazyLock::new(|| Arc::new(Op::Executed));
    EXECUTED.clone()
}

impl Drop for Inner {
    fn drop(&mut self) {
        let state = self.state.get_mut().unwrap_or_else(PoisonError::into_inner);
        drop_op(std::mem::replace(&mut state.op, executed()));
    }
}

thread_local! {
    /// Ops waiting to be dropped by the loop in [`drop_op`] further up this thread's stack; `None` when there is none.
    static DOOMED: RefCell<Option<Vec<Arc<Op>>>> = const { RefCell::new(None) };
}

/// Drops an op and all that only it kept alive, with a list instead of recursion: graphs may be a million deep.
///
/// The list belongs to the thread, so that a drop inside a drop (of an input, or of what a user's `GradFn` holds) joins it.
fn drop_op(op: Arc<Op>) {
    let mut op = Some(op);
    let joined = DOOMED.try_with(|doomed| match &mut *doomed.borrow_mut() {
        Some(list) => {
            list.extend(op.take());
            true
        }
        idle => {
            *idle = Some(Vec::new());
            false
        }
    });
    // Where the thread is ending its list is gone: plain recursion is all that is left.
    if !matches!(joined, Ok(false)) {
        return;
    }
    // The loop: each op dropped may add more to the list.
    while let Some(next) = op {
        drop(next);
        op = DOOMED.with(|doomed| {
            let mut doomed = doomed.borrow_mut();
            let next = doomed.as_mut().and_then(Vec::pop);
            if next.is_none() {
                *doomed = None;
            }
            next
        });
    }
}
