//! The API: tensors with the dtype and the rank in the type, and their dynamic twin.
//!
//! A tensor is a thin typed handle on a node of the graph. All work is in the untyped core; the methods here check
//! what the types do not, and hand over.

mod activation;
mod autograd;
mod choose;
mod closure;
mod compile;
mod convert;
mod create;
mod decompose;
mod dimension;
mod display;
mod dynamic;
mod einsum;
mod elementwise;
mod gather;
mod index;
mod join;
mod linalg;
mod losses;
mod maths;
mod movement;
mod nested;
mod nn;
mod normal;
mod operand;
mod operators;
mod pool;
mod print;
mod products;
mod read;
mod reduce;
mod scan;
mod shaping;
mod sort;
mod tables;
mod twins;
mod var;

pub use autograd::{GradFn, Gradients, grad, is_grad_enabled, jvp, no_grad};
pub use compile::{Compiled, Tensors, compile};
pub use create::manual_seed;
pub use dimension::{
    BroadcastWith, Dim, Dim0, Dim1, Dim2, Dim3, Dim4, Dim5, Dim6, DimDyn, Dimension, HasAxes, IntoShape, MatMulWith,
};
pub use dynamic::DynTensor;
pub use einsum::{EinsumOperands, einsum, try_einsum};
pub use gather::ScatterReduce;
pub use index::{Ellipsis, IndexPart, IndexParts, NewAxis, Selection, Step, Stepped};
pub use losses::{CrossEntropyOptions, Reduction};
pub use movement::PadValue;
pub use nested::NdArray;
pub use nn::Window;
pub use normal::{AttentionOptions, BatchNormed, DynBatchNormed};
pub use operand::{DynOperand, Operand};
pub use pool::{Interpolation, Pool};
pub use read::realize_all;
pub use var::Var;

use crate::dtype::{DType, TensorDType};
use crate::graph::Node;
use std::marker::PhantomData;

/// A lazy, differentiable tensor of elements `T` and rank `D`.
///
/// Ops make nodes and return at once; reading a value executes what it needs. Cloning copies a pointer.
///
/// ```
/// use zither::{Dim2, Tensor};
///
/// let x = Tensor::new([[1.0f32, 2.0], [3.0, 4.0]]);
/// let y = (&x * 2.0 + 1.0).sum_axis(1); // nothing has run yet
/// assert_eq!(y.to_vec1()?, [8.0, 16.0]);
/// # Ok::<(), zither::Error>(())
/// ```
///
/// What does not fit does not compile:
///
/// ```compile_fail
/// let a = zither::Tensor::new([1.0f32, 2.0]);
/// let b = zither::Tensor::new([1i32, 2]);
/// let c = &a + &b; // f32 and i32 do not mix
/// ```
///
/// ```compile_fail
/// let a = zither::Tensor::new([3u8]);
/// let b = &a / 4.0; // neither 0 nor 0.75: cast first
/// ```
///
/// ```compile_fail
/// use zither::{Dim2, Tensor};
/// let a = Tensor::<f32, _>::zeros([2, 3, 4]);
/// let b: Tensor<f32, Dim2> = a.exp(); // rank 3 is not rank 2
/// ```
///
/// ```compile_fail
/// let a = zither::Tensor::new(1.0f32);
/// let b = a.squeeze(0); // a scalar has no axis to lose
/// ```
///
/// ```compile_fail
/// let a = zither::Tensor::new([1i64, 2]);
/// a.backward(); // integers have no gradient
/// ```
pub struct Tensor<T: TensorDType = f32, D: Dimension = DimDyn> {
    node: Node,
    marker: PhantomData<(T, D)>,
}

/// A tensor of rank 1.
pub type Vector<T = f32> = Tensor<T, Dim1>;

/// A tensor of rank 2.
pub type Matrix<T = f32> = Tensor<T, Dim2>;

impl<T: TensorDType, D: Dimension> Tensor<T, D> {
    /// A typed handle on a node that is known to fit.
    #[inline]
    pub(crate) fn wrap(node: Node) -> Tensor<T, D> {
        debug_assert_eq!(node.dtype(), T::DTYPE);
        debug_assert!(D::RANK.is_none_or(|rank| rank == node.rank()), "rank {} in {:?}", node.rank(), D::RANK);
        Tensor { node: node.handle(), marker: PhantomData }
    }

