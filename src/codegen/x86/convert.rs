//! Chooses instructions for words of one operand, most of which convert.

use super::asm::Width;
use super::inst::Id;
use super::op;
use super::select::Select;
use crate::ops::vector::scale;
use crate::ops::vector::{Lane, Unary};

/// How rounding instructions round; exceptions are not wanted.
const NEAREST: u8 = 8;
const DOWN: u8 = 9;
const UP: u8 = 10;
const TOWARDS_ZERO: u8 = 11;

/// Comparisons of floats.
const ORDERED: u8 = 0x07;
const LESS: u8 = 0x11;
const GREATER_OR_EQUAL: u8 = 0x1d;
const GREATER: u8 = 0x1e;
const ORDERED_AND_NOT_EQUAL: u8 = 0x0c;

impl Select {
    /// A word of one operand; `from` is the operand's lane.
    pub(super) fn unary(&mut self, word: Unary, from: Lane, x: Id) -> Id {
        let width = self.width(from);
        let wide = matches!(from, Lane::I64 | Lane::F64);
        let of_32 = self.width(Lane::I32);
        match word {
            Unary::Neg => match from {
                Lane::F32 | Lane::F64 => {
                    let sign = self.sign(wide);
                    self.commutative(op::XORPS, width, x, sign)
                }
                _ => {
                    let zero = self.zero();
                    self.rvm(if wide { op::PSUBQ } else { op::PSUBD }, width, zero, x)
                }
            },
            Unary::Abs => self.magnitude(wide, width, x),
            Unary::Sqrt => self.rm(if wide { op::SQRTPD } else { op::SQRTPS }, width, x),
            Unary::Floor => self.round(wide, width, x, DOWN),
            Unary::Ceil => self.round(wide, width, x, UP),
            Unary::Trunc => self.round(wide, width, x, TOWARDS_ZERO),
            Unary::RoundEven => self.round(wide, width, x, NEAREST),
            Unary::Not if from == Lane::Mask => self.not(x),
            Unary::Not => {
                let ones = self.ones();
                self.commutative(op::PXOR, width, x, ones)
            }
            Unary::SignExtend => self.rm(op::PMOVSXDQ, self.full, x),
            Unary::ZeroExtend => {
                let to = self.rm(op::PMOVZXDQ, self.full, x);
                self.mark_small(to);
                to
            }
            Unary::Truncate => self.low_halves(x),
            Unary::WrapI8 => self.wrap_signed(x, 24),
            Unary::WrapI16 => self.wrap_signed(x, 16),
            Unary::WrapU8 => self.masked(x, 0xff),
            Unary::WrapU16 => self.masked(x, 0xffff),
            Unary::ToF32 if wide => self.i64_to_f32(x, true),
            Unary::ToF32 => self.rm(op::CVTDQ2PS, of_32, x),
            Unary::ToF64 if wide => self.i64_to_f64(x, true),
            Unary::ToF64 => self.rm(op::CVTDQ2PD, self.full, x),
            Unary::UnsignedToF32 if wide => self.i64_to_f32(x, false),
            Unary::UnsignedToF32 => self.u32_to_f32(x),
            Unary::UnsignedToF64 if wide => self.i64_to_f64(x, false),
            Unary::UnsignedToF64 => {
                // As the low bits of 2^52, less 2^52.
                let extended = self.rm(op::PMOVZXDQ, self.full, x);
                let magic = self.constant_64(0x4330_0000_0000_0000);
                let sum = self.commutative(op::POR, self.full, extended, magic);
                self.rvm(op::SUBPD, self.full, sum, magic)
            }
            Unary::ToI32 if wide => {
                let finite = self.nan_to_zero(x);
                let most = self.constant_64(2_147_483_647f64.to_bits());
                let below = self.rvm(op::MINPD, self.full, finite, most);
                let to = self.rm(op::CVTTPD2DQ, self.full, below);
                self.pieces.values[to as usize].width = self.full.half();
                to
            }
            Unary::ToI32 => self.f32_to_i32(x),
            Unary::ToU32 if wide => {
                let zero = self.zero();
                let above = self.rvm(op::MAXPD, self.full, x, zero); // NaN becomes 0
                let most = self.constant_64(4_294_967_295f64.to_bits());
                let within = self.rvm(op::MINPD, self.full, above, most);
                let whole = self.rm_with(op::ROUNDPD, self.full, within, TOWARDS_ZERO);
                let magic = self.constant_64(0x4330_0000_0000_0000);
                let sum = self.commutative(op::ADDPD, self.full, whole, magic);
                self.low_halves(sum)
            }
            Unary::ToU32 => self.f32_to_u32(x),
            Unary::ToI64 | Unary::ToU64 => {
                let x = if wide { x } else { self.rm(op::CVTPS2PD, self.full, x) };
                if word == Unary::ToI64 { self.f64_to_i64(x) } else { self.f64_to_u64(x) }
            }
            Unary::Widen => self.rm(op::CVTPS2PD, self.full, x),
            Unary::Narrow => self.narrow(x),
            Unary::RoundF16 => {
                let x = if wide { self.rounded_to_odd(x) } else { x };
                let half = self.extract(op::CVTPS2PH, of_32, x, Some(0));
                self.rm(op::CVTPH2PS, of_32, half)
            }
            Unary::RoundBF16 => {
                let x = if wide { self.rounded_to_odd(x) } else { x };
                let half = self.rounded_to_bf16(x);
                self.shift(op::PSLLD, of_32, half, 16)
            }
            Unary::Bits | Unary::FromBits => x,
            Unary::Eighths => self.eighths(x),
        }
    }

