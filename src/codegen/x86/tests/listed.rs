//! Numbers that follow from the index along one reduced axis, which are listed once: against the scalar evaluator.

use super::super::staged::Written;
use super::super::walk::operands;
use super::check_told;
use crate::codegen::block::tests::Random;
use crate::codegen::block::tests::scalar::Told;
use crate::codegen::block::tests::words::values;
use crate::codegen::order::Order;
use crate::dtype::{DType, Literal};
use crate::lower::program::{Access, Fold, Load, LoopProgram, dense};
use crate::ops::vector::{Binary, Emit, Lane};
use crate::shape::Expr;

/// The least number where an element is less than another one of its output, over so many outer axes of `sizes`; with `columns` the elements of an
/// output lie apart, and neighbours are of others.
fn least(sizes: &[usize], outer: usize, number: Expr, columns: bool) -> LoopProgram {
    let mut e = Emit::new();
    let (a, b) = (e.load(0, DType::F32), e.load(1, DType::F32));
    let hit = e.lt(a, b);
    let (number_of, nowhere) = (e.index(0, DType::I64), e.int(Lane::I64, i64::MAX));
    let result = e.select(hit, number_of, nowhere);
    let (kept, reduced) = sizes.split_at(outer);
    let strides = match columns {
        true => {
            let stored = dense(&reduced.iter().chain(kept).copied().collect::<Vec<_>>());
            stored[reduced.len()..].iter().chain(&stored[..reduced.len()]).copied().collect()
        }
        false => dense(sizes),
    };
    let one = dense(kept).into_iter().chain(vec![0; reduced.len()]).collect();
    let load = |strides| Load { dtype: DType::F32, access: Access::Strided { offset: 0, strides } };
    LoopProgram {
        outer: kept.to_vec(),
        store: dense(kept),
        reduced: reduced.to_vec(),
        loads: vec![load(strides), load(one)],
        indices: vec![number],
        words: e.finish(),
        result,
        fold: Some(Fold::Min),
        stored: DType::I64,
    }
}

/// Whether no operand is brought in before a kernel runs.
fn is_listed(program: &LoopProgram) -> bool {
    let walked = match Order::of(program) {
        Order::Along => program.outer.len() + program.reduced.len(),
        Order::Across => program.outer.len(),
    };
    operands(&Written::new(program), walked).1.is_empty()
}

/// The sizes, how many of them are outer ones, whether outputs lie side by side, the numbers, and whether these are listed.
type Case<'c> = (&'c [usize], usize, bool, Expr, bool);

fn cases() -> Vec<Case<'static>> {
    let idx = Expr::idx;
    vec![
        (&[5, 700], 1, false, idx(1), true),
        (&[5, 33], 1, false, idx(1) * 3 + 7, true),
        (&[3, 5, 260], 2, false, idx(2) * -2 + 5, true),
        (&[4000], 0, false, idx(0), true),
        // Elements of an output lie apart.
        (&[130, 40], 1, true, idx(1), true),
        (&[300, 9], 1, true, idx(1) * -1, true),
        (&[60, 200, 40], 1, true, idx(1) * 4, true),
        (&[600, 3, 50], 1, true, idx(2) + 1, true),
        // An outer axis, whose origin may move; several axes; too many; and no straight line.
        (&[40, 30], 1, false, idx(0), false),
        (&[5, 20, 30], 1, false, idx(1) * 100 + idx(2), false),
        (&[2, 20_000], 1, false, idx(1), false),
        (&[20, 50], 1, false, idx(1).rem(7), false),
    ]
}

#[test]
fn numbers_along_a_reduced_axis_are_listed_and_right() {
    let mut random = Random::new(47);
    for (sizes, outer, columns, number, listed) in cases() {
        let program = least(sizes, outer, number, columns);
        assert_eq!(is_listed(&program), listed, "{program:#?}");
        let origins: &[usize] = if outer > 0 { &[0, 3] } else { &[0] };
        for &origin in origins {
            let told = Told { origin, ..Told::default() };
            let count: usize = sizes.iter().product();
            let kept: usize = sizes[..outer].iter().product();
            let operands = [values(&mut random, DType::F32, count), values(&mut random, DType::F32, kept)];
            assert!(check_told(&program, &operands, &told), "not served: {program:#?}");
        }
    }
}

/// Rows of a table that a listed number names: there is no operand of the call to read it from.
#[test]
fn a_listed_number_may_name_what_is_read() {
    let (columns, steps) = (200, 30);
    let mut e = Emit::new();
    let (number, pitch) = (e.index(0, DType::I64), e.int(Lane::I64, columns));
    let at = e.integer(Binary::Mul, number, pitch);
    let (named, other) = (e.gather(0, DType::F32, at), e.load(1, DType::F32));
    let result = e.mul(named, other);
    let load = |strides| Load { dtype: DType::F32, access: Access::Strided { offset: 0, strides } };
    let program = LoopProgram {
        outer: vec![columns as usize],
        store: vec![1],
        reduced: vec![steps],
        loads: vec![load(vec![1, 0]), load(vec![1, columns])],
        indices: vec![Expr::idx(1)],
        words: e.finish(),
        result,
        fold: Some(Fold::Max),
        stored: DType::F32,
    };
    assert_eq!(Order::of(&program), Order::Across);
    let mut random = Random::new(5);
    let operands: [Vec<Literal>; 2] =
        std::array::from_fn(|_| values(&mut random, DType::F32, columns as usize * steps));
    check_told(&program, &operands, &Told::default());
}
