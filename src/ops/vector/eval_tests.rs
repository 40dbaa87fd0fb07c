//! The words at their edges, each against a value written by hand.

use super::super::{Binary, Compare, Emit, Fault, Lane, LaneFn, Table, Unary, Val};
use super::eval;
use crate::dtype::DType;

/// Writes a program with `write` and gives its value.
fn run(write: impl FnOnce(&mut Emit) -> Val) -> Result<u64, Fault> {
    let mut e = Emit::new();
    let result = write(&mut e);
    eval(&e.finish(), result, &[], 7)
}

fn of_i32(word: Binary, a: i32, b: i32) -> Result<i32, Fault> {
    run(|e| {
        let (a, b) = (e.int(Lane::I32, a.into()), e.int(Lane::I32, b.into()));
        e.integer(word, a, b)
    })
    .map(|bits| bits as u32 as i32)
}

fn of_i64(word: Binary, a: i64, b: i64) -> Result<i64, Fault> {
    run(|e| {
        let (a, b) = (e.int(Lane::I64, a), e.int(Lane::I64, b));
        e.integer(word, a, b)
    })
    .map(|bits| bits as i64)
}

fn of_f64(word: Binary, a: f64, b: f64) -> f64 {
    let bits = run(|e| {
        let (a, b) = (e.float(Lane::F64, a), e.float(Lane::F64, b));
        e.integer(word, a, b)
    });
    f64::from_bits(bits.unwrap())
}

fn convert(word: Unary, from: Lane, x: f64, to: Lane) -> u64 {
    run(|e| {
        let x = e.float(from, x);
        e.convert(word, x, to)
    })
    .unwrap()
}

fn round(word: Unary, from: Lane, x: f64) -> f32 {
    f32::from_bits(convert(word, from, x, Lane::F32) as u32)
}

#[test]
fn a_shift_by_the_width_or_more_gives_zero_or_the_sign() {
    for count in [32, 33, 64, -1] {
        assert_eq!(of_i32(Binary::Shl, -5, count), Ok(0));
        assert_eq!(of_i32(Binary::Shr, -5, count), Ok(0));
        assert_eq!(of_i32(Binary::Sar, -5, count), Ok(-1));
        assert_eq!(of_i32(Binary::Sar, 5, count), Ok(0));
    }
    for count in [64, 65, 1 << 32, -1] {
        assert_eq!(of_i64(Binary::Shl, -5, count), Ok(0));
        assert_eq!(of_i64(Binary::Shr, -5, count), Ok(0));
        assert_eq!(of_i64(Binary::Sar, -5, count), Ok(-1));
        assert_eq!(of_i64(Binary::Sar, 5, count), Ok(0));
    }
    assert_eq!(of_i32(Binary::Shr, -1, 31), Ok(1));
    assert_eq!(of_i64(Binary::Shl, 1, 63), Ok(i64::MIN));
}

#[test]
fn the_least_integer_over_minus_one_wraps() {
    assert_eq!(of_i32(Binary::DivS, i32::MIN, -1), Ok(i32::MIN));
    assert_eq!(of_i32(Binary::RemS, i32::MIN, -1), Ok(0));
    assert_eq!(of_i64(Binary::DivS, i64::MIN, -1), Ok(i64::MIN));
    assert_eq!(of_i64(Binary::RemS, i64::MIN, -1), Ok(0));
}

#[test]
fn integer_division_goes_towards_zero_and_faults_on_zero() {
    assert_eq!(of_i32(Binary::DivS, -7, 2), Ok(-3));
    assert_eq!(of_i32(Binary::RemS, -7, 2), Ok(-1));
    assert_eq!(of_i32(Binary::DivU, -1, 2), Ok(i32::MAX));
    assert_eq!(of_i64(Binary::RemU, -1, 10), Ok(5));
    for word in [Binary::DivS, Binary::RemS, Binary::DivU, Binary::RemU] {
        assert_eq!(of_i32(word, 1, 0), Err(Fault::DivideByZero));
        assert_eq!(of_i64(word, 1, 0), Err(Fault::DivideByZero));
    }
}

#[test]
fn integers_wrap_and_order_by_sign_or_without() {
    assert_eq!(of_i32(Binary::Add, i32::MAX, 1), Ok(i32::MIN));
    assert_eq!(of_i64(Binary::Mul, i64::MAX, 2), Ok(-2));
    assert_eq!(of_i32(Binary::MinS, -1, 1), Ok(-1));
    assert_eq!(of_i32(Binary::MinU, -1, 1), Ok(1));
    assert_eq!(of_i64(Binary::MaxU, -1, 1), Ok(-1));
    let less = |word: fn(&mut Emit, Val, Val) -> Val| {
        run(|e| {
            let (a, b) = (e.int(Lane::I32, -1), e.int(Lane::I32, 1));
            word(e, a, b)
        })
    };
    assert_eq!(less(Emit::lt), Ok(1));
    assert_eq!(less(Emit::lt_unsigned), Ok(0));
}

