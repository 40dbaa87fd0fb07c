//! Chooses instructions for words.
//!
//! A vector is as many elements as fit a register where every lane has 32 bits, and half as many where any has 64: then 32-bit
//! lanes take half a register, so that every value is one register whatever its lanes. A mask has lanes of all ones or all zeros, as wide as those
//! it came from; [`Select::mask`] changes its width where another is wanted.
//!
//! An instruction whose operands are the same all along a row is put into the preamble, whoever asks for it.

use super::asm::Width;
use super::inst::{Form, Home, Id, Inst, NONE, Pieces, Value};
use super::op::{self, Op};
use crate::ops::vector::scale;
use crate::ops::vector::{Binary, Compare, Lane, LaneFn, QuickMap, QuickSet, Val, Word};

/// Instructions being chosen.
pub(super) struct Select {
    /// The registers that are in use: 256 or 512 bits.
    pub(super) full: Width,
    /// The elements of a vector: one for every 4 or 8 bytes of a register.
    pub(super) lanes: usize,
    /// There was a word without instructions for registers of 512 bits.
    pub(super) too_wide: bool,
    pub(super) pieces: Pieces,
    /// Where instructions go that are not the same all along a row.
    pub(super) piece: Piece,
    /// The values of the constants.
    constants: Vec<Id>,
    /// The bits of each value's lanes, where it is a mask; 0 where it is a constant of any width.
    mask_bits: Vec<u32>,
    /// Masks made of others.
    remade: QuickMap<(Id, u32), Id>,
    /// Values whose 64-bit lanes have a high half of zeros.
    small: QuickSet<Id>,
}

/// A piece of the code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Piece {
    Body,
    Tail,
    After,
    Finish,
}

impl Select {
    /// For a program of about so many words.
    pub(super) fn new(full: Width, lanes: usize, words: usize) -> Select {
        let (values, body) = (Vec::with_capacity(words + words / 4), Vec::with_capacity(words));
        Select {
            full,
            lanes,
            too_wide: false,
            pieces: Pieces { values, body, ..Pieces::default() },
            piece: Piece::Body,
            constants: Vec::new(),
            mask_bits: Vec::with_capacity(words + words / 4),
            remade: QuickMap::default(),
            small: QuickSet::default(),
        }
    }

    /// The width of a register with a vector of such lanes.
    pub(super) fn width(&self, lane: Lane) -> Width {
        match lane {
            Lane::I64 | Lane::F64 => self.full,
            Lane::Mask | Lane::I32 | Lane::F32 if self.fills_registers() => self.full,
            Lane::Mask | Lane::I32 | Lane::F32 => self.full.half(),
        }
    }

    /// Whether lanes of 32 bits fill a register.
    pub(super) fn fills_registers(&self) -> bool {
        self.lanes * 4 == self.full.bytes()
    }

    /// Whether registers have 512 bits.
    pub(super) fn is_wide(&self) -> bool {
        self.full == Width::Z
    }

    // Values and instructions

    /// A value that is found in memory.
    pub(super) fn at_home(&mut self, home: Home, width: Width, invariant: bool) -> Id {
        self.pieces.values.push(Value { home, width, invariant });
        self.mask_bits.push(0);
        self.pieces.values.len() as Id - 1
    }

    fn instruction(&mut self, form: Form, op: Op, width: Width, args: [Id; 3], immediate: Option<u8>) -> Id {
        let known = |id: &Id| *id == NONE || self.pieces.values[*id as usize].invariant;
        let invariant = args.iter().all(known) && args[0] != NONE && self.piece == Piece::Body;
        let to = self.at_home(Home::None, width, invariant);
        self.push(Inst { form, op, width, to, args, immediate }, invariant);
        to
    }

    /// Puts an instruction where it belongs.
    pub(super) fn push(&mut self, inst: Inst, invariant: bool) {
        let is_blend_or_test = matches!(inst.form, Form::Blend | Form::Rare(_));
        self.too_wide |= self.is_wide() && inst.op.evex.is_none() && !is_blend_or_test;
        match self.piece {
            _ if invariant => self.pieces.preamble.push(inst),
            Piece::Body => self.pieces.body.push(inst),
            Piece::Tail => self.pieces.tail.push(inst),
            Piece::After => self.pieces.after.push(inst),
            Piece::Finish => self.pieces.finish.push(inst),
        }
    }

