//! What is served, what is not, and what is shared.

use super::{check, jit, kernels, run};
use crate::codegen::Call;
use crate::codegen::block::tests::folds::matrix;
use crate::codegen::block::tests::scalar::Told;
use crate::codegen::block::tests::words::{map, plain, values};
use crate::codegen::block::tests::{Random, from_bits};
use crate::dtype::{DType, Literal};
use crate::lower::program::{Access, Fold, Guard};
use crate::ops::vector::{Binary, Lane, LaneFn, Unary};
use crate::shape::Expr;
use std::sync::Arc;

#[test]
fn divisions_and_short_rows_are_left_to_the_interpreter() {
    for word in [Binary::DivS, Binary::RemS, Binary::DivU, Binary::RemU] {
        let program = map(9, &[(DType::I32, true); 2], DType::I32, |emit| {
            let (a, b) = (emit.load(0, DType::I32), emit.load(1, DType::I32));
            emit.integer(word, a, b)
        });
        assert!(jit(&program).is_none());
    }
    for (size, served) in [(3, false), (40, true)] {
        let mut padded = map(size, &[(DType::F32, true)], DType::F32, |emit| emit.load(0, DType::F32));
        let guards = vec![Guard { condition: Expr::Idx(0), default: Literal::F32(1.0) }];
        padded.loads[0].access = Access::Computed { position: Expr::Idx(0), guards };
        assert_eq!(jit(&padded).is_some(), served);
    }
    assert!(jit(&matrix(1000, 5, false, DType::F32, Fold::Sum)).is_none());
}

#[test]
fn wide_guarded_folds_stay_within_their_scratch() {
    let mut random = Random::new(11);
    for (outputs, elements) in [(5000, 40), (4096, 9), (20_000, 3)] {
        for dtype in [DType::F32, DType::F64, DType::U8] {
            let mut program = matrix(elements, outputs, true, dtype, Fold::Sum);
            let guards = vec![Guard { condition: Expr::idx(0).ge(3), default: Literal::one(dtype) }];
            let position = Expr::idx(1) * (outputs as i64) + Expr::idx(0);
            program.loads[0].access = Access::Computed { position, guards };
            assert!(check(&program, &[values(&mut random, dtype, outputs * elements)]));
        }
    }
}

#[test]
fn the_largest_and_the_smallest_are_nan_wherever_there_is_one() {
    let mut random = Random::new(12);
    for dtype in [DType::F32, DType::F64, DType::F16] {
        for (elements, stride) in [(8, 1), (31, 1), (32, 1), (33, 1), (64, 2), (75, 1), (75, 3), (2048 + 40, 1)] {
            // In every row another element is NaN, and in some a later one as well; in the last row none is.
            let (rows, pitch) = (elements.min(100) + 1, elements * stride);
            let mut numbers: Vec<Literal> =
                (0..rows * pitch).map(|_| Literal::from_f64(dtype, random.below(2000) as f64 / 16.0 - 60.0)).collect();
            for row in 0..rows - 1 {
                for element in [row, (row * 7 + 5) % elements] {
                    numbers[row * pitch + element * stride] = Literal::from_f64(dtype, f64::NAN);
                }
            }
            for fold in [Fold::Max, Fold::Min] {
                let mut program = matrix(rows, elements, false, dtype, fold);
                let strides = vec![pitch as i64, stride as i64];
                program.loads[0].access = Access::Strided { offset: 0, strides };
                assert!(check(&program, &[numbers.clone()]), "{dtype} {elements} {stride}");
            }
        }
    }
}

#[test]
fn kernels_are_shared_between_sizes_and_offsets() {
    let add = |n: usize, offset: i64| {
        let mut program = map(n, &[(DType::F32, true), (DType::F32, false)], DType::F32, |emit| {
            let (a, b) = (emit.load(0, DType::F32), emit.load(1, DType::F32));
            emit.add(a, b)
        });
        if let Access::Strided { offset: at, .. } = &mut program.loads[0].access {
            *at = offset;
        }
        program
    };
    let [first, second] = [add(1000, 0), add(77, 5)].map(|program| kernels(&program));
    assert!(Arc::ptr_eq(&first[0], &second[0]));
    let other = map(1000, &[(DType::F32, true), (DType::F32, true)], DType::F32, |emit| {
        let (a, b) = (emit.load(0, DType::F32), emit.load(1, DType::F32));
        emit.add(a, b)
    });
    assert!(!Arc::ptr_eq(&first[0], &kernels(&other)[0]));
}

#[test]
fn seldom_calls_change_only_their_lanes() {
    // Many values are alive around the call.
    let mut random = Random::new(5);
    for lane in [Lane::F32, Lane::F64] {
        let dtype = plain(lane);
        for n in [1, 7, 8, 16, 33, 200] {
            let program = map(n, &[(dtype, true); 4], dtype, |emit| {
                let x: Vec<_> = (0..4).map(|slot| emit.load(slot, dtype)).collect();
                let terms: Vec<_> = (0..20)
                    .map(|k| {
                        let c = emit.float(lane, f64::from(k) + 0.5);
                        let y = emit.mul(x[k as usize % 4], c);
                        emit.sub(y, x[(k as usize + 1) % 4])
                    })
                    .collect();
                let limit = emit.float(lane, 100.0);
                let mut sum = x[0];
                for (k, &term) in terms.iter().enumerate() {
                    let f = match lane {
                        Lane::F32 => &LaneFn::F32("halved", |x| x * 0.5),
                        _ => &LaneFn::F64("halved", |x| x * 0.5),
                    };
                    let large = emit.lt(limit, term);
                    let y = if k % 5 == 0 { emit.rare(large, f, term, x[k % 4]) } else { term };
                    sum = emit.add(sum, y);
                }
                sum
            });
            let operands: Vec<_> = (0..4).map(|_| values(&mut random, dtype, n)).collect();
            assert!(check(&program, &operands));
        }
    }
}

