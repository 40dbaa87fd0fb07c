//! Losses.

use super::norm::log_softmax;
use super::reduction;
use crate::dtype::{DType, Literal};
use crate::error::{Error, ErrorKind, Result};
use crate::graph::{Node, ReduceKind};
use crate::ops::record::Dtypes;
use crate::shape::Shape;

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
}

/// Applies a [`Reduction`] where every sample counts the same.
#[track_caller]
pub(crate) fn reduce(op: &str, losses: &Node, reduction: Reduction) -> Result<Node> {
    match reduction {
        Reduction::Mean => reduction::mean(op, losses, None, false),
        Reduction::Sum => losses.reduce_all(op, ReduceKind::Sum),
        Reduction::None => Ok(losses.clone()),
    }
}

/// Settings of [`cross_entropy`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct CrossEntropy {
    pub(crate) reduction: Reduction,
    /// The weight that is spread evenly over all classes.
    pub(crate) label_smoothing: f64,
    /// Samples with this label count for nothing.
    pub(crate) ignore_index: i64,
}

/// `-log softmax(logits)[target]`, classes along axis 1 (along axis 0 for rank-1 logits).
///
/// `target` holds class numbers and has the logits' shape without the class axis.
#[track_caller]
pub(crate) fn cross_entropy(logits: &Node, target: &Node, settings: CrossEntropy) -> Result<Node> {
    let op = "cross_entropy";
    if logits.rank() == 0 {
        let message = "logits of rank 0 have no classes: give [classes] or [samples, classes, ..]";
        return Err(Error::new(ErrorKind::Shape, op, message).made_at("logits", logits.at()));
    }
    if !target.dtype().is_integer() {
        let message = format!("class numbers are integers, the target is {}: cast it", target.dtype());
        return Err(Error::new(ErrorKind::DType, op, message).made_at("target", target.at()));
    }
    Dtypes::Float.check(op, logits)?;
    if !(0.0..=1.0).contains(&settings.label_smoothing) {
        let message = format!("label_smoothing is {}: use 0 to 1", settings.label_smoothing);
        return Err(Error::new(ErrorKind::Value, op, message).made_at("logits", logits.at()));
    }
    let axis = usize::from(logits.rank() > 1);
    let classes = logits.shape()[axis];
    let mut samples = Shape::from_slice(logits.shape());
    samples.remove(axis);
    if target.shape() != &samples[..] {
        let message = format!(
            "logits of shape {:?} need a target of shape {samples:?}, not {:?}",
            logits.shape(),
            target.shape()
        );
        return Err(Error::new(ErrorKind::Shape, op, message).operands(logits.at(), target.at()));
    }
    let log_probability = log_softmax(&reduction::wide(logits)?, axis as isize)?;
    let target = target.cast(DType::I64)?;
    let counted = target.ne(&Node::full(&samples, Literal::I64(settings.ignore_index))?);
    // An ignored label may be no class at all: look up class 0 in its place.
    let label = target.keep_where(&counted);
    let mut along = samples.clone();
    along.insert(axis, 1);
    let picked = log_probability.gather(op, &label.reshaped(&along), axis)?.reshaped(&samples);
    let mut losses = -&picked;
    if settings.label_smoothing != 0.0 {
        let even = log_probability.reduce(op, ReduceKind::Sum, &[axis as isize], false)?;
        let share = settings.label_smoothing / classes as f64;
        losses = &(&losses * (1.0 - settings.label_smoothing)) - &(&even * share);
    }
    let losses = losses.keep_where(&counted);
    let reduced = match settings.reduction {
        Reduction::None | Reduction::Sum => reduce(op, &losses, settings.reduction)?,
        Reduction::Mean => {
            let count = counted.cast(losses.dtype())?.reduce_all(op, ReduceKind::Sum)?;
            &losses.reduce_all(op, ReduceKind::Sum)? / &count
        }
    };
    reduced.cast(logits.dtype())
}
