//! Chooses instructions for folds: into an accumulator, and from the accumulators of a row to one value.

use super::asm::Width;
use super::inst::{Form, Home, Id, Inst, NONE, Numbers, Target};
use super::op::{self, Op};
use super::select::{Piece, Select};
use crate::codegen::order::ACCUMULATORS;
use crate::dtype::DType;
use crate::lower::program::Fold;
use crate::ops::vector::{Binary, Lane};

/// A fold of values of one dtype.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Combine {
    pub(super) fold: Fold,
    pub(super) stored: DType,
}

/// NaN, compared with itself.
const UNORDERED: u8 = 3;

impl Combine {
    pub(super) fn lane(self) -> Lane {
        Lane::of(self.stored)
    }

    fn word(self) -> Binary {
        let signed = self.stored.is_signed_integer();
        match (self.fold, self.lane()) {
            (Fold::Sum | Fold::Max, Lane::Mask) => Binary::Or,
            (Fold::Prod | Fold::Min, Lane::Mask) => Binary::And,
            (Fold::Sum, _) => Binary::Add,
            (Fold::Prod, _) => Binary::Mul,
            (Fold::Max, Lane::F32 | Lane::F64) => Binary::Max,
            (Fold::Min, Lane::F32 | Lane::F64) => Binary::Min,
            (Fold::Max, _) if signed => Binary::MaxS,
            (Fold::Min, _) if signed => Binary::MinS,
            (Fold::Max, _) => Binary::MaxU,
            (Fold::Min, _) => Binary::MinU,
        }
    }

    /// Whether it needs an instruction of its own to keep NaN.
    pub(super) fn keeps_nan(self) -> bool {
        matches!(self.word(), Binary::Max | Binary::Min)
    }

    fn compare(self) -> Op {
        if self.lane() == Lane::F64 { op::CMPPD } else { op::CMPPS }
    }

    /// The bytes of one lane of an accumulator in a register (a mask's are those of an `I32`).
    pub(super) fn accumulator_size(self) -> usize {
        if matches!(self.lane(), Lane::I64 | Lane::F64) { 8 } else { 4 }
    }
}

impl Select {
    /// `a` and `b` folded, `a` being the earlier. The lanes may be fewer than a vector's: only the width matters.
    fn combined(&mut self, combine: Combine, a: Id, b: Id) -> Id {
        let word = combine.word();
        let value = self.binary(word, combine.lane(), a, b).expect("folds have instructions");
        if !combine.keeps_nan() {
            return value;
        }
        // These give the second on NaN; where the first is, it stays.
        let lane = combine.lane();
        let width = self.width(lane);
        let nan = self.rvm_with(combine.compare(), width, a, a, UNORDERED);
        self.blend(lane == Lane::F64, width, nan, a, value)
    }

    /// Folds a value into an accumulator, which keeps its name.
    pub(super) fn accumulate(&mut self, combine: Combine, accumulator: Id, value: Id) {
        let value = if combine.lane() == Lane::Mask { self.mask(value, 32) } else { value };
        let sum = self.combined(combine, accumulator, value);
        // The last instruction gives its result the accumulator's name.
        let list = match self.piece {
            Piece::Body => &mut self.pieces.body,
            Piece::Tail => &mut self.pieces.tail,
            Piece::After | Piece::Finish => unreachable!("accumulators are done with"),
        };
        let last = list.last_mut().expect("a fold is an instruction");
        debug_assert_eq!(last.to, sum);
        last.to = accumulator;
    }

    /// How a value is folded into an accumulator as long as neither is NaN.
    pub(super) fn watch(&mut self, combine: Combine, accumulator: Id, value: Id) {
        let width = self.width(combine.lane());
        let is_max = combine.fold == Fold::Max;
        let op = match combine.lane() {
            Lane::F64 if is_max => op::MAXPD,
            Lane::F64 => op::MINPD,
            _ if is_max => op::MAXPS,
            _ => op::MINPS,
        };
        let [seen, nan] = [(); 2].map(|()| self.at_home(Home::None, width, false));
        let inst = |form, op, to, args, immediate| Inst { form, op, width, to, args, immediate };
        self.pieces.numbers = Some(Numbers {
            fold: [inst(Form::Rvm, op, accumulator, [accumulator, value, NONE], None)],
            compare: inst(Form::Rvm, combine.compare(), nan, [value, value, NONE], Some(UNORDERED)),
            note: [inst(Form::Commutative, op::POR, seen, [seen, nan, NONE], None)],
            seen,
        });
    }

