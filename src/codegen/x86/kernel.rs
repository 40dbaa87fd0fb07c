//! Writes a kernel: its loops around the pieces of code.
//!
//! ```text
//! for every row:
//!     preamble
//!     for every few vectors of the row: body, in several copies    (the first loop)
//!     for every vector that is left: body                          (the second)
//!     for the elements that are left: body, on copies of them      (the tail)
//!     finish
//! ```
//! Two copies, one instruction of each in turn, keep the machine busy where one would wait for its own results; registers of 512 bits
//! have room for four. A tail's
//! elements are copied to the frame and its results from there, so that nothing beyond a row is ever touched.
//!
//! Rows that are folded along ([`along`]) two at once have no tails: each is a whole number of times what the accumulators take.
//! Short rows that are folded across are of one piece: a body for every vector, whose accumulators are in registers for all rows. So are rows
//! of maps that turn an operand ([`turned`]).

mod along;
pub(super) mod turned;

use super::allocate::{Allocator, Fetch, Places, Site, State};
use super::asm::*;
use super::build::{Built, Kind, Read, Spec, build};
use super::elements::{Step, width_of};
use super::frame::{Frame, LENGTH, ROWS, TAIL_32, TAIL_64};
use super::inst::{Form, Home, Id, Inst, NONE, Value};
use super::line::Line;
use super::memory::Pages;
use super::op::{self, Op};
use super::rare;
use crate::ops::vector::Lane;
use std::sync::Arc;

/// A kernel that can be run.
#[derive(Debug)]
pub(super) struct Kernel {
    /// What it was written from.
    spec: Arc<Spec>,
    pages: Pages,
    /// The bytes its frame needs.
    pub(super) frame_bytes: usize,
    /// How many pointers the frame has.
    pub(super) pointers: usize,
    /// The scalars it reads: the number of each, its lane, and where in the frame it belongs.
    pub(super) scalars: Vec<(u16, Lane, usize)>,
    /// The code, without the constants after it.
    #[cfg(test)]
    pub(super) code: Vec<u8>,
    #[cfg(test)]
    pub(super) constants: Vec<u8>,
}

impl Kernel {
    /// Writes the kernel, in narrower registers where the spec's do not serve, or gives `None` where there are no instructions for it or no memory for code.
    pub(super) fn new(spec: Arc<Spec>) -> Option<Kernel> {
        let (spec, built) = match build(&spec) {
            Some(built) => (spec, built),
            None if spec.full == Width::Z => {
                let narrow = Spec { full: Width::Y, ..(*spec).clone() };
                let built = build(&narrow)?;
                (Arc::new(narrow), built)
            }
            None => return None,
        };
        let mut writer = Writer::new(&spec, &built, Asm::new());
        writer.kernel()?;
        #[cfg(test)]
        let code_end = writer.asm.len();
        writer.data();
        let (frame_bytes, pointers) = (writer.frame.bytes(writer.spills), writer.frame.pointers);
        let scalars = built.scalars.iter().map(|&(slot, lane)| (slot, lane, writer.frame.scalar(slot))).collect();
        let code = writer.asm.finish();
        let pages = Pages::new(&code)?;
        Some(Kernel {
            spec,
            pages,
            frame_bytes,
            pointers,
            scalars,
            #[cfg(test)]
            code: code[..code_end].to_vec(),
            #[cfg(test)]
            constants: code[code_end..].to_vec(),
        })
    }

    /// The code as text: the kernel is written once more.
    pub(super) fn assembly(&self) -> String {
        let built = build(&self.spec).expect("it was built before");
        let mut writer = Writer::new(&self.spec, &built, Asm::listed());
        writer.kernel().expect("it was written before");
        writer.data();
        let kind = match self.spec.kind {
            Kind::Map { stream: false, .. } => "a map".to_string(),
            Kind::Map { stream: true, .. } => "a map that stores past the caches".to_string(),
            Kind::Turned { operand, .. } => format!("a map that turns in{operand} and stores past the caches"),
            Kind::Along { streams: 2.., .. } => "a fold along each row, two rows at once".to_string(),
            Kind::Along { kept: Some(_), .. } => "a map, and the fold along each row of what it stores".to_string(),
            Kind::Along { .. } => "a fold along each row".to_string(),
            Kind::Across { steps, kept: 0, .. } => format!("a fold across rows, {steps} at once"),
            Kind::Across { kept, .. } => format!("a fold across rows of {kept}"),
        };
        format!("; {kind}\n{}", writer.asm.text())
    }

