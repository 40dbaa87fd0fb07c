//! The vector program: the words in which every code generator is told what to compute.
//!
//! A program is straight-line SSA over *lanes*: each word takes and gives one lane per element, and no word knows
//! how many lanes there are. The block interpreter runs it 512 lanes at a time, an emitter as machine vectors.
//! Every word has one exact meaning on every target, so all readers of a program agree to the last bit.
//!
//! Records in `ops` write programs with [`Emit`]; nothing here knows of tensors, shapes or machines.

mod emit;
#[cfg(test)]
mod eval;
mod quick;
pub(crate) mod scale;

pub(crate) use emit::{Emit, lane_bits};
#[cfg(test)]
pub(crate) use eval::eval;
pub(crate) use quick::{QuickMap, QuickSet, quick_hash};

use crate::dtype::DType;

/// What one lane holds. A `bool` is a `Mask`; `i8 i16 u8 u16` and `u32` live in `I32`, `u64` in `I64`,
/// `f16` and `bf16` in `F32`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Lane {
    Mask,
    I32,
    I64,
    F32,
    F64,
}

impl Lane {
    /// The lane type in which a dtype is computed.
    pub(crate) fn of(dtype: DType) -> Lane {
        match dtype {
            DType::Bool => Lane::Mask,
            DType::I8 | DType::I16 | DType::I32 | DType::U8 | DType::U16 | DType::U32 => Lane::I32,
            DType::I64 | DType::U64 => Lane::I64,
            DType::F16 | DType::BF16 | DType::F32 => Lane::F32,
            DType::F64 => Lane::F64,
        }
    }
}

/// The name of a value: the position of the word that makes it, and its lane type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Val {
    pub(crate) id: u32,
    pub(crate) lane: Lane,
}

/// Words of one operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Unary {
    /// Floats: flips the sign bit. Integers: `0 - x`, wrapping. (NaN keeps its payload.)
    Neg,
    /// Floats: clears the sign bit.
    Abs,
    /// Floats, correctly rounded.
    Sqrt,
    /// Floats, to an integral value: down, up, towards zero, to nearest even. The sign of zero is kept.
    Floor,
    Ceil,
    Trunc,
    RoundEven,
    /// Integers and masks: all bits flipped.
    Not,
    /// `I32` to `I64` with the sign; without (high half zero); `I64` to `I32` keeps the low half.
    SignExtend,
    ZeroExtend,
    Truncate,
    /// `I32` kept to its low 8 or 16 bits, then sign- or zero-extended.
    WrapI8,
    WrapI16,
    WrapU8,
    WrapU16,
    /// Integer to float, to nearest even; the operand's lane says from which width, the word whether it has a sign.
    ToF32,
    ToF64,
    UnsignedToF32,
    UnsignedToF64,
    /// Float to integer towards zero, saturating, NaN to 0 (Rust's `as`).
    ToI32,
    ToI64,
    ToU32,
    ToU64,
    /// `F32` to `F64` (exact), `F64` to `F32` (nearest even).
    Widen,
    Narrow,
    /// `F32` rounded to the nearest f16 (or bf16) value, kept as `F32`; `F64` rounded once to it, given as `F32`.
    RoundF16,
    RoundBF16,
    /// The same bits, `F32` as `I32`, `F64` as `I64` and back.
    Bits,
    FromBits,
    /// `I32` to `F32`: `2^(k/8)`, to nearest, for the number `k` in the lowest three bits.
    Eighths,
}

/// Words of two operands of the same lane type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Binary {
    /// Floats, each correctly rounded; integers wrap.
    Add,
    Sub,
    Mul,
    /// Floats only, correctly rounded.
    Div,
    /// Floats: `if a < b { a } else { b }` and `if a > b { a } else { b }`: the second operand when one is NaN.
    Min,
    Max,
    /// Floats: `a · 2^⌊b⌋`, rounded once. For `a` from 1/2 to 1.92 or NaN, and `b` in eighths of no more than twice the largest exponent.
    Scale,
    /// The same for `b` from where all is 0 (-150 for `F32`, -1077 for `F64`) to 64, in fewer steps on machines without an instruction for it.
    ScaleDown,
    /// Integers with and without sign.
    MinS,
    MaxS,
    MinU,
    MaxU,
    /// Integer quotient and remainder towards zero. A zero divisor is a fault of the run; `MIN / -1` wraps to `MIN`, remainder 0.
    DivS,
    RemS,
    DivU,
    RemU,
    /// Integers and masks, bit by bit.
    And,
    Or,
    Xor,
    /// Integers; a shift count (unsigned) of the lane's width or more gives 0, for `Sar` the sign everywhere.
    Shl,
    Shr,
    Sar,
}

