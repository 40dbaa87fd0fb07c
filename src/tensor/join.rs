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
        ///
        /// ```
        /// # use zither::Tensor;
        /// let (a, b) = (Tensor::new([1, 2]), Tensor::new([3, 4]));
        /// assert_eq!(Tensor::stack(&[&a, &b], 1).to_vec2()?, [[1, 3], [2, 4]]);
        /// # Ok::<(), zither::Error>(())
        /// ```
        fn stack try_stack(tensors: &[&Tensor<T, D>], axis: isize) -> Tensor<T, D::Larger> {
            Ok(Tensor::wrap(join::stack(&nodes(tensors), axis)?))
        }
    }

    twins! {
        /// Consecutive parts of the given sizes along an axis.
        ///
        /// ```
        /// # use zither::Tensor;
        /// let parts = Tensor::new([1, 2, 3]).split(&[1, 2], 0);
        /// assert_eq!(parts[1].data()?, [2, 3]);
        /// # Ok::<(), zither::Error>(())
        /// ```
        fn split try_split(&self, sizes: &[usize], axis: isize) -> Vec<Tensor<T, D>> {
            Ok(wrapped(join::split(self.node(), sizes, axis)?))
        }

        /// Consecutive parts of one size along an axis; the last may be smaller.
        ///
        /// ```
        /// # use zither::Tensor;
        /// let parts = Tensor::new([1, 2, 3]).split_every(2, 0);
        /// assert_eq!((parts[0].data()?, parts[1].data()?), (vec![1, 2], vec![3]));
        /// # Ok::<(), zither::Error>(())
        /// ```
        fn split_every try_split_every(&self, size: usize, axis: isize) -> Vec<Tensor<T, D>> {
            Ok(wrapped(join::split_every(self.node(), size, axis)?))
        }
    }
}

impl DynTensor {
    twin_functions! {
        /// Tensors one after the other along an axis.
        ///
        /// See [`Tensor::concat`](crate::Tensor::concat).
        fn concat try_concat(tensors: &[&DynTensor], axis: isize) -> DynTensor {
            let nodes: Vec<&Node> = tensors.iter().map(|tensor| tensor.node()).collect();
            Ok(DynTensor::wrap(Node::concat("concat", &nodes, axis)?))
        }

        /// Tensors of one shape side by side along a new axis.
        ///
        /// See [`Tensor::stack`](crate::Tensor::stack).
        fn stack try_stack(tensors: &[&DynTensor], axis: isize) -> DynTensor {
            let nodes: Vec<&Node> = tensors.iter().map(|tensor| tensor.node()).collect();
            Ok(DynTensor::wrap(join::stack(&nodes, axis)?))
        }
    }

    twins! {
        /// Consecutive parts of the given sizes along an axis.
        ///
        /// See [`Tensor::split`](crate::Tensor::split).
        fn split try_split(&self, sizes: &[usize], axis: isize) -> Vec<DynTensor> {
            Ok(join::split(self.node(), sizes, axis)?.into_iter().map(DynTensor::wrap).collect())
        }

        /// Consecutive parts of one size along an axis; the last may be smaller.
        ///
        /// See [`Tensor::split_every`](crate::Tensor::split_every).
        fn split_every try_split_every(&self, size: usize, axis: isize) -> Vec<DynTensor> {
            Ok(join::split_every(self.node(), size, axis)?.into_iter().map(DynTensor::wrap).collect())
        }
    }
}
