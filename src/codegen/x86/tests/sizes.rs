//! Every dtype through memory at every size around vectors and tails, at every kind of stride, in rows.

use super::super::asm::Width;
use super::super::{Jit, ZEN_5, family_of_amd};
use super::{check, widths};
use crate::codegen::Around;
use crate::codegen::block::tests::Random;
use crate::dtype::DType;
use crate::lower::program::{Access, Fold, Load, LoopProgram};
use crate::ops::vector::{Emit, Lane, Unary};

fn sizes() -> impl Iterator<Item = usize> {
    (0..=70).chain([255, 256, 257, 511, 512, 513, 1025])
}

/// An access along one axis, and the elements it needs.
fn along(stride: i64, offset: i64, n: usize) -> (Access, usize) {
    let reach = stride * (n.max(1) as i64 - 1);
    let first = offset + (-reach).max(0);
    (Access::Strided { offset: first, strides: vec![stride] }, (first + reach.max(0) + 1) as usize)
}

#[test]
fn every_dtype_at_every_size_and_stride() {
    let mut random = Random::new(1);
    for n in sizes() {
        for dtype in DType::ALL {
            for (stride, offset) in [(1, 0), (1, 1), (0, 3), (2, 0), (-1, 2), (-3, 0)] {
                let (access, length) = along(stride, offset, n);
                let mut emit = Emit::new();
                let result = emit.load(0, dtype);
                let program = LoopProgram {
                    outer: vec![n],
                    store: vec![1],
                    reduced: vec![],
                    loads: vec![Load { dtype, access }],
                    indices: vec![],
                    words: emit.finish(),
                    result,
                    fold: None,
                    stored: dtype,
                };
                let values = (0..length).map(|_| random.value(dtype)).collect();
                assert!(check(&program, &[values]), "{dtype} is served");
            }
        }
    }
}

#[test]
fn narrow_and_wide_lanes_share_a_kernel_at_every_size() {
    let mut random = Random::new(2);
    for n in sizes() {
        for narrow in [DType::F32, DType::F16, DType::I8, DType::U16, DType::Bool] {
            // Chosen by a comparison of doubles: lanes of both widths in one program.
            let (mut emit, lane) = (Emit::new(), Lane::of(narrow));
            let (x, a, b) = (emit.load(0, DType::F64), emit.load(1, narrow), emit.load(2, narrow));
            let zero = emit.float(Lane::F64, 0.0);
            let positive = emit.lt(zero, x);
            let result = emit.select(positive, a, b);
            assert_eq!(result.lane, lane);
            let accesses = [along(1, 1, n), along(1, 0, n), along(-2, 0, n)];
            let dtypes = [DType::F64, narrow, narrow];
            let operands: Vec<Vec<_>> = accesses
                .iter()
                .zip(dtypes)
                .map(|((_, length), dtype)| (0..*length).map(|_| random.value(dtype)).collect())
                .collect();
            let loads = accesses.into_iter().zip(dtypes).map(|((access, _), dtype)| Load { dtype, access }).collect();
            let program = LoopProgram {
                outer: vec![n],
                store: vec![1],
                reduced: vec![],
                loads,
                indices: vec![],
                words: emit.finish(),
                result,
                fold: None,
                stored: narrow,
            };
            assert!(check(&program, &operands));
        }
    }
}

