//! Scaled dot-product attention. The scores of all pairs are never whole in memory, neither forward nor backward.

use super::contraction::matmul;
use super::norm::softmax;
use super::reduction;
use super::together::one_dtype;
use crate::dtype::{DType, Literal};
use crate::error::{Error, ErrorKind, Result};
use crate::graph::{Node, ReduceKind};
use crate::ops;
use crate::ops::record::Dtypes;
use crate::shape::{Expr, Shape, broadcast_shapes};
use smallvec::SmallVec;

/// Settings of [`scaled_dot_product`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct Attention {
    /// Query `i` sees keys up to `i`.
    pub(crate) causal: bool,
    /// What products are multiplied by; `1 / √width` unless told.
    pub(crate) scale: Option<f64>,
}

/// `softmax(q kᵀ · scale + mask) v` over the last two axes: queries `[.., l, e]`, keys `[.., s, e]`, values `[.., s, w]`.
///
/// A bool mask says which keys are seen, a float one is added; it stretches to `[.., l, s]`. A query that sees no key
/// gives NaN, as in PyTorch.
#[track_caller]
pub(crate) fn scaled_dot_product(
    q: &Node,
    k: &Node,
    v: &Node,
    mask: Option<&Node>,
    settings: Attention,
) -> Result<Node> {
    let op = "scaled_dot_product_attention";
    Dtypes::Float.check(op, q)?;
    one_dtype(op, q, k)?;
    one_dtype(op, q, v)?;
    let shapes = || format!("queries {:?}, keys {:?} and values {:?}", q.shape(), k.shape(), v.shape());
    let fail = |message: String| Err(Error::new(ErrorKind::Shape, op, message).operands(q.at(), k.at()));
    if q.rank() < 2 || k.rank() < 2 || v.rank() < 2 {
        return fail(format!("{} need two axes each: [.., length, width]", shapes()));
    }
    let width = q.shape()[q.rank() - 1];
    if k.shape()[k.rank() - 1] != width {
        return fail(format!("{}: queries and keys must have one width", shapes()));
    }
    if k.shape()[k.rank() - 2] != v.shape()[v.rank() - 2] {
        return fail(format!("{}: there must be as many keys as values", shapes()));
    }
    let scale = settings.scale.unwrap_or(1.0 / (width.max(1) as f64).sqrt());
    let [wide_q, wide_k, wide_v] = over_one_batch(op, [q, k, v])?;
    let scores = Scores { op, scale, causal: settings.causal };
    let sums = scores.of(&wide_q, &wide_k, mask, false)?;
    if sums.len() == 0 {
        return matmul(&softmax(&sums, -1)?, &wide_v)?.cast(q.dtype());
    }
    let shift = reduction::largest(op, &sums, &[-1])?;
    let weights = (&sums - &shift).exp_below();
    let total = weights.reduce(op, ReduceKind::Sum, &[-1], true)?;
    let value = &matmul(&weights, &wide_v)? / &total;
    let logs = &total.ln() + &shift;
    let mask = mask.map(|mask| stretched_mask(mask, &sums)).transpose()?;
    let (added, chosen) = match mask {
        Some(mask) if mask.dtype() == DType::Bool => (None, Some(mask)),
        mask => (mask, None),
    };
    let inputs: SmallVec<[&Node; 4]> = [&wide_q, &wide_k, &wide_v].into_iter().chain(&added).collect();
    let beside: SmallVec<[&Node; 2]> = chosen.iter().chain([&logs]).collect();
    let value = value.with_shortcut_beside(op, &inputs, &beside, move |g, known, y| {
        let [q, k, v, mask @ .., logs] = known else { unreachable!("three inputs, and what stands beside them") };
        gradients(&scores, [q, k, v], (logs, mask.first()), g, y)
    });
    value.cast(q.dtype())
}

/// A mask stretched to the scores, in their dtype unless it is bool.
fn stretched_mask(mask: &Node, scores: &Node) -> Result<Node> {
    let mask = if mask.dtype() == DType::Bool { mask.clone() } else { mask.cast(scores.dtype())? };
    mask.broadcast_to(scores.shape())
}

