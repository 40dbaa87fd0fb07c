//! Conversion between dtypes, with the meaning of Rust's `as`.
//!
//! Floats to integers go towards zero and stay within range (NaN gives 0); integers wrap; anything but zero is `true`.

use super::vector::{Emit, Lane, Unary, Val};
use crate::dtype::{DType, Literal};

/// Writes the conversion of `x`, a value of `from` in its lane, to `to`.
pub(crate) fn write(e: &mut Emit, from: DType, to: DType, x: Val) -> Val {
    if from == to {
        return x;
    }
    if to == DType::Bool {
        let zero = e.literal(Literal::zero(from));
        return e.ne(x, zero);
    }
    if from == DType::Bool {
        let (one, zero) = (e.literal(Literal::one(to)), e.literal(Literal::zero(to)));
        return e.select(x, one, zero);
    }
    match (from.is_float(), to.is_float()) {
        (true, true) => float_to_float(e, to, x),
        (true, false) => float_to_integer(e, to, x),
        (false, true) => integer_to_float(e, from, to, x),
        (false, false) => integer_to_integer(e, from, to, x),
    }
}

fn float_to_float(e: &mut Emit, to: DType, x: Val) -> Val {
    match (to, x.lane) {
        (DType::F16, _) => e.convert(Unary::RoundF16, x, Lane::F32),
        (DType::BF16, _) => e.convert(Unary::RoundBF16, x, Lane::F32),
        (DType::F64, Lane::F32) => e.widen(x),
        (DType::F32, Lane::F64) => e.narrow(x),
        _ => x, // a 16-bit float's lane is already F32
    }
}

fn float_to_integer(e: &mut Emit, to: DType, x: Val) -> Val {
    match to {
        DType::I64 => e.convert(Unary::ToI64, x, Lane::I64),
        DType::U64 => e.convert(Unary::ToU64, x, Lane::I64),
        DType::U32 => e.convert(Unary::ToU32, x, Lane::I32),
        _ => {
            // Saturate in 32 bits first, then to the narrow range.
            let wide = e.convert(Unary::ToI32, x, Lane::I32);
            if to == DType::I32 {
                return wide;
            }
            let bound = |literal: Literal| literal.to_integer().expect("an integer dtype") as i64;
            let (low, high) = (bound(Literal::lowest(to)), bound(Literal::highest(to)));
            let (low, high) = (e.int(Lane::I32, low), e.int(Lane::I32, high));
            let above = e.integer(super::vector::Binary::MaxS, wide, low);
            e.integer(super::vector::Binary::MinS, above, high)
        }
    }
}

fn integer_to_float(e: &mut Emit, from: DType, to: DType, x: Val) -> Val {
    let unsigned = matches!(from, DType::U32 | DType::U64); // u8 and u16 are small positive I32s
    let (word, lane) = match (to, unsigned) {
        (DType::F32, false) => (Unary::ToF32, Lane::F32),
        (DType::F32, true) => (Unary::UnsignedToF32, Lane::F32),
        // The 16-bit floats go through f64 so that only the last step rounds (|x| < 2^53; above, both overflow or agree).
        (_, false) => (Unary::ToF64, Lane::F64),
        (_, true) => (Unary::UnsignedToF64, Lane::F64),
    };
    let float = e.convert(word, x, lane);
    if to == DType::F64 { float } else { float_to_float(e, to, float) }
}

fn integer_to_integer(e: &mut Emit, from: DType, to: DType, x: Val) -> Val {
    let resized = match (x.lane, Lane::of(to)) {
        (Lane::I32, Lane::I64) => {
            let word = if from == DType::U32 { Unary::ZeroExtend } else { Unary::SignExtend };
            e.convert(word, x, Lane::I64)
        }
        (Lane::I64, Lane::I32) => e.convert(Unary::Truncate, x, Lane::I32),
        _ => x,
    };
    super::record::settle(e, to, resized)
}