#[test]
fn rows_with_gaps_repeats_and_turns() {
    let mut random = Random::new(3);
    for columns in [1, 3, 7, 8, 9, 16, 17, 33, 64, 65] {
        for rows in [1, 2, 5, 40] {
            for dtype in [DType::F32, DType::F64, DType::U8, DType::BF16] {
                let (r, c) = (rows as i64, columns as i64);
                // Rows apart; one row for all; one element a row; turned; backwards.
                let layouts =
                    [(0, vec![c + 3, 1]), (0, vec![0, 1]), (0, vec![1, 0]), (0, vec![1, r]), (r * c - 1, vec![-c, -1])];
                let (mut emit, mut loads, mut operands) = (Emit::new(), Vec::new(), Vec::new());
                let mut sum = None;
                for (slot, (offset, strides)) in layouts.into_iter().enumerate() {
                    let last: i64 = strides.iter().zip([r, c]).map(|(s, n): (&i64, i64)| (s * (n - 1)).max(0)).sum();
                    operands.push((0..=offset + last).map(|_| random.value(dtype)).collect::<Vec<_>>());
                    loads.push(Load { dtype, access: Access::Strided { offset, strides } });
                    let x = emit.load(slot, dtype);
                    sum = Some(sum.map_or(x, |sum| emit.add(sum, x)));
                }
                let position = emit.position();
                let position = emit.convert(Unary::Truncate, position, Lane::I32);
                let sum = sum.unwrap();
                let position = match sum.lane {
                    Lane::I32 => position,
                    Lane::F32 => emit.convert(Unary::ToF32, position, Lane::F32),
                    _ => emit.convert(Unary::ToF64, position, Lane::F64),
                };
                let result = emit.add(sum, position);
                let program = LoopProgram {
                    outer: vec![rows, columns],
                    store: vec![columns as i64, 1],
                    reduced: vec![],
                    loads,
                    indices: vec![],
                    words: emit.finish(),
                    result,
                    fold: None,
                    stored: dtype,
                };
                assert!(check(&program, &operands));
            }
        }
    }
}

#[test]
fn folds_at_every_size_in_both_orders() {
    let mut random = Random::new(4);
    let folds = [Fold::Sum, Fold::Prod, Fold::Max, Fold::Min];
    let mut served = 0;
    for n in sizes().chain([2047, 2048, 2049, 4100]) {
        for dtype in [DType::F32, DType::F64, DType::I64, DType::U8, DType::F16] {
            let fold = random.pick(&folds);
            for (rows, columns, over_rows) in [(2, n, false), (n, 37, true), (35, n.min(520), true)] {
                let program = crate::codegen::block::tests::folds::matrix(rows, columns, over_rows, dtype, fold);
                let values = (0..(rows * columns).max(1)).map(|_| random.value(dtype)).collect();
                served += usize::from(check(&program, &[values]));
            }
        }
    }
    assert!(served > 500, "{served} were served");
}

#[test]
fn folds_across_wide_rows_and_over_many_short_ones() {
    let mut random = Random::new(5);
    for dtype in [DType::F32, DType::F64, DType::I64, DType::U8] {
        // More outputs than a block has, in parts; then rows that are read one by one.
        for (rows, columns) in [(70, 5000), (300, 4099), (8200, 33)] {
            let program = crate::codegen::block::tests::folds::matrix(rows, columns, true, dtype, Fold::Sum);
            let values = (0..rows * columns).map(|_| random.value(dtype)).collect();
            assert!(check(&program, &[values]), "{dtype} is served");
        }
    }
}

#[test]
fn folds_across_have_factors_that_are_the_same_for_a_row() {
    let mut random = Random::new(8);
    for dtype in [DType::F32, DType::F64, DType::I32, DType::F16, DType::BF16, DType::U8] {
        for columns in [5, 8, 70, 600, 1100] {
            for (rows, factors) in [(1, 1), (7, 1), (8, 2), (45, 1), (100, 2), (70, 3)] {
                // Σ over rows of x·w, x·w·v or x·w·v·u, each factor one number a row.
                let mut emit = Emit::new();
                let mut result = emit.load(0, dtype);
                let mut accesses = vec![(vec![1, columns as i64], rows * columns)];
                for slot in 1..=factors {
                    let factor = emit.load(slot, dtype);
                    result = emit.mul(result, factor);
                    accesses.push((vec![0, 1], rows));
                }
                let load = |strides: &Vec<i64>| Load {
                    dtype,
                    access: Access::Strided { offset: 0, strides: strides.clone() },
                };
                let program = LoopProgram {
                    outer: vec![columns],
                    store: vec![1],
                    reduced: vec![rows],
                    loads: accesses.iter().map(|(strides, _)| load(strides)).collect(),
                    indices: vec![],
                    words: emit.finish(),
                    result,
                    fold: Some(Fold::Sum),
                    stored: dtype,
                };
                let operands: Vec<Vec<_>> =
                    accesses.iter().map(|(_, length)| (0..*length).map(|_| random.value(dtype)).collect()).collect();
                assert!(check(&program, &operands), "{dtype} {rows}x{columns} of {factors} is served");
            }
        }
    }
}

