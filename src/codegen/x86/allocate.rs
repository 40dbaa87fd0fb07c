//! Gives registers to values, along one straight line of instructions, and writes the machine code as it goes.
//!
//! A value takes a register when it is made. When there is none left, the value whose next use is furthest away gives
//! its own up: what can be read in memory anyway is dropped, everything else goes to a spill slot of the frame.
//! Operands that may be in memory are used from there, unless there is a register to spare and they are wanted again.

use super::asm::{Asm, Condition, Label, Mem, Operand, Vector, Width};
use super::inst::{Form, Home, Id, Inst, NONE, Target};
use super::line::{Line, NEVER, Placed};
use super::op::{self, Op};
use crate::ops::vector::LaneFn;

/// Says where values are in memory.
pub(super) trait Places {
    /// The address of a value's home. It may take an instruction to reach it; the address is good for the next one.
    fn home(&mut self, asm: &mut Asm, home: Home, copy: u8) -> Mem;
    fn target(&mut self, asm: &mut Asm, target: Target, copy: u8) -> Mem;
    fn spill(&self, slot: u32) -> Mem;
}

/// A call that is seldom made: where the code jumps to, where it goes on, and the registers of the call.
pub(super) struct Site {
    pub(super) cold: Label,
    pub(super) back: Label,
    pub(super) f: &'static LaneFn,
    pub(super) when: u8,
    pub(super) x: u8,
    pub(super) to: u8,
}

/// A line of memory that will be read later, so many bytes behind an operand's element: it is asked for early.
#[derive(Clone, Copy)]
pub(super) struct Fetch {
    pub(super) operand: u16,
    pub(super) copy: u8,
    pub(super) ahead: i32,
    /// Into the first cache, or only into the second.
    pub(super) near: bool,
}

/// Where a value is, and when it is wanted.
#[derive(Clone, Copy)]
pub(super) struct State {
    home: Home,
    copy: u8,
    width: Width,
    register: Option<u8>,
    spill: Option<u32>,
    next: u32,
}

/// Where an operand is taken from.
#[derive(Clone, Copy)]
enum Source {
    Register(u8),
    /// As the value was when it was looked at; its name may be another's by the time it is read.
    Memory(State),
}

/// Registers being given.
pub(super) struct Allocator<'a> {
    pub(super) asm: &'a mut Asm,
    pub(super) places: &'a mut dyn Places,
    pub(super) sites: &'a mut Vec<Site>,
    /// Memory to work in.
    pub(super) states: &'a mut Vec<State>,
    /// The spill slots ever used.
    pub(super) spills: &'a mut u32,
    /// The registers: sixteen of 256 bits, or thirty-two of 512.
    pub(super) full: Width,
    /// Nothing is stored past the caches.
    pub(super) near: bool,
    /// The registers that hold something for others.
    pub(super) reserved: u32,
}

/// `first ? third : second`, bit by bit.
const CHOOSE: u8 = 0xac;

/// The line being placed.
struct Run<'a, 'b> {
    to: &'b mut Allocator<'a>,
    states: Vec<State>,
    /// Which value a register holds, where it holds one.
    held: [Id; 32],
    holding: u32,
    /// Registers that are taken for good, or by the present instruction.
    fixed: u32,
    locked: u32,
    free_spills: Vec<u32>,
    /// Slots that are free after the present instruction, which may still read them.
    freed_spills: Vec<u32>,
    used_spills: u32,
}

impl Allocator<'_> {
    /// Writes a line that knows when its values are wanted. The values in `fixed` are in those registers from first to last. What is to be fetched
    /// is asked for here and there between the instructions: a machine waits, or forgets some, where it is asked for much at once.
    pub(super) fn write(&mut self, line: &Line<'_>, fixed: &[(Id, u8)], fetches: &[Fetch]) {
        let values = line.values;
        let mut states = std::mem::take(self.states);
        states.clear();
        states.reserve(values.len() * line.copies.max(1));
        for copy in 0..line.copies.max(1) {
            states.extend(values.iter().map(|value| State {
                home: value.home,
                copy: copy as u8,
                width: value.width,
                register: None,
                spill: None,
                next: NEVER,
            }));
        }
        let mut held = [NONE; 32];
        let mut taken = self.reserved;
        for &(id, register) in fixed {
            held[usize::from(register)] = id;
            states[id as usize].register = Some(register);
            taken |= 1 << register;
        }
        let mut run = Run {
            to: self,
            states,
            held,
            holding: taken,
            fixed: taken,
            locked: 0,
            free_spills: Vec::new(),
            freed_spills: Vec::new(),
            used_spills: 0,
        };
        let mut fetched = 0;
        for (at, placed) in line.placed.iter().enumerate() {
            run.instruction(placed);
            let due = fetches.len() * (at + 1) / line.placed.len();
            fetches[fetched..due].iter().for_each(|fetch| run.fetch(fetch));
            fetched = due;
        }
        let (used, states) = (run.used_spills, run.states);
        *self.spills = (*self.spills).max(used);
        *self.states = states;
    }
}

