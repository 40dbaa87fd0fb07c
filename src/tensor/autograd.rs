//! Gradients: `backward` for training, `grad` for functions and higher orders, `GradFn` for the user's own.

use super::twins::twins;
use super::{DimDyn, Dimension, DynTensor, Tensor};
use crate::dtype::{FloatDType, TensorDType};
use crate::error::{Error, ErrorKind, OrRaise, Result};
use crate::grad::{self, GradMap};
use crate::graph::{Harvest, Node, Pause, Vjp};
use std::sync::Arc;

/// Runs `f` without recording how its tensors could be differentiated.
///
/// ```
/// use zither::{Tensor, no_grad};
/// let w = Tensor::new([1.0f32]).set_requires_grad(true);
/// let step = no_grad(|| &w - 0.1);
/// assert!(!step.requires_grad());
/// ```
pub fn no_grad<R>(f: impl FnOnce() -> R) -> R {
    let _pause = Pause::because("no_grad");
    f()
}

/// Whether this thread records how new tensors can be differentiated.
///
/// ```
/// use zither::{is_grad_enabled, no_grad};
/// assert!(is_grad_enabled() && no_grad(|| !is_grad_enabled()));
/// ```
pub fn is_grad_enabled() -> bool {
    crate::graph::is_recording()
}

/// The gradients that one `backward` found.
pub struct Gradients {
    grads: GradMap,
}

impl Gradients {
    /// The gradient of a tensor that requires one, or of any tensor on the way to it; `None` where none arrived.
    ///
    /// ```
    /// # use zither::Tensor;
    /// let x = Tensor::new([3.0f32]).set_requires_grad(true);
    /// let gradients = (&x * &x).backward();
    /// assert_eq!(gradients.get(&x).unwrap().data()?, [6.0]);
    /// # Ok::<(), zither::Error>(())
    /// ```
    pub fn get<T: FloatDType, D: Dimension>(&self, tensor: &Tensor<T, D>) -> Option<Tensor<T, D>> {
        self.grads.get(tensor.node()).cloned().map(Tensor::wrap)
    }
}

/// The gradients of the sum of `output`'s elements with respect to `inputs`, in their order.
///
/// The inputs need not have been said to require a gradient, and may stand anywhere in the graph. (An output that was read
/// before lets go of how it was made, unless an input was said to require one.) The gradients are lazy
/// tensors with a history of their own, so they can be differentiated again:
///
/// ```
/// use zither::{Tensor, grad};
/// let x = Tensor::new(2.0f64);
/// let y = &x * &x * &x;
/// let dy = &grad(&y, &[&x])?[0];   // 3x²
/// let ddy = &grad(dy, &[&x])?[0];  // 6x
/// assert_eq!((dy.item()?, ddy.item()?), (12.0, 12.0));
/// # Ok::<(), zither::Error>(())
/// ```
#[track_caller]
pub fn grad<T: FloatDType, D: Dimension, E: Dimension>(
    output: &Tensor<T, D>,
    inputs: &[&Tensor<T, E>],
) -> Result<Vec<Tensor<T, E>>> {
    let nodes: Vec<Node> = inputs.iter().map(|input| input.node().clone()).collect();
    let seed = output.node().fill(1.0);
    Ok(grad::gradients(output.node(), seed, &nodes)?.into_iter().map(Tensor::wrap).collect())
}

/// By how much `output` changes, to first order, when each input changes by its tangent: the derivative in one direction (forward mode).
///
/// ```
/// use zither::{Tensor, jvp};
/// let x = Tensor::new([1.0f64, 2.0]);
/// let y = &x * &x;
/// assert_eq!(jvp(&y, &[&x], &[&Tensor::new([1.0, 0.5])])?.data()?, [2.0, 2.0]); // 2x · tangent
/// # Ok::<(), zither::Error>(())
/// ```
#[track_caller]
pub fn jvp<T: FloatDType, D: Dimension, E: Dimension>(
    output: &Tensor<T, D>,
    inputs: &[&Tensor<T, E>],
    tangents: &[&Tensor<T, E>],
) -> Result<Tensor<T, D>> {
    let nodes =
        |tensors: &[&Tensor<T, E>]| -> Vec<Node> { tensors.iter().map(|tensor| tensor.node().clone()).collect() };
    Ok(Tensor::wrap(grad::jvp(output.node(), &nodes(inputs), &nodes(tangents))?))
}

