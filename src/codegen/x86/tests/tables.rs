//! Short axes and borders inside of blocks: what is read by tables, in every dtype, from any origin.

use super::super::staged::Written;
use super::super::table::tables;
use super::super::walk::operands;
use super::check_told;
use crate::codegen::block::tests::Random;
use crate::codegen::block::tests::scalar::Told;
use crate::dtype::DType;
use crate::lower::program::{Access, Guard, Load, LoopProgram, dense};
use crate::ops::vector::Emit;
use crate::shape::Expr;

/// The slots that have tables.
fn told_by_tables(program: &LoopProgram) -> Vec<usize> {
    let written = Written::new(program);
    let (mut strided, mut staged) = operands(&written, program.outer.len());
    let mut slots: Vec<usize> =
        tables(&written.program, &mut strided, &mut staged).into_iter().map(|(slot, _)| slot).collect();
    slots.sort_unstable();
    slots
}

/// A program that stores its last operand where the first is equal to the second, and the first elsewhere.
fn chosen(dtype: DType, sizes: &[usize], accesses: [Access; 3]) -> LoopProgram {
    let mut emit = Emit::new();
    let [a, b, c] = [0, 1, 2].map(|slot| emit.load(slot, dtype));
    let same = emit.eq(a, b);
    let result = emit.select(same, c, a);
    LoopProgram {
        outer: sizes.to_vec(),
        store: dense(sizes),
        reduced: vec![],
        loads: accesses.into_iter().map(|access| Load { dtype, access }).collect(),
        indices: vec![],
        words: emit.finish(),
        result,
        fold: None,
        stored: dtype,
    }
}

fn strided(strides: &[i64]) -> Access {
    Access::Strided { offset: 1, strides: strides.to_vec() }
}

/// An image of `inner` elements with a border of two around it, at the last two of some axes.
fn bordered(sizes: &[usize], inner: [usize; 2], default: crate::dtype::Literal) -> Access {
    let rank = sizes.len();
    let (y, x) = (rank - 2, rank - 1);
    let size = (inner[0] * inner[1]) as i64;
    let mut strides: Vec<i64> = dense(&sizes[..y]).iter().map(|stride| stride * size).collect();
    strides.extend([inner[1] as i64, 1]);
    let inside = |axis: usize, size: usize| Expr::idx(axis).ge(2).and(Expr::idx(axis).lt(2 + size));
    let condition = inside(y, inner[0]).and(inside(x, inner[1]));
    let position = Expr::from_affine(-2 * inner[1] as i64 - 2, &strides);
    Access::Computed { position, guards: vec![Guard { condition, default }] }
}

#[test]
fn short_rows_are_read_by_tables() {
    let mut random = Random::new(77);
    for dtype in [DType::Bool, DType::F16, DType::F32, DType::I64] {
        for (channels, height, width) in [(6, 14, 14), (3, 5, 5), (40, 7, 3), (1, 30, 9), (2, 3, 11)] {
            let (h, w) = (height as i64, width as i64);
            let sizes = [5, channels, height, width];
            // Every other element of every other row, the same a step on, and the columns turned around.
            let window = [4 * h * w * channels as i64, 4 * h * w, 4 * w, 2];
            let turned = [h * w * channels as i64, h * w, 1, h];
            let program = chosen(dtype, &sizes, [strided(&window), strided(&window), strided(&turned)]);
            assert_eq!(told_by_tables(&program), [0, 1, 2], "{sizes:?}");
            let length = 5 * channels * 4 * height * width + 8;
            let operands: Vec<_> = (0..3).map(|_| (0..length).map(|_| random.value(dtype)).collect()).collect();
            assert!(check_told(&program, &operands, &Told::default()), "{sizes:?}");
        }
    }
}

#[test]
fn pairs_that_share_an_element_are_read_by_tables() {
    let mut random = Random::new(78);
    for dtype in [DType::U8, DType::BF16, DType::F32, DType::F64] {
        let sizes = [4, 6, 7, 2, 7, 2];
        let shared = [6 * 49, 49, 7, 0, 1, 0];
        let all: Vec<i64> = dense(&sizes);
        let program = chosen(dtype, &sizes, [strided(&all), strided(&shared), strided(&[0, 1, 0, 0, 0, 0])]);
        assert_eq!(told_by_tables(&program), [1, 2]);
        let operands: Vec<_> = (0..3).map(|_| (0..5000).map(|_| random.value(dtype)).collect()).collect();
        assert!(check_told(&program, &operands, &Told::default()));
    }
}

#[test]
fn borders_are_told_by_tables_from_any_origin() {
    let mut random = Random::new(79);
    for (dtype, origin) in [(DType::I8, 0), (DType::F16, 3), (DType::F32, 2), (DType::F64, 1)] {
        for inner in [[10, 10], [1, 3], [14, 30], [3, 100]] {
            let sizes = [3, 4, inner[0] + 4, inner[1] + 4];
            let accesses = [random.value(dtype), random.value(dtype)].map(|default| bordered(&sizes, inner, default));
            let [a, b] = accesses;
            let program = chosen(dtype, &sizes, [a.clone(), b, a]);
            assert_eq!(told_by_tables(&program), [0, 1, 2]);
            let length = (3 + origin) * 4 * inner[0] * inner[1];
            let operands: Vec<_> = (0..3).map(|_| (0..length).map(|_| random.value(dtype)).collect()).collect();
            let told = Told { origin, ..Told::default() };
            assert!(check_told(&program, &operands, &told), "{sizes:?} from {origin}");
        }
    }
}

#[test]
fn long_even_rows_and_rows_that_are_all_there_is_have_no_tables() {
    let access = |strides: &[i64]| [strided(strides), strided(strides), strided(strides)];
    for (sizes, strides) in [
        ([50, 64], [64, 1]),    // dense
        ([50, 64], [100, 1]),   // rows of a larger matrix
        ([50, 64], [128, 2]),   // steps, even
        ([1, 60], [0, 2]),      // one row
        ([3, 7], [21, 3]),      // small, and even
        ([4000, 7], [1, 4000]), // a block would be too large
    ] {
        let program = chosen(DType::F32, &sizes, access(&strides));
        assert_eq!(told_by_tables(&program), [0; 0], "{sizes:?} at {strides:?}");
    }
}
