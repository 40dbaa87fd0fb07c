//! Operands that are dense along another axis than the output: transposes of every dtype, at sizes around blocks and tiles.

use super::super::asm::Width;
use super::super::kernel::Kernel;
use super::super::tiled::PIECE_BYTES;
use super::super::{Jit, Kind, is_wide_machine, machine};
use super::guarded::Guarded;
use super::{check, each_way, jit_for, listing, run_on, widths};
use crate::codegen::block::tests::Random;
use crate::codegen::block::tests::scalar::{Scalar, Told, evaluate, places};
use crate::codegen::{self, Around, Call};
use crate::dtype::{DType, Literal};
use crate::lower::program::{Access, Load, LoopProgram, dense};
use crate::ops::math;
use crate::ops::vector::{Emit, Lane, Unary, Val};
use std::sync::Arc;

/// Dense strides of a tensor whose axes, outermost first, are in the given order.
fn permuted(sizes: &[usize], order: &[usize]) -> Vec<i64> {
    let mut strides = vec![0; sizes.len()];
    let mut step = 1;
    for &axis in order.iter().rev() {
        strides[axis] = step;
        step *= sizes[axis] as i64;
    }
    strides
}

/// A program that folds what it loads into one value, and random operands for it.
fn program(
    random: &mut Random,
    sizes: &[usize],
    loads: &[(DType, i64, Vec<i64>)],
    stored: DType,
    value: impl FnOnce(&mut Emit, Vec<Val>) -> Val,
) -> (LoopProgram, Vec<Vec<Literal>>) {
    let mut emit = Emit::new();
    let values = loads.iter().enumerate().map(|(slot, (dtype, ..))| emit.load(slot, *dtype)).collect();
    let result = value(&mut emit, values);
    let reach = |strides: &[i64]| -> i64 {
        sizes.iter().zip(strides).map(|(&size, &stride)| (stride * (size.max(1) as i64 - 1)).max(0)).sum()
    };
    let operands = loads
        .iter()
        .map(|(dtype, offset, strides)| (0..=offset + reach(strides)).map(|_| random.value(*dtype)).collect())
        .collect();
    let load = |(dtype, offset, strides): &(DType, i64, Vec<i64>)| {
        let access = Access::Strided { offset: *offset, strides: strides.clone() };
        Load { dtype: *dtype, access }
    };
    let program = LoopProgram {
        outer: sizes.to_vec(),
        store: dense(sizes),
        reduced: vec![],
        loads: loads.iter().map(load).collect(),
        indices: vec![],
        words: emit.finish(),
        result,
        fold: None,
        stored,
    };
    (program, operands)
}

/// Whether the program is walked in tiles.
fn is_tiled(program: &LoopProgram) -> bool {
    matches!(Jit::of(program, Around::default(), Width::Y), Some(Jit(Kind::Tiled(_))))
}

#[test]
fn a_transposed_copy_of_every_dtype_and_size() {
    let mut random = Random::new(11);
    for (rows, columns) in [
        (8, 8),
        (9, 8),
        (8, 9),
        (63, 65),
        (64, 64),
        (65, 63),
        (7, 70),
        (70, 7),
        (300, 20),
        (20, 300),
        (9, 1100),
        (1100, 9),
        // Rows that begin on cache lines.
        (300, 32),
        (17, 304),
        (530, 160),
    ] {
        for dtype in DType::ALL {
            // The operand's own rows may lie apart, and it may begin anywhere.
            for (offset, gap) in [(0, 0), (3, 5)] {
                let strides = vec![1, rows as i64 + gap];
                let sizes = [rows, columns];
                let (program, operands) =
                    program(&mut random, &sizes, &[(dtype, offset, strides)], dtype, |_, values| values[0]);
                assert!(check(&program, &operands), "{dtype} is served");
                assert_eq!(is_tiled(&program), machine() && rows >= 8 && columns >= 8);
            }
        }
    }
}