#[test]
fn min_and_max_give_the_second_operand_when_one_is_nan() {
    for word in [Binary::Min, Binary::Max] {
        assert_eq!(of_f64(word, f64::NAN, 3.0), 3.0);
        assert!(of_f64(word, 3.0, f64::NAN).is_nan());
        assert_eq!(of_f64(word, 0.0, -0.0).to_bits(), (-0.0f64).to_bits());
        assert_eq!(of_f64(word, -0.0, 0.0).to_bits(), 0);
    }
}

#[test]
fn comparing_with_nan_is_false_but_for_ne() {
    let holds = |word: Compare| {
        run(|e| {
            let (a, b) = (e.float(Lane::F32, f64::NAN), e.float(Lane::F32, 1.0));
            match word {
                Compare::Eq => e.eq(a, b),
                Compare::Ne => e.ne(a, b),
                Compare::Lt => e.lt(a, b),
                _ => e.le(a, b),
            }
        })
        .unwrap()
    };
    assert_eq!([Compare::Eq, Compare::Lt, Compare::Le, Compare::Ne].map(holds), [0, 0, 0, 1]);
}

#[test]
fn float_to_integer_saturates_and_takes_nan_to_zero() {
    let i32_of = |x| convert(Unary::ToI32, Lane::F64, x, Lane::I32) as u32 as i32;
    assert_eq!([1e10, -1e10, f64::NAN, -2.9].map(i32_of), [i32::MAX, i32::MIN, 0, -2]);
    let u32_of = |x| convert(Unary::ToU32, Lane::F32, x, Lane::I32) as u32;
    assert_eq!([1e10, -1.0, f64::NAN, 2.9].map(u32_of), [u32::MAX, 0, 0, 2]);
    let i64_of = |x| convert(Unary::ToI64, Lane::F32, x, Lane::I64) as i64;
    assert_eq!([1e30, f64::NEG_INFINITY, 2.5].map(i64_of), [i64::MAX, i64::MIN, 2]);
    let u64_of = |x| convert(Unary::ToU64, Lane::F64, x, Lane::I64);
    assert_eq!([1e30, -3.0, 2f64.powi(63)].map(u64_of), [u64::MAX, 0, 1 << 63]);
}

#[test]
fn integers_change_width_with_or_without_the_sign() {
    let of = |word: Unary, x: i64, from: Lane, to: Lane| {
        run(|e| {
            let x = e.int(from, x);
            e.convert(word, x, to)
        })
        .unwrap()
    };
    assert_eq!(of(Unary::SignExtend, -2, Lane::I32, Lane::I64), -2i64 as u64);
    assert_eq!(of(Unary::ZeroExtend, -2, Lane::I32, Lane::I64), 0xffff_fffe);
    assert_eq!(of(Unary::Truncate, 0x1_2345_6789, Lane::I64, Lane::I32), 0x2345_6789);
    assert_eq!(of(Unary::WrapI8, 200, Lane::I32, Lane::I32), u64::from(-56i32 as u32));
    assert_eq!(of(Unary::WrapU16, -1, Lane::I32, Lane::I32), 65535);
    assert_eq!(of(Unary::UnsignedToF64, -1, Lane::I64, Lane::F64), 2f64.powi(64).to_bits());
    assert_eq!(of(Unary::UnsignedToF32, -1, Lane::I32, Lane::F32), u64::from(2f32.powi(32).to_bits()));
    assert_eq!(of(Unary::ToF32, -3, Lane::I64, Lane::F32), u64::from((-3f32).to_bits()));
}

#[test]
fn rounding_to_half_width_ties_to_even() {
    let tie = 1.0 + 2f64.powi(-11); // halfway from 1 to the next f16
    assert_eq!(round(Unary::RoundF16, Lane::F32, tie), 1.0);
    assert_eq!(round(Unary::RoundF16, Lane::F32, 1.0 + 3.0 * 2f64.powi(-11)), 1.0 + 2f32.powi(-9));
    assert_eq!(round(Unary::RoundF16, Lane::F32, 65520.0), f32::INFINITY);
    assert_eq!(round(Unary::RoundBF16, Lane::F32, 1.0 + 2f64.powi(-8)), 1.0);
    assert!(round(Unary::RoundBF16, Lane::F32, f64::NAN).is_nan());
}

