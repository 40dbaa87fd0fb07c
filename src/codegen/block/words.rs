//! The meaning of every word of the vector program, lane by lane.
//!
//! Lanes are held as Rust's own numbers: a `Mask` as a `u8` that is 0 or 1, `I32` and `I64` as integers of that width
//! (with or without sign, as the word asks), floats as floats.

use super::half;
use super::lanes::{Table, kernel};
use crate::ops::vector::scale::{Scale, eighths};
use crate::ops::vector::{Binary, Compare, Lane, Unary};

/// Stops on a word whose operands no op should have given it.
#[cold]
fn unfit(word: impl std::fmt::Debug, lane: Lane) -> ! {
    panic!("{word:?} does not take {lane:?} lanes")
}

/// The kernel of a float word for the given lane.
macro_rules! floats {
    ($word:expr, $lane:expr, |$($x:ident),*| $body:expr) => {
        match $lane {
            Lane::F32 => kernel!(|$($x: f32),*| -> f32 { $body }),
            Lane::F64 => kernel!(|$($x: f64),*| -> f64 { $body }),
            lane => unfit($word, lane),
        }
    };
}

/// The kernel of an integer word for the given lane; `T` names the lane's integer, with or without sign.
macro_rules! integers {
    (signed $word:expr, $lane:expr, |$($x:ident),*| $body:expr) => {
        integers!(@ $word, $lane, i32, i64, |$($x),*| $body)
    };
    (unsigned $word:expr, $lane:expr, |$($x:ident),*| $body:expr) => {
        integers!(@ $word, $lane, u32, u64, |$($x),*| $body)
    };
    (@ $word:expr, $lane:expr, $narrow:ty, $wide:ty, |$($x:ident),*| $body:expr) => {
        match $lane {
            Lane::I32 => kernel!(|$($x: $narrow),*| -> $narrow { $body }),
            Lane::I64 => kernel!(|$($x: $wide),*| -> $wide { $body }),
            lane => unfit($word, lane),
        }
    };
}

/// The kernel of a word on integers and masks.
macro_rules! bitwise {
    ($word:expr, $lane:expr, |$($x:ident),*| $body:expr) => {
        match $lane {
            Lane::Mask => kernel!(|$($x: u8),*| -> u8 { $body }),
            lane => integers!(unsigned $word, lane, |$($x),*| $body),
        }
    };
}

/// The kernel of a conversion, by the pair of its lanes.
macro_rules! conversions {
    ($word:expr, $from:expr, { $($lane:ident => |$x:ident: $A:ty| -> $R:ty $body:block)* }) => {
        match $from {
            $(Lane::$lane => kernel!(|$x: $A| -> $R $body),)*
            #[allow(unreachable_patterns)]
            lane => unfit($word, lane),
        }
    };
}

