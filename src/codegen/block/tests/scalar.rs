//! The judge: evaluates a loop program one element and one word at a time, and folds as the order is written down.

use crate::codegen::order::{ACCUMULATORS, ACROSS_LEAF, ALONG_LEAF, Order};
use crate::dtype::{DType, Literal, bf16, f16};
use crate::lower::program::{Access, Fold, LoopProgram};
use crate::ops::vector::{Binary, Compare, Fault, Lane, LaneFn, Unary, Val, Word};

/// One lane.
#[derive(Clone, Copy, Debug)]
pub(in crate::codegen) enum Scalar {
    Mask(bool),
    I32(i32),
    I64(i64),
    F32(f32),
    F64(f64),
}

use Scalar::*;

impl Scalar {
    /// Equal bits; any NaN equals any other.
    pub(in crate::codegen) fn same(self, other: Scalar) -> bool {
        match (self, other) {
            (F32(a), F32(b)) => a.to_bits() == b.to_bits() || a.is_nan() && b.is_nan(),
            (F64(a), F64(b)) => a.to_bits() == b.to_bits() || a.is_nan() && b.is_nan(),
            (Mask(a), Mask(b)) => a == b,
            (I32(a), I32(b)) => a == b,
            (I64(a), I64(b)) => a == b,
            _ => false,
        }
    }

    /// The lane of a literal.
    pub(in crate::codegen) fn of(literal: Literal) -> Scalar {
        match literal {
            Literal::Bool(v) => Mask(v),
            Literal::I8(v) => I32(v.into()),
            Literal::I16(v) => I32(v.into()),
            Literal::I32(v) => I32(v),
            Literal::I64(v) => I64(v),
            Literal::U8(v) => I32(v.into()),
            Literal::U16(v) => I32(v.into()),
            Literal::U32(v) => I32(v as i32),
            Literal::U64(v) => I64(v as i64),
            Literal::F16(v) => F32(v.to_f32()),
            Literal::BF16(v) => F32(v.to_f32()),
            Literal::F32(v) => F32(v),
            Literal::F64(v) => F64(v),
        }
    }

    /// The element of a dtype that a lane is stored as.
    pub(in crate::codegen) fn store(self, dtype: DType) -> Literal {
        match (dtype, self) {
            (DType::Bool, Mask(v)) => Literal::Bool(v),
            (DType::I8, I32(v)) => Literal::I8(v as i8),
            (DType::I16, I32(v)) => Literal::I16(v as i16),
            (DType::I32, I32(v)) => Literal::I32(v),
            (DType::U8, I32(v)) => Literal::U8(v as u8),
            (DType::U16, I32(v)) => Literal::U16(v as u16),
            (DType::U32, I32(v)) => Literal::U32(v as u32),
            (DType::I64, I64(v)) => Literal::I64(v),
            (DType::U64, I64(v)) => Literal::U64(v as u64),
            (DType::F16, F32(v)) => Literal::F16(f16::from_f32(v)),
            (DType::BF16, F32(v)) => Literal::BF16(bf16::from_f32(v)),
            (DType::F32, F32(v)) => Literal::F32(v),
            (DType::F64, F64(v)) => Literal::F64(v),
            _ => panic!("{self:?} as {dtype}"),
        }
    }

    fn constant(lane: Lane, bits: u64) -> Scalar {
        match lane {
            Lane::Mask => Mask(bits != 0),
            Lane::I32 => I32(bits as i32),
            Lane::I64 => I64(bits as i64),
            Lane::F32 => F32(f32::from_bits(bits as u32)),
            Lane::F64 => F64(f64::from_bits(bits)),
        }
    }
}

