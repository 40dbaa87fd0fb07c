//! Every elementary function against `core-math`, whose results are correctly rounded: one table, one sweep.
//!
//! An error is counted in ulp as the number of floats between the result and the correctly rounded one.

use super::*;
use crate::dtype::DType;
use crate::ops::vector::{Word, eval};
use core_math as cr;
use std::f64::consts::{FRAC_PI_2, FRAC_PI_4, PI};

/// One function of one operand: how to write it, what it should give, how far off it may be.
struct Case {
    name: &'static str,
    emit: fn(&mut Emit, Val) -> Val,
    in_f32: fn(f32) -> f32,
    in_f64: fn(f64) -> f64,
    /// Where the function is neither flat nor its own argument: a third of the points are drawn here.
    range_f32: (f64, f64),
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
    range_f32: (-105.0, 90.0),
    range_f64: (-750.0, 711.0),
    exact: &[(0.0, 1.0), (-0.0, 1.0), (INF, INF), (-INF, 0.0), (1e4, INF), (-1e4, 0.0), (NAN, NAN)],
};
const EXP_BELOW: Case = Case {
    name: "exp_below",
    emit: |e, x| {
        // Points above 0 stand for those below.
        let size = e.abs(x);
        let down = e.neg(size);
        exp_below(e, down)
    },
    in_f32: |x| cr::expf(-x.abs()),
    in_f64: |x| cr::exp(-x.abs()),
    range_f32: (-107.0, 0.0),
    range_f64: (-750.0, 0.0),
    exact: &[(0.0, 1.0), (-0.0, 1.0), (-INF, 0.0), (-1e4, 0.0), (NAN, NAN)],
};
const EXP2: Case = Case {
    name: "exp2",
    emit: exp2,
    in_f32: cr::exp2f,
    in_f64: cr::exp2,
    range_f32: (-152.0, 129.0),
    range_f64: (-1078.0, 1025.0),
    exact: &[(0.0, 1.0), (3.0, 8.0), (-1.0, 0.5), (-149.0, 1.401298464324817e-45), (INF, INF), (-INF, 0.0), (NAN, NAN)],
};
const EXPM1: Case = Case {
    name: "expm1",
    emit: expm1,
    in_f32: cr::expm1f,
    in_f64: cr::expm1,
    range_f32: (-20.0, 90.0),
    range_f64: (-40.0, 711.0),
    exact: &[(0.0, 0.0), (-0.0, -0.0), (INF, INF), (-INF, -1.0), (-100.0, -1.0), (1e4, INF), (NAN, NAN)],
};
const LN: Case = Case {
    name: "ln",
    emit: ln,
    in_f32: cr::logf,
    in_f64: cr::log,
    range_f32: (0.3, 3.0),
    range_f64: (0.3, 3.0),
    exact: &[(1.0, 0.0), (0.0, -INF), (-0.0, -INF), (-1.0, NAN), (-INF, NAN), (INF, INF), (NAN, NAN)],
};
const LOG2: Case = Case {
    name: "log2",
    emit: log2,
    in_f32: cr::log2f,
    in_f64: cr::log2,
    range_f32: (0.3, 3.0),
    range_f64: (0.3, 3.0),
    exact: &[(1.0, 0.0), (8.0, 3.0), (0.25, -2.0), (0.0, -INF), (-0.0, -INF), (-1.0, NAN), (INF, INF), (NAN, NAN)],
};
const LOG10: Case = Case {
    name: "log10",
    emit: log10,
    in_f32: cr::log10f,
    in_f64: cr::log10,
    range_f32: (0.3, 3.0),
    range_f64: (0.3, 3.0),
    exact: &[(1.0, 0.0), (100.0, 2.0), (0.0, -INF), (-0.0, -INF), (-1.0, NAN), (INF, INF), (NAN, NAN)],
};
const LOG1P: Case = Case {
    name: "log1p",
    emit: log1p,
    in_f32: cr::log1pf,
    in_f64: cr::log1p,
    range_f32: (-1.0, 3.0),
    range_f64: (-1.0, 3.0),
    exact: &[(0.0, 0.0), (-0.0, -0.0), (-1.0, -INF), (-1.5, NAN), (-INF, NAN), (INF, INF), (NAN, NAN)],
};
const SIN: Case = Case {
    name: "sin",
    emit: sin,
    in_f32: cr::sinf,
    in_f64: cr::sin,
    range_f32: (-100.0, 100.0),
    range_f64: (-100.0, 100.0),
    exact: &[(0.0, 0.0), (-0.0, -0.0), (INF, NAN), (-INF, NAN), (NAN, NAN)],
};
const COS: Case = Case {
    name: "cos",
    emit: cos,
    in_f32: cr::cosf,
    in_f64: cr::cos,
    range_f32: (-100.0, 100.0),
    range_f64: (-100.0, 100.0),
    exact: &[(0.0, 1.0), (-0.0, 1.0), (INF, NAN), (-INF, NAN), (NAN, NAN)],
};
const TAN: Case = Case {
    name: "tan",
    emit: tan,
    in_f32: cr::tanf,
    in_f64: cr::tan,
    range_f32: (-100.0, 100.0),
    range_f64: (-100.0, 100.0),
    exact: &[(0.0, 0.0), (-0.0, -0.0), (INF, NAN), (-INF, NAN), (NAN, NAN)],
};
const TANH: Case = Case {
    name: "tanh",
    emit: tanh,
    in_f32: cr::tanhf,
    in_f64: cr::tanh,
    range_f32: (-10.0, 10.0),
    range_f64: (-20.0, 20.0),
    exact: &[(0.0, 0.0), (-0.0, -0.0), (1000.0, 1.0), (-1000.0, -1.0), (INF, 1.0), (-INF, -1.0), (NAN, NAN)],
};
const SIGMOID: Case = Case {
    name: "sigmoid",
    emit: sigmoid,
    in_f32: |x| sigmoid_from_core_math(f64::from(x)) as f32,
    in_f64: sigmoid_from_core_math,
    range_f32: (-105.0, 20.0),
    range_f64: (-750.0, 40.0),
    exact: &[(0.0, 0.5), (-0.0, 0.5), (1000.0, 1.0), (-1000.0, 0.0), (INF, 1.0), (-INF, 0.0), (NAN, NAN)],
};
const ERF: Case = Case {
    name: "erf",
    emit: erf,
    in_f32: cr::erff,
    in_f64: cr::erf,
    range_f32: (-4.5, 4.5),
    range_f64: (-6.5, 6.5),
    exact: &[(0.0, 0.0), (-0.0, -0.0), (10.0, 1.0), (-10.0, -1.0), (INF, 1.0), (-INF, -1.0), (NAN, NAN)],
};
const ERFC: Case = Case {
    name: "erfc",
    emit: erfc,
    in_f32: cr::erfcf,
    in_f64: cr::erfc,
    range_f32: (-4.5, 11.0),
    range_f64: (-6.5, 28.0),
    exact: &[(0.0, 1.0), (-0.0, 1.0), (30.0, 0.0), (-30.0, 2.0), (INF, 0.0), (-INF, 2.0), (NAN, NAN)],
};

