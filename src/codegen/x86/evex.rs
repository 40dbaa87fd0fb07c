//! Instructions in EVEX: vectors of 512 bits, thirty-two registers, and masks of one bit a lane.
//!
//! Of the mask registers only `k1` is in use, from one instruction to the next: what a kernel keeps are lanes of all ones or all zeros,
//! in vectors of either encoding.

use super::asm::{Asm, Code, Mem, Operand, Vector, Width};
use super::listing::{Arg, Encoded};
use super::op::{Encoding, Evex, Memory, Op};

/// The mask register.
const MASK: u8 = 1;

/// A unit of which no displacement is a multiple.
const NEVER_SHORT: u32 = 32;

/// What an instruction does with the lanes that the mask does not have.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Others {
    /// There is no mask.
    None,
    Kept,
    Zero,
}

/// An instruction that is not one of the table's: its operands are masks, or it takes one.
const fn special(map: u8, prefix: u8, w: u8, code: u8) -> Op {
    Op { map, prefix, w, code, extension: 0, evex: Some(Evex { w, memory: Memory::PartOnly }) }
}

impl Asm {
    /// The bytes of an instruction that has no mask; operands as for [`Asm::vector`].
    pub(super) fn evex(&mut self, op: Op, width: Width, registers: [u8; 2], rm: Operand, immediate: Option<u8>) {
        self.evex_masked(op, width, registers, rm, immediate, Others::None);
    }

    fn evex_masked(
        &mut self,
        op: Op,
        width: Width,
        [reg, vvvv]: [u8; 2],
        rm: Operand,
        immediate: Option<u8>,
        others: Others,
    ) {
        let evex = op.evex.expect("the instruction is one of EVEX");
        let (x, b) = match rm {
            Operand::Register(r) => (r.0 >> 4, r.0 >> 3 & 1),
            Operand::Memory(mem) => mem.high_bits(),
        };
        let length = match width {
            Width::X => 0,
            Width::Y => 1,
            Width::Z => 2,
        };
        let (mask, zero) = match others {
            Others::None => (0, 0),
            Others::Kept => (MASK, 0),
            Others::Zero => (MASK, 1),
        };
        let not = |bit: u8| bit & 1 ^ 1;
        let code = Code::of([
            0x62,
            not(reg >> 3) << 7 | not(x) << 6 | not(b) << 5 | not(reg >> 4) << 4 | op.map,
            evex.w << 7 | (!vvvv & 15) << 3 | 4 | op.prefix,
            zero << 7 | length << 5 | not(vvvv >> 4) << 3 | mask,
            op.code,
        ]);
        let unit = match evex.memory {
            Memory::Full | Memory::FullOnly | Memory::FullToMask => width.bytes().trailing_zeros(),
            // Displacements that are not short are bytes for every instruction.
            Memory::Part | Memory::PartOnly => NEVER_SHORT,
        };
        self.operand(code, reg, rm, unit, immediate);
    }

    /// A comparison, whose result becomes lanes of all ones or all zeros.
    pub(super) fn compare_lanes(&mut self, op: Op, width: Width, to: u8, a: u8, b: Operand, immediate: Option<u8>) {
        debug_assert!(op.compares());
        self.list(Encoded::ToMask, op, width, [MASK, a], b, immediate);
        self.evex(op, width, [MASK, a], b, immediate);
        let is_wide = op.evex.is_some_and(|evex| evex.w == 1);
        let name = if is_wide { "vpmovm2q" } else { "vpmovm2d" };
        self.note(name, &[Arg::Vector(width, to, ""), Arg::Mask]);
        let spread = special(2, 2, u8::from(is_wide), 0x38);
        self.evex(spread, width, [to, 0], Operand::Register(Vector(MASK)), None);
    }

    /// Asks whether any bit of a register is set: then `NotEqual` holds.
    pub(super) fn any_bit(&mut self, width: Width, register: u8) {
        let vector = Arg::Vector(width, register, "");
        self.note("vptestmd", &[Arg::Mask, vector, vector]);
        self.evex(special(2, 1, 0, 0x27), width, [MASK, register], Operand::Register(Vector(register)), None);
        self.note("kortestw", &[Arg::Mask, Arg::Mask]);
        self.code(&Code::of([0xc5, 0xf8, 0x98, 0xc0 | MASK << 3 | MASK]));
    }

    /// Loads the mask: 16 bits.
    pub(super) fn load_mask(&mut self, from: Mem) {
        self.note("kmovw", &[Arg::Mask, from.into()]);
        let (x, b) = from.high_bits();
        let code = Code::of([0xc4, 0x80 | (x ^ 1) << 6 | (b ^ 1) << 5 | 1, 0x78, 0x90]);
        self.operand(code, MASK, Operand::Memory(from), 0, None);
    }

    /// Loads elements of 1, 2, 4 or 8 bytes where the mask has them; others are zero, and their memory is not touched.
    pub(super) fn load_elements(&mut self, size: usize, width: Width, to: u8, from: Mem) {
        let (name, op) = elements(size, Encoding::Rm);
        self.note(name, &[Arg::Vector(width, to, "{k1}{z}"), from.into()]);
        self.evex_masked(op, width, [to, 0], Operand::Memory(from), None, Others::Zero);
    }

    /// Stores elements where the mask has them.
    pub(super) fn store_elements(&mut self, size: usize, width: Width, to: Mem, from: u8) {
        let (name, op) = elements(size, Encoding::Mr);
        self.note(name, &[Arg::MemoryUnderMask(to), Arg::Vector(width, from, "")]);
        self.evex_masked(op, width, [from, 0], Operand::Memory(to), None, Others::Kept);
    }
}

/// The move of elements of so many bytes.
fn elements(size: usize, encoding: Encoding) -> (&'static str, Op) {
    let code = if encoding == Encoding::Mr { 0x7f } else { 0x6f };
    match size {
        1 => ("vmovdqu8", special(1, 3, 0, code)),
        2 => ("vmovdqu16", special(1, 3, 1, code)),
        4 => ("vmovdqu32", special(1, 2, 0, code)),
        _ => ("vmovdqu64", special(1, 2, 1, code)),
    }
}