/// Words that compare two operands and give a mask.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Compare {
    /// All lane types; for floats NaN equals nothing.
    Eq,
    Ne,
    /// Floats (false on NaN) and integers with sign.
    Lt,
    Le,
    /// Integers without sign.
    LtU,
    LeU,
}

/// A scalar function for the few lanes the straight-line program does not serve (huge arguments of `sin`, say).
/// It must be made of IEEE operations only, so that it gives the same bits everywhere.
#[derive(Clone, Copy, Debug)]
pub(crate) enum LaneFn {
    F32(&'static str, fn(f32) -> f32),
    F64(&'static str, fn(f64) -> f64),
}

impl LaneFn {
    /// The function's name, which is also its identity.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            LaneFn::F32(name, _) | LaneFn::F64(name, _) => name,
        }
    }
}

impl PartialEq for LaneFn {
    fn eq(&self, other: &LaneFn) -> bool {
        self.name() == other.name()
    }
}

impl Eq for LaneFn {}

impl std::hash::Hash for LaneFn {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.name().hash(state);
    }
}

/// What can go wrong while a program runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// An integer was divided by zero.
    DivideByZero,
    /// An index names no place.
    OutOfRange,
}

/// One word of a program. Its position is the name of its value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Word {
    /// The element of operand `slot`, converted from its dtype to its lane.
    Load {
        slot: u16,
        dtype: DType,
    },
    /// The same value in every lane: the low bits are the lane's (a mask is 0 or 1).
    Const {
        lane: Lane,
        bits: u64,
    },
    /// A value that is the same for every element and is told when the program is run, by its number; the bits as of a constant.
    Scalar(u16),
    /// `I64`: the element's position in the kernel's index space, row-major.
    Position,
    /// The value of an expression of the element's indices, by its number in the program: in an `I64` lane the number, in a
    /// mask whether it is not 0.
    Index(u16),
    /// `I64`: the place that an index (`I64`) names on an axis of `size`, from 0 on; with `from_end` numbers below zero count from
    /// the end. An index outside the axis is a fault of the run.
    Place {
        index: Val,
        size: u32,
        from_end: bool,
    },
    /// The element of operand `slot` that lies `at` (`I64`) elements behind the one a `Load` would give.
    Gather {
        slot: u16,
        dtype: DType,
        at: Val,
    },
    Unary(Unary, Val),
    /// The lane type of the result where the operand does not tell it is in the `Val` of the result.
    Binary(Binary, Val, Val),
    Compare(Compare, Val, Val),
    /// `mask ? a : b`.
    Select(Val, Val, Val),
    /// `a * b + c` rounded once. Floats.
    Fma(Val, Val, Val),
    /// `table[index]`; the index (`I64`) is within the table. `F64` or `I64` by `lane`.
    Lookup {
        table: &'static Table,
        lane: Lane,
        index: Val,
    },
    /// `when ? f(x) : otherwise`; cheap where no lane is set.
    Rare {
        when: Val,
        f: &'static LaneFn,
        x: Val,
        otherwise: Val,
    },
}

impl Word {
    /// The same word of other values.
    pub(crate) fn of(self, mut other: impl FnMut(Val) -> Val) -> Word {
        match self {
            Word::Load { .. } | Word::Const { .. } | Word::Scalar(_) | Word::Position | Word::Index(_) => self,
            Word::Place { index, size, from_end } => Word::Place { index: other(index), size, from_end },
            Word::Gather { slot, dtype, at } => Word::Gather { slot, dtype, at: other(at) },
            Word::Unary(f, a) => Word::Unary(f, other(a)),
            Word::Binary(f, a, b) => Word::Binary(f, other(a), other(b)),
            Word::Compare(f, a, b) => Word::Compare(f, other(a), other(b)),
            Word::Select(a, b, c) => Word::Select(other(a), other(b), other(c)),
            Word::Fma(a, b, c) => Word::Fma(other(a), other(b), other(c)),
            Word::Lookup { table, lane, index } => Word::Lookup { table, lane, index: other(index) },
            Word::Rare { when, f, x, otherwise } => {
                Word::Rare { when: other(when), f, x: other(x), otherwise: other(otherwise) }
            }
        }
    }
}

/// A constant table of 64-bit entries; its name is its identity.
#[derive(Clone, Copy)]
pub(crate) struct Table {
    pub(crate) name: &'static str,
    pub(crate) entries: &'static [u64],
}

impl std::fmt::Debug for Table {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name)
    }
}

impl PartialEq for Table {
    fn eq(&self, other: &Table) -> bool {
        self.name == other.name
    }
}

impl Eq for Table {}

impl std::hash::Hash for Table {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.name.hash(state);
    }
}