/// The nearest of all half floats, found by looking at the neighbours of a guess; ties to the even one.
fn nearest(x: f64, guess: u16, value: impl Fn(u16) -> f64) -> f32 {
    // Infinity stands for the power of two after the largest number.
    let finite =
        |bits: u16| if value(bits).is_infinite() { 2.0 * value(bits - 1) - value(bits - 2) } else { value(bits) };
    let sign = guess & 0x8000;
    let mut best = guess & 0x7fff;
    if x.is_finite() {
        for next in [best.saturating_sub(1), best + 1] {
            if value(next).is_nan() {
                continue;
            }
            let middle = (finite(best) + finite(next)) / 2.0;
            let beyond = if next > best { x.abs() > middle } else { x.abs() < middle };
            if beyond || x.abs() == middle && next % 2 == 0 {
                best = next;
            }
        }
    }
    value(sign | best) as f32
}

pub(in crate::codegen) fn unary(word: Unary, x: Scalar, to: Lane) -> Scalar {
    match (word, x, to) {
        (Unary::Neg, F32(x), _) => F32(f32::from_bits(x.to_bits() ^ 1 << 31)),
        (Unary::Neg, F64(x), _) => F64(f64::from_bits(x.to_bits() ^ 1 << 63)),
        (Unary::Neg, I32(x), _) => I32(0i32.wrapping_sub(x)),
        (Unary::Neg, I64(x), _) => I64(0i64.wrapping_sub(x)),
        (Unary::Abs, F32(x), _) => F32(f32::from_bits(x.to_bits() & !(1 << 31))),
        (Unary::Abs, F64(x), _) => F64(f64::from_bits(x.to_bits() & !(1 << 63))),
        (Unary::Sqrt, F32(x), _) => F32(x.sqrt()),
        (Unary::Sqrt, F64(x), _) => F64(x.sqrt()),
        (Unary::Eighths, I32(x), _) => F32(2f64.powf(f64::from(x & 7) / 8.0) as f32),
        (Unary::Floor, F32(x), _) => F32(f64::from(x).floor() as f32),
        (Unary::Floor, F64(x), _) => F64(x.floor()),
        (Unary::Ceil, F32(x), _) => F32(f64::from(x).ceil() as f32),
        (Unary::Ceil, F64(x), _) => F64(x.ceil()),
        (Unary::Trunc, F32(x), _) => F32(f64::from(x).trunc() as f32),
        (Unary::Trunc, F64(x), _) => F64(x.trunc()),
        (Unary::RoundEven, F32(x), _) => F32(f64::from(x).round_ties_even() as f32),
        (Unary::RoundEven, F64(x), _) => F64(x.round_ties_even()),
        (Unary::Not, Mask(x), _) => Mask(!x),
        (Unary::Not, I32(x), _) => I32(-1 - x),
        (Unary::Not, I64(x), _) => I64(-1 - x),
        (Unary::SignExtend, I32(x), _) => I64(x.into()),
        (Unary::ZeroExtend, I32(x), _) => I64((x as u32).into()),
        (Unary::Truncate, I64(x), _) => I32(x as i32),
        (Unary::WrapI8, I32(x), _) => I32((x << 24) >> 24),
        (Unary::WrapI16, I32(x), _) => I32((x << 16) >> 16),
        (Unary::WrapU8, I32(x), _) => I32(x.rem_euclid(256)),
        (Unary::WrapU16, I32(x), _) => I32(x.rem_euclid(65536)),
        (Unary::ToF32, I32(x), _) => F32(x as f32),
        (Unary::ToF32, I64(x), _) => F32(x as f32),
        (Unary::ToF64, I32(x), _) => F64(x as f64),
        (Unary::ToF64, I64(x), _) => F64(x as f64),
        (Unary::UnsignedToF32, I32(x), _) => F32(x as u32 as f32),
        (Unary::UnsignedToF32, I64(x), _) => F32(x as u64 as f32),
        (Unary::UnsignedToF64, I32(x), _) => F64(x as u32 as f64),
        (Unary::UnsignedToF64, I64(x), _) => F64(x as u64 as f64),
        (Unary::ToI32, F32(x), _) => I32(x as i32),
        (Unary::ToI32, F64(x), _) => I32(x as i32),
        (Unary::ToI64, F32(x), _) => I64(x as i64),
        (Unary::ToI64, F64(x), _) => I64(x as i64),
        (Unary::ToU32, F32(x), _) => I32(x as u32 as i32),
        (Unary::ToU32, F64(x), _) => I32(x as u32 as i32),
        (Unary::ToU64, F32(x), _) => I64(x as u64 as i64),
        (Unary::ToU64, F64(x), _) => I64(x as u64 as i64),
        (Unary::Widen, F32(x), _) => F64(x.into()),
        (Unary::Narrow, F64(x), _) => F32(x as f32),
        (Unary::RoundF16, F32(x), _) => F32(f16::from_f32(x).to_f32()),
        (Unary::RoundBF16, F32(x), _) => F32(bf16::from_f32(x).to_f32()),
        (Unary::RoundF16, F64(x), _) => {
            F32(nearest(x, f16::from_f64(x).to_bits(), |bits| f16::from_bits(bits).to_f64()))
        }
        (Unary::RoundBF16, F64(x), _) => {
            F32(nearest(x, bf16::from_f64(x).to_bits(), |bits| bf16::from_bits(bits).to_f64()))
        }
        (Unary::Bits, F32(x), _) => I32(x.to_bits() as i32),
        (Unary::Bits, F64(x), _) => I64(x.to_bits() as i64),
        (Unary::FromBits, I32(x), _) => F32(f32::from_bits(x as u32)),
        (Unary::FromBits, I64(x), _) => F64(f64::from_bits(x as u64)),
        _ => panic!("{word:?} of {x:?}"),
    }
}

