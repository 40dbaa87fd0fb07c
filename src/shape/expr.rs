//! Index expressions: integer arithmetic over the indices of a tensor's axes.

use std::sync::Arc;

/// An integer expression over axis indices. Comparisons and logic give 0 or 1.
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
    /// The quotient rounded down.
    Div(Arc<Expr>, Arc<Expr>),
    /// The remainder of [`Expr::Div`]: it has the divisor's sign.
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
            Expr::Add(a, b) => a.eval(index) + b.eval(index),
            Expr::Sub(a, b) => a.eval(index) - b.eval(index),
            Expr::Mul(a, b) => a.eval(index) * b.eval(index),
            Expr::Div(a, b) => a.eval(index).div_euclid(b.eval(index)),
            Expr::Rem(a, b) => a.eval(index).rem_euclid(b.eval(index)),
            Expr::Lt(a, b) => i64::from(a.eval(index) < b.eval(index)),
            Expr::Not(a) => i64::from(a.eval(index) == 0),
            Expr::And(a, b) => i64::from(a.eval(index) != 0 && b.eval(index) != 0),
        }
    }
}