    pub(super) fn rm(&mut self, op: Op, width: Width, a: Id) -> Id {
        self.instruction(Form::Rm, op, width, [a, NONE, NONE], None)
    }

    pub(super) fn rm_with(&mut self, op: Op, width: Width, a: Id, immediate: u8) -> Id {
        self.instruction(Form::Rm, op, width, [a, NONE, NONE], Some(immediate))
    }

    pub(super) fn rvm(&mut self, op: Op, width: Width, a: Id, b: Id) -> Id {
        self.instruction(Form::Rvm, op, width, [a, b, NONE], None)
    }

    pub(super) fn rvm_with(&mut self, op: Op, width: Width, a: Id, b: Id, immediate: u8) -> Id {
        self.instruction(Form::Rvm, op, width, [a, b, NONE], Some(immediate))
    }

    pub(super) fn commutative(&mut self, op: Op, width: Width, a: Id, b: Id) -> Id {
        self.instruction(Form::Commutative, op, width, [a, b, NONE], None)
    }

    pub(super) fn shift(&mut self, op: Op, width: Width, a: Id, by: u8) -> Id {
        self.instruction(Form::Shift, op, width, [a, NONE, NONE], Some(by))
    }

    /// An instruction whose result is half as wide.
    pub(super) fn extract(&mut self, op: Op, width: Width, a: Id, immediate: Option<u8>) -> Id {
        let to = self.instruction(Form::Extract, op, width, [a, NONE, NONE], immediate);
        self.pieces.values[to as usize].width = width.half();
        to
    }

    /// `mask ? yes : no`; the mask is as wide as the lanes.
    pub(super) fn blend(&mut self, wide: bool, width: Width, mask: Id, yes: Id, no: Id) -> Id {
        let op = if wide { op::BLENDVPD } else { op::BLENDVPS };
        self.instruction(Form::Blend, op, width, [no, yes, mask], None)
    }

    /// The number of the loop's element, in the first 64-bit lane.
    pub(super) fn index(&mut self) -> Id {
        self.instruction(Form::Index, op::MOVQ, Width::X, [NONE; 3], None)
    }

    // Constants

    pub(super) fn constant(&mut self, bits: [u64; 4]) -> Id {
        if let Some(known) = self.pieces.constants.iter().position(|known| known[0] == bits[0] && *known == bits) {
            return self.constants[known];
        }
        let id = self.at_home(Home::Constant(self.constants.len() as u32), self.full, true);
        self.pieces.constants.push(bits);
        self.constants.push(id);
        id
    }

    pub(super) fn constant_32(&mut self, bits: u32) -> Id {
        self.constant([u64::from(bits) << 32 | u64::from(bits); 4])
    }

    pub(super) fn constant_64(&mut self, bits: u64) -> Id {
        let id = self.constant([bits; 4]);
        if bits >> 32 == 0 {
            self.small.insert(id);
        }
        id
    }

    pub(super) fn zero(&mut self) -> Id {
        self.constant([0; 4])
    }

    pub(super) fn ones(&mut self) -> Id {
        self.constant([u64::MAX; 4])
    }

    // Masks

    /// Says how wide a new mask's lanes are.
    pub(super) fn new_mask(&mut self, mask: Id, bits: u32) -> Id {
        self.mask_bits[mask as usize] = bits;
        mask
    }

    /// A mask with lanes of the given width.
    pub(super) fn mask(&mut self, mask: Id, bits: u32) -> Id {
        let has = self.mask_bits[mask as usize];
        if has == 0 || has == bits {
            return mask;
        }
        // What the body has made can be used again; what a tail has made cannot.
        if let Some(&known) = self.remade.get(&(mask, bits))
            && self.piece == Piece::Body
        {
            return known;
        }
        let made = if bits == 64 { self.rm(op::PMOVSXDQ, self.full, mask) } else { self.low_halves(mask) };
        if self.piece == Piece::Body {
            self.remade.insert((mask, bits), made);
        }
        self.new_mask(made, bits)
    }

