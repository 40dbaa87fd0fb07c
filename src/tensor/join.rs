//! Putting tensors together and taking them apart.

use super::twins::{twin_functions, twins};
use super::{Dimension, DynTensor, Tensor};
use crate::dtype::TensorDType;
use crate::graph::Node;
use crate::ops::compose::join;

fn nodes<'a, T: TensorDType, D: Dimension>(tensors: &[&'a Tensor<T, D>]) -> Vec<&'a Node> {
    tensors.iter().map(|tensor| tensor.node()).collect()
}

fn wrapped<T: TensorDType, D: Dimension>(nodes: Vec<Node>) -> Vec<Tensor<T, D>> {
    nodes.into_iter().map(Tensor::wrap).collect()
}

impl<T: TensorDType, D: Dimension> Tensor<T, D> {
    twin_functions! {
        /// Tensors one after the other along an axis.
        ///
        /// ```
        /// use zither::Tensor;
        /// let (a, b) = (Tensor::new([1, 2]), Tensor::new([3]));
        /// assert_eq!(Tensor::concat(&[&a, &b], 0).data()?, [1, 2, 3]);
        /// # Ok::<(), zither::Error>(())
        /// ```
        fn concat try_concat(tensors: &[&Tensor<T, D>], axis: isize) -> Tensor<T, D> {
            Ok(Tensor::wrap(Node::concat("concat", &nodes(tensors), axis)?))
        }

        /// Tensors of one shape side by side along a new axis.
        fn stack try_stack(tensors: &[&Tensor<T, D>], axis: isize) -> Tensor<T, D::Larger> {
            Ok(Tensor::wrap(join::stack(&nodes(tensors), axis)?))
        }
    }

    twins! {
        /// Consecutive parts of the given sizes along an axis.
        fn split try_split(&self, sizes: &[usize], axis: isize) -> Vec<Tensor<T, D>> {
            Ok(wrapped(join::split(self.node(), sizes, axis)?))
        }

        /// Consecutive parts of one size along an axis; the last may be smaller.
        fn split_every try_split_every(&self, size: usize, axis: isize) -> Vec<Tensor<T, D>> {
            Ok(wrapped(join::split_every(self.node(), size, axis)?))
        }
    }
}

impl DynTensor {
    twin_functions! {
        /// Tensors one after the other along an axis.
        fn concat try_concat(tensors: &[&DynTensor], axis: isize) -> DynTensor {
            let nodes: Vec<&Node> = tensors.iter().map(|tensor| tensor.node()).collect();
            Ok(DynTensor::wrap(Node::concat("concat", &nodes, axis)?))
        }

        /// Tensors of one shape side by side along a new axis.
        fn stack try_stack(tensors: &[&DynTensor], axis: isize) -> DynTensor {
            let nodes: Vec<&Node> = tensors.iter().map(|tensor| tensor.node()).collect();
            Ok(DynTensor::wrap(join::stack(&nodes, axis)?))
        }
    }

    twins! {
        /// Consecutive parts of the given sizes along an axis.
        fn split try_split(&self, sizes: &[usize], axis: isize) -> Vec<DynTensor> {
            Ok(join::split(self.node(), sizes, axis)?.into_iter().map(DynTensor::wrap).collect())
        }

        /// Consecutive parts of one size along an axis; the last may be smaller.
        fn split_every try_split_every(&self, size: usize, axis: isize) -> Vec<DynTensor> {
            Ok(join::split_every(self.node(), size, axis)?.into_iter().map(DynTensor::wrap).collect())
        }
    }
}
