//! Normalisations over samples, groups of channels and single images: batch, group and instance norm.

use super::together::one_dtype;
use super::{norm, reduction};
use crate::error::{Error, ErrorKind, Result};
use crate::graph::{Node, ReduceKind};
use crate::ops::record::Dtypes;
use crate::shape::Shape;
use smallvec::SmallVec;

/// `x` is `[samples, channels, ..]`, and a parameter has one number for each channel.
fn check(op: &str, x: &Node, parameters: &[(&str, Option<&Node>)]) -> Result<()> {
    Dtypes::Float.check(op, x)?;
    if x.rank() < 2 {
        let message = format!("shape {:?} has no channels: give [samples, channels, ..]", x.shape());
        return Err(Error::new(ErrorKind::Shape, op, message).made_at("tensor", x.at()));
    }
    let channels = x.shape()[1];
    for &(what, parameter) in parameters {
        let Some(parameter) = parameter else { continue };
        one_dtype(op, x, parameter)?;
        if parameter.shape() != [channels] {
            let message =
                format!("{what} has shape {:?}, not one number for each of {channels} channels", parameter.shape());
            return Err(Error::new(ErrorKind::Shape, op, message).made_at(what, parameter.at()));
        }
    }
    Ok(())
}

/// One number a channel, beside `[samples, channels, ..]`.
#[track_caller]
fn along(parameter: &Node, rank: usize) -> Node {
    let mut shape = Shape::from_elem(1, rank);
    shape[1] = parameter.shape()[0];
    parameter.reshaped(&shape)
}

/// `x · weight + bias`, one of each a channel.
#[track_caller]
fn scale_and_shift(x: Node, weight: Option<&Node>, bias: Option<&Node>) -> Result<Node> {
    let rank = x.rank();
    let scaled = match weight {
        Some(weight) => Node::map(&crate::ops::MUL, &[&x, &along(weight, rank)])?,
        None => x,
    };
    match bias {
        Some(bias) => Node::map(&crate::ops::ADD, &[&scaled, &along(bias, rank)]),
        None => Ok(scaled),
    }
}

/// A batch normalised by its own statistics, with those.
pub(crate) struct Normed {
    pub(crate) output: Node,
    /// The mean of each channel.
    pub(crate) mean: Node,
    /// The variance of each channel, with `n - 1`: what running statistics are made of.
    pub(crate) var: Node,
}

/// `(x - mean) / √(var + eps) · weight + bias` with the mean and variance of each channel over samples and places.
#[track_caller]
pub(crate) fn train(x: &Node, weight: Option<&Node>, bias: Option<&Node>, eps: f64) -> Result<Normed> {
    let op = "batch_norm_train";
    check(op, x, &[("weight", weight), ("bias", bias)])?;
    let count = x.len().checked_div(x.shape()[1]).unwrap_or(0) as f64;
    if count == 1.0 {
        let message = format!("shape {:?} has one number a channel: a variance needs two", x.shape());
        return Err(Error::new(ErrorKind::Value, op, message).made_at("tensor", x.at()));
    }
    let wide = reduction::wide(x)?;
    let channels = Channels::of(x);
    let beside = |parameter: &Node| along(parameter, x.rank());
    let mean = &channels.sum(op, &wide)? / count;
    // Made twice, so that it is computed where it is used and never stored.
    let centred = || &wide - &beside(&mean);
    let apart = centred();
    let squares = channels.sum(op, &(&apart * &apart))?;
    let scale = 1.0 / &(&(&squares / count) + eps).sqrt();
    let output = scale_and_shift((&centred() * &beside(&scale)).cast(x.dtype())?, weight, bias)?;
    let inputs: SmallVec<[&Node; 3]> = [Some(x), weight, bias].into_iter().flatten().collect();
    let slopes = Slopes { weight: weight.is_some(), bias: bias.is_some(), channels, count };
    Ok(Normed {
        output: output.with_shortcut_beside(op, &inputs, &[&mean, &scale], move |g, x, _| slopes.of(g, x)),
        mean: mean.cast(x.dtype())?,
        var: (&squares / (count - 1.0)).cast(x.dtype())?,
    })
}

/// Fewer places than this are not added up image by image.
const FEWEST_PLACES: usize = 32;

/// How sums over samples and places are taken: one number for each channel.
#[derive(Clone)]
struct Channels {
    /// All axes but the channels'.
    axes: SmallVec<[isize; 6]>,
    /// The axes with the channels' first. Then each image is added up by itself first, being a run of memory, and a channel's numbers can stay
    /// in the cache from its sums to what is made of them.
    by_channel: Option<Shape>,
}

impl Channels {
    fn of(x: &Node) -> Channels {
        let places: usize = x.shape()[2..].iter().product();
        let by_channel = (places >= FEWEST_PLACES).then(|| [1, 0].into_iter().chain(2..x.rank()).collect());
        Channels { axes: (0..x.rank() as isize).filter(|&axis| axis != 1).collect(), by_channel }
    }