    /// The low halves of 64-bit lanes, side by side.
    pub(super) fn low_halves(&mut self, x: Id) -> Id {
        if self.is_wide() {
            return self.extract(op::PMOVQD, self.full, x, None);
        }
        let upper = self.extract(op::EXTRACTI128, Width::Y, x, Some(1));
        self.rvm_with(op::SHUFPS, Width::X, x, upper, 0x88)
    }

    /// Says that the high halves of 64-bit lanes are zero.
    pub(super) fn mark_small(&mut self, id: Id) {
        self.small.insert(id);
    }

    // Words

    /// The value of a word that reads no memory; its operands are in `of`.
    pub(super) fn word(&mut self, word: Word, lane: Lane, of: &dyn Fn(Val) -> Id) -> Option<Id> {
        Some(match word {
            Word::Const { lane: Lane::Mask, bits } => {
                let mask = if bits != 0 { self.ones() } else { self.zero() };
                self.new_mask(mask, 0)
            }
            Word::Const { lane: Lane::I32 | Lane::F32, bits } => self.constant_32(bits as u32),
            Word::Const { lane: Lane::I64 | Lane::F64, bits } => self.constant_64(bits),
            Word::Scalar(slot) => self.scalar(slot, lane),
            Word::Unary(unary, x) => self.unary(unary, x.lane, of(x)),
            Word::Binary(binary, a, b) => return self.binary(binary, lane, of(a), of(b)),
            Word::Compare(compare, a, b) => self.compare(compare, a.lane, of(a), of(b)),
            Word::Select(mask, a, b) => self.choose(lane, of(mask), of(a), of(b)),
            Word::Fma(a, b, c) => self.fma(lane, of(a), of(b), of(c)),
            Word::Rare { when, f, x, otherwise } => {
                let bits = if lane == Lane::F64 { 64 } else { 32 };
                let when = self.mask(of(when), bits);
                self.rare(lane, f, when, of(x), of(otherwise))
            }
            Word::Load { .. }
            | Word::Position
            | Word::Index(_)
            | Word::Place { .. }
            | Word::Gather { .. }
            | Word::Lookup { .. } => return None,
        })
    }

    /// A value from the frame, in all lanes. There, a mask is all ones or all zeros.
    fn scalar(&mut self, slot: u16, lane: Lane) -> Id {
        let value = self.at_home(Home::Scalar(slot), Width::X, true);
        match lane {
            Lane::Mask => {
                let mask = self.rm(op::BROADCASTSD, self.full, value);
                self.new_mask(mask, 0)
            }
            Lane::I32 | Lane::F32 => self.rm(op::BROADCASTSS, self.width(lane), value),
            Lane::I64 | Lane::F64 => self.rm(op::BROADCASTSD, self.full, value),
        }
    }

    fn fma(&mut self, lane: Lane, a: Id, b: Id, c: Id) -> Id {
        let op = if lane == Lane::F64 { op::FMADD213PD } else { op::FMADD213PS };
        self.instruction(Form::Fma, op, self.width(lane), [a, b, c], None)
    }

    fn rare(&mut self, lane: Lane, f: &'static LaneFn, when: Id, x: Id, otherwise: Id) -> Id {
        // A call belongs into the body: the preamble keeps to plain instructions.
        let to = self.at_home(Home::None, self.width(lane), false);
        let args = [when, x, otherwise];
        let inst = Inst { form: Form::Rare(f), op: op::PTEST, width: self.width(lane), to, args, immediate: None };
        self.push(inst, false);
        to
    }

    /// `mask ? a : b`.
    pub(super) fn choose(&mut self, lane: Lane, mask: Id, a: Id, b: Id) -> Id {
        let bits = match lane {
            Lane::I64 | Lane::F64 => 64,
            Lane::I32 | Lane::F32 => 32,
            Lane::Mask => self.common_bits(&[mask, a, b]),
        };
        let mask = self.mask(mask, bits);
        let (a, b) = if lane == Lane::Mask { (self.mask(a, bits), self.mask(b, bits)) } else { (a, b) };
        let width = if bits == 64 { self.full } else { self.width(Lane::I32) };
        let to = self.blend(bits == 64, width, mask, a, b);
        if lane == Lane::Mask { self.new_mask(to, bits) } else { to }
    }