#[test]
fn operands_that_disagree_in_one_expression() {
    let mut random = Random::new(12);
    for (rows, columns) in [(8, 8), (9, 17), (64, 33), (33, 130)] {
        let (r, c) = (rows as i64, columns as i64);
        for dtype in [DType::F32, DType::F64, DType::U8, DType::BF16, DType::I64] {
            // Dense; turned; turned from the last column on; one row for all; one element a row; turned, every other row.
            let loads = [
                (dtype, 0, vec![c, 1]),
                (dtype, 1, vec![1, r]),
                (dtype, r * (c - 1), vec![1, -r]),
                (dtype, 0, vec![0, 1]),
                (dtype, 0, vec![1, 0]),
                (dtype, 0, vec![2, 2 * r]),
            ];
            let (program, operands) = program(&mut random, &[rows, columns], &loads, dtype, |emit, values| {
                let sum = values.iter().copied().reduce(|a, b| emit.add(a, b)).expect("operands");
                let position = emit.position();
                let position = match sum.lane {
                    Lane::I32 => emit.convert(Unary::Truncate, position, Lane::I32),
                    Lane::F32 => emit.convert(Unary::ToF32, position, Lane::F32),
                    Lane::I64 => position,
                    _ => emit.convert(Unary::ToF64, position, Lane::F64),
                };
                emit.add(sum, position)
            });
            assert!(check(&program, &operands));
            assert_eq!(is_tiled(&program), machine());
        }
    }
}

/// Checks what is made of a batch of square matrices, whose rows lie `pitch` elements apart, of their transposes, and of one row for all.
fn check_with_transpose(
    random: &mut Random,
    [batch, n, pitch]: [usize; 3],
    dtype: DType,
    told: &Told,
    value: impl FnOnce(&mut Emit, Vec<Val>) -> Val,
) -> LoopProgram {
    let (pitch, size) = (pitch as i64, n as i64);
    let matrix = |strides: [i64; 2]| (dtype, 5, vec![pitch * size, strides[0], strides[1]]);
    let loads = [matrix([pitch, 1]), matrix([1, pitch]), (dtype, 0, vec![0, 0, 1])];
    let (program, mut operands) = program(random, &[batch, n, n], &loads, dtype, value);
    operands[1] = operands[0].clone();
    let expected = evaluate(&program, &operands, told).expect("no faults");
    let buffers = [&operands[0], &operands[2]].map(|values| Guarded::of(values, true));
    let loads = [buffers[0].start(), buffers[0].start(), buffers[1].start()];
    for &full in widths() {
        let compiled = jit_for(&program, usize::MAX, full).expect("it is served");
        each_way(&compiled, |_| {
            let found = run_on(&program, &compiled, &loads, told, false).expect("no faults");
            let is_same = |(&a, &b): (&Literal, &Literal)| Scalar::of(a).same(Scalar::of(b));
            assert_eq!(found.len(), expected.len());
            assert!(found.iter().zip(&expected).all(is_same), "{dtype} {batch} {n} {pitch} {full:?}");
        });
    }
    program
}

#[test]
fn a_large_matrix_meets_its_own_transpose() {
    let mut random = Random::new(15);
    for (batch, n) in [(1, 8), (2, 48), (1, 64), (2, 65), (1, 144), (1, 176), (1, 200), (3, 130), (1, 333)] {
        for dtype in [DType::F32, DType::F64, DType::I16, DType::U8] {
            // Rows that crowd a cache, and rows that do not.
            for pitch in [2048, n + 3] {
                check_with_transpose(&mut random, [batch, n, pitch], dtype, &Told::default(), |emit, values| {
                    let difference = emit.sub(values[0], values[1]);
                    let sum = emit.add(difference, values[2]);
                    match dtype {
                        DType::U8 => emit.convert(Unary::WrapU8, sum, Lane::I32),
                        DType::I16 => emit.convert(Unary::WrapI16, sum, Lane::I32),
                        _ => sum,
                    }
                });
            }
        }
    }
}

/// The kernels that turn an operand in registers, if the program has some for large outputs.
fn turning_kernels(program: &LoopProgram) -> Vec<Arc<Kernel>> {
    let jit = Jit::of(program, Around { bytes: usize::MAX, ..Around::default() }, Width::Z).expect("it is served");
    jit.kernels().into_iter().filter(|kernel| kernel.assembly().starts_with("; a map that turns in")).collect()
}

