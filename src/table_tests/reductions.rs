//! Every reduction on every dtype, every layout and every set of axes.

use super::compare::{Agreement, Failures, epsilon};
use super::layouts::LAYOUTS;
use super::sample::{Random, read};
use crate::dtype::{DType, Literal};
use crate::graph::{Node, ReduceKind};
use crate::ops;
use crate::reference;
use crate::shape::ordinal_to_index;

/// Every reduction; `match` keeps the list whole.
pub(super) const KINDS: [ReduceKind; 4] = [ReduceKind::Sum, ReduceKind::Prod, ReduceKind::Max, ReduceKind::Min];

const _: fn(ReduceKind) = |kind| match kind {
    ReduceKind::Sum | ReduceKind::Prod | ReduceKind::Max | ReduceKind::Min => {}
};

static SHAPES: &[&[usize]] = &[
    &[],
    &[1],
    &[70],
    &[3, 4],
    &[2, 3, 5],
    &[1, 5, 1],
    &[2, 1, 3, 2, 2],
    &[0],
    &[2, 0, 3],
    &[3, 0],
    &[6, 40],
    &[40, 6],
];

/// Every set of axes; of rank 5, one in three.
fn axis_sets(rank: usize) -> Vec<Vec<isize>> {
    let sets = (0..1usize << rank).map(|bits| (0..rank).filter(|k| bits >> k & 1 == 1).collect::<Vec<_>>());
    let chosen = sets.enumerate().filter(|(k, _)| rank < 5 || k % 3 == 0 || k + 1 == 1 << rank);
    chosen.map(|(_, set)| set.into_iter().map(|axis| axis as isize).collect()).collect()
}

fn takes(kind: ReduceKind, dtype: DType) -> bool {
    dtype != DType::Bool || matches!(kind, ReduceKind::Max | ReduceKind::Min)
}

/// Judges a reduction of `input`: exactly, or within the rounding of as many steps as were summed.
fn judge(failures: &mut Failures, row: &str, kind: ReduceKind, input: &Node, axes: &[isize], keepdim: bool) {
    let result = match input.reduce(kind.name(), kind, axes, keepdim) {
        Ok(result) => result,
        Err(error) => {
            let empty = axes.iter().any(|&axis| input.shape()[axis as usize] == 0);
            let choice = matches!(kind, ReduceKind::Max | ReduceKind::Min) && input.dtype() != DType::Bool;
            if !(empty && choice) {
                failures.add(format!("{row}: refused: {error}"));
            }
            return;
        }
    };
    let rounds = input.dtype().is_float() && matches!(kind, ReduceKind::Sum | ReduceKind::Prod);
    if !rounds {
        return failures.judge(&row, &result, Agreement::Equal);
    }
    failures.rows += 1;
    let count: usize = axes.iter().map(|&axis| input.shape()[axis as usize]).product();
    let expected = reference::evaluate(&result).expect("a sum has no fault");
    let magnitudes = match kind {
        ReduceKind::Sum => {
            let sizes = Node::map(&ops::ABS, &[&input.cast(DType::F64).expect("a cast")]).expect("a float");
            let sum = sizes.reduce("sum", ReduceKind::Sum, axes, keepdim).expect("a sum");
            reference::evaluate(&sum).expect("a sum has no fault")
        }
        _ => expected.clone(),
    };
    let found = read(&result).expect("a sum has no fault");
    let unit = epsilon(ops::accumulator(input.dtype()));
    for (k, (expected, found)) in expected.iter().zip(&found).enumerate() {
        let (a, b) = (expected.to_f64(), found.to_f64());
        let bound = count as f64 * unit * magnitudes[k].to_f64().abs() + epsilon(input.dtype()) * a.abs();
        if found.dtype() != expected.dtype() || (a - b).abs() > bound {
            let at = ordinal_to_index(k, result.shape());
            failures.add(format!("{row} at {:?}: expected {expected:?} ± {bound:e}, found {found:?}", &at[..]));
            return;
        }
    }
    if expected.len() != found.len() {
        failures.add(format!("{row}: {} elements expected, {} found", expected.len(), found.len()));
    }
}

