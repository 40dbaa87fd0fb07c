//! The frame: the memory a kernel works in, and where it finds everything else.
//!
//! A kernel gets one argument, the address of its frame, in `rdi`. Whoever runs it has put the sizes, the operands' addresses
//! and their steps there; tails, accumulators, what a row keeps and what registers cannot hold come after them.
//!
//! While a kernel runs, `rax` is the number of the element in its row, `rdx` the row's length (in a tail, how many elements are
//! left), `rcx` is for anything in between, and the other registers point to operands.

use super::allocate::Places;
use super::asm::*;
use super::build::{Built, Kind, Read, Spec};
use super::elements::{Step, by_pairs};
use super::inst::{Form, Home, Target};
use crate::codegen::order::ACCUMULATORS;

/// The row's length, the number of rows, the position of a row's first element and what the next row adds to it.
pub(super) const LENGTH: usize = 0;
pub(super) const ROWS: usize = 8;
pub(super) const POSITION: usize = 16;
pub(super) const POSITION_STEP: usize = 24;
/// The lanes of a tail, in lanes of 32 and of 64 bits. Registers of 512 bits take the room of both for those of a fold, which are of one kind.
pub(super) const TAIL_32: i32 = 32;
pub(super) const TAIL_64: i32 = 64;
/// For the seldom call: which registers it is about, and the function.
pub(super) const SITE: i32 = 96;
pub(super) const FUNCTION: i32 = 104;
/// The pointers, then what the next row adds to each, then each as it moves along a row.
pub(super) const POINTERS: usize = 128;

/// Registers for pointers.
const POINTER_REGISTERS: [Gpr; 11] = [RSI, R8, R9, R10, R11, RBX, RBP, R12, R13, R14, R15];
/// Those among them that a caller wants back as they were.
const KEPT: [Gpr; 6] = [RBX, RBP, R12, R13, R14, R15];

/// Where everything is.
pub(super) struct Frame {
    /// The bytes of a register.
    vector: usize,
    lanes: usize,
    operands: Vec<Read>,
    /// The first pointer of each operand, and how many there are in all.
    first: Vec<usize>,
    pub(super) pointers: usize,
    /// The register of each pointer that has one.
    registers: Vec<Option<Gpr>>,
    /// Which of them go from row to row in their registers; the frame is told only after the last row.
    lasting: Vec<bool>,
    /// The register that counts the rows that are left, if there is one.
    rows: Option<Gpr>,
    /// The position of a row's first element is read.
    is_placed: bool,
    /// How many copies of a body are vectors of one row; the next ones are of another. 1 for the steps of a fold across, 0 if all are of one.
    row_copies: usize,
    /// The operand that is the accumulators in the frame itself.
    own_operand: Option<u16>,
    accumulators: usize,
    scalars: usize,
    /// For tails: a vector for each pointer.
    bounce: usize,
    /// The bytes for the tail of one operand.
    bounce_step: usize,
    slots: usize,
    /// For the seldom call: all registers.
    pub(super) save: usize,
    spills: usize,
    pub(super) constants: Label,
    pub(super) lane_numbers: Label,
    /// The code being written is a tail.
    pub(super) tail: bool,
}

