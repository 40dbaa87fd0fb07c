//! Every primitive on every dtype it takes, its operands lying in every way.

use super::compare::{Agreement, Failures};
use super::layouts::{LAYOUTS, SHAPES, any};
use super::sample::Random;
use crate::dtype::DType;
use crate::graph::Node;
use crate::ops::{PRIMITIVES, Primitive, Takes};

/// How far a primitive may be from the reference.
#[derive(Clone, Copy)]
pub(super) enum Trust {
    /// Correctly rounded: bit by bit.
    Exact,
    /// An elementary function: so many ulps in `f32` and `f64`, one in the 16-bit floats.
    Ulps(u64, u64),
    /// What is off in a part of it shows larger in its tails: so many epsilons of the larger of 1 and the value.
    Epsilons(f64),
}
use Trust::{Epsilons, Exact, Ulps};

/// One row for each primitive.
static TRUST: &[(&str, Trust)] = &[
    ("add", Exact),
    ("sub", Exact),
    ("mul", Exact),
    ("div", Exact),
    ("recip", Exact),
    ("neg", Exact),
    ("maximum", Exact),
    ("minimum", Exact),
    ("pow", Ulps(1, 2)),
    ("idiv", Exact),
    ("rem", Exact),
    ("bitand", Exact),
    ("bitor", Exact),
    ("bitxor", Exact),
    ("bitnot", Exact),
    ("shl", Exact),
    ("shr", Exact),
    ("eq", Exact),
    ("ne", Exact),
    ("lt", Exact),
    ("le", Exact),
    ("where", Exact),
    ("mul_add", Ulps(1, 0)), // the judge adds in f64 and rounds again; a test of its own compares the bits
    ("sqrt", Exact),
    ("exp", Ulps(1, 2)),
    ("exp_below", Ulps(1, 2)),
    ("exp2", Ulps(1, 2)),
    ("expm1", Ulps(2, 2)),
    ("ln", Ulps(1, 2)),
    ("log2", Ulps(2, 2)),
    ("log1p", Ulps(2, 2)),
    ("sin", Ulps(2, 2)),
    ("cos", Ulps(2, 2)),
    ("tan", Ulps(2, 3)),
    ("tanh", Ulps(2, 3)),
    ("sigmoid", Ulps(2, 3)),
    ("gelu_tanh", Epsilons(2.0)), // its tails have a test of their own
    ("erf", Ulps(2, 8)),          // the judge's series loses a few
    ("erfc", Ulps(4, 12)),        // so does the judge
    ("floor", Exact),
    ("fmod", Exact),
    ("ceil", Exact),
    ("trunc", Exact),
    ("round", Exact),
    ("abs", Exact),
    ("sign", Exact),
    ("log10", Ulps(2, 2)),
    ("sinh", Ulps(2, 3)),
    ("cosh", Ulps(2, 3)),
    ("asin", Ulps(2, 3)),
    ("acos", Ulps(2, 3)),
    ("atan", Ulps(2, 3)),
    ("atan2", Ulps(2, 3)),
];

/// How a primitive's result on a dtype is to be compared.
pub(super) fn agreement(primitive: &Primitive, dtype: DType) -> Agreement {
    let trust = TRUST.iter().find(|(name, _)| *name == primitive.name).map(|(_, trust)| *trust);
    match (trust.unwrap_or_else(|| panic!("{} has no row in TRUST", primitive.name)), dtype) {
        (Exact, _) => Agreement::Exact,
        (Epsilons(most), _) => Agreement::Epsilons(most),
        (Ulps(..), DType::F16 | DType::BF16) => Agreement::Ulps(1),
        (Ulps(f32s, _), DType::F32) => Agreement::Ulps(f32s),
        (Ulps(_, f64s), _) => Agreement::Ulps(f64s),
    }
}

/// The dtype of each operand of a primitive that works in `dtype`.
pub(super) fn operand_dtypes(primitive: &Primitive, dtype: DType) -> Vec<DType> {
    match primitive.takes {
        Takes::Same(count) => vec![dtype; count],
        Takes::Choice => vec![DType::Bool, dtype, dtype],
    }
}

#[test]
fn every_primitive_has_one_row() {
    for primitive in PRIMITIVES {
        let rows = TRUST.iter().filter(|(name, _)| *name == primitive.name).count();
        assert_eq!(rows, 1, "{} has {rows} rows in TRUST", primitive.name);
        assert_eq!(primitive.sample.len(), primitive.takes.count(), "{} has a range an operand", primitive.name);
    }
    assert_eq!(TRUST.len(), PRIMITIVES.len(), "TRUST has a row that is no primitive's");
}

#[test]
fn every_primitive_agrees_with_the_reference_on_every_dtype_and_layout() {
    let mut failures = Failures::default();
    for primitive in PRIMITIVES {
        for dtype in DType::ALL.into_iter().filter(|&dtype| primitive.dtypes.contains(dtype)) {
            for shape in SHAPES {
                try_layouts(&mut failures, primitive, dtype, shape);
            }
        }
    }
    failures.done(40_000);
}

/// All operands in one layout, then each in it with the others lying by chance.
fn try_layouts(failures: &mut Failures, primitive: &'static Primitive, dtype: DType, shape: &[usize]) {
    let dtypes = operand_dtypes(primitive, dtype);
    for layout in LAYOUTS {
        let mut random = Random::of(&format!("{} {dtype} {shape:?} {}", primitive.name, layout.name));
        let count = dtypes.len();
        let arrangements = if count == 1 { 1 } else { count + 1 };
        for arrangement in 0..arrangements {
            let mut names = Vec::new();
            let mut operands = Vec::new();
            for (k, range) in primitive.sample.iter().enumerate() {
                let chosen = arrangement == count || arrangement == k;
                let suits = layout.suits(shape, range);
                let layout = if chosen && suits { layout } else { any(&mut random, shape, range) };
                names.push(layout.name);
                operands.push(layout.node(&mut random, dtypes[k], range, shape));
            }
            let result = Node::map(primitive, &operands.iter().collect::<Vec<_>>()).expect("operands that fit");
            let row = format!("{} {dtype} {shape:?} [{}]", primitive.name, names.join("; "));
            failures.judge(&row, &result, agreement(primitive, dtype));
        }
    }
}
