//! Ops built from the primitives: a few lines each, differentiable because their parts are.

pub(crate) mod activation;
pub(crate) mod contraction;
pub(crate) mod convolution;
pub(crate) mod create;
pub(crate) mod indexing;
pub(crate) mod join;
pub(crate) mod loss;
pub(crate) mod movement;
pub(crate) mod norm;
pub(crate) mod pad;
pub(crate) mod reduction;
pub(crate) mod scalar;
pub(crate) mod scan;
pub(crate) mod scatter;
pub(crate) mod sort;
