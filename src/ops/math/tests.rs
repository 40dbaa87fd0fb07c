//! Every elementary function against `core-math`, whose results are correctly rounded: one table, one sweep.
//!
//! An error is counted in ulp as the number of floats between the result and the correctly rounded one.

use super::*;
use crate::dtype::DType;
use crate::ops::vector::{Word, eval};
use core_math as cr;

/// One function of one operand: how to write it, what it should give, how far off it may be.
struct Case {
    name: &'static str,
    emit: fn(&mut Emit, Val) -> Val,
    in_f32: fn(f32) -> f32,
    in_f64: fn(f64) -> f64,
    ulp: u64,
    /// Where the function is neither flat nor its own argument: half of the points are drawn here.
    range_f32: (f32, f32),
    range_f64: (f64, f64),
    /// Arguments and exact results, to the sign of zero, for both lanes.
    exact: &'static [(f64, f64)],
}

const INF: f64 = f64::INFINITY;
const NAN: f64 = f64::NAN;

const EXP: Case = Case {
    name: "exp",
    emit: exp,
    in_f32: cr::expf,
    in_f64: cr::exp,
    ulp: 1,
    range_f32: (-105.0, 90.0),
    range_f64: (-750.0, 711.0),
    exact: &[(0.0, 1.0), (-0.0, 1.0), (INF, INF), (-INF, 0.0), (1e4, INF), (-1e4, 0.0), (NAN, NAN)],
};
const EXP2: Case = Case {
    name: "exp2",
    emit: exp2,
    in_f32: cr::exp2f,
    in_f64: cr::exp2,
    ulp: 1,
    range_f32: (-152.0, 129.0),
    range_f64: (-1078.0, 1025.0),
    exact: &[(0.0, 1.0), (3.0, 8.0), (-1.0, 0.5), (-149.0, 1.401298464324817e-45), (INF, INF), (-INF, 0.0), (NAN, NAN)],
};
const EXPM1: Case = Case {
    name: "expm1",
    emit: expm1,
    in_f32: cr::expm1f,
    in_f64: cr::expm1,
    ulp: 2,
    range_f32: (-20.0, 90.0),
    range_f64: (-40.0, 711.0),
    exact: &[(0.0, 0.0), (-0.0, -0.0), (INF, INF), (-INF, -1.0), (-100.0, -1.0), (1e4, INF), (NAN, NAN)],
};
const LN: Case = Case {
    name: "ln",
    emit: ln,
    in_f32: cr::logf,
    in_f64: cr::log,
    ulp: 1,
    range_f32: (0.3, 3.0),
    range_f64: (0.3, 3.0),
    exact: &[(1.0, 0.0), (0.0, -INF), (-0.0, -INF), (-1.0, NAN), (-INF, NAN), (INF, INF), (NAN, NAN)],
};
const LOG2: Case = Case {
    name: "log2",
    emit: log2,
    in_f32: cr::log2f,
    in_f64: cr::log2,
    ulp: 1,
    range_f32: (0.3, 3.0),
    range_f64: (0.3, 3.0),
    exact: &[(1.0, 0.0), (8.0, 3.0), (0.25, -2.0), (0.0, -INF), (-0.0, -INF), (-1.0, NAN), (INF, INF), (NAN, NAN)],
};
const LOG10: Case = Case {
    name: "log10",
    emit: log10,
    in_f32: cr::log10f,
    in_f64: cr::log10,
    ulp: 1,
    range_f32: (0.3, 3.0),
    range_f64: (0.3, 3.0),
    exact: &[(1.0, 0.0), (100.0, 2.0), (0.0, -INF), (-0.0, -INF), (-1.0, NAN), (INF, INF), (NAN, NAN)],
};
const LOG1P: Case = Case {
    name: "log1p",
    emit: log1p,
    in_f32: cr::log1pf,
    in_f64: cr::log1p,
    ulp: 2,
    range_f32: (-1.0, 3.0),
    range_f64: (-1.0, 3.0),
    exact: &[(0.0, 0.0), (-0.0, -0.0), (-1.0, -INF), (-1.5, NAN), (-INF, NAN), (INF, INF), (NAN, NAN)],
};
const SIN: Case = Case {
    name: "sin",
    emit: sin,
    in_f32: cr::sinf,
    in_f64: cr::sin,
    ulp: 1,
    range_f32: (-100.0, 100.0),
    range_f64: (-100.0, 100.0),
    exact: &[(0.0, 0.0), (-0.0, -0.0), (INF, NAN), (-INF, NAN), (NAN, NAN)],
};
const COS: Case = Case {
    name: "cos",
    emit: cos,
    in_f32: cr::cosf,
    in_f64: cr::cos,
    ulp: 1,
    range_f32: (-100.0, 100.0),
    range_f64: (-100.0, 100.0),
    exact: &[(0.0, 1.0), (-0.0, 1.0), (INF, NAN), (-INF, NAN), (NAN, NAN)],
};
const TAN: Case = Case {
    name: "tan",
    emit: tan,
    in_f32: cr::tanf,
    in_f64: cr::tan,
    ulp: 4,
    range_f32: (-100.0, 100.0),
    range_f64: (-100.0, 100.0),
    exact: &[(0.0, 0.0), (-0.0, -0.0), (INF, NAN), (-INF, NAN), (NAN, NAN)],
};
const TANH: Case = Case {
    name: "tanh",
    emit: tanh,
    in_f32: cr::tanhf,
    in_f64: cr::tanh,
    ulp: 2,
    range_f32: (-10.0, 10.0),
    range_f64: (-20.0, 20.0),
    exact: &[(0.0, 0.0), (-0.0, -0.0), (1000.0, 1.0), (-1000.0, -1.0), (INF, 1.0), (-INF, -1.0), (NAN, NAN)],
};
const SIGMOID: Case = Case {
    name: "sigmoid",
    emit: sigmoid,
    in_f32: |x| sigmoid_from_core_math(f64::from(x)) as f32,
    in_f64: sigmoid_from_core_math,
    ulp: 2,
    range_f32: (-105.0, 20.0),
    range_f64: (-750.0, 40.0),
    exact: &[(0.0, 0.5), (-0.0, 0.5), (1000.0, 1.0), (-1000.0, 0.0), (INF, 1.0), (-INF, 0.0), (NAN, NAN)],
};
const ERF: Case = Case {
    name: "erf",
    emit: erf,
    in_f32: cr::erff,
    in_f64: cr::erf,
    ulp: 4,
    range_f32: (-4.5, 4.5),
    range_f64: (-6.5, 6.5),
    exact: &[(0.0, 0.0), (-0.0, -0.0), (10.0, 1.0), (-10.0, -1.0), (INF, 1.0), (-INF, -1.0), (NAN, NAN)],
};

