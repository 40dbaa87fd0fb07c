//! Reductions: both orders, at sizes around the edges of leaves and blocks, split and whole.

use super::scalar::Told;
use super::words::SIZES;
use super::{Random, buffer, check, run};
use crate::codegen::block::Split;
use crate::codegen::order::Order;
use crate::codegen::{Call, Compiled};
use crate::dtype::{DType, Literal};
use crate::lower::program::{Access, Fold, Load, LoopProgram};
use crate::ops::vector::Emit;

/// Folds a dense operand of `rows × columns` over its columns or its rows.
pub(in crate::codegen) fn matrix(
    rows: usize,
    columns: usize,
    over_rows: bool,
    dtype: DType,
    fold: Fold,
) -> LoopProgram {
    let mut emit = Emit::new();
    let result = emit.load(0, dtype);
    let width = columns as i64;
    let (outer, reduced, strides) =
        if over_rows { (columns, rows, vec![1, width]) } else { (rows, columns, vec![width, 1]) };
    LoopProgram {
        outer: vec![outer],
        store: vec![1],
        reduced: vec![reduced],
        loads: vec![Load { dtype, access: Access::Strided { offset: 0, strides } }],
        indices: vec![],
        words: emit.finish(),
        result,
        fold: Some(fold),
        stored: dtype,
    }
}

const FOLDS: [Fold; 4] = [Fold::Sum, Fold::Prod, Fold::Max, Fold::Min];

#[test]
fn every_dtype_folds_along_and_across() {
    let mut random = Random::new(7);
    for size in SIZES {
        for dtype in DType::ALL {
            for fold in FOLDS {
                if dtype == DType::Bool && matches!(fold, Fold::Sum | Fold::Prod) {
                    continue;
                }
                for (rows, columns, over_rows) in [(3, size, false), (size, 3, true), (40, size.min(257), true)] {
                    let program = matrix(rows, columns, over_rows, dtype, fold);
                    let operand = (0..(rows * columns).max(1)).map(|_| random.value(dtype)).collect();
                    check(&program, &[operand]);
                }
            }
        }
    }
}

#[test]
fn the_order_follows_the_memory() {
    assert_eq!(Order::of(&matrix(1024, 1024, false, DType::F32, Fold::Sum)), Order::Along);
    assert_eq!(Order::of(&matrix(1024, 1024, true, DType::F32, Fold::Sum)), Order::Across);
    assert_eq!(Order::of(&matrix(1 << 20, 8, false, DType::F32, Fold::Sum)), Order::Along);
    assert_eq!(Order::of(&matrix(1, 1 << 20, false, DType::F32, Fold::Sum)), Order::Along);
    assert_eq!(Order::of(&matrix(4, 1 << 20, true, DType::F32, Fold::Sum)), Order::Across);
    // A tall table is read once, not once for each column; also if the second cache would hold it.
    assert_eq!(Order::of(&matrix(1 << 13, 16, true, DType::F32, Fold::Sum)), Order::Across);
    assert_eq!(Order::of(&matrix(1 << 20, 16, true, DType::F32, Fold::Sum)), Order::Across);
    assert_eq!(Order::of(&matrix(1 << 20, 16, true, DType::U8, Fold::Max)), Order::Across);
}

#[test]
fn columns_of_a_tall_table_stay_together() {
    for rows in [10_000, 100_000, 1 << 20] {
        let program = matrix(rows, 64, true, DType::F32, Fold::Sum);
        let split = Split::of(&program, Fold::Sum, true, 3, 1 << 18, 512);
        let mut out = [0u8; 4 * 64];
        for part in 0..split.parts() {
            // SAFETY: there are elements, so nothing is written.
            let part = unsafe { split.part(part, out.as_mut_ptr()) }.unwrap();
            assert_eq!(part.outputs, 0..64, "{rows} rows");
        }
    }
}

#[test]
fn parts_across_take_more_leaves_as_long_as_there_are_enough_of_them() {
    let leaves = |rows| {
        let program = matrix(rows, 4096, true, DType::F32, Fold::Sum);
        let split = Split::of(&program, Fold::Sum, true, 3, 1 << 18, 4096);
        // SAFETY: there are elements, so nothing is written.
        let first = unsafe { split.part(0, std::ptr::null_mut()) }.unwrap();
        (first.leaves.len(), split.parts())
    };
    assert_eq!(leaves(512), (1, 16));
    assert_eq!(leaves(1024), (2, 16));
    assert_eq!(leaves(4096), (8, 16));
    assert_eq!(leaves(1 << 13), (8, 32));
}

