//! Products of vectors, matrices and tensors, built on the matrix product.

use super::contraction::matmul;
use super::together::{one_dtype, pair};
use crate::error::{Error, ErrorKind, Result};
use crate::graph::{Node, ReduceKind};
use crate::ops;
use crate::ops::record::Dtypes;
use crate::shape::{Shape, element_count, len_of, normalize_axes};

/// `a[i] · b[j]` for all `i` and `j`.
#[track_caller]
pub(crate) fn outer(a: &Node, b: &Node) -> Result<Node> {
    let op = "outer";
    one_dtype(op, a, b)?;
    Dtypes::Numeric.check(op, a)?;
    if a.rank() != 1 || b.rank() != 1 {
        let message = format!("shapes {:?} and {:?} are not two vectors: flatten them", a.shape(), b.shape());
        return Err(Error::new(ErrorKind::Shape, op, message).operands(a.at(), b.at()));
    }
    element_count(op, &[a.len(), b.len()], a.dtype())?;
    Node::map(&ops::MUL, &[&a.reshaped(&[a.len(), 1]), b])
}

/// The sum of products along the last axis of both, for all the axes before.
#[track_caller]
pub(crate) fn inner(a: &Node, b: &Node) -> Result<Node> {
    if a.rank() == 0 || b.rank() == 0 {
        one_dtype("inner", a, b)?;
        return Node::map(&ops::MUL, &[a, b]);
    }
    tensordot("inner", a, b, &[-1], &[-1])
}

/// The sum of products along one axis of two tensors that broadcast.
#[track_caller]
pub(crate) fn vecdot(a: &Node, b: &Node, axis: isize) -> Result<Node> {
    let op = "vecdot";
    Dtypes::Numeric.check(op, a)?;
    let (left, right) = pair(op, a, b)?;
    super::movement::axis_of(op, &left, axis)?;
    let wide = super::reduction::wide(&left)?;
    let product = &wide * &super::reduction::wide(&right)?;
    product.reduce(op, ReduceKind::Sum, &[axis], false)?.cast(a.dtype())
}

/// `beta · c + alpha · (a @ b)`.
#[track_caller]
pub(crate) fn addmm(c: &Node, a: &Node, b: &Node, beta: f64, alpha: f64) -> Result<Node> {
    let op = "addmm";
    Dtypes::Float.check(op, c)?;
    one_dtype(op, c, a)?;
    if a.rank() != 2 || b.rank() != 2 {
        let message = format!("shapes {:?} and {:?} are not two matrices", a.shape(), b.shape());
        return Err(Error::new(ErrorKind::Shape, op, message).operands(a.at(), b.at()));
    }
    let scaled = |x: &Node, by: f64| if by == 1.0 { x.clone() } else { x * by };
    let product = scaled(&matmul(a, b)?, alpha);
    let added = super::movement::broadcast_as(op, c, product.shape())?;
    // Zero times anything, also NaN, is nothing: `c` is then not looked at, as in BLAS.
    if beta == 0.0 { Ok(product) } else { Ok(&scaled(&added, beta) + &product) }
}

/// The sum of products over pairs of axes: those left of `a`, then those left of `b`.
#[track_caller]
pub(crate) fn tensordot(op: &str, a: &Node, b: &Node, left: &[isize], right: &[isize]) -> Result<Node> {
    one_dtype(op, a, b)?;
    Dtypes::Numeric.check(op, a)?;
    if left.len() != right.len() {
        let message = format!("{} axes on the left, {} on the right: give them in pairs", left.len(), right.len());
        return Err(Error::new(ErrorKind::Value, op, message).operands(a.at(), b.at()));
    }
    let named = |x: &Node, axes: &[isize]| -> Result<Shape> {
        normalize_axes(op, axes, x.shape()).map_err(|error| error.made_at("tensor", x.at()))?;
        axes.iter().map(|&axis| super::movement::axis_of(op, x, axis)).collect()
    };
    let (left, right) = (named(a, left)?, named(b, right)?);
    for (&l, &r) in left.iter().zip(&right) {
        if a.shape()[l] != b.shape()[r] {
            let message = format!(
                "shapes {:?} and {:?} do not multiply: axis {l} on the left is {}, axis {r} on the right is {}",
                a.shape(),
                b.shape(),
                a.shape()[l],
                b.shape()[r]
            );
            return Err(Error::new(ErrorKind::Shape, op, message).operands(a.at(), b.at()));
        }
    }
    let kept = |x: &Node, axes: &[usize]| -> Shape { (0..x.rank()).filter(|axis| !axes.contains(axis)).collect() };
    let (rows, columns) = (kept(a, &left), kept(b, &right));
    let sizes = |x: &Node, axes: &[usize]| -> Shape { axes.iter().map(|&axis| x.shape()[axis]).collect() };
    let (row_sizes, column_sizes) = (sizes(a, &rows), sizes(b, &columns));
    let depth = len_of(&sizes(a, &left));
    let order = |first: &[usize], then: &[usize]| -> Shape { first.iter().chain(then).copied().collect() };
    let matrix = a.permuted(&order(&rows, &left)).reshaped(&[len_of(&row_sizes), depth]);
    let other = b.permuted(&order(&right, &columns)).reshaped(&[depth, len_of(&column_sizes)]);
    let shape: Shape = row_sizes.iter().chain(&column_sizes).copied().collect();
    element_count(op, &shape, a.dtype())?;
    Ok(matmul(&matrix, &other)?.reshaped(&shape))
}

/// Kronecker's product: each element of `a` times the whole of `b`.
#[track_caller]
pub(crate) fn kron(a: &Node, b: &Node) -> Result<Node> {
    let op = "kron";
    one_dtype(op, a, b)?;
    Dtypes::Numeric.check(op, a)?;
    let rank = a.rank().max(b.rank());
    let size = |x: &Node, k: usize| if k + x.rank() < rank { 1 } else { x.shape()[k + x.rank() - rank] };
    let shape: Shape = (0..rank).map(|k| size(a, k).saturating_mul(size(b, k))).collect();
    element_count(op, &shape, a.dtype())?;
    let apart: Shape = (0..rank).flat_map(|k| [size(a, k), 1]).collect();
    let other: Shape = (0..rank).flat_map(|k| [1, size(b, k)]).collect();
    Ok(Node::map(&ops::MUL, &[&a.reshaped(&apart), &b.reshaped(&other)])?.reshaped(&shape))
}
