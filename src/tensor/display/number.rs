//! How one element is written, decided once for all that are shown.

use crate::dtype::Literal;
use std::fmt::Write;

/// Decimals a float gets at most, unless the caller says how many.
const MOST_DECIMALS: usize = 4;

/// How floats are written; integers and bools have only one way.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Notation {
    /// `12.50`, with this many decimals; `12.` with none.
    Fixed(usize),
    /// `1.25e+01`, with this many decimals; `1.e+01` with none.
    Scientific(usize),
}

impl Notation {
    /// The notation for elements shown together; `precision` is the number of decimals, if the caller wants it so.
    pub(super) fn for_all(shown: &[Literal], precision: Option<usize>) -> Notation {
        let finite = || shown.iter().copied().filter(|literal| is_finite_float(*literal));
        let with = if needs_exponents(finite()) { Notation::Scientific } else { Notation::Fixed };
        if let Some(decimals) = precision {
            return with(decimals);
        }
        let mut decimals = 0;
        for literal in finite() {
            while decimals < MOST_DECIMALS && !with(decimals).reads_back(literal) {
                decimals += 1;
            }
        }
        with(decimals)
    }

    /// The width of the widest element.
    pub(super) fn width(self, shown: &[Literal]) -> usize {
        let mut cell = String::new();
        let mut width = 0;
        for &literal in shown {
            cell.clear();
            self.write(literal, &mut cell);
            width = width.max(cell.len());
        }
        width
    }

    /// Appends one element to `text`.
    pub(super) fn write(self, literal: Literal, text: &mut String) {
        let written = match literal {
            Literal::F16(_) | Literal::BF16(_) | Literal::F32(_) | Literal::F64(_) => {
                self.write_float(literal.to_f64(), text)
            }
            Literal::Bool(_)
            | Literal::I8(_)
            | Literal::I16(_)
            | Literal::I32(_)
            | Literal::I64(_)
            | Literal::U8(_)
            | Literal::U16(_)
            | Literal::U32(_)
            | Literal::U64(_) => write!(text, "{literal}"),
        };
        written.expect("a String takes all text");
    }

    fn write_float(self, value: f64, text: &mut String) -> std::fmt::Result {
        if value.is_nan() {
            // Without a sign: it says nothing about a nan.
            return text.write_str("nan");
        }
        if value.is_infinite() {
            return text.write_str(if value > 0.0 { "inf" } else { "-inf" });
        }
        match self {
            Notation::Fixed(0) => write!(text, "{value:.0}."),
            Notation::Fixed(decimals) => write!(text, "{value:.decimals$}"),
            Notation::Scientific(decimals) => {
                // Rust writes `1e8`; readers of tensors know `1.e+08`.
                let short = format!("{value:.decimals$e}");
                let (digits, exponent) = short.split_once('e').unwrap_or((&short, "0"));
                let (sign, exponent) = exponent.strip_prefix('-').map_or(('+', exponent), |rest| ('-', rest));
                let point = if decimals == 0 { "." } else { "" };
                write!(text, "{digits}{point}e{sign}{exponent:0>2}")
            }
        }
    }

    /// Whether the text of a float, read in its dtype, gives the same float.
    fn reads_back(self, literal: Literal) -> bool {
        let mut text = String::new();
        self.write(literal, &mut text);
        text.parse().is_ok_and(|value| Literal::from_f64(literal.dtype(), value) == literal)
    }
}

fn is_finite_float(literal: Literal) -> bool {
    literal.dtype().is_float() && literal.to_f64().is_finite()
}

/// PyTorch's rule, except that whole numbers far apart stay as they are: `[1., 2048.]` loses nothing.
fn needs_exponents(finite: impl Iterator<Item = Literal>) -> bool {
    let (mut smallest, mut largest, mut all_whole) = (f64::INFINITY, 0.0_f64, true);
    for magnitude in finite.map(|literal| literal.to_f64().abs()).filter(|magnitude| *magnitude > 0.0) {
        smallest = smallest.min(magnitude);
        largest = largest.max(magnitude);
        all_whole &= magnitude.fract() == 0.0;
    }
    // With no number to look at, `smallest` is inf and all three are false.
    largest >= 1e8 || smallest < 1e-4 || (!all_whole && largest / smallest > 1e3)
}