#[test]
fn folds_across_rows_of_several_groups_of_columns() {
    let mut random = Random::new(7);
    for dtype in [DType::F32, DType::F64, DType::I32, DType::F16, DType::U8] {
        for columns in [40, 63, 64, 65, 72, 96, 100, 127, 128, 129, 256, 500, 512] {
            for rows in [1, 31, 33, 290, 1030] {
                let fold = random.pick(&[Fold::Sum, Fold::Max]);
                let program = crate::codegen::block::tests::folds::matrix(rows, columns, true, dtype, fold);
                let values = (0..rows * columns).map(|_| random.value(dtype)).collect();
                assert!(check(&program, &[values]), "{dtype} {rows}x{columns} is served");
            }
        }
    }
}

#[test]
fn outputs_of_several_leaves_are_folded_together() {
    let mut random = Random::new(6);
    for dtype in [DType::F32, DType::F64, DType::I32, DType::U8] {
        for (rows, columns) in [(300, 2 * 2048), (5, 3 * 2048), (4, 2048 * 2 + 1), (1, 2 * 2048)] {
            let program = crate::codegen::block::tests::folds::matrix(rows, columns, false, dtype, Fold::Sum);
            let values = (0..rows * columns).map(|_| random.value(dtype)).collect();
            assert!(check(&program, &[values]), "{dtype} is served");
        }
    }
}

#[test]
fn folds_of_much_memory_take_two_leaves_at_once() {
    let mut random = Random::new(7);
    let leaf = 2048;
    let cases = [
        (DType::F32, Fold::Sum, 1, 513 * leaf + 5),
        (DType::F32, Fold::Max, 3, 171 * leaf * 2 + 77),
        (DType::I32, Fold::Sum, 131, 4 * leaf),
        (DType::F16, Fold::Max, 2, 512 * leaf),
        (DType::F32, Fold::Sum, 1031, 1024),
        (DType::F64, Fold::Sum, 3, 101 * leaf * 2 + 31),
        (DType::I64, Fold::Max, 131, 4096),
    ];
    for (dtype, fold, rows, columns) in cases {
        let program = crate::codegen::block::tests::folds::matrix(rows, columns, false, dtype, fold);
        let values = (0..rows * columns).map(|_| random.value(dtype)).collect();
        assert!(check(&program, &[values]), "{dtype} {rows}x{columns} is served");
        // Accumulators of 64 bits need registers of 512.
        let narrowest = usize::from(dtype.size() == 8);
        assert_pairs(&program, widths().get(narrowest..).unwrap_or(&[]));
    }

    // Rows of two operands, of which one begins late and one has gaps between its rows.
    let (rows, columns) = (5, 52 * leaf * 2 + 1);
    let mut emit = Emit::new();
    let (x, y) = (emit.load(0, DType::F32), emit.load(1, DType::F32));
    let result = emit.mul(x, y);
    let load =
        |offset: i64, row: i64| Load { dtype: DType::F32, access: Access::Strided { offset, strides: vec![row, 1] } };
    let program = LoopProgram {
        outer: vec![rows],
        store: vec![1],
        reduced: vec![columns],
        loads: vec![load(3, columns as i64), load(0, columns as i64 + 9)],
        indices: vec![],
        words: emit.finish(),
        result,
        fold: Some(Fold::Sum),
        stored: DType::F32,
    };
    let operands = [3, 9 * rows].map(|more| (0..rows * columns + more).map(|_| random.value(DType::F32)).collect());
    assert!(check(&program, &operands), "a product of two is served");
    assert_pairs(&program, widths());
}

