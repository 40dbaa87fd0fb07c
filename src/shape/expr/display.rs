//! Expressions as text: `i0*4 + i1`.

use super::Expr;
use std::fmt;

impl fmt::Display for Expr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Expr::Const(value) => write!(f, "{value}"),
            Expr::Idx(axis) => write!(f, "i{axis}"),
            Expr::Add(a, b) => write!(f, "{} + {}", Within(a, 3), Within(b, 4)),
            Expr::Sub(a, b) => write!(f, "{} - {}", Within(a, 3), Within(b, 4)),
            Expr::Mul(a, b) => write!(f, "{}*{}", Within(a, 4), Within(b, 5)),
            Expr::Div(a, b) => write!(f, "{}/{}", Within(a, 4), Within(b, 5)),
            Expr::Rem(a, b) => write!(f, "{}%{}", Within(a, 4), Within(b, 5)),
            Expr::Lt(a, b) => write!(f, "{} < {}", Within(a, 3), Within(b, 3)),
            Expr::Not(a) => write!(f, "!{}", Within(a, 5)),
            Expr::And(a, b) => write!(f, "{} && {}", Within(a, 1), Within(b, 2)),
        }
    }
}

/// An operand, in brackets if it binds less tightly than its place asks.
struct Within<'a>(&'a Expr, u8);

impl fmt::Display for Within<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tightness = match self.0 {
            Expr::And(..) => 1,
            Expr::Lt(..) => 2,
            Expr::Add(..) | Expr::Sub(..) => 3,
            Expr::Mul(..) | Expr::Div(..) | Expr::Rem(..) => 4,
            Expr::Const(value) if *value < 0 => 4,
            Expr::Const(_) | Expr::Idx(_) | Expr::Not(_) => 5,
        };
        if tightness < self.1 { write!(f, "({})", self.0) } else { write!(f, "{}", self.0) }
    }
}