/// The loops of a word of one operand; `from` is the operand's lane.
#[rustfmt::skip] // one word, one line
pub(super) fn unary(word: Unary, from: Lane) -> Table {
    match word {
        Unary::Neg => match from {
            Lane::F32 | Lane::F64 => floats!(word, from, |x| -x),
            lane => integers!(signed word, lane, |x| x.wrapping_neg()),
        },
        Unary::Abs => floats!(word, from, |x| x.abs()),
        Unary::Sqrt => floats!(word, from, |x| x.sqrt()),
        Unary::Floor => floats!(word, from, |x| x.floor()),
        Unary::Ceil => floats!(word, from, |x| x.ceil()),
        Unary::Trunc => floats!(word, from, |x| x.trunc()),
        Unary::RoundEven => floats!(word, from, |x| x.round_ties_even()),
        Unary::Not => match from {
            Lane::Mask => kernel!(|x: u8| -> u8 { x ^ 1 }),
            lane => integers!(unsigned word, lane, |x| !x),
        },
        Unary::SignExtend => conversions!(word, from, { I32 => |x: i32| -> i64 { i64::from(x) } }),
        Unary::ZeroExtend => conversions!(word, from, { I32 => |x: u32| -> u64 { u64::from(x) } }),
        Unary::Truncate => conversions!(word, from, { I64 => |x: i64| -> i32 { x as i32 } }),
        Unary::WrapI8 => conversions!(word, from, { I32 => |x: i32| -> i32 { i32::from(x as i8) } }),
        Unary::WrapI16 => conversions!(word, from, { I32 => |x: i32| -> i32 { i32::from(x as i16) } }),
        Unary::WrapU8 => conversions!(word, from, { I32 => |x: u32| -> u32 { x & 0xff } }),
        Unary::WrapU16 => conversions!(word, from, { I32 => |x: u32| -> u32 { x & 0xffff } }),
        Unary::ToF32 => conversions!(word, from, {
            I32 => |x: i32| -> f32 { x as f32 }
            I64 => |x: i64| -> f32 { x as f32 }
        }),
        Unary::ToF64 => conversions!(word, from, {
            I32 => |x: i32| -> f64 { f64::from(x) }
            I64 => |x: i64| -> f64 { x as f64 }
        }),
        Unary::UnsignedToF32 => conversions!(word, from, {
            I32 => |x: u32| -> f32 { x as f32 }
            I64 => |x: u64| -> f32 { x as f32 }
        }),
        Unary::UnsignedToF64 => conversions!(word, from, {
            I32 => |x: u32| -> f64 { f64::from(x) }
            I64 => |x: u64| -> f64 { x as f64 }
        }),
        Unary::ToI32 => conversions!(word, from, {
            F32 => |x: f32| -> i32 { x as i32 }
            F64 => |x: f64| -> i32 { x as i32 }
        }),
        Unary::ToI64 => conversions!(word, from, {
            F32 => |x: f32| -> i64 { x as i64 }
            F64 => |x: f64| -> i64 { x as i64 }
        }),
        Unary::ToU32 => conversions!(word, from, {
            F32 => |x: f32| -> u32 { x as u32 }
            F64 => |x: f64| -> u32 { x as u32 }
        }),
        Unary::ToU64 => conversions!(word, from, {
            F32 => |x: f32| -> u64 { x as u64 }
            F64 => |x: f64| -> u64 { x as u64 }
        }),
        Unary::Widen => conversions!(word, from, { F32 => |x: f32| -> f64 { f64::from(x) } }),
        Unary::Narrow => conversions!(word, from, { F64 => |x: f64| -> f32 { x as f32 } }),
        Unary::RoundF16 => conversions!(word, from, {
            F32 => |x: f32| -> f32 { half::from_f16(half::to_f16(x)) }
            F64 => |x: f64| -> f32 { half::from_f16(half::to_f16(half::to_odd(x))) }
        }),
        Unary::RoundBF16 => conversions!(word, from, {
            F32 => |x: f32| -> f32 { half::from_bf16(half::to_bf16(x)) }
            F64 => |x: f64| -> f32 { half::from_bf16(half::to_bf16(half::to_odd(x))) }
        }),
        Unary::Bits => match from {
            Lane::F32 => copy(Lane::I32),
            Lane::F64 => copy(Lane::I64),
            lane => unfit(word, lane),
        },
        Unary::FromBits => match from {
            Lane::I32 | Lane::I64 => copy(from),
            lane => unfit(word, lane),
        },
        Unary::Eighths => conversions!(word, from, { I32 => |x: u32| -> f32 { eighths(x) } }),
    }
}

/// The loops of a word of two operands of one lane.
pub(super) fn binary(word: Binary, lane: Lane) -> Table {
    let float = matches!(lane, Lane::F32 | Lane::F64);
    match word {
        Binary::Add if float => floats!(word, lane, |a, b| a + b),
        Binary::Sub if float => floats!(word, lane, |a, b| a - b),
        Binary::Mul if float => floats!(word, lane, |a, b| a * b),
        Binary::Add => integers!(unsigned word, lane, |a, b| a.wrapping_add(b)),
        Binary::Sub => integers!(unsigned word, lane, |a, b| a.wrapping_sub(b)),
        Binary::Mul => integers!(unsigned word, lane, |a, b| a.wrapping_mul(b)),
        Binary::Div => floats!(word, lane, |a, b| a / b),
        Binary::Min => floats!(word, lane, |a, b| if a < b { a } else { b }),
        Binary::Max => floats!(word, lane, |a, b| if a > b { a } else { b }),
        Binary::Scale => floats!(word, lane, |a, b| a.scaled(b)),
        Binary::ScaleDown => floats!(word, lane, |a, b| a.scaled_down(b)),
        Binary::MinS => integers!(signed word, lane, |a, b| a.min(b)),
        Binary::MaxS => integers!(signed word, lane, |a, b| a.max(b)),
        Binary::MinU => integers!(unsigned word, lane, |a, b| a.min(b)),
        Binary::MaxU => integers!(unsigned word, lane, |a, b| a.max(b)),
        // The divisor was looked at before: a zero among its lanes has ended the run.
        Binary::DivS => integers!(signed word, lane, |a, b| if b == 0 { 0 } else { a.wrapping_div(b) }),
        Binary::RemS => integers!(signed word, lane, |a, b| if b == 0 { 0 } else { a.wrapping_rem(b) }),
        Binary::DivU => integers!(unsigned word, lane, |a, b| a.checked_div(b).unwrap_or(0)),
        Binary::RemU => integers!(unsigned word, lane, |a, b| a.checked_rem(b).unwrap_or(0)),
        Binary::And => bitwise!(word, lane, |a, b| a & b),
        Binary::Or => bitwise!(word, lane, |a, b| a | b),
        Binary::Xor => bitwise!(word, lane, |a, b| a ^ b),
        Binary::Shl => match lane {
            Lane::I32 => kernel!(|a: u32, b: u32| -> u32 { if b < 32 { a << b } else { 0 } }),
            Lane::I64 => kernel!(|a: u64, b: u64| -> u64 { if b < 64 { a << b } else { 0 } }),
            lane => unfit(word, lane),
        },
        Binary::Shr => match lane {
            Lane::I32 => kernel!(|a: u32, b: u32| -> u32 { if b < 32 { a >> b } else { 0 } }),
            Lane::I64 => kernel!(|a: u64, b: u64| -> u64 { if b < 64 { a >> b } else { 0 } }),
            lane => unfit(word, lane),
        },
        Binary::Sar => match lane {
            Lane::I32 => kernel!(|a: i32, b: u32| -> i32 { a >> b.min(31) }),
            Lane::I64 => kernel!(|a: i64, b: u64| -> i64 { a >> b.min(63) }),
            lane => unfit(word, lane),
        },
    }
}