impl Run<'_, '_> {
    fn fetch(&mut self, &Fetch { operand, copy, ahead, near }: &Fetch) {
        let element = self.to.places.home(self.to.asm, Home::Element { operand, lane: 0 }, copy);
        self.to.asm.prefetch(element.offset(ahead), near);
    }

    fn instruction(&mut self, placed: &Placed<'_>) {
        let Inst { form, op, width, immediate, .. } = *placed.inst;
        let Placed { to, args, first_use, next, .. } = *placed;
        self.locked = 0;
        if !self.freed_spills.is_empty() {
            self.free_spills.append(&mut self.freed_spills);
        }
        // Operands that have registers keep them until all are found.
        for &arg in &args {
            if arg != NONE
                && let Some(register) = self.states[arg as usize].register
            {
                self.locked |= 1 << register;
            }
        }
        match form {
            Form::Rm => {
                let a = self.source(args[0], next[0]);
                self.end(args, next);
                let to = self.result(to, first_use);
                self.emit(op, width, to, 0, a, immediate);
            }
            Form::Rvm | Form::Commutative => {
                let (mut a, mut b, mut next_ab) = (args[0], args[1], [next[0], next[1]]);
                if form == Form::Commutative && self.better_second(a, b) {
                    (a, b, next_ab) = (b, a, [next[1], next[0]]);
                }
                let a = self.register(a);
                let b = self.source(b, next_ab[1]);
                self.end(args, next);
                let to = self.result(to, first_use);
                self.emit(op, width, to, a, b, immediate);
            }
            Form::Blend if self.to.full == Width::Z => self.choose(placed),
            Form::Blend => {
                let (no, mask) = (self.register(args[0]), self.register(args[2]));
                let yes = self.source(args[1], next[1]);
                self.end(args, next);
                let to = self.result(to, first_use);
                self.emit(op, width, to, no, yes, Some(mask << 4));
            }
            Form::Shift => {
                let a = self.register(args[0]);
                self.end(args, next);
                let to = self.result(to, first_use);
                self.emit(op, width, op.extension, to, Source::Register(a), immediate);
            }
            Form::Extract => {
                let a = self.register(args[0]);
                self.end(args, next);
                let to = self.result(to, first_use);
                self.emit(op, width, a, 0, Source::Register(to), immediate);
            }
            Form::Index => {
                let to = self.result(to, first_use);
                self.to.asm.vector_gpr(op, Vector(to), super::asm::RAX);
            }
            Form::Store(target) => {
                let a = self.register(args[0]);
                let mem = self.to.places.target(self.to.asm, target, placed.copy);
                let op = if self.to.near && op == op::MOVNTPS_STORE { op::MOVUPS_STORE } else { op };
                self.to.asm.vector(op, width, a, 0, Operand::Memory(mem), immediate);
                self.end(args, next);
            }
            Form::Fma => self.fma(placed),
            Form::Rare(f) => self.rare(f, placed),
        }
    }

    /// Whether the operands of a commutative instruction had better change places: the first must be in a register.
    fn better_second(&self, a: Id, b: Id) -> bool {
        let [a, b] = [a, b].map(|id| &self.states[id as usize]);
        match (a.register, b.register) {
            (Some(_), _) => false,
            (None, Some(_)) => true,
            // The one that can be used from memory for ever stays there.
            (None, None) => matches!(a.home, Home::Constant(_) | Home::Slot(_)),
        }
    }

