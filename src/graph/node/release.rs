//! Letting go: of what led to a result, and of graphs of any depth.

use super::{Inner, Node};
use crate::graph::movement::Movement;
use crate::graph::op::Op;
use crate::graph::scope;
use crate::memory::Buffer;
use std::cell::RefCell;
use std::sync::PoisonError;

impl Node {
    /// Stores the result. What led to it is let go, unless a gradient will need it.
    pub(crate) fn set_buffer(&self, buffer: Buffer) {
        let mut state = self.write_state();
        if state.buffer.is_some() {
            return;
        }
        state.buffer = Some(buffer);
        let released = (!self.tracks()).then(|| std::mem::replace(&mut state.op, Op::Executed));
        drop(state);
        drop(released); // after the lock: dropping a graph may take long
    }

    /// A view that passes no gradient on needs its base's numbers, but not how they came about. Once they are there, it
    /// looks at them and lets the base go, which may hold a long history for others.
    pub(crate) fn forget_history(&self) {
        if !self.0.may_forget {
            return;
        }
        let long = self.with_op(|op| match op {
            Op::View { input, movement, base, view } if forgets(movement, input) && base.tracks() => {
                Some((movement.clone(), base.clone(), view.clone()))
            }
            _ => None,
        });
        let Some((movement, base, view)) = long else { return };
        let Some(buffer) = base.buffer() else { return };
        let _origin = scope::Origin::set(base.at());
        let plain = Node::from_buffer(buffer, base.0.shape.clone());
        let short = Op::View { input: plain.clone(), movement, base: plain, view };
        let mut state = self.write_state();
        if matches!(&state.op, Op::View { base: now, .. } if *now == base) {
            let long = std::mem::replace(&mut state.op, short);
            drop(state);
            drop(long); // after the lock: dropping a graph may take long
        }
    }
}

/// Whether a view by `movement` passes no gradient on to its input.
fn forgets(movement: &Movement, input: &Node) -> bool {
    match movement {
        Movement::Detach { .. } => true,
        Movement::Leaf => !input.tracks(),
        _ => false,
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        let state = self.state.get_mut().unwrap_or_else(PoisonError::into_inner);
        match &state.op {
            // Nothing stands behind these.
            Op::Buffer | Op::Input | Op::ConstFill(_) | Op::Arange | Op::Rand { .. } | Op::Executed => {}
            _ => drop_op(std::mem::replace(&mut state.op, Op::Executed)),
        }
    }
}

thread_local! {
    /// Ops waiting to be dropped by the loop in [`drop_op`] further up this thread's stack; `None` when there is none.
    static DOOMED: RefCell<Option<Vec<Op>>> = const { RefCell::new(None) };
}

/// Drops an op and all that only it kept alive, with a list instead of recursion: graphs may be a million deep.
///
/// The list belongs to the thread, so that a drop inside a drop (of an input, or of what a user's `GradFn` holds) joins it.
fn drop_op(op: Op) {
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