    #[track_caller]
    fn sum(&self, op: &str, x: &Node) -> Result<Node> {
        let sum = |x: &Node, axes: &[isize]| x.reduce(op, ReduceKind::Sum, axes, false);
        match &self.by_channel {
            Some(order) => sum(&sum(&x.permuted(order), &self.axes[1..])?, &[1]),
            None => sum(x, &self.axes),
        }
    }
}

/// The derivative of [`train`], whole: the sums that the weight and the bias get are those that the batch needs too.
#[derive(Clone)]
struct Slopes {
    weight: bool,
    bias: bool,
    channels: Channels,
    count: f64,
}

impl Slopes {
    /// From the gradient, the inputs, the mean and the scale to the gradients of the inputs.
    #[track_caller]
    fn of(&self, g: &Node, known: &[Node]) -> Result<Vec<Node>> {
        let op = "batch_norm_train";
        let (x, mean, scale) = (&known[0], &known[known.len() - 2], &known[known.len() - 1]);
        let (wide, g) = (reduction::wide(x)?, reduction::wide(g)?);
        let beside = |parameter: &Node| along(parameter, x.rank());
        // Made anew for each use, so that it is never stored.
        let normal = || &(&wide - &beside(mean)) * &beside(scale);
        let (level, along_normal) = (self.channels.sum(op, &g)?, self.channels.sum(op, &(&g * &normal()))?);
        let scale = match self.weight {
            true => scale * &reduction::wide(&known[1])?,
            false => scale.clone(),
        };
        // Through the mean and the variance nothing new flows: g - mean(g) - y mean(g y), scaled.
        let share = |sum: &Node| beside(&(sum / self.count));
        let apart = &(&g - &share(&level)) - &(&normal() * &share(&along_normal));
        let mut slopes = vec![(&apart * &beside(&scale)).cast(x.dtype())?];
        if self.weight {
            slopes.push(along_normal.cast(x.dtype())?);
        }
        if self.bias {
            slopes.push(level.cast(x.dtype())?);
        }
        Ok(slopes)
    }
}

/// `(x - mean) / √(var + eps) · weight + bias` with statistics that are given, one number a channel.
#[track_caller]
pub(crate) fn given(
    x: &Node,
    mean: &Node,
    var: &Node,
    weight: Option<&Node>,
    bias: Option<&Node>,
    eps: f64,
) -> Result<Node> {
    let op = "batch_norm";
    check(op, x, &[("mean", Some(mean)), ("var", Some(var)), ("weight", weight), ("bias", bias)])?;
    let rank = x.rank();
    let scale = &(&reduction::wide(var)? + eps).sqrt();
    let centred = &reduction::wide(x)? - &along(&reduction::wide(mean)?, rank);
    let normal = (&centred / &along(scale, rank)).cast(x.dtype())?;
    scale_and_shift(normal, weight, bias)
}

/// Each group of channels of each sample normalised by itself.
#[track_caller]
pub(crate) fn group_norm(
    x: &Node,
    groups: usize,
    weight: Option<&Node>,
    bias: Option<&Node>,
    eps: f64,
) -> Result<Node> {
    let op = "group_norm";
    check(op, x, &[("weight", weight), ("bias", bias)])?;
    let channels = x.shape()[1];
    if groups == 0 || !channels.is_multiple_of(groups) {
        let message = format!("{groups} groups do not divide {channels} channels of shape {:?}", x.shape());
        return Err(Error::new(ErrorKind::Value, op, message).made_at("tensor", x.at()));
    }
    by_group(x, groups, weight, bias, eps)
}

/// Each channel of each sample normalised by itself.
#[track_caller]
pub(crate) fn instance_norm(x: &Node, weight: Option<&Node>, bias: Option<&Node>, eps: f64) -> Result<Node> {
    let op = "instance_norm";
    check(op, x, &[("weight", weight), ("bias", bias)])?;
    if x.rank() < 3 {
        let message = format!("shape {:?} has no places: give [samples, channels, ..]", x.shape());
        return Err(Error::new(ErrorKind::Shape, op, message).made_at("tensor", x.at()));
    }
    by_group(x, x.shape()[1].max(1), weight, bias, eps)
}

/// `[samples · groups, rest]`, normalised along the rest.
#[track_caller]
fn by_group(x: &Node, groups: usize, weight: Option<&Node>, bias: Option<&Node>, eps: f64) -> Result<Node> {
    if x.len() == 0 {
        return scale_and_shift(x.clone(), weight, bias);
    }
    let rows = x.shape()[0] * groups;
    let rest = x.len() / rows;
    let normal = norm::layer_norm(&x.reshaped(&[rows, rest]), &[rest], None, None, eps)?;
    scale_and_shift(normal.reshaped(x.shape()), weight, bias)
}
