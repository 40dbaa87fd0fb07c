//! Sums of products by an equation.

use super::twins::twin_functions;
use super::{DimDyn, Dimension, DynTensor, Tensor};
use crate::dtype::{NumericDType, TensorDType};
use crate::error::{OrRaise, Result};
use crate::graph::Node;
use crate::ops::compose;

/// The tensors of an [`einsum`]: a tuple of up to six, of any ranks, or a slice.
pub trait EinsumOperands<T: TensorDType> {
    #[doc(hidden)]
    fn nodes(&self) -> EinsumNodes;
}

/// The nodes of the tensors of an equation.
#[doc(hidden)]
pub struct EinsumNodes(Vec<Node>);

impl<T: TensorDType, D: Dimension> EinsumOperands<T> for &[&Tensor<T, D>] {
    fn nodes(&self) -> EinsumNodes {
        EinsumNodes(self.iter().map(|tensor| tensor.node().clone()).collect())
    }
}

macro_rules! tuples {
    ($(($($dim:ident $k:tt),*);)*) => {$(
        impl<T: TensorDType, $($dim: Dimension),*> EinsumOperands<T> for ($(&Tensor<T, $dim>,)*) {
            fn nodes(&self) -> EinsumNodes {
                EinsumNodes(vec![$(self.$k.node().clone()),*])
            }
        }
    )*};
}

tuples! {
    (A 0);
    (A 0, B 1);
    (A 0, B 1, C 2);
    (A 0, B 1, C 2, D 3);
    (A 0, B 1, C 2, D 3, E 4);
    (A 0, B 1, C 2, D 3, E 4, F 5);
}

/// The sum of products that an equation names: `"bij,bjk->bik"` is a product of matrices, `"ii"` a trace.
///
/// Each tensor has a letter for each axis, a letter that stands twice in one names a diagonal, and what is not named after
/// the arrow is summed over. `"..."` stands for any axes, which broadcast. Without an arrow the result has the letters
/// that stand once, in the order of the alphabet. With more than two tensors, the cheapest order of products is taken.
///
/// ```
/// use zither::{Tensor, einsum};
/// let (a, b) = (Tensor::new([[1, 2], [3, 4]]), Tensor::new([10, 1]));
/// assert_eq!(einsum("ij,j->i", (&a, &b)).data()?, [12, 34]);
/// assert_eq!(einsum("ii", (&a,)).item()?, 5);
/// assert_eq!(einsum("ij->ji", (&a,)).data()?, [1, 3, 2, 4]);
/// # Ok::<(), zither::Error>(())
/// ```
#[track_caller]
pub fn einsum<T: NumericDType>(equation: &str, operands: impl EinsumOperands<T>) -> Tensor<T, DimDyn> {
    try_einsum(equation, operands).or_raise()
}

/// As [`einsum`], with an error in place of a panic.
#[track_caller]
pub fn try_einsum<T: NumericDType>(equation: &str, operands: impl EinsumOperands<T>) -> Result<Tensor<T, DimDyn>> {
    let nodes = operands.nodes().0;
    Ok(Tensor::wrap(compose::einsum::einsum(equation, &nodes.iter().collect::<Vec<_>>())?))
}

impl DynTensor {
    twin_functions! {
        /// The sum of products that an equation names; see [`einsum`].
        ///
        /// See [`einsum`](crate::einsum) and [`Tensor::matmul`](crate::Tensor::matmul).
        fn einsum try_einsum(equation: &str, operands: &[&DynTensor]) -> DynTensor {
            let nodes: Vec<&Node> = operands.iter().map(|operand| operand.node()).collect();
            Ok(DynTensor::wrap(compose::einsum::einsum(equation, &nodes)?))
        }
    }
}
