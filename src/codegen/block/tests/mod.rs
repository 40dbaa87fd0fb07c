//! The interpreter against the scalar evaluator, bit for bit, with and without the vector unit.

pub(in crate::codegen) mod folds;
mod making;
pub(in crate::codegen) mod random;
pub(in crate::codegen) mod scalar;
pub(in crate::codegen) mod words;

use super::vector_unit;
use crate::codegen::{Call, Compiled};
use crate::dtype::{DType, Literal, bf16, f16};
use crate::lower::program::LoopProgram;
use crate::ops::vector::Fault;
use scalar::{Scalar, Told, places};

/// A small random generator (xorshift64*).
pub(in crate::codegen) struct Random(u64);

impl Random {
    pub(in crate::codegen) fn new(seed: u64) -> Random {
        Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub(in crate::codegen) fn bits(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    /// Below `n`.
    pub(in crate::codegen) fn below(&mut self, n: usize) -> usize {
        ((self.bits() >> 32) as usize) % n
    }

    pub(in crate::codegen) fn chance(&mut self, one_in: usize) -> bool {
        self.below(one_in) == 0
    }

    pub(in crate::codegen) fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())]
    }

    /// A value of a dtype: small, or any bits at all, or an edge.
    pub(in crate::codegen) fn value(&mut self, dtype: DType) -> Literal {
        let edges =
            [0.0, -0.0, 1.0, -1.0, 0.5, 2.5, f64::INFINITY, f64::NEG_INFINITY, f64::NAN, 1e-40, 65504.0, 65520.0];
        match self.below(8) {
            0 => from_bits(dtype, self.bits()),
            1 if dtype.is_float() => Literal::from_f64(dtype, self.pick(&edges)),
            1 => self.pick(&[Literal::lowest(dtype), Literal::highest(dtype), Literal::zero(dtype)]),
            _ => Literal::from_f64(dtype, (self.below(4000) as f64 - 1000.0) / 16.0),
        }
    }
}

/// The value of a dtype with these low bits.
pub(in crate::codegen) fn from_bits(dtype: DType, bits: u64) -> Literal {
    match dtype {
        DType::Bool => Literal::Bool(bits & 1 == 1),
        DType::I8 => Literal::I8(bits as i8),
        DType::I16 => Literal::I16(bits as i16),
        DType::I32 => Literal::I32(bits as i32),
        DType::I64 => Literal::I64(bits as i64),
        DType::U8 => Literal::U8(bits as u8),
        DType::U16 => Literal::U16(bits as u16),
        DType::U32 => Literal::U32(bits as u32),
        DType::U64 => Literal::U64(bits),
        DType::F16 => Literal::F16(f16::from_bits(bits as u16)),
        DType::BF16 => Literal::BF16(bf16::from_bits(bits as u16)),
        DType::F32 => Literal::F32(f32::from_bits(bits as u32)),
        DType::F64 => Literal::F64(f64::from_bits(bits)),
    }
}

/// Values as a buffer, aligned for every dtype.
pub(in crate::codegen) fn buffer(values: &[Literal]) -> Vec<u64> {
    let mut bytes: Vec<u8> = Vec::new();
    for &value in values {
        let size = value.dtype().size();
        let bits = value.bits();
        match size {
            1 => bytes.push(bits as u8),
            2 => bytes.extend((bits as u16).to_ne_bytes()),
            4 => bytes.extend((bits as u32).to_ne_bytes()),
            _ => bytes.extend(bits.to_ne_bytes()),
        }
    }
    bytes.resize(bytes.len().next_multiple_of(8).max(8), 0);
    bytes.chunks_exact(8).map(|chunk| u64::from_ne_bytes(chunk.try_into().unwrap())).collect()
}

/// The first `count` elements of a buffer.
pub(in crate::codegen) fn elements(buffer: &[u64], dtype: DType, count: usize) -> Vec<Literal> {
    let bytes: Vec<u8> = buffer.iter().flat_map(|word| word.to_ne_bytes()).collect();
    let element = |bytes: &[u8]| match bytes.len() {
        1 => bytes[0].into(),
        2 => u16::from_ne_bytes(bytes.try_into().unwrap()).into(),
        4 => u32::from_ne_bytes(bytes.try_into().unwrap()).into(),
        _ => u64::from_ne_bytes(bytes.try_into().unwrap()),
    };
    bytes.chunks_exact(dtype.size()).take(count).map(|bytes| from_bits(dtype, element(bytes))).collect()
}

/// Runs a program on operands whose every position is known to be in range.
pub(in crate::codegen) fn run(
    program: &LoopProgram,
    operands: &[Vec<Literal>],
    told: &Told,
    vector: bool,
) -> Result<Vec<Literal>, Fault> {
    let compiled = Compiled::interpreted(program, vector);
    let buffers: Vec<Vec<u64>> = operands.iter().map(|values| buffer(values)).collect();
    let loads: Vec<*const u8> = buffers.iter().map(|buffer| buffer.as_ptr().cast()).collect();
    let places = places(program);
    let count = places.iter().max().map_or(0, |last| last + 1);
    let words = (count * program.stored.size()).div_ceil(8);
    // What is between and after the outputs tells whether anything was written there.
    let canary = 0x5a5a_1234_5678_a5a5;
    let mut out = vec![canary; words + 8];
    let empty = elements(&out, program.stored, count);
    let call = Call { loads: &loads, scalars: &told.scalars, out: out.as_mut_ptr().cast(), origin: told.origin };
    // SAFETY: the caller vouches for the positions (the scalar evaluator, with its checked reads, agrees), and
    // `out` has room for all outputs.
    unsafe { compiled.run_all(&call)? };
    assert!(out[words..].iter().all(|&word| word == canary), "written beyond the output");
    let mut found = elements(&out, program.stored, count);
    let outputs = places.iter().map(|&place| std::mem::replace(&mut found[place], empty[place])).collect();
    let untouched = found.iter().zip(&empty).all(|(found, empty)| found.bits() == empty.bits());
    assert!(untouched, "written between the outputs");
    Ok(outputs)
}

/// Checks a program against the scalar evaluator.
#[track_caller]
pub(in crate::codegen) fn check(program: &LoopProgram, operands: &[Vec<Literal>]) {
    check_told(program, operands, &Told::default());
}

/// Checks a program that is told something against the scalar evaluator.
#[track_caller]
pub(in crate::codegen) fn check_told(program: &LoopProgram, operands: &[Vec<Literal>], told: &Told) {
    let expected = scalar::evaluate(program, operands, told);
    #[cfg(all(target_arch = "x86_64", unix))]
    crate::codegen::x86::tests::check_against(program, operands, told, &expected);
    for vector in [false, true] {
        if vector && !vector_unit() {
            continue;
        }
        match (&expected, run(program, operands, told, vector)) {
            (Ok(expected), Ok(found)) => {
                for (i, (&expected, &found)) in expected.iter().zip(&found).enumerate() {
                    assert!(
                        Scalar::of(expected).same(Scalar::of(found)),
                        "output {i}: expected {expected:?}, found {found:?} (vector: {vector}) in {program:#?} {told:?}"
                    );
                }
            }
            (expected, found) => assert_eq!(expected.is_err(), found.is_err(), "a fault in one only: {program:#?}"),
        }
    }
}
