//! The user's own functions, as plain Rust closures on the elements of any view.
//!
//! A closure is run at once, on all threads. Nobody knows its derivative: a gradient that has to pass is an error.

use super::{BroadcastWith, Dimension, HasAxes, Tensor};
use crate::dtype::TensorDType;
use crate::error::Result;
use crate::graph::Node;
use crate::memory::Buffer;
use crate::ops::compose::movement::axis_of;
use crate::runtime;
use crate::shape::{Layout, Shape, broadcast_shapes, element_count, row_major_strides};
use crate::strided::{self, Strided};

/// The elements of a node, where they lie in memory.
struct Elements {
    buffer: Buffer,
    layout: Layout,
}

impl Elements {
    /// Executes what is needed. A view that strides cannot say is made dense first.
    #[track_caller]
    fn of(node: &Node) -> Result<Elements> {
        let (base, view) = node.base_and_view();
        if let Some(layout) = view.layout() {
            runtime::execute(std::slice::from_ref(&base))?;
            if let Some(buffer) = base.buffer() {
                return Ok(Elements { buffer, layout });
            }
        }
        Ok(Elements { buffer: runtime::read(node)?, layout: Layout::contiguous(node.shape()) })
    }

    fn view(&self) -> Strided<'_> {
        Strided::new(self.layout.shape(), self.layout.strides()).at(self.layout.start_offset())
    }
}

impl<T: TensorDType, D: Dimension> Tensor<T, D> {
    /// `f` of every element.
    ///
    /// ```
    /// let x = zither::Tensor::new([1.0f32, 2.0]);
    /// let offset = 100.0;
    /// assert_eq!(x.map(|v| v + offset)?.data()?, [101.0, 102.0]);
    /// # Ok::<(), zither::Error>(())
    /// ```
    #[track_caller]
    pub fn map<U: TensorDType>(&self, f: impl Fn(T) -> U + Sync) -> Result<Tensor<U, D>> {
        let input = Elements::of(self.node())?;
        let strides = row_major_strides(self.shape());
        let buffer = Buffer::build::<U>("map", self.len(), |out| {
            let out_view = Strided::new(self.shape(), &strides);
            strided::map(out, out_view, input.buffer.try_as_slice::<T>("map")?, input.view(), f)
        })?;
        let node = Node::from_closure("map", vec![self.node().clone()], buffer, self.shape().into());
        Ok(Tensor::wrap(node))
    }

    /// `f` of the elements of two tensors, which broadcast.
    ///
    /// ```
    /// # use zither::Tensor;
    /// let (a, b) = (Tensor::new([1.0f32, 2.0]), Tensor::new([3i32, 4]));
    /// let y = a.zip_with(&b, |a, b| a * b as f32)?;
    /// assert_eq!(y.data()?, [3.0, 8.0]);
    /// # Ok::<(), zither::Error>(())
    /// ```
    #[track_caller]
    pub fn zip_with<U: TensorDType, V: TensorDType, E: Dimension>(
        &self,
        other: &Tensor<U, E>,
        f: impl Fn(T, U) -> V + Sync,
    ) -> Result<Tensor<V, <D as BroadcastWith<E>>::Output>>
    where
        D: BroadcastWith<E>,
    {
        let op = "zip_with";
        let shape = broadcast_shapes(op, self.shape(), other.shape())
            .map_err(|error| error.operands(self.node().at(), other.node().at()))?;
        let (a, b) = (Elements::of(self.node())?, Elements::of(other.node())?);
        let strides = row_major_strides(&shape);
        let len = element_count(op, &shape, V::DTYPE)?;
        let buffer = Buffer::build::<V>(op, len, |out| {
            let out_view = Strided::new(&shape, &strides);
            let (left, right) = (a.buffer.try_as_slice::<T>(op)?, b.buffer.try_as_slice::<U>(op)?);
            strided::zip(out, out_view, left, a.view(), right, b.view(), f)
        })?;
        let inputs = vec![self.node().clone(), other.node().clone()];
        Ok(Tensor::wrap(Node::from_closure(op, inputs, buffer, shape)))
    }
}

impl<T: TensorDType, D: HasAxes> Tensor<T, D> {
    /// The elements of an axis folded into one, first to last, beginning with `start`.
    ///
    /// ```
    /// let x = zither::Tensor::new([[1, 2, 3], [4, 5, 6]]);
    /// assert_eq!(x.fold(1, 0, |sum, v| sum + v)?.data()?, [6, 15]);
    /// # Ok::<(), zither::Error>(())
    /// ```
    #[track_caller]
    pub fn fold<U: TensorDType>(
        &self,
        axis: isize,
        start: U,
        f: impl Fn(U, T) -> U + Sync,
    ) -> Result<Tensor<U, D::Smaller>> {
        let op = "fold";
        let axis = axis_of(op, self.node(), axis)?;
        let input = Elements::of(self.node())?;
        let mut kept = Shape::from_slice(self.shape());
        kept[axis] = 1;
        let strides = row_major_strides(&kept);
        let len = element_count(op, &kept, U::DTYPE).map_err(|error| error.made_at("tensor", self.node().at()))?;
        let buffer = Buffer::build::<U>(op, len, |out| {
            out.fill(start);
            let out_view = Strided::new(&kept, &strides);
            strided::reduce(out, out_view, input.buffer.try_as_slice::<T>(op)?, input.view(), axis, f)
        })?;
        kept.remove(axis);
        Ok(Tensor::wrap(Node::from_closure(op, vec![self.node().clone()], buffer, kept)))
    }
}