#[test]
fn rounding_f64_to_half_width_rounds_once() {
    // A little off a tie by less than an f32 can tell: through f32 the tie would be broken wrongly.
    let (next, little) = (1.0 + 2f32.powi(-10), 2f64.powi(-50));
    assert_eq!(round(Unary::RoundF16, Lane::F64, 1.0 + 2f64.powi(-11) + little), next);
    assert_eq!(round(Unary::RoundF16, Lane::F64, 1.0 + 3.0 * 2f64.powi(-11) - little), next);
    assert_eq!(round(Unary::RoundBF16, Lane::F64, 1.0 + 2f64.powi(-8) + little), 1.0 + 2f32.powi(-7));
    assert_eq!(round(Unary::RoundBF16, Lane::F64, -1.0 - 2f64.powi(-8) - little), -1.0 - 2f32.powi(-7));
    // Subnormal of f16 and of bf16, overflow, underflow, signs.
    assert_eq!(round(Unary::RoundF16, Lane::F64, 2f64.powi(-25) * (1.0 + little)), 2f32.powi(-24));
    assert_eq!(round(Unary::RoundF16, Lane::F64, 2f64.powi(-25)), 0.0);
    assert_eq!(round(Unary::RoundBF16, Lane::F64, 2f64.powi(-134) * (1.0 + little)), 2f32.powi(-133));
    assert_eq!(round(Unary::RoundF16, Lane::F64, 65520.0 - little * 65536.0), 65504.0);
    assert_eq!(round(Unary::RoundBF16, Lane::F64, 1e300), f32::INFINITY);
    assert_eq!(round(Unary::RoundBF16, Lane::F64, -1e-300).to_bits(), (-0f32).to_bits());
    assert!(round(Unary::RoundF16, Lane::F64, f64::NAN).is_nan());
}

#[test]
fn rounding_to_integral_keeps_the_sign_of_zero() {
    for word in [Unary::Ceil, Unary::Trunc, Unary::RoundEven] {
        assert_eq!(round(word, Lane::F32, -0.25).to_bits(), (-0f32).to_bits());
    }
    assert_eq!(round(Unary::RoundEven, Lane::F32, 2.5), 2.0);
    assert_eq!(round(Unary::Floor, Lane::F32, -0.25), -1.0);
}

#[test]
fn negating_flips_the_sign_bit_of_zero_and_nan() {
    assert_eq!(convert(Unary::Neg, Lane::F64, 0.0, Lane::F64), 1 << 63);
    assert_eq!(convert(Unary::Neg, Lane::F64, f64::NAN, Lane::F64), f64::NAN.to_bits() ^ 1 << 63);
    assert_eq!(convert(Unary::Abs, Lane::F32, -0.0, Lane::F32), 0);
}

#[test]
fn a_fused_multiply_add_rounds_once() {
    let square = 1.0 + 2f64.powi(-52); // its square ends in 2^-104
    let bits = run(|e| {
        let x = e.float(Lane::F64, square);
        let c = e.float(Lane::F64, -(1.0 + 2f64.powi(-51)));
        e.fma(x, x, c)
    });
    assert_eq!(bits.map(f64::from_bits), Ok(2f64.powi(-104)));
}

#[test]
fn sources_choices_tables_and_rare_lanes_give_what_they_say() {
    static TABLE: Table = Table { name: "tens", entries: &[10, 20, 30] };
    let mut e = Emit::new();
    let x = e.load(1, DType::F32);
    let position = e.position();
    let two = e.int(Lane::I64, 2);
    let entry = e.lookup(&TABLE, Lane::I64, two);
    let one = e.float(Lane::F32, 1.0);
    let big = e.lt(one, x);
    let rare = e.rare(big, &LaneFn::F32("halve", |x| x / 2.0), x, one);
    let chosen = e.select(big, entry, position);
    let words = e.finish();
    let loads = |x: f32| [0, u64::from(x.to_bits())];
    assert_eq!(eval(&words, chosen, &loads(4.0), 7), Ok(30));
    assert_eq!(eval(&words, chosen, &loads(0.5), 7), Ok(7));
    assert_eq!(eval(&words, rare, &loads(4.0), 7), Ok(u64::from(2f32.to_bits())));
    assert_eq!(eval(&words, rare, &loads(0.5), 7), Ok(u64::from(1f32.to_bits())));
}
