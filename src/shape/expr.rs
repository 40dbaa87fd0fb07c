//! Index expressions: integer arithmetic over the indices of a tensor's axes.
//!
//! Arithmetic wraps at 64 bits and dividing by 0 gives 0, so that every expression has a value at every index.

mod build;
mod display;
mod range;
mod simplify;
mod sum;

#[cfg(test)]
mod tests;

use smallvec::SmallVec;
use std::sync::Arc;

/// An integer expression over axis indices. Comparisons and logic give 0 or 1.
///
/// ```
/// use zither::shape::Expr;
/// let on_or_above_the_diagonal = Expr::idx(0).le(Expr::idx(1));
/// assert_eq!(on_or_above_the_diagonal.eval(&[2, 3]), 1);
/// assert_eq!(on_or_above_the_diagonal.eval(&[3, 2]), 0);
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Expr {
    /// A number.
    Const(i64),
    /// The index along an axis.
    Idx(usize),
    /// `a + b`.
    Add(Arc<Expr>, Arc<Expr>),
    /// `a - b`.
    Sub(Arc<Expr>, Arc<Expr>),
    /// `a * b`.
    Mul(Arc<Expr>, Arc<Expr>),
    /// The quotient rounded down; 0 if `b` is 0.
    Div(Arc<Expr>, Arc<Expr>),
    /// The remainder of [`Expr::Div`]: it has the divisor's sign; 0 if `b` is 0.
    Rem(Arc<Expr>, Arc<Expr>),
    /// 1 if `a < b`, else 0.
    Lt(Arc<Expr>, Arc<Expr>),
    /// 1 if the operand is 0, else 0.
    Not(Arc<Expr>),
    /// 1 if both are not 0, else 0.
    And(Arc<Expr>, Arc<Expr>),
}

impl Expr {
    /// The value at an index.
    pub fn eval(&self, index: &[usize]) -> i64 {
        match self {
            Expr::Const(value) => *value,
            Expr::Idx(axis) => index[*axis] as i64,
            Expr::Add(a, b) => a.eval(index).wrapping_add(b.eval(index)),
            Expr::Sub(a, b) => a.eval(index).wrapping_sub(b.eval(index)),
            Expr::Mul(a, b) => a.eval(index).wrapping_mul(b.eval(index)),
            Expr::Div(a, b) => floor_div(a.eval(index), b.eval(index)),
            Expr::Rem(a, b) => floor_rem(a.eval(index), b.eval(index)),
            Expr::Lt(a, b) => i64::from(a.eval(index) < b.eval(index)),
            Expr::Not(a) => i64::from(a.eval(index) == 0),
            Expr::And(a, b) => i64::from(a.eval(index) != 0 && b.eval(index) != 0),
        }
    }

    /// The number of nodes, a shared one counted each time it is used.
    pub fn size(&self) -> usize {
        self.nodes().count()
    }

    /// Whether the expression has more than `limit` nodes; never looks at more than that.
    pub(crate) fn is_larger_than(&self, limit: usize) -> bool {
        self.nodes().nth(limit).is_some()
    }

    /// One more than the largest axis that occurs: the rank an index must have at least.
    pub fn rank(&self) -> usize {
        self.nodes().map(|node| if let Expr::Idx(axis) = node { axis + 1 } else { 0 }).max().unwrap_or(0)
    }

    /// How many divisions and remainders occur.
    pub(crate) fn divisions(&self) -> usize {
        self.nodes().filter(|node| matches!(node, Expr::Div(..) | Expr::Rem(..))).count()
    }

    /// The expression with `map[i]` in the place of each `Idx(i)`.
    pub fn substitute(&self, map: &[Expr]) -> Expr {
        let of = |a: &Arc<Expr>| a.substitute(map);
        match self {
            Expr::Const(value) => Expr::Const(*value),
            Expr::Idx(axis) => map[*axis].clone(),
            Expr::Add(a, b) => of(a) + of(b),
            Expr::Sub(a, b) => of(a) - of(b),
            Expr::Mul(a, b) => of(a) * of(b),
            Expr::Div(a, b) => of(a) / of(b),
            Expr::Rem(a, b) => of(a) % of(b),
            Expr::Lt(a, b) => of(a).lt(of(b)),
            Expr::Not(a) => !of(a),
            Expr::And(a, b) => of(a).and(of(b)),
        }
    }

    /// `(offset, coefficients)` if the value is `offset + Σ coefficient · index` over `rank` axes.
    pub fn affine(&self, rank: usize) -> Option<(i64, SmallVec<[i64; 6]>)> {
        match self {
            Expr::Const(value) => Some((*value, SmallVec::from_elem(0, rank))),
            Expr::Idx(axis) => {
                let mut coefficients = SmallVec::from_elem(0, rank);
                *coefficients.get_mut(*axis)? = 1;
                Some((0, coefficients))
            }
            Expr::Add(a, b) => combine(a, b, rank, i64::checked_add),
            Expr::Sub(a, b) => combine(a, b, rank, i64::checked_sub),
            Expr::Mul(a, b) => {
                let (factor, (offset, mut coefficients)) = match (&**a, &**b) {
                    (Expr::Const(factor), other) | (other, Expr::Const(factor)) => (*factor, other.affine(rank)?),
                    _ => return None,
                };
                for coefficient in &mut coefficients {
                    *coefficient = coefficient.checked_mul(factor)?;
                }
                Some((offset.checked_mul(factor)?, coefficients))
            }
            Expr::Div(..) | Expr::Rem(..) | Expr::Lt(..) | Expr::Not(..) | Expr::And(..) => None,
        }
    }

    /// Every node, from the root down, without recursion.
    fn nodes(&self) -> impl Iterator<Item = &Expr> {
        let mut waiting = vec![self];
        std::iter::from_fn(move || {
            let node = waiting.pop()?;
            match node {
                Expr::Const(_) | Expr::Idx(_) => {}
                Expr::Not(a) => waiting.push(a),
                Expr::Add(a, b)
                | Expr::Sub(a, b)
                | Expr::Mul(a, b)
                | Expr::Div(a, b)
                | Expr::Rem(a, b)
                | Expr::Lt(a, b)
                | Expr::And(a, b) => waiting.extend([&**b, &**a]),
            }
            Some(node)
        })
    }
}

/// Joins two affine expressions coefficient by coefficient.
fn combine(a: &Expr, b: &Expr, rank: usize, by: fn(i64, i64) -> Option<i64>) -> Option<(i64, SmallVec<[i64; 6]>)> {
    let ((offset, mut coefficients), (other_offset, others)) = (a.affine(rank)?, b.affine(rank)?);
    for (coefficient, other) in coefficients.iter_mut().zip(others) {
        *coefficient = by(*coefficient, other)?;
    }
    Some((by(offset, other_offset)?, coefficients))
}

/// The quotient rounded down; 0 if the divisor is 0.
pub(crate) fn floor_div(a: i64, b: i64) -> i64 {
    if b == 0 {
        return 0;
    }
    let quotient = a.wrapping_div(b);
    let inexact = a.wrapping_rem(b) != 0;
    if inexact && (a < 0) != (b < 0) { quotient - 1 } else { quotient }
}

/// The remainder of [`floor_div`], with the divisor's sign; 0 if the divisor is 0.
pub(crate) fn floor_rem(a: i64, b: i64) -> i64 {
    if b == 0 {
        return 0;
    }
    let rest = a.wrapping_rem(b);
    if rest != 0 && (rest < 0) != (b < 0) { rest + b } else { rest }
}
