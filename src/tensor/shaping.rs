//! Taking tensors apart, repeating and turning them, and their diagonals.

use super::twins::{twin_functions, twins};
use super::{Dim0, Dim1, Dim2, DimDyn, Dimension, DynTensor, HasAxes, Tensor};
use crate::dtype::{NumericDType, TensorDType};
use crate::graph::Node;
use crate::ops::compose::{diagonal, join, movement, tile};

fn wrapped<T: TensorDType, D: Dimension>(nodes: Vec<Node>) -> Vec<Tensor<T, D>> {
    nodes.into_iter().map(Tensor::wrap).collect()
}

fn dynamic(nodes: Vec<Node>) -> Vec<DynTensor> {
    nodes.into_iter().map(DynTensor::wrap).collect()
}

impl<T: TensorDType, D: Dimension> Tensor<T, D> {
    twins! {
        /// At most `count` parts along an axis, all of one size but the last, which may be smaller.
        ///
        /// ```
        /// # use zither::Tensor;
        /// let parts = Tensor::new([1, 2, 3, 4, 5]).chunk(2, 0);
        /// assert_eq!((parts[0].data()?, parts[1].data()?), (vec![1, 2, 3], vec![4, 5]));
        /// # Ok::<(), zither::Error>(())
        /// ```
        fn chunk try_chunk(&self, count: usize, axis: isize) -> Vec<Tensor<T, D>> {
            Ok(wrapped(join::chunk(self.node(), count, axis)?))
        }

        /// Exactly `count` parts along an axis, the first ones larger by one where it does not divide (NumPy's
        /// `array_split`).
        ///
        /// ```
        /// # use zither::Tensor;
        /// let parts = Tensor::new([1, 2, 3, 4]).tensor_split(3, 0);
        /// assert_eq!(parts.iter().map(|part| part.len()).collect::<Vec<_>>(), [2, 1, 1]);
        /// ```
        fn tensor_split try_tensor_split(&self, count: usize, axis: isize) -> Vec<Tensor<T, D>> {
            Ok(wrapped(join::tensor_split(self.node(), count, axis)?))
        }

        /// The whole tensor so many times along each axis; more numbers than axes make new axes in front.
        ///
        /// ```
        /// # use zither::Tensor;
        /// assert_eq!(Tensor::new([1, 2]).repeat(&[2, 2]).shape(), [2, 4]);
        /// ```
        fn repeat try_repeat(&self, repeats: &[usize]) -> Tensor<T, DimDyn> {
            Ok(Tensor::wrap(tile::repeat(self.node(), repeats)?))
        }

        /// As [`repeat`](Self::repeat), where fewer numbers than axes are for the last axes.
        ///
        /// ```
        /// # use zither::Tensor;
        /// assert_eq!(Tensor::new([[1, 2]]).tile(&[2]).data()?, [1, 2, 1, 2]);
        /// # Ok::<(), zither::Error>(())
        /// ```
        fn tile try_tile(&self, repeats: &[usize]) -> Tensor<T, DimDyn> {
            Ok(Tensor::wrap(tile::tile(self.node(), repeats)?))
        }

        /// Each element of an axis `count` times in a row.
        ///
        /// ```
        /// # use zither::Tensor;
        /// assert_eq!(Tensor::new([1, 2]).repeat_interleave(2, 0).data()?, [1, 1, 2, 2]);
        /// # Ok::<(), zither::Error>(())
        /// ```
        fn repeat_interleave try_repeat_interleave(&self, count: usize, axis: isize) -> Tensor<T, D> {
            Ok(Tensor::wrap(tile::repeat_interleave(self.node(), count, axis)?))
        }

        /// Elements moved along axes; what leaves at one end comes in at the other. One shift and no axis: as one long row.
        ///
        /// ```
        /// # use zither::Tensor;
        /// assert_eq!(Tensor::new([1, 2, 3]).roll(&[1], &[0]).data()?, [3, 1, 2]);
        /// # Ok::<(), zither::Error>(())
        /// ```
        fn roll try_roll(&self, shifts: &[isize], axes: &[isize]) -> Tensor<T, D> {
            Ok(Tensor::wrap(tile::roll(self.node(), shifts, axes)?))
        }

        /// Turned by so many quarters from the first axis towards the second.
        ///
        /// ```
        /// # use zither::Tensor;
        /// assert_eq!(Tensor::new([[1, 2], [3, 4]]).rot90(1, [0, 1]).data()?, [2, 4, 1, 3]);
        /// # Ok::<(), zither::Error>(())
        /// ```
        fn rot90 try_rot90(&self, times: isize, axes: [isize; 2]) -> Tensor<T, D> {
            Ok(Tensor::wrap(tile::rot90(self.node(), times, axes)?))
        }

        /// Axes `from[k]` brought to the places `to[k]`; the others keep their order (NumPy's `moveaxis`).
        ///
        /// ```
        /// # use zither::Tensor;
        /// assert_eq!(Tensor::<f32, _>::zeros([2, 3, 4]).movedim(&[0], &[-1]).shape(), [3, 4, 2]);
        /// ```
        fn movedim try_movedim(&self, from: &[isize], to: &[isize]) -> Tensor<T, D> {
            Ok(Tensor::wrap(movement::movedim(self.node(), from, to)?))
        }

        /// Two axes exchanged: NumPy's name of [`transpose`](Self::transpose).
        ///
        /// ```
        /// # use zither::Tensor;
        /// assert_eq!(Tensor::<f32, _>::zeros([2, 3]).swapaxes(0, 1).shape(), [3, 2]);
        /// ```
        fn swapaxes try_swapaxes(&self, a: isize, b: isize) -> Tensor<T, D> {
            Ok(Tensor::wrap(movement::transpose(self.node(), a, b)?))
        }
    }
}

