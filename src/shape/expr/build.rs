//! How expressions are written: operators and methods, which fold what is plain to see.

use super::{Expr, floor_div, floor_rem};
use std::ops;
use std::sync::Arc;

impl From<i64> for Expr {
    fn from(value: i64) -> Expr {
        Expr::Const(value)
    }
}

impl From<i32> for Expr {
    fn from(value: i32) -> Expr {
        Expr::Const(i64::from(value))
    }
}

impl From<usize> for Expr {
    /// The number; those above `i64::MAX` stay there.
    fn from(value: usize) -> Expr {
        Expr::Const(i64::try_from(value).unwrap_or(i64::MAX))
    }
}

impl<T: Into<Expr>> ops::Add<T> for Expr {
    type Output = Expr;
    fn add(self, other: T) -> Expr {
        match (self, other.into()) {
            (Expr::Const(a), Expr::Const(b)) => Expr::Const(a.wrapping_add(b)),
            (a, Expr::Const(0)) => a,
            (Expr::Const(0), b) => b,
            (Expr::Add(a, b), Expr::Const(c)) if matches!(*b, Expr::Const(_)) => {
                Expr::clone(&a) + (Expr::clone(&b) + Expr::Const(c))
            }
            (a, b) => Expr::Add(Arc::new(a), Arc::new(b)),
        }
    }
}

impl<T: Into<Expr>> ops::Sub<T> for Expr {
    type Output = Expr;
    fn sub(self, other: T) -> Expr {
        match (self, other.into()) {
            (Expr::Const(a), Expr::Const(b)) => Expr::Const(a.wrapping_sub(b)),
            (a, Expr::Const(0)) => a,
            (a, b) => Expr::Sub(Arc::new(a), Arc::new(b)),
        }
    }
}

impl<T: Into<Expr>> ops::Mul<T> for Expr {
    type Output = Expr;
    fn mul(self, other: T) -> Expr {
        match (self, other.into()) {
            (Expr::Const(a), Expr::Const(b)) => Expr::Const(a.wrapping_mul(b)),
            (_, Expr::Const(0)) | (Expr::Const(0), _) => Expr::Const(0),
            (a, Expr::Const(1)) => a,
            (Expr::Const(1), b) => b,
            (a, b) => Expr::Mul(Arc::new(a), Arc::new(b)),
        }
    }
}

impl<T: Into<Expr>> ops::Div<T> for Expr {
    type Output = Expr;
    fn div(self, other: T) -> Expr {
        Expr::div(self, other)
    }
}

impl<T: Into<Expr>> ops::Rem<T> for Expr {
    type Output = Expr;
    fn rem(self, other: T) -> Expr {
        Expr::rem(self, other)
    }
}

impl ops::Not for Expr {
    type Output = Expr;
    fn not(self) -> Expr {
        Expr::not(self)
    }
}

impl ops::Neg for Expr {
    type Output = Expr;
    fn neg(self) -> Expr {
        self * -1
    }
}

// The names are those of the specification; each is also an operator where Rust has one.
#[allow(clippy::should_implement_trait)]
impl Expr {
    /// A number.
    pub fn constant(value: i64) -> Expr {
        Expr::Const(value)
    }

    /// The index along an axis.
    pub fn idx(axis: usize) -> Expr {
        Expr::Idx(axis)
    }

    /// `offset + Σ coefficient · index`.
    pub(crate) fn from_affine(offset: i64, coefficients: &[i64]) -> Expr {
        super::sum::Sum::affine(offset, coefficients).into_expr()
    }

    /// The quotient rounded down.
    pub fn div(self, other: impl Into<Expr>) -> Expr {
        match (self, other.into()) {
            (Expr::Const(a), Expr::Const(b)) => Expr::Const(floor_div(a, b)),
            (_, Expr::Const(0)) => Expr::Const(0),
            (a, Expr::Const(1)) => a,
            (a, b) => Expr::Div(Arc::new(a), Arc::new(b)),
        }
    }

    /// The remainder of the quotient rounded down: it has the divisor's sign.
    pub fn rem(self, other: impl Into<Expr>) -> Expr {
        match (self, other.into()) {
            (Expr::Const(a), Expr::Const(b)) => Expr::Const(floor_rem(a, b)),
            (_, Expr::Const(-1..=1)) => Expr::Const(0),
            (a, b) => Expr::Rem(Arc::new(a), Arc::new(b)),
        }
    }

    /// 1 if this is less than `other`, else 0.
    pub fn lt(self, other: impl Into<Expr>) -> Expr {
        match (self, other.into()) {
            (Expr::Const(a), Expr::Const(b)) => Expr::Const(i64::from(a < b)),
            (a, b) => Expr::Lt(Arc::new(a), Arc::new(b)),
        }
    }

    /// 1 if this is greater than `other`, else 0: `other.lt(self)`.
    pub fn gt(self, other: impl Into<Expr>) -> Expr {
        other.into().lt(self)
    }

    /// 1 if this is at most `other`, else 0: `!other.lt(self)`.
    pub fn le(self, other: impl Into<Expr>) -> Expr {
        other.into().lt(self).not()
    }

    /// 1 if this is at least `other`, else 0: `!self.lt(other)`.
    pub fn ge(self, other: impl Into<Expr>) -> Expr {
        self.lt(other).not()
    }

    /// 1 if both are equal, else 0: `self.le(other).and(other.le(self))`.
    pub fn eq_expr(self, other: impl Into<Expr>) -> Expr {
        let other = other.into();
        self.clone().le(other.clone()).and(other.le(self))
    }

    /// 1 if both differ, else 0: `!self.eq_expr(other)`.
    pub fn ne_expr(self, other: impl Into<Expr>) -> Expr {
        self.eq_expr(other).not()
    }

    /// 1 if this is 0, else 0.
    pub fn not(self) -> Expr {
        match self {
            Expr::Const(a) => Expr::Const(i64::from(a == 0)),
            a => Expr::Not(Arc::new(a)),
        }
    }

    /// 1 if neither is 0, else 0.
    pub fn and(self, other: impl Into<Expr>) -> Expr {
        match (self, other.into()) {
            (Expr::Const(0), _) | (_, Expr::Const(0)) => Expr::Const(0),
            (Expr::Const(_), b) if b.is_truth() => b,
            (a, Expr::Const(_)) if a.is_truth() => a,
            (Expr::Const(_), Expr::Const(_)) => Expr::Const(1),
            (a, b) => Expr::And(Arc::new(a), Arc::new(b)),
        }
    }

    /// 1 if one of them is not 0, else 0: `!(!self).and(!other)`.
    pub fn or(self, other: impl Into<Expr>) -> Expr {
        self.not().and(other.into().not()).not()
    }

    /// Whether the form alone says that the value is 0 or 1.
    pub(super) fn is_truth(&self) -> bool {
        matches!(self, Expr::Lt(..) | Expr::Not(_) | Expr::And(..) | Expr::Const(0 | 1))
    }
}
