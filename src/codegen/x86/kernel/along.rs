//! Rows that are folded along: each becomes one value.
//!
//! A maximum keeps the first NaN that it meets, which takes three instructions a vector that wait for each other. Where little else is done,
//! NaN is only watched for ([`Numbers`]): a row that has one is folded again, with all care.

use super::super::allocate::Places;
use super::super::asm::*;
use super::super::inst::{Form, Home, Id, NONE, Numbers, Target};
use super::super::line::Line;
use super::super::op;
use super::{Ready, Writer};
use crate::codegen::order::ACCUMULATORS;

impl<'s> Writer<'s> {
    /// The line that folds as many elements of some rows as there are accumulators, which are in registers, and these registers.
    /// If it only watches for NaN, what it sees is in the register below.
    fn accumulated(&mut self, rows: usize, watched: Option<&'s Numbers>) -> (Ready<'s>, Vec<(Id, u8)>) {
        let pieces = &self.built.pieces;
        let (words, fold) = pieces.body.split_at(pieces.fold);
        let vectors = ACCUMULATORS / self.built.lanes;
        let mut line = Line::new(&pieces.values, rows * vectors, watched.map_or(NONE, |numbers| numbers.seen));
        for first in (0..vectors).step_by(2) {
            for copies in (0..rows).map(|row| row * vectors + first..row * vectors + first + 2) {
                line.add(words, copies.clone());
                if let Some(Numbers { compare, fold, note, .. }) = watched {
                    line.add_across(compare, copies.start);
                    line.add(fold, copies.clone());
                    line.add(note, copies.start..copies.start + 1);
                } else {
                    line.add(fold, copies);
                }
            }
        }
        let last = self.spec.full.registers() - 1;
        let name = |k: usize| (line.id(self.built.accumulator, k), last - k as u8);
        let fixed = (0..rows * vectors).map(name).collect();
        (self.ready(line), fixed)
    }

    /// Folds what some rows have for all accumulators, which are in registers and stay there: these are given.
    fn fold_whole(&mut self, rows: usize) -> Vec<(Id, u8)> {
        let pieces = &self.built.pieces;
        let width = pieces.values[self.built.accumulator as usize].width;
        let (line, fixed) = self.accumulated(rows, None);
        let done = self.asm.label();
        self.clear(&fixed, width);
        if let Some(numbers) = &pieces.numbers {
            let (line, _) = self.accumulated(rows, Some(numbers));
            let seen = self.spec.full.registers() - 1 - fixed.len() as u8;
            let taken = [&fixed[..], &[(numbers.seen, seen)]].concat();
            let vector = Operand::Register(Vector(seen));
            self.asm.vector(op::XORPS, width, seen, seen, vector, None);
            let pins = self.pins_below(&line, &taken);
            self.vectors(ACCUMULATORS, &line, &[taken, pins].concat(), true);
            if self.spec.full == Width::Z {
                self.asm.any_bit(width, seen);
            } else {
                self.asm.vector(op::PTEST, width, seen, 0, vector, None);
            }
            self.asm.jump_if(Condition::Equal, done);
            self.frame.begin_row(&mut self.asm);
            self.asm.zero(RAX);
            self.clear(&fixed, width);
        }
        let pins = self.pins_below(&line, &fixed);
        self.vectors(ACCUMULATORS, &line, &[&fixed[..], &pins].concat(), true);
        self.asm.bind(done);
        fixed
    }

    /// The constants that stay in registers below the accumulators: those of 512 bits are many.
    fn pins_below(&self, line: &Ready<'s>, accumulators: &[(Id, u8)]) -> Vec<(Id, u8)> {
        match self.spec.full {
            Width::Z => self.pins(line.pressure, self.spec.full.registers() - 1 - accumulators.len() as u8),
            _ => Vec::new(),
        }
    }

    /// The accumulators of a row as its end names them, whose registers begin `first` registers below the last.
    fn kept_accumulators(&self, first: usize) -> impl Iterator<Item = (Id, u8)> {
        let last = self.spec.full.registers() - 1 - first as u8;
        self.built.pieces.values.iter().enumerate().filter_map(move |(id, value)| match value.home {
            Home::Accumulators(k) => Some((id as Id, last - k)),
            _ => None,
        })
    }

    /// Rows that become one value each, all at the same time: memory is read faster at several places.
    pub(super) fn along_streams(&mut self, streams: usize) {
        let pieces = &self.built.pieces;
        let vectors = ACCUMULATORS / self.built.lanes;
        let fixed = self.fold_whole(streams);
        for first in (0..streams * vectors).step_by(vectors) {
            let mut line = Line::new(&pieces.values, streams * vectors, NONE);
            line.add(&pieces.finish, first..first + 1);
            let line = self.ready(line);
            // The other rows' stay where they are.
            let others = fixed[first + vectors..].iter().copied();
            let taken: Vec<_> = self.kept_accumulators(first).chain(others).collect();
            self.write(&line, &taken);
        }
    }

    /// A row that becomes one value.
    pub(super) fn along(&mut self) {
        let pieces = &self.built.pieces;
        let lanes = self.built.lanes;
        let width = pieces.values[self.built.accumulator as usize].width;

        // While there are enough elements for all accumulators, those are in registers.
        let [done, even, end] = [(); 3].map(|()| self.asm.label());
        self.asm.compare_immediate(RDX, ACCUMULATORS as i8);
        self.asm.jump_if(Condition::Below, done);
        let fixed = self.fold_whole(1);
        self.asm.compare(RAX, RDX);
        self.asm.jump_if(Condition::Equal, even);
        for (k, &(_, register)) in fixed.iter().enumerate() {
            let mem = Operand::Memory(self.frame.accumulator(k));
            self.asm.vector(op::MOVUPS_STORE, width, register, 0, mem, None);
        }
        self.asm.bind(done);

        // Then they are in memory.
        self.frame.point_to_accumulators(&mut self.asm);
        let mut line = Line::new(&pieces.values, 1, NONE);
        line.add(&pieces.body, 0..1);
        line.add(&pieces.after, 0..1);
        let line = self.ready(line);
        self.vectors(lanes, &line, &[], true);
        let mut line = Line::new(&pieces.values, 1, NONE);
        line.add(&pieces.body[..pieces.fold], 0..1);
        line.add(&pieces.tail, 0..1);
        line.add(&pieces.after, 0..1);
        let line = self.ready(line);
        self.tail(&line);

        // Where nothing was left over, they still are in registers.
        let mut line = Line::new(&pieces.values, 1, NONE);
        line.add(&pieces.finish, 0..1);
        let line = self.ready(line);
        self.write(&line, &[]);
        self.asm.jump(end);
        self.asm.bind(even);
        let kept: Vec<_> = self.kept_accumulators(0).collect();
        self.write(&line, &kept);
        self.asm.bind(end);
    }

    /// Puts the fold's identity into the registers of accumulators: as it was put into memory, but not from there, which would wait
    /// for the stores.
    fn clear(&mut self, fixed: &[(Id, u8)], width: Width) {
        let pieces = &self.built.pieces;
        let nothing =
            pieces.preamble.iter().rev().find(|inst| matches!(inst.form, Form::Store(Target::Accumulators(_))));
        let nothing = nothing.map(|inst| pieces.values[inst.args[0] as usize].home).expect("accumulators are cleared");
        for &(_, register) in fixed {
            let mem = Operand::Memory(self.frame.home(&mut self.asm, nothing, 0));
            self.asm.vector(op::MOVUPS, width, register, 0, mem, None);
        }
    }
}
