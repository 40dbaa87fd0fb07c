//! All elementary functions, as machine code and by the interpreter, on sweeps over all magnitudes.

use super::{jit_for, run, widths};
use crate::codegen::block::tests::scalar::Scalar;
use crate::codegen::block::tests::words::{map, plain};
use crate::codegen::block::tests::{self, Random, from_bits};
use crate::dtype::Literal;
use crate::ops::math;
use crate::ops::vector::{Emit, Lane, Val};

type Unary = fn(&mut Emit, Val) -> Val;
type Binary = fn(&mut Emit, Val, Val) -> Val;

const UNARY: [(&str, Unary); 22] = [
    ("exp", math::exp),
    ("exp_below", |e, x| {
        // It is for what is not above 0.
        let size = e.abs(x);
        let down = e.neg(size);
        math::exp_below(e, down)
    }),
    ("exp2", math::exp2),
    ("expm1", math::expm1),
    ("ln", math::ln),
    ("log1p", math::log1p),
    ("log2", math::log2),
    ("log10", math::log10),
    ("sin", math::sin),
    ("cos", math::cos),
    ("tan", math::tan),
    ("asin", math::asin),
    ("acos", math::acos),
    ("atan", math::atan),
    ("sinh", math::sinh),
    ("cosh", math::cosh),
    ("tanh", math::tanh),
    ("sigmoid", math::sigmoid),
    ("gelu_tanh", math::gelu_tanh),
    ("erf", math::erf),
    ("erfc", math::erfc),
    ("gelu", |e, x| {
        let half = e.float(x.lane, std::f64::consts::FRAC_1_SQRT_2);
        let scaled = e.mul(x, half);
        let erf = math::erf(e, scaled);
        e.fma(x, erf, x)
    }),
];

const BINARY: [(&str, Binary); 2] = [("pow", math::pow), ("atan2", math::atan2)];

/// Points of all magnitudes, and many near 1.
fn points(random: &mut Random, lane: Lane, n: usize) -> Vec<Literal> {
    let edges = [0.0, -0.0, 1.0, -1.0, f64::INFINITY, f64::NEG_INFINITY, f64::NAN, 1e-310, 1e-40, 88.7, 709.5, 1e10];
    (0..n)
        .map(|i| match i % 4 {
            _ if i < edges.len() => Literal::from_f64(plain(lane), edges[i]),
            0 => from_bits(plain(lane), random.bits()),
            1 => Literal::from_f64(plain(lane), (random.bits() >> 11) as f64 / 2f64.powi(50) - 4.0),
            2 => Literal::from_f64(plain(lane), (random.bits() >> 11) as f64 / 2f64.powi(44) - 256.0),
            _ => Literal::from_f64(plain(lane), random.below(2000) as f64 - 1000.0),
        })
        .collect()
}

fn check(name: &str, program: &crate::lower::program::LoopProgram, operands: &[Vec<Literal>]) {
    let expected = tests::run(program, operands, &Default::default(), true).unwrap();
    for &full in widths() {
        let Some(compiled) = jit_for(program, 0, full) else { panic!("{name} is served") };
        let found = run(program, &compiled, operands, &Default::default(), true);
        for (i, (&expected, &found)) in expected.iter().zip(&found).enumerate() {
            let inputs: Vec<Literal> = operands.iter().map(|operand| operand[i]).collect();
            assert!(
                Scalar::of(expected).same(Scalar::of(found)),
                "{name}({inputs:?}) is {expected:?} to the interpreter, {found:?} as machine code in {full:?}"
            );
        }
    }
}

#[test]
fn elementary_functions_give_the_same_bits() {
    let mut random = Random::new(6);
    for lane in [Lane::F32, Lane::F64] {
        let dtype = plain(lane);
        for (name, write) in UNARY {
            let n = 20_000 + random.below(8);
            let program = map(n, &[(dtype, true)], dtype, |emit| {
                let x = emit.load(0, dtype);
                write(emit, x)
            });
            check(name, &program, &[points(&mut random, lane, n)]);
        }
        for (name, write) in BINARY {
            let n = 20_000 + random.below(8);
            let program = map(n, &[(dtype, true); 2], dtype, |emit| {
                let (x, y) = (emit.load(0, dtype), emit.load(1, dtype));
                write(emit, x, y)
            });
            let operands = [points(&mut random, lane, n), points(&mut random, lane, n)];
            check(name, &program, &operands);
        }
    }
}