    fn sign(&mut self, wide: bool) -> Id {
        if wide { self.constant_64(1 << 63) } else { self.constant_32(1 << 31) }
    }

    /// An entry of the table of eight for each lane: a register has room for all of it, and one of 512 bits for two.
    fn eighths(&mut self, x: Id) -> Id {
        let pair = |k: usize| u64::from(scale::EIGHTHS[k]) | u64::from(scale::EIGHTHS[k + 1]) << 32;
        let table = self.constant([0, 2, 4, 6].map(pair));
        let width = if self.width(Lane::I32) == Width::Z { Width::Z } else { Width::Y };
        self.rvm(op::PERMPS, width, x, table)
    }

    fn magnitude(&mut self, wide: bool, width: Width, x: Id) -> Id {
        let rest = if wide { self.constant_64(!(1 << 63)) } else { self.constant_32(!(1 << 31)) };
        self.commutative(op::ANDPS, width, x, rest)
    }

    fn round(&mut self, wide: bool, width: Width, x: Id, how: u8) -> Id {
        self.rm_with(if wide { op::ROUNDPD } else { op::ROUNDPS }, width, x, how)
    }

    fn wrap_signed(&mut self, x: Id, by: u8) -> Id {
        let width = self.width(Lane::I32);
        let up = self.shift(op::PSLLD, width, x, by);
        self.shift(op::PSRAD, width, up, by)
    }

    fn masked(&mut self, x: Id, bits: u32) -> Id {
        let bits = self.constant_32(bits);
        self.commutative(op::PAND, self.width(Lane::I32), x, bits)
    }

    fn narrow(&mut self, x: Id) -> Id {
        let to = self.rm(op::CVTPD2PS, self.full, x);
        self.pieces.values[to as usize].width = self.full.half();
        to
    }

    /// `x`, or 0 where it is NaN.
    fn nan_to_zero(&mut self, x: Id) -> Id {
        let number = self.rvm_with(op::CMPPD, self.full, x, x, ORDERED);
        self.commutative(op::ANDPS, self.full, x, number)
    }

    /// The machine gives `MIN` for all it cannot convert.
    fn f32_to_i32(&mut self, x: Id) -> Id {
        let width = self.width(Lane::F32);
        let rough = self.rm(op::CVTTPS2DQ, width, x);
        let limit = self.constant_32(2_147_483_648f32.to_bits());
        let above = self.rvm_with(op::CMPPS, width, x, limit, GREATER_OR_EQUAL);
        let saturated = self.commutative(op::PXOR, width, rough, above);
        let number = self.rvm_with(op::CMPPS, width, x, x, ORDERED);
        self.commutative(op::PAND, width, saturated, number)
    }