impl<T: TensorDType, D: HasAxes> Tensor<T, D> {
    twins! {
        /// The slices along an axis, without that axis.
        ///
        /// ```
        /// # use zither::Tensor;
        /// let columns = Tensor::new([[1, 2], [3, 4]]).unbind(1);
        /// assert_eq!(columns[1].data()?, [2, 4]);
        /// # Ok::<(), zither::Error>(())
        /// ```
        fn unbind try_unbind(&self, axis: isize) -> Vec<Tensor<T, D::Smaller>> {
            Ok(wrapped(join::unbind(self.node(), axis)?))
        }

        /// Diagonal `k` of two axes, which go away; it is the new last axis.
        ///
        /// ```
        /// # use zither::Tensor;
        /// assert_eq!(Tensor::new([[1, 2], [3, 4]]).diagonal(0, 0, 1).data()?, [1, 4]);
        /// # Ok::<(), zither::Error>(())
        /// ```
        fn diagonal try_diagonal(&self, k: isize, first: isize, second: isize) -> Tensor<T, D::Smaller> {
            Ok(Tensor::wrap(diagonal::diagonal(self.node(), k, first, second)?))
        }

        /// The last axis on diagonal `k` of new matrices of zeros.
        ///
        /// ```
        /// # use zither::Tensor;
        /// assert_eq!(Tensor::new([1, 2]).diag_embed(0).to_vec2()?, [[1, 0], [0, 2]]);
        /// # Ok::<(), zither::Error>(())
        /// ```
        fn diag_embed try_diag_embed(&self, k: isize) -> Tensor<T, D::Larger> {
            Ok(Tensor::wrap(diagonal::diag_embed(self.node(), k)?))
        }
    }
}