    /// From here on, a tail is different: lanes that it does not have become the fold's identity.
    pub(super) fn begin_tail(&mut self, combine: Combine, identity: u64, value: Id) -> Id {
        self.piece = Piece::Tail;
        let lane = combine.lane();
        let wide = combine.accumulator_size() == 8;
        let home = if wide { Home::Tail64 } else { Home::Tail32 };
        let there = self.at_home(home, self.width(lane), false);
        let nothing = self.identity(combine, identity);
        let value = if lane == Lane::Mask { self.mask(value, 32) } else { value };
        self.blend(wide, self.width(lane), there, value, nothing)
    }

    /// The identity of a fold as a vector; `bits` are those of its lane.
    pub(super) fn identity(&mut self, combine: Combine, bits: u64) -> Id {
        match combine.lane() {
            Lane::Mask if bits != 0 => self.ones(),
            Lane::Mask => self.zero(),
            Lane::I32 | Lane::F32 => self.constant_32(bits as u32),
            Lane::I64 | Lane::F64 => self.constant_64(bits),
        }
    }

    /// The accumulators of a row become one value, number `j` taking in number `j + half`; it goes to the row's element.
    pub(super) fn fold_accumulators(&mut self, combine: Combine, to: u16) {
        self.piece = Piece::Finish;
        let lane = combine.lane();
        let width = self.width(lane);
        let count = ACCUMULATORS / self.lanes;
        let mut vectors: Vec<Id> =
            (0..count).map(|k| self.at_home(Home::Accumulators(k as u8), width, false)).collect();
        while vectors.len() > 1 {
            let upper = vectors.split_off(vectors.len() / 2);
            for (lower, upper) in vectors.iter_mut().zip(upper) {
                *lower = self.combined(combine, *lower, upper);
            }
        }
        let mut value = vectors[0];
        // What is above the lanes that still count may be anything.
        if width == Width::Z {
            let upper = self.extract(op::EXTRACTI64X4, Width::Z, value, Some(1));
            value = self.combined(combine, value, upper);
        }
        if width != Width::X {
            let upper = self.extract(op::EXTRACTI128, Width::Y, value, Some(1));
            value = self.combined(combine, value, upper);
        }
        let swap_halves = self.rm_with(op::PSHUFD, Width::X, value, 0b0100_1110);
        value = self.combined(combine, value, swap_halves);
        if combine.accumulator_size() == 4 {
            let swap_pairs = self.rm_with(op::PSHUFD, Width::X, value, 0b1011_0001);
            value = self.combined(combine, value, swap_pairs);
        }
        let target = Target::Row(to);
        match lane {
            Lane::Mask => {
                let one = self.shift(op::PSRLD, Width::X, value, 31);
                self.store(target, op::PEXTRB, Width::X, one, Some(0));
            }
            Lane::I32 | Lane::F32 => self.store(target, op::MOVSS_STORE, Width::X, value, None),
            Lane::I64 | Lane::F64 => self.store(target, op::MOVSD_STORE, Width::X, value, None),
        }
    }

    /// Puts the identity into all accumulators of a row.
    pub(super) fn clear_accumulators(&mut self, combine: Combine, identity: u64) {
        let width = self.width(combine.lane());
        let nothing = self.identity(combine, identity);
        for k in 0..ACCUMULATORS / self.lanes {
            let target = Target::Accumulators(k as u8);
            let (form, args) = (Form::Store(target), [nothing, NONE, NONE]);
            let inst = Inst { form, op: op::MOVUPS_STORE, width, to: NONE, args, immediate: None };
            self.pieces.preamble.push(inst);
        }
    }
}
