//! Folds that store on the way what they fold: both results against the scalar evaluator.

use super::super::fold::Fold as Folding;
use super::super::{Jit, Kind};
use super::guarded::Guarded;
use super::{run_on, widths};
use crate::codegen::block::tests::Random;
use crate::codegen::block::tests::random::{Draw, program_with};
use crate::codegen::block::tests::scalar::{Scalar, Told, evaluate, places};
use crate::codegen::order::Order;
use crate::codegen::{self, Around, Compiled};
use crate::dtype::{DType, Literal};
use crate::lower::program::{Access, Fold, Load, LoopProgram, dense};

/// What the program folds, as a map, stored side by side.
fn map_of(program: &LoopProgram) -> LoopProgram {
    let outer: Vec<usize> = program.outer.iter().chain(&program.reduced).copied().collect();
    LoopProgram { store: dense(&outer), outer, reduced: vec![], fold: None, ..program.clone() }
}

fn compare(what: &str, expected: &[Literal], found: &[Literal], program: &LoopProgram) {
    assert_eq!(found.len(), expected.len());
    for (i, (&expected, &found)) in expected.iter().zip(found).enumerate() {
        let same = Scalar::of(expected).same(Scalar::of(found));
        assert!(same, "{what} {i}: expected {expected:?}, found {found:?} in {program:#?}");
    }
}

/// Checks a fold that keeps what it folds; says whether it is served.
fn check(program: &LoopProgram, fold: Fold, operands: &[Vec<Literal>], told: &Told) -> bool {
    let map = map_of(program);
    let strides = map.store.clone();
    let mut keeping = program.clone();
    keeping.loads.push(Load { dtype: program.stored, access: Access::Strided { offset: 0, strides } });
    if [program, &keeping].into_iter().any(|program| Order::of(program) != Order::Along) {
        return false;
    }
    let [kept, folded] = [&map, program].map(|program| evaluate(program, operands, told).expect("no faults"));
    for (at_end, &full) in [true, false].into_iter().flat_map(|at_end| widths().iter().map(move |full| (at_end, full)))
    {
        let around = Around { next: &[64], ..Around::default() };
        let Some(found) = Folding::of(&keeping, fold, full, Some(around)) else { return false };
        let compiled = Compiled(codegen::Kind::Jit(Jit(Kind::Fold(Box::new(found)))));
        let buffers: Vec<Guarded> = operands.iter().map(|values| Guarded::of(values, at_end)).collect();
        let mut room = Guarded::new(kept.len() * program.stored.size(), at_end);
        let loads: Vec<*const u8> = buffers.iter().map(Guarded::start).chain([room.start_mut().cast_const()]).collect();
        compare("fold", &folded, &run_on(&keeping, &compiled, &loads, told, at_end).expect("no faults"), program);
        compare("kept", &kept, &room.elements(program.stored, &places(&map)), program);
    }
    !widths().is_empty()
}

#[test]
fn random_folds_keep_what_they_fold() {
    let mut served = 0;
    for seed in 0..3000 {
        let mut random = Random::new(9_000_000_000 + seed);
        let fold = random.pick(&[Fold::Sum, Fold::Prod, Fold::Max, Fold::Min]);
        let words = random.below(20);
        let draw = Draw { divide: false, computed: random.chance(3) };
        let (program, operands, told) = program_with(&mut random, words, Some(fold), 6000, draw);
        if matches!(program.stored, DType::F32 | DType::F64) {
            served += usize::from(check(&program, fold, &operands, &told));
        }
    }
    assert!(served > 100, "{served} were served");
}
