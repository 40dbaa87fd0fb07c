//! Programs that make an operand on the spot give what they would of the operand as it is stored.

use super::Random;
use super::scalar::{Scalar, Told, evaluate};
use crate::dtype::{DType, Literal};
use crate::lower::RowProgram;
use crate::lower::program::{Access, Fold, Load, LoopProgram};
use crate::ops::vector::Emit;

const ROWS: usize = 5;
const COLUMNS: usize = 70;

fn load(dtype: DType, strides: [i64; 2]) -> Load {
    Load { dtype, access: Access::Strided { offset: 0, strides: strides.to_vec() } }
}

/// `1 / (x · a + b)` for the one element of each row.
fn one_a_row(dtype: DType) -> LoopProgram {
    let mut emit = Emit::new();
    let x = emit.load(0, dtype);
    let (a, b, one) = (emit.scalar(0, dtype), emit.scalar(1, dtype), emit.float(x.lane, 1.0));
    let product = emit.mul(x, a);
    let sum = emit.add(product, b);
    let result = emit.div(one, sum);
    LoopProgram {
        outer: vec![ROWS, 1],
        store: vec![1, 1],
        reduced: vec![],
        loads: vec![load(dtype, [1, 1])],
        indices: vec![],
        words: emit.finish(),
        result,
        fold: None,
        stored: dtype,
    }
}

/// `(x - y · a) · y` for every element of each row, of which there is one `y`, or their sum.
fn rows(dtype: DType, fold: Option<Fold>, y: Load) -> LoopProgram {
    let mut emit = Emit::new();
    let (x, y_value, a) = (emit.load(0, dtype), emit.load(1, dtype), emit.scalar(0, dtype));
    let product = emit.mul(y_value, a);
    let difference = emit.sub(x, product);
    let result = emit.mul(difference, y_value);
    let (outer, reduced) = if fold.is_some() { (vec![ROWS], vec![COLUMNS]) } else { (vec![ROWS, COLUMNS], vec![]) };
    LoopProgram {
        store: if fold.is_some() { vec![1] } else { vec![COLUMNS as i64, 1] },
        outer,
        reduced,
        loads: vec![load(dtype, [COLUMNS as i64, 1]), y],
        indices: vec![],
        words: emit.finish(),
        result,
        fold,
        stored: dtype,
    }
}

#[test]
fn what_is_made_on_the_spot_is_what_would_be_stored() {
    let mut random = Random::new(21);
    for dtype in [DType::F32, DType::F64] {
        let bits = |x: f64| if dtype == DType::F32 { u64::from((x as f32).to_bits()) } else { x.to_bits() };
        let mut values = |count: usize| -> Vec<Literal> { (0..count).map(|_| random.value(dtype)).collect() };
        let (x, z) = (values(ROWS * COLUMNS), values(ROWS));
        for fold in [None, Some(Fold::Sum), Some(Fold::Max)] {
            let (made, read) = (one_a_row(dtype), rows(dtype, fold, load(dtype, [1, 0])));
            let told = |scalars: &[f64]| Told { scalars: scalars.iter().map(|&x| bits(x)).collect(), origin: 0 };
            let stored = evaluate(&made, std::slice::from_ref(&z), &told(&[0.5, 3.0])).expect("no faults");
            let expected = evaluate(&read, &[x.clone(), stored], &told(&[7.0])).expect("no faults");
            let [made, read] = [made, read].map(|program| RowProgram::new(program, 1));
            let both = read.making(1, &made, 1).expect("it is one element a row").for_rows(ROWS, None);
            let found = evaluate(&both, &[x.clone(), z.clone()], &told(&[7.0, 0.5, 3.0])).expect("no faults");
            assert!(expected.iter().zip(&found).all(|(&a, &b)| Scalar::of(a).same(Scalar::of(b))));
            assert_eq!(expected.len(), found.len());
        }
    }
}

#[test]
fn what_rows_share_or_store_rounded_is_not_made_on_the_spot() {
    let making = |dtype: DType, y: Load| {
        let [made, read] = [one_a_row(dtype), rows(dtype, None, y)].map(|program| RowProgram::new(program, 1));
        read.making(1, &made, 1).is_some()
    };
    assert!(making(DType::F32, load(DType::F32, [1, 0])));
    assert!(!making(DType::F32, load(DType::F32, [0, 0])), "one for all rows");
    assert!(!making(DType::F32, load(DType::F32, [0, 1])), "another in every column");
    assert!(!making(DType::F16, load(DType::F16, [1, 0])), "rounded when it is stored");
}
