//! Runs a vector program for one element: slow, obvious, the judge of every faster reader of the words.

use super::scale::{Scale, eighths};
use super::{Binary, Compare, Fault, Lane, LaneFn, Unary, Val, Word};
use crate::dtype::to_odd_f32;
use half::{bf16, f16};

/// The value named `result`, given the lane bits of each loaded slot and the element's position.
///
/// Bits stand in the low end of a `u64`: an `F32` or `I32` in 32 bits, a mask as 0 or 1.
pub(crate) fn eval(words: &[(Word, Lane)], result: Val, loads: &[u64], position: i64) -> Result<u64, Fault> {
    let mut values: Vec<u64> = Vec::with_capacity(words.len());
    for &(word, lane) in &words[..=result.id as usize] {
        let of = |val: Val| values[val.id as usize];
        let value = match word {
            Word::Load { slot, dtype: _ } => loads[slot as usize],
            Word::Const { lane: _, bits } => bits,
            Word::Scalar(_) => unreachable!("an op writes no scalars"),
            Word::Position => position as u64,
            Word::Index(_) | Word::Place { .. } | Word::Gather { .. } => unreachable!("an op knows no indices"),
            Word::Unary(word, x) => unary(word, x.lane, lane, of(x)),
            Word::Binary(word, a, b) => binary(word, lane, of(a), of(b))?,
            Word::Compare(word, a, b) => u64::from(compare(word, a.lane, of(a), of(b))),
            Word::Select(mask, a, b) => of(if of(mask) != 0 { a } else { b }),
            Word::Fma(a, b, c) => match lane {
                Lane::F32 => from_f32(as_f32(of(a)).mul_add(as_f32(of(b)), as_f32(of(c)))),
                Lane::F64 => as_f64(of(a)).mul_add(as_f64(of(b)), as_f64(of(c))).to_bits(),
                Lane::Mask | Lane::I32 | Lane::I64 => unreachable!("fma of {lane:?}"),
            },
            Word::Lookup { table, lane: _, index } => table.entries[of(index) as usize],
            Word::Rare { when, f, x, otherwise } => match (of(when) != 0, f) {
                (false, _) => of(otherwise),
                (true, LaneFn::F32(_, f)) => from_f32(f(as_f32(of(x)))),
                (true, LaneFn::F64(_, f)) => f(as_f64(of(x))).to_bits(),
            },
        };
        values.push(value);
    }
    Ok(values[result.id as usize])
}

fn as_f32(bits: u64) -> f32 {
    f32::from_bits(bits as u32)
}

fn from_f32(value: f32) -> u64 {
    u64::from(value.to_bits())
}

fn as_f64(bits: u64) -> f64 {
    f64::from_bits(bits)
}

fn from_i32(value: i32) -> u64 {
    u64::from(value as u32)
}

/// A word of one operand; `from` is the operand's lane, `to` the result's.
fn unary(word: Unary, from: Lane, to: Lane, x: u64) -> u64 {
    match from {
        Lane::Mask => match word {
            Unary::Not => x ^ 1,
            _ => unreachable!("{word:?} of a mask"),
        },
        Lane::I32 => match word {
            Unary::Neg => from_i32((x as i32).wrapping_neg()),
            Unary::Not => u64::from(!(x as u32)),
            Unary::SignExtend => i64::from(x as i32) as u64,
            Unary::ZeroExtend => u64::from(x as u32),
            Unary::WrapI8 => from_i32(i32::from(x as i8)),
            Unary::WrapI16 => from_i32(i32::from(x as i16)),
            Unary::WrapU8 => u64::from(x as u8),
            Unary::WrapU16 => u64::from(x as u16),
            Unary::ToF32 => from_f32(x as i32 as f32),
            Unary::ToF64 => f64::from(x as i32).to_bits(),
            Unary::UnsignedToF32 => from_f32(x as u32 as f32),
            Unary::UnsignedToF64 => f64::from(x as u32).to_bits(),
            Unary::FromBits => x,
            Unary::Eighths => from_f32(eighths(x as u32)),
            _ => unreachable!("{word:?} of {from:?}"),
        },
        Lane::I64 => match word {
            Unary::Neg => x.wrapping_neg(),
            Unary::Not => !x,
            Unary::Truncate => u64::from(x as u32),
            Unary::ToF32 => from_f32(x as i64 as f32),
            Unary::ToF64 => (x as i64 as f64).to_bits(),
            Unary::UnsignedToF32 => from_f32(x as f32),
            Unary::UnsignedToF64 => (x as f64).to_bits(),
            Unary::FromBits => x,
            _ => unreachable!("{word:?} of {from:?}"),
        },
        Lane::F32 => float_f32(word, to, as_f32(x)),
        Lane::F64 => float_f64(word, to, as_f64(x)),
    }
}

