//! Short rows that are made into long ones, and parts that are left in the caches or not.

use super::super::longer::Longer;
use super::super::stream::LARGE;
use super::super::walk::{Walk, strided};
use super::random::seeds;
use super::{Guarded, check_told, jit_for, run_on, widths};
use crate::codegen::block::tests::Random;
use crate::codegen::block::tests::scalar::{Scalar, Told, evaluate};
use crate::dtype::{DType, Literal};
use crate::lower::program::{Access, Load, LoopProgram, dense};
use crate::ops::vector::Emit;
use crate::shape::Expr;

/// The largest origin that programs are told.
const MOST_ORIGIN: i64 = 3;

/// The dtypes of the operands, how they lie, and the sizes.
type Case<'c> = (&'c [usize], [&'c [i64]; 3]);

/// A program that stores its last operand where the first is less than the second, and the first elsewhere; operands lie at such strides, from
/// such an offset on.
fn chosen(dtype: DType, sizes: &[usize], strides: [&[i64]; 3], offset: i64, is_told: bool) -> LoopProgram {
    let mut emit = Emit::new();
    let [a, b, c] = [0, 1, 2].map(|slot| emit.load(slot, dtype));
    let less = emit.lt(a, b);
    let result = emit.select(less, c, a);
    let access = |strides: &[i64]| match is_told {
        true => Access::Computed { position: Expr::from_affine(offset, strides), guards: vec![] },
        false => Access::Strided { offset, strides: strides.to_vec() },
    };
    LoopProgram {
        outer: sizes.to_vec(),
        store: dense(sizes),
        reduced: vec![],
        loads: strides.iter().map(|strides| Load { dtype, access: access(strides) }).collect(),
        indices: vec![],
        words: emit.finish(),
        result,
        fold: None,
        stored: dtype,
    }
}

/// The sizes by which a program is walked, if its short rows are made into long ones.
fn longer(program: &LoopProgram) -> Option<Vec<usize>> {
    let strided = strided(program).expect("nothing is guarded");
    let strides = strided.iter().map(|operand| &operand.strides[..]).chain([&program.store[..]]);
    let mut walk = Walk::new(&program.outer, strides);
    Longer::of(program, &mut walk).map(|_| walk.sizes.to_vec())
}

/// Operands of which all elements at such strides are there, from any origin up to the largest.
fn operands(random: &mut Random, dtype: DType, (sizes, strides): Case<'_>, offset: i64) -> Vec<Vec<Literal>> {
    let reach = |strides: &[i64]| {
        let ends = sizes.iter().enumerate().zip(strides).map(|((axis, &size), &stride)| {
            let last = size as i64 - 1 + if axis == 0 { MOST_ORIGIN } else { 0 };
            (last * stride).max(0)
        });
        ends.sum::<i64>() + offset + 1
    };
    strides.iter().map(|strides| (0..reach(strides)).map(|_| random.value(dtype)).collect()).collect()
}

const CASES: [Case<'static>; 8] = [
    // A bias for the last axis; one that is read backwards; one for every batch, whose rows are no whole number of long ones.
    (&[1000, 12], [&[12, 1], &[0, 1], &[0, 1]]),
    (&[700, 33], [&[33, 1], &[0, -1], &[0, 0]]),
    (&[3, 301, 20], [&[6020, 20, 1], &[20, 0, 1], &[0, 0, 1]]),
    // A factor for every channel of small images, and what lies over them in another order.
    (&[90, 5, 7, 6], [&[210, 42, 6, 1], &[0, 1, 0, 0], &[0, 42, 1, 7]]),
    (&[2, 60, 9, 16], [&[8640, 144, 16, 1], &[9, 0, 1, 0], &[0, 0, 0, 0]]),
    // Rows of which every other element is read, and a block as long as a row may be.
    (&[2050, 4], [&[8, 2], &[0, 1], &[0, 3]]),
    (&[80, 30, 64], [&[1920, 64, 1], &[0, 64, 1], &[0, 1, 30]]),
    // One byte after the other: whole cache lines only where many rows are one.
    (&[5003, 3], [&[3, 1], &[0, 1], &[3, 1]]),
];

#[test]
fn rows_beside_what_is_the_same_for_each_are_made_longer() {
    let mut random = Random::new(81);
    for (sizes, strides) in CASES {
        for dtype in [DType::U8, DType::F16, DType::F32, DType::I64] {
            let offset = if strides.iter().any(|strides| strides.contains(&-1)) { 200 } else { 2 };
            for origin in [None, Some(0), Some(3)] {
                let program = chosen(dtype, sizes, strides, offset, origin.is_some());
                let long = longer(&program).unwrap_or_else(|| panic!("{sizes:?} of {dtype} is not made longer"));
                assert!(long.last() > sizes.last(), "{sizes:?} became {long:?}");
                // What an origin adds must be there, and no less than nothing.
                let operands = operands(&mut random, dtype, (sizes, strides), offset);
                let told = Told { origin: origin.unwrap_or(0), ..Told::default() };
                assert!(check_told(&program, &operands, &told), "{sizes:?} of {dtype} from {origin:?}");
            }
        }
    }
}

/// How an operand may lie over axes of such sizes: its strides, and how far it reaches below its first element.
fn random_strides(random: &mut Random, sizes: &[usize]) -> (Vec<i64>, i64) {
    let mut order: Vec<usize> = (0..sizes.len()).collect();
    if random.below(4) == 0 {
        let (a, b) = (random.below(sizes.len()), random.below(sizes.len()));
        order.swap(a, b);
    }
    let step = random.pick(&[1, 1, 1, 2]);
    let repeated = random.pick(&[0, 30, 60]);
    let mut strides = vec![0; sizes.len()];
    let (mut stride, mut below) = (step, 0);
    for &axis in order.iter().rev() {
        if random.below(100) >= repeated {
            strides[axis] = stride;
            stride *= sizes[axis] as i64;
        }
    }
    if random.below(6) == 0 {
        let axis = random.below(sizes.len());
        let last = sizes[axis] as i64 - 1 + if axis == 0 { MOST_ORIGIN } else { 0 };
        below = strides[axis] * last;
        strides[axis] = -strides[axis];
    }
    (strides, below)
}

#[test]
fn random_operands_beside_short_rows() {
    let mut made_longer = 0;
    for seed in seeds(200) {
        let mut random = Random::new(8_500_000_000 + seed);
        let mut sizes: Vec<usize> = (0..random.below(4)).map(|_| 1 + random.below(12)).collect();
        sizes.push(1 + random.below(40));
        // Enough elements for all of this to be worthwhile.
        let inner: usize = sizes.iter().product();
        sizes.insert(random.below(2).min(sizes.len() - 1), 8192_usize.div_ceil(inner) + random.below(9));
        // Bools have no order.
        let dtype = random.pick(&DType::ALL[1..]);
        let mut strides = [0; 3].map(|_| random_strides(&mut random, &sizes));
        if random.below(3) > 0 {
            let dense = dense(&sizes);
            strides[random.below(3)] = (dense, 0);
        }
        let offset = strides.iter().map(|&(_, below)| below).max().unwrap_or(0) + random.below(3) as i64;
        let origin = random.pick(&[None, Some(0), Some(3)]);
        let strides = strides.each_ref().map(|(strides, _)| &strides[..]);
        let program = chosen(dtype, &sizes, strides, offset, origin.is_some());
        made_longer += usize::from(longer(&program).is_some());
        let operands = operands(&mut random, dtype, (&sizes, strides), offset);
        let told = Told { origin: origin.unwrap_or(0), ..Told::default() };
        check_told(&program, &operands, &told);
    }
    assert!(made_longer > 20, "{made_longer} had long rows made");
}

#[test]
fn rows_that_are_long_or_few_or_uneven_stay() {
    let few: [Case<'_>; 5] = [
        (&[100, 12], [&[12, 1], &[0, 1], &[0, 1]]),           // done before it pays
        (&[1000, 200], [&[200, 1], &[0, 1], &[0, 1]]),        // long
        (&[1000, 12], [&[20, 1], &[0, 1], &[0, 1]]),          // rows of a larger matrix
        (&[1000, 12], [&[12, 1], &[1, 0], &[0, 1]]),          // one element for each row
        (&[7, 900, 12], [&[12, 84, 1], &[0, 0, 1], &[0; 3]]), // axes changed about
    ];
    for (sizes, strides) in few {
        assert_eq!(longer(&chosen(DType::F32, sizes, strides, 0, false)), None, "{sizes:?} at {strides:?}");
    }
    let blocks: Case<'_> = (&[9, 70, 64], [&[4480, 64, 1], &[0, 64, 1], &[0, 1, 70]]);
    assert_eq!(longer(&chosen(DType::F32, blocks.0, blocks.1, 0, false)), None, "too much to write out");
}

#[test]
fn long_rows_are_whole_cache_lines() {
    for (case, dtype, columns) in [
        (0, DType::F32, 480), // of two operands: up to 512 elements, by fours
        (7, DType::U8, 960),  // one operand: up to 1024, by 64
        (2, DType::I64, 480), // by twos
        (3, DType::F32, 420), // two blocks: more would not be lines either
    ] {
        let (sizes, strides) = CASES[case];
        let long = longer(&chosen(dtype, sizes, strides, 0, false)).expect("it is made longer");
        assert_eq!(long.last(), Some(&columns), "{sizes:?} of {dtype}");
    }
}

/// Positions count the elements of short rows.
#[test]
fn positions_are_those_of_the_program() {
    let sizes = [3, 301, 20];
    let mut program = chosen(DType::I64, &sizes, [&[6020, 20, 1], &[20, 0, 1], &[0, 0, 1]], 0, false);
    let mut emit = Emit::new();
    let loaded = [0, 1, 2].map(|slot| emit.load(slot, DType::I64));
    let position = emit.position();
    program.result = loaded.into_iter().fold(position, |sum, value| emit.add(sum, value));
    program.words = emit.finish();
    assert!(longer(&program).is_some());
    let operands = operands(&mut Random::new(82), DType::I64, (&sizes, [&[6020, 20, 1], &[20, 0, 1], &[0, 0, 1]]), 0);
    assert!(check_told(&program, &operands, &Told::default()));
}

#[test]
fn whichever_parts_are_left_in_the_caches_results_are_the_same() {
    let mut random = Random::new(83);
    for (sizes, strides) in [CASES[2], (&[700_000], [&[1], &[1], &[0]])] {
        let program = chosen(DType::F32, sizes, strides, 0, false);
        let operands = operands(&mut random, DType::F32, (sizes, strides), 0);
        let told = Told::default();
        let expected = evaluate(&program, &operands, &told).expect("no faults");
        for &full in widths() {
            let compiled = jit_for(&program, LARGE, full).expect("it is served");
            let buffers: Vec<Guarded> = operands.iter().map(|values| Guarded::of(values, false)).collect();
            let loads: Vec<*const u8> = buffers.iter().map(Guarded::start).collect();
            // More runs than a trial has.
            for run in 0..80 {
                let found = run_on(&program, &compiled, &loads, &told, false).expect("no faults");
                let same = |(&one, &other): (&Literal, &Literal)| Scalar::of(one).same(Scalar::of(other));
                assert!(expected.iter().zip(&found).all(same), "run {run} of {sizes:?}, {full:?}");
            }
        }
    }
}