    fn fma(&mut self, placed: &Placed<'_>) {
        let Placed { next, first_use, .. } = *placed;
        let [mut a, mut b, c] = placed.args;
        let mut next_ab = [next[0], next[1]];
        let dying = |run: &Run, id: Id, next: u32| {
            next == NEVER && run.states[id as usize].register.is_some_and(|r| run.fixed >> r & 1 == 0)
        };
        let has = |run: &Run, id: Id| run.states[id as usize].register.is_some();
        let [second_in_memory, third_in_memory, add_to_it] = match placed.inst.op {
            op::FMADD213PD => [op::FMADD132PD, op::FMADD213PD, op::FMADD231PD],
            _ => [op::FMADD132PS, op::FMADD213PS, op::FMADD231PS],
        };
        if dying(self, c, next[2]) {
            if !has(self, a) && has(self, b) {
                (a, b, next_ab) = (b, a, [next_ab[1], next_ab[0]]);
            }
            let (a, to) = (self.register(a), self.register(c));
            let b = self.source(b, next_ab[1]);
            self.end(placed.args, next);
            let to = self.keep(placed.to, to, first_use);
            self.emit(add_to_it, placed.inst.width, to, a, b, None);
            return;
        }
        if !dying(self, a, next_ab[0]) && dying(self, b, next_ab[1]) {
            (a, b, next_ab) = (b, a, [next_ab[1], next_ab[0]]);
        }
        if dying(self, a, next_ab[0]) {
            let to = self.register(a);
            if !has(self, b) && has(self, c) {
                let (c, b) = (self.register(c), self.source(b, next_ab[1]));
                self.end(placed.args, next);
                let to = self.keep(placed.to, to, first_use);
                self.emit(second_in_memory, placed.inst.width, to, c, b, None);
            } else {
                let (b, c) = (self.register(b), self.source(c, next[2]));
                self.end(placed.args, next);
                let to = self.keep(placed.to, to, first_use);
                self.emit(third_in_memory, placed.inst.width, to, b, c, None);
            }
            return;
        }
        // Nothing can be overwritten: a copy of the addend can.
        if !has(self, a) && has(self, b) {
            (a, b, next_ab) = (b, a, [next_ab[1], next_ab[0]]);
        }
        let a = self.register(a);
        let b = self.source(b, next_ab[1]);
        let copy = self.copy(c, placed.inst.width);
        self.end(placed.args, next);
        let to = self.keep(placed.to, copy, first_use);
        self.emit(add_to_it, placed.inst.width, to, a, b, None);
    }

    /// A blend where there is no instruction for it: bit by bit, in the mask's own register or a copy of it.
    fn choose(&mut self, placed: &Placed<'_>) {
        let Placed { next, first_use, .. } = *placed;
        let [no, yes, mask] = placed.args;
        let no_in = self.register(no);
        let own = match self.states[mask as usize].register {
            Some(r) if next[2] == NEVER && self.fixed >> r & 1 == 0 && mask != no && mask != yes => r,
            _ => self.copy(mask, placed.inst.width),
        };
        let yes_in = self.source(yes, next[1]);
        self.end(placed.args, next);
        self.emit(op::PTERNLOGD, placed.inst.width, own, no_in, yes_in, Some(CHOOSE));
        match self.states[placed.to as usize].register {
            Some(fixed) if self.fixed >> fixed & 1 == 1 => {
                self.emit(op::MOVAPS, placed.inst.width, fixed, 0, Source::Register(own), None);
            }
            _ => _ = self.keep(placed.to, own, first_use),
        }
    }

    fn rare(&mut self, f: &'static LaneFn, placed: &Placed<'_>) {
        let Placed { next, first_use, .. } = *placed;
        let [when, x, otherwise] = placed.args;
        let (when_in, x_in) = (self.register(when), self.register(x));
        let state = &self.states[otherwise as usize];
        let own = match state.register {
            Some(r) if next[2] == NEVER && self.fixed >> r & 1 == 0 && otherwise != x && otherwise != when => r,
            _ => self.copy(otherwise, placed.inst.width),
        };
        self.end(placed.args, next);
        let to = self.keep(placed.to, own, first_use);
        let (cold, back) = (self.to.asm.label(), self.to.asm.label());
        if self.to.full == Width::Z {
            self.to.asm.any_bit(placed.inst.width, when_in);
        } else {
            self.emit(placed.inst.op, placed.inst.width, when_in, 0, Source::Register(when_in), None);
        }
        self.to.asm.jump_if(Condition::NotEqual, cold);
        self.to.asm.bind(back);
        self.to.sites.push(Site { cold, back, f, when: when_in, x: x_in, to });
    }

    /// A value in a register, where the instruction needs it.
    fn register(&mut self, id: Id) -> u8 {
        if let Some(register) = self.states[id as usize].register {
            self.locked |= 1 << register;
            return register;
        }
        let register = self.take();
        self.load(id, register);
        self.hold(id, register);
        self.locked |= 1 << register;
        register
    }