/// To within an ulp: near 0 by way of `tanh`, which loses nothing there, else by `exp`.
fn sigmoid_from_core_math(x: f64) -> f64 {
    if x.abs() < 1.0 {
        return 0.5 + 0.5 * cr::tanh(0.5 * x);
    }
    let t = cr::exp(-x.abs());
    if x < 0.0 { t / (1.0 + t) } else { 1.0 / (1.0 + t) }
}

/// A program of one word sequence, ready to be run on many points.
struct Program {
    words: Vec<(Word, Lane)>,
    result: Val,
}

impl Program {
    fn unary(dtype: DType, emit: fn(&mut Emit, Val) -> Val) -> Program {
        let mut e = Emit::new();
        let x = e.load(0, dtype);
        let result = emit(&mut e, x);
        Program { words: e.finish(), result }
    }

    fn binary(dtype: DType, emit: fn(&mut Emit, Val, Val) -> Val) -> Program {
        let mut e = Emit::new();
        let (x, y) = (e.load(0, dtype), e.load(1, dtype));
        let result = emit(&mut e, x, y);
        Program { words: e.finish(), result }
    }

    fn in_f32(&self, arguments: &[f32]) -> f32 {
        let mut bits = [0; 2];
        for (slot, x) in bits.iter_mut().zip(arguments) {
            *slot = u64::from(x.to_bits());
        }
        f32::from_bits(eval(&self.words, self.result, &bits, 0).unwrap() as u32)
    }

    fn in_f64(&self, arguments: &[f64]) -> f64 {
        let mut bits = [0; 2];
        for (slot, x) in bits.iter_mut().zip(arguments) {
            *slot = x.to_bits();
        }
        f64::from_bits(eval(&self.words, self.result, &bits, 0).unwrap())
    }

    /// Words that compute: all but loads, constants and reading a float's bits.
    fn cost(&self) -> usize {
        use crate::ops::vector::Unary;
        let free = |word: &Word| {
            matches!(word, Word::Load { .. } | Word::Const { .. } | Word::Unary(Unary::Bits | Unary::FromBits, _))
        };
        self.words.iter().filter(|(word, _)| !free(word)).count()
    }
}

/// How many floats apart; zeros of either sign are one float, all NaN are one.
fn ulps_f64(a: f64, b: f64) -> u64 {
    let line = |x: f64| if x < 0.0 { -((x.to_bits() & !(1 << 63)) as i64) } else { (x.to_bits() & !(1 << 63)) as i64 };
    match (a.is_nan(), b.is_nan()) {
        (true, true) => 0,
        (false, false) => line(a).abs_diff(line(b)),
        _ => u64::MAX,
    }
}