#[test]
fn every_conversion_agrees_at_every_power_of_two_and_next_to_it() {
    let doubles: Vec<Literal> = (0..2048u64)
        .flat_map(|exponent| {
            [0, 1, (1 << 52) - 1, 1 << 51, (1 << 51) + 1, (1 << 29) - 1, 1 << 28].map(|m| exponent << 52 | m)
        })
        .flat_map(|bits| [bits, bits | 1 << 63])
        .map(|bits| from_bits(DType::F64, bits))
        .collect();
    let singles: Vec<Literal> = (0..256u64)
        .flat_map(|exponent| {
            [0, 1, (1 << 23) - 1, 1 << 22, (1 << 12) + 1, (1 << 13) - 1, 1 << 12].map(|m| exponent << 23 | m)
        })
        .flat_map(|bits| [bits, bits | 1 << 31])
        .map(|bits| from_bits(DType::F32, bits))
        .collect();
    let longs: Vec<Literal> = (0..64)
        .flat_map(|shift| {
            [-2i64, -1, 0, 1, 2, 1 << 10, (1 << 11) - 1, 3 << 29].map(|by| (1i64 << shift).wrapping_add(by))
        })
        .flat_map(|x| [x, x.wrapping_neg()])
        .map(Literal::I64)
        .collect();
    let ints: Vec<Literal> = longs.iter().map(|x| Literal::I32(x.to_integer().unwrap() as i32)).collect();
    use Unary::*;
    type Conversions<'a> = (&'a [Literal], Lane, &'a [(Unary, Lane)]);
    let table: [Conversions; 4] = [
        (
            &doubles,
            Lane::F64,
            &[
                (ToI32, Lane::I32),
                (ToU32, Lane::I32),
                (ToI64, Lane::I64),
                (ToU64, Lane::I64),
                (Narrow, Lane::F32),
                (RoundF16, Lane::F32),
                (RoundBF16, Lane::F32),
                (Floor, Lane::F64),
                (RoundEven, Lane::F64),
            ],
        ),
        (
            &singles,
            Lane::F32,
            &[
                (ToI32, Lane::I32),
                (ToU32, Lane::I32),
                (ToI64, Lane::I64),
                (ToU64, Lane::I64),
                (Widen, Lane::F64),
                (RoundF16, Lane::F32),
                (RoundBF16, Lane::F32),
                (Floor, Lane::F32),
                (RoundEven, Lane::F32),
            ],
        ),
        (
            &longs,
            Lane::I64,
            &[(ToF32, Lane::F32), (ToF64, Lane::F64), (UnsignedToF32, Lane::F32), (UnsignedToF64, Lane::F64)],
        ),
        (
            &ints,
            Lane::I32,
            &[(ToF32, Lane::F32), (ToF64, Lane::F64), (UnsignedToF32, Lane::F32), (UnsignedToF64, Lane::F64)],
        ),
    ];
    for (inputs, from, words) in table {
        for &(word, to) in words {
            let program = map(inputs.len(), &[(plain(from), true)], plain(to), |emit| {
                let x = emit.load(0, plain(from));
                emit.convert(word, x, to)
            });
            assert!(check(&program, &[inputs.to_vec()]), "{word:?}");
        }
    }
}

#[test]
fn parts_may_run_on_many_threads() {
    fn shared<T: Send + Sync>(_: &T) {}
    let program = map(1 << 18, &[(DType::F32, true)], DType::F32, |emit| {
        let x = emit.load(0, DType::F32);
        crate::ops::math::sin(emit, x)
    });
    let values: Vec<Literal> = (0..1 << 18).map(|i| Literal::F32(i as f32 * 7.0)).collect();
    let Some(compiled) = jit(&program) else { return };
    shared(&compiled);
    assert!(compiled.parts() > 4);
    let expected = run(&program, &compiled, std::slice::from_ref(&values), &Told::default(), true);
    let operand: Vec<f32> = values.iter().map(|value| value.to_f64() as f32).collect();
    let mut out = vec![0f32; 1 << 18];
    let (from, to) = (operand.as_ptr() as usize, out.as_mut_ptr() as usize);
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let compiled = &compiled;
            scope.spawn(move || {
                for part in (thread..compiled.parts()).step_by(4) {
                    let loads = [from as *const u8];
                    let call = Call { loads: &loads, scalars: &[], out: to as *mut u8, origin: 0 };
                    // SAFETY: the operand has all positions, and the output has its room.
                    unsafe { compiled.run(part, &call) }.unwrap();
                }
            });
        }
    });
    assert_eq!(out.into_iter().map(Literal::F32).collect::<Vec<_>>(), expected);
}
