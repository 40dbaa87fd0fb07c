//! Work on whole lines along an axis, which no expression on single elements can say.

/// What is done with each line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum LineWork {
    /// Running totals from the first element to the last; with `reverse` from the last to the first.
    Scan { kind: ScanKind, reverse: bool },
    /// The positions, as `i64`, of the elements in order: equal ones stay in theirs, NaN is larger than every number. The node's
    /// axis says how many of them are wanted.
    Order { descending: bool },
    /// How many elements of a sorted line (the first input) come before each of the values (the second input), as `i64`;
    /// with `right` those that are equal come before it too.
    Search { right: bool },
}

/// The running totals that are primitives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum ScanKind {
    Sum,
    Prod,
    Max,
    Min,
    /// Where the running maximum was met last, as `i64`.
    ArgMax,
    /// Where the running minimum was met last, as `i64`.
    ArgMin,
    /// `h = a · h + b`, beginning with 0, of two inputs `a` and `b`.
    Linear,
}

impl ScanKind {
    /// Whether the result is a position.
    pub(crate) fn gives_positions(self) -> bool {
        matches!(self, ScanKind::ArgMax | ScanKind::ArgMin)
    }
}

impl LineWork {
    /// The op's name in messages and listings.
    pub(crate) fn name(self) -> &'static str {
        match self {
            LineWork::Scan { kind: ScanKind::Sum, .. } => "cumsum",
            LineWork::Scan { kind: ScanKind::Prod, .. } => "cumprod",
            LineWork::Scan { kind: ScanKind::Max | ScanKind::ArgMax, .. } => "cummax",
            LineWork::Scan { kind: ScanKind::Min | ScanKind::ArgMin, .. } => "cummin",
            LineWork::Scan { kind: ScanKind::Linear, .. } => "linear_scan",
            LineWork::Order { .. } => "argsort",
            LineWork::Search { .. } => "searchsorted",
        }
    }
}
