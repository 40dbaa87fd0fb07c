//! Every word on every lane it takes, every dtype through memory, at sizes around the edges of blocks.

use super::{Random, check};
use crate::dtype::{DType, Literal};
use crate::lower::program::{Access, Load, LoopProgram};
use crate::ops::vector::{Binary, Compare, Emit, Lane, LaneFn, Table, Unary, Val};

pub(in crate::codegen) const SIZES: [usize; 17] = [0, 1, 2, 3, 7, 8, 9, 31, 32, 33, 255, 256, 257, 511, 512, 513, 1025];

/// The dtype that is its lane, bit for bit.
pub(in crate::codegen) fn plain(lane: Lane) -> DType {
    match lane {
        Lane::Mask => DType::Bool,
        Lane::I32 => DType::I32,
        Lane::I64 => DType::I64,
        Lane::F32 => DType::F32,
        Lane::F64 => DType::F64,
    }
}

/// An elementwise program over `n` elements; an operand is dense, or one element for all.
pub(in crate::codegen) fn map(
    n: usize,
    loads: &[(DType, bool)],
    stored: DType,
    body: impl FnOnce(&mut Emit) -> Val,
) -> LoopProgram {
    let mut emit = Emit::new();
    let result = body(&mut emit);
    let load = |&(dtype, dense): &(DType, bool)| Load {
        dtype,
        access: Access::Strided { offset: 0, strides: vec![i64::from(dense)] },
    };
    LoopProgram {
        outer: vec![n],
        store: vec![1],
        reduced: vec![],
        loads: loads.iter().map(load).collect(),
        indices: vec![],
        words: emit.finish(),
        result,
        fold: None,
        stored,
    }
}

pub(in crate::codegen) fn values(random: &mut Random, dtype: DType, n: usize) -> Vec<Literal> {
    (0..n.max(1)).map(|_| random.value(dtype)).collect()
}

#[test]
fn every_dtype_goes_through_memory_unharmed() {
    let mut random = Random::new(1);
    for n in SIZES {
        for dtype in DType::ALL {
            for dense in [true, false] {
                let program = map(n, &[(dtype, dense)], dtype, |emit| emit.load(0, dtype));
                check(&program, &[values(&mut random, dtype, n)]);
            }
        }
    }
}

#[test]
fn every_half_float_is_read_and_every_f32_rounds_like_the_half_crate() {
    for dtype in [DType::F16, DType::BF16] {
        let all: Vec<Literal> = (0..=u16::MAX).map(|bits| super::from_bits(dtype, bits.into())).collect();
        check(&map(all.len(), &[(dtype, true)], DType::F32, |emit| emit.load(0, dtype)), std::slice::from_ref(&all));
        // The values halfway between neighbours, and those next to them.
        let mut random = Random::new(2);
        let close: Vec<Literal> = (0..=u16::MAX)
            .flat_map(|bits| {
                let bits = (super::from_bits(dtype, bits.into()).to_f64() as f32).to_bits();
                let half = if dtype == DType::F16 { 0x1000 } else { 0x8000 };
                [
                    bits,
                    bits ^ half,
                    (bits ^ half) + 1,
                    (bits ^ half).wrapping_sub(1),
                    bits ^ (random.bits() as u32 & 0x3fff),
                ]
            })
            .map(|bits| super::from_bits(DType::F32, bits.into()))
            .collect();
        check(&map(close.len(), &[(DType::F32, true)], dtype, |emit| emit.load(0, DType::F32)), &[close]);
    }
}

#[test]
fn every_word_of_one_operand_means_what_it_says() {
    use Lane::*;
    let floats: &[(Lane, Lane)] = &[(F32, F32), (F64, F64)];
    let wrap: &[(Lane, Lane)] = &[(I32, I32)];
    let table: &[(Unary, &[(Lane, Lane)])] = &[
        (Unary::Neg, &[(F32, F32), (F64, F64), (I32, I32), (I64, I64)]),
        (Unary::Abs, floats),
        (Unary::Sqrt, floats),
        (Unary::Floor, floats),
        (Unary::Ceil, floats),
        (Unary::Trunc, floats),
        (Unary::RoundEven, floats),
        (Unary::Not, &[(Mask, Mask), (I32, I32), (I64, I64)]),
        (Unary::SignExtend, &[(I32, I64)]),
        (Unary::ZeroExtend, &[(I32, I64)]),
        (Unary::Truncate, &[(I64, I32)]),
        (Unary::WrapI8, wrap),
        (Unary::WrapI16, wrap),
        (Unary::WrapU8, wrap),
        (Unary::WrapU16, wrap),
        (Unary::ToF32, &[(I32, F32), (I64, F32)]),
        (Unary::ToF64, &[(I32, F64), (I64, F64)]),
        (Unary::UnsignedToF32, &[(I32, F32), (I64, F32)]),
        (Unary::UnsignedToF64, &[(I32, F64), (I64, F64)]),
        (Unary::ToI32, &[(F32, I32), (F64, I32)]),
        (Unary::ToI64, &[(F32, I64), (F64, I64)]),
        (Unary::ToU32, &[(F32, I32), (F64, I32)]),
        (Unary::ToU64, &[(F32, I64), (F64, I64)]),
        (Unary::Widen, &[(F32, F64)]),
        (Unary::Narrow, &[(F64, F32)]),
        (Unary::RoundF16, &[(F32, F32), (F64, F32)]),
        (Unary::RoundBF16, &[(F32, F32), (F64, F32)]),
        (Unary::Bits, &[(F32, I32), (F64, I64)]),
        (Unary::FromBits, &[(I32, F32), (I64, F64)]),
        (Unary::Eighths, &[(I32, F32)]),
    ];
    let mut random = Random::new(3);
    for &(word, lanes) in table {
        for &(from, to) in lanes {
            for (n, dense) in [(1, true), (2000, true), (5, false)] {
                let program = map(n, &[(plain(from), dense)], plain(to), |emit| {
                    let x = emit.load(0, plain(from));
                    emit.convert(word, x, to)
                });
                check(&program, &[values(&mut random, plain(from), n)]);
            }
        }
    }
}

