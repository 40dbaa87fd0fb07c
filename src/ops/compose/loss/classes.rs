//! Losses of one class among several: cross entropy and negative log-likelihood.

use super::{Reduction, reduce};
use crate::dtype::{DType, Literal};
use crate::error::{Error, ErrorKind, Result};
use crate::graph::{Lookup, Node, ReduceKind};
use crate::ops::compose::{reduction, together};
use crate::ops::record::Dtypes;
use crate::shape::Shape;

/// Settings of [`cross_entropy`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct CrossEntropy {
    pub(crate) reduction: Reduction,
    /// The weight that is spread evenly over all classes.
    pub(crate) label_smoothing: f64,
    /// Samples with this label count for nothing.
    pub(crate) ignore_index: i64,
}

/// The samples' labels, and where their classes are.
struct Labels {
    /// Class numbers as `i64`, 0 where a sample is ignored; in the shape of the samples.
    label: Node,
    /// Whether a sample counts.
    counted: Node,
    /// The axis of the classes.
    axis: usize,
    samples: Shape,
}

/// Checks scores (`[classes]` or `[samples, classes, ..]`) and their labels.
#[track_caller]
fn labels(op: &str, scores: &Node, target: &Node, ignore_index: i64) -> Result<Labels> {
    if scores.rank() == 0 {
        let message = "logits of rank 0 have no classes: give [classes] or [samples, classes, ..]";
        return Err(Error::new(ErrorKind::Shape, op, message).made_at("logits", scores.at()));
    }
    if !target.dtype().is_integer() {
        let message = format!("class numbers are integers, the target is {}: cast it", target.dtype());
        return Err(Error::new(ErrorKind::DType, op, message).made_at("target", target.at()));
    }
    Dtypes::Float.check(op, scores)?;
    let axis = usize::from(scores.rank() > 1);
    let mut samples = Shape::from_slice(scores.shape());
    samples.remove(axis);
    if target.shape() != &samples[..] {
        let message = format!(
            "logits of shape {:?} need a target of shape {samples:?}, not {:?}",
            scores.shape(),
            target.shape()
        );
        return Err(Error::new(ErrorKind::Shape, op, message).operands(scores.at(), target.at()));
    }
    let target = target.cast(DType::I64)?;
    let counted = target.ne(&Node::full(&samples, Literal::I64(ignore_index))?);
    // An ignored label may be no class at all: look up class 0 in its place.
    Ok(Labels { label: target.keep_where(&counted), counted, axis, samples })
}

impl Labels {
    /// The shape of the samples with an axis of 1 for the classes.
    fn column(&self) -> Shape {
        let mut shape = self.samples.clone();
        shape.insert(self.axis, 1);
        shape
    }

    /// A tensor over the samples as a column beside the scores.
    #[track_caller]
    fn beside(&self, node: &Node) -> Node {
        node.reshaped(&self.column())
    }

    /// What the scores are for each sample's class.
    #[track_caller]
    fn picked(&self, op: &'static str, scores: &Node) -> Result<Node> {
        let lookup = Lookup { name: op, from_end: false };
        Ok(scores.gather_by(lookup, &self.beside(&self.label), self.axis)?.reshaped(&self.samples))
    }

    /// The labels, of which one that is none of so many classes is an error: each is looked up among as many zeros, and what is found
    /// there added to it.
    #[track_caller]
    fn checked(&self, op: &'static str, classes: usize) -> Result<Node> {
        let lookup = Lookup { name: op, from_end: false };
        let flat = self.label.reshaped(&[self.label.len()]);
        let zero = Node::full(&[classes], Literal::I64(0))?.gather_by(lookup, &flat, 0)?;
        Ok(&self.label + &zero.reshaped(&self.samples))
    }

    /// One number for each class, along the classes' axis of `rank` axes.
    #[track_caller]
    fn along(&self, weight: &Node, rank: usize) -> Node {
        let mut shape = Shape::from_elem(1, rank);
        shape[self.axis] = weight.shape()[0];
        weight.reshaped(&shape)
    }

    /// Each sample's class weight; 1 without weights.
    #[track_caller]
    fn weights(&self, op: &'static str, scores: &Node, weight: Option<&Node>) -> Result<Option<Node>> {
        let Some(weight) = weight else { return Ok(None) };
        together::one_dtype(op, scores, weight)?;
        let classes = scores.shape()[self.axis];
        if weight.shape() != [classes] {
            let message =
                format!("weight has shape {:?}, not one number for each of {classes} classes", weight.shape());
            return Err(Error::new(ErrorKind::Shape, op, message).operands(scores.at(), weight.at()));
        }
        let wide = reduction::wide(weight)?;
        let all = self.along(&wide, scores.rank()).broadcast_to(scores.shape())?;
        Ok(Some(self.picked(op, &all)?))
    }

