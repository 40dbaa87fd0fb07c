//! Straight lines of instructions, made of copies of a kernel's pieces, and when each value on them is wanted.

use super::inst::{Home, Id, Inst, NONE, Value};

/// No further use.
pub(super) const NEVER: u32 = u32::MAX;

/// An instruction of one copy of a piece of code.
#[derive(Clone, Copy)]
pub(super) struct Placed<'p> {
    pub(super) inst: &'p Inst,
    pub(super) copy: u8,
    /// The result and the operands, by their names in this copy.
    pub(super) to: Id,
    pub(super) args: [Id; 3],
    /// When the result is wanted first, and each operand next: numbers of instructions, or [`NEVER`].
    pub(super) first_use: u32,
    pub(super) next: [u32; 3],
}

/// A straight line of instructions: some copies of some pieces.
pub(super) struct Line<'p> {
    pub(super) values: &'p [Value],
    pub(super) placed: Vec<Placed<'p>>,
    pub(super) copies: usize,
    /// A value that all copies share though they change it.
    shared: Id,
}

impl<'p> Line<'p> {
    /// An empty line of up to so many copies; they share `shared`, if it is not [`NONE`].
    pub(super) fn new(values: &'p [Value], copies: usize, shared: Id) -> Line<'p> {
        Line { values, placed: Vec::new(), copies, shared }
    }

    /// The name of a value in one of the copies.
    pub(super) fn id(&self, id: Id, copy: usize) -> Id {
        if id == NONE || copy == 0 || id == self.shared || self.is_shared(id) {
            id
        } else {
            id + (copy * self.values.len()) as Id
        }
    }

    /// Whether a value is the same in all copies.
    fn is_shared(&self, id: Id) -> bool {
        let value = &self.values[id as usize];
        value.invariant || matches!(value.home, Home::Tail32 | Home::Tail64 | Home::Accumulators(_))
    }

    /// Adds instructions for some copies, one of each copy in turn.
    pub(super) fn add(&mut self, insts: &'p [Inst], copies: std::ops::Range<usize>) {
        self.placed.reserve(insts.len() * copies.len());
        for inst in insts {
            for copy in copies.clone() {
                self.place(inst, copy, inst.args.map(|id| self.id(id, copy)));
            }
        }
    }

    /// Adds an instruction for a copy, but its second operand is the next copy's.
    pub(super) fn add_across(&mut self, inst: &'p Inst, copy: usize) {
        let [a, b, c] = inst.args;
        self.place(inst, copy, [self.id(a, copy), self.id(b, copy + 1), self.id(c, copy)]);
    }

    fn place(&mut self, inst: &'p Inst, copy: usize, args: [Id; 3]) {
        let (to, first_use, next) = (self.id(inst.to, copy), NEVER, [NEVER; 3]);
        self.placed.push(Placed { inst, copy: copy as u8, to, args, first_use, next });
    }

    /// Looks from the end on when each value is wanted. Gives the most values that are alive at one time and have no home. `seen` is
    /// memory to work in.
    pub(super) fn look_ahead(&mut self, seen: &mut Vec<u32>) -> usize {
        let homeless = |id: Id| usize::from(self.values[id as usize].home == Home::None);
        seen.clear();
        seen.resize(self.values.len() * self.copies.max(1), NEVER);
        let (mut alive, mut pressure) = (0, 0);
        for (at, placed) in self.placed.iter_mut().enumerate().rev() {
            pressure = pressure.max(alive);
            if placed.to != NONE {
                placed.first_use = std::mem::replace(&mut seen[placed.to as usize], NEVER);
                if placed.first_use != NEVER {
                    alive -= homeless(placed.inst.to);
                }
            }
            for (next, &arg) in placed.next.iter_mut().zip(&placed.args) {
                if arg != NONE {
                    *next = seen[arg as usize];
                }
            }
            for (&arg, &of) in placed.args.iter().zip(&placed.inst.args) {
                // Named twice, it counts once.
                if arg != NONE && std::mem::replace(&mut seen[arg as usize], at as u32) == NEVER {
                    alive += homeless(of);
                }
            }
        }
        pressure
    }
}
