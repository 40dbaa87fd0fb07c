//! Straight lines of instructions, made of copies of a kernel's pieces, and when each value on them is wanted.

use super::inst::{Home, Id, Inst, NONE, Value};
use super::op;

/// No further use.
pub(super) const NEVER: u32 = u32::MAX;

/// An instruction of one copy of a piece of code.
#[derive(Clone, Copy, Debug)]
pub(super) struct Placed {
    pub(super) inst: Inst,
    pub(super) copy: u8,
}

/// A straight line of instructions: some copies of some pieces.
pub(super) struct Line<'p> {
    pub(super) values: &'p [Value],
    pub(super) placed: Vec<Placed>,
    pub(super) copies: usize,
    /// A value that all copies share though they change it.
    shared: Id,
}

impl<'p> Line<'p> {
    /// An empty line of up to so many copies; they share `shared`, if it is not [`NONE`].
    pub(super) fn new(values: &'p [Value], copies: usize, shared: Id) -> Line<'p> {
        Line { values, placed: Vec::new(), copies, shared }
    }

    /// The same line with nothing stored past the caches.
    pub(super) fn near(&self) -> Line<'p> {
        let mut placed = self.placed.clone();
        for placed in placed.iter_mut().filter(|placed| placed.inst.op == op::MOVNTPS_STORE) {
            placed.inst.op = op::MOVUPS_STORE;
        }
        Line { placed, ..*self }
    }

    /// The name of a value in one of the copies.
    pub(super) fn id(&self, id: Id, copy: usize) -> Id {
        if id == NONE || id == self.shared || self.is_shared(id) { id } else { id + (copy * self.values.len()) as Id }
    }

    /// Whether a value is the same in all copies.
    fn is_shared(&self, id: Id) -> bool {
        let value = self.values[id as usize];
        value.invariant || matches!(value.home, Home::Tail32 | Home::Tail64 | Home::Accumulators(_))
    }

    /// Adds instructions for some copies, one of each copy in turn.
    pub(super) fn add(&mut self, insts: &[Inst], copies: std::ops::Range<usize>) {
        for inst in insts {
            for copy in copies.clone() {
                let (to, args) = (self.id(inst.to, copy), inst.args.map(|id| self.id(id, copy)));
                self.placed.push(Placed { inst: Inst { to, args, ..*inst }, copy: copy as u8 });
            }
        }
    }
}

/// When each operand of each instruction is wanted next, and each result first.
pub(super) struct Uses {
    pub(super) args: Vec<[u32; 3]>,
    pub(super) results: Vec<u32>,
    /// The most values that are alive at one time and have no home.
    pub(super) pressure: usize,
}

impl Uses {
    pub(super) fn of(line: &Line) -> Uses {
        let count = line.values.len();
        let homeless = |id: Id| line.values[id as usize % count].home == Home::None;
        let mut seen = vec![NEVER; count * line.copies.max(1)];
        let mut uses =
            Uses { args: vec![[NEVER; 3]; line.placed.len()], results: vec![NEVER; line.placed.len()], pressure: 0 };
        let mut alive = 0usize;
        for (at, placed) in line.placed.iter().enumerate().rev() {
            let Inst { to, args, .. } = placed.inst;
            uses.pressure = uses.pressure.max(alive);
            if to != NONE {
                uses.results[at] = seen[to as usize];
                alive -= usize::from(homeless(to) && seen[to as usize] != NEVER);
                seen[to as usize] = NEVER;
            }
            for (k, &arg) in args.iter().enumerate() {
                if arg != NONE {
                    uses.args[at][k] = seen[arg as usize];
                }
            }
            for (k, &arg) in args.iter().enumerate() {
                if arg != NONE && !args[..k].contains(&arg) {
                    alive += usize::from(homeless(arg) && seen[arg as usize] == NEVER);
                    seen[arg as usize] = at as u32;
                }
            }
        }
        uses
    }
}