fn ulps_f32(a: f32, b: f32) -> u64 {
    let line = |x: f32| if x < 0.0 { -((x.to_bits() & !(1 << 31)) as i64) } else { i64::from(x.to_bits() & !(1 << 31)) };
    match (a.is_nan(), b.is_nan()) {
        (true, true) => 0,
        (false, false) => line(a).abs_diff(line(b)),
        _ => u64::MAX,
    }
}

/// Random bits by counter (the finaliser of splitmix64).
fn random(counter: u64) -> u64 {
    let mut x = counter.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    x = (x ^ x >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ x >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ x >> 31
}

/// The `i`th point: by turns any exponent with any mantissa and sign, and a draw from the range.
fn point_f64(i: u64, (low, high): (f64, f64)) -> f64 {
    let bits = random(i);
    if i % 2 == 0 {
        // Every exponent, denormals and infinity included, in its turn.
        f64::from_bits(bits & !(0x7ff << 52) | (i / 2 % 2048) << 52)
    } else {
        low + (high - low) * (bits >> 11) as f64 / 2f64.powi(53)
    }
}

fn point_f32(i: u64, (low, high): (f32, f32)) -> f32 {
    let bits = random(i);
    if i % 2 == 0 {
        f32::from_bits(bits as u32 & !(0xff << 23) | ((i / 2 % 256) as u32) << 23)
    } else {
        (f64::from(low) + (f64::from(high) - f64::from(low)) * (bits >> 11) as f64 / 2f64.powi(53)) as f32
    }
}

const POINTS: u64 = 200_000;

fn sweep_f64(case: &Case, points: u64) {
    let program = Program::unary(DType::F64, case.emit);
    for &(x, expected) in case.exact {
        let got = program.in_f64(&[x]);
        assert!(same_f64(got, expected), "{}({x:e}) gives {got:e}, not {expected:e}, in f64", case.name);
    }
    let worst = worst_of(points, |i| {
        let x = point_f64(i, case.range_f64);
        let (got, expected) = (program.in_f64(&[x]), (case.in_f64)(x));
        (ulps_f64(got, expected), [x, got, expected])
    });
    let (ulp, [x, got, expected]) = worst;
    println!("{} f64: worst {ulp} ulp at {x:e}, {} words", case.name, program.cost());
    assert!(ulp <= case.ulp, "{} f64 is {ulp} ulp off at {x:e}: {got:e}, not {expected:e}", case.name);
}

fn sweep_f32(case: &Case, points: u64) {
    let program = Program::unary(DType::F32, case.emit);
    for &(x, expected) in case.exact {
        let got = program.in_f32(&[x as f32]);
        let expected = expected as f32;
        assert!(same_f32(got, expected), "{}({x:e}) gives {got:e}, not {expected:e}, in f32", case.name);
    }
    let worst = worst_of(points, |i| {
        let x = point_f32(i, case.range_f32);
        let (got, expected) = (program.in_f32(&[x]), (case.in_f32)(x));
        (ulps_f32(got, expected), [x, got, expected])
    });
    let (ulp, [x, got, expected]) = worst;
    println!("{} f32: worst {ulp} ulp at {x:e}, {} words", case.name, program.cost());
    assert!(ulp <= case.ulp, "{} f32 is {ulp} ulp off at {x:e}: {got:e}, not {expected:e}", case.name);
}

fn worst_of<T>(points: u64, at: impl Fn(u64) -> (u64, T)) -> (u64, T) {
    (0..points).map(at).reduce(|worst, next| if next.0 > worst.0 { next } else { worst }).expect("some points")
}

fn same_f64(a: f64, b: f64) -> bool {
    a.is_nan() && b.is_nan() || a.to_bits() == b.to_bits()
}

fn same_f32(a: f32, b: f32) -> bool {
    a.is_nan() && b.is_nan() || a.to_bits() == b.to_bits()
}

const CASES: [&Case; 13] =
    [&EXP, &EXP2, &EXPM1, &LN, &LOG2, &LOG10, &LOG1P, &SIN, &COS, &TAN, &TANH, &SIGMOID, &ERF];

#[test]
#[ignore]
fn survey() {
    let points = std::env::var("POINTS").map_or(POINTS, |p| p.parse().unwrap());
    for case in CASES {
        let c32 = Case { ulp: u64::MAX, ..*case };
        std::panic::catch_unwind(|| sweep_f32(&c32, points)).ok();
        std::panic::catch_unwind(|| sweep_f64(&c32, points)).ok();
    }
}
