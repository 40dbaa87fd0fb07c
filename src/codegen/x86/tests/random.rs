//! Random programs, short ones over many shapes and long ones that need more registers than there are.

use super::super::memory::Pages;
use super::encoding::disassemble;
use super::{check_told, kernels};
use crate::codegen::block::tests::Random;
use crate::codegen::block::tests::random::{Draw, program_with};
use crate::lower::program::{Access, Fold};

const PLAIN: Draw = Draw { divide: false, computed: false };

/// How many programs are drawn; `ZITHER_FUZZ=100` asks for a hundred times as many.
pub(super) fn seeds(usual: u64) -> std::ops::Range<u64> {
    let times = std::env::var("ZITHER_FUZZ").ok().and_then(|times| times.parse().ok()).unwrap_or(1);
    0..usual * times
}

#[test]
fn random_programs_agree_with_the_evaluator() {
    let mut served = 0;
    for seed in seeds(1500) {
        let mut random = Random::new(1_000_000_000 + seed);
        let words = random.below(12);
        let (program, operands, told) = program_with(&mut random, words, None, 1500, PLAIN);
        served += usize::from(check_told(&program, &operands, &told));
    }
    assert!(served > 1400, "{served} were served");
}

#[test]
fn random_folds_agree_with_the_evaluator() {
    let mut served = 0;
    for seed in seeds(1500) {
        let mut random = Random::new(2_000_000_000 + seed);
        let fold = random.pick(&[Fold::Sum, Fold::Prod, Fold::Max, Fold::Min]);
        let words = random.below(6);
        let (program, operands, told) = program_with(&mut random, words, Some(fold), 3000, PLAIN);
        served += usize::from(check_told(&program, &operands, &told));
    }
    assert!(served > 150, "{served} were served");
}

#[test]
fn random_guarded_programs_agree_with_the_evaluator() {
    let (mut maps, mut folds) = (0, 0);
    for seed in seeds(2000) {
        let mut random = Random::new(6_000_000_000 + seed);
        let fold = random.pick(&[None, Some(Fold::Sum), Some(Fold::Max)]);
        let words = random.below(6);
        let draw = Draw { divide: false, computed: true };
        let (program, operands, told) = program_with(&mut random, words, fold, 6000, draw);
        let guarded = program.loads.iter().any(|load| matches!(load.access, Access::Computed { .. }));
        let computed = guarded || !program.indices.is_empty();
        let served = check_told(&program, &operands, &told) && computed;
        *(if fold.is_some() { &mut folds } else { &mut maps }) += usize::from(served);
    }
    assert!(maps > 60 && folds > 80, "{maps} and {folds} were served");
}

#[test]
fn long_programs_spill_without_harm() {
    let (mut maps, mut folds) = (0, 0);
    for seed in seeds(80) {
        let mut random = Random::new(3_000_000_000 + seed);
        let words = 100 + random.below(500);
        let (program, operands, told) = program_with(&mut random, words, None, 200, PLAIN);
        maps += usize::from(check_told(&program, &operands, &told));
    }
    for seed in seeds(120) {
        let mut random = Random::new(4_000_000_000 + seed);
        let words = 100 + random.below(300);
        let (program, operands, told) = program_with(&mut random, words, Some(Fold::Max), 300, PLAIN);
        folds += usize::from(check_told(&program, &operands, &told));
    }
    assert!(maps > 50 && folds > 10, "{maps} and {folds} were served");
}

#[test]
fn all_code_of_kernels_decodes() {
    for seed in 0..200 {
        let mut random = Random::new(5_000_000_000 + seed);
        let fold = random.pick(&[None, Some(Fold::Sum), Some(Fold::Min)]);
        let words = random.below(60);
        let (program, ..) = program_with(&mut random, words, fold, 3000, PLAIN);
        for kernel in kernels(&program) {
            let lines = disassemble(&kernel.code);
            assert!(lines.iter().any(|line| line == "ret"));
        }
    }
}

#[test]
#[cfg(target_os = "linux")]
fn code_is_never_writable_and_executable_at_once() {
    let pages = Pages::new(&[0xc3; 5000]).unwrap();
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
    // Neighbouring mappings of one kind are listed as one.
    let covers = |line: &&str| {
        let range = line.split_whitespace().next().and_then(|range| range.split_once('-'));
        let address = |digits: &str| usize::from_str_radix(digits, 16).expect("an address");
        range.is_some_and(|(from, to)| (address(from)..address(to)).contains(&pages.start().addr()))
    };
    let line = maps.lines().find(covers).expect("the mapping is listed");
    assert!(line.contains(" r-xp "), "{line}");
    assert!(maps.lines().all(|line| !line.contains("rwx")), "{maps}");
}

#[test]
fn code_lies_apart_from_other_code_and_outlives_it() {
    // Enough for several regions, and one that needs a region of its own.
    let lengths = [1, 4096, 4097, 60_000, 100_000, 9, 500_000, 70_000, 12];
    let code = |k: usize| vec![k as u8 + 1; lengths[k]];
    let mut all: Vec<(usize, Pages)> = (0..lengths.len()).map(|k| (k, Pages::new(&code(k)).unwrap())).collect();
    for turn in 0.. {
        for (k, pages) in &all {
            // SAFETY: the pages begin with so many bytes, and nobody writes to them.
            let found = unsafe { std::slice::from_raw_parts(pages.start(), lengths[*k]) };
            assert_eq!(found, code(*k));
        }
        if all.is_empty() {
            return;
        }
        all.remove(turn * 5 % all.len());
    }
}