#[test]
fn a_double_rounds_to_a_half_once() {
    // Just above the middle of 1 and the next f16 (or bf16): by way of f32 it would land on the middle, then on 1.
    for (word, step) in [(Unary::RoundF16, 2f64.powi(-10)), (Unary::RoundBF16, 2f64.powi(-7))] {
        let middle = 1.0 + step / 2.0;
        let inputs = [middle + 2f64.powi(-40), middle, middle - 2f64.powi(-40)];
        let expected = [1.0 + step, 1.0, 1.0].map(|x| Literal::F32(x as f32));
        let program = map(3, &[(DType::F64, true)], DType::F32, |emit| {
            let x = emit.load(0, DType::F64);
            emit.convert(word, x, Lane::F32)
        });
        let operands = [inputs.map(Literal::F64).to_vec()];
        check(&program, &operands);
        assert_eq!(super::run(&program, &operands, &Default::default(), false).unwrap(), expected);
    }
}

/// Runs a word of two operands on all pairings of blocks and single values.
fn check_pairings(random: &mut Random, lane: Lane, to: Lane, word: &dyn Fn(&mut Emit, Val, Val) -> Val) {
    let dtype = plain(lane);
    for (n, a, b) in [(1, true, true), (1500, true, true), (700, true, false), (700, false, true), (600, false, false)]
    {
        let program = map(n, &[(dtype, a), (dtype, b)], plain(to), |emit| {
            let (a, b) = (emit.load(0, dtype), emit.load(1, dtype));
            word(emit, a, b)
        });
        let (mut left, mut right) = (values(random, dtype, n), values(random, dtype, n));
        for i in (0..n).step_by(7) {
            right[i] = left[i]; // equal operands, too
        }
        left[0] = Literal::lowest(dtype);
        check(&program, &[left, right]);
    }
}

#[test]
fn every_word_of_two_operands_means_what_it_says() {
    use Binary::*;
    let mut random = Random::new(4);
    let integers = [Add, Sub, Mul, MinS, MaxS, MinU, MaxU, And, Or, Xor, Shl, Shr, Sar];
    for lane in [Lane::I32, Lane::I64] {
        for word in integers {
            check_pairings(&mut random, lane, lane, &|emit, a, b| emit.integer(word, a, b));
        }
        for word in [Shl, Shr, Sar] {
            check_pairings(&mut random, lane, lane, &|emit, a, b| {
                let mask = emit.int(lane, 127);
                let count = emit.and(b, mask);
                emit.integer(word, a, count)
            });
        }
        for word in [DivS, RemS, DivU, RemU] {
            check_pairings(&mut random, lane, lane, &|emit, a, b| emit.integer(word, a, b));
            check_pairings(&mut random, lane, lane, &|emit, a, b| {
                let one = emit.int(lane, 1);
                let odd = emit.or(b, one);
                emit.integer(word, a, odd)
            });
            check_pairings(&mut random, lane, lane, &|emit, a, _| {
                let minus_one = emit.int(lane, -1);
                emit.integer(word, a, minus_one)
            });
        }
    }
    for lane in [Lane::F32, Lane::F64] {
        for word in [Add, Sub, Mul, Div, Min, Max] {
            check_pairings(&mut random, lane, lane, &|emit, a, b| emit.integer(word, a, b));
        }
    }
    for word in [And, Or, Xor] {
        check_pairings(&mut random, Lane::Mask, Lane::Mask, &|emit, a, b| emit.integer(word, a, b));
    }
}

