//! The text of code against a decoder's reading of the bytes, line by line.

use super::kernels;
use crate::codegen::block::tests::Random;
use crate::codegen::block::tests::folds::matrix;
use crate::codegen::block::tests::random::{Draw, program_with};
use crate::codegen::block::tests::words::map;
use crate::dtype::DType;
use crate::lower::program::{Fold, LoopProgram};
use crate::ops::math;
use crate::ops::vector::{Emit, Val};
use iced_x86::{Decoder, DecoderOptions, Formatter, Instruction, IntelFormatter, MemorySizeOptions, NumberBase};
use std::collections::{BTreeMap, BTreeSet};

/// The decoder's text of an instruction, all numbers decimal and without sign, places as addresses.
fn decoded(instruction: &Instruction) -> String {
    let mut formatter = IntelFormatter::new();
    let options = formatter.options_mut();
    options.set_space_after_operand_separator(true);
    options.set_memory_size_options(MemorySizeOptions::Minimal);
    options.set_use_pseudo_ops(false);
    options.set_show_branch_size(false);
    options.set_number_base(NumberBase::Decimal);
    let mut line = String::new();
    formatter.format(instruction, &mut line);
    line
}

/// `L3` and `L3+8` as a label and a displacement.
fn place(text: &str) -> Option<(&str, u64)> {
    let (label, displacement) = text.split_once('+').unwrap_or((text, "0"));
    label.strip_prefix('L')?.parse::<u32>().ok()?;
    Some((label, displacement.parse().ok()?))
}

/// What an operand of a listing would be called by the decoder.
fn plain(operand: &str, labels: &BTreeMap<&str, u64>) -> String {
    let address = |(label, displacement): (&str, u64)| labels[label] + displacement;
    let inside = operand.split_once('[').and_then(|(size, rest)| Some((size, rest.strip_suffix(']')?)));
    if let Some(place) = place(operand) {
        address(place).to_string()
    } else if let Some((size, place)) = inside.and_then(|(size, inside)| Some((size, place(inside)?))) {
        format!("{size}[{}]", address(place))
    } else if let Some(digits) = operand.strip_prefix("0x") {
        u64::from_str_radix(digits, 16).expect("a number").to_string()
    } else if let Ok(number) = operand.parse::<i64>() {
        (number as u64).to_string()
    } else {
        operand.to_string()
    }
}

/// An instruction of a listing, as the decoder would write it.
fn normal(line: &str, labels: &BTreeMap<&str, u64>) -> String {
    let Some((mnemonic, operands)) = line.split_once(' ') else { return line.to_string() };
    let operands: Vec<String> = operands.split(", ").map(|operand| plain(operand, labels)).collect();
    format!("{mnemonic} {}", operands.join(", "))
}

/// The place that an instruction of a listing names, other than for a jump.
fn constant_of(line: &str) -> Option<(&str, u64)> {
    place(line.split_once('[')?.1.split_once(']')?.0)
}

/// Checks a listing: every instruction with its operands, the places of all labels, and the constants.
#[track_caller]
pub(super) fn check(code: &[u8], constants: &[u8], text: &str) {
    let mut instructions = Decoder::with_ip(64, code, 0, DecoderOptions::NONE).into_iter();
    let mut labels: BTreeMap<&str, u64> = BTreeMap::new();
    let mut pairs: Vec<(&str, Instruction)> = Vec::new();
    let mut data: Vec<(&str, Vec<u8>)> = Vec::new();
    let (mut at, mut last) = (0, "");
    for line in text.lines().map(str::trim).filter(|line| !line.starts_with(';')) {
        if let Some(label) = line.strip_suffix(':') {
            if at < code.len() as u64 {
                assert_eq!(labels.insert(label, at), None, "{label} has one place");
            }
            last = label;
        } else if let Some(bytes) = bytes_of(line) {
            data.push((last, bytes));
        } else {
            let instruction = instructions.next().unwrap_or_else(|| panic!("no instruction for {line}"));
            at = instruction.next_ip();
            pairs.push((line, instruction));
        }
    }
    assert_eq!(at, code.len() as u64, "all instructions are listed");
    // Where constants are is told by the first instruction that reads them; all others have to agree.
    for (line, instruction) in &pairs {
        if let Some((label, displacement)) = constant_of(line) {
            labels.entry(label).or_insert_with(|| instruction.ip_rel_memory_address() - displacement);
        }
    }
    for (line, instruction) in &pairs {
        assert_eq!(normal(line, &labels), decoded(instruction));
    }
    let mut from = BTreeMap::new();
    for (label, bytes) in data {
        let from = from.entry(label).or_insert_with(|| labels[label] as usize - code.len());
        assert_eq!(constants[*from..*from + bytes.len()], bytes);
        *from += bytes.len();
    }
}

/// The bytes of a line of constants.
fn bytes_of(line: &str) -> Option<Vec<u8>> {
    let (directive, numbers) = line.split_once(' ')?;
    let size = match directive {
        "dq" => 8,
        "db" => 1,
        _ => return None,
    };
    let bytes = |number: &str| {
        let digits = number.strip_prefix("0x").expect("constants are hexadecimal");
        u64::from_str_radix(digits, 16).expect("a number").to_le_bytes()[..size].to_vec()
    };
    Some(numbers.split(", ").flat_map(bytes).collect())
}

/// Checks the listings of a program's kernels and notes the mnemonics in them.
#[track_caller]
fn check_kernels(program: &LoopProgram, seen: &mut BTreeSet<String>) {
    for kernel in kernels(program) {
        let text = kernel.assembly();
        check(&kernel.code, &kernel.constants, &text);
        let words = text.lines().filter_map(|line| line.split_whitespace().next());
        seen.extend(words.map(str::to_string));
    }
}

#[test]
fn listings_of_kernels_are_what_their_bytes_say() {
    let mut seen = BTreeSet::new();
    for seed in 0..400 {
        let mut random = Random::new(7_000_000_000 + seed);
        let fold = random.pick(&[None, Some(Fold::Sum), Some(Fold::Min)]);
        let words = random.below(60);
        let draw = Draw { divide: false, computed: seed % 4 == 0 };
        let (program, ..) = program_with(&mut random, words, fold, 3000, draw);
        check_kernels(&program, &mut seen);
    }
    for dtype in [DType::F32, DType::F64] {
        for write in [math::exp, math::sin, math::erf, math::ln] as [fn(&mut Emit, Val) -> Val; 4] {
            let program = map(1000, &[(dtype, true)], dtype, |emit| {
                let x = emit.load(0, dtype);
                write(emit, x)
            });
            check_kernels(&program, &mut seen);
        }
        check_kernels(&matrix(100, 1000, true, dtype, Fold::Max), &mut seen);
        check_kernels(&matrix(100, 1000, false, dtype, Fold::Sum), &mut seen);
    }
    if super::machine() {
        for mnemonic in ["vmovups", "vfmadd231ps", "vfmadd213pd", "vptest", "call", "jbe", "movzx", "vpinsrb", "ret"] {
            assert!(seen.contains(mnemonic), "{mnemonic} is not among {seen:?}");
        }
    }
}