pub(in crate::codegen) fn binary(word: Binary, a: Scalar, b: Scalar) -> Result<Scalar, Fault> {
    macro_rules! integer {
        ($a:expr, $b:expr, $S:ty, $U:ty) => {{
            let (a, b, bits) = ($a, $b, <$S>::BITS);
            if b == 0 && matches!(word, Binary::DivS | Binary::RemS | Binary::DivU | Binary::RemU) {
                return Err(Fault::DivideByZero);
            }
            let (wide_a, wide_b) = (i128::from(a), i128::from(b));
            let (ua, ub) = (a as $U, b as $U);
            match word {
                Binary::Add => (wide_a + wide_b) as $S,
                Binary::Sub => (wide_a - wide_b) as $S,
                Binary::Mul => (wide_a * wide_b) as $S,
                Binary::MinS => {
                    if a < b {
                        a
                    } else {
                        b
                    }
                }
                Binary::MaxS => {
                    if a > b {
                        a
                    } else {
                        b
                    }
                }
                Binary::MinU => {
                    if ua < ub {
                        a
                    } else {
                        b
                    }
                }
                Binary::MaxU => {
                    if ua > ub {
                        a
                    } else {
                        b
                    }
                }
                Binary::DivS => (wide_a / wide_b) as $S,
                Binary::RemS => (wide_a % wide_b) as $S,
                Binary::DivU => (ua / ub) as $S,
                Binary::RemU => (ua % ub) as $S,
                Binary::And => a & b,
                Binary::Or => a | b,
                Binary::Xor => a ^ b,
                Binary::Shl => {
                    if ub >= bits.into() {
                        0
                    } else {
                        (u128::from(ua) << ub) as $S
                    }
                }
                Binary::Shr => {
                    if ub >= bits.into() {
                        0
                    } else {
                        (u128::from(ua) >> ub) as $S
                    }
                }
                Binary::Sar => {
                    if ub >= bits.into() {
                        if a < 0 { -1 } else { 0 }
                    } else {
                        (wide_a >> ub) as $S
                    }
                }
                Binary::Div | Binary::Min | Binary::Max | Binary::Scale | Binary::ScaleDown => {
                    panic!("{word:?} of integers")
                }
            }
        }};
    }
    macro_rules! float {
        ($a:expr, $b:expr) => {{
            let (a, b) = ($a, $b);
            match word {
                Binary::Add => a + b,
                Binary::Sub => a - b,
                Binary::Mul => a * b,
                Binary::Div => a / b,
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
                _ => panic!("{word:?} of floats"),
            }
        }};
    }
    Ok(match (a, b) {
        (I32(a), I32(b)) => I32(integer!(a, b, i32, u32)),
        (I64(a), I64(b)) => I64(integer!(a, b, i64, u64)),
        // The product is exact before it is rounded to an `f32`, and halves of a power of two are exact.
        (F32(a), F32(b)) if matches!(word, Binary::Scale | Binary::ScaleDown) => {
            F32((f64::from(a) * 2f64.powi(b.floor() as i32)) as f32)
        }
        (F64(a), F64(b)) if matches!(word, Binary::Scale | Binary::ScaleDown) => {
            let (whole, half) = (b.floor(), (b / 2.0).floor());
            F64(a * 2f64.powi(half as i32) * 2f64.powi((whole - half) as i32))
        }
        (F32(a), F32(b)) => F32(float!(a, b)),
        (F64(a), F64(b)) => F64(float!(a, b)),
        (Mask(a), Mask(b)) => Mask(match word {
            Binary::And => a && b,
            Binary::Or => a || b,
            Binary::Xor => a != b,
            _ => panic!("{word:?} of masks"),
        }),
        _ => panic!("{word:?} of {a:?} and {b:?}"),
    })
}

