//! Runs code over one block of lanes.
//!
//! A value is a block of lanes, or one lane that stands for all (`uniform`). Which of the two is found out while
//! running: an operand that does not change along the block is uniform, and so is all that is made from such values;
//! it is computed once and never spread out.

use super::access::{Place, indices};
use super::code::{Action, Code, Step};
use super::convert::Picks;
use super::words;
use crate::codegen::Call;
use crate::ops::vector::{Fault, Lane, LaneFn, Table};
use std::cell::Cell;
use std::ptr;
use std::slice;

/// A value: where its lanes are, and whether it is one lane for all.
#[derive(Clone, Copy)]
pub(in crate::codegen) struct Value {
    pub(in crate::codegen) lanes: *const u8,
    pub(in crate::codegen) uniform: bool,
}

impl Value {
    /// An operand that is not there. It may be pointed at, not read.
    const NONE: Value = Value { lanes: ptr::without_provenance(64), uniform: false };

    /// The position of lane `i`.
    fn at(self, i: usize) -> usize {
        if self.uniform { 0 } else { i }
    }
}

/// One cache line of scratch.
#[derive(Clone, Copy)]
#[repr(align(64))]
struct Line(#[expect(dead_code, reason = "only its address is used")] [u8; 64]);

/// Memory that a thread keeps between runs.
#[derive(Default)]
struct Scratch {
    arena: Vec<Line>,
    values: Vec<Value>,
    scalars: Vec<u64>,
    places: Vec<Place>,
    shifts: Vec<i64>,
    step_index: Vec<usize>,
}

thread_local! {
    static SCRATCH: Cell<Scratch> = Cell::default();
}

/// Code being run by one thread.
pub(super) struct Frame<'c> {
    code: &'c Code,
    loads: &'c [*const u8],
    origin: usize,
    scratch: Scratch,
    /// The first lane's index in the walk, and the number of lanes.
    start: usize,
    n: usize,
    /// The number of the step, row-major over the step axes.
    step: usize,
}

impl Drop for Frame<'_> {
    fn drop(&mut self) {
        SCRATCH.set(std::mem::take(&mut self.scratch));
    }
}

