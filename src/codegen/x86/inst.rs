//! Vector instructions before they have registers: what [`super::select`] writes and [`super::allocate`] places.
//!
//! The code of a kernel is in three pieces of straight line: the *preamble*, run once a row, makes what no lane changes;
//! the *body*, run for every vector of elements, makes the rest; the *finish*, run after a row, is there for folds.

use super::asm::Width;
use super::op::Op;
use crate::ops::vector::LaneFn;

/// The name of a value that fits a vector register.
pub(super) type Id = u32;

/// Stands for "no value".
pub(super) const NONE: Id = Id::MAX;

/// Where a value can be read in memory, so that it need not be in a register.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Home {
    /// Nowhere: an instruction makes it.
    None,
    /// Among the kernel's constants.
    Constant(u32),
    /// In the frame, where the preamble has put it.
    Slot(u32),
    /// In an operand's memory: its element for the vector's given lane, and those after it.
    Element {
        operand: u16,
        lane: u8,
    },
    /// The same from the element before it on, in memory.
    Before {
        operand: u16,
        lane: u8,
    },
    /// The numbers of the vector's lanes, counted from the first lane of the loop's step.
    LaneNumbers,
    /// In the frame, where whoever runs the kernel has put it: 64 bits of a scalar.
    Scalar(u16),
    /// The position of the row's first element: one 64-bit number.
    Position,
    /// The lanes that a tail has, in lanes of 32 or of 64 bits.
    Tail32,
    Tail64,
    /// One vector of the accumulators of a row.
    Accumulators(u8),
}

/// How an instruction takes its operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// One operand, which may be in memory.
    Rm,
    /// Two operands, of which the second may be in memory.
    Rvm,
    /// As before, and they may change places.
    Commutative,
    /// Three operands: `third ? second : first`, of which the second may be in memory.
    Blend,
    /// `first · second + third`, of which one may be in memory. The instruction is one of three, chosen by its place.
    Fma,
    /// One operand in a register and an immediate.
    Shift,
    /// One operand in a register; the result could go to memory.
    Extract,
    /// The number of the loop's element.
    Index,
    /// `first ? f(second) : third`, all in registers.
    Rare(&'static LaneFn),
    /// The operand goes to memory.
    Store(Target),
}

/// Where a store goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Target {
    /// An operand's element for the vector's given lane, and those after it.
    Operand { operand: u16, lane: u8 },
    /// The frame.
    Slot(u32),
    /// One vector of the accumulators of a row.
    Accumulators(u8),
    /// The one element of an operand that belongs to the row.
    Row(u16),
}

/// One instruction on values.
#[derive(Clone, Copy, Debug)]
pub(super) struct Inst {
    pub(super) form: Form,
    pub(super) op: Op,
    pub(super) width: Width,
    pub(super) to: Id,
    pub(super) args: [Id; 3],
    pub(super) immediate: Option<u8>,
}

/// What is known of each value.
#[derive(Clone, Copy, Debug)]
pub(super) struct Value {
    pub(super) home: Home,
    /// How much of a register it takes.
    pub(super) width: Width,
    /// It is the same in all lanes, all along a row.
    pub(super) invariant: bool,
}

/// A fold of what is expected not to be NaN: one instruction a value, and two for every two values that tell whether it was right.
#[derive(Debug)]
pub(super) struct Numbers {
    pub(super) fold: [Inst; 1],
    /// Whether a value or the next copy's is NaN, and where that is noted.
    pub(super) compare: Inst,
    pub(super) note: [Inst; 1],
    pub(super) seen: Id,
}

/// A kernel's code.
#[derive(Debug, Default)]
pub(super) struct Pieces {
    pub(super) values: Vec<Value>,
    pub(super) constants: Vec<[u64; 4]>,
    /// How many slots of the frame the preamble fills.
    pub(super) slots: u32,
    pub(super) preamble: Vec<Inst>,
    pub(super) body: Vec<Inst>,
    /// Where the fold begins in `body`, and what takes its place in a tail.
    pub(super) fold: usize,
    pub(super) tail: Vec<Inst>,
    /// What can take the fold's place as long as there is no NaN.
    pub(super) numbers: Option<Numbers>,
    /// What follows the body where accumulators are in memory.
    pub(super) after: Vec<Inst>,
    pub(super) finish: Vec<Inst>,
}