fn float_f32(word: Unary, to: Lane, x: f32) -> u64 {
    match word {
        Unary::Neg => from_f32(-x),
        Unary::Abs => from_f32(x.abs()),
        Unary::Sqrt => from_f32(x.sqrt()),
        Unary::Floor => from_f32(x.floor()),
        Unary::Ceil => from_f32(x.ceil()),
        Unary::Trunc => from_f32(x.trunc()),
        Unary::RoundEven => from_f32(x.round_ties_even()),
        Unary::ToI32 => from_i32(x as i32),
        Unary::ToI64 => x as i64 as u64,
        Unary::ToU32 => u64::from(x as u32),
        Unary::ToU64 => x as u64,
        Unary::Widen => f64::from(x).to_bits(),
        Unary::RoundF16 => from_f32(f16::from_f32(x).to_f32()),
        Unary::RoundBF16 => from_f32(bf16::from_f32(x).to_f32()),
        Unary::Bits => u64::from(x.to_bits()),
        _ => unreachable!("{word:?} of F32, to {to:?}"),
    }
}

fn float_f64(word: Unary, to: Lane, x: f64) -> u64 {
    match word {
        Unary::Neg => (-x).to_bits(),
        Unary::Abs => x.abs().to_bits(),
        Unary::Sqrt => x.sqrt().to_bits(),
        Unary::Floor => x.floor().to_bits(),
        Unary::Ceil => x.ceil().to_bits(),
        Unary::Trunc => x.trunc().to_bits(),
        Unary::RoundEven => x.round_ties_even().to_bits(),
        Unary::ToI32 => from_i32(x as i32),
        Unary::ToI64 => x as i64 as u64,
        Unary::ToU32 => u64::from(x as u32),
        Unary::ToU64 => x as u64,
        Unary::Narrow => from_f32(x as f32),
        Unary::RoundF16 => from_f32(f16::from_f32(to_odd_f32(x)).to_f32()),
        Unary::RoundBF16 => from_f32(bf16::from_f32(to_odd_f32(x)).to_f32()),
        Unary::Bits => x.to_bits(),
        _ => unreachable!("{word:?} of F64, to {to:?}"),
    }
}

fn binary(word: Binary, lane: Lane, a: u64, b: u64) -> Result<u64, Fault> {
    Ok(match lane {
        Lane::Mask => match word {
            Binary::And => a & b,
            Binary::Or => a | b,
            Binary::Xor => a ^ b,
            _ => unreachable!("{word:?} of masks"),
        },
        Lane::I32 => u64::from(integer_32(word, a as u32, b as u32)?),
        Lane::I64 => integer_64(word, a, b)?,
        Lane::F32 => {
            let (a, b) = (as_f32(a), as_f32(b));
            from_f32(match word {
                Binary::Add => a + b,
                Binary::Sub => a - b,
                Binary::Mul => a * b,
                Binary::Div => a / b,
                Binary::Scale => a.scaled(b),
                Binary::ScaleDown => a.scaled_down(b),
                Binary::Min => {
                    if a < b {
                        a
                    } else {
                        b
                    }
                }
                Binary::Max => {
                    if a > b {
                        a
                    } else {
                        b
                    }
                }
                _ => unreachable!("{word:?} of F32"),
            })
        }
        Lane::F64 => {
            let (a, b) = (as_f64(a), as_f64(b));
            let value = match word {
                Binary::Add => a + b,
                Binary::Sub => a - b,
                Binary::Mul => a * b,
                Binary::Div => a / b,
                Binary::Scale => a.scaled(b),
                Binary::ScaleDown => a.scaled_down(b),
                Binary::Min => {
                    if a < b {
                        a
                    } else {
                        b
                    }
                }
                Binary::Max => {
                    if a > b {
                        a
                    } else {
                        b
                    }
                }
                _ => unreachable!("{word:?} of F64"),
            };
            value.to_bits()
        }
    })
}