pub(in crate::codegen) fn compare(word: Compare, a: Scalar, b: Scalar) -> bool {
    let order = match (a, b) {
        (Mask(a), Mask(b)) => Some(a.cmp(&b)),
        (I32(a), I32(b)) if matches!(word, Compare::LtU | Compare::LeU) => Some((a as u32).cmp(&(b as u32))),
        (I64(a), I64(b)) if matches!(word, Compare::LtU | Compare::LeU) => Some((a as u64).cmp(&(b as u64))),
        (I32(a), I32(b)) => Some(a.cmp(&b)),
        (I64(a), I64(b)) => Some(a.cmp(&b)),
        (F32(a), F32(b)) => a.partial_cmp(&b),
        (F64(a), F64(b)) => a.partial_cmp(&b),
        _ => panic!("{word:?} of {a:?} and {b:?}"),
    };
    match word {
        Compare::Eq => order.is_some_and(|order| order.is_eq()),
        Compare::Ne => !order.is_some_and(|order| order.is_eq()),
        Compare::Lt | Compare::LtU => order.is_some_and(|order| order.is_lt()),
        Compare::Le | Compare::LeU => order.is_some_and(|order| order.is_le()),
    }
}

/// What a program is told besides its operands.
#[derive(Clone, Debug, Default)]
pub(in crate::codegen) struct Told {
    pub(in crate::codegen) scalars: Vec<u64>,
    pub(in crate::codegen) origin: usize,
}

/// The result of the words for one element.
struct Element<'p> {
    program: &'p LoopProgram,
    operands: &'p [Vec<Literal>],
    told: &'p Told,
    index: Vec<usize>,
    position: usize,
    known: Vec<Option<Scalar>>,
}

