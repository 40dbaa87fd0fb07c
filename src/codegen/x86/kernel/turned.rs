//! Maps of which one operand is turned in registers.
//!
//! ```text
//! for every eight rows:
//!     the operand's part in them, turned: blocks of its memory, of which these rows are columns
//!     for each of the rows: body, a copy for every vector, with the operand in registers
//! ```
//! All rows have two vectors: machines take single cache lines that are written past the caches half as fast as two of them side by side.
//! Nothing but results is stored: other stores would wait behind those.

use super::super::allocate::Fetch;
use super::super::asm::*;
use super::super::build::Kind;
use super::super::inst::{Home, Id};
use super::super::op::{self, Op};
use super::{Ready, Writer};

/// The rows that are turned at once, and the vectors of a row.
pub(in super::super) const ROWS_AT_ONCE: usize = 8;
pub(in super::super) const VECTORS: usize = 2;

/// What is turned is in the last registers; one of them is free in turn.
const FIRST: u8 = 31 - (ROWS_AT_ONCE * VECTORS) as u8;

/// What two registers have in their first and third quarters, and in the others.
const EVEN_QUARTERS: u8 = 0b10_00_10_00;
const ODD_QUARTERS: u8 = 0b11_01_11_01;

/// Eight registers of a block, and one that is free.
struct Block<'a> {
    asm: &'a mut Asm,
    registers: [u8; ROWS_AT_ONCE],
    free: &'a mut u8,
}

impl Block<'_> {
    /// What two instructions make of two registers takes their place.
    fn both(&mut self, a: usize, b: usize, [first, second]: [(Op, Option<u8>); 2]) {
        let [x, y] = [self.registers[a], self.registers[b]];
        let other = Operand::Register(Vector(y));
        self.asm.vector(first.0, Width::Z, *self.free, x, other, first.1);
        self.asm.vector(second.0, Width::Z, x, x, other, second.1);
        (self.registers[a], self.registers[b], *self.free) = (*self.free, x, y);
    }

    /// Elements of 4 bytes: of sixteen rows of eight elements, two rows are in each register, those with numbers 4 apart.
    fn turn_words(&mut self) {
        let quarters = [(op::SHUFF64X2, Some(EVEN_QUARTERS)), (op::SHUFF64X2, Some(ODD_QUARTERS))];
        (0..8).step_by(2).for_each(|k| self.both(k, k + 1, [(op::UNPCKLPS, None), (op::UNPCKHPS, None)]));
        for k in [0, 1, 4, 5] {
            self.both(k, k + 2, [(op::UNPCKLPD, None), (op::UNPCKHPD, None)]);
        }
        (0..4).for_each(|k| self.both(k, k + 4, quarters));
        // Columns 0, 2, 1, 3 are in the order of the pairs above.
        let found = self.registers;
        self.registers = [0, 2, 1, 3, 4, 6, 5, 7].map(|k| found[k]);
    }

    /// Elements of 8 bytes: eight rows of as many.
    fn turn_doubles(&mut self) {
        let quarters = [(op::SHUFF64X2, Some(EVEN_QUARTERS)), (op::SHUFF64X2, Some(ODD_QUARTERS))];
        (0..8).step_by(2).for_each(|k| self.both(k, k + 1, [(op::UNPCKLPD, None), (op::UNPCKHPD, None)]));
        for k in [0, 1, 4, 5] {
            self.both(k, k + 2, quarters);
        }
        (0..4).for_each(|k| self.both(k, k + 4, quarters));
    }
}

impl<'s> Writer<'s> {
    /// The line of a row, unless it takes more registers than there are beside what is turned.
    pub(super) fn turned_line(&mut self) -> Option<Ready<'s>> {
        let line = self.copies_of_body(VECTORS);
        (line.pressure + 2 < usize::from(FIRST) && self.frame.is_in_registers()).then_some(line)
    }

    /// All rows, so many at once.
    pub(super) fn turned_rows(&mut self, line: &Ready<'s>) {
        let Kind::Turned { operand, pitch } = self.spec.kind else { unreachable!("other kernels turn nothing") };
        let size = self.frame.read(operand).dtype.size();
        let values = &self.built.pieces.values;
        let is_turned =
            |id: &Id| matches!(values[*id as usize].home, Home::Element { operand: of, .. } if of == operand);
        let turned: Vec<Id> = (0..values.len() as Id).filter(is_turned).collect();
        let soon = [1, 2].map(|behind| self.spec.operands.len() as u16 + behind);

        self.frame.begin_rows(&mut self.asm);
        self.frame.begin_row(&mut self.asm);
        self.preamble(&[]);
        self.asm.zero(RAX);
        let pins = self.pins(line.pressure, FIRST - 1);
        self.load_pins(&pins);
        let top = self.asm.label();
        self.asm.bind(top);
        let mut free = FIRST;
        let blocks: Vec<[u8; ROWS_AT_ONCE]> =
            (0..VECTORS).map(|block| self.turn(operand, i32::from(pitch), size, block, &mut free)).collect();
        for row in 0..ROWS_AT_ONCE {
            let vectors = blocks.iter().enumerate();
            let in_registers =
                vectors.flat_map(|(copy, rows)| turned.iter().map(move |&id| (line.line.id(id, copy), rows[row])));
            let fixed: Vec<(Id, u8)> = in_registers.chain(pins.iter().copied()).collect();
            self.reserved = blocks.iter().flat_map(|rows| &rows[row..]).fold(0, |all, register| all | 1 << register);
            let (fetched, other) = (soon[row % 2], soon[1 - row % 2]);
            let fetch = |copy| Fetch { operand: fetched, copy, ahead: 0, near: false };
            let fetches: Vec<Fetch> = (0..VECTORS as u8).map(fetch).collect();
            self.write_and_fetch(line, &fixed, &fetches);
            self.frame.step_rows(&mut self.asm, |moved| moved != operand && moved != other);
        }
        self.reserved = 0;
        self.frame.move_by(&mut self.asm, operand, (ROWS_AT_ONCE * size) as i32);
        self.frame.count_rows(&mut self.asm, ROWS_AT_ONCE as i32);
        self.asm.jump_if(Condition::NotEqual, top);
    }

    /// Loads and turns the block of a vector. The register that is free becomes another one.
    fn turn(&mut self, operand: u16, pitch: i32, size: usize, block: usize, free: &mut u8) -> [u8; ROWS_AT_ONCE] {
        let from = self.frame.element(&mut self.asm, operand, 0, 0);
        let first = (block * (Width::Z.bytes() / size)) as i32;
        let row = |row: i32| Operand::Memory(from.offset((first + row) * pitch));
        let lowest = FIRST + 1 + (block * ROWS_AT_ONCE) as u8;
        let mut registers = [0; ROWS_AT_ONCE];
        for (k, register) in registers.iter_mut().enumerate() {
            *register = lowest + k as u8;
            let k = k as i32;
            if size == 8 {
                self.asm.vector(op::MOVUPS, Width::Z, *register, 0, row(k), None);
            } else {
                let low = k % 4 + k / 4 * 8;
                self.asm.vector(op::MOVUPS, Width::Y, *register, 0, row(low), None);
                self.asm.vector(op::INSERTF64X4, Width::Z, *register, *register, row(low + 4), Some(1));
            }
        }
        let mut block = Block { asm: &mut self.asm, registers, free };
        if size == 8 {
            block.turn_doubles()
        } else {
            block.turn_words()
        }
        block.registers
    }
}