#[test]
fn squares_that_are_only_turned_are_followed_by_their_mirror_images() {
    let mut random = Random::new(20);
    for (batch, n) in [(3, 48), (1, 272), (2, 512), (1, 560), (2, 592), (1, 523)] {
        for dtype in [DType::F32, DType::F64, DType::I32, DType::U64, DType::F16] {
            for (offset, gap) in [(0, 0), (3, 5)] {
                let pitch = n as i64 + gap;
                let strides = vec![pitch * n as i64, 1, pitch];
                let (program, operands) =
                    program(&mut random, &[batch, n, n], &[(dtype, offset, strides)], dtype, |_, values| values[0]);
                assert!(check(&program, &operands), "{dtype} is served");
                let on_lines = (n * dtype.size()).is_multiple_of(64);
                let has_blocks = is_wide_machine() && dtype.size() >= 4 && n * dtype.size() >= 2048 && on_lines;
                assert_eq!(turning_kernels(&program).len(), usize::from(has_blocks), "{dtype} {n}");
            }
        }
    }
}

#[test]
fn blocks_are_turned_in_registers() {
    let mut random = Random::new(16);
    let told = Told { scalars: vec![u64::from(0.75f32.to_bits()), 0.75f64.to_bits()], origin: 0 };
    // The last has five tiles of doubles each way, and three of words.
    for (batch, n) in [(1, 32), (3, 48), (2, 80), (1, 128), (1, 144), (1, 272), (1, 560)] {
        for dtype in [DType::F32, DType::F64, DType::I32, DType::I64] {
            let program = check_with_transpose(&mut random, [batch, n, n + 3], dtype, &told, |emit, values| {
                let difference = emit.sub(values[0], values[1]);
                let factor = match dtype {
                    DType::F32 => emit.scalar(0, dtype),
                    DType::F64 => emit.scalar(1, dtype),
                    _ => values[1],
                };
                let product = emit.mul(difference, factor);
                emit.add(product, values[2])
            });
            if is_wide_machine() {
                // One for short blocks, and one for long ones; small squares are one tile.
                let kernels = turning_kernels(&program);
                assert_eq!(kernels.len(), if n * dtype.size() > PIECE_BYTES { 2 } else { 0 }, "{dtype} {n}");
                kernels.iter().for_each(|k| listing::check(&k.code, &k.constants, &k.assembly()));
            }
        }
    }
}

#[test]
fn what_takes_many_registers_or_knows_its_place_is_turned_into_scratch() {
    let mut random = Random::new(17);
    let sizes = [1, 80, 83];
    let sine = check_with_transpose(&mut random, sizes, DType::F32, &Told::default(), |emit, values| {
        let both = emit.mul(values[0], values[1]);
        let sine = math::sin(emit, both);
        emit.add(sine, values[2])
    });
    let place = check_with_transpose(&mut random, sizes, DType::I64, &Told::default(), |emit, values| {
        let (difference, position) = (emit.sub(values[0], values[1]), emit.position());
        emit.add(difference, position)
    });
    if is_wide_machine() {
        assert!(turning_kernels(&sine).is_empty() && turning_kernels(&place).is_empty());
    }
}

#[test]
fn operands_of_several_dtypes_turn_together() {
    let mut random = Random::new(13);
    let (rows, columns) = (75, 41);
    let turned = vec![1, rows as i64];
    let loads =
        [(DType::F64, 0, turned.clone()), (DType::Bool, 0, turned.clone()), (DType::F64, 0, vec![columns as i64, 1])];
    let (program, operands) = program(&mut random, &[rows, columns], &loads, DType::F64, |emit, values| {
        emit.select(values[1], values[0], values[2])
    });
    assert!(check(&program, &operands));
    assert_eq!(is_tiled(&program), machine());
}