    /// The node that ops are built on.
    #[inline]
    pub(crate) fn node(&self) -> &Node {
        self.node.inner()
    }

    /// The node that ops are built on, to keep.
    #[inline]
    pub(super) fn to_node(&self) -> Node {
        self.node().clone()
    }

    /// The node that ops are built on, where the tensor is not needed any more.
    #[inline]
    pub(super) fn into_node(self) -> Node {
        self.node.into_inner()
    }

    /// The sizes of the axes.
    ///
    /// ```
    /// # use zither::Tensor;
    /// assert_eq!(Tensor::new([[1, 2, 3]]).shape(), [1, 3]);
    /// ```
    pub fn shape(&self) -> &[usize] {
        self.node.shape()
    }

    /// The number of axes.
    ///
    /// ```
    /// # use zither::Tensor;
    /// assert_eq!(Tensor::new([[1, 2, 3]]).rank(), 2);
    /// ```
    pub fn rank(&self) -> usize {
        self.node.rank()
    }

    /// The number of elements.
    ///
    /// ```
    /// # use zither::Tensor;
    /// assert_eq!(Tensor::new([[1, 2, 3]]).len(), 3);
    /// ```
    pub fn len(&self) -> usize {
        self.node.len()
    }

    /// Whether there are no elements.
    ///
    /// ```
    /// # use zither::Tensor;
    /// assert!(Tensor::<f32, _>::zeros([2, 0]).is_empty());
    /// ```
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The type of the elements, at run time.
    ///
    /// ```
    /// # use zither::Tensor;
    /// assert_eq!(Tensor::new([1.0f32]).dtype(), zither::DType::F32);
    /// ```
    pub fn dtype(&self) -> DType {
        T::DTYPE
    }

    /// How elements are found in the base they are a view of; a tensor that is not a view is dense.
    ///
    /// ```
    /// # use zither::Tensor;
    /// let x = Tensor::new([[1, 2], [3, 4]]);
    /// assert_eq!(x.t().view().layout().unwrap().strides(), [1, 2]);
    /// ```
    pub fn view(&self) -> crate::shape::View {
        self.node().base_and_view().1
    }

    /// Shape, strides and offset in the shared storage, where that is all there is to the view (no padding, no mask).
    ///
    /// ```
    /// # use zither::Tensor;
    /// let x = Tensor::new([[1, 2], [3, 4]]);
    /// assert_eq!(x.t().layout().unwrap().strides(), [1, 2]);
    /// ```
    pub fn layout(&self) -> Option<crate::shape::Layout> {
        self.view().layout()
    }

    /// Whether two tensors look at the same storage.
    ///
    /// ```
    /// # use zither::Tensor;
    /// let x = Tensor::new([[1, 2], [3, 4]]);
    /// assert!(x.shares_storage(&x.t()));
    /// ```
    pub fn shares_storage<U: TensorDType, E: Dimension>(&self, other: &Tensor<U, E>) -> bool {
        self.node().base() == other.node().base()
    }

    /// A branch made on purpose: the same elements under another handle. Never copies.
    ///
    /// ```
    /// # use zither::Tensor;
    /// let x = Tensor::new([1.0f32]).exp().fork();
    /// let y = x.sin() + x.cos(); // one exponential
    /// assert_eq!(y.shape(), [1]);
    /// ```
    #[track_caller]
    pub fn fork(&self) -> Tensor<T, D> {
        Tensor::wrap(self.node().fork())
    }
}

impl<T: TensorDType> Matrix<T> {
    /// The number of rows.
    ///
    /// ```
    /// # use zither::Tensor;
    /// assert_eq!(Tensor::new([[1, 2, 3]]).rows(), 1);
    /// ```
    pub fn rows(&self) -> usize {
        self.shape()[0]
    }

    /// The number of columns.
    ///
    /// ```
    /// # use zither::Tensor;
    /// assert_eq!(Tensor::new([[1, 2, 3]]).cols(), 3);
    /// ```
    pub fn cols(&self) -> usize {
        self.shape()[1]
    }
}

impl<T: TensorDType, D: Dimension> Clone for Tensor<T, D> {
    fn clone(&self) -> Tensor<T, D> {
        Tensor { node: self.node.clone(), marker: PhantomData }
    }
}
