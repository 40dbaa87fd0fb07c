//! Writing a vector program, word by word. Equal words are written once.

use super::{Binary, Compare, Lane, LaneFn, QuickMap, Table, Unary, Val, Word, quick_hash};
use crate::dtype::{DType, Literal};

/// There is room for so many words from the beginning: few programs have more.
const FEW: usize = 96;

/// A vector program being written.
pub(crate) struct Emit {
    words: Vec<(Word, Lane)>,
    /// The last word with each hash.
    known: QuickMap<u64, u32>,
}

#[allow(clippy::wrong_self_convention)] // `to_` and `from_` name the word, self is the writer
#[allow(dead_code)] // the whole vocabulary is here, whether or not an op uses each word yet
impl Emit {
    /// An empty program.
    pub(crate) fn new() -> Emit {
        Emit { words: Vec::with_capacity(FEW), known: QuickMap::with_capacity_and_hasher(FEW, Default::default()) }
    }

    /// The finished words with the lane type of each.
    pub(crate) fn finish(self) -> Vec<(Word, Lane)> {
        self.words
    }

    fn word(&mut self, word: Word, lane: Lane) -> Val {
        let next = self.words.len() as u32;
        let known = self.known.entry(quick_hash(&word)).or_insert(next);
        if self.words.get(*known as usize) == Some(&(word, lane)) {
            return Val { id: *known, lane };
        }
        *known = next;
        self.words.push((word, lane));
        Val { id: next, lane }
    }

    fn unary(&mut self, unary: Unary, x: Val, lane: Lane) -> Val {
        self.word(Word::Unary(unary, x), lane)
    }

    fn binary(&mut self, binary: Binary, a: Val, b: Val) -> Val {
        debug_assert_eq!(a.lane, b.lane, "{binary:?}");
        self.word(Word::Binary(binary, a, b), a.lane)
    }

    fn compare(&mut self, compare: Compare, a: Val, b: Val) -> Val {
        debug_assert_eq!(a.lane, b.lane, "{compare:?}");
        self.word(Word::Compare(compare, a, b), Lane::Mask)
    }

    // Sources

    pub(crate) fn load(&mut self, slot: usize, dtype: DType) -> Val {
        self.word(Word::Load { slot: slot as u16, dtype }, Lane::of(dtype))
    }

    pub(crate) fn position(&mut self) -> Val {
        self.word(Word::Position, Lane::I64)
    }

    /// An expression of the element's indices, by its number: as an `i64`, or whether it is not 0 as a `bool`.
    pub(crate) fn index(&mut self, which: usize, dtype: DType) -> Val {
        self.word(Word::Index(which as u16), Lane::of(dtype))
    }

    /// A value of a dtype that is told when the program is run, in that dtype's lane.
    pub(crate) fn scalar(&mut self, slot: usize, dtype: DType) -> Val {
        self.word(Word::Scalar(slot as u16), Lane::of(dtype))
    }

    /// The place that an index names on an axis of `size`.
    pub(crate) fn place(&mut self, index: Val, size: usize, from_end: bool) -> Val {
        debug_assert_eq!(index.lane, Lane::I64);
        self.word(Word::Place { index, size: size as u32, from_end }, Lane::I64)
    }

    /// The element that lies `at` elements behind the one a load gives.
    pub(crate) fn gather(&mut self, slot: usize, dtype: DType, at: Val) -> Val {
        self.word(Word::Gather { slot: slot as u16, dtype, at }, Lane::of(dtype))
    }

    /// A constant by its lane's bits.
    pub(crate) fn constant_bits(&mut self, lane: Lane, bits: u64) -> Val {
        self.word(Word::Const { lane, bits }, lane)
    }

    /// A constant of a dtype, in that dtype's lane.
    pub(crate) fn literal(&mut self, literal: Literal) -> Val {
        self.constant_bits(Lane::of(literal.dtype()), lane_bits(literal))
    }

    /// A float constant in the given float lane (rounded to it).
    pub(crate) fn float(&mut self, lane: Lane, value: f64) -> Val {
        let bits = match lane {
            Lane::F32 => u64::from((value as f32).to_bits()),
            Lane::F64 => value.to_bits(),
            Lane::Mask | Lane::I32 | Lane::I64 => unreachable!("a float constant in {lane:?}"),
        };
        self.constant_bits(lane, bits)
    }