    /// The bytes of its registers: what is stored past the caches is aligned to them.
    pub(super) fn vector_bytes(&self) -> i64 {
        self.spec.full.bytes() as i64
    }

    /// Runs the kernel.
    ///
    /// # Safety
    /// The machine has the instructions of such registers. `frame` is aligned to 8 bytes and has room for [`Kernel::frame_bytes`]; its length, rows, pointers and
    /// steps are set such that every element of every row can be read, or written.
    pub(super) unsafe fn run(&self, frame: *mut u8) {
        // SAFETY: the pages begin with a function of this type, which keeps to its frame and the elements told there.
        unsafe {
            let run: unsafe extern "sysv64" fn(*mut u8) = std::mem::transmute(self.pages.start());
            run(frame);
        }
    }
}

/// The bytes that are fetched at once.
const CACHE_LINE: usize = 64;
/// What lies further ahead is not fetched: an instruction's distances are of 31 bits, and a vector more has to fit.
const FARTHEST: u32 = 1 << 30;

/// By how many the values without a home may outnumber the registers, so that two copies of a body still pay.
const MANY_VALUES: usize = 4;

/// A line that knows when its values are wanted.
struct Ready<'p> {
    line: Line<'p>,
    /// The most values that are alive at one time and have no home.
    pressure: usize,
}

/// The words of a fold across: those that make the same for all lanes of a step and the others, and what these want of those.
#[derive(Default)]
struct Still {
    still: Vec<Inst>,
    moving: Vec<Inst>,
    results: Vec<Id>,
}

/// A kernel being written.
struct Writer<'s> {
    spec: &'s Spec,
    built: &'s Built,
    asm: Asm,
    frame: Frame,
    sites: Vec<Site>,
    spills: u32,
    /// Memory to work in, line after line.
    seen: Vec<u32>,
    states: Vec<State>,
    /// The registers that hold something from one line to another.
    reserved: u32,
    /// Tables from which the lanes of a tail are read, for lanes of 32 and 64 bits.
    masks: [Label; 2],
}