impl Element<'_> {
    fn value(&mut self, val: Val) -> Result<Scalar, Fault> {
        let at = val.id as usize;
        if let Some(known) = self.known[at] {
            return Ok(known);
        }
        let (word, lane) = self.program.words[at];
        let value = match word {
            Word::Load { slot, .. } => self.load(slot.into(), 0),
            Word::Const { lane, bits } => Scalar::constant(lane, bits),
            Word::Scalar(slot) => Scalar::constant(lane, self.told.scalars[usize::from(slot)]),
            Word::Position => I64(self.position as i64),
            Word::Place { index, size, from_end } => match self.value(index)? {
                I64(at) => {
                    let at = if at < 0 && from_end { at.wrapping_add(i64::from(size)) } else { at };
                    if !(0..i64::from(size)).contains(&at) {
                        return Err(Fault::OutOfRange);
                    }
                    I64(at)
                }
                other => panic!("an index of {other:?}"),
            },
            Word::Gather { slot, at, .. } => match self.value(at)? {
                I64(at) => self.load(slot.into(), at),
                other => panic!("a place of {other:?}"),
            },
            Word::Index(which) => {
                let mut index = self.index.clone();
                if !self.program.outer.is_empty() {
                    index[0] += self.told.origin;
                }
                let value = self.program.indices[usize::from(which)].eval(&index);
                if lane == Lane::Mask { Mask(value != 0) } else { I64(value) }
            }
            Word::Unary(word, x) => unary(word, self.value(x)?, lane),
            Word::Binary(word, a, b) => binary(word, self.value(a)?, self.value(b)?)?,
            Word::Compare(word, a, b) => Mask(compare(word, self.value(a)?, self.value(b)?)),
            Word::Select(mask, a, b) => match (self.value(mask)?, self.value(a)?, self.value(b)?) {
                (Mask(mask), a, b) => {
                    if mask {
                        a
                    } else {
                        b
                    }
                }
                other => panic!("select of {other:?}"),
            },
            Word::Fma(a, b, c) => match (self.value(a)?, self.value(b)?, self.value(c)?) {
                (F32(a), F32(b), F32(c)) => F32(a.mul_add(b, c)),
                (F64(a), F64(b), F64(c)) => F64(a.mul_add(b, c)),
                other => panic!("fma of {other:?}"),
            },
            Word::Lookup { table, lane, index } => match self.value(index)? {
                I64(index) => Scalar::constant(lane, table.entries[index as usize]),
                other => panic!("lookup of {other:?}"),
            },
            Word::Rare { when, f, x, otherwise } => {
                match (self.value(when)?, f, self.value(x)?, self.value(otherwise)?) {
                    (Mask(false), _, _, otherwise) => otherwise,
                    (_, LaneFn::F32(_, f), F32(x), _) => F32(f(x)),
                    (_, LaneFn::F64(_, f), F64(x), _) => F64(f(x)),
                    other => panic!("rare of {other:?}"),
                }
            }
        };
        self.known[at] = Some(value);
        Ok(value)
    }

    fn load(&self, slot: usize, behind: i64) -> Scalar {
        let position = match &self.program.loads[slot].access {
            Access::Strided { offset, strides } => {
                offset + self.index.iter().zip(strides).map(|(&index, stride)| index as i64 * stride).sum::<i64>()
            }
            Access::Computed { position, guards } => {
                let mut index = self.index.clone();
                if !self.program.outer.is_empty() {
                    index[0] += self.told.origin;
                }
                for guard in guards {
                    if guard.condition.eval(&index) == 0 {
                        return Scalar::of(guard.default);
                    }
                }
                position.eval(&index)
            }
        };
        Scalar::of(self.operands[slot][(position + behind) as usize])
    }
}

/// The place of every output, in the order of their indices.
pub(in crate::codegen) fn places(program: &LoopProgram) -> Vec<usize> {
    let mut places = vec![0];
    for (&size, &stride) in program.outer.iter().zip(&program.store) {
        let along = |&place: &i64| (0..size as i64).map(move |index| place + index * stride);
        places = places.iter().flat_map(along).collect();
    }
    places.into_iter().map(|place| place as usize).collect()
}

