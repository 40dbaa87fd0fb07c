//! Nodes that work on whole lines: running totals, orders, searches.

use crate::dtype::DType;
use crate::error::{Error, ErrorKind, Result};
use crate::graph::movement::with_size;
use crate::graph::node::Flow;
use crate::graph::{LineWork, Node, Op, ScanKind};
use crate::shape::{Shape, element_count};
use smallvec::SmallVec;

/// Why orders and positions stop a gradient.
const A_POSITION: &str = "a position does not change by a little";

impl Node {
    /// Running totals along an axis; of [`ScanKind::Linear`] this is `b`, and `factor` is `a`.
    #[track_caller]
    pub(crate) fn scan(&self, kind: ScanKind, factor: Option<&Node>, axis: usize, reverse: bool) -> Result<Node> {
        debug_assert_eq!(factor.is_some(), kind == ScanKind::Linear);
        debug_assert!(factor.is_none_or(|factor| factor.shape() == self.shape() && factor.dtype() == self.dtype()));
        // One element is its own total.
        if self.shape()[axis] == 1 && !kind.gives_positions() {
            return Ok(self.clone());
        }
        let dtype = if kind.gives_positions() { DType::I64 } else { self.dtype() };
        let work = LineWork::Scan { kind, reverse };
        element_count(work.name(), self.shape(), dtype)?;
        let inputs = factor.into_iter().chain([self]).map(Node::dense).collect();
        let flow = if kind.gives_positions() { Flow::Stops(A_POSITION) } else { Flow::Natural };
        Ok(Node::with_flow(Op::Lines { work, inputs, axis }, Shape::from_slice(self.shape()), dtype, flow))
    }

    /// The positions of the first `count` elements of each line along an axis, in order.
    #[track_caller]
    pub(crate) fn order(&self, axis: usize, descending: bool, count: usize) -> Result<Node> {
        debug_assert!(count <= self.shape()[axis]);
        let work = LineWork::Order { descending };
        if u32::try_from(self.shape()[axis]).is_err() {
            let message = format!("axis {axis} of shape {:?} is too long to be sorted", self.shape());
            return Err(Error::new(ErrorKind::Memory, work.name(), message).made_at("tensor", self.at()));
        }
        let shape = with_size(self.shape(), axis, count);
        element_count(work.name(), &shape, DType::I64)?;
        let inputs = SmallVec::from_elem(self.dense(), 1);
        Ok(Node::with_flow(Op::Lines { work, inputs, axis }, shape, DType::I64, Flow::Stops(A_POSITION)))
    }

    /// How many elements of the sorted lines of this node's last axis come before each of `values`.
    #[track_caller]
    pub(crate) fn search(&self, values: &Node, right: bool) -> Result<Node> {
        debug_assert!(values.dtype() == self.dtype() && values.rank() == self.rank());
        let (work, axis) = (LineWork::Search { right }, self.rank() - 1);
        debug_assert_eq!(values.shape()[..axis], self.shape()[..axis]);
        element_count(work.name(), values.shape(), DType::I64)?;
        let inputs = [self.dense(), values.dense()].into_iter().collect();
        let shape = Shape::from_slice(values.shape());
        Ok(Node::with_flow(Op::Lines { work, inputs, axis }, shape, DType::I64, Flow::Stops(A_POSITION)))
    }

    /// This node, or a copy of it, with its elements side by side in row-major order.
    #[track_caller]
    pub(super) fn dense(&self) -> Node {
        let (base, view) = self.base_and_view();
        if view.is_contiguous() && base.len() == self.len() { self.clone() } else { self.contiguous() }
    }
}