impl<'s> Writer<'s> {
    fn new(spec: &'s Spec, built: &'s Built, mut asm: Asm) -> Writer<'s> {
        let frame = Frame::new(spec, built, &mut asm);
        let masks = [asm.label(), asm.label()];
        let (sites, seen, states) = (Vec::new(), Vec::new(), Vec::new());
        Writer { spec, built, asm, frame, sites, spills: 0, seen, states, reserved: 0, masks }
    }

    fn ready<'p>(&mut self, mut line: Line<'p>) -> Ready<'p> {
        let pressure = line.look_ahead(&mut self.seen);
        Ready { line, pressure }
    }

    /// All of it; `None` where it would take more registers than there are.
    fn kernel(&mut self) -> Option<()> {
        let turned = match self.spec.kind {
            Kind::Turned { .. } => Some(self.turned_line()?),
            Kind::Map { .. } | Kind::Along { .. } | Kind::Across { .. } => None,
        };
        let kept = self.frame.kept();
        for &register in &kept {
            self.asm.push(register);
        }
        match (self.spec.kind, &turned) {
            (_, Some(line)) => self.turned_rows(line),
            (Kind::Across { kept: 1.., .. }, None) => self.kept_rows(),
            (_, None) => {
                let row = self.asm.label();
                self.frame.begin_rows(&mut self.asm);
                self.asm.bind(row);
                self.row();
                self.frame.next_row(&mut self.asm, row);
            }
        }
        self.asm.vzeroupper();
        for &register in kept.iter().rev() {
            self.asm.pop(register);
        }
        self.asm.ret();
        rare::write(&mut self.asm, &self.sites, self.frame.save, self.spec.full, self.built.lanes);
        Some(())
    }

    /// One row.
    fn row(&mut self) {
        self.frame.begin_row(&mut self.asm);
        self.preamble(&[]);
        if self.built.alone {
            return;
        }
        self.asm.zero(RAX);
        self.asm.load(RDX, Mem::Base(RDI, LENGTH as i32));
        let lanes = self.built.lanes;
        match self.spec.kind {
            Kind::Map { .. } => {
                let one = self.copies_of_body(1);
                let several = self.copies(&one);
                let copies = several.as_ref().map_or(1, |several| several.line.copies);
                if let Some(several) = several {
                    let pins = self.pins(several.pressure, self.spec.full.registers() - 1);
                    self.vectors(copies * lanes, &several, &pins, true);
                }
                self.vectors(lanes, &one, &[], copies != 2);
                self.tail(&one);
            }
            Kind::Turned { .. } => unreachable!("its rows have a way of their own"),
            Kind::Along { streams: 1, .. } => self.along(),
            Kind::Along { streams, .. } => self.along_streams(usize::from(streams)),
            Kind::Across { steps, .. } => self.across(usize::from(steps)),
        }
    }

    /// Some steps of a fold across, for all lanes of a row.
    fn across(&mut self, steps: usize) {
        let pieces = &self.built.pieces;
        let (words, fold) = pieces.body.split_at(pieces.fold);
        let all = self.steps_of(words, fold, steps);
        let Still { still, moving, results } = self.still(words);
        let last = self.spec.full.registers() - 1;
        let most = usize::from(self.spec.full.registers()) / 2;
        let rest = (1..=most).contains(&(results.len() * steps)).then(|| self.steps_of(&moving, fold, steps));
        // What stays is counted as alive: a register more is for what comes and goes.
        if let Some(rest) = rest.filter(|rest| rest.pressure < usize::from(last)) {
            let mut line = Line::new(&pieces.values, steps, self.built.accumulator);
            line.add(&still, 0..steps);
            let names = (0..steps).flat_map(|copy| results.iter().map(move |&id| (id, copy)));
            let fixed: Vec<(Id, u8)> = names.zip(0..).map(|((id, copy), k)| (line.id(id, copy), last - k)).collect();
            let line = self.ready(line);
            self.write(&line, &fixed);
            self.vectors(self.built.lanes, &rest, &fixed, true);
        } else {
            self.vectors(self.built.lanes, &all, &[], true);
        }
        self.tail(&all);
    }

    /// The line that takes so many steps of a fold across.
    fn steps_of<'p>(&mut self, words: &'p [Inst], fold: &'p [Inst], steps: usize) -> Ready<'p>
    where
        's: 'p,
    {
        let pieces = &self.built.pieces;
        let mut line = Line::new(&pieces.values, steps, self.built.accumulator);
        for first in (0..steps).step_by(2) {
            let copies = first..steps.min(first + 2);
            line.add(words, copies.clone());
            // One is folded after the other.
            copies.for_each(|copy| line.add(fold, copy..copy + 1));
        }
        line.add(&pieces.after, 0..1);
        self.ready(line)
    }

    /// Which words make the same for all lanes of a step.
    fn still(&self, words: &[Inst]) -> Still {
        let values = &self.built.pieces.values;
        let mut is_still: Vec<bool> = (values.iter())
            .map(|value| match value.home {
                Home::Element { operand, .. } => self.frame.read(operand).step == Step::Uniform,
                _ => value.invariant,
            })
            .collect();
        let mut parts = Still::default();
        for inst in words {
            let args = || inst.args.into_iter().filter(|&arg| arg != NONE);
            if matches!(inst.form, Form::Rm | Form::Rvm | Form::Commutative | Form::Shift)
                && args().all(|arg| is_still[arg as usize])
            {
                is_still[inst.to as usize] = true;
                parts.still.push(*inst);
            } else {
                parts.moving.push(*inst);
            }
        }
        let fold = &self.built.pieces.body[self.built.pieces.fold..];
        let wanted = |id: Id| parts.moving.iter().chain(fold).any(|inst| inst.args.contains(&id));
        parts.results = parts.still.iter().map(|inst| inst.to).filter(|&id| wanted(id)).collect();
        parts
    }

    /// What a row needs first; `taken` registers hold something else.
    fn preamble(&mut self, taken: &[(Id, u8)]) {
        let pieces = &self.built.pieces;
        if pieces.preamble.is_empty() {
            return;
        }
        // Here, what has a slot does not have it yet.
        let not_yet = |value: &Value| match value.home {
            Home::Slot(_) => Value { home: Home::None, ..*value },
            _ => *value,
        };
        let values: Vec<Value> = pieces.values.iter().map(not_yet).collect();
        let copies = taken.len().max(1);
        let mut line = Line::new(&values, copies, NONE);
        line.add(&pieces.preamble, 0..1);
        let line = self.ready(line);
        self.write(&line, taken);
    }

    /// All rows, whose accumulators are in registers. The length says how often that is: accumulators are each time others.
    fn kept_rows(&mut self) {
        let Kind::Across { kept, .. } = self.spec.kind else { unreachable!("other kernels keep nothing") };
        let pieces = &self.built.pieces;
        let (accumulator, output) = (self.built.accumulator, self.spec.operands.len() as u16);
        let width = pieces.values[accumulator as usize].width;
        let vectors = usize::from(kept) / self.built.lanes;
        let mut line = Line::new(&pieces.values, vectors, NONE);
        for first in (0..vectors).step_by(2) {
            line.add(&pieces.body, first..vectors.min(first + 2));
        }
        let last = self.spec.full.registers() - 1;
        let fixed: Vec<(Id, u8)> = (0..vectors).map(|k| (line.id(accumulator, k), last - k as u8)).collect();
        let line = self.ready(line);

        self.frame.begin_row(&mut self.asm);
        self.asm.zero(RAX);
        let [leaf, row] = [(); 2].map(|()| self.asm.label());
        self.asm.bind(leaf);
        self.asm.load(RDX, Mem::Base(RDI, ROWS as i32));
        for (k, &(_, register)) in fixed.iter().enumerate() {
            let mem = Operand::Memory(self.frame.element(&mut self.asm, output, 0, k as u8));
            self.asm.vector(op::MOVUPS, width, register, 0, mem, None);
        }
        self.asm.bind(row);
        self.preamble(&fixed);
        let fetches = self.fetches(usize::from(kept));
        self.write_and_fetch(&line, &fixed, &fetches);
        self.frame.step_rows(&mut self.asm, |operand| operand != output);
        self.asm.add(RDX, -1);
        self.asm.jump_if(Condition::NotEqual, row);
        for (k, &(_, register)) in fixed.iter().enumerate() {
            let mem = Operand::Memory(self.frame.element(&mut self.asm, output, 0, k as u8));
            self.asm.vector(op::MOVUPS_STORE, width, register, 0, mem, None);
        }
        self.frame.step_rows(&mut self.asm, |operand| operand == output);
        self.asm.add_to_memory(Mem::Base(RDI, LENGTH as i32), -1);
        self.asm.jump_if(Condition::NotEqual, leaf);
    }

    /// Several copies of the body that take turns, as many as there are registers for; `None` if that is one.
    fn copies(&mut self, one: &Ready<'s>) -> Option<Ready<'s>> {
        // What copies share has a home, so that each needs as many registers as the first.
        let (needed, registers) = (one.pressure, usize::from(self.spec.full.registers()));
        let most = match self.spec.kind {
            Kind::Map { most, .. } => usize::from(most),
            Kind::Turned { .. } | Kind::Along { .. } | Kind::Across { .. } => 1,
        };
        if self.spec.full == Width::Z && most > 2 && most * needed <= registers {
            Some(self.copies_of_body(most))
        } else if 2 * needed <= registers + MANY_VALUES {
            Some(self.copies_of_body(2))
        } else {
            None
        }
    }

    fn copies_of_body(&mut self, copies: usize) -> Ready<'s> {
        let pieces = &self.built.pieces;
        let mut line = Line::new(&pieces.values, copies, NONE);
        line.add(&pieces.body, 0..copies);
        self.ready(line)
    }

    fn write(&mut self, line: &Ready<'_>, fixed: &[(Id, u8)]) {
        self.write_and_fetch(line, fixed, &[]);
    }

    fn write_and_fetch(&mut self, Ready { line, .. }: &Ready<'_>, fixed: &[(Id, u8)], fetches: &[Fetch]) {
        let full = self.spec.full;
        let Writer { asm, frame, sites, spills, states, reserved, .. } = self;
        let (near, reserved) = (frame.tail, *reserved);
        Allocator { asm, places: frame, sites, states, spills, full, near, reserved }.write(line, fixed, fetches);
    }

    /// Constants and the like for registers that no copy needs, those most used first, from a register downwards.
    fn pins(&self, pressure: usize, last: u8) -> Vec<(Id, u8)> {
        let most = if self.spec.full == Width::Z { 24 } else { 8 };
        let spare = usize::from(last).saturating_sub(pressure + 2).min(most);
        if spare == 0 {
            return Vec::new();
        }
        let values = &self.built.pieces.values;
        let mut uses = vec![0u32; values.len()];
        for Inst { args, .. } in &self.built.pieces.body {
            for &id in args.iter().filter(|&&id| id != NONE) {
                uses[id as usize] += 1;
            }
        }
        let mut wanted: Vec<Id> = (0..values.len() as Id)
            .filter(|&id| uses[id as usize] > 0)
            .filter(|&id| matches!(values[id as usize].home, Home::Constant(_) | Home::Slot(_)))
            .collect();
        wanted.sort_by_key(|&id| std::cmp::Reverse(uses[id as usize]));
        wanted.truncate(spare);
        wanted.iter().enumerate().map(|(k, &id)| (id, last - k as u8)).collect()
    }

    /// Loads those values that have a home of their own into their registers.
    fn load_pins(&mut self, fixed: &[(Id, u8)]) {
        for &(id, register) in fixed {
            let home = self.built.pieces.values[id as usize % self.built.pieces.values.len()].home;
            if matches!(home, Home::Constant(_) | Home::Slot(_)) {
                let mem = self.frame.home(&mut self.asm, home, 0);
                self.asm.vector(op::MOVUPS, self.spec.full, register, 0, Operand::Memory(mem), None);
            }
        }
    }

    /// A loop over so many elements at a time, while there are as many. `fixed` values with a home are loaded before it.
    fn vectors(&mut self, elements: usize, line: &Ready<'_>, fixed: &[(Id, u8)], repeat: bool) {
        let (top, done) = (self.asm.label(), self.asm.label());
        let enough = |asm: &mut Asm| {
            asm.lea(RCX, Mem::Base(RAX, elements as i32));
            asm.compare(RCX, RDX);
        };
        enough(&mut self.asm);
        self.asm.jump_if(Condition::Above, done);
        self.load_pins(fixed);
        self.asm.bind(top);
        let fetches = if repeat { self.fetches(elements) } else { Vec::new() };
        self.write_and_fetch(line, fixed, &fetches);
        self.frame.advance(&mut self.asm, elements);
        if repeat {
            enough(&mut self.asm);
            self.asm.jump_if(Condition::BelowOrEqual, top);
        }
        self.asm.bind(done);
    }

    /// What will be read later, as much as so many elements are. What is only read had better come no nearer than the second cache: a sum of much
    /// memory takes a third longer if it is asked for into the first; a map, whose stores keep memory busy, takes longer if it is not.
    fn fetches(&self, elements: usize) -> Vec<Fetch> {
        let near = match self.spec.kind {
            Kind::Map { .. } | Kind::Turned { .. } | Kind::Along { kept: Some(_), .. } => true,
            Kind::Along { kept: None, .. } | Kind::Across { .. } => false,
        };
        let mut fetches = Vec::new();
        for (operand, pointer) in self.frame.each_pointer() {
            let copy = self.frame.copy_of(pointer);
            let Read { dtype, step, ahead, .. } = self.frame.read(operand);
            let is_near_enough = ahead != 0 && ahead.unsigned_abs() < FARTHEST;
            if is_near_enough && step == Step::Dense && self.built.used.get(usize::from(operand)) == Some(&true) {
                let lines = (0..elements * dtype.size()).step_by(CACHE_LINE);
                fetches.extend(lines.map(|line| Fetch { operand, copy, ahead: ahead + line as i32, near }));
            }
        }
        fetches
    }

    /// What is left of a row, less than a vector.
    fn tail(&mut self, line: &Ready<'_>) {
        let done = self.asm.label();
        self.asm.sub(RDX, RAX);
        self.asm.jump_if(Condition::Equal, done);
        self.tail_masks();
        let written = match self.spec.kind {
            Kind::Map { .. } | Kind::Turned { .. } => Some((self.spec.operands.len() as u16, false)),
            Kind::Along { kept, .. } => kept.map(|kept| (kept, false)),
            // The accumulators are read as well.
            Kind::Across { .. } => Some((self.spec.operands.len() as u16, true)),
        };
        for (pointer, (operand, copy)) in self.frame.each_pointer().into_iter().enumerate() {
            let is_used = self.built.used.get(usize::from(operand)) == Some(&true) || written == Some((operand, true));
            if is_used && written != Some((operand, false)) && self.frame.read(operand).step != Step::Uniform {
                self.bring_in(pointer, operand, copy);
            }
        }
        self.frame.tail = true;
        self.write(line, &[]);
        self.frame.tail = false;
        if let Some((operand, _)) = written {
            self.bring_out(operand);
        }
        self.asm.bind(done);
    }

    /// Which lanes a tail has: read from a table of ones and then zeros, so that `rdx` of the ones are left.
    fn tail_masks(&mut self) {
        if self.spec.full == Width::Z {
            // One bit a lane, in a table by their number.
            self.asm.lea(RCX, Mem::At(self.masks[0], 0));
            self.asm.load_mask(Mem::Indexed(RCX, RDX, 2, 0));
            if let Kind::Along { combine, .. } = self.spec.kind {
                self.asm.neg(RDX);
                self.asm.lea(RCX, Mem::At(self.masks[1], 64));
                let from = Mem::Indexed(RCX, RDX, combine.accumulator_size() as u8, 0);
                self.asm.vector(op::MOVUPS, Width::Z, 0, 0, Operand::Memory(from), None);
                self.asm.vector(op::MOVUPS_STORE, Width::Z, 0, 0, Operand::Memory(Mem::Base(RDI, TAIL_32)), None);
                self.asm.neg(RDX);
            }
            return;
        }
        self.asm.neg(RDX);
        for (table, scale, to) in [(self.masks[0], 4, TAIL_32), (self.masks[1], 8, TAIL_64)] {
            if scale == 8 && self.built.lanes == 8 {
                continue;
            }
            self.asm.lea(RCX, Mem::At(table, 32));
            let from = Operand::Memory(Mem::Indexed(RCX, RDX, scale, 0));
            self.asm.vector(op::MOVUPS, Width::Y, 0, 0, from, None);
            self.asm.vector(op::MOVUPS_STORE, Width::Y, 0, 0, Operand::Memory(Mem::Base(RDI, to)), None);
        }
        self.asm.neg(RDX);
    }

    /// For elements of 4 or 8 bytes side by side: the instructions that load and store some lanes, their width, and the lanes.
    fn masked(&self, operand: u16) -> Option<(Op, Op, Width, i32)> {
        let read = self.frame.read(operand);
        match (read.step, read.dtype.size()) {
            (Step::Dense, 4) => {
                let width = if self.built.lanes == 8 { Width::Y } else { Width::X };
                Some((op::MASKMOVPS, op::MASKMOVPS_STORE, width, TAIL_32))
            }
            (Step::Dense, 8) => Some((op::MASKMOVPD, op::MASKMOVPD_STORE, Width::Y, TAIL_64)),
            _ => None,
        }
    }

    /// For elements side by side, where registers have 512 bits: their size, and the width of all that a vector has.
    fn masked_wide(&self, operand: u16) -> Option<(usize, Width)> {
        let read = self.frame.read(operand);
        let (size, is_wide) = (read.dtype.size(), self.spec.full == Width::Z);
        (is_wide && read.step == Step::Dense).then(|| (size, width_of(size * self.built.lanes)))
    }

    /// Copies a tail's elements of an operand to the frame.
    fn bring_in(&mut self, pointer: usize, operand: u16, copy: u8) {
        if self.frame.is_own(operand) {
            return;
        }
        let bounce = self.frame.bounce(pointer);
        if let Some((size, width)) = self.masked_wide(operand) {
            let from = self.frame.element(&mut self.asm, operand, 0, copy);
            self.asm.load_elements(size, width, 0, from);
            return self.asm.vector(op::MOVUPS_STORE, width, 0, 0, Operand::Memory(bounce), None);
        }
        if let Some((load, _, width, lanes)) = self.masked(operand) {
            self.asm.vector(op::MOVUPS, width, 1, 0, Operand::Memory(Mem::Base(RDI, lanes)), None);
            let from = Operand::Memory(self.frame.element(&mut self.asm, operand, 0, copy));
            self.asm.vector(load, width, 0, 1, from, None);
            self.asm.vector(op::MOVUPS_STORE, width, 0, 0, Operand::Memory(bounce), None);
            return;
        }
        let size = self.frame.read(operand).dtype.size();
        self.one_by_one(|writer, lane| {
            let from = writer.frame.element(&mut writer.asm, operand, lane, copy);
            writer.asm.load_bytes(size, RCX, from);
            let to = writer.frame.bounced(operand, pointer, lane);
            writer.asm.store_bytes(size, to, RCX);
        });
    }

    /// Copies a tail's results from the frame to their operand.
    fn bring_out(&mut self, operand: u16) {
        let pointer = self.frame.pointer(operand, 0);
        let bounce = self.frame.bounce(pointer);
        if let Some((size, width)) = self.masked_wide(operand) {
            // The lanes were in the mask before; kernels forget it.
            self.tail_masks();
            self.asm.vector(op::MOVUPS, width, 0, 0, Operand::Memory(bounce), None);
            let to = self.frame.element(&mut self.asm, operand, 0, 0);
            return self.asm.store_elements(size, width, to, 0);
        }
        if let Some((_, store, width, lanes)) = self.masked(operand) {
            self.asm.vector(op::MOVUPS, width, 1, 0, Operand::Memory(Mem::Base(RDI, lanes)), None);
            self.asm.vector(op::MOVUPS, width, 0, 0, Operand::Memory(bounce), None);
            let to = Operand::Memory(self.frame.element(&mut self.asm, operand, 0, 0));
            self.asm.vector(store, width, 0, 1, to, None);
            return;
        }
        let size = self.frame.read(operand).dtype.size();
        // Through a vector register: the pointer may need the general one.
        self.one_by_one(|writer, lane| {
            let (load, store): (Op, Op) = match size {
                1 => (op::PINSRB, op::PEXTRB),
                2 => (op::PINSRW, op::PEXTRW),
                4 => (op::PINSRD, op::PEXTRD),
                _ => (op::PINSRQ, op::PEXTRQ),
            };
            let from = Operand::Memory(writer.frame.bounced(operand, pointer, lane));
            writer.asm.vector(load, Width::X, 0, 0, from, Some(0));
            let to = Operand::Memory(writer.frame.element(&mut writer.asm, operand, lane, 0));
            writer.asm.vector(store, Width::X, 0, 0, to, Some(0));
        });
    }

    /// Does something for every lane that the tail has.
    fn one_by_one(&mut self, mut each: impl FnMut(&mut Self, usize)) {
        let done = self.asm.label();
        for lane in 0..self.built.lanes - 1 {
            if lane > 0 {
                self.asm.compare_immediate(RDX, lane as i8);
                self.asm.jump_if(Condition::BelowOrEqual, done);
            }
            each(self, lane);
        }
        self.asm.bind(done);
    }

    /// Everything that is read but not run.
    fn data(&mut self) {
        let full = self.spec.full;
        self.asm.align(full.bytes(), 0xcc);
        self.asm.bind(self.frame.constants);
        for constant in &self.built.pieces.constants {
            for _ in 0..full.bytes() / 32 {
                self.asm.data(constant.map(u64::to_le_bytes).as_flattened());
            }
        }
        self.asm.bind(self.masks[0]);
        if full == Width::Z {
            let lanes: Vec<[u8; 2]> = (0..16).map(|lanes| ((1u16 << lanes) - 1).to_le_bytes()).collect();
            self.asm.data(lanes.as_flattened());
        }
        self.asm.bind(self.masks[1]);
        if full == Width::Y || matches!(self.spec.kind, Kind::Along { .. }) {
            [0xff, 0].iter().for_each(|&byte| self.asm.data(&[byte; 64][..full.bytes()]));
        }
        self.asm.bind(self.frame.lane_numbers);
        if self.built.pieces.values.iter().any(|value| value.home == Home::LaneNumbers) {
            let lanes: Vec<[u8; 8]> = (0..4 * self.built.lanes as u64 * 2).map(u64::to_le_bytes).collect();
            self.asm.data(lanes.as_flattened());
        }
    }
}