#[test]
fn every_permutation_of_three_axes() {
    let mut random = Random::new(14);
    let orders = [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]];
    for sizes in [[9, 10, 11], [3, 70, 9], [70, 3, 9], [70, 9, 3], [8, 1, 64], [0, 9, 9]] {
        for dtype in [DType::F32, DType::U16, DType::F64] {
            for (order, other) in orders.iter().flat_map(|order| orders.iter().map(move |other| (order, other))) {
                let loads = [order, other].map(|order| (dtype, 0, permuted(&sizes, order)));
                let (program, operands) =
                    program(&mut random, &sizes, &loads, dtype, |emit, values| emit.add(values[0], values[1]));
                assert!(check(&program, &operands) || sizes.contains(&3));
            }
        }
    }
}

#[test]
fn squares_are_walked_tile_by_tile_with_the_mirror_image_next() {
    let mut random = Random::new(15);
    for sizes in [vec![1024, 1024], vec![2, 512, 512], vec![3, 130, 130], vec![1024, 512]] {
        let rank = sizes.len();
        let mut order: Vec<usize> = (0..rank).collect();
        let straight = permuted(&sizes, &order);
        order.swap(rank - 2, rank - 1);
        let loads = [(DType::F32, 0, straight), (DType::F32, 0, permuted(&sizes, &order))];
        let (program, operands) =
            program(&mut random, &sizes, &loads, DType::F32, |emit, values| emit.sub(values[0], values[1]));
        assert!(check(&program, &operands));
        assert_eq!(is_tiled(&program), machine());
    }
}

#[test]
fn only_the_second_way_goes_back_every_other_time() {
    let Some(&full) = widths().last().filter(|_| is_wide_machine()) else { return };
    let n = 1104;
    let loads = [(DType::F32, 0, vec![1, n as i64])];
    let (program, _) = program(&mut Random::new(22), &[n, n], &loads, DType::F32, |_, values| values[0]);
    let compiled = jit_for(&program, usize::MAX, full).expect("it is served");
    each_way(&compiled, |way| {
        let found = [(); 4].map(|()| compiled.goes_back());
        assert_eq!(found, if way == 1 { [false, true, false, true] } else { [false; 4] });
    });
}

/// Several threads may run a program at once, and what one of them finds out changes the way of the others' next parts.
#[test]
fn parts_of_one_run_may_take_different_ways() {
    let mut random = Random::new(21);
    for (n, is_only_turned) in [(1104, true), (1072, false)] {
        let (turned, straight) = ((DType::F32, 0, vec![1, n as i64]), (DType::F32, 0, vec![n as i64, 1]));
        let loads = if is_only_turned { vec![turned] } else { vec![turned, straight] };
        let (program, operands) = program(&mut random, &[n, n], &loads, DType::F32, |emit, values| {
            values.into_iter().reduce(|a, b| emit.sub(a, b)).expect("operands")
        });
        let matrix = Guarded::of(&operands[0], false);
        let operands = vec![operands[0].clone(); program.loads.len()];
        let expected = evaluate(&program, &operands, &Told::default()).expect("no faults");
        for &full in widths() {
            let compiled = jit_for(&program, usize::MAX, full).expect("it is served");
            assert!(compiled.parts() > 2, "{n}");
            for first_way in [0, 1] {
                let mut out = Guarded::new(n * n * 4, false);
                let loads = vec![matrix.start(); operands.len()];
                let call = Call { loads: &loads, scalars: &[], out: out.start_mut(), origin: 0 };
                for part in 0..compiled.parts() {
                    if let codegen::Kind::Jit(jit) = &compiled.0 {
                        jit.trial().into_iter().for_each(|trial| trial.settle_for((first_way + part) % 2));
                    }
                    // SAFETY: both buffers have room for all elements.
                    unsafe { compiled.run(part, &call) }.expect("no faults");
                }
                let found = out.elements(DType::F32, &places(&program));
                let same = |(&one, &other): (&Literal, &Literal)| Scalar::of(one).same(Scalar::of(other));
                assert!(expected.iter().zip(&found).all(same), "{n}, {full:?}, first way {first_way}");
            }
        }
    }
}
