//! The other side of an op: a tensor, or a number.

use super::{Dim0, Dimension, Tensor};
use crate::dtype::TensorDType;
use crate::error::Result;
use crate::graph::Node;

/// Something that stands beside a tensor of `T` in an op: `&tensor`, `tensor`, or a value of `T`.
pub trait Operand<T: TensorDType> {
    /// Its rank; a number has rank 0.
    type Dim: Dimension;

    #[doc(hidden)]
    #[track_caller]
    fn operand(&self, beside: &Beside<'_>) -> Result<OperandNode>;
}

/// The tensor an operand stands beside.
#[doc(hidden)]
pub struct Beside<'a>(pub(crate) &'a Node);

/// An operand's node.
#[doc(hidden)]
pub struct OperandNode(pub(crate) Node);

impl<T: TensorDType, D: Dimension> Operand<T> for &Tensor<T, D> {
    type Dim = D;
    fn operand(&self, _: &Beside<'_>) -> Result<OperandNode> {
        Ok(OperandNode(self.node().clone()))
    }
}

impl<T: TensorDType, D: Dimension> Operand<T> for Tensor<T, D> {
    type Dim = D;
    fn operand(&self, _: &Beside<'_>) -> Result<OperandNode> {
        Ok(OperandNode(self.node().clone()))
    }
}

impl<T: TensorDType> Operand<T> for T {
    type Dim = Dim0;
    #[track_caller]
    fn operand(&self, beside: &Beside<'_>) -> Result<OperandNode> {
        Ok(OperandNode(Node::full(beside.0.shape(), self.literal())?))
    }
}
