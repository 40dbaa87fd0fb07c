//! Shapes: axes, broadcasting, layouts, index expressions and views.

mod expr;

pub use expr::Expr;