#[test]
fn sums_of_much_memory_ask_for_it_early() {
    let mut random = Random::new(9);
    for dtype in [DType::F32, DType::F64, DType::I32, DType::U8] {
        // Two leaves at once; short rows whose sums are kept; several long rows at once.
        for (rows, columns, over_rows) in [(131, 33_000, false), (33_000, 128, true), (530, 8200, true)] {
            let program = crate::codegen::block::tests::folds::matrix(rows, columns, over_rows, dtype, Fold::Sum);
            let values = (0..rows * columns).map(|_| random.value(dtype)).collect();
            assert!(check(&program, &[values]), "{dtype} {rows}x{columns} is served");
            if widths().contains(&Width::Z) {
                let listing = Jit::of(&program, Around::default(), Width::Z).expect("it is served").assembly();
                // What is narrow takes longer to fold than to fetch, but for several long rows. Some machines follow those by themselves.
                let is_early = match columns {
                    8200 => family_of_amd().is_none(),
                    _ => dtype.size() >= 4 && family_of_amd().is_none_or(|family| family < ZEN_5),
                };
                assert_eq!(listing.contains("prefetcht1"), is_early, "{dtype} {rows}x{columns}: {listing}");
                assert!(!listing.contains("prefetcht0"), "{dtype} {rows}x{columns}: {listing}");
            }
        }
    }
}

/// Fails unless there is a kernel for two rows at once, in each of these registers.
fn assert_pairs(program: &LoopProgram, widths: &[Width]) {
    for &full in widths {
        let listing = Jit::of(program, Around::default(), full).expect("it is served").assembly();
        assert!(listing.contains("two rows at once"), "{listing}");
    }
}

#[test]
fn short_runs_of_outputs_keep_their_accumulators() {
    let mut random = Random::new(5);
    // Outer axes, reduced axes: one leaf and several, whole ones and not, in one run and in many.
    let spaces: [([usize; 2], [usize; 2]); 6] = [
        ([3, 16], [1, 40]),
        ([5, 128], [1, 512]),
        ([2, 136], [1, 300]),
        ([40, 24], [3, 70]),
        ([2, 100], [65, 8]),
        ([1, 256], [2, 1030]),
    ];
    for (outer, reduced) in spaces {
        for dtype in [DType::F32, DType::F64, DType::I32, DType::U8, DType::BF16] {
            for fold in [Fold::Sum, Fold::Max] {
                let [rows, columns] = outer.map(|size| size as i64);
                let [far, near] = reduced.map(|size| size as i64);
                // Side by side; one element for each step; every other element, backwards; one row for all.
                let layouts = [
                    (0, [far * near * columns, 1, near * columns, columns]),
                    (0, [0, 0, near, 1]),
                    (2 * columns - 2, [far * near * 2 * columns, -2, near * 2 * columns, 2 * columns]),
                    (0, [0, 1, 0, 0]),
                ];
                let (mut emit, mut loads, mut operands) = (Emit::new(), Vec::new(), Vec::new());
                for (offset, strides) in layouts {
                    let reach = |(stride, size): (&i64, i64)| (stride * (size - 1)).max(0);
                    let last: i64 = strides.iter().zip([rows, columns, far, near]).map(reach).sum();
                    operands.push((0..=offset + last).map(|_| random.value(dtype)).collect::<Vec<_>>());
                    loads.push(Load { dtype, access: Access::Strided { offset, strides: strides.to_vec() } });
                }
                let [x, weight, other, same] = [0, 1, 2, 3].map(|slot| emit.load(slot, dtype));
                let product = emit.mul(x, weight);
                let sum = emit.add(product, other);
                let result = emit.add(sum, same);
                let program = LoopProgram {
                    outer: outer.to_vec(),
                    store: vec![columns, 1],
                    reduced: reduced.to_vec(),
                    loads,
                    indices: vec![],
                    words: emit.finish(),
                    result,
                    fold: Some(fold),
                    stored: dtype,
                };
                assert!(check(&program, &operands), "{outer:?} over {reduced:?} of {dtype} is served");
            }
        }
    }
}
