//! Functions captured as plans.

use super::{Dimension, DynTensor, Tensor};
use crate::dtype::{DType, TensorDType};
use crate::error::{Error, ErrorKind, Result};
use crate::graph::Node;
use crate::runtime::{self, Nodes, Program};
use crate::shape::Shape;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};

/// A function that runs as one plan: see [`compile`].
pub struct Compiled<I, O> {
    f: Box<dyn Fn(I) -> O + Send + Sync>,
    captured: RwLock<Vec<Arc<Captured<O>>>>,
    /// Room for the inputs' nodes, empty between calls.
    room: Mutex<Vec<Node>>,
}

/// The plan for inputs of some shapes.
struct Captured<O> {
    inputs: Vec<(DType, Shape)>,
    /// What the function gave when it was traced.
    traced: O,
    program: Program,
}

/// Captures a function of tensors as a plan, which is then called without tracing it again.
///
/// The function is traced at the first call with inputs of given shapes: it may do with its inputs whatever can be done with tensors,
/// gradients included, but not read their numbers. Tensors it captures from outside keep the numbers they had then, and
/// so do random numbers that it draws. A call
/// whose earlier results have been dropped allocates nothing.
///
/// ```
/// use zither::{Matrix, Tensor, compile};
///
/// let weight = Tensor::new([[1.0f32, -1.0], [2.0, 0.5]]);
/// let layer = compile(move |x: Matrix<f32>| x.matmul(&weight).relu());
/// assert_eq!(layer.call(&Tensor::new([[1.0, 1.0]]))?.data()?, [3.0, 0.0]);
/// assert_eq!(layer.call(&Tensor::new([[0.0, 2.0]]))?.data()?, [4.0, 1.0]);
///
/// // Several inputs, several results: one plan for all of them.
/// let step = compile(|(w, g): (Matrix<f32>, Matrix<f32>)| (&w - &g * 0.1, g.square().sum_all()));
/// let (w, size) = step.call(&(Tensor::new([[1.0, 2.0]]), Tensor::new([[10.0, 0.0]])))?;
/// assert_eq!((w.data()?, size.item()?), (vec![0.0, 2.0], 100.0));
/// # Ok::<(), zither::Error>(())
/// ```
pub fn compile<I: Tensors, O: Tensors>(f: impl Fn(I) -> O + Send + Sync + 'static) -> Compiled<I, O> {
    Compiled { f: Box::new(f), captured: RwLock::new(Vec::new()), room: Mutex::default() }
}

impl<I: Tensors, O: Tensors> Compiled<I, O> {
    /// The function's results for these inputs.
    ///
    /// # Errors
    /// If an input wants a gradient: take gradients inside the function, or [`detach`](Tensor::detach) the input.
    ///
    /// ```
    /// use zither::{Dim1, Tensor, compile};
    /// let double = compile(|x: Tensor<f32, Dim1>| x * 2.0);
    /// assert_eq!(double.call(&Tensor::new([1.0, 2.0]))?.data()?, [2.0, 4.0]);
    /// # Ok::<(), zither::Error>(())
    /// ```
    #[track_caller]
    pub fn call(&self, inputs: &I) -> Result<O> {
        let mut nodes = std::mem::take(&mut *self.room());
        inputs.each(&mut |tensor| nodes.push(tensor.node().clone()));
        let results = self.call_with(inputs, &nodes);
        nodes.clear();
        *self.room() = nodes;
        results
    }

    fn room(&self) -> MutexGuard<'_, Vec<Node>> {
        self.room.lock().unwrap_or_else(PoisonError::into_inner)
    }

    #[track_caller]
    fn call_with(&self, inputs: &I, nodes: &[Node]) -> Result<O> {
        if let Some(place) = nodes.iter().position(Node::tracks) {
            let message = format!(
                "input {place} (shape {:?}) wants a gradient, which a compiled function does not record: \
                 take the gradient inside the function, or detach() the input",
                nodes[place].shape()
            );
            return Err(Error::new(ErrorKind::Gradient, "compile", message).made_at("input", nodes[place].at()));
        }
        if runtime::verifies() {
            return self.traced(inputs);
        }
        let captured = match self.find(nodes) {
            Some(captured) => captured,
            None => self.capture(inputs, nodes)?,
        };
        captured.program.call(nodes, |results| {
            captured.traced.like(&mut || DynTensor::wrap(results.next().expect("a result for every output")))
        })
    }

    /// The results without a captured plan: the reference looks at every step.
    #[track_caller]
    fn traced(&self, inputs: &I) -> Result<O> {
        let mut tensors = Vec::new();
        inputs.each(&mut |tensor| tensors.push(tensor));
        let mut next = tensors.into_iter();
        let results = (self.f)(inputs.like(&mut || next.next().expect("an input for every input")));
        let mut wanted = Nodes::new();
        results.each(&mut |tensor| wanted.push(tensor.node().clone()));
        runtime::execute(&wanted)?;
        Ok(results)
    }

    fn find(&self, nodes: &[Node]) -> Option<Arc<Captured<O>>> {
        let captured = self.captured.read().unwrap_or_else(PoisonError::into_inner);
        captured.iter().find(|captured| captured.fits(nodes)).cloned()
    }

    #[track_caller]
    fn capture(&self, inputs: &I, nodes: &[Node]) -> Result<Arc<Captured<O>>> {
        let mut placeholders = Nodes::new();
        for (place, node) in nodes.iter().enumerate() {
            let name = format!("input {place}{}", runtime::OF_A_COMPILED_FUNCTION);
            placeholders.push(Node::input(&name, node.shape(), node.dtype())?);
        }
        let mut next = placeholders.iter().cloned();
        let traced =
            (self.f)(inputs.like(&mut || DynTensor::wrap(next.next().expect("a placeholder for every input"))));
        let mut outputs = Nodes::new();
        traced.each(&mut |tensor| outputs.push(tensor.node().clone()));
        let inputs = nodes.iter().map(|node| (node.dtype(), node.shape().into())).collect();
        let program = Program::capture(&placeholders, &outputs)?;
        let captured = Arc::new(Captured { inputs, traced, program });
        self.captured.write().unwrap_or_else(PoisonError::into_inner).push(captured.clone());
        Ok(captured)
    }
}

