//! Losses of yes and no.

use super::{Reduction, reduce};
use crate::error::Result;
use crate::graph::Node;
use crate::ops::compose::{elementary, reduction, together};
use crate::ops::record::Dtypes;
use crate::ops::{self};

/// `-(t ln p + (1 - t) ln(1 - p))` of probabilities `p`; logarithms end at -100, as in PyTorch.
#[track_caller]
pub(crate) fn bce(p: &Node, target: &Node, weight: Option<&Node>, reduction: Reduction) -> Result<Node> {
    let op = "binary_cross_entropy";
    Dtypes::Float.check(op, p)?;
    together::same(op, p, target)?;
    let (wide, target) = (reduction::wide(p)?, reduction::wide(target)?);
    let floor = wide.fill(-100.0);
    let yes = Node::map(&ops::MAXIMUM, &[&wide.ln(), &floor])?;
    let no = Node::map(&ops::MAXIMUM, &[&(-&wide).log1p(), &floor])?;
    let value = -(&(&target * &yes) + &(&(1.0 - &target) * &no));
    // (p - t) / (p (1 - p)), with a floor under the divisor.
    let losses = value.with_shortcut("binary_cross_entropy", &[&wide, &target], |g, x, _| {
        let (p, target) = (&x[0], &x[1]);
        let spread = Node::map(&ops::MAXIMUM, &[&(&(1.0 - p) * p), &p.fill(1e-12)])?;
        let floor = p.fill(-100.0);
        let yes = Node::map(&ops::MAXIMUM, &[&p.ln(), &floor])?;
        let no = Node::map(&ops::MAXIMUM, &[&(-p).log1p(), &floor])?;
        Ok(vec![&(g * &(p - target)) / &spread, g * &(&no - &yes)])
    });
    finish(op, &losses, weight, reduction)?.cast(p.dtype())
}

/// `-(w t ln σ(x) + (1 - t) ln(1 - σ(x)))` of logits `x`, without overflow; `positive` is `w`, the weight of a yes.
#[track_caller]
pub(crate) fn bce_with_logits(
    x: &Node,
    target: &Node,
    weight: Option<&Node>,
    positive: Option<&Node>,
    reduction: Reduction,
) -> Result<Node> {
    let op = "binary_cross_entropy_with_logits";
    Dtypes::Float.check(op, x)?;
    together::same(op, x, target)?;
    let (wide, target) = (reduction::wide(x)?, reduction::wide(target)?);
    // (1 - t) x + (1 + (w - 1) t) · softplus(-x), and softplus(-x) = -ln σ(x).
    let softplus = -&ops::compose::activation::logsigmoid(&wide)?;
    let softplus = match positive {
        None => softplus,
        Some(positive) => {
            together::one_dtype(op, x, positive)?;
            let (extra, target) = together::pair(op, &(&reduction::wide(positive)? - 1.0), &target)?;
            &softplus * &(&(&extra * &target) + 1.0)
        }
    };
    let losses = &(&(1.0 - &target) * &wide) + &softplus;
    finish(op, &losses, weight, reduction)?.cast(x.dtype())
}

/// Each loss times its weight, reduced.
#[track_caller]
fn finish(op: &str, losses: &Node, weight: Option<&Node>, reduction: Reduction) -> Result<Node> {
    let Some(weight) = weight else { return reduce(op, losses, reduction) };
    let (losses, weight) = together::pair(op, losses, &weight.cast(losses.dtype())?)?;
    reduce(op, &(&losses * &weight), reduction)
}

/// `x` where the target is 1, `max(0, margin - x)` where it is -1: are two things alike?
#[track_caller]
pub(crate) fn hinge_embedding(x: &Node, target: &Node, margin: f64, reduction: Reduction) -> Result<Node> {
    let op = "hinge_embedding_loss";
    Dtypes::Float.check(op, x)?;
    together::same(op, x, target)?;
    let (wide, target) = (reduction::wide(x)?, reduction::wide(target)?);
    let short = ops::compose::activation::relu(&(margin - &wide))?;
    let alike = wide.keep_where(&target.ne(&target.fill(-1.0)));
    let other = short.keep_where(&target.ne(&target.fill(1.0)));
    reduce(op, &(&alike + &other), reduction)?.cast(x.dtype())
}

/// `max(0, margin - target · x)` with targets of -1 and 1: the loss of support vector machines.
#[track_caller]
pub(crate) fn hinge(x: &Node, target: &Node, margin: f64, reduction: Reduction) -> Result<Node> {
    let op = "hinge_loss";
    Dtypes::Float.check(op, x)?;
    together::same(op, x, target)?;
    let (wide, target) = (reduction::wide(x)?, reduction::wide(target)?);
    let short = ops::compose::activation::relu(&(margin - &(&wide * &target)))?;
    reduce(op, &short, reduction)?.cast(x.dtype())
}

/// `target · (ln target - x)`, with `x` the logarithms of probabilities; with `log_target` the target is logarithms too.
#[track_caller]
pub(crate) fn kl_div(x: &Node, target: &Node, log_target: bool, reduction: Reduction) -> Result<Node> {
    let op = "kl_div";
    Dtypes::Float.check(op, x)?;
    together::same(op, x, target)?;
    let (wide, target) = (reduction::wide(x)?, reduction::wide(target)?);
    let losses = if log_target {
        &target.exp() * &(&target - &wide)
    } else {
        &elementary::xlogy(&target, &target)? - &(&target * &wide)
    };
    reduce(op, &losses, reduction)?.cast(x.dtype())
}
