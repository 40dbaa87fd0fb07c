//! Comparing results with what they should be, and saying precisely where they differ.

use super::sample::read;
use crate::dtype::{DType, Literal};
use crate::graph::Node;
use crate::reference;
use crate::shape::ordinal_to_index;
use std::fmt::Display;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// How well two results agree.
#[derive(Clone, Copy, Debug)]
pub(super) enum Agreement {
    /// Bit by bit; any NaN is as good as any other.
    Exact,
    /// Equal numbers: the sign of a zero does not matter either.
    Equal,
    /// So many neighbours of the dtype apart.
    Ulps(u64),
    /// So many epsilons of the dtype, of the larger of 1 and the expected value.
    Epsilons(f64),
}

impl Agreement {
    fn holds(self, expected: Literal, found: Literal) -> bool {
        let (a, b) = (expected.to_f64(), found.to_f64());
        if expected.dtype() != found.dtype() {
            return false;
        }
        if expected == found || (a.is_nan() && b.is_nan()) {
            return true;
        }
        match self {
            Agreement::Exact => false,
            Agreement::Equal => expected.dtype().is_float() && a == b,
            Agreement::Ulps(most) => expected.dtype().is_float() && a != 0.0 && ulps(expected, found) <= most,
            Agreement::Epsilons(most) => {
                expected.dtype().is_float() && (a - b).abs() <= most * epsilon(expected.dtype()) * a.abs().max(1.0)
            }
        }
    }
}

/// The distance from 1 to the next float.
pub(super) fn epsilon(dtype: DType) -> f64 {
    match dtype {
        DType::F16 => 2f64.powi(-10),
        DType::BF16 => 2f64.powi(-7),
        DType::F32 => f64::from(f32::EPSILON),
        _ => f64::EPSILON,
    }
}

/// How many floats lie between two, one of them counted.
fn ulps(a: Literal, b: Literal) -> u64 {
    if a.to_f64().is_nan() || b.to_f64().is_nan() {
        return u64::MAX;
    }
    let sign = 1u64 << (8 * a.dtype().size() - 1);
    let place = |x: Literal| {
        let bits = x.bits();
        if bits & sign == 0 { i128::from(bits) } else { -i128::from(bits & !sign) }
    };
    u64::try_from((place(a) - place(b)).unsigned_abs()).unwrap_or(u64::MAX)
}

/// What went wrong in a whole table, told at its end.
#[derive(Default)]
pub(super) struct Failures {
    told: Vec<String>,
    count: usize,
    pub(super) rows: usize,
}

impl Failures {
    pub(super) fn add(&mut self, message: String) {
        self.count += 1;
        // A few of each kind say more than many of one.
        let kind = |text: &str| text.split(' ').next().unwrap_or_default().to_owned();
        if self.told.iter().filter(|told| kind(told) == kind(&message)).count() < 4 {
            self.told.push(message);
        }
    }

    /// Compares two lists of values of one shape.
    pub(super) fn compare(
        &mut self,
        row: &dyn Display,
        shape: &[usize],
        agreement: Agreement,
        expected: &[Literal],
        found: &[Literal],
    ) {
        if expected.len() != found.len() {
            self.add(format!("{row}: {} elements expected, {} found", expected.len(), found.len()));
            return;
        }
        let wrong = (0..expected.len()).find(|&k| !agreement.holds(expected[k], found[k]));
        if let Some(k) = wrong {
            let at = ordinal_to_index(k, shape);
            self.add(format!(
                "{row} at {:?}: expected {:?}, found {:?} ({agreement:?})",
                &at[..],
                expected[k],
                found[k]
            ));
        }
    }

    /// Evaluates a node by the reference and by the real pipeline; both agree, or both refuse.
    pub(super) fn judge(&mut self, row: &dyn Display, node: &Node, agreement: Agreement) {
        self.rows += 1;
        let expected = reference::evaluate(node); // first: reading lets go of what led to the result
        let found = match catch_unwind(AssertUnwindSafe(|| read(node))) {
            Ok(found) => found,
            Err(panic) => {
                let text = panic.downcast_ref::<String>().map(String::as_str);
                let text = text.or(panic.downcast_ref::<&str>().copied()).unwrap_or("?");
                return self.add(format!("{row}: the pipeline panicked: {text}"));
            }
        };
        match (expected, found) {
            (Ok(expected), Ok(found)) => self.compare(row, node.shape(), agreement, &expected, &found),
            (Err(_), Err(_)) => {}
            (Ok(_), Err(error)) => self.add(format!("{row}: the pipeline refused: {error}")),
            (Err(error), Ok(_)) => self.add(format!("{row}: the pipeline should have refused: {error}")),
        }
    }

    /// Panics unless everything agreed. `least` keeps a table from going silently empty.
    #[track_caller]
    pub(super) fn done(self, least: usize) {
        assert!(self.count == 0, "{} of {} rows differ:\n{}", self.count, self.rows, self.told.join("\n"));
        assert!(self.rows >= least, "only {} rows were tried, {least} were expected", self.rows);
    }
}

#[test]
fn neighbours_are_one_ulp_apart_and_zeros_keep_their_sign() {
    let f32s = |a: f32, b: f32| ulps(Literal::F32(a), Literal::F32(b));
    assert_eq!(f32s(1.0, 1.0 + f32::EPSILON), 1);
    assert_eq!(f32s(f32::from_bits(1), -f32::from_bits(1)), 2);
    assert_eq!(f32s(f32::MAX, f32::INFINITY), 1);
    assert!(!Agreement::Exact.holds(Literal::F32(0.0), Literal::F32(-0.0)));
    assert!(!Agreement::Ulps(2).holds(Literal::F32(0.0), Literal::F32(-0.0)));
    assert!(Agreement::Equal.holds(Literal::F32(0.0), Literal::F32(-0.0)));
    assert!(Agreement::Exact.holds(Literal::F32(f32::NAN), Literal::F32(-f32::NAN)));
    assert!(!Agreement::Ulps(2).holds(Literal::F32(1.0), Literal::F32(f32::NAN)));
}