    /// A value wherever the instruction can take it from.
    fn source(&mut self, id: Id, next: u32) -> Source {
        let state = &self.states[id as usize];
        if let Some(register) = state.register {
            return Source::Register(register);
        }
        let comes_again = next != NEVER
            && (state.spill.is_some() || matches!(state.home, Home::Element { .. } | Home::Before { .. }));
        if comes_again && self.free_register().is_some() {
            return Source::Register(self.register(id));
        }
        Source::Memory(self.states[id as usize])
    }

    /// A register of its own with the same contents as a value.
    fn copy(&mut self, id: Id, width: Width) -> u8 {
        let to = self.take();
        match self.states[id as usize].register {
            Some(from) => self.to.asm.vector(op::MOVAPS, width, to, 0, Operand::Register(Vector(from)), None),
            None => self.load(id, to),
        }
        // Not to be given away before it has its name.
        self.locked |= 1 << to;
        to
    }

    fn load(&mut self, id: Id, register: u8) {
        let state = self.states[id as usize];
        let (mem, width) = (self.memory(&state), state.width);
        self.to.asm.vector(op::MOVUPS, width, register, 0, Operand::Memory(mem), None);
    }

    fn memory(&mut self, state: &State) -> Mem {
        match state.spill {
            Some(slot) => self.to.places.spill(slot),
            None => self.to.places.home(self.to.asm, state.home, state.copy),
        }
    }

    fn emit(&mut self, op: Op, width: Width, reg: u8, vvvv: u8, rm: Source, immediate: Option<u8>) {
        let rm = match rm {
            Source::Register(register) => Operand::Register(Vector(register)),
            Source::Memory(state) => Operand::Memory(self.memory(&state)),
        };
        if self.to.full == Width::Z && op.compares() {
            self.to.asm.compare_lanes(op, width, reg, vvvv, rm, immediate);
        } else {
            self.to.asm.vector(op, width, reg, vvvv, rm, immediate);
        }
    }

    /// Notes that the operands have been read: those that are not wanted again free their registers.
    fn end(&mut self, args: [Id; 3], next: [u32; 3]) {
        for (arg, next) in args.into_iter().zip(next) {
            if arg == NONE {
                continue;
            }
            let state = &mut self.states[arg as usize];
            state.next = next;
            if next == NEVER {
                if let Some(register) = state.register
                    && self.fixed >> register & 1 == 0
                {
                    self.holding &= !(1 << register);
                    self.locked &= !(1 << register);
                    state.register = None;
                }
                if let Some(slot) = state.spill.take() {
                    self.freed_spills.push(slot);
                }
            }
        }
    }

    /// A register for a result.
    fn result(&mut self, id: Id, first_use: u32) -> u8 {
        if let Some(register) = self.states[id as usize].register
            && self.fixed >> register & 1 == 1
        {
            return register;
        }
        let register = self.take();
        self.keep(id, register, first_use)
    }

    /// Gives a register to a result.
    fn keep(&mut self, id: Id, register: u8, first_use: u32) -> u8 {
        let state = &mut self.states[id as usize];
        state.home = Home::None;
        state.spill = None;
        state.next = first_use;
        if first_use == NEVER {
            state.register = None;
        } else {
            self.hold(id, register);
        }
        register
    }

    fn hold(&mut self, id: Id, register: u8) {
        self.held[usize::from(register)] = id;
        self.holding |= 1 << register;
        self.states[id as usize].register = Some(register);
    }

    /// The first register that nobody has.
    fn free_register(&self) -> Option<u8> {
        let first = (self.holding | self.fixed | self.locked).trailing_ones() as u8;
        (first < self.to.full.registers()).then_some(first)
    }

    /// A free register; if there is none, the value that is wanted last gives up its own.
    fn take(&mut self) -> u8 {
        if let Some(register) = self.free_register() {
            return register;
        }
        let candidates = (0..self.to.full.registers()).filter(|&r| (self.fixed | self.locked) >> r & 1 == 0);
        let wanted = |&r: &u8| self.states[self.held[usize::from(r)] as usize].next;
        let register = candidates.max_by_key(wanted).expect("an instruction leaves some registers alone");
        let id = self.held[usize::from(register)];
        let state = &mut self.states[id as usize];
        state.register = None;
        self.holding &= !(1 << register);
        if state.home == Home::None && state.spill.is_none() {
            let slot = self.free_spills.pop().unwrap_or_else(|| {
                self.used_spills += 1;
                self.used_spills - 1
            });
            state.spill = Some(slot);
            let mem = self.to.places.spill(slot);
            self.to.asm.vector(op::MOVUPS_STORE, self.to.full, register, 0, Operand::Memory(mem), None);
        }
        register
    }
}