const SINH: Case = Case {
    name: "sinh",
    emit: sinh,
    in_f32: cr::sinhf,
    in_f64: cr::sinh,
    range_f32: (-90.0, 90.0),
    range_f64: (-711.0, 711.0),
    exact: &[(0.0, 0.0), (-0.0, -0.0), (1e4, INF), (-1e4, -INF), (INF, INF), (-INF, -INF), (NAN, NAN)],
};
const COSH: Case = Case {
    name: "cosh",
    emit: cosh,
    in_f32: cr::coshf,
    in_f64: cr::cosh,
    range_f32: (-90.0, 90.0),
    range_f64: (-711.0, 711.0),
    exact: &[(0.0, 1.0), (-0.0, 1.0), (1e4, INF), (-1e4, INF), (INF, INF), (-INF, INF), (NAN, NAN)],
};
const ASIN: Case = Case {
    name: "asin",
    emit: asin,
    in_f32: cr::asinf,
    in_f64: cr::asin,
    range_f32: (-1.01, 1.01),
    range_f64: (-1.01, 1.01),
    exact: &[(0.0, 0.0), (-0.0, -0.0), (1.0, FRAC_PI_2), (-1.0, -FRAC_PI_2), (1.5, NAN), (-INF, NAN), (NAN, NAN)],
};
const ACOS: Case = Case {
    name: "acos",
    emit: acos,
    in_f32: cr::acosf,
    in_f64: cr::acos,
    range_f32: (-1.01, 1.01),
    range_f64: (-1.01, 1.01),
    exact: &[(0.0, FRAC_PI_2), (-0.0, FRAC_PI_2), (1.0, 0.0), (-1.0, PI), (1.5, NAN), (-INF, NAN), (NAN, NAN)],
};
const ATAN: Case = Case {
    name: "atan",
    emit: atan,
    in_f32: cr::atanf,
    in_f64: cr::atan,
    range_f32: (-4.0, 4.0),
    range_f64: (-4.0, 4.0),
    exact: &[(0.0, 0.0), (-0.0, -0.0), (1.0, FRAC_PI_4), (INF, FRAC_PI_2), (-INF, -FRAC_PI_2), (NAN, NAN)],
};