    /// From 2^31 on, 2^31 less and then more again; from 2^32 on, all ones.
    fn f32_to_u32(&mut self, x: Id) -> Id {
        let width = self.width(Lane::F32);
        let zero = self.zero();
        let positive = self.rvm(op::MAXPS, width, x, zero); // NaN becomes 0
        let (half, whole) =
            (self.constant_32(2_147_483_648f32.to_bits()), self.constant_32(4_294_967_296f32.to_bits()));
        let large = self.rvm_with(op::CMPPS, width, positive, half, GREATER_OR_EQUAL);
        let less = self.commutative(op::ANDPS, width, large, half);
        let rest = self.rvm(op::SUBPS, width, positive, less);
        let rough = self.rm(op::CVTTPS2DQ, width, rest);
        let top = self.shift(op::PSLLD, width, large, 31);
        let sum = self.commutative(op::PXOR, width, rough, top);
        let beyond = self.rvm_with(op::CMPPS, width, positive, whole, GREATER_OR_EQUAL);
        self.commutative(op::POR, width, sum, beyond)
    }

    /// Halves of 16 bits are exact, and so is the first times 2^16: only their sum rounds.
    fn u32_to_f32(&mut self, x: Id) -> Id {
        let width = self.width(Lane::F32);
        let high = self.shift(op::PSRLD, width, x, 16);
        let high = self.rm(op::CVTDQ2PS, width, high);
        let scale = self.constant_32(65536f32.to_bits());
        let high = self.commutative(op::MULPS, width, high, scale);
        let low = self.masked(x, 0xffff);
        let low = self.rm(op::CVTDQ2PS, width, low);
        self.commutative(op::ADDPS, width, high, low)
    }

    /// Both halves as the low bits of large powers of two; taking those away is exact, and only the last sum rounds.
    fn i64_to_f64(&mut self, x: Id, signed: bool) -> Id {
        if self.is_wide() {
            return self.rm(if signed { op::CVTQQ2PD } else { op::CVTUQQ2PD }, self.full, x);
        }
        let (high_magic, all_magic) = if signed {
            (0x4530_0000_8000_0000, 0x4530_0000_8010_0000) // 2^84 + 2^63, and 2^52 more
        } else {
            (0x4530_0000_0000_0000, 0x4530_0000_0010_0000) // 2^84, and 2^52 more
        };
        let low_magic = self.constant_64(0x4330_0000_0000_0000); // 2^52
        let low = self.rvm_with(op::PBLENDD, self.full, x, low_magic, 0b1010_1010);
        let high = self.shift(op::PSRLQ, self.full, x, 32);
        let high_magic = self.constant_64(high_magic);
        let high = self.commutative(op::PXOR, self.full, high, high_magic);
        let all_magic = self.constant_64(all_magic);
        let high = self.rvm(op::SUBPD, self.full, high, all_magic);
        self.commutative(op::ADDPD, self.full, high, low)
    }

    /// By way of `f64`, from 2^53 on with the low 11 bits gathered into one, so that only the last step rounds.
    fn i64_to_f32(&mut self, x: Id, signed: bool) -> Id {
        let low_bits = self.constant_64(0x7ff);
        let zero = self.zero();
        let low = self.commutative(op::PAND, self.full, x, low_bits);
        let exact = self.commutative(op::PCMPEQQ, self.full, low, zero);
        let sticky = self.constant_64(0x800);
        let sticky = self.rvm(op::PANDN, self.full, exact, sticky);
        let cut = self.rvm(op::PANDN, self.full, low_bits, x);
        let gathered = self.commutative(op::POR, self.full, cut, sticky);
        let small = if signed {
            // x + 2^53 fits 54 bits where it is small.
            let shift = self.constant_64(1 << 53);
            let moved = self.commutative(op::PADDQ, self.full, x, shift);
            let top = self.shift(op::PSRLQ, self.full, moved, 54);
            self.commutative(op::PCMPEQQ, self.full, top, zero)
        } else {
            let top = self.shift(op::PSRLQ, self.full, x, 53);
            self.commutative(op::PCMPEQQ, self.full, top, zero)
        };
        let chosen = self.blend(true, self.full, small, x, gathered);
        let double = self.i64_to_f64(chosen, signed);
        self.narrow(double)
    }

