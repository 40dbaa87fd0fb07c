//! Ops built from the primitives: a few lines each, differentiable because their parts are.

pub(crate) mod activation;
pub(crate) mod attention;
pub(crate) mod batch_norm;
pub(crate) mod classify;
pub(crate) mod contraction;
pub(crate) mod convolution;
pub(crate) mod create;
pub(crate) mod diagonal;
pub(crate) mod einsum;
pub(crate) mod elementary;
pub(crate) mod indexing;
pub(crate) mod interpolate;
pub(crate) mod join;
pub(crate) mod length;
pub(crate) mod loss;
pub(crate) mod movement;
pub(crate) mod norm;
pub(crate) mod pad;
pub(crate) mod pool;
pub(crate) mod positions;
pub(crate) mod product;
pub(crate) mod reduction;
pub(crate) mod scalar;
pub(crate) mod tile;
pub(crate) mod together;
pub(crate) mod transposed;