/// To within an ulp: near 0 by way of `tanh`, which loses nothing there, else by `exp`.
fn sigmoid_from_core_math(x: f64) -> f64 {
    if x.abs() < 1.0 {
        return 0.5 + 0.5 * cr::tanh(0.5 * x);
    }
    let t = cr::exp(-x.abs());
    let top = if x < 0.0 { t } else { 1.0 };
    // The bottom in two parts and the quotient corrected by what it leaves: only `t` is rounded, and the result.
    let bottom = 1.0 + t;
    let rest = t - (bottom - 1.0);
    let quotient = top / bottom;
    let left = (-quotient).mul_add(bottom, top) - quotient * rest;
    quotient + left / bottom
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
    let line =
        |x: f32| if x < 0.0 { -((x.to_bits() & !(1 << 31)) as i64) } else { i64::from(x.to_bits() & !(1 << 31)) };
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

/// The `i`th point, by turns: any sign and mantissa with every exponent, with an exponent near 1's, or a draw from the range.
fn point_f64(i: u64, (low, high): (f64, f64)) -> f64 {
    let (bits, turn) = (random(i), i / 3);
    let with_exponent = |exponent: u64| f64::from_bits(bits & !(0x7ff << 52) | exponent << 52);
    match i % 3 {
        0 => with_exponent(turn % 2048), // denormals, infinity and NaN included
        1 => with_exponent(1023 - 12 + turn % 20),
        _ => low + (high - low) * (bits >> 11) as f64 / 2f64.powi(53),
    }
}

fn point_f32(i: u64, (low, high): (f64, f64)) -> f32 {
    let (bits, turn) = (random(i), i / 3);
    let with_exponent = |exponent: u64| f32::from_bits(bits as u32 & !(0xff << 23) | (exponent as u32) << 23);
    match i % 3 {
        0 => with_exponent(turn % 256),
        1 => with_exponent(127 - 12 + turn % 20),
        _ => (low + (high - low) * (bits >> 11) as f64 / 2f64.powi(53)) as f32,
    }
}

/// How many points a sweep takes; `ZITHER_MATH_POINTS` asks for more (or fewer).
fn points() -> u64 {
    std::env::var("ZITHER_MATH_POINTS").ok().and_then(|points| points.parse().ok()).unwrap_or(200_000)
}

/// Fails unless the function is exact at its edges and within `bound` everywhere else, in the named lane.
fn check_f64(case: &Case, bound: u64) {
    let program = Program::unary(DType::F64, case.emit);
    for &(x, expected) in case.exact {
        let got = program.in_f64(&[x]);
        assert!(same_f64(got, expected), "{}({x:e}) gives {got:e}, not {expected:e}, in f64", case.name);
    }
    let (ulp, [x, got, expected]) = worst_of(points(), |i| {
        let x = point_f64(i, case.range_f64);
        let (got, expected) = (program.in_f64(&[x]), (case.in_f64)(x));
        (ulps_f64(got, expected), [x, got, expected])
    });
    println!("{} f64: worst {ulp} ulp at {x:e}, {} words", case.name, program.cost());
    assert!(ulp <= bound, "{} f64 is {ulp} ulp off at {x:e}: {got:e}, not {expected:e}", case.name);
}

fn check_f32(case: &Case, bound: u64) {
    let program = Program::unary(DType::F32, case.emit);
    for &(x, expected) in case.exact {
        let (got, expected) = (program.in_f32(&[x as f32]), expected as f32);
        assert!(same_f32(got, expected), "{}({x:e}) gives {got:e}, not {expected:e}, in f32", case.name);
    }
    let (ulp, [x, got, expected]) = worst_of(points(), |i| {
        let x = point_f32(i, case.range_f32);
        let (got, expected) = (program.in_f32(&[x]), (case.in_f32)(x));
        (ulps_f32(got, expected), [x, got, expected])
    });
    println!("{} f32: worst {ulp} ulp at {x:e}, {} words", case.name, program.cost());
    assert!(ulp <= bound, "{} f32 is {ulp} ulp off at {x:e}: {got:e}, not {expected:e}", case.name);
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

/// A relative error of `z` becomes one of the gate that is `z` times as large; what is beyond the gate's range is 0.
#[test]
fn gelu_tanh_is_off_by_as_many_ulps_as_its_gate_is_wide() {
    let double = |x: f64| x * (GELU_SLOPE + GELU_CUBIC * x * x);
    let value = |x: f64| x * sigmoid_from_core_math(double(x));
    let [single, long] = [DType::F32, DType::F64].map(|dtype| Program::unary(dtype, gelu_tanh));
    let allowed = |x: f64| 4 + (4.0 * double(x).abs()).min(4e3) as u64;
    for (x, expected) in [(0.0, 0.0), (-0.0, -0.0), (100.0, 100.0), (-100.0, -0.0), (INF, INF), (-INF, NAN), (NAN, NAN)]
    {
        assert!(same_f32(single.in_f32(&[x as f32]), expected as f32), "{x} in f32");
        assert!(same_f64(long.in_f64(&[x]), expected), "{x} in f64");
    }
    for i in 0..points() {
        let x = point_f32(i, (-11.0, 6.0));
        let (got, expected) = (single.in_f32(&[x]), value(f64::from(x)) as f32);
        assert!(ulps_f32(got, expected) <= allowed(f64::from(x)), "f32 {x:e}: {got:e}, not {expected:e}");
        let x = point_f64(i, (-22.0, 7.0));
        let (got, expected) = (long.in_f64(&[x]), value(x));
        assert!(ulps_f64(got, expected) <= allowed(x), "f64 {x:e}: {got:e}, not {expected:e}");
    }
}

/// One test a line: the fact, the check, the case, the bound.
macro_rules! bounds {
    ($($fact:ident: $check:ident($case:ident, $bound:literal);)*) => {
        $(#[test]
        fn $fact() {
            $check(&$case, $bound);
        })*
    };
}

bounds! {
    exp_is_within_one_ulp_f32: check_f32(EXP, 1);
    exp_is_within_one_ulp_f64: check_f64(EXP, 1);
    exp_below_is_within_one_ulp_f32: check_f32(EXP_BELOW, 1);
    exp_below_is_within_one_ulp_f64: check_f64(EXP_BELOW, 1);
    exp2_is_within_one_ulp_f32: check_f32(EXP2, 1);
    exp2_is_within_one_ulp_f64: check_f64(EXP2, 1);
    expm1_is_within_two_ulp_f32: check_f32(EXPM1, 2);
    expm1_is_within_two_ulp_f64: check_f64(EXPM1, 2);
    ln_is_within_one_ulp_f32: check_f32(LN, 1);
    ln_is_within_one_ulp_f64: check_f64(LN, 1);
    log2_is_within_one_ulp_f32: check_f32(LOG2, 1);
    log2_is_within_one_ulp_f64: check_f64(LOG2, 1);
    log10_is_within_one_ulp_f32: check_f32(LOG10, 1);
    log10_is_within_one_ulp_f64: check_f64(LOG10, 1);
    log1p_is_within_one_ulp_f32: check_f32(LOG1P, 1);
    log1p_is_within_one_ulp_f64: check_f64(LOG1P, 1);
    sin_is_within_two_ulp_f32: check_f32(SIN, 2);
    sin_is_within_two_ulp_f64: check_f64(SIN, 2);
    cos_is_within_two_ulp_f32: check_f32(COS, 2);
    cos_is_within_two_ulp_f64: check_f64(COS, 2);
    tan_is_within_four_ulp_f32: check_f32(TAN, 4);
    tan_is_within_four_ulp_f64: check_f64(TAN, 4);
    tanh_is_within_two_ulp_f32: check_f32(TANH, 2);
    tanh_is_within_two_ulp_f64: check_f64(TANH, 2);
    sigmoid_is_within_two_ulp_f32: check_f32(SIGMOID, 2);
    sigmoid_is_within_two_ulp_f64: check_f64(SIGMOID, 2);
    erf_is_within_four_ulp_f32: check_f32(ERF, 4);
    erf_is_within_four_ulp_f64: check_f64(ERF, 4);
    erfc_is_within_five_ulp_f32: check_f32(ERFC, 5);
    erfc_is_within_five_ulp_f64: check_f64(ERFC, 5);
    sinh_is_within_two_ulp_f32: check_f32(SINH, 2);
    sinh_is_within_two_ulp_f64: check_f64(SINH, 2);
    cosh_is_within_two_ulp_f32: check_f32(COSH, 2);
    cosh_is_within_two_ulp_f64: check_f64(COSH, 2);
    asin_is_within_two_ulp_f32: check_f32(ASIN, 2);
    asin_is_within_two_ulp_f64: check_f64(ASIN, 2);
    acos_is_within_two_ulp_f32: check_f32(ACOS, 2);
    acos_is_within_two_ulp_f64: check_f64(ACOS, 2);
    atan_is_within_two_ulp_f32: check_f32(ATAN, 2);
    atan_is_within_two_ulp_f64: check_f64(ATAN, 2);
}

mod edges;