impl<T: TensorDType> Tensor<T, Dim1> {
    twins! {
        /// This vector on diagonal `k` of a matrix of zeros.
        ///
        /// ```
        /// # use zither::Tensor;
        /// assert_eq!(Tensor::new([1]).diag(1).to_vec2()?, [[0, 1], [0, 0]]);
        /// # Ok::<(), zither::Error>(())
        /// ```
        fn diag try_diag(&self, k: isize) -> Tensor<T, Dim2> {
            Ok(Tensor::wrap(diagonal::diag(self.node(), k)?))
        }
    }

    twin_functions! {
        /// One tensor for each vector, all of the shape that their lengths make; vector `k` runs along axis `k`.
        ///
        /// ```
        /// # use zither::Tensor;
        /// let grids = Tensor::meshgrid(&[&Tensor::new([1, 2]), &Tensor::new([5, 6])]);
        /// assert_eq!((grids[0].data()?, grids[1].data()?), (vec![1, 1, 2, 2], vec![5, 6, 5, 6]));
        /// # Ok::<(), zither::Error>(())
        /// ```
        fn meshgrid try_meshgrid(vectors: &[&Tensor<T, Dim1>]) -> Vec<Tensor<T, DimDyn>> {
            let nodes: Vec<&Node> = vectors.iter().map(|vector| vector.node()).collect();
            Ok(wrapped(join::meshgrid(&nodes, false)?))
        }

        /// [`meshgrid`](Self::meshgrid) with the first two axes exchanged, as NumPy does it ("xy").
        ///
        /// ```
        /// # use zither::Tensor;
        /// let grids = Tensor::meshgrid_xy(&[&Tensor::new([1, 2]), &Tensor::new([3, 4, 5])]);
        /// assert_eq!((grids[0].shape(), grids[0].data()?), (&[3, 2][..], vec![1, 2, 1, 2, 1, 2]));
        /// # Ok::<(), zither::Error>(())
        /// ```
        fn meshgrid_xy try_meshgrid_xy(vectors: &[&Tensor<T, Dim1>]) -> Vec<Tensor<T, DimDyn>> {
            let nodes: Vec<&Node> = vectors.iter().map(|vector| vector.node()).collect();
            Ok(wrapped(join::meshgrid(&nodes, true)?))
        }
    }
}

impl<T: TensorDType> Tensor<T, Dim2> {
    twins! {
        /// Diagonal `k` of this matrix.
        ///
        /// ```
        /// # use zither::Tensor;
        /// assert_eq!(Tensor::new([[1, 2], [3, 4]]).diag(-1).data()?, [3]);
        /// # Ok::<(), zither::Error>(())
        /// ```
        fn diag try_diag(&self, k: isize) -> Tensor<T, Dim1> {
            Ok(Tensor::wrap(diagonal::diag(self.node(), k)?))
        }
    }
}

impl<T: NumericDType> Tensor<T, Dim2> {
    twins! {
        /// The sum of the main diagonal.
        ///
        /// ```
        /// # use zither::Tensor;
        /// assert_eq!(Tensor::new([[1, 2], [3, 4]]).trace().item()?, 5);
        /// # Ok::<(), zither::Error>(())
        /// ```
        fn trace try_trace(&self) -> Tensor<T, Dim0> {
            Ok(Tensor::wrap(diagonal::trace(self.node())?))
        }
    }
}

impl DynTensor {
    twin_functions! {
        /// One tensor for each vector; see [`Tensor::meshgrid`].
        fn meshgrid try_meshgrid(vectors: &[&DynTensor]) -> Vec<DynTensor> {
            let nodes: Vec<&Node> = vectors.iter().map(|vector| vector.node()).collect();
            Ok(dynamic(join::meshgrid(&nodes, false)?))
        }
    }

