//! Diagonals: taken out of a matrix, put into one, and added up.

use super::movement::axis_of;
use crate::dtype::Literal;
use crate::error::{Error, ErrorKind, Result};
use crate::graph::{Node, ReduceKind, SliceRange};
use crate::shape::{Expr, Shape, element_count};

/// Diagonal `k` of two axes, as a new last axis.
#[track_caller]
pub(crate) fn diagonal(x: &Node, k: isize, first: isize, second: isize) -> Result<Node> {
    let op = "diagonal";
    let (first, second) = (axis_of(op, x, first)?, axis_of(op, x, second)?);
    if first == second {
        let message = format!("axis {first} is given twice: a diagonal runs over two axes");
        return Err(Error::new(ErrorKind::Axis, op, message).made_at("tensor", x.at()));
    }
    // The two axes last, the part of the matrix that the diagonal starts in, and every (columns + 1)-th element of it.
    let order: Shape = (0..x.rank()).filter(|&axis| axis != first && axis != second).chain([first, second]).collect();
    let turned = x.permuted(&order);
    let rank = x.rank();
    let (rows, columns) = (turned.shape()[rank - 2], turned.shape()[rank - 1]);
    let (down, right) = if k < 0 { (k.unsigned_abs(), 0) } else { (0, k as usize) };
    let len = rows.saturating_sub(down).min(columns.saturating_sub(right));
    let mut ranges = crate::graph::build::whole_ranges(turned.shape());
    ranges[rank - 2] = SliceRange { start: down.min(rows), step: 1, len };
    ranges[rank - 1] = SliceRange { start: right.min(columns), step: 1, len };
    let square = turned.sliced(&ranges);
    let mut flat = Shape::from_slice(&turned.shape()[..rank - 2]);
    flat.push(len * len);
    let row = square.reshaped(&flat);
    let mut ranges = crate::graph::build::whole_ranges(row.shape());
    ranges[rank - 2] = SliceRange { start: 0, step: len as isize + 1, len };
    Ok(row.sliced(&ranges))
}

/// A vector on diagonal `k` of a matrix of zeros, or diagonal `k` of a matrix as a vector.
#[track_caller]
pub(crate) fn diag(x: &Node, k: isize) -> Result<Node> {
    match x.rank() {
        1 => embed(x, k),
        2 => diagonal(x, k, 0, 1),
        _ => {
            let message = format!("shape {:?} is neither a vector nor a matrix: use diagonal or diag_embed", x.shape());
            Err(Error::new(ErrorKind::Shape, "diag", message).made_at("tensor", x.at()))
        }
    }
}

/// The last axis on diagonal `k` of new matrices of zeros.
#[track_caller]
pub(crate) fn diag_embed(x: &Node, k: isize) -> Result<Node> {
    if x.rank() == 0 {
        let message = "a scalar has no axis to lay on a diagonal: unsqueeze it first";
        return Err(Error::new(ErrorKind::Shape, "diag_embed", message).made_at("tensor", x.at()));
    }
    embed(x, k)
}

#[track_caller]
fn embed(x: &Node, k: isize) -> Result<Node> {
    let op = "diag";
    let len = x.shape()[x.rank() - 1];
    let size = len.saturating_add(k.unsigned_abs());
    let mut shape = Shape::from_slice(x.shape());
    shape[x.rank() - 1] = size;
    shape.push(size);
    element_count(op, &shape, x.dtype()).map_err(|error| error.made_at("tensor", x.at()))?;
    // Row i holds element i (or i + k) wherever the column is that of the diagonal.
    let mut padding: Vec<(usize, usize)> = vec![(0, 0); x.rank()];
    let last = x.rank() - 1;
    padding[last] = if k < 0 { (k.unsigned_abs(), 0) } else { (0, k.unsigned_abs()) };
    let column = x.padded(&padding, Literal::zero(x.dtype()))?;
    let mut along = Shape::from_slice(column.shape());
    along.push(1);
    let spread = column.reshaped(&along).broadcast_to(&shape)?;
    let (row, column) = (Expr::idx(x.rank() - 1), Expr::idx(x.rank()));
    spread.masked(column.eq_expr(row + Expr::from(k as i64)), Literal::zero(x.dtype()))
}

/// The sum of the main diagonal of the last two axes.
#[track_caller]
pub(crate) fn trace(x: &Node) -> Result<Node> {
    if x.rank() < 2 {
        let message = format!("shape {:?} has no rows and columns: two axes are needed", x.shape());
        return Err(Error::new(ErrorKind::Shape, "trace", message).made_at("tensor", x.at()));
    }
    diagonal(x, 0, -2, -1)?.reduce("trace", ReduceKind::Sum, &[-1], false)
}