    /// The widest of some masks.
    fn common_bits(&self, masks: &[Id]) -> u32 {
        masks.iter().map(|&mask| self.mask_bits[mask as usize]).fold(32, u32::max)
    }

    /// A word of two operands, or `None` where there are no instructions for it.
    pub(super) fn binary(&mut self, word: Binary, lane: Lane, a: Id, b: Id) -> Option<Id> {
        let width = self.width(lane);
        let by_lane = |of_32: Op, of_64: Op| if matches!(lane, Lane::I64 | Lane::F64) { of_64 } else { of_32 };
        let float = matches!(lane, Lane::F32 | Lane::F64);
        Some(match word {
            Binary::Add if float => self.commutative(by_lane(op::ADDPS, op::ADDPD), width, a, b),
            Binary::Sub if float => self.rvm(by_lane(op::SUBPS, op::SUBPD), width, a, b),
            Binary::Mul if float => self.commutative(by_lane(op::MULPS, op::MULPD), width, a, b),
            Binary::Div => self.rvm(by_lane(op::DIVPS, op::DIVPD), width, a, b),
            // The machine gives the second operand on NaN and for two zeros, as the word does.
            Binary::Min => self.rvm(by_lane(op::MINPS, op::MINPD), width, a, b),
            Binary::Max => self.rvm(by_lane(op::MAXPS, op::MAXPD), width, a, b),
            Binary::Scale | Binary::ScaleDown if self.is_wide() => {
                self.rvm(by_lane(op::SCALEFPS, op::SCALEFPD), width, a, b)
            }
            Binary::Scale => self.scale(lane, a, b),
            Binary::ScaleDown => self.scale_down(lane, a, b),
            Binary::Add => self.commutative(by_lane(op::PADDD, op::PADDQ), width, a, b),
            Binary::Sub => self.rvm(by_lane(op::PSUBD, op::PSUBQ), width, a, b),
            Binary::Mul if lane == Lane::I32 => self.commutative(op::PMULLD, width, a, b),
            Binary::Mul => self.multiply_64(a, b),
            Binary::MinS if lane == Lane::I32 => self.commutative(op::PMINSD, width, a, b),
            Binary::MaxS if lane == Lane::I32 => self.commutative(op::PMAXSD, width, a, b),
            Binary::MinU if lane == Lane::I32 => self.commutative(op::PMINUD, width, a, b),
            Binary::MaxU if lane == Lane::I32 => self.commutative(op::PMAXUD, width, a, b),
            Binary::MinS | Binary::MaxS | Binary::MinU | Binary::MaxU => {
                let unsigned = matches!(word, Binary::MinU | Binary::MaxU);
                let greater = self.greater(Lane::I64, unsigned, a, b);
                match word {
                    Binary::MaxS | Binary::MaxU => self.blend(true, width, greater, a, b),
                    _ => self.blend(true, width, greater, b, a),
                }
            }
            Binary::DivS | Binary::RemS | Binary::DivU | Binary::RemU => return None,
            Binary::And | Binary::Or | Binary::Xor => {
                let op = match word {
                    Binary::And => op::PAND,
                    Binary::Or => op::POR,
                    _ => op::PXOR,
                };
                if lane == Lane::Mask {
                    let bits = self.common_bits(&[a, b]);
                    let (a, b) = (self.mask(a, bits), self.mask(b, bits));
                    let width = if bits == 64 { self.full } else { width };
                    let to = self.commutative(op, width, a, b);
                    return Some(self.new_mask(to, bits));
                }
                self.commutative(op, width, a, b)
            }
            Binary::Shl | Binary::Shr | Binary::Sar => self.shift_by(word, lane, a, b),
        })
    }

