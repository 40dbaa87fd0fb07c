//! A variable: the one thing whose numbers change.

use super::{Dimension, Tensor};
use crate::dtype::FloatDType;
use crate::error::{Error, ErrorKind, OrRaise, Result};
use std::fmt;
use std::sync::{PoisonError, RwLock};

/// A named place for a tensor that requires a gradient and is replaced from time to time: a parameter.
///
/// Tensors never change; a variable is set to new ones. What was computed from the old tensor stays as it was.
///
/// ```
/// use zither::{Tensor, Var};
/// let x = Var::new(Tensor::new([3.0f32, 1.0, 4.0]));
/// let y = x.get().square() + x.get() * 5.0 + 4.0;
/// let grads = y.backward();
/// assert_eq!(y.data()?, [28.0, 10.0, 40.0]);
/// assert_eq!(grads.get(&x.get()).unwrap().data()?, [11.0, 7.0, 13.0]);
/// x.set(&(x.get() - grads.get(&x.get()).unwrap()));
/// assert_eq!(x.get().data()?, [-8.0, -6.0, -9.0]);
/// # Ok::<(), zither::Error>(())
/// ```
pub struct Var<T: FloatDType, D: Dimension> {
    current: RwLock<Tensor<T, D>>,
}

impl<T: FloatDType, D: Dimension> Var<T, D> {
    /// A variable that starts as `tensor`.
    ///
    /// ```
    /// use zither::{Tensor, Var};
    /// let x = Var::new(Tensor::new([3.0f32]));
    /// assert!(x.get().requires_grad());
    /// ```
    #[track_caller]
    pub fn new(tensor: Tensor<T, D>) -> Var<T, D> {
        Var { current: RwLock::new(tensor.detach().set_requires_grad(true)) }
    }

    /// The tensor it holds now, which requires a gradient.
    ///
    /// ```
    /// use zither::{Tensor, Var};
    /// assert_eq!(Var::new(Tensor::new([3.0f32])).get().data()?, [3.0]);
    /// # Ok::<(), zither::Error>(())
    /// ```
    pub fn get(&self) -> Tensor<T, D> {
        self.current.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Holds the numbers of `tensor` from now on; its history is left behind. The shape must stay.
    ///
    /// ```
    /// use zither::{Tensor, Var};
    /// let x = Var::new(Tensor::new([3.0f32]));
    /// x.set(&(x.get() * 2.0));
    /// assert_eq!(x.get().data()?, [6.0]);
    /// # Ok::<(), zither::Error>(())
    /// ```
    #[track_caller]
    pub fn set(&self, tensor: &Tensor<T, D>) {
        self.try_set(tensor).or_raise();
    }

    /// As [`set`](Self::set), with an error in place of a panic.
    #[track_caller]
    pub fn try_set(&self, tensor: &Tensor<T, D>) -> Result<()> {
        let old = self.get();
        if old.shape() != tensor.shape() {
            let message = format!("a variable of shape {:?} cannot take {:?}", old.shape(), tensor.shape());
            let error = Error::new(ErrorKind::Shape, "set", message);
            return Err(error.operands(old.node().at(), tensor.node().at()));
        }
        let new = tensor.detach().set_requires_grad(true);
        *self.current.write().unwrap_or_else(PoisonError::into_inner) = new;
        Ok(())
    }

    /// The gradient that `backward` has left with the current tensor, if any.
    ///
    /// ```
    /// use zither::{Tensor, Var};
    /// let x = Var::new(Tensor::new([3.0f32]));
    /// x.get().square().backward();
    /// assert_eq!(x.grad().unwrap().data()?, [6.0]);
    /// # Ok::<(), zither::Error>(())
    /// ```
    pub fn grad(&self) -> Option<Tensor<T, D>> {
        self.get().grad()
    }

    /// Forgets the gradient.
    ///
    /// ```
    /// use zither::{Tensor, Var};
    /// let x = Var::new(Tensor::new([3.0f32]));
    /// x.get().square().backward();
    /// assert_eq!(x.grad().unwrap().data()?, [6.0]);
    /// x.zero_grad();
    /// assert!(x.grad().is_none());
    /// # Ok::<(), zither::Error>(())
    /// ```
    pub fn zero_grad(&self) {
        self.get().zero_grad();
    }
}

impl<T: FloatDType, D: Dimension> fmt::Debug for Var<T, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Var").field(&self.get()).finish()
    }
}
