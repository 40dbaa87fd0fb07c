//! Losses: how far off a model is, and what becomes of the losses of single samples.

pub(crate) mod binary;
pub(crate) mod classes;
pub(crate) mod regression;
pub(crate) mod similarity;

use super::reduction;
use crate::error::Result;
use crate::graph::{Node, ReduceKind};

/// What becomes of the losses of single samples.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Reduction {
    /// Their mean.
    #[default]
    Mean,
    /// Their sum.
    Sum,
    /// They stay as they are.
    None,
    /// Their sum over the number of samples, which are along axis 0: what a Kullback-Leibler divergence is.
    BatchMean,
}

/// Applies a [`Reduction`] where every sample counts the same.
#[track_caller]
pub(crate) fn reduce(op: &str, losses: &Node, reduction: Reduction) -> Result<Node> {
    match reduction {
        Reduction::Mean => reduction::mean(op, losses, None, false),
        Reduction::Sum => losses.reduce_all(op, ReduceKind::Sum),
        Reduction::None => Ok(losses.clone()),
        Reduction::BatchMean => {
            let samples = losses.shape().first().copied().unwrap_or(1);
            Ok(&losses.reduce_all(op, ReduceKind::Sum)? / samples as f64)
        }
    }
}