impl Frame {
    pub(super) fn new(spec: &Spec, built: &Built, asm: &mut Asm) -> Frame {
        let steps = match spec.kind {
            Kind::Across { steps, .. } => usize::from(steps),
            Kind::Along { streams, .. } => usize::from(streams),
            Kind::Map { .. } | Kind::Turned { .. } => 1,
        };
        let row_copies = match spec.kind {
            _ if steps == 1 => 0,
            Kind::Along { .. } => ACCUMULATORS / built.lanes,
            Kind::Across { .. } | Kind::Map { .. } | Kind::Turned { .. } => 1,
        };
        let own_operand = matches!(spec.kind, Kind::Along { .. }).then_some(built.operands.len() as u16 - 1);
        let mut first = Vec::new();
        let mut pointers = 0;
        for operand in &built.operands {
            first.push(pointers);
            pointers += if operand.stepped { steps } else { 1 };
        }
        // What moves along the row is in registers while there are any; the accumulators of a row always are.
        let mut registers = vec![None; pointers];
        let mut free = POINTER_REGISTERS.iter().copied();
        for (at, operand) in built.operands.iter().enumerate().rev() {
            if operand.step != Step::Uniform && built.used.get(at) != Some(&false) {
                let count = if operand.stepped { steps } else { 1 };
                for register in &mut registers[first[at]..first[at] + count] {
                    *register = free.next();
                }
            }
        }
        let keeps_rows = matches!(spec.kind, Kind::Across { kept: 1.., .. });
        let mut lasting = vec![false; pointers];
        for (at, operand) in built.operands.iter().enumerate() {
            let is_own = own_operand == Some(at as u16);
            let count = if operand.stepped { steps } else { 1 };
            for pointer in first[at]..first[at] + count {
                lasting[pointer] =
                    !keeps_rows && !is_own && operand.step == Step::Dense && registers[pointer].is_some();
            }
        }
        let scalars = POINTERS + 3 * 8 * pointers;
        let scalar_count = built.scalars.iter().map(|&(slot, _)| usize::from(slot) + 1).max().unwrap_or(0);
        let accumulators = (scalars + 8 * scalar_count).next_multiple_of(64);
        let accumulator_bytes = own_operand.map_or(0, |at| ACCUMULATORS * built.operands[usize::from(at)].dtype.size());
        let bounce = accumulators + accumulator_bytes;
        let vector = spec.full.bytes();
        let pairs = built.operands.iter().any(|read| by_pairs(read.step, read.dtype.size(), built.lanes));
        let bounce_step = if pairs { 2 * vector } else { vector };
        let slots = bounce + bounce_step * pointers;
        let save = slots + vector * built.pieces.slots as usize;
        let calls = built.pieces.body.iter().any(|inst| matches!(inst.form, Form::Rare(_)));
        let spills = save + if calls { usize::from(spec.full.registers()) * vector } else { 0 };
        Frame {
            vector,
            lanes: built.lanes,
            operands: built.operands.clone(),
            first,
            pointers,
            registers,
            lasting,
            rows: free.next().filter(|_| !keeps_rows),
            is_placed: built.pieces.values.iter().any(|value| value.home == Home::Position),
            row_copies,
            own_operand,
            accumulators,
            scalars,
            bounce,
            bounce_step,
            slots,
            save,
            spills,
            constants: asm.label(),
            lane_numbers: asm.label(),
            tail: false,
        }
    }

    /// The bytes of the frame, given how many spill slots there are.
    pub(super) fn bytes(&self, spills: u32) -> usize {
        self.spills + self.vector * spills as usize
    }

    /// Where the bits of a scalar are.
    pub(super) fn scalar(&self, slot: u16) -> usize {
        self.scalars + 8 * usize::from(slot)
    }

    /// The registers in use that the caller wants back.
    pub(super) fn kept(&self) -> Vec<Gpr> {
        let is_used = |kept: &Gpr| self.registers.contains(&Some(*kept)) || self.rows == Some(*kept);
        KEPT.into_iter().filter(is_used).collect()
    }

    /// An operand and one of its copies, for every pointer.
    pub(super) fn each_pointer(&self) -> Vec<(u16, u8)> {
        let ends = self.first.iter().skip(1).copied().chain([self.pointers]);
        let of = |(at, (&first, end)): (usize, (&usize, usize))| (0..end - first).map(move |k| (at as u16, k as u8));
        self.first.iter().zip(ends).enumerate().flat_map(of).collect()
    }

    /// What is kept in the frame for a pointer: the row's first element, what the next row adds, the moving one.
    pub(super) fn row(&self, pointer: usize) -> Mem {
        Mem::Base(RDI, (POINTERS + 8 * pointer) as i32)
    }

    pub(super) fn row_step(&self, pointer: usize) -> Mem {
        Mem::Base(RDI, (POINTERS + 8 * (self.pointers + pointer)) as i32)
    }

    fn moving(&self, pointer: usize) -> Mem {
        Mem::Base(RDI, (POINTERS + 8 * (2 * self.pointers + pointer)) as i32)
    }

    pub(super) fn read(&self, operand: u16) -> Read {
        self.operands[usize::from(operand)]
    }

    /// Whether an operand is the frame's own accumulators.
    pub(super) fn is_own(&self, operand: u16) -> bool {
        self.own_operand == Some(operand)
    }

    pub(super) fn pointer(&self, operand: u16, copy: u8) -> usize {
        let is_step = self.row_copies > 0 && self.operands[usize::from(operand)].stepped;
        let step = if is_step { usize::from(copy) / self.row_copies } else { 0 };
        self.first[usize::from(operand)] + step
    }

    /// The first copy of a body that reads through this one of an operand's pointers.
    pub(super) fn copy_of(&self, pointer: u8) -> u8 {
        pointer * self.row_copies.max(1) as u8
    }