    /// The whole part of a magnitude below 2^64: the mantissa, shifted to where the exponent says. Shifts by counts out of
    /// range give 0, so one shift to each side serves all.
    fn whole_part(&mut self, magnitude: Id) -> Id {
        let exponent = self.shift(op::PSRLQ, self.full, magnitude, 52);
        let bias = self.constant_64(1075);
        let up = self.rvm(op::PSUBQ, self.full, exponent, bias);
        let down = self.rvm(op::PSUBQ, self.full, bias, exponent);
        let fraction = self.constant_64((1 << 52) - 1);
        let mantissa = self.commutative(op::PAND, self.full, magnitude, fraction);
        // The leading one; a denormal does not have it, and is shifted away all the same.
        let leading = self.constant_64(1 << 52);
        let mantissa = self.commutative(op::POR, self.full, mantissa, leading);
        let large = self.rvm(op::PSLLVQ, self.full, mantissa, up);
        let small = self.rvm(op::PSRLVQ, self.full, mantissa, down);
        self.commutative(op::POR, self.full, large, small)
    }

    fn f64_to_i64(&mut self, x: Id) -> Id {
        let magnitude = self.magnitude(true, self.full, x);
        let whole = self.whole_part(magnitude);
        let sign = self.negative(x);
        let flipped = self.commutative(op::PXOR, self.full, whole, sign);
        let signed = self.rvm(op::PSUBQ, self.full, flipped, sign);
        let limit = 2f64.powi(63);
        let (high, low) = (self.constant_64(limit.to_bits()), self.constant_64((-limit).to_bits()));
        let above = self.rvm_with(op::CMPPD, self.full, x, high, GREATER_OR_EQUAL);
        let below = self.rvm_with(op::CMPPD, self.full, x, low, LESS);
        let (most, least) = (self.constant_64(i64::MAX as u64), self.constant_64(i64::MIN as u64));
        let signed = self.blend(true, self.full, above, most, signed);
        let signed = self.blend(true, self.full, below, least, signed);
        let number = self.rvm_with(op::CMPPD, self.full, x, x, ORDERED);
        self.commutative(op::PAND, self.full, signed, number)
    }

    fn f64_to_u64(&mut self, x: Id) -> Id {
        let zero = self.zero();
        let positive = self.rvm(op::MAXPD, self.full, x, zero); // NaN becomes 0
        let whole = self.whole_part(positive);
        let limit = self.constant_64(18_446_744_073_709_551_616f64.to_bits());
        let beyond = self.rvm_with(op::CMPPD, self.full, positive, limit, GREATER_OR_EQUAL);
        self.commutative(op::POR, self.full, whole, beyond)
    }

    /// The `f32` next to an `f64`, odd unless the conversion is exact: it can be rounded once more.
    fn rounded_to_odd(&mut self, x: Id) -> Id {
        let near = self.narrow(x);
        let back = self.rm(op::CVTPS2PD, self.full, near);
        let (size, back_size) = (self.magnitude(true, self.full, x), self.magnitude(true, self.full, back));
        let away = self.rvm_with(op::CMPPD, self.full, back_size, size, GREATER);
        let inexact = self.rvm_with(op::CMPPD, self.full, back, x, ORDERED_AND_NOT_EQUAL);
        let (away, inexact) = (self.low_halves(away), self.low_halves(inexact));
        let towards_zero = self.commutative(op::PADDD, self.full.half(), near, away);
        let odd = self.shift(op::PSRLD, self.full.half(), inexact, 31);
        self.commutative(op::POR, self.full.half(), towards_zero, odd)
    }

    /// The bf16 nearest to an `f32`, ties to even, in the low half of each lane.
    pub(super) fn rounded_to_bf16(&mut self, x: Id) -> Id {
        let width = self.width(Lane::F32);
        let upper = self.shift(op::PSRLD, width, x, 16);
        let one = self.constant_32(1);
        let odd = self.commutative(op::PAND, width, upper, one);
        let half = self.constant_32(0x7fff);
        let bias = self.commutative(op::PADDD, width, odd, half);
        let sum = self.commutative(op::PADDD, width, x, bias);
        let rounded = self.shift(op::PSRLD, width, sum, 16);
        let quiet = self.constant_32(0x40);
        let nan = self.commutative(op::POR, width, upper, quiet);
        let number = self.rvm_with(op::CMPPS, width, x, x, ORDERED);
        self.blend(false, width, number, rounded, nan)
    }
}