/// The gradients of queries, keys and values. The weights are computed anew from the logarithms of their sums: once query by query, and
/// once key by key, so that a few rows of them at a time are enough.
fn gradients(
    scores: &Scores,
    [q, k, v]: [&Node; 3],
    (logs, mask): (&Node, Option<&Node>),
    g: &Node,
    y: &Node,
) -> Result<Vec<Node>> {
    let along = (g * y).reduce(scores.op, ReduceKind::Sum, &[-1], true)?;
    let weights = (&scores.of(q, k, mask, false)? - logs).exp_below();
    let slopes = &(&matmul(g, &turned(v))? - &along) * &weights;
    let dq = &matmul(&slopes, k)? * scores.scale;
    // What was added to the scores has their slopes, which are as many as they.
    let of_mask = mask.filter(|mask| mask.dtype() != DType::Bool).map(|_| slopes);
    let weights = (&scores.of(k, q, mask, true)? - &turned(logs)).exp_below();
    let slopes = &(&matmul(v, &turned(g))? - &turned(&along)) * &weights;
    let dk = &matmul(&slopes, q)? * scores.scale;
    Ok([dq, dk, matmul(&weights, g)?].into_iter().chain(of_mask).collect())
}

/// Queries, keys and values in the dtype that sums are kept in, stretched over the batch that they have together.
#[track_caller]
fn over_one_batch(op: &str, operands: [&Node; 3]) -> Result<[Node; 3]> {
    let mut batch = Shape::new();
    for x in operands {
        batch = broadcast_shapes(op, &batch, &x.shape()[..x.rank() - 2])
            .map_err(|error| error.made_at("tensor", x.at()))?;
    }
    let stretched = |x: &Node| {
        let shape: Shape = batch.iter().chain(&x.shape()[x.rank() - 2..]).copied().collect();
        reduction::wide(x)?.broadcast_to(&shape)
    };
    let [q, k, v] = operands;
    Ok([stretched(q)?, stretched(k)?, stretched(v)?])
}

/// How scores come about.
#[derive(Clone, Copy)]
struct Scores {
    op: &'static str,
    scale: f64,
    causal: bool,
}

impl Scores {
    /// The scores of queries `a` with keys `b`; or, `by_key`, of keys `a` with queries `b`, the mask being as large as they.
    #[track_caller]
    fn of(&self, a: &Node, b: &Node, mask: Option<&Node>, by_key: bool) -> Result<Node> {
        // There are fewer numbers in a row of queries than scores. Scaled keys would draw the scores of the gradient into the kernel of
        // the value, and from there into memory, where keys and queries are parts of one tensor.
        let mut scores = match by_key {
            true => &matmul(a, &turned(b))? * self.scale,
            false => matmul(&(a * self.scale), &turned(b))?,
        };
        if self.causal {
            let (row, column) = (Expr::idx(scores.rank() - 2), Expr::idx(scores.rank() - 1));
            let seen = if by_key { row.le(column) } else { column.le(row) };
            scores = scores.masked(seen, Literal::lowest(scores.dtype()))?;
        }
        match mask {
            Some(mask) if by_key => masked(self.op, &scores, &turned(mask)),
            Some(mask) => masked(self.op, &scores, mask),
            None => Ok(scores),
        }
    }
}

/// The last two axes in turn.
fn turned(x: &Node) -> Node {
    x.swapped(x.rank() - 2, x.rank() - 1)
}

/// Scores that a mask hides, or changes.
#[track_caller]
fn masked(op: &str, scores: &Node, mask: &Node) -> Result<Node> {
    let fits = broadcast_shapes(op, scores.shape(), mask.shape()).is_ok_and(|together| together[..] == *scores.shape());
    if !fits {
        let message = format!("mask {:?} does not stretch to the scores {:?}", mask.shape(), scores.shape());
        return Err(Error::new(ErrorKind::Shape, op, message).made_at("mask", mask.at()));
    }
    match mask.dtype() {
        DType::Bool => Node::map(&ops::SELECT, &[mask, scores, &scores.fill(f64::NEG_INFINITY)]),
        dtype if dtype.is_float() => Node::map(&ops::ADD, &[scores, &mask.cast(scores.dtype())?]),
        dtype => {
            let message = format!("a mask is bool (true is seen) or float (added), this one is {dtype}: cast it");
            Err(Error::new(ErrorKind::DType, op, message).made_at("mask", mask.at()))
        }
    }
}
