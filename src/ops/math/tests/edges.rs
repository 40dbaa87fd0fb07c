//! What a sweep does not reach: `pow` and its special cases, the hardest arguments of the trigonometric functions, and the
//! facts worth a name.

use super::*;

fn f64_of(emit: fn(&mut Emit, Val) -> Val, x: f64) -> f64 {
    Program::unary(DType::F64, emit).in_f64(&[x])
}

fn f32_of(emit: fn(&mut Emit, Val) -> Val, x: f32) -> f32 {
    Program::unary(DType::F32, emit).in_f32(&[x])
}

/// A base and an exponent, by turns: any two numbers; a power within the range of results; a base near 1; integers.
fn pow_arguments(i: u64, largest: f64) -> (f64, f64) {
    let unit = |n| (random(4 * i + n) >> 11) as f64 / 2f64.powi(53);
    let bits = |n| f64::from_bits(random(4 * i + n));
    match i % 4 {
        0 => (bits(0), bits(1)),
        1 => {
            let log = largest * (2.0 * unit(0) - 1.0);
            let target = 1.06 * largest * (2.0 * unit(1) - 1.0);
            (2f64.powf(log), target / log)
        }
        2 => {
            let x = 1.0 + (2.0 * unit(0) - 1.0) * 2f64.powi(-(random(i) as i32 & 31));
            (x, largest * (2.0 * unit(1) - 1.0) / x.log2())
        }
        _ => ((40.0 * unit(0) - 20.0).round(), (100.0 * unit(1) - 50.0).round()),
    }
}

#[test]
fn pow_is_within_two_ulp_f64() {
    let program = Program::binary(DType::F64, pow);
    let (ulp, [x, y, got, expected]) = worst_of(points(), |i| {
        let (x, y) = pow_arguments(i, 1074.0);
        let (got, expected) = (program.in_f64(&[x, y]), cr::pow(x, y));
        (ulps_f64(got, expected), [x, y, got, expected])
    });
    println!("pow f64: worst {ulp} ulp at {x:e}, {y:e}, {} words", program.cost());
    assert!(ulp <= 2, "pow f64 is {ulp} ulp off at {x:e}, {y:e}: {got:e}, not {expected:e}");
}

#[test]
fn pow_is_within_one_ulp_f32() {
    let program = Program::binary(DType::F32, pow);
    let (ulp, [x, y, got, expected]) = worst_of(points(), |i| {
        let (x, y) = pow_arguments(i, 149.0);
        let (mut x, mut y) = (x as f32, y as f32);
        if i % 4 == 0 {
            (x, y) = (f32::from_bits(random(i) as u32), f32::from_bits((random(i) >> 32) as u32));
        }
        let (got, expected) = (program.in_f32(&[x, y]), cr::powf(x, y));
        (ulps_f32(got, expected), [x, y, got, expected])
    });
    println!("pow f32: worst {ulp} ulp at {x:e}, {y:e}, {} words", program.cost());
    assert!(ulp <= 1, "pow f32 is {ulp} ulp off at {x:e}, {y:e}: {got:e}, not {expected:e}");
}