#[test]
fn sums_are_close_to_exact() {
    let mut random = Random::new(8);
    for (rows, columns, over_rows) in [(1, 1_000_003, false), (50_000, 20, true), (3, 200_000, false)] {
        let values: Vec<f32> = (0..rows * columns).map(|_| (random.below(1 << 24) as f32) / (1 << 24) as f32).collect();
        let operand = values.iter().map(|&value| Literal::F32(value)).collect();
        let program = matrix(rows, columns, over_rows, DType::F32, Fold::Sum);
        for (output, found) in run(&program, &[operand], &Told::default(), true).unwrap().iter().enumerate() {
            let exact: f64 = if over_rows {
                (0..rows).map(|row| f64::from(values[row * columns + output])).sum()
            } else {
                values[output * columns..][..columns].iter().map(|&value| f64::from(value)).sum()
            };
            let error = (found.to_f64() - exact).abs() / exact;
            assert!(error < 20.0 * f64::from(f32::EPSILON), "off by {error} of {exact}");
        }
    }
}

#[test]
fn long_folds_are_split_without_changing_a_bit() {
    let mut random = Random::new(9);
    for (rows, columns, over_rows) in [(1, 300_001, false), (5, 70_000, false), (9_001, 33, true), (4_100, 600, true)] {
        for dtype in [DType::F32, DType::F64, DType::U8, DType::BF16] {
            let program = matrix(rows, columns, over_rows, dtype, Fold::Sum);
            let compiled = Compiled::interpreted(&program, true);
            assert!(compiled.parts() > 1 && compiled.partial_bytes() > 0, "{rows} × {columns}");
            let number = |random: &mut Random| Literal::from_f64(dtype, random.below(1000) as f64 / 64.0);
            check(&program, &[(0..rows * columns).map(|_| number(&mut random)).collect()]);
        }
    }
}

#[test]
fn parts_may_run_on_many_threads() {
    fn shared<T: Send + Sync>(_: &T) {}
    let program = matrix(2000, 700, true, DType::F32, Fold::Sum);
    let values: Vec<Literal> = (0..2000 * 700).map(|i| Literal::F32((i % 1013) as f32 / 7.0)).collect();
    let compiled = Compiled::interpreted(&program, true);
    shared(&compiled);
    let operand = buffer(&values);
    let (operand_at, mut partials, mut out) =
        (operand.as_ptr() as usize, vec![0u64; compiled.partial_bytes().div_ceil(8)], vec![0f32; 700]);
    let partials_at = partials.as_mut_ptr() as usize;
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let compiled = &compiled;
            scope.spawn(move || {
                for part in (thread..compiled.parts()).step_by(4) {
                    let loads = [operand_at as *const u8];
                    let call = Call { loads: &loads, scalars: &[], out: partials_at as *mut u8, origin: 0 };
                    // SAFETY: the operand has all positions, the partial results have their room.
                    unsafe { compiled.run(part, &call) }.unwrap();
                }
            });
        }
    });
    // SAFETY: all parts have run.
    unsafe { compiled.finish(partials.as_ptr().cast(), out.as_mut_ptr().cast()) };
    let expected = run(&program, &[values], &Told::default(), true).unwrap();
    assert_eq!(out.into_iter().map(Literal::F32).collect::<Vec<_>>(), expected);
}

#[test]
fn nan_wins_and_nothing_gives_the_identity() {
    let nan = matrix(1, 3, false, DType::F32, Fold::Max);
    let found = run(&nan, &[[1.0, f32::NAN, 2.0].map(Literal::F32).to_vec()], &Told::default(), true).unwrap();
    assert!(found[0].to_f64().is_nan());
    for (fold, dtype, expected) in [
        (Fold::Sum, DType::I16, Literal::I16(0)),
        (Fold::Prod, DType::F16, Literal::one(DType::F16)),
        (Fold::Max, DType::I8, Literal::I8(-128)),
        (Fold::Min, DType::U16, Literal::U16(65535)),
        (Fold::Max, DType::F64, Literal::F64(f64::NEG_INFINITY)),
        (Fold::Min, DType::Bool, Literal::Bool(true)),
        (Fold::Min, DType::U64, Literal::U64(u64::MAX)),
    ] {
        let empty = matrix(1000, 0, false, dtype, fold);
        assert_eq!(run(&empty, &[vec![Literal::zero(dtype)]], &Told::default(), true).unwrap(), vec![expected; 1000]);
    }
}