    /// Losses of single samples, reduced; the mean is over the weights that count.
    #[track_caller]
    fn reduce(&self, op: &str, losses: &Node, weights: Option<&Node>, how: Reduction) -> Result<Node> {
        match how {
            Reduction::None | Reduction::Sum | Reduction::BatchMean => reduce(op, losses, how),
            Reduction::Mean => {
                let counted = match weights {
                    Some(weights) => weights.keep_where(&self.counted),
                    None => self.counted.cast(losses.dtype())?,
                };
                let count = counted.reduce_all(op, ReduceKind::Sum)?;
                Ok(&losses.reduce_all(op, ReduceKind::Sum)? / &count)
            }
        }
    }
}

/// `-x[target]` of the logarithms of probabilities `x`, classes along axis 1 (along axis 0 for rank 1).
#[track_caller]
pub(crate) fn nll(
    x: &Node,
    target: &Node,
    weight: Option<&Node>,
    ignore_index: i64,
    reduction: Reduction,
) -> Result<Node> {
    let op = "nll_loss";
    let labels = labels(op, x, target, ignore_index)?;
    let mut losses = -&labels.picked(op, &reduction::wide(x)?)?;
    let weights = labels.weights(op, x, weight)?;
    if let Some(weights) = &weights {
        losses = &losses * weights;
    }
    let losses = losses.keep_where(&labels.counted);
    labels.reduce(op, &losses, weights.as_ref(), reduction)?.cast(x.dtype())
}

/// `-log softmax(logits)[target]`, classes along axis 1 (along axis 0 for rank-1 logits).
///
/// `target` holds class numbers and has the logits' shape without the class axis; `weight` has a number for each class.
#[track_caller]
pub(crate) fn cross_entropy(
    logits: &Node,
    target: &Node,
    weight: Option<&Node>,
    settings: CrossEntropy,
) -> Result<Node> {
    let op = "cross_entropy";
    let labels = labels(op, logits, target, settings.ignore_index)?;
    if !(0.0..=1.0).contains(&settings.label_smoothing) {
        let message = format!("label_smoothing is {}: use 0 to 1", settings.label_smoothing);
        return Err(Error::new(ErrorKind::Value, op, message).made_at("logits", logits.at()));
    }
    let weights = labels.weights(op, logits, weight)?;
    let wide = reduction::wide(logits)?;
    let weight = weight.map(reduction::wide).transpose()?;
    let losses = losses(&wide, &labels, weights.as_ref(), weight.as_ref(), settings.label_smoothing)?;
    labels.reduce(op, &losses, weights.as_ref(), settings.reduction)?.cast(logits.dtype())
}

/// The losses of single samples.
#[track_caller]
fn losses(
    logits: &Node,
    labels: &Labels,
    weights: Option<&Node>,
    weight: Option<&Node>,
    smoothing: f64,
) -> Result<Node> {
    let (op, axis) = ("cross_entropy", labels.axis);
    if logits.len() == 0 {
        return Ok(labels.picked(op, logits)?.keep_where(&labels.counted));
    }
    let share = smoothing / logits.shape()[axis] as f64;
    let along = [axis as isize];
    let shift = reduction::largest(op, logits, &along)?;
    // Made anew for each use, so that no row of it is ever stored.
    let shifted = || logits - &shift;
    let log_sum = shifted().exp_below().reduce(op, ReduceKind::Sum, &along, true)?.ln();
    let log_probability = || &shifted() - &log_sum;
    let mut losses = -&labels.picked(op, &log_probability())?;
    if let Some(weights) = weights {
        losses = &losses * weights;
    }
    if smoothing != 0.0 {
        let weighed = match weight {
            Some(weight) => &log_probability() * &labels.along(weight, logits.rank()),
            None => log_probability(),
        };
        let even = weighed.reduce(op, ReduceKind::Sum, &along, false)?;
        losses = &(&losses * (1.0 - smoothing)) - &(&even * share);
    }
    let losses = losses.keep_where(&labels.counted);
    if weights.is_some() {
        return Ok(losses);
    }
    // softmax(x) less the wanted distribution: one pass over the logits, and nothing is scattered.
    let label = labels.checked(op, logits.shape()[axis])?;
    let beside = [&label, &labels.counted, &shift, &log_sum];
    Ok(losses.with_shortcut_beside(op, &[logits], &beside, move |g, x, _| {
        let [logits, label, counted, shift, log_sum] = x else { unreachable!("one input and four beside it") };
        let mut along = Shape::from_elem(1, logits.rank());
        along[axis] = logits.shape()[axis];
        let classes = Node::positions(logits.shape()[axis])?.reshaped(&along).broadcast_to(logits.shape())?;
        let column = |node: &Node| node.reshaped(shift.shape());
        let hit = classes.eq(&column(label)).cast(logits.dtype())?;
        let apart = &(&(logits - shift) - log_sum).exp_below() - &(&hit * (1.0 - smoothing));
        let apart = if smoothing != 0.0 { &apart - share } else { apart };
        Ok(vec![&apart * &column(&g.keep_where(counted))])
    }))
}