/// Every output of a program, in the order of their indices.
pub(in crate::codegen) fn evaluate(
    program: &LoopProgram,
    operands: &[Vec<Literal>],
    told: &Told,
) -> Result<Vec<Literal>, Fault> {
    let sizes: Vec<usize> = program.outer.iter().chain(&program.reduced).copied().collect();
    let elements: usize = program.reduced.iter().product();
    (0..program.outer.iter().product())
        .map(|output: usize| {
            let mut values = Vec::new();
            for element in 0..elements {
                let position = output * elements + element;
                let mut index = vec![0; sizes.len()];
                let mut rest = position;
                for k in (0..sizes.len()).rev() {
                    index[k] = rest % sizes[k];
                    rest /= sizes[k];
                }
                let known = vec![None; program.words.len()];
                let rows: usize = sizes.iter().skip(1).product();
                let position = position + if program.outer.is_empty() { 0 } else { told.origin * rows };
                values.push(Element { program, operands, told, index, position, known }.value(program.result)?);
            }
            let value = match program.fold {
                None => values[0],
                Some(fold) => folded(program, fold, &values),
            };
            Ok(value.store(program.stored))
        })
        .collect()
}

fn combine(fold: Fold, stored: DType, a: Scalar, b: Scalar) -> Scalar {
    let signed = stored.is_signed_integer();
    let larger = |a: Scalar, b: Scalar| match (a, b) {
        (F32(a), F32(b)) => a > b,
        (F64(a), F64(b)) => a > b,
        (I32(a), I32(b)) => {
            if signed {
                a > b
            } else {
                a as u32 > b as u32
            }
        }
        (I64(a), I64(b)) => {
            if signed {
                a > b
            } else {
                a as u64 > b as u64
            }
        }
        (Mask(a), Mask(b)) => a && !b,
        other => panic!("folding {other:?}"),
    };
    let nan = match a {
        F32(a) => a.is_nan(),
        F64(a) => a.is_nan(),
        Mask(_) | I32(_) | I64(_) => false,
    };
    match fold {
        Fold::Sum => binary(Binary::Add, a, b).expect("no division"),
        Fold::Prod => binary(Binary::Mul, a, b).expect("no division"),
        Fold::Max => {
            if larger(a, b) || nan {
                a
            } else {
                b
            }
        }
        Fold::Min => {
            if larger(b, a) || nan {
                a
            } else {
                b
            }
        }
    }
}

/// The values of one output, combined in the order that is written down in `codegen::order`.
fn folded(program: &LoopProgram, fold: Fold, values: &[Scalar]) -> Scalar {
    let stored = program.stored;
    let identity = Scalar::of(match fold {
        Fold::Sum => Literal::zero(stored),
        Fold::Prod => Literal::one(stored),
        Fold::Max => Literal::lowest(stored),
        Fold::Min => Literal::highest(stored),
    });
    let leaf = |values: &[Scalar], width: usize| {
        let mut accumulators = vec![identity; width];
        for (i, &value) in values.iter().enumerate() {
            accumulators[i % width] = combine(fold, stored, accumulators[i % width], value);
        }
        while accumulators.len() > 1 {
            let upper = accumulators.split_off(accumulators.len() / 2);
            for (a, b) in accumulators.iter_mut().zip(upper) {
                *a = combine(fold, stored, *a, b);
            }
        }
        accumulators[0]
    };
    fn tree(leaves: &[Scalar], combine: &dyn Fn(Scalar, Scalar) -> Scalar) -> Scalar {
        if leaves.len() == 1 {
            return leaves[0];
        }
        let (first, rest) = leaves.split_at(leaves.len().next_power_of_two() / 2);
        combine(tree(first, combine), tree(rest, combine))
    }
    let leaves: Vec<Scalar> = match Order::of(program) {
        Order::Along => {
            let width = values.len().next_power_of_two().min(ACCUMULATORS);
            values.chunks(ALONG_LEAF).map(|values| leaf(values, width)).collect()
        }
        Order::Across => values.chunks(ACROSS_LEAF).map(|values| leaf(values, 1)).collect(),
    };
    if leaves.is_empty() { identity } else { tree(&leaves, &|a, b| combine(fold, stored, a, b)) }
}