impl<'c> Frame<'c> {
    /// Prepares to run code on operands, with `extra` bytes of scratch beyond its registers (see [`Frame::extra`]);
    /// runs what needs to be run only once.
    ///
    /// # Safety
    /// The call is as [`crate::codegen::Compiled::run`] asks, for as long as the frame lives.
    pub(super) unsafe fn new(code: &'c Code, call: &Call<'c>, extra: usize) -> Result<Frame<'c>, Fault> {
        let mut scratch = SCRATCH.take();
        let lines = (code.arena + extra).div_ceil(64);
        if scratch.arena.len() < lines {
            scratch.arena.resize(lines, Line([0; 64]));
        }
        scratch.values.clear();
        scratch.values.resize(code.values + 1, Value::NONE);
        for (value, lane) in &code.constants {
            scratch.values[*value] = Value { lanes: ptr::from_ref(lane).cast(), uniform: true };
        }
        // All of them first: the values point at them.
        scratch.scalars.clear();
        let lane = |&(_, slot, lane): &(usize, u16, Lane)| words::constant(lane, call.scalars[usize::from(slot)]);
        scratch.scalars.extend(code.scalars.iter().map(lane));
        for ((value, ..), lane) in code.scalars.iter().zip(&scratch.scalars) {
            scratch.values[*value] = Value { lanes: ptr::from_ref(lane).cast(), uniform: true };
        }
        scratch.places.clear();
        scratch.places.resize(code.strided.len(), Place::default());
        scratch.shifts.clear();
        scratch.shifts.resize(code.strided.len(), 0);
        scratch.step_index.clear();
        scratch.step_index.resize(code.step_axes.len(), 0);
        let mut frame = Frame { code, loads: call.loads, origin: call.origin, scratch, start: 0, n: 1, step: 0 };
        frame.find_places();
        // SAFETY: the caller vouches for the operands; a frame is only made where there is an element to compute.
        unsafe { frame.run_stage(0, None)? };
        Ok(frame)
    }

    /// The scratch beyond the registers, on a cache line of its own. It stays where it is.
    pub(super) fn extra(&mut self) -> *mut u8 {
        self.register(self.code.arena)
    }

    fn register(&mut self, offset: usize) -> *mut u8 {
        debug_assert!(offset <= self.scratch.arena.len() * 64);
        // SAFETY: offsets come from the allocation the arena was sized for.
        unsafe { self.scratch.arena.as_mut_ptr().cast::<u8>().add(offset) }
    }

    fn find_places(&mut self) {
        for (place, operand) in self.scratch.places.iter_mut().zip(&self.code.strided) {
            if let Some(operand) = operand {
                *place = operand.place(self.start);
                place.position += operand.by_origin * self.origin as i64;
            }
        }
    }

    /// Goes to the block of `n` lanes from `start`, and runs what changes from block to block.
    /// A result that is a block of its own is computed straight into `to`, if given.
    ///
    /// # Safety
    /// The lanes are part of the walk, and `to` has room for them.
    pub(super) unsafe fn block(&mut self, start: usize, n: usize, to: Option<*mut u8>) -> Result<(), Fault> {
        (self.start, self.n, self.step) = (start, n, 0);
        self.find_places();
        // SAFETY: the caller's promise.
        unsafe { self.run_stage(1, to) }
    }

    /// Goes to a step, given by its number.
    pub(super) fn go_to_step(&mut self, step: usize) {
        self.step = step;
        let mut rest = step;
        self.scratch.shifts.fill(0);
        for (k, &size) in self.code.step_axes.iter().enumerate().rev() {
            let index = rest % size;
            rest /= size;
            self.scratch.step_index[k] = index;
            for (shift, operand) in self.scratch.shifts.iter_mut().zip(&self.code.strided) {
                *shift += operand.as_ref().map_or(0, |operand| operand.steps[k] * index as i64);
            }
        }
    }

    /// Goes to the next step.
    pub(super) fn next_step(&mut self) {
        self.step += 1;
        for (k, &size) in self.code.step_axes.iter().enumerate().rev() {
            let index = &mut self.scratch.step_index[k];
            *index += 1;
            let (wraps, back) = (*index == size, *index as i64);
            if wraps {
                *index = 0;
            }
            for (shift, operand) in self.scratch.shifts.iter_mut().zip(&self.code.strided) {
                if let Some(operand) = operand {
                    *shift += operand.steps[k] * if wraps { 1 - back } else { 1 };
                }
            }
            if !wraps {
                return;
            }
        }
    }

    /// Runs what changes from step to step.
    ///
    /// # Safety
    /// The block and the step are inside the program's index space.
    pub(super) unsafe fn run_step(&mut self) -> Result<(), Fault> {
        // SAFETY: the caller's promise.
        unsafe { self.run_stage(2, None) }
    }

    /// The value of the program, for the current block and step.
    pub(super) fn result(&self) -> Value {
        self.scratch.values[self.code.result]
    }

    /// # Safety
    /// The current block and step are inside the index space; `to` has room for the lanes.
    unsafe fn run_stage(&mut self, stage: usize, to: Option<*mut u8>) -> Result<(), Fault> {
        let code = self.code;
        for step in &code.stages[stage] {
            let to = to.filter(|_| step.value == code.result);
            // SAFETY: steps run in order, so operands are there; registers were allotted so that none is
            // overwritten while it is needed; the rest is the caller's promise.
            let value = unsafe { self.run(step, to)? };
            self.scratch.values[step.value] = value;
        }
        Ok(())
    }

    /// # Safety
    /// As for [`Frame::run_stage`].
    unsafe fn run(&mut self, step: &Step, to: Option<*mut u8>) -> Result<Value, Fault> {
        let register = self.register(step.register);
        let n = self.n;
        // SAFETY: a register has room for a block of its lanes and overlaps no value that is still needed; every
        // value holds `n` lanes, or one if uniform; the caller vouches for operands and for `to`.
        unsafe {
            match &step.action {
                Action::Apply { kernels, operands, used, divides } => {
                    let [a, b, c] = operands.map(|value| *self.scratch.values.get_unchecked(value));
                    let uniform = usize::from(a.uniform) | usize::from(b.uniform) << 1 | usize::from(c.uniform) << 2;
                    if divides.is_some_and(|lane| any_zero(b, lane, n)) {
                        return Err(Fault::DivideByZero);
                    }
                    if uniform == *used {
                        kernels[0](1, register, a.lanes, b.lanes, c.lanes);
                        return Ok(Value { lanes: register, uniform: true });
                    }
                    let to = to.unwrap_or(register);
                    kernels[uniform](n, to, a.lanes, b.lanes, c.lanes);
                    Ok(Value { lanes: to, uniform: false })
                }
                Action::Load { .. } => Ok(self.load(&step.action, register, 0)),
                Action::Shifted { load, at } => {
                    let Value { lanes, uniform } = self.scratch.values[*at];
                    let by = lanes.cast::<i64>();
                    if uniform { Ok(self.load(load, register, *by)) } else { Ok(self.shifted(load, register, by)) }
                }
                Action::Gather { slot, loader, position, valid } => {
                    let position = self.scratch.values[*position];
                    let valid = valid.map(|valid| self.scratch.values[valid]);
                    let uniform = position.uniform && valid.is_none_or(|valid| valid.uniform);
                    let picks = Picks {
                        positions: position.lanes.cast(),
                        position_step: usize::from(!position.uniform),
                        valid: valid.map_or(ptr::null(), |valid| valid.lanes),
                        valid_step: valid.map_or(0, |valid| usize::from(!valid.uniform)),
                    };
                    (loader.gather)(if uniform { 1 } else { n }, register, self.loads[*slot], picks);
                    Ok(Value { lanes: register, uniform })
                }
                Action::Index { size, inner, first } => {
                    let first = if *first { self.origin } else { 0 };
                    indices(slice::from_raw_parts_mut(register.cast(), n), self.start, *size, *inner, first);
                    Ok(Value { lanes: register, uniform: false })
                }
                Action::Place { index, size, from_end } => {
                    let Value { lanes, uniform } = self.scratch.values[*index];
                    let count = if uniform { 1 } else { n };
                    let from = slice::from_raw_parts(lanes.cast::<i64>(), count);
                    let to = slice::from_raw_parts_mut(register.cast::<i64>(), count);
                    let mut inside = true;
                    for (to, &index) in to.iter_mut().zip(from) {
                        *to = if *from_end && index < 0 { index.wrapping_add(*size) } else { index };
                        inside &= (0..*size).contains(to);
                    }
                    if !inside {
                        return Err(Fault::OutOfRange);
                    }
                    Ok(Value { lanes: register, uniform })
                }
                Action::StepIndex { axis } => {
                    register.cast::<i64>().write(self.scratch.step_index[*axis] as i64);
                    Ok(Value { lanes: register, uniform: true })
                }
                Action::Position => {
                    let by = self.code.step_count;
                    let origin = self.origin.wrapping_mul(self.code.origin_step);
                    let first = origin.wrapping_add(self.start * by + self.step);
                    for (i, lane) in slice::from_raw_parts_mut(register.cast::<i64>(), n).iter_mut().enumerate() {
                        *lane = first.wrapping_add(i.wrapping_mul(by)) as i64;
                    }
                    Ok(Value { lanes: register, uniform: false })
                }
                Action::Lookup { table, index } => {
                    let index = self.scratch.values[*index];
                    lookup(if index.uniform { 1 } else { n }, register, table, index.lanes.cast());
                    Ok(Value { lanes: register, uniform: index.uniform })
                }
                Action::Rare { when, f, x, otherwise, width } => {
                    let [when, x, otherwise] = [*when, *x, *otherwise].map(|value| self.scratch.values[value]);
                    let uniform = when.uniform && x.uniform && otherwise.uniform;
                    let n = if uniform { 1 } else { n };
                    if otherwise.uniform {
                        for i in 0..n {
                            ptr::copy_nonoverlapping(otherwise.lanes, register.add(i * width), *width);
                        }
                    } else {
                        ptr::copy_nonoverlapping(otherwise.lanes, register, n * width);
                    }
                    rare(n, register, when, f, x);
                    Ok(Value { lanes: register, uniform })
                }
            }
        }
    }

    /// Reads a strided operand, each lane so many elements further: as many at a time as go equally far.
    ///
    /// # Safety
    /// As for [`Frame::run_stage`]; there is a distance for each lane, and what is read is an element.
    unsafe fn shifted(&mut self, action: &Action, register: *mut u8, by: *const i64) -> Value {
        let &Action::Load { slot, size, width, loader, dense } = action else { unreachable!("only loads come here") };
        let operand = self.code.strided[slot].as_ref().expect("a plain load is strided");
        let (base, stride) = (self.loads[slot], operand.stride());
        let first = self.scratch.shifts[slot] + operand.by_origin * self.origin as i64;
        let none = Value::NONE.lanes;
        // SAFETY: the caller's promise, and the register has room for a block.
        unsafe {
            let by = slice::from_raw_parts(by, self.n);
            operand.runs(self.start, self.n, |lane, length, position| {
                let mut done = 0;
                while done < length {
                    let far = by[lane + done];
                    let same = by[lane + done..lane + length].iter().take_while(|&&other| other == far).count();
                    let position = position + first + done as i64 * stride + far;
                    let (from, to) =
                        (base.offset(position as isize * size as isize), register.add((lane + done) * width));
                    match stride {
                        0 => dense[1](same, to, from, none, none),
                        1 => dense[0](same, to, from, none, none),
                        _ => (loader.strided)(same, to, from, stride as isize),
                    }
                    done += same;
                }
            });
        }
        Value { lanes: register, uniform: false }
    }

    /// Reads a strided operand, `by` elements further; in place where its elements are lanes already.
    ///
    /// # Safety
    /// As for [`Frame::run_stage`].
    unsafe fn load(&mut self, action: &Action, register: *mut u8, by: i64) -> Value {
        let &Action::Load { slot, size, width, loader, dense } = action else { unreachable!("only loads come here") };
        let operand = self.code.strided[slot].as_ref().expect("a plain load is strided");
        let (n, Place { position, room }) = (self.n, self.scratch.places[slot]);
        let (base, shift, stride) = (self.loads[slot], self.scratch.shifts[slot] + by, operand.stride());
        let none = Value::NONE.lanes;
        // SAFETY: the positions of the walk are elements behind `base`, and the register has room for a block.
        unsafe {
            let element = |position: i64| base.offset((position + shift) as isize * size as isize);
            if n == 1 || stride == 0 && room >= n {
                if loader.direct {
                    return Value { lanes: element(position), uniform: true };
                }
                dense[0](1, register, element(position), none, none);
                return Value { lanes: register, uniform: true };
            }
            if room >= n {
                match stride {
                    1 if loader.direct => return Value { lanes: element(position), uniform: false },
                    1 => dense[0](n, register, element(position), none, none),
                    _ => (loader.strided)(n, register, element(position), stride as isize),
                }
                return Value { lanes: register, uniform: false };
            }
            let origin = operand.by_origin * self.origin as i64;
            operand.runs(self.start, n, |lane, length, position| {
                let position = position + origin;
                let to = register.add(lane * width);
                match stride {
                    0 => dense[1](length, to, element(position), none, none),
                    1 => dense[0](length, to, element(position), none, none),
                    _ => (loader.strided)(length, to, element(position), stride as isize),
                }
            });
            Value { lanes: register, uniform: false }
        }
    }
}