/// The loops of a comparison of two operands of one lane.
pub(super) fn compare(word: Compare, lane: Lane) -> Table {
    macro_rules! compared {
        ($($lane:ident $T:ty),* => |$a:ident, $b:ident| $body:expr) => {
            match lane {
                $(Lane::$lane => kernel!(|$a: $T, $b: $T| -> u8 { u8::from($body) }),)*
                #[allow(unreachable_patterns)]
                lane => unfit(word, lane),
            }
        };
    }
    match word {
        Compare::Eq => compared!(Mask u8, I32 i32, I64 i64, F32 f32, F64 f64 => |a, b| a == b),
        Compare::Ne => compared!(Mask u8, I32 i32, I64 i64, F32 f32, F64 f64 => |a, b| a != b),
        Compare::Lt => compared!(I32 i32, I64 i64, F32 f32, F64 f64 => |a, b| a < b),
        Compare::Le => compared!(I32 i32, I64 i64, F32 f32, F64 f64 => |a, b| a <= b),
        Compare::LtU => compared!(I32 u32, I64 u64 => |a, b| a < b),
        Compare::LeU => compared!(I32 u32, I64 u64 => |a, b| a <= b),
    }
}

/// The loops of `mask ? a : b`. Only the width of the lane matters.
pub(super) fn select(lane: Lane) -> Table {
    match lane {
        Lane::Mask => kernel!(|m: u8, a: u8, b: u8| -> u8 { if m != 0 { a } else { b } }),
        Lane::I32 | Lane::F32 => kernel!(|m: u8, a: u32, b: u32| -> u32 { if m != 0 { a } else { b } }),
        Lane::I64 | Lane::F64 => kernel!(|m: u8, a: u64, b: u64| -> u64 { if m != 0 { a } else { b } }),
    }
}

/// The loops of `a * b + c`, rounded once.
pub(super) fn fma(lane: Lane) -> Table {
    floats!("fma", lane, |a, b, c| a.mul_add(b, c))
}

/// The loop that copies lanes.
pub(super) fn copy(lane: Lane) -> Table {
    match lane {
        Lane::Mask => kernel!(|x: u8| -> u8 { x }),
        Lane::I32 | Lane::F32 => kernel!(|x: u32| -> u32 { x }),
        Lane::I64 | Lane::F64 => kernel!(|x: u64| -> u64 { x }),
    }
}

/// The bytes of one lane.
pub(super) fn width(lane: Lane) -> usize {
    match lane {
        Lane::Mask => 1,
        Lane::I32 | Lane::F32 => 4,
        Lane::I64 | Lane::F64 => 8,
    }
}

/// A constant such that its first bytes in memory are one lane.
pub(super) fn constant(lane: Lane, bits: u64) -> u64 {
    let mut bytes = [0; 8];
    match lane {
        Lane::Mask => bytes[0] = u8::from(bits != 0),
        Lane::I32 | Lane::F32 => bytes[..4].copy_from_slice(&(bits as u32).to_ne_bytes()),
        Lane::I64 | Lane::F64 => bytes = bits.to_ne_bytes(),
    }
    u64::from_ne_bytes(bytes)
}