impl<O> Captured<O> {
    fn fits(&self, nodes: &[Node]) -> bool {
        let same =
            |(node, (dtype, shape)): (&Node, &(DType, Shape))| node.dtype() == *dtype && node.shape() == &shape[..];
        nodes.len() == self.inputs.len() && nodes.iter().zip(&self.inputs).all(same)
    }
}

/// What a compiled function takes and gives: a tensor, or several of them as a tuple, an array, a vector or a type of your own.
///
/// ```
/// use zither::{DynTensor, Matrix, Tensor, Tensors, Vector, compile};
///
/// #[derive(Clone)]
/// struct Linear {
///     weight: Matrix<f32>,
///     bias: Vector<f32>,
/// }
///
/// impl Tensors for Linear {
///     fn each(&self, f: &mut dyn FnMut(DynTensor)) {
///         self.weight.each(f);
///         self.bias.each(f);
///     }
///     fn like(&self, next: &mut dyn FnMut() -> DynTensor) -> Linear {
///         Linear { weight: self.weight.like(next), bias: self.bias.like(next) }
///     }
/// }
///
/// let run = compile(|(layer, x): (Linear, Matrix<f32>)| x.matmul(&layer.weight) + &layer.bias);
/// let layer = Linear { weight: Tensor::new([[2.0], [3.0]]), bias: Tensor::new([1.0]) };
/// assert_eq!(run.call(&(layer, Tensor::new([[1.0, 1.0]])))?.data()?, [6.0]);
/// # Ok::<(), zither::Error>(())
/// ```
pub trait Tensors: Sized {
    /// Calls `f` with every tensor, in order.
    fn each(&self, f: &mut dyn FnMut(DynTensor));

    /// The same of other tensors, of the same dtypes and ranks, which `next` gives in order.
    fn like(&self, next: &mut dyn FnMut() -> DynTensor) -> Self;
}

impl<T: TensorDType, D: Dimension> Tensors for Tensor<T, D> {
    fn each(&self, f: &mut dyn FnMut(DynTensor)) {
        f(DynTensor::wrap(self.node().clone()));
    }

    fn like(&self, next: &mut dyn FnMut() -> DynTensor) -> Tensor<T, D> {
        next().to_typed()
    }
}

impl Tensors for DynTensor {
    fn each(&self, f: &mut dyn FnMut(DynTensor)) {
        f(self.clone());
    }

    fn like(&self, next: &mut dyn FnMut() -> DynTensor) -> DynTensor {
        next()
    }
}

impl<A: Tensors> Tensors for Vec<A> {
    fn each(&self, f: &mut dyn FnMut(DynTensor)) {
        self.iter().for_each(|part| part.each(f));
    }

    fn like(&self, next: &mut dyn FnMut() -> DynTensor) -> Vec<A> {
        self.iter().map(|part| part.like(next)).collect()
    }
}

impl<A: Tensors, const N: usize> Tensors for [A; N] {
    fn each(&self, f: &mut dyn FnMut(DynTensor)) {
        self.iter().for_each(|part| part.each(f));
    }

    fn like(&self, next: &mut dyn FnMut() -> DynTensor) -> [A; N] {
        std::array::from_fn(|k| self[k].like(next))
    }
}

macro_rules! tuples {
    ($(($($name:ident $place:tt),*))*) => {$(
        impl<$($name: Tensors),*> Tensors for ($($name,)*) {
            fn each(&self, f: &mut dyn FnMut(DynTensor)) {
                $(self.$place.each(f);)*
            }

            fn like(&self, next: &mut dyn FnMut() -> DynTensor) -> Self {
                ($(self.$place.like(next),)*)
            }
        }
    )*};
}

tuples! {
    (A 0)
    (A 0, B 1)
    (A 0, B 1, C 2)
    (A 0, B 1, C 2, D 3)
    (A 0, B 1, C 2, D 3, E 4)
    (A 0, B 1, C 2, D 3, E 4, F 5)
    (A 0, B 1, C 2, D 3, E 4, F 5, G 6)
    (A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7)
}
