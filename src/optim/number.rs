//! Numbers that a step is scaled with.

use crate::error::OrRaise;
use crate::graph::Node;

/// A number that is known, or will be when the step runs: an `f64` of rank 0.
#[derive(Clone)]
pub(super) enum Number {
    Known(f64),
    Later(Node),
}

impl Number {
    /// What a function makes of it, which is said for both kinds.
    pub(super) fn map(&self, known: impl FnOnce(f64) -> f64, later: impl FnOnce(&Node) -> Node) -> Number {
        match self {
            Number::Known(number) => Number::Known(known(*number)),
            Number::Later(number) => Number::Later(later(number)),
        }
    }

    /// `x` times the number.
    #[track_caller]
    pub(super) fn times(&self, x: &Node) -> Node {
        match self {
            Number::Known(number) => x * *number,
            Number::Later(number) => x * &number.cast(x.dtype()).or_raise(),
        }
    }

    /// `x` divided by the number.
    #[track_caller]
    pub(super) fn under(&self, x: &Node) -> Node {
        match self {
            Number::Known(number) => x / *number,
            Number::Later(number) => x / &number.cast(x.dtype()).or_raise(),
        }
    }
}
