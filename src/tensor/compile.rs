//! Functions captured as plans.

use super::{Dimension, DynTensor, Tensor};
use crate::dtype::{DType, TensorDType};
use crate::error::{Error, ErrorKind, Result};
use crate::graph::Node;
use crate::runtime::{self, Explanation, Nodes, Program};
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
/// whose earlier results have been dropped allocates nothing. What a function makes of a state that it is
/// [given](Compiled::call_owned) is written where that state was.
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
        let mut nodes = self.nodes_of(inputs);
        let results = self.call_with(Given::Lent(inputs), &mut nodes);
        self.put_back(nodes);
        results
    }

    /// As [`call`](Compiled::call), and gives the inputs away: a result may be written where an input was, so that the next state of a
    /// training takes no memory beside the last.
    ///
    /// That is done where nobody can tell: an input that somebody still has a handle to, or of which a view is held, stays as it is, and so does
    /// one whose numbers are needed until the end. The results are the same bits as those of `call`.
    ///
    /// # Errors
    /// As for `call`. The inputs are gone also then: hold a clone of what must not be lost.
    ///
    /// ```
    /// use zither::{Tensor, Vector, compile};
    ///
    /// // A step of descent with momentum, for the loss |x - 1|².
    /// let step = compile(|[x, speed]: [Vector<f64>; 2]| {
    ///     let speed = speed * 0.5 - (&x - 1.0) * 0.2;
    ///     [x + &speed, speed]
    /// });
    /// let mut state = [Tensor::new([3.0, -2.0]), Tensor::zeros([2])];
    /// for _ in 0..50 {
    ///     state = step.call_owned(state)?;
    /// }
    /// assert!(state[0].data()?.iter().all(|x| (x - 1.0).abs() < 1e-6));
    /// # Ok::<(), zither::Error>(())
    /// ```
    #[track_caller]
    pub fn call_owned(&self, inputs: I) -> Result<O> {
        let mut nodes = self.nodes_of(&inputs);
        let results = self.call_with(Given::Away(inputs), &mut nodes);
        self.put_back(nodes);
        results
    }

    /// What a call with such inputs does and costs. Only their shapes count.
    ///
    /// ```
    /// use zither::{Tensor, Vector, compile};
    /// let double = compile(|x: Vector<f32>| x * 2.0);
    /// let plan = double.explain(&Tensor::zeros([1000]))?;
    /// assert_eq!((plan.kernels, plan.flops), (1, 1000));
    /// // Given away, the input makes room for the result.
    /// assert!(plan.in_place_bytes >= 4000 && plan.in_place_bytes <= plan.peak_bytes);
    /// # Ok::<(), zither::Error>(())
    /// ```
    #[track_caller]
    pub fn explain(&self, inputs: &I) -> Result<Explanation> {
        let nodes = self.nodes_of(inputs);
        let explanation = self.captured(inputs, &nodes).map(|captured| captured.program.explain());
        self.put_back(nodes);
        explanation
    }

    /// The inputs' nodes, in the room that is kept for them.
    fn nodes_of(&self, inputs: &I) -> Vec<Node> {
        let mut nodes = std::mem::take(&mut *self.room());
        inputs.each(&mut |tensor| nodes.push(tensor.node().clone()));
        nodes
    }

    fn put_back(&self, mut nodes: Vec<Node>) {
        nodes.clear();
        *self.room() = nodes;
    }

    fn room(&self) -> MutexGuard<'_, Vec<Node>> {
        self.room.lock().unwrap_or_else(PoisonError::into_inner)
    }

    #[track_caller]
    fn call_with(&self, inputs: Given<'_, I>, nodes: &mut [Node]) -> Result<O> {
        if runtime::verifies() {
            no_gradient(nodes)?;
            return self.traced(inputs.tensors());
        }
        let captured = self.captured(inputs.tensors(), nodes)?;
        // From here on, what was given away is with the nodes alone.
        drop(inputs);
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

    /// The plan for such inputs.
    #[track_caller]
    fn captured(&self, inputs: &I, nodes: &[Node]) -> Result<Arc<Captured<O>>> {
        no_gradient(nodes)?;
        match self.find(nodes) {
            Some(captured) => Ok(captured),
            None => self.capture(inputs, nodes),
        }
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

/// Inputs of a call.
enum Given<'a, I> {
    Lent(&'a I),
    Away(I),
}

impl<I> Given<'_, I> {
    fn tensors(&self) -> &I {
        match self {
            Given::Lent(inputs) => inputs,
            Given::Away(inputs) => inputs,
        }
    }
}

/// An error if an input wants a gradient.
fn no_gradient(nodes: &[Node]) -> Result<()> {
    let Some(place) = nodes.iter().position(Node::tracks) else { return Ok(()) };
    let message = format!(
        "input {place} (shape {:?}) wants a gradient, which a compiled function does not record: \
         take the gradient inside the function, or detach() the input",
        nodes[place].shape()
    );
    Err(Error::new(ErrorKind::Gradient, "compile", message).made_at("input", nodes[place].at()))
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