/// A function's derivative, written by the user: from the gradient of the result to those of the inputs.
///
/// ```
/// use zither::{DimDyn, GradFn, Tensor};
///
/// /// Rounds, but lets the gradient through as if it did not.
/// struct StraightThrough(Tensor<f32, DimDyn>);
///
/// impl GradFn<f32> for StraightThrough {
///     fn name(&self) -> &'static str { "straight_through" }
///     fn inputs(&self) -> Vec<Tensor<f32, DimDyn>> { vec![self.0.clone()] }
///     fn backward(&self, grad: &Tensor<f32, DimDyn>) -> Vec<Tensor<f32, DimDyn>> { vec![grad.clone()] }
/// }
///
/// let x = Tensor::new([0.4f32, 0.6]).set_requires_grad(true);
/// let y = x.round().with_grad_fn(StraightThrough(x.clone().into_dyn()));
/// y.backward();
/// assert_eq!(x.grad().unwrap().data()?, [1.0, 1.0]);
/// # Ok::<(), zither::Error>(())
/// ```
pub trait GradFn<T: FloatDType>: Send + Sync {
    /// One gradient for each input, of its shape.
    fn backward(&self, grad_output: &Tensor<T, DimDyn>) -> Vec<Tensor<T, DimDyn>>;
    /// The tensors the result depends on.
    fn inputs(&self) -> Vec<Tensor<T, DimDyn>>;
    /// The function's name, for messages.
    fn name(&self) -> &'static str;
}

/// A user's typed derivative, as the untyped core calls it.
struct Typed<T, F> {
    f: F,
    /// Asked for once: a function that makes them anew each time would name other nodes.
    inputs: Vec<Node>,
    marker: std::marker::PhantomData<fn() -> T>,
}

impl<T: FloatDType, F: GradFn<T>> Vjp for Typed<T, F> {
    fn name(&self) -> &'static str {
        self.f.name()
    }

    fn inputs(&self) -> &[Node] {
        &self.inputs
    }

    fn backward(&self, grad: &Node) -> Result<Vec<Node>> {
        let grads = self.f.backward(&Tensor::wrap(grad.clone()));
        Ok(grads.iter().map(|grad| grad.node().clone()).collect())
    }
}

/// Runs backward from a node and leaves the gradients where they were asked for.
#[track_caller]
fn backward(output: &Node, seed: Node) -> Result<Gradients> {
    let _pause = Pause::because("backward");
    let (grads, order) = grad::backward(output, seed)?;
    let mut left = Vec::new();
    for node in &order {
        if let (Some(slot), Some(grad)) = (node.slot(), grads.get(node)) {
            slot.add(grad);
            left.extend(slot.get());
        }
    }
    Harvest::note(&left, &order);
    Ok(Gradients { grads })
}

/// As [`backward`], from the sum of the elements times weights.
#[track_caller]
fn weighted_backward(output: &Node, weights: &Node) -> Result<Gradients> {
    let op = "backward_with";
    let fail = |kind, message| Err(Error::new(kind, op, message).operands(output.at(), weights.at()));
    if weights.dtype() != output.dtype() {
        return fail(
            ErrorKind::DType,
            format!("weights of {} for a tensor of {}: cast them", weights.dtype(), output.dtype()),
        );
    }
    if weights.shape() != output.shape() {
        return fail(
            ErrorKind::Shape,
            format!("weights of shape {:?} for a tensor of shape {:?}", weights.shape(), output.shape()),
        );
    }
    backward(output, weights.clone())
}

/// The node as one that wants a gradient, or as one that does not.
#[track_caller]
fn requiring(node: &Node, requires_grad: bool) -> Node {
    match (requires_grad, node.slot()) {
        (true, Some(_)) => node.clone(),
        (true, None) => node.as_leaf(),
        (false, _) => node.detach(),
    }
}