    fn shift_by(&mut self, word: Binary, lane: Lane, a: Id, b: Id) -> Id {
        let width = self.width(lane);
        let wide = lane == Lane::I64;
        // A constant count can be in the instruction.
        if let Home::Constant(at) = self.pieces.values[b as usize].home {
            let count = self.pieces.constants[at as usize][0];
            let count = if wide { count } else { count & 0xffff_ffff };
            let count = count.min(255) as u8;
            match (word, wide) {
                (Binary::Shl, false) => return self.shift(op::PSLLD, width, a, count),
                (Binary::Shl, _) => return self.shift(op::PSLLQ, width, a, count),
                (Binary::Shr, false) => return self.shift(op::PSRLD, width, a, count),
                (Binary::Shr, _) => {
                    let to = self.shift(op::PSRLQ, width, a, count);
                    if count >= 32 {
                        self.mark_small(to);
                    }
                    return to;
                }
                (_, false) => return self.shift(op::PSRAD, width, a, count),
                (_, true) => {}
            }
        }
        match (word, wide) {
            (Binary::Shl, false) => self.rvm(op::PSLLVD, width, a, b),
            (Binary::Shl, _) => self.rvm(op::PSLLVQ, width, a, b),
            (Binary::Shr, false) => self.rvm(op::PSRLVD, width, a, b),
            (Binary::Shr, _) => self.rvm(op::PSRLVQ, width, a, b),
            (_, false) => self.rvm(op::PSRAVD, width, a, b),
            (_, true) => {
                // There is no such shift of 64 bits: flip what is negative, shift zeros in, flip back.
                let sign = self.negative(a);
                let flipped = self.commutative(op::PXOR, width, a, sign);
                let shifted = self.rvm(op::PSRLVQ, width, flipped, b);
                self.commutative(op::PXOR, width, shifted, sign)
            }
        }
    }

    /// `a · 2^n`, as [`scale`] does it.
    fn scale(&mut self, lane: Lane, a: Id, n: Id) -> Id {
        let width = self.width(lane);
        let wide = lane == Lane::F64;
        let by_lane = |of_32: Op, of_64: Op| if wide { of_64 } else { of_32 };
        let (magic, nothing) = if wide {
            (self.constant_64(scale::MAGIC_F64.to_bits()), self.constant_64(scale::NOTHING_F64.to_bits()))
        } else {
            (self.constant_32(scale::MAGIC_F32.to_bits()), self.constant_32(scale::NOTHING_F32.to_bits()))
        };
        let mantissa = if wide { 52 } else { 23 };
        let sum = self.commutative(by_lane(op::ADDPS, op::ADDPD), width, n, magic);
        let half = self.shift(by_lane(op::PSRLD, op::PSRLQ), width, sum, scale::FRACTION as u8 + 1);
        let sum = self.shift(by_lane(op::PSRLD, op::PSRLQ), width, sum, scale::FRACTION as u8);
        let other = self.rvm(by_lane(op::PSUBD, op::PSUBQ), width, sum, half);
        let half = self.shift(by_lane(op::PSLLD, op::PSLLQ), width, half, mantissa);
        let other = self.shift(by_lane(op::PSLLD, op::PSLLQ), width, other, mantissa);
        let none = self.rvm_with(by_lane(op::CMPPS, op::CMPPD), width, n, nothing, 0x11);
        let half = self.rvm(op::PANDN, width, none, half);
        let product = self.commutative(by_lane(op::MULPS, op::MULPD), width, a, half);
        self.commutative(by_lane(op::MULPS, op::MULPD), width, product, other)
    }

    /// The same for `n` that is hardly above 0.
    fn scale_down(&mut self, lane: Lane, a: Id, n: Id) -> Id {
        let width = self.width(lane);
        let wide = lane == Lane::F64;
        let by_lane = |of_32: Op, of_64: Op| if wide { of_64 } else { of_32 };
        let mut constant =
            |of_32: u32, of_64: u64| if wide { self.constant_64(of_64) } else { self.constant_32(of_32) };
        let magic = constant(scale::LIFTED_F32.to_bits(), scale::LIFTED_F64.to_bits());
        let exponent = constant(scale::EXPONENT_F32, scale::EXPONENT_F64);
        let lower = constant(scale::LOWER_F32.to_bits(), scale::LOWER_F64.to_bits());
        let mantissa = if wide { 52 } else { 23 };
        let sum = self.commutative(by_lane(op::ADDPS, op::ADDPD), width, n, magic);
        let shifted = self.shift(by_lane(op::PSLLD, op::PSLLQ), width, sum, mantissa - scale::FRACTION as u8);
        let power = self.commutative(op::PAND, width, shifted, exponent);
        let product = self.commutative(by_lane(op::MULPS, op::MULPD), width, a, power);
        self.commutative(by_lane(op::MULPS, op::MULPD), width, product, lower)
    }