    /// The pointers that go from row to row in their registers.
    fn in_registers(&self) -> impl Iterator<Item = (usize, Gpr)> {
        let all = self.registers.iter().zip(&self.lasting).enumerate();
        all.filter(|&(_, (_, &lasting))| lasting).filter_map(|(pointer, (&register, _))| Some((pointer, register?)))
    }

    /// Before the first row.
    pub(super) fn begin_rows(&self, asm: &mut Asm) {
        self.in_registers().for_each(|(pointer, register)| asm.load(register, self.row(pointer)));
        if let Some(rows) = self.rows {
            asm.load(rows, Mem::Base(RDI, ROWS as i32));
        }
    }

    /// Goes to the next row, if there is one. What counts in memory is slow where a row is short, above all behind stores past the caches.
    pub(super) fn next_row(&self, asm: &mut Asm, row: Label) {
        for (pointer, (operand, _)) in self.each_pointer().into_iter().enumerate() {
            match self.registers[pointer] {
                _ if self.is_own(operand) => {}
                Some(register) if self.lasting[pointer] => asm.add_from_memory(register, self.row_step(pointer)),
                _ => {
                    asm.load(RCX, self.row_step(pointer));
                    asm.add_into_memory(self.row(pointer), RCX);
                }
            }
        }
        if self.is_placed {
            asm.load(RCX, Mem::Base(RDI, POSITION_STEP as i32));
            asm.add_into_memory(Mem::Base(RDI, POSITION as i32), RCX);
        }
        self.count_rows(asm, 1);
        asm.jump_if(Condition::NotEqual, row);
        self.in_registers().for_each(|(pointer, register)| asm.store(self.row(pointer), register));
    }

    /// So many rows are done: then `NotEqual` holds if there are others.
    pub(super) fn count_rows(&self, asm: &mut Asm, done: i32) {
        match self.rows {
            Some(rows) => asm.add(rows, -done),
            None => asm.add_to_memory(Mem::Base(RDI, ROWS as i32), -done),
        }
    }

    /// Moves an operand that goes from row to row in its register on by so many bytes.
    pub(super) fn move_by(&self, asm: &mut Asm, operand: u16, bytes: i32) {
        asm.add(self.registers[self.pointer(operand, 0)].expect("it is in a register"), bytes);
    }

    /// Whether all operands go from row to row in registers.
    pub(super) fn is_in_registers(&self) -> bool {
        self.lasting.iter().all(|&lasting| lasting)
    }

    /// Goes to the first element of a row.
    pub(super) fn begin_row(&self, asm: &mut Asm) {
        for (pointer, (operand, _)) in self.each_pointer().into_iter().enumerate() {
            if self.is_own(operand) || self.lasting[pointer] {
                continue;
            }
            match self.registers[pointer] {
                Some(register) => asm.load(register, self.row(pointer)),
                None if matches!(self.read(operand).step, Step::Strided(_)) => {
                    asm.load(RCX, self.row(pointer));
                    asm.store(self.moving(pointer), RCX);
                }
                None => {}
            }
        }
    }

    /// Lets some operands go on to the next row, without a look at the beginning of this one.
    pub(super) fn step_rows(&self, asm: &mut Asm, goes_on: impl Fn(u16) -> bool) {
        for (pointer, (operand, _)) in self.each_pointer().into_iter().enumerate() {
            match self.registers[pointer] {
                _ if !goes_on(operand) => {}
                Some(register) => asm.add_from_memory(register, self.row_step(pointer)),
                None => {
                    asm.load(RCX, self.row_step(pointer));
                    asm.add_into_memory(self.row(pointer), RCX);
                    if matches!(self.read(operand).step, Step::Strided(_)) {
                        asm.add_into_memory(self.moving(pointer), RCX);
                    }
                }
            }
        }
    }

    /// Moves on by so many elements; dense operands go with `rax`.
    pub(super) fn advance(&self, asm: &mut Asm, elements: usize) {
        for (pointer, (operand, _)) in self.each_pointer().into_iter().enumerate() {
            let read = self.read(operand);
            if let Step::Strided(stride) = read.step {
                let bytes = (elements as i64 * stride * read.dtype.size() as i64) as i32;
                match self.registers[pointer] {
                    Some(register) => asm.add(register, bytes),
                    None => asm.add_to_memory(self.moving(pointer), bytes),
                }
            }
        }
        asm.add(RAX, elements as i32);
    }