impl<T: FloatDType, D: Dimension> Tensor<T, D> {
    /// The tensor as one whose gradient is wanted, or (with `false`) as one without a history.
    ///
    /// ```
    /// use zither::Tensor;
    /// let x = Tensor::<f32, _>::ones([2, 2]).set_requires_grad(true);
    /// (&x * &x).backward();
    /// assert_eq!(x.grad().unwrap().data()?, [2.0; 4]);
    /// # Ok::<(), zither::Error>(())
    /// ```
    #[track_caller]
    pub fn set_requires_grad(self, requires_grad: bool) -> Tensor<T, D> {
        Tensor::wrap(requiring(self.node(), requires_grad))
    }

    /// Whether a gradient is wanted for this tensor or for one it is made from.
    ///
    /// ```
    /// # use zither::Tensor;
    /// let x = Tensor::new([3.0f32]).set_requires_grad(true);
    /// assert!((&x * 2.0).requires_grad() && !x.detach().requires_grad());
    /// ```
    pub fn requires_grad(&self) -> bool {
        self.node().tracks()
    }

    twins! {
        /// Adds the gradients of the sum of this tensor's elements to [`grad`](Self::grad) of every tensor that requires
        /// one, and gives them back as well. The gradients have no history; for higher orders use [`grad()`].
        ///
        /// ```
        /// # use zither::Tensor;
        /// let x = Tensor::new([3.0f32, 4.0]).set_requires_grad(true);
        /// (&x * &x).backward();
        /// assert_eq!(x.grad().unwrap().data()?, [6.0, 8.0]);
        /// # Ok::<(), zither::Error>(())
        /// ```
        fn backward try_backward(&self) -> Gradients {
            backward(self.node(), self.node().fill(1.0))
        }

        /// As [`backward`](Self::backward), for the sum of the elements times `weights`.
        ///
        /// ```
        /// # use zither::Tensor;
        /// let x = Tensor::new([3.0f32, 4.0]).set_requires_grad(true);
        /// (&x * &x).backward_with(&Tensor::new([1.0, 10.0]));
        /// assert_eq!(x.grad().unwrap().data()?, [6.0, 80.0]);
        /// # Ok::<(), zither::Error>(())
        /// ```
        fn backward_with try_backward_with(&self, weights: &Tensor<T, D>) -> Gradients {
            weighted_backward(self.node(), weights.node())
        }
    }

    /// The gradient that `backward` has left here, if any.
    ///
    /// ```
    /// # use zither::Tensor;
    /// let x = Tensor::new([3.0f32]).set_requires_grad(true);
    /// assert!(x.grad().is_none());
    /// (&x * 2.0).backward();
    /// assert_eq!(x.grad().unwrap().data()?, [2.0]);
    /// # Ok::<(), zither::Error>(())
    /// ```
    pub fn grad(&self) -> Option<Tensor<T, D>> {
        self.node().slot()?.get().map(Tensor::wrap)
    }

    /// Forgets the gradient.
    ///
    /// ```
    /// # use zither::Tensor;
    /// let x = Tensor::new([3.0f32]).set_requires_grad(true);
    /// (&x * 2.0).backward();
    /// x.zero_grad();
    /// assert!(x.grad().is_none());
    /// ```
    pub fn zero_grad(&self) {
        if let Some(slot) = self.node().slot() {
            slot.clear();
        }
    }

    /// The same numbers with the derivative of the user's function `f`, in place of how they were made.
    ///
    /// ```
    /// // Rounds, but lets the gradient through.
    /// use zither::{DimDyn, GradFn, Tensor};
    /// struct Through(Tensor<f32, DimDyn>);
    /// impl GradFn<f32> for Through {
    ///     fn name(&self) -> &'static str { "through" }
    ///     fn inputs(&self) -> Vec<Tensor<f32, DimDyn>> { vec![self.0.clone()] }
    ///     fn backward(&self, grad: &Tensor<f32, DimDyn>) -> Vec<Tensor<f32, DimDyn>> { vec![grad.clone()] }
    /// }
    /// let x = Tensor::new([0.4f32]).set_requires_grad(true);
    /// x.round().with_grad_fn(Through(x.clone().into_dyn())).backward();
    /// assert_eq!(x.grad().unwrap().data()?, [1.0]);
    /// # Ok::<(), zither::Error>(())
    /// ```
    #[track_caller]
    pub fn with_grad_fn<F: GradFn<T> + 'static>(&self, f: F) -> Tensor<T, D> {
        let inputs = f.inputs().iter().map(|input| input.node().clone()).collect();
        Tensor::wrap(self.node().with_vjp(Arc::new(Typed { f, inputs, marker: std::marker::PhantomData })))
    }
}