/// Whether any lane of an integer value is 0.
///
/// # Safety
/// The value holds `n` lanes (one if uniform) of the lane type.
unsafe fn any_zero(value: Value, lane: Lane, n: usize) -> bool {
    let n = if value.uniform { 1 } else { n };
    // SAFETY: the caller's promise.
    unsafe {
        match lane {
            Lane::I32 => slice::from_raw_parts(value.lanes.cast::<i32>(), n).contains(&0),
            Lane::I64 => slice::from_raw_parts(value.lanes.cast::<i64>(), n).contains(&0),
            Lane::Mask | Lane::F32 | Lane::F64 => unreachable!("only integers are checked"),
        }
    }
}

/// # Safety
/// `to` has room for `n` lanes of 64 bits, and there are `n` indices.
unsafe fn lookup(n: usize, to: *mut u8, table: &Table, indices: *const i64) {
    let last = table.entries.len() - 1;
    // SAFETY: the caller's promise. An index beyond the table, which no program gives, would read its last entry.
    unsafe {
        let to = slice::from_raw_parts_mut(to.cast::<u64>(), n);
        for (to, &index) in to.iter_mut().zip(slice::from_raw_parts(indices, n)) {
            *to = table.entries[(index as usize).min(last)];
        }
    }
}

/// Overwrites the lanes of `to` where `when` is set.
///
/// # Safety
/// `to` holds `n` lanes of the function's type, as does `x`, and `when` `n` masks (or one each, if uniform).
unsafe fn rare(n: usize, to: *mut u8, when: Value, f: &LaneFn, x: Value) {
    // SAFETY: the caller's promise.
    unsafe {
        let masks = slice::from_raw_parts(when.lanes, if when.uniform { 1 } else { n });
        if masks.iter().fold(0, |any, &mask| any | mask) == 0 {
            return;
        }
        for i in 0..n {
            if *when.lanes.add(when.at(i)) == 0 {
                continue;
            }
            match f {
                LaneFn::F32(_, f) => to.cast::<f32>().add(i).write(f(*x.lanes.cast::<f32>().add(x.at(i)))),
                LaneFn::F64(_, f) => to.cast::<f64>().add(i).write(f(*x.lanes.cast::<f64>().add(x.at(i)))),
            }
        }
    }
}
