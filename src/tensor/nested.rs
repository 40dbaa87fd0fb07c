//! Tensors from what Rust programs have at hand: numbers, arrays of arrays, slices, vectors.

use super::{Dim0, Dim1, Dim2, Dim3, Dim4, Dimension, Tensor};
use crate::dtype::TensorDType;
use crate::error::{Error, ErrorKind, OrRaise, Result};
use crate::graph::Node;
use crate::memory::Buffer;
use crate::shape::Shape;

/// Something [`Tensor::new`] takes: a number, a slice, a vector, arrays of arrays up to rank 4, vectors of vectors.
pub trait NdArray {
    /// The dtype of the elements.
    type Elem: TensorDType;
    /// The rank.
    type Dim: Dimension;

    /// The elements in row-major order, and the shape. Rows of different lengths are an error.
    fn into_elements(self) -> Result<(Vec<Self::Elem>, Shape)>;
}

impl<T: TensorDType> NdArray for T {
    type Elem = T;
    type Dim = Dim0;
    fn into_elements(self) -> Result<(Vec<T>, Shape)> {
        Ok((vec![self], Shape::new()))
    }
}

impl<T: TensorDType> NdArray for &[T] {
    type Elem = T;
    type Dim = Dim1;
    fn into_elements(self) -> Result<(Vec<T>, Shape)> {
        Ok((self.to_vec(), [self.len()].as_slice().into()))
    }
}

impl<T: TensorDType> NdArray for Vec<T> {
    type Elem = T;
    type Dim = Dim1;
    fn into_elements(self) -> Result<(Vec<T>, Shape)> {
        let len = self.len();
        Ok((self, [len].as_slice().into()))
    }
}

impl<T: TensorDType> NdArray for Vec<Vec<T>> {
    type Elem = T;
    type Dim = Dim2;
    fn into_elements(self) -> Result<(Vec<T>, Shape)> {
        let (rows, cols) = (self.len(), self.first().map_or(0, Vec::len));
        if let Some((k, row)) = self.iter().enumerate().find(|(_, row)| row.len() != cols) {
            let message = format!("row 0 has {cols} elements and row {k} has {}: rows must be equally long", row.len());
            return Err(Error::new(ErrorKind::Shape, "new", message));
        }
        Ok((self.into_iter().flatten().collect(), [rows, cols].as_slice().into()))
    }
}

/// Arrays of arrays: the type says that every row is equally long.
macro_rules! arrays {
    ($($dim:ty, $array:ty, [$($size:ident)*], $flatten:expr;)*) => {$(
        impl<T: TensorDType, $(const $size: usize),*> NdArray for $array {
            type Elem = T;
            type Dim = $dim;
            fn into_elements(self) -> Result<(Vec<T>, Shape)> {
                let flatten: fn($array) -> Vec<T> = $flatten;
                Ok((flatten(self), [$($size),*].as_slice().into()))
            }
        }
        impl<T: TensorDType, $(const $size: usize),*> NdArray for &$array {
            type Elem = T;
            type Dim = $dim;
            fn into_elements(self) -> Result<(Vec<T>, Shape)> {
                (*self).into_elements()
            }
        }
    )*};
}

arrays! {
    Dim1, [T; A], [A], |a| a.to_vec();
    Dim2, [[T; B]; A], [A B], |a| a.as_flattened().to_vec();
    Dim3, [[[T; C]; B]; A], [A B C], |a| a.as_flattened().as_flattened().to_vec();
    Dim4, [[[[T; D]; C]; B]; A], [A B C D], |a| a.as_flattened().as_flattened().as_flattened().to_vec();
}

impl<T: TensorDType, D: Dimension> Tensor<T, D> {
    /// A tensor from a number, a slice, a vector, or nested arrays.
    ///
    /// ```
    /// let m = zither::Tensor::new([[1.0f32, 2.0], [3.0, 4.0]]);
    /// assert_eq!(m.shape(), [2, 2]);
    /// ```
    #[track_caller]
    pub fn new(values: impl NdArray<Elem = T, Dim = D>) -> Tensor<T, D> {
        Tensor::try_new(values).or_raise()
    }

    /// As [`new`](Self::new), with an error in place of a panic.
    #[track_caller]
    pub fn try_new(values: impl NdArray<Elem = T, Dim = D>) -> Result<Tensor<T, D>> {
        let (elements, shape) = values.into_elements()?;
        Ok(Tensor::wrap(Node::from_buffer(Buffer::from_vec("new", elements)?, shape)))
    }
}
