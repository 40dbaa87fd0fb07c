//! zither: lazy, fused, differentiable tensors, with rank and dtype in the type.
//!
//! An op makes a node and returns at once; reading a value runs what it needs. This page is a short tour; each type's page has
//! the rest.
//!
//! # Making tensors
//!
//! ```
//! use zither::{Matrix, Tensor, manual_seed};
//!
//! let m = Tensor::new([[1.0f32, 2.0, 3.0], [4.0, 5.0, 6.0]]); // dtype and rank follow: Tensor<f32, Dim2>, or Matrix
//! let z = Tensor::<f64, _>::zeros([2, 3]);
//! let r = Tensor::<i32, _>::arange(0, 24).reshape([2, 3, 4]);
//! manual_seed(7); // the same numbers on any machine
//! let n: Matrix = Tensor::randn([2, 2]);
//! assert_eq!((m.shape(), z.rank(), r.len(), n.dtype()), (&[2, 3][..], 2, 24, zither::DType::F32));
//! ```
//!
//! # Computing
//!
//! Operators take tensors, owned or borrowed, and numbers. Shapes broadcast as in NumPy, and so do ranks in the types.
//!
//! ```
//! use zither::{Dim1, Tensor};
//!
//! let x = Tensor::new([[1.0f32, 2.0, 3.0], [4.0, 5.0, 6.0]]);
//! let row = Tensor::new([10.0f32, 20.0, 30.0]);
//! let y = &x * 2.0 + &row; // [2, 3] and [3]
//! assert_eq!(y.to_vec2()?, [[12.0, 24.0, 36.0], [18.0, 30.0, 42.0]]);
//!
//! let rows: Tensor<f32, Dim1> = x.sum_axis(1); // one axis less
//! let share = &x / x.sum_keepdim(1); // the axis stays, as 1, and broadcasts
//! let any = x.sum(&[0, -1], false); // axes that only the run knows: Tensor<f32, DimDyn>
//! assert_eq!((rows.to_vec1()?, any.item()?), (vec![6.0, 15.0], 21.0));
//! assert_eq!(share.matmul(&x.t()).shape(), [2, 2]);
//! # Ok::<(), zither::Error>(())
//! ```
//!
//! # Parts and views
//!
//! Movements and indices look at the same elements in another way; nothing is copied unless no single view can say it.
//!
//! ```
//! use zither::{NewAxis, Step, Tensor};
//!
//! let x = Tensor::<i32, _>::arange(0, 12).reshape([3, 4]);
//! assert_eq!(x.i(1).to_vec1()?, [4, 5, 6, 7]);
//! assert_eq!(x.i((.., -1)).to_vec1()?, [3, 7, 11]);
//! assert_eq!(x.i((0, (..).by(-2))).to_vec1()?, [3, 1]);
//! assert_eq!(x.i((NewAxis, 1..)).shape(), [1, 2, 4]);
//! assert!(x.t().shares_storage(&x));
//! # Ok::<(), zither::Error>(())
//! ```
//!
//! # Gradients
//!
//! [`Tensor::backward`] leaves gradients with the tensors that require one; [`Var`] is a parameter that is replaced from step
//! to step; [`grad()`] gives gradients as tensors that can be differentiated again.
//!
//! ```
//! use zither::{Tensor, Var, grad, no_grad};
//!
//! let w = Var::new(Tensor::new([1.0f32, -2.0]));
//! let loss = w.get().square().sum_all();
//! loss.backward();
//! w.set(&no_grad(|| w.get() - w.grad().unwrap() * 0.25).realize()?);
//! assert_eq!(w.get().data()?, [0.5, -1.0]);
//!
//! let x = Tensor::new(3.0f64);
//! let slope = &grad(&x.powf(3.0), &[&x])?[0];
//! let curvature = &grad(slope, &[&x])?[0];
//! assert_eq!((slope.item()?, curvature.item()?), (27.0, 18.0));
//! # Ok::<(), zither::Error>(())
//! ```
//!
//! # Dtypes and ranks at run time
//!
//! [`DynTensor`] is the same tensor without the types, for files and user input. It checks when it runs what the compiler
//! checks otherwise.
//!
//! ```
//! use zither::{DType, Dim2, DynTensor, Tensor};
//!
//! let read = DynTensor::from_data(vec![1u8, 2, 3, 4], &[2, 2]);
//! let scaled = read.cast(DType::F32) / 255.0;
//! let image: Tensor<f32, Dim2> = scaled.to_typed(); // checked here
//! assert_eq!(image.shape(), [2, 2]);
//! ```
//!
//! # Errors
//!
//! Reading returns a [`Result`]. Everything else that can fail comes twice: a method that panics at your line, and its `try_`
//! twin that returns the same text as an [`Error`].
//!
//! ```
//! use zither::{ErrorKind, Tensor};
//!
//! let (a, b) = (Tensor::<f32, _>::zeros([2, 3]), Tensor::<f32, _>::zeros([4]));
//! let error = a.try_add(&b).unwrap_err();
//! assert_eq!(error.kind(), ErrorKind::Shape);
//! assert!(error.to_string().starts_with(
//!     "add: shapes [2, 3] and [4] do not broadcast: axis 1 is 3 on the left and 4 on the right"
//! ));
//! ```
//!
//! # What is where
//!
//! | | |
//! |---|---|
//! | [`Tensor`], [`DynTensor`], [`Var`], [`Gradients`] | tensors and what is done with them |
//! | [`Dim`], [`DimDyn`], [`Dimension`] | ranks in types |
//! | [`dtype`] | the thirteen dtypes and the traits over them |
//! | [`shape`] | layouts, views and index expressions |
//! | [`strided`] | map, zip and reduce with any closure on plain slices |
//! | [`optim`] | optimisers: SGD, Adam, AdamW, RMSprop, Adagrad |
//! | [`memory`] | how much memory is in use, and the pool that reuses it |
//! | [`runtime`] | the number of threads (`ZITHER_THREADS`) |

mod codegen;
mod contract;
pub mod dtype;
mod error;
mod grad;
mod graph;
mod lower;
pub mod memory;
mod ops;
pub mod optim;
mod reference;
pub mod runtime;
mod schedule;
pub mod shape;
pub mod strided;
mod tensor;

#[cfg(test)]
mod random_programs;
#[cfg(test)]
mod table_tests;

pub use dtype::{DType, Literal, bf16, f16};
pub use error::{Error, ErrorKind, Result};
pub use shape::{Expr, Layout, View};
pub use tensor::*;

/// The examples of the README are run with the others.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

/// And so are those of the architecture.
#[cfg(doctest)]
#[doc = include_str!("../ARCHITECTURE.md")]
struct Architecture;