    /// Lets the accumulators' pointer count from the present element.
    pub(super) fn point_to_accumulators(&self, asm: &mut Asm) {
        let operand = self.own_operand.expect("a fold along has accumulators");
        let register = self.registers[self.first[usize::from(operand)]].expect("they have a register");
        asm.copy(RCX, RAX);
        asm.neg(RCX);
        let size = self.read(operand).dtype.size() as u8;
        asm.lea(register, Mem::Indexed(RDI, RCX, size, self.accumulators as i32));
    }

    /// A vector of the accumulators.
    pub(super) fn accumulator(&self, k: usize) -> Mem {
        let size = self.own_operand.map_or(0, |operand| self.read(operand).dtype.size());
        Mem::Base(RDI, (self.accumulators + k * self.lanes * size) as i32)
    }

    /// Where the elements of a tail are put.
    pub(super) fn bounce(&self, pointer: usize) -> Mem {
        Mem::Base(RDI, (self.bounce + self.bounce_step * pointer) as i32)
    }

    /// Where the element of a tail for a lane is put.
    pub(super) fn bounced(&self, operand: u16, pointer: usize, lane: usize) -> Mem {
        let read = self.read(operand);
        let size = read.dtype.size();
        let apart = if by_pairs(read.step, size, self.lanes) { 2 * size } else { size };
        self.bounce(pointer).offset((lane * apart) as i32)
    }

    /// The address of an operand's element for a lane of the present vector, in its own memory.
    pub(super) fn element(&self, asm: &mut Asm, operand: u16, lane: usize, copy: u8) -> Mem {
        let read = self.read(operand);
        let (pointer, size) = (self.pointer(operand, copy), read.dtype.size());
        let vector = if self.row_copies > 0 { usize::from(copy) % self.row_copies } else { usize::from(copy) };
        let base = self.registers[pointer].unwrap_or(RCX);
        if base == RCX {
            let moves = matches!(read.step, Step::Strided(_));
            asm.load(RCX, if moves { self.moving(pointer) } else { self.row(pointer) });
        }
        let number = vector * self.lanes + lane;
        match read.step {
            Step::Uniform => Mem::Base(base, 0),
            Step::Dense => Mem::Indexed(base, RAX, size as u8, (number * size) as i32),
            Step::Strided(stride) => Mem::Base(base, (number as i64 * stride * size as i64) as i32),
        }
    }
}

impl Places for Frame {
    fn home(&mut self, asm: &mut Asm, home: Home, copy: u8) -> Mem {
        match home {
            Home::None => unreachable!("a value without a home is in a register or spilled"),
            Home::Constant(at) => Mem::At(self.constants, (self.vector * at as usize) as i32),
            Home::Slot(at) => Mem::Base(RDI, (self.slots + self.vector * at as usize) as i32),
            Home::Element { operand, lane } => {
                if self.tail && self.read(operand).step != Step::Uniform && !self.is_own(operand) {
                    self.bounced(operand, self.pointer(operand, copy), usize::from(lane))
                } else {
                    self.element(asm, operand, usize::from(lane), copy)
                }
            }
            Home::Before { operand, lane } => {
                let size = self.read(operand).dtype.size() as i32;
                self.home(asm, Home::Element { operand, lane }, copy).offset(-size)
            }
            Home::LaneNumbers => Mem::At(self.lane_numbers, (8 * self.lanes * usize::from(copy)) as i32),
            Home::Scalar(slot) => Mem::Base(RDI, self.scalar(slot) as i32),
            Home::Position => Mem::Base(RDI, POSITION as i32),
            Home::Tail32 => Mem::Base(RDI, TAIL_32),
            Home::Tail64 if self.vector == Width::Z.bytes() => Mem::Base(RDI, TAIL_32),
            Home::Tail64 => Mem::Base(RDI, TAIL_64),
            Home::Accumulators(k) => self.accumulator(usize::from(k)),
        }
    }

    fn target(&mut self, asm: &mut Asm, target: Target, copy: u8) -> Mem {
        match target {
            Target::Operand { operand, lane } => self.home(asm, Home::Element { operand, lane }, copy),
            Target::Slot(at) => self.home(asm, Home::Slot(at), copy),
            Target::Accumulators(k) => self.accumulator(usize::from(k)),
            Target::Row(operand) => {
                let pointer = self.pointer(operand, copy);
                match self.registers[pointer] {
                    Some(register) if self.lasting[pointer] => Mem::Base(register, 0),
                    _ => {
                        asm.load(RCX, self.row(pointer));
                        Mem::Base(RCX, 0)
                    }
                }
            }
        }
    }

    fn spill(&self, slot: u32) -> Mem {
        Mem::Base(RDI, (self.spills + self.vector * slot as usize) as i32)
    }
}