#[test]
fn every_reduction_agrees_with_the_reference_on_every_dtype_layout_and_set_of_axes() {
    let mut failures = Failures::default();
    for kind in KINDS {
        // Factors near 1, so that products of floats stay in range.
        let range = if kind == ReduceKind::Prod { 0.75..1.3 } else { -5.0..5.0 };
        for dtype in DType::ALL.into_iter().filter(|&dtype| takes(kind, dtype)) {
            for shape in SHAPES {
                let sets = axis_sets(shape.len());
                for (turn, layout) in LAYOUTS.iter().enumerate().filter(|(_, layout)| layout.suits(shape, &range)) {
                    for (k, axes) in sets.iter().enumerate() {
                        let keepdim = (k + turn) % 2 == 0;
                        let row = format!(
                            "{} {dtype} {shape:?} over {axes:?} keepdim {keepdim} {}",
                            kind.name(),
                            layout.name
                        );
                        let mut random = Random::of(&row);
                        // Integers multiply and wrap.
                        let drawn =
                            if dtype.is_integer() && kind == ReduceKind::Prod { -9.0..9.0 } else { range.clone() };
                        let input = layout.node(&mut random, dtype, &drawn, shape);
                        judge(&mut failures, &row, kind, &input, axes, keepdim);
                    }
                }
            }
        }
    }
    failures.done(30_000);
}

#[test]
fn long_reductions_agree_too() {
    let mut failures = Failures::default();
    let shapes: [(&[usize], &[isize]); 6] = [
        (&[5000], &[0]),
        (&[3, 2100], &[1]),
        (&[2100, 3], &[0]),
        (&[20, 15, 20], &[0, 2]),
        (&[20, 15, 20], &[1]),
        (&[70_000], &[0]),
    ];
    for kind in KINDS {
        for dtype in DType::ALL.into_iter().filter(|&dtype| takes(kind, dtype)) {
            for (shape, axes) in shapes {
                let row = format!("{} {dtype} {shape:?} over {axes:?}", kind.name());
                // The product of numbers spread evenly around 1 in their logarithms stays near 1.
                let range = if kind == ReduceKind::Prod && dtype.is_float() { 0.98..1.0202 } else { -7.0..7.0 };
                let input = Random::of(&row).node(dtype, &range, shape);
                judge(&mut failures, &row, kind, &input, axes, false);
            }
        }
    }
    failures.done(6 * 50);
}

#[test]
fn the_edges_of_a_dtype_come_through_a_choice() {
    let mut failures = Failures::default();
    for kind in [ReduceKind::Max, ReduceKind::Min] {
        for dtype in DType::ALL {
            let values = super::special::edges(dtype);
            for start in 0..values.len() {
                let mut part: Vec<Literal> = values[start..].iter().chain(&values[..start]).copied().collect();
                part.truncate(1 + start % 40);
                // Without NaN too: it wins every choice.
                for nan in [true, false] {
                    part.retain(|value| nan || !value.to_f64().is_nan());
                    if part.is_empty() {
                        continue;
                    }
                    let input = super::sample::node(dtype, &part, &[part.len()]);
                    let row = format!("{} {dtype} of {} edges from {start}, NaN {nan}", kind.name(), part.len());
                    judge(&mut failures, &row, kind, &input, &[0], false);
                }
            }
        }
    }
    failures.done(500);
}

#[test]
fn a_reduction_of_nothing_is_its_identity() {
    for dtype in DType::ALL {
        for (kind, identity) in [
            (ReduceKind::Sum, Literal::zero(dtype)),
            (ReduceKind::Prod, Literal::one(dtype)),
            (ReduceKind::Max, Literal::Bool(false)),
            (ReduceKind::Min, Literal::Bool(true)),
        ] {
            let empty = Random::of("nothing").node(dtype, &(0.0..1.0), &[2, 0, 3]);
            let result = empty.reduce(kind.name(), kind, &[1], false);
            let known = match kind {
                ReduceKind::Sum | ReduceKind::Prod => dtype != DType::Bool,
                ReduceKind::Max | ReduceKind::Min => dtype == DType::Bool,
            };
            let row = format!("{} {dtype} of nothing", kind.name());
            match result {
                Ok(result) if known => assert_eq!(read(&result).expect("no fault"), vec![identity; 6], "{row}"),
                Ok(_) => panic!("{row}: should be refused"),
                Err(error) => assert!(!known && error.op() == kind.name(), "{row}: {error}"),
            }
        }
    }
}
