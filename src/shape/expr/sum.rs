//! An expression as a number plus multiples of terms: the normal form of everything that adds and scales.

use super::Expr;
use super::range::range;
use smallvec::SmallVec;
use std::sync::Arc;

/// `constant + Σ factor · term`. The terms differ from each other, and no factor is 0.
#[derive(Clone, Debug)]
pub(super) struct Sum {
    pub(super) constant: i64,
    pub(super) terms: SmallVec<[(Expr, i64); 4]>,
    /// Whether a factor or the constant wrapped. The value is still right modulo 2^64, but ranges say nothing.
    pub(super) wrapped: bool,
}

impl Sum {
    pub(super) fn constant(constant: i64) -> Sum {
        Sum { constant, terms: SmallVec::new(), wrapped: false }
    }

    pub(super) fn affine(offset: i64, coefficients: &[i64]) -> Sum {
        let terms = coefficients.iter().enumerate().filter(|(_, factor)| **factor != 0);
        Sum { constant: offset, terms: terms.map(|(i, &factor)| (Expr::Idx(i), factor)).collect(), wrapped: false }
    }

    /// Takes sums, differences and multiples apart; anything else is a term.
    pub(super) fn of(expr: &Expr) -> Sum {
        let mut sum = Sum::constant(0);
        sum.collect(expr, 1);
        sum
    }

    fn collect(&mut self, expr: &Expr, factor: i64) {
        match expr {
            Expr::Const(value) => {
                let value = self.note(value.overflowing_mul(factor));
                self.constant = self.note(self.constant.overflowing_add(value));
            }
            Expr::Add(a, b) => {
                self.collect(a, factor);
                self.collect(b, factor);
            }
            Expr::Sub(a, b) => {
                let minus = self.note(factor.overflowing_neg());
                self.collect(a, factor);
                self.collect(b, minus);
            }
            Expr::Mul(a, b) => match (&**a, &**b) {
                (Expr::Const(c), e) | (e, Expr::Const(c)) => {
                    let factor = self.note(factor.overflowing_mul(*c));
                    self.collect(e, factor);
                }
                _ => self.push(expr.clone(), factor),
            },
            term => self.push(term.clone(), factor),
        }
    }

    /// Adds `factor · term`.
    pub(super) fn push(&mut self, term: Expr, factor: i64) {
        if let Some(at) = self.terms.iter().position(|(have, _)| *have == term) {
            let factor = self.note(self.terms[at].1.overflowing_add(factor));
            self.terms[at].1 = factor;
        } else {
            self.terms.push((term, factor));
        }
        self.terms.retain(|(_, factor)| *factor != 0);
    }

    /// Adds `factor · other`.
    pub(super) fn add(&mut self, other: &Sum, factor: i64) {
        self.wrapped |= other.wrapped;
        self.collect(&Expr::Const(other.constant), factor);
        for (term, times) in &other.terms {
            let times = self.note(times.overflowing_mul(factor));
            self.push(term.clone(), times);
        }
    }

    fn note(&mut self, (value, wrapped): (i64, bool)) -> i64 {
        self.wrapped |= wrapped;
        value
    }

    /// The range without any limit of width; `None` if it cannot be known.
    pub(super) fn wide_range(&self, bounds: &[usize]) -> Option<(i128, i128)> {
        if self.wrapped {
            return None;
        }
        let (mut low, mut high) = (i128::from(self.constant), i128::from(self.constant));
        for (term, factor) in &self.terms {
            let (a, b) = range(term, bounds)?;
            let (a, b) = (i128::from(a) * i128::from(*factor), i128::from(b) * i128::from(*factor));
            // 2^127 is far beyond what a bounded number of 126-bit products reaches, but a sum may be long.
            low = low.checked_add(a.min(b))?;
            high = high.checked_add(a.max(b))?;
        }
        Some((low, high))
    }

    /// The range if the value surely fits 64 bits; it is then the value of the mathematical sum.
    pub(super) fn range(&self, bounds: &[usize]) -> Option<(i64, i64)> {
        let (low, high) = self.wide_range(bounds)?;
        Some((i64::try_from(low).ok()?, i64::try_from(high).ok()?))
    }

    /// Back to an expression: indices in axis order, then other terms, then the constant.
    pub(super) fn into_expr(mut self) -> Expr {
        self.terms.sort_by_key(|(term, _)| if let Expr::Idx(axis) = term { *axis } else { usize::MAX });
        // Starting with a term that is added avoids a negation.
        if let Some(first) = self.terms.iter().position(|(_, factor)| *factor > 0) {
            self.terms[..=first].rotate_right(1);
        }
        let mut constant = self.constant;
        let mut expr = None;
        for (term, factor) in self.terms {
            expr = Some(match expr {
                None if factor > 0 || constant == 0 => term * factor,
                None => {
                    let start = std::mem::take(&mut constant);
                    plus(Expr::Const(start), term, factor)
                }
                Some(expr) => plus(expr, term, factor),
            });
        }
        match expr {
            None => Expr::Const(constant),
            Some(expr) if constant < 0 && constant != i64::MIN => expr - -constant,
            Some(expr) => expr + constant,
        }
    }
}

/// `expr + term · factor`, with a minus sign where the factor has one.
fn plus(expr: Expr, term: Expr, factor: i64) -> Expr {
    if factor < 0 && factor != i64::MIN {
        Expr::Sub(Arc::new(expr), Arc::new(term * -factor))
    } else {
        Expr::Add(Arc::new(expr), Arc::new(term * factor))
    }
}
