//! A view taken apart for kernels: one position and the guards before it.

use super::View;
use super::substitute::inside;
use crate::dtype::Literal;
use crate::shape::{Expr, Shape};
use smallvec::SmallVec;

/// Where a view's elements lie, once every guard has let the index through.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Position {
    /// `offset + Σ index · stride`.
    Strided { offset: i64, strides: SmallVec<[i64; 6]> },
    /// The value of an expression.
    Computed(Expr),
}

impl View {
    /// The position of an element, and the guards, outermost first: the first whose condition is 0 gives its value
    /// instead, and the position, which may then be anything, is not read.
    pub(crate) fn access(&self) -> (Position, Vec<(Expr, Literal)>) {
        let shape = self.shape();
        let mut guards = Vec::new();
        // Borders move the index: inside, index `i` is `i - shift`.
        let mut shifts = Shape::from_elem(0, shape.len());
        let mut view = self;
        loop {
            match view {
                View::Linear { strides, offset, .. } => {
                    let start = strides.iter().zip(&shifts).fold(*offset as i64, |sum, (stride, shift)| {
                        sum.wrapping_sub((*stride as i64).wrapping_mul(*shift as i64))
                    });
                    let strides = strides.iter().map(|&stride| stride as i64).collect();
                    return (Position::Strided { offset: start, strides }, guards);
                }
                View::IndexExpr { index_expr, .. } => {
                    let position = index_expr.substitute(&indices(&shifts)).simplify(&shape);
                    return (Position::Computed(position), guards);
                }
                View::Masked { inner, condition, default } => {
                    guards.push((condition.substitute(&indices(&shifts)).simplify(&shape), *default));
                    view = inner;
                }
                View::Padded { inner, padding, default } => {
                    let condition = inside(&inner.shape(), padding, &indices(&shifts));
                    guards.push((condition.simplify(&shape), *default));
                    for (shift, (before, _)) in shifts.iter_mut().zip(padding) {
                        *shift += before;
                    }
                    view = inner;
                }
            }
        }
    }
}

/// The indices inside the borders passed so far.
fn indices(shifts: &[usize]) -> Vec<Expr> {
    shifts.iter().enumerate().map(|(axis, &shift)| Expr::idx(axis) - shift).collect()
}