    /// All ones where a 64-bit lane is negative.
    pub(super) fn negative(&mut self, x: Id) -> Id {
        let zero = self.zero();
        self.rvm(op::PCMPGTQ, self.full, zero, x)
    }

    /// The low 64 bits of a product, from products of halves.
    fn multiply_64(&mut self, a: Id, b: Id) -> Id {
        let low = self.commutative(op::PMULUDQ, self.full, a, b);
        let small = |select: &Select, id| select.small.contains(&id);
        let mut cross = None;
        for (high, other) in [(a, b), (b, a)] {
            if !small(self, high) {
                let high = self.shift(op::PSRLQ, self.full, high, 32);
                let product = self.commutative(op::PMULUDQ, self.full, high, other);
                cross = Some(match cross {
                    None => product,
                    Some(sum) => self.commutative(op::PADDQ, self.full, sum, product),
                });
            }
        }
        match cross {
            None => low,
            Some(cross) => {
                let cross = self.shift(op::PSLLQ, self.full, cross, 32);
                self.commutative(op::PADDQ, self.full, low, cross)
            }
        }
    }

    /// Where `a > b`, of integers.
    fn greater(&mut self, lane: Lane, unsigned: bool, a: Id, b: Id) -> Id {
        let width = self.width(lane);
        let (mut a, mut b) = (a, b);
        if unsigned {
            let sign = if lane == Lane::I64 { self.constant_64(1 << 63) } else { self.constant_32(1 << 31) };
            a = self.commutative(op::PXOR, width, a, sign);
            b = self.commutative(op::PXOR, width, b, sign);
        }
        let op = if lane == Lane::I64 { op::PCMPGTQ } else { op::PCMPGTD };
        let mask = self.rvm(op, width, a, b);
        self.new_mask(mask, if lane == Lane::I64 { 64 } else { 32 })
    }

    /// A mask the other way round.
    pub(super) fn not(&mut self, mask: Id) -> Id {
        let bits = self.mask_bits[mask as usize];
        // A constant that fits any width still does.
        let width = if bits == 32 { self.width(Lane::Mask) } else { self.full };
        let ones = self.ones();
        let to = self.commutative(op::PXOR, width, mask, ones);
        self.new_mask(to, bits)
    }

    fn compare(&mut self, word: Compare, lane: Lane, a: Id, b: Id) -> Id {
        let width = self.width(lane);
        match lane {
            Lane::F32 | Lane::F64 => {
                let (op, bits) = if lane == Lane::F64 { (op::CMPPD, 64) } else { (op::CMPPS, 32) };
                let predicate = match word {
                    Compare::Eq => 0x00,
                    Compare::Ne => 0x04,
                    Compare::Lt => 0x11,
                    Compare::Le => 0x12,
                    Compare::LtU | Compare::LeU => unreachable!("floats have a sign"),
                };
                let mask = self.rvm_with(op, width, a, b, predicate);
                self.new_mask(mask, bits)
            }
            Lane::Mask => {
                let differ = self.binary(Binary::Xor, Lane::Mask, a, b).expect("masks have bits");
                if word == Compare::Ne { differ } else { self.not(differ) }
            }
            Lane::I32 | Lane::I64 => match word {
                Compare::Eq | Compare::Ne => {
                    let (op, bits) = if lane == Lane::I64 { (op::PCMPEQQ, 64) } else { (op::PCMPEQD, 32) };
                    let mask = self.commutative(op, width, a, b);
                    let mask = self.new_mask(mask, bits);
                    if word == Compare::Eq { mask } else { self.not(mask) }
                }
                Compare::Lt | Compare::LtU => self.greater(lane, word == Compare::LtU, b, a),
                Compare::Le | Compare::LeU => {
                    let greater = self.greater(lane, word == Compare::LeU, a, b);
                    self.not(greater)
                }
            },
        }
    }
}
