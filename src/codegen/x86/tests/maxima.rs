//! Maxima and minima with NaN at one place or another, and without: rows are folded in two ways.

use super::check;
use crate::codegen::block::tests::Random;
use crate::codegen::block::tests::folds::matrix;
use crate::dtype::{DType, Literal};
use crate::lower::program::Fold;

const FOLDS: [Fold; 2] = [Fold::Max, Fold::Min];

/// Numbers, with infinities and both zeros among them.
fn numbers(random: &mut Random, dtype: DType, count: usize) -> Vec<Literal> {
    let number = |random: &mut Random| match random.below(12) {
        0 => -0.0,
        1 => 0.0,
        2 => f64::INFINITY,
        3 => f64::NEG_INFINITY,
        other => (other as f64 - 7.0) * (1 + random.below(1000)) as f64,
    };
    (0..count).map(|_| literal(dtype, number(random))).collect()
}

fn literal(dtype: DType, value: f64) -> Literal {
    match dtype {
        DType::F32 => Literal::F32(value as f32),
        _ => Literal::F64(value),
    }
}

#[test]
fn one_nan_is_found_at_every_place_of_a_row() {
    let mut random = Random::new(17);
    for (dtype, fold) in [DType::F32, DType::F64].into_iter().flat_map(|dtype| FOLDS.map(|fold| (dtype, fold))) {
        for columns in [8, 31, 32, 33, 64, 75, 96] {
            // A row for every place of the NaN, each followed by one without.
            let rows = 2 * columns;
            let mut operand = numbers(&mut random, dtype, rows * columns);
            for place in 0..columns {
                operand[2 * place * columns + place] = literal(dtype, f64::NAN);
            }
            assert!(check(&matrix(rows, columns, false, dtype, fold), &[operand]));
        }
    }
}

#[test]
fn rows_that_are_folded_two_at_once_find_their_own_nan() {
    let mut random = Random::new(18);
    for (dtype, rows, columns) in [(DType::F32, 530, 2048), (DType::F32, 4200, 256), (DType::F64, 270, 2048)] {
        for fold in FOLDS {
            let mut operand = numbers(&mut random, dtype, rows * columns);
            for row in (0..rows).filter(|row| row % 7 == 3) {
                operand[row * columns + random.below(columns)] = literal(dtype, f64::NAN);
            }
            assert!(check(&matrix(rows, columns, false, dtype, fold), &[operand]));
        }
    }
}

#[test]
fn leaves_of_one_long_row_find_their_own_nan() {
    let mut random = Random::new(19);
    for fold in FOLDS {
        for nan in [None, Some(0), Some(5000), Some((1 << 21) - 1)] {
            let mut operand = numbers(&mut random, DType::F32, 1 << 21);
            if let Some(place) = nan {
                operand[place] = literal(DType::F32, f64::NAN);
            }
            assert!(check(&matrix(1, operand.len(), false, DType::F32, fold), &[operand]));
        }
    }
}