    twins! {
        /// At most `count` parts along an axis; see [`Tensor::chunk`].
        fn chunk try_chunk(&self, count: usize, axis: isize) -> Vec<DynTensor> {
            Ok(dynamic(join::chunk(self.node(), count, axis)?))
        }

        /// Exactly `count` parts along an axis; see [`Tensor::tensor_split`].
        fn tensor_split try_tensor_split(&self, count: usize, axis: isize) -> Vec<DynTensor> {
            Ok(dynamic(join::tensor_split(self.node(), count, axis)?))
        }

        /// The slices along an axis, without that axis.
        ///
        /// See [`Tensor::unbind`](crate::Tensor::unbind).
        fn unbind try_unbind(&self, axis: isize) -> Vec<DynTensor> {
            Ok(dynamic(join::unbind(self.node(), axis)?))
        }

        /// The whole tensor so many times along each axis; see [`Tensor::repeat`].
        fn repeat try_repeat(&self, repeats: &[usize]) -> DynTensor {
            Ok(DynTensor::wrap(tile::repeat(self.node(), repeats)?))
        }

        /// As [`repeat`](Self::repeat), where fewer numbers than axes are for the last axes.
        ///
        /// See [`Tensor::tile`](crate::Tensor::tile).
        fn tile try_tile(&self, repeats: &[usize]) -> DynTensor {
            Ok(DynTensor::wrap(tile::tile(self.node(), repeats)?))
        }

        /// Each element of an axis `count` times in a row.
        ///
        /// See [`Tensor::repeat_interleave`](crate::Tensor::repeat_interleave).
        fn repeat_interleave try_repeat_interleave(&self, count: usize, axis: isize) -> DynTensor {
            Ok(DynTensor::wrap(tile::repeat_interleave(self.node(), count, axis)?))
        }

        /// Elements moved around along axes; see [`Tensor::roll`].
        fn roll try_roll(&self, shifts: &[isize], axes: &[isize]) -> DynTensor {
            Ok(DynTensor::wrap(tile::roll(self.node(), shifts, axes)?))
        }

        /// Turned by so many quarters from the first axis towards the second.
        ///
        /// See [`Tensor::rot90`](crate::Tensor::rot90).
        fn rot90 try_rot90(&self, times: isize, axes: [isize; 2]) -> DynTensor {
            Ok(DynTensor::wrap(tile::rot90(self.node(), times, axes)?))
        }

        /// Axes `from[k]` brought to the places `to[k]`; see [`Tensor::movedim`].
        fn movedim try_movedim(&self, from: &[isize], to: &[isize]) -> DynTensor {
            Ok(DynTensor::wrap(movement::movedim(self.node(), from, to)?))
        }

        /// Two axes exchanged.
        ///
        /// See [`Tensor::swapaxes`](crate::Tensor::swapaxes).
        fn swapaxes try_swapaxes(&self, a: isize, b: isize) -> DynTensor {
            Ok(DynTensor::wrap(movement::transpose(self.node(), a, b)?))
        }

        /// Diagonal `k` of two axes, as a new last axis.
        ///
        /// See [`Tensor::diagonal`](crate::Tensor::diagonal).
        fn diagonal try_diagonal(&self, k: isize, first: isize, second: isize) -> DynTensor {
            Ok(DynTensor::wrap(diagonal::diagonal(self.node(), k, first, second)?))
        }

        /// A vector on diagonal `k` of a matrix of zeros, or diagonal `k` of a matrix.
        ///
        /// See [`Tensor::diag`](crate::Tensor::diag).
        fn diag try_diag(&self, k: isize) -> DynTensor {
            Ok(DynTensor::wrap(diagonal::diag(self.node(), k)?))
        }

        /// The last axis on diagonal `k` of new matrices of zeros.
        ///
        /// See [`Tensor::diag_embed`](crate::Tensor::diag_embed).
        fn diag_embed try_diag_embed(&self, k: isize) -> DynTensor {
            Ok(DynTensor::wrap(diagonal::diag_embed(self.node(), k)?))
        }

        /// The sum of the main diagonal of the last two axes.
        ///
        /// See [`Tensor::trace`](crate::Tensor::trace).
        fn trace try_trace(&self) -> DynTensor {
            Ok(DynTensor::wrap(diagonal::trace(self.node())?))
        }
    }
}