/// The table of C99, annex F.9.4.4: base, exponent, power.
#[rustfmt::skip]
const POW_OF_C99: &[(f64, f64, f64)] = &[
    // A zero base: odd exponents keep its sign.
    (0.0, -3.0, INF), (-0.0, -3.0, -INF), (0.0, -2.0, INF), (-0.0, -2.0, INF), (-0.0, -0.5, INF), (0.0, -INF, INF),
    (-0.0, -INF, INF), (0.0, 3.0, 0.0), (-0.0, 3.0, -0.0), (0.0, 2.0, 0.0), (-0.0, 2.0, 0.0), (-0.0, 0.5, 0.0),
    (0.0, INF, 0.0), (-0.0, INF, 0.0),
    // One, whatever the other, even NaN.
    (1.0, NAN, 1.0), (1.0, INF, 1.0), (1.0, -INF, 1.0), (NAN, 0.0, 1.0), (NAN, -0.0, 1.0), (INF, 0.0, 1.0),
    (-INF, -0.0, 1.0), (0.0, 0.0, 1.0), (-0.0, -0.0, 1.0), (-7.0, 0.0, 1.0), (-1.0, INF, 1.0), (-1.0, -INF, 1.0),
    // A negative base has a real power only for integers.
    (-2.0, 0.5, NAN), (-2.0, -1.5, NAN), (-2.0, 3.0, -8.0), (-2.0, 2.0, 4.0), (-2.0, -1.0, -0.5), (-1.0, 1e15, 1.0),
    // Infinite exponents.
    (0.5, -INF, INF), (-0.5, -INF, INF), (2.0, -INF, 0.0), (-2.0, -INF, 0.0), (0.5, INF, 0.0), (-0.5, INF, 0.0),
    (2.0, INF, INF), (-2.0, INF, INF),
    // Infinite bases.
    (-INF, -3.0, -0.0), (-INF, -2.0, 0.0), (-INF, -0.5, 0.0), (-INF, 3.0, -INF), (-INF, 2.0, INF), (-INF, 0.5, INF),
    (INF, -0.5, 0.0), (INF, 0.5, INF), (INF, INF, INF), (INF, -INF, 0.0), (-INF, INF, INF), (-INF, -INF, 0.0),
    // NaN else.
    (NAN, 1.0, NAN), (2.0, NAN, NAN), (-1.0, NAN, NAN), (0.0, NAN, NAN), (NAN, INF, NAN), (NAN, NAN, NAN),
    // Overflow, with the sign.
    (10.0, 400.0, INF), (-10.0, 401.0, -INF), (10.0, -400.0, 0.0), (-10.0, -401.0, -0.0), (1e30, 1e30, INF),
];

#[test]
fn pow_has_the_special_cases_of_c99() {
    let (wide, narrow) = (Program::binary(DType::F64, pow), Program::binary(DType::F32, pow));
    for &(x, y, expected) in POW_OF_C99 {
        let got = wide.in_f64(&[x, y]);
        assert!(same_f64(got, expected), "pow({x}, {y}) gives {got}, not {expected}, in f64");
        let got = narrow.in_f32(&[x as f32, y as f32]);
        assert!(same_f32(got, expected as f32), "pow({x}, {y}) gives {got}, not {expected}, in f32");
    }
    assert_eq!(wide.in_f64(&[-1.0, 2f64.powi(53) - 1.0]), -1.0);
    assert_eq!(wide.in_f64(&[-1.0, 2f64.powi(53)]), 1.0);
    assert_eq!(narrow.in_f32(&[-1.0, 2f32.powi(24) - 1.0]), -1.0);
}

#[test]
fn powers_of_small_integers_are_exact() {
    let (wide, narrow) = (Program::binary(DType::F64, pow), Program::binary(DType::F32, pow));
    for base in 2..=10i64 {
        for exponent in 0..=15 {
            let power = base.pow(exponent) as f64;
            assert_eq!(wide.in_f64(&[base as f64, f64::from(exponent)]), power, "{base}^{exponent}");
            if power < 2f64.powi(24) {
                assert_eq!(narrow.in_f32(&[base as f32, exponent as f32]), power as f32, "{base}^{exponent}");
            }
        }
    }
}

/// Floats next to multiples of π/2, where reduction cancels the most: small and large multiples, and Kahan's
/// 6381956970095103 · 2^797, of all f64 the nearest to one.
fn near_quarter_turns() -> impl Iterator<Item = f64> {
    let small = (1..20_000u64).chain((0..40).map(|i| 1 << i)).map(|n| n as f64 * std::f64::consts::FRAC_PI_2);
    let near = small.flat_map(|x| [x.next_down(), x, x.next_up(), -x]);
    near.chain([6381956970095103.0 * 2f64.powi(797), f64::MAX, -f64::MAX])
}

