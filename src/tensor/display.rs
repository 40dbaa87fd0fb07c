//! How tensors print.

use super::{Dimension, DynTensor, Tensor};
use crate::dtype::TensorDType;
use crate::graph::Node;
use std::fmt;

/// Shape, dtype, op and line: nothing that has to be executed.
fn debug(node: &Node, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let (op, at) = (node.with_op(|op| op.name()), node.at());
    let state = if node.is_realized() { "realized" } else { "lazy" };
    let grad = if node.tracks() { ", requires_grad" } else { "" };
    write!(
        f,
        "Tensor({op}, shape={:?}, dtype={}, {state}{grad}, {}:{})",
        node.shape(),
        node.dtype(),
        at.file(),
        at.line()
    )
}

impl<T: TensorDType, D: Dimension> fmt::Debug for Tensor<T, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        debug(self.node(), f)
    }
}

impl fmt::Debug for DynTensor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        debug(self.node(), f)
    }
}