    /// An integer constant in the given integer lane (wrapped to it).
    pub(crate) fn int(&mut self, lane: Lane, value: i64) -> Val {
        let bits = if lane == Lane::I32 { u64::from(value as u32) } else { value as u64 };
        self.constant_bits(lane, bits)
    }

    // Arithmetic, floats and integers

    pub(crate) fn add(&mut self, a: Val, b: Val) -> Val {
        self.binary(Binary::Add, a, b)
    }
    pub(crate) fn sub(&mut self, a: Val, b: Val) -> Val {
        self.binary(Binary::Sub, a, b)
    }
    pub(crate) fn mul(&mut self, a: Val, b: Val) -> Val {
        self.binary(Binary::Mul, a, b)
    }
    pub(crate) fn neg(&mut self, a: Val) -> Val {
        self.unary(Unary::Neg, a, a.lane)
    }
    pub(crate) fn div(&mut self, a: Val, b: Val) -> Val {
        self.binary(Binary::Div, a, b)
    }
    /// `if a < b { a } else { b }`.
    pub(crate) fn min(&mut self, a: Val, b: Val) -> Val {
        self.binary(Binary::Min, a, b)
    }
    /// `if a > b { a } else { b }`.
    pub(crate) fn max(&mut self, a: Val, b: Val) -> Val {
        self.binary(Binary::Max, a, b)
    }
    /// `a · 2^⌊n⌋`; see [`Binary::Scale`].
    pub(crate) fn scale(&mut self, a: Val, n: Val) -> Val {
        self.binary(Binary::Scale, a, n)
    }
    /// The same for `n` that is hardly above 0; see [`Binary::ScaleDown`].
    pub(crate) fn scale_down(&mut self, a: Val, n: Val) -> Val {
        self.binary(Binary::ScaleDown, a, n)
    }
    /// `a * b + c` rounded once.
    pub(crate) fn fma(&mut self, a: Val, b: Val, c: Val) -> Val {
        debug_assert!(a.lane == b.lane && b.lane == c.lane);
        self.word(Word::Fma(a, b, c), a.lane)
    }
    pub(crate) fn abs(&mut self, a: Val) -> Val {
        self.unary(Unary::Abs, a, a.lane)
    }
    pub(crate) fn sqrt(&mut self, a: Val) -> Val {
        self.unary(Unary::Sqrt, a, a.lane)
    }
    pub(crate) fn floor(&mut self, a: Val) -> Val {
        self.unary(Unary::Floor, a, a.lane)
    }
    pub(crate) fn ceil(&mut self, a: Val) -> Val {
        self.unary(Unary::Ceil, a, a.lane)
    }
    pub(crate) fn trunc(&mut self, a: Val) -> Val {
        self.unary(Unary::Trunc, a, a.lane)
    }
    pub(crate) fn round_even(&mut self, a: Val) -> Val {
        self.unary(Unary::RoundEven, a, a.lane)
    }

    // Integers and masks

    /// A word of two integers (or masks) by name.
    pub(crate) fn integer(&mut self, binary: Binary, a: Val, b: Val) -> Val {
        self.binary(binary, a, b)
    }
    pub(crate) fn and(&mut self, a: Val, b: Val) -> Val {
        self.binary(Binary::And, a, b)
    }
    pub(crate) fn or(&mut self, a: Val, b: Val) -> Val {
        self.binary(Binary::Or, a, b)
    }
    pub(crate) fn xor(&mut self, a: Val, b: Val) -> Val {
        self.binary(Binary::Xor, a, b)
    }
    pub(crate) fn not(&mut self, a: Val) -> Val {
        self.unary(Unary::Not, a, a.lane)
    }
    /// Shifts by a constant count, below the lane's width.
    pub(crate) fn shl(&mut self, a: Val, count: u32) -> Val {
        let count = self.int(a.lane, i64::from(count));
        self.binary(Binary::Shl, a, count)
    }
    pub(crate) fn shr(&mut self, a: Val, count: u32) -> Val {
        let count = self.int(a.lane, i64::from(count));
        self.binary(Binary::Shr, a, count)
    }
    pub(crate) fn sar(&mut self, a: Val, count: u32) -> Val {
        let count = self.int(a.lane, i64::from(count));
        self.binary(Binary::Sar, a, count)
    }

    // Comparison and choice