/// The integer words, alike for both widths.
macro_rules! integer_words {
    ($name:ident, $unsigned:ty, $signed:ty) => {
        fn $name(word: Binary, a: $unsigned, b: $unsigned) -> Result<$unsigned, Fault> {
            let (signed_a, signed_b) = (a as $signed, b as $signed);
            let divides = matches!(word, Binary::DivS | Binary::RemS | Binary::DivU | Binary::RemU);
            if divides && b == 0 {
                return Err(Fault::DivideByZero);
            }
            let count = u32::try_from(b).unwrap_or(u32::MAX);
            Ok(match word {
                Binary::Add => a.wrapping_add(b),
                Binary::Sub => a.wrapping_sub(b),
                Binary::Mul => a.wrapping_mul(b),
                Binary::MinS => signed_a.min(signed_b) as $unsigned,
                Binary::MaxS => signed_a.max(signed_b) as $unsigned,
                Binary::MinU => a.min(b),
                Binary::MaxU => a.max(b),
                Binary::DivS => signed_a.wrapping_div(signed_b) as $unsigned,
                Binary::RemS => signed_a.wrapping_rem(signed_b) as $unsigned,
                Binary::DivU => a / b,
                Binary::RemU => a % b,
                Binary::And => a & b,
                Binary::Or => a | b,
                Binary::Xor => a ^ b,
                Binary::Shl => a.checked_shl(count).unwrap_or(0),
                Binary::Shr => a.checked_shr(count).unwrap_or(0),
                Binary::Sar => (signed_a >> count.min(<$unsigned>::BITS - 1)) as $unsigned,
                Binary::Div | Binary::Min | Binary::Max | Binary::Scale | Binary::ScaleDown => {
                    unreachable!("{word:?} of integers")
                }
            })
        }
    };
}

integer_words!(integer_32, u32, i32);
integer_words!(integer_64, u64, i64);

fn compare(word: Compare, lane: Lane, a: u64, b: u64) -> bool {
    match lane {
        Lane::Mask => match word {
            Compare::Eq => a == b,
            Compare::Ne => a != b,
            _ => unreachable!("{word:?} of masks"),
        },
        Lane::I32 => integers(word, i64::from(a as i32), i64::from(b as i32), u64::from(a as u32), u64::from(b as u32)),
        Lane::I64 => integers(word, a as i64, b as i64, a, b),
        Lane::F32 => floats(word, f64::from(as_f32(a)), f64::from(as_f32(b))),
        Lane::F64 => floats(word, as_f64(a), as_f64(b)),
    }
}

fn integers(word: Compare, signed_a: i64, signed_b: i64, a: u64, b: u64) -> bool {
    match word {
        Compare::Eq => a == b,
        Compare::Ne => a != b,
        Compare::Lt => signed_a < signed_b,
        Compare::Le => signed_a <= signed_b,
        Compare::LtU => a < b,
        Compare::LeU => a <= b,
    }
}

fn floats(word: Compare, a: f64, b: f64) -> bool {
    match word {
        Compare::Eq => a == b,
        Compare::Ne => a != b,
        Compare::Lt => a < b,
        Compare::Le => a <= b,
        Compare::LtU | Compare::LeU => unreachable!("{word:?} of floats"),
    }
}

#[cfg(test)]
#[path = "eval_tests.rs"]
mod tests;