#[test]
fn sine_cosine_and_tangent_hold_next_to_multiples_of_a_quarter_turn() {
    for (case, bound) in [(&SIN, 2), (&COS, 2), (&TAN, 4)] {
        let (wide, narrow) = (Program::unary(DType::F64, case.emit), Program::unary(DType::F32, case.emit));
        for x in near_quarter_turns() {
            let (got, expected) = (wide.in_f64(&[x]), (case.in_f64)(x));
            let ulp = ulps_f64(got, expected);
            assert!(ulp <= bound, "{}({x:e}) is {ulp} ulp off: {got:e}, not {expected:e}", case.name);
        }
        let limits = [f32::MAX, 2f32.powi(17), 2f32.powi(17).next_up()];
        for x in near_quarter_turns().map(|x| x as f32).chain(limits) {
            let (got, expected) = (narrow.in_f32(&[x]), (case.in_f32)(x));
            let ulp = ulps_f32(got, expected);
            assert!(ulp <= bound, "{}({x:e}) is {ulp} ulp off: {got:e}, not {expected:e}", case.name);
        }
    }
}

#[test]
fn sine_and_cosine_never_leave_one() {
    for emit in [sin, cos] {
        let (wide, narrow) = (Program::unary(DType::F64, emit), Program::unary(DType::F32, emit));
        for x in near_quarter_turns() {
            assert!(wide.in_f64(&[x]).abs() <= 1.0, "{x:e}");
            let x = (x as f32).clamp(f32::MIN, f32::MAX);
            assert!(narrow.in_f32(&[x]).abs() <= 1.0, "{x:e}");
        }
    }
}

#[test]
fn tanh_of_a_thousand_is_one() {
    assert_eq!(f64_of(tanh, 1000.0), 1.0);
    assert_eq!(f32_of(tanh, -1000.0), -1.0);
}

#[test]
fn sigmoid_fades_through_the_denormals() {
    assert_eq!(f64_of(sigmoid, -745.0), 5e-324);
    assert_eq!(f64_of(sigmoid, -710.0).to_bits(), cr::exp(-710.0).to_bits());
    assert_eq!(f32_of(sigmoid, -103.0).to_bits(), cr::expf(-103.0).to_bits());
    assert_eq!(f64_of(sigmoid, -1000.0).to_bits(), 0);
}

#[test]
fn exp_reaches_the_least_denormal_and_the_largest_number() {
    assert_eq!(f64_of(exp, -745.0), 5e-324);
    assert_eq!(f64_of(exp2, -1074.0), 5e-324);
    assert_eq!(f32_of(exp2, -149.0).to_bits(), 1);
    assert!(f64_of(exp, 709.78).is_finite());
    assert!(f32_of(exp, 88.72).is_finite());
    assert_eq!(f64_of(exp, 709.79), INF);
}

#[test]
fn the_logarithm_of_a_denormal_is_that_of_any_number() {
    let least = f64::from_bits(1);
    assert_eq!(f64_of(log2, least), -1074.0);
    assert_eq!(f64_of(ln, least).to_bits(), cr::log(least).to_bits());
    assert_eq!(f32_of(log2, f32::from_bits(1)), -149.0);
}

#[test]
fn tiny_arguments_are_their_own_result() {
    for emit in [expm1, log1p, sin, tan, tanh] {
        for x in [5e-324, -5e-324, 1e-310, -3e-300] {
            assert_eq!(f64_of(emit, x), x);
        }
        for x in [f32::from_bits(1), -1e-40, 2e-38] {
            assert_eq!(f32_of(emit, x), x);
        }
    }
}