    pub(crate) fn eq(&mut self, a: Val, b: Val) -> Val {
        self.compare(Compare::Eq, a, b)
    }
    pub(crate) fn ne(&mut self, a: Val, b: Val) -> Val {
        self.compare(Compare::Ne, a, b)
    }
    pub(crate) fn lt(&mut self, a: Val, b: Val) -> Val {
        self.compare(Compare::Lt, a, b)
    }
    pub(crate) fn le(&mut self, a: Val, b: Val) -> Val {
        self.compare(Compare::Le, a, b)
    }
    pub(crate) fn lt_unsigned(&mut self, a: Val, b: Val) -> Val {
        self.compare(Compare::LtU, a, b)
    }
    pub(crate) fn le_unsigned(&mut self, a: Val, b: Val) -> Val {
        self.compare(Compare::LeU, a, b)
    }
    /// `mask ? a : b`.
    pub(crate) fn select(&mut self, mask: Val, a: Val, b: Val) -> Val {
        debug_assert!(mask.lane == Lane::Mask && a.lane == b.lane);
        self.word(Word::Select(mask, a, b), a.lane)
    }
    /// True where a float is NaN.
    pub(crate) fn is_nan(&mut self, a: Val) -> Val {
        self.ne(a, a)
    }

    // Conversion

    /// A conversion word by name, with the lane it gives.
    pub(crate) fn convert(&mut self, unary: Unary, a: Val, lane: Lane) -> Val {
        self.unary(unary, a, lane)
    }
    /// A float's bits in the integer lane of the same width.
    pub(crate) fn bits(&mut self, a: Val) -> Val {
        let lane = if a.lane == Lane::F32 { Lane::I32 } else { Lane::I64 };
        self.unary(Unary::Bits, a, lane)
    }
    /// The float with these bits.
    pub(crate) fn from_bits(&mut self, a: Val) -> Val {
        let lane = if a.lane == Lane::I32 { Lane::F32 } else { Lane::F64 };
        self.unary(Unary::FromBits, a, lane)
    }
    /// `2^(k/8)` for the lowest three bits of an `I32`.
    pub(crate) fn eighths(&mut self, k: Val) -> Val {
        self.unary(Unary::Eighths, k, Lane::F32)
    }
    /// An integer lane with sign as the float of the same width, to nearest even.
    pub(crate) fn to_float(&mut self, a: Val) -> Val {
        match a.lane {
            Lane::I32 => self.unary(Unary::ToF32, a, Lane::F32),
            _ => self.unary(Unary::ToF64, a, Lane::F64),
        }
    }
    /// A float as the integer of the same width, towards zero, saturating.
    pub(crate) fn to_int(&mut self, a: Val) -> Val {
        match a.lane {
            Lane::F32 => self.unary(Unary::ToI32, a, Lane::I32),
            _ => self.unary(Unary::ToI64, a, Lane::I64),
        }
    }
    pub(crate) fn widen(&mut self, a: Val) -> Val {
        self.unary(Unary::Widen, a, Lane::F64)
    }
    pub(crate) fn narrow(&mut self, a: Val) -> Val {
        self.unary(Unary::Narrow, a, Lane::F32)
    }

    /// An entry of a constant table; `index` is an `I64` lane within it.
    pub(crate) fn lookup(&mut self, table: &'static Table, lane: Lane, index: Val) -> Val {
        self.word(Word::Lookup { table, lane, index }, lane)
    }

    /// `when ? f(x) : otherwise`, for lanes that are seldom.
    pub(crate) fn rare(&mut self, when: Val, f: &'static LaneFn, x: Val, otherwise: Val) -> Val {
        self.word(Word::Rare { when, f, x, otherwise }, otherwise.lane)
    }
}

/// A constant of a dtype as the bits of that dtype's lane.
pub(crate) fn lane_bits(literal: Literal) -> u64 {
    let lane = Lane::of(literal.dtype());
    match lane {
        Lane::Mask => literal.bits(),
        Lane::I32 | Lane::I64 => {
            let integer = literal.to_integer().expect("an integer lane holds integers");
            if lane == Lane::I32 { u64::from(integer as u32) } else { integer as u64 }
        }
        Lane::F32 => u64::from((literal.to_f64() as f32).to_bits()),
        Lane::F64 => literal.to_f64().to_bits(),
    }
}