impl<T: TensorDType, D: Dimension> Tensor<T, D> {
    /// The same elements, without their history: no gradient passes.
    ///
    /// ```
    /// # use zither::Tensor;
    /// let x = Tensor::new([3.0f32]).set_requires_grad(true);
    /// (&x * &x.detach()).backward();
    /// assert_eq!(x.grad().unwrap().data()?, [3.0]);
    /// # Ok::<(), zither::Error>(())
    /// ```
    #[track_caller]
    pub fn detach(&self) -> Tensor<T, D> {
        Tensor::wrap(self.node().detach())
    }
}

impl DynTensor {
    /// The tensor as one whose gradient is wanted (floats only), or as one without a history.
    ///
    /// See [`Tensor::set_requires_grad`](crate::Tensor::set_requires_grad).
    #[track_caller]
    pub fn set_requires_grad(self, requires_grad: bool) -> DynTensor {
        self.try_set_requires_grad(requires_grad).or_raise()
    }

    /// As [`set_requires_grad`](Self::set_requires_grad), with an error in place of a panic.
    #[track_caller]
    pub fn try_set_requires_grad(self, requires_grad: bool) -> Result<DynTensor> {
        if requires_grad && !self.dtype().is_float() {
            let message = format!("{} has no gradient: only floats do", self.dtype());
            return Err(
                Error::new(ErrorKind::Gradient, "set_requires_grad", message).made_at("tensor", self.node().at())
            );
        }
        Ok(DynTensor::wrap(requiring(self.node(), requires_grad)))
    }

    /// Whether a gradient is wanted for this tensor or for one it is made from.
    ///
    /// See [`Tensor::requires_grad`](crate::Tensor::requires_grad).
    pub fn requires_grad(&self) -> bool {
        self.node().tracks()
    }

    twins! {
        /// Adds the gradients of the sum of this tensor's elements to `grad` of every tensor that requires one.
        ///
        /// See [`Tensor::backward`](crate::Tensor::backward).
        fn backward try_backward(&self) -> () {
            let seed = if self.dtype().is_float() { self.node().fill(1.0) } else { self.node().clone() };
            backward(self.node(), seed).map(|_| ())
        }

        /// As [`backward`](Self::backward), for the sum of the elements times `weights`.
        ///
        /// ```
        /// use zither::DynTensor;
        /// let x = DynTensor::from_data(vec![1.0f32, 2.0], &[2]).set_requires_grad(true);
        /// (&x * &x).backward_with(&DynTensor::from_data(vec![1.0f32, 10.0], &[2]));
        /// assert_eq!(x.grad().unwrap().data::<f32>()?, [2.0, 40.0]);
        /// # Ok::<(), zither::Error>(())
        /// ```
        fn backward_with try_backward_with(&self, weights: &DynTensor) -> () {
            weighted_backward(self.node(), weights.node()).map(|_| ())
        }
    }

    /// The gradient that `backward` has left here, if any.
    ///
    /// See [`Tensor::grad`](crate::Tensor::grad).
    pub fn grad(&self) -> Option<DynTensor> {
        self.node().slot()?.get().map(DynTensor::wrap)
    }

    /// Forgets the gradient.
    ///
    /// See [`Tensor::zero_grad`](crate::Tensor::zero_grad).
    pub fn zero_grad(&self) {
        if let Some(slot) = self.node().slot() {
            slot.clear();
        }
    }

    /// The same elements, without their history: no gradient passes.
    ///
    /// See [`Tensor::detach`](crate::Tensor::detach).
    #[track_caller]
    pub fn detach(&self) -> DynTensor {
        DynTensor::wrap(self.node().detach())
    }
}
