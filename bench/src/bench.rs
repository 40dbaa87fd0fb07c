//! A run: which rows it wants, and what happens to each of them: compute once, check, time, print.

use crate::beside;
use crate::check::{self, Near, Real};
use crate::data::Index;
use crate::measure::{Method, OP};
use crate::rows::limits::Moved;
use std::cell::Cell;
use std::error::Error;
use std::hint::black_box;
use std::time::Instant;
use zither::{Dim, Dimension, Tensor};

/// What a row ends with when its result is wrong or cannot be computed.
pub type Outcome = Result<(), Box<dyn Error>>;

/// Rows that would take longer than so many seconds are left out, unless told otherwise.
pub const PATIENCE: f64 = 60.0;

/// What a row's value counts.
#[derive(Clone, Copy)]
pub enum Unit {
    Milliseconds,
    /// Microseconds of one of so many equal parts of a call.
    MicrosecondsOf(f64),
    /// Of so many floating-point operations a call.
    GigaflopsOf(f64),
}

impl Unit {
    /// The value and its unit for a call of so many seconds.
    fn of(self, seconds: f64) -> (f64, &'static str) {
        match self {
            Unit::Milliseconds => (seconds * 1e3, "ms"),
            Unit::MicrosecondsOf(parts) => (seconds * 1e6 / parts, "us"),
            Unit::GigaflopsOf(operations) => (operations / seconds / 1e9, "GFLOP/s"),
        }
    }
}

/// One run of the program.
pub struct Bench {
    prefixes: Vec<String>,
    patience: f64,
    /// Rows of much memory are timed beside the loops of their limits, for so many seconds each, and no others.
    beside_limits: Option<f64>,
    seen: Cell<bool>,
}

impl Bench {
    /// A run of the rows that begin with one of the prefixes; of all rows when there are none.
    pub fn new(prefixes: Vec<String>, patience: f64, beside_limits: Option<f64>) -> Bench {
        Bench { prefixes, patience, beside_limits, seen: Cell::new(false) }
    }

    /// Whether rows are timed beside their limits.
    pub fn is_beside_limits(&self) -> bool {
        self.beside_limits.is_some()
    }

    /// Whether a row is wanted.
    pub fn wants(&self, row: &str) -> bool {
        let wanted = self.prefixes.is_empty() || self.prefixes.iter().any(|prefix| row.starts_with(prefix.as_str()));
        self.seen.set(self.seen.get() || wanted);
        wanted
    }

    /// Whether this row is all that was asked for.
    pub fn wants_only(&self, row: &str) -> bool {
        matches!(&self.prefixes[..], [prefix] if prefix == row)
    }

    /// Whether any row that begins with `group` can be wanted, so that its inputs are worth making.
    pub fn wants_some(&self, group: &str) -> bool {
        let overlaps = |prefix: &String| group.starts_with(prefix.as_str()) || prefix.starts_with(group);
        self.prefixes.is_empty() || self.prefixes.iter().any(overlaps)
    }

    /// Whether any row was wanted so far.
    pub fn has_seen_a_row(&self) -> bool {
        self.seen.get()
    }

    /// A row whose result is one tensor: `call` makes it anew, `expected` says what an element has to be near to.
    pub fn row<T: Real, const N: usize>(
        &self,
        name: &str,
        unit: Unit,
        shape: [usize; N],
        call: impl Fn() -> Tensor<T, Dim<N>>,
        expected: impl Fn(Index<N>) -> Near,
    ) -> Outcome
    where
        Dim<N>: Dimension,
    {
        self.row_by(OP, name, unit, shape, call, expected)
    }

    /// A row in milliseconds that takes at least as long as it takes to move so much memory.
    pub fn row_of_memory<T: Real, const N: usize>(
        &self,
        name: &str,
        moved: Moved,
        shape: [usize; N],
        call: impl Fn() -> Tensor<T, Dim<N>>,
        expected: impl Fn(Index<N>) -> Near,
    ) -> Outcome
    where
        Dim<N>: Dimension,
    {
        let Some(seconds) = self.beside_limits.filter(|_| self.wants(name)) else {
            return self.row(name, Unit::Milliseconds, shape, call, expected);
        };
        check::near(name, &call().realize()?, shape, expected)?;
        let mut failed = None;
        beside::row(name, moved, seconds, || match call().realize() {
            Ok(result) => drop(black_box(result)),
            Err(error) => failed = Some(error),
        });
        failed.map_or(Ok(()), |error| Err(format!("{name}: {error}").into()))
    }

    /// As [`row`](Self::row), by another method.
    pub fn row_by<T: Real, const N: usize>(
        &self,
        method: Method,
        name: &str,
        unit: Unit,
        shape: [usize; N],
        call: impl Fn() -> Tensor<T, Dim<N>>,
        expected: impl Fn(Index<N>) -> Near,
    ) -> Outcome
    where
        Dim<N>: Dimension,
    {
        if self.is_beside_limits() || !self.wants(name) {
            return Ok(());
        }
        let begun = Instant::now();
        let result = call().realize()?;
        let first = begun.elapsed().as_secs_f64();
        check::near(name, &result, shape, expected)?;
        drop(result);
        self.time(method, name, unit, first, || call().realize().map(|result| drop(black_box(result))))
    }

    /// Times and prints a row that has been wanted and checked, and whose first call took so many seconds.
    pub fn time(
        &self,
        method: Method,
        name: &str,
        unit: Unit,
        first: f64,
        mut call: impl FnMut() -> zither::Result<()>,
    ) -> Outcome {
        if method.row_seconds(first) > self.patience {
            let (value, unit) = unit.of(first);
            note(
                name,
                &format!("left out, it is right but slow: its first call took {first:.1} s ({value:.4} {unit})"),
            );
            return Ok(());
        }
        let mut failed = None;
        let seconds = method.seconds(|| {
            if let Err(error) = call() {
                failed = Some(error);
            }
        });
        match failed {
            Some(error) => return Err(format!("{name}: {error}").into()),
            None => print(name, "zither", unit.of(seconds)),
        }
        Ok(())
    }
}

/// Prints a row.
pub fn print(name: &str, who: &str, (value, unit): (f64, &str)) {
    let decimals = match value {
        value if value >= 1000.0 => 0,
        value if value >= 100.0 => 1,
        value if value >= 10.0 => 2,
        _ => 4,
    };
    println!("{name}\t{who}\t{value:.decimals$}\t{unit}");
}

/// Says something about a row on standard error, where it is not taken for a figure.
pub fn note(name: &str, what: &str) {
    eprintln!("# {name}: {what}");
}
