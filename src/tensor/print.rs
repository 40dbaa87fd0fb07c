//! How tensors print: `{}` executes and shows the numbers, `{:?}` says what the tensor is and executes nothing.

use super::display::format_tensor;
use super::{Dimension, DynTensor, Tensor};
use crate::dtype::TensorDType;
use crate::graph::Node;
use crate::runtime;
use crate::shape::{index_to_position, row_major_strides};
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

/// The numbers; where they cannot be had, the reason stands in their place.
fn display(node: &Node, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let buffer = match runtime::read(node) {
        Ok(buffer) => buffer,
        Err(error) => return write!(f, "tensor(<{error}>, shape={:?}, dtype={})", node.shape(), node.dtype()),
    };
    let strides = row_major_strides(node.shape());
    let element = |index: &[usize]| buffer.literal(index_to_position(index, &strides) as usize);
    format_tensor(node.shape(), node.dtype(), &element, f)
}

impl<T: TensorDType, D: Dimension> fmt::Display for Tensor<T, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        display(self.node(), f)
    }
}

impl fmt::Display for DynTensor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        display(self.node(), f)
    }
}