#[test]
fn log1p_of_large_arguments_is_ln() {
    for x in [1e10, 1e300, f64::MAX] {
        assert_eq!(f64_of(log1p, x), cr::log1p(x));
    }
    assert_eq!(f32_of(log1p, f32::MAX), cr::log1pf(f32::MAX));
}

/// The table of C99, annex F.9.1.4: y, x, angle.
#[rustfmt::skip]
const ATAN2_OF_C99: &[(f64, f64, f64)] = &[
    (0.0, 0.0, 0.0), (-0.0, 0.0, -0.0), (0.0, -0.0, PI), (-0.0, -0.0, -PI), (0.0, -1.0, PI), (-0.0, -1.0, -PI),
    (0.0, 1.0, 0.0), (-0.0, 1.0, -0.0), (1.0, 0.0, FRAC_PI_2), (-1.0, 0.0, -FRAC_PI_2), (1.0, -0.0, FRAC_PI_2),
    (1.0, -INF, PI), (-1.0, -INF, -PI), (1.0, INF, 0.0), (-1.0, INF, -0.0), (INF, 1.0, FRAC_PI_2),
    (-INF, -1.0, -FRAC_PI_2), (INF, -INF, 3.0 * FRAC_PI_4), (-INF, -INF, -3.0 * FRAC_PI_4), (INF, INF, FRAC_PI_4),
    (-INF, INF, -FRAC_PI_4), (1.0, NAN, NAN), (NAN, 1.0, NAN), (NAN, NAN, NAN), (INF, NAN, NAN), (0.0, NAN, NAN),
    (1e30, 1e30, FRAC_PI_4), (f64::MAX, f64::MAX, FRAC_PI_4), (1e-300, -1e-300, 3.0 * FRAC_PI_4),
];

#[test]
fn atan2_has_the_special_cases_of_c99() {
    let (wide, narrow) = (Program::binary(DType::F64, atan2), Program::binary(DType::F32, atan2));
    for &(y, x, expected) in ATAN2_OF_C99 {
        let got = wide.in_f64(&[y, x]);
        assert!(same_f64(got, expected), "atan2({y}, {x}) gives {got}, not {expected}, in f64");
        let (y, x) = (y as f32, x as f32);
        let (got, expected) = (narrow.in_f32(&[y, x]), cr::atan2f(y, x));
        assert!(same_f32(got, expected), "atan2({y}, {x}) gives {got}, not {expected}, in f32");
    }
}

#[test]
fn atan2_is_within_two_ulp() {
    let (wide, narrow) = (Program::binary(DType::F64, atan2), Program::binary(DType::F32, atan2));
    let (ulp, [y, x, got, expected]) = worst_of(points(), |i| {
        let (y, x) = (point_f64(3 * i + i % 3, (-4.0, 4.0)), point_f64(3 * (i + 1) + i % 3, (-4.0, 4.0)));
        let (got, expected) = (wide.in_f64(&[y, x]), cr::atan2(y, x));
        (ulps_f64(got, expected), [y, x, got, expected])
    });
    println!("atan2 f64: worst {ulp} ulp at {y:e}, {x:e}, {} words", wide.cost());
    assert!(ulp <= 2, "atan2 f64 is {ulp} ulp off at {y:e}, {x:e}: {got:e}, not {expected:e}");
    let (ulp, [y, x, got, expected]) = worst_of(points(), |i| {
        let (y, x) = (point_f32(3 * i + i % 3, (-4.0, 4.0)), point_f32(3 * (i + 1) + i % 3, (-4.0, 4.0)));
        let (got, expected) = (narrow.in_f32(&[y, x]), cr::atan2f(y, x));
        (ulps_f32(got, expected), [y, x, got, expected])
    });
    println!("atan2 f32: worst {ulp} ulp at {y:e}, {x:e}, {} words", narrow.cost());
    assert!(ulp <= 2, "atan2 f32 is {ulp} ulp off at {y:e}, {x:e}: {got:e}, not {expected:e}");
}
