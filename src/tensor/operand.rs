//! The other side of an op: a tensor, or a number.

use super::{Dim0, Dimension, DynTensor, Tensor};
use crate::dtype::TensorDType;
use crate::error::Result;
use crate::graph::Node;
use crate::ops::compose::scalar::Number;

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
        Ok(OperandNode(beside.0.full_like(self.literal())))
    }
}

/// Something that stands beside a [`DynTensor`] in an op: another one, or a number that its dtype can hold.
pub trait DynOperand {
    #[doc(hidden)]
    #[track_caller]
    fn operand(&self, op: &str, beside: &Beside<'_>) -> Result<OperandNode>;
}

impl DynOperand for &DynTensor {
    fn operand(&self, _: &str, _: &Beside<'_>) -> Result<OperandNode> {
        Ok(OperandNode(self.node().clone()))
    }
}

macro_rules! numbers {
    ($($number:ident $kind:ident;)*) => {$(
        impl DynOperand for $number {
            #[track_caller]
            fn operand(&self, op: &str, beside: &Beside<'_>) -> Result<OperandNode> {
                let literal = Number::$kind(*self).beside(op, beside.0)?;
                Ok(OperandNode(beside.0.full_like(literal)))
            }
        }
    )*};
}

numbers! {
    f64 Float;
    i64 Whole;
}