#[test]
fn scaling_reaches_denormals_and_infinity() {
    let mut random = Random::new(11);
    for (dtype, most) in [(DType::F32, 252), (DType::F64, 2044)] {
        let program = map(3000, &[(dtype, true), (dtype, true)], dtype, |emit| {
            let (a, n) = (emit.load(0, dtype), emit.load(1, dtype));
            emit.scale(a, n)
        });
        let a =
            (0..3000).map(|_| Literal::from_f64(dtype, 0.5 + random.below(1 << 20) as f64 / f64::from(1 << 20) * 0.9));
        let mut a: Vec<Literal> = a.collect();
        a[..3].copy_from_slice(&[0.5, 2f64.sqrt() * 0.9999999, f64::NAN].map(|x| Literal::from_f64(dtype, x)));
        let mut n = |k: usize| if k < 2 * most + 1 { k as f64 - most as f64 } else { -(random.below(most) as f64) };
        let n: Vec<Literal> = (0..3000).map(|k| Literal::from_f64(dtype, n(k))).collect();
        check(&program, &[a, n]);
    }
}

#[test]
fn every_comparison_means_what_it_says() {
    use Lane::*;
    let mut random = Random::new(5);
    let compare = |emit: &mut Emit, word, a, b| match word {
        Compare::Eq => emit.eq(a, b),
        Compare::Ne => emit.ne(a, b),
        Compare::Lt => emit.lt(a, b),
        Compare::Le => emit.le(a, b),
        Compare::LtU => emit.lt_unsigned(a, b),
        Compare::LeU => emit.le_unsigned(a, b),
    };
    for lane in [Mask, I32, I64, F32, F64] {
        let words: &[Compare] = match lane {
            Mask => &[Compare::Eq, Compare::Ne],
            I32 | I64 => &[Compare::Eq, Compare::Ne, Compare::Lt, Compare::Le, Compare::LtU, Compare::LeU],
            F32 | F64 => &[Compare::Eq, Compare::Ne, Compare::Lt, Compare::Le],
        };
        for &word in words {
            check_pairings(&mut random, lane, Mask, &|emit, a, b| compare(emit, word, a, b));
        }
    }
}

#[test]
fn select_fma_lookup_and_rare_mean_what_they_say() {
    static ENTRIES: [u64; 5] = [0x3ff0_0000_0000_0000, 7, u64::MAX, 0x4008_0000_0000_0000, 42];
    static TABLE: Table = Table { name: "five", entries: &ENTRIES };
    let mut random = Random::new(6);
    let rows = [(1, 7), (900, 7), (600, 0), (600, 1), (600, 2), (600, 3), (600, 4), (600, 5), (600, 6)];
    for (n, dense) in rows {
        let dense = |k: usize| dense >> k & 1 == 1;
        for lane in [Lane::Mask, Lane::I32, Lane::I64, Lane::F32, Lane::F64] {
            let dtype = plain(lane);
            let loads = [(DType::Bool, dense(0)), (dtype, dense(1)), (dtype, dense(2))];
            let operands: Vec<_> = loads.iter().map(|&(dtype, _)| values(&mut random, dtype, n)).collect();
            let program = map(n, &loads, dtype, |emit| {
                let (m, a, b) = (emit.load(0, DType::Bool), emit.load(1, dtype), emit.load(2, dtype));
                emit.select(m, a, b)
            });
            check(&program, &operands);
            let f = match lane {
                Lane::F32 => &LaneFn::F32("thrice", |x| x * 3.0),
                Lane::F64 => &LaneFn::F64("thrice", |x| x * 3.0),
                Lane::Mask | Lane::I32 | Lane::I64 => continue,
            };
            let program = map(n, &loads, dtype, |emit| {
                let (when, x, otherwise) = (emit.load(0, DType::Bool), emit.load(1, dtype), emit.load(2, dtype));
                emit.rare(when, f, x, otherwise)
            });
            check(&program, &operands);
            let loads = [(dtype, dense(0)), (dtype, dense(1)), (dtype, dense(2))];
            let operands: Vec<_> = loads.iter().map(|&(dtype, _)| values(&mut random, dtype, n)).collect();
            let program = map(n, &loads, dtype, |emit| {
                let (a, b, c) = (emit.load(0, dtype), emit.load(1, dtype), emit.load(2, dtype));
                emit.fma(a, b, c)
            });
            check(&program, &operands);
        }
        for lane in [Lane::I64, Lane::F64] {
            let program = map(n, &[(DType::U8, dense(0))], plain(lane), |emit| {
                let (x, five) = (emit.load(0, DType::U8), emit.int(Lane::I32, 5));
                let index = emit.integer(Binary::RemU, x, five);
                let index = emit.convert(Unary::ZeroExtend, index, Lane::I64);
                emit.lookup(&TABLE, lane, index)
            });
            check(&program, &[values(&mut random, DType::U8, n)]);
        }
    }
}

#[test]
fn position_counts_the_outputs() {
    for n in SIZES {
        check(&map(n, &[], DType::I64, |emit| emit.position()), &[]);
    }
}
