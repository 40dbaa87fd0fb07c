//! Bytes of x86-64 instructions: vector instructions by their [`Op`], and the few others that loops need.
//!
//! Jumps and constants are named by [`Label`]s, which may be bound before or after they are used; [`Asm::finish`] puts
//! the distances in. Every instruction is also noted as text, if a [`Listing`] is kept. Nothing here knows what the code is for.

use super::listing::{Arg, Encoded, Listing};
use super::op::Op;

/// A general register, by its number in the encoding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Gpr(pub(super) u8);

pub(super) const RAX: Gpr = Gpr(0);
pub(super) const RCX: Gpr = Gpr(1);
pub(super) const RDX: Gpr = Gpr(2);
pub(super) const RBX: Gpr = Gpr(3);
pub(super) const RSP: Gpr = Gpr(4);
pub(super) const RBP: Gpr = Gpr(5);
pub(super) const RSI: Gpr = Gpr(6);
pub(super) const RDI: Gpr = Gpr(7);
pub(super) const R8: Gpr = Gpr(8);
pub(super) const R9: Gpr = Gpr(9);
pub(super) const R10: Gpr = Gpr(10);
pub(super) const R11: Gpr = Gpr(11);
pub(super) const R12: Gpr = Gpr(12);
pub(super) const R13: Gpr = Gpr(13);
pub(super) const R14: Gpr = Gpr(14);
pub(super) const R15: Gpr = Gpr(15);

/// A vector register, by its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Vector(pub(super) u8);

/// How many of a vector register's bits an instruction works on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Width {
    /// 128 bits.
    X,
    /// 256 bits.
    Y,
    /// 512 bits.
    Z,
}

impl Width {
    pub(super) fn bytes(self) -> usize {
        match self {
            Width::X => 16,
            Width::Y => 32,
            Width::Z => 64,
        }
    }

    /// How many registers there are where they are so wide.
    pub(super) fn registers(self) -> u8 {
        if self == Width::Z { 32 } else { 16 }
    }

    /// Half as wide, or as narrow as it gets.
    pub(super) fn half(self) -> Width {
        match self {
            Width::Z => Width::Y,
            Width::X | Width::Y => Width::X,
        }
    }
}

/// A place in the code or among its constants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Label(pub(super) u32);

/// An address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mem {
    /// `[base + displacement]`.
    Base(Gpr, i32),
    /// `[base + index · scale + displacement]`; the scale is 1, 2, 4 or 8.
    Indexed(Gpr, Gpr, u8, i32),
    /// The bytes from a label on, plus a displacement.
    At(Label, i32),
}

/// The operand that may be a register or memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operand {
    Register(Vector),
    Memory(Mem),
}

/// When a conditional jump is taken, after a comparison of unsigned numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Condition {
    Below = 2,
    Equal = 4,
    NotEqual = 5,
    BelowOrEqual = 6,
    Above = 7,
}

impl Condition {
    /// The name of its jump.
    fn jump(self) -> &'static str {
        match self {
            Condition::Below => "jb",
            Condition::Equal => "je",
            Condition::NotEqual => "jne",
            Condition::BelowOrEqual => "jbe",
            Condition::Above => "ja",
        }
    }
}

/// There is room for so many bytes of code, and for so many distances, from the beginning.
const ROOM: usize = 8192;
const DISTANCES: usize = 256;

/// Code being written.
pub(super) struct Asm {
    bytes: Vec<u8>,
    labels: Vec<Option<usize>>,
    fixups: Vec<Fixup>,
    listing: Option<Box<Listing>>,
}

/// Four bytes to be filled with the distance from `end`, the end of their instruction, to a label.
struct Fixup {
    at: u32,
    end: u32,
    label: Label,
    displacement: i32,
}

/// The bytes of one instruction before they join the others: fifteen at most, the first in the lowest bits.
pub(super) struct Code {
    bits: u128,
    length: u32,
}

impl Code {
    #[inline]
    pub(super) fn of<const N: usize>(bytes: [u8; N]) -> Code {
        let mut code = Code { bits: 0, length: 0 };
        code.extend(bytes);
        code
    }

    #[inline]
    fn push(&mut self, byte: u8) {
        self.extend([byte]);
    }

    #[inline]
    fn extend<const N: usize>(&mut self, bytes: [u8; N]) {
        // Bits, not bytes in memory: those would have to be waited for when all are stored at once.
        let bits = bytes.iter().rev().fold(0, |bits, &byte| bits << 8 | u64::from(byte));
        self.bits |= u128::from(bits) << (8 * self.length);
        self.length += N as u32;
    }
}

impl Asm {
    /// No code yet.
    pub(super) fn new() -> Asm {
        let (bytes, fixups) = (Vec::with_capacity(ROOM), Vec::with_capacity(DISTANCES));
        Asm { bytes, labels: Vec::with_capacity(16), fixups, listing: None }
    }

    /// Code that is also noted as text.
    pub(super) fn listed() -> Asm {
        Asm { listing: Some(Box::default()), ..Asm::new() }
    }

    /// The text of the code so far, where it is noted.
    pub(super) fn text(&self) -> String {
        self.listing.as_ref().map_or_else(String::new, |listing| listing.text())
    }

    /// The bytes, with all distances in place.
    pub(super) fn finish(mut self) -> Vec<u8> {
        for fixup in &self.fixups {
            let target = self.labels[fixup.label.0 as usize].expect("a label in use is bound");
            let distance = target as i64 - fixup.end as i64 + i64::from(fixup.displacement);
            let distance = i32::try_from(distance).expect("code is far below 2 GiB");
            self.bytes[fixup.at as usize..][..4].copy_from_slice(&distance.to_le_bytes());
        }
        self.bytes
    }

    /// The bytes so far.
    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.bytes.len()
    }

    /// A new label, not bound yet.
    pub(super) fn label(&mut self) -> Label {
        self.labels.push(None);
        Label(self.labels.len() as u32 - 1)
    }

    /// Binds a label here.
    pub(super) fn bind(&mut self, label: Label) {
        self.labels[label.0 as usize] = Some(self.bytes.len());
        if let Some(listing) = &mut self.listing {
            listing.bind(label);
        }
    }

    /// Fills up with `fill` to a multiple of `to` bytes.
    pub(super) fn align(&mut self, to: usize, fill: u8) {
        self.bytes.resize(self.bytes.len().next_multiple_of(to), fill);
    }

    /// Bytes that are no code.
    pub(super) fn data(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
        if let Some(listing) = &mut self.listing {
            listing.data(bytes);
        }
    }

    // Vector instructions

    /// `reg`, `rm` and `vvvv` as the instruction's own description places them; `vvvv` is 0 where it has none. In VEX, unless that
    /// does not reach.
    pub(super) fn vector(&mut self, op: Op, width: Width, reg: u8, vvvv: u8, rm: Operand, immediate: Option<u8>) {
        let is_upper = |register: u8| register > 15;
        let upper_rm = matches!(rm, Operand::Register(Vector(register)) if is_upper(register));
        if width == Width::Z || is_upper(reg) || is_upper(vvvv) || upper_rm || op.needs_evex() {
            debug_assert!(!op.compares(), "these give a mask");
            self.list(Encoded::Evex, op, width, [reg, vvvv], rm, immediate);
            self.evex(op, width, [reg, vvvv], rm, immediate);
        } else {
            self.list(Encoded::Vex, op, width, [reg, vvvv], rm, immediate);
            self.vex(op, width, [reg, vvvv], rm, immediate);
        }
    }

    /// Notes a vector instruction.
    pub(super) fn list(
        &mut self,
        encoded: Encoded,
        op: Op,
        width: Width,
        registers: [u8; 2],
        rm: Operand,
        immediate: Option<u8>,
    ) {
        if let Some(listing) = &mut self.listing {
            listing.vector(encoded, op, width, registers, rm, immediate);
        }
    }

    fn vex(&mut self, op: Op, width: Width, [reg, vvvv]: [u8; 2], rm: Operand, immediate: Option<u8>) {
        let (x, b) = match rm {
            Operand::Register(r) => (0, r.0 >> 3),
            Operand::Memory(mem) => mem.high_bits(),
        };
        let length = u8::from(width == Width::Y) << 2;
        let r = (reg >> 3) ^ 1;
        let last = (!vvvv & 15) << 3 | length | op.prefix;
        let code = if op.map == 1 && op.w == 0 && x == 0 && b == 0 {
            Code::of([0xc5, r << 7 | last, op.code])
        } else {
            Code::of([0xc4, r << 7 | (x ^ 1) << 6 | (b ^ 1) << 5 | op.map, op.w << 7 | last, op.code])
        };
        self.operand(code, reg, rm, 0, immediate);
    }

    /// An instruction of which everything up to the opcode is there. Short displacements count in units of so many bits of the address.
    #[inline(always)]
    pub(super) fn operand(&mut self, mut code: Code, reg: u8, rm: Operand, unit: u32, immediate: Option<u8>) {
        match rm {
            Operand::Register(r) => code.push(0xc0 | (reg & 7) << 3 | r.0 & 7),
            Operand::Memory(mem) => self.address(&mut code, reg, mem, unit, u32::from(immediate.is_some())),
        }
        if let Some(immediate) = immediate {
            code.push(immediate);
        }
        self.code(&code);
    }

    /// A whole instruction.
    #[inline]
    pub(super) fn code(&mut self, code: &Code) {
        // All bytes at once, and then without those that are too many: quicker than to count them.
        let end = self.bytes.len() + code.length as usize;
        self.bytes.extend_from_slice(&code.bits.to_le_bytes());
        self.bytes.truncate(end);
    }

    /// A vector instruction whose operand is a general register.
    pub(super) fn vector_gpr(&mut self, op: Op, reg: Vector, from: Gpr) {
        self.vector(op, Width::X, reg.0, 0, Operand::Register(Vector(from.0)), None);
    }

    /// Clears the upper halves, as code of other people expects.
    pub(super) fn vzeroupper(&mut self) {
        self.note("vzeroupper", &[]);
        self.bytes.extend([0xc5, 0xf8, 0x77]);
    }

    // General instructions, on 64 bits unless they say otherwise

    pub(super) fn load(&mut self, to: Gpr, from: Mem) {
        self.note("mov", &[to.into(), from.into()]);
        self.with_memory([0x8b], true, to.0, from, 0);
    }

    pub(super) fn store(&mut self, to: Mem, from: Gpr) {
        self.note("mov", &[to.into(), from.into()]);
        self.with_memory([0x89], true, from.0, to, 0);
    }

    /// Loads 1, 2, 4 or 8 bytes, zero above.
    pub(super) fn load_bytes(&mut self, size: usize, to: Gpr, from: Mem) {
        match size {
            1 | 2 => self.note("movzx", &[Arg::Low(4, to), Arg::Sized(size, from)]),
            4 => self.note("mov", &[Arg::Low(4, to), from.into()]),
            _ => {}
        }
        match size {
            1 => self.with_memory([0x0f, 0xb6], false, to.0, from, 0),
            2 => self.with_memory([0x0f, 0xb7], false, to.0, from, 0),
            4 => self.with_memory([0x8b], false, to.0, from, 0),
            _ => self.load(to, from),
        }
    }

    /// Stores the low 1, 2, 4 or 8 bytes of `rax`, `rcx`, `rdx` or `rbx`.
    pub(super) fn store_bytes(&mut self, size: usize, to: Mem, from: Gpr) {
        debug_assert!(from.0 < 4, "the low byte of another register needs a prefix");
        if size < 8 {
            self.note("mov", &[to.into(), Arg::Low(size, from)]);
        }
        match size {
            1 => self.with_memory([0x88], false, from.0, to, 0),
            2 => {
                self.bytes.push(0x66);
                self.with_memory([0x89], false, from.0, to, 0);
            }
            4 => self.with_memory([0x89], false, from.0, to, 0),
            _ => self.store(to, from),
        }
    }

    /// Stores a 32-bit number.
    pub(super) fn store_immediate(&mut self, to: Mem, value: u32) {
        self.note("mov", &[Arg::Sized(4, to), Arg::Bits(value.into())]);
        self.with_memory([0xc7], false, 0, to, 4);
        self.bytes.extend(value.to_le_bytes());
    }

    pub(super) fn lea(&mut self, to: Gpr, of: Mem) {
        self.note("lea", &[to.into(), of.into()]);
        self.with_memory([0x8d], true, to.0, of, 0);
    }

    /// Fetches a cache line, if it can be read, into all caches or only as near as the second one.
    pub(super) fn prefetch(&mut self, of: Mem, near: bool) {
        self.note(if near { "prefetcht0" } else { "prefetcht1" }, &[of.into()]);
        self.with_memory([0x0f, 0x18], false, if near { 1 } else { 2 }, of, 0);
    }

    pub(super) fn add_from_memory(&mut self, to: Gpr, from: Mem) {
        self.note("add", &[to.into(), from.into()]);
        self.with_memory([0x03], true, to.0, from, 0);
    }

    pub(super) fn add_into_memory(&mut self, to: Mem, from: Gpr) {
        self.note("add", &[to.into(), from.into()]);
        self.with_memory([0x01], true, from.0, to, 0);
    }

    /// Adds a number to 64 bits in memory.
    pub(super) fn add_to_memory(&mut self, to: Mem, value: i32) {
        self.note("add", &[Arg::Sized(8, to), Arg::Number(value)]);
        self.with_memory([0x81], true, 0, to, 4);
        self.bytes.extend(value.to_le_bytes());
    }

    pub(super) fn add(&mut self, to: Gpr, value: i32) {
        self.note("add", &[to.into(), Arg::Number(value)]);
        self.with_registers([0x81], true, 0, to.0);
        self.bytes.extend(value.to_le_bytes());
    }

    pub(super) fn and(&mut self, to: Gpr, value: i32) {
        self.note("and", &[to.into(), Arg::Number(value)]);
        self.with_registers([0x81], true, 4, to.0);
        self.bytes.extend(value.to_le_bytes());
    }

    pub(super) fn sub(&mut self, to: Gpr, from: Gpr) {
        self.note("sub", &[to.into(), from.into()]);
        self.with_registers([0x29], true, from.0, to.0);
    }

    pub(super) fn neg(&mut self, to: Gpr) {
        self.note("neg", &[to.into()]);
        self.with_registers([0xf7], true, 3, to.0);
    }

    pub(super) fn compare(&mut self, a: Gpr, b: Gpr) {
        self.note("cmp", &[a.into(), b.into()]);
        self.with_registers([0x39], true, b.0, a.0);
    }

    pub(super) fn compare_immediate(&mut self, a: Gpr, value: i8) {
        self.note("cmp", &[a.into(), Arg::Number(value.into())]);
        self.with_registers([0x83], true, 7, a.0);
        self.bytes.push(value as u8);
    }

    pub(super) fn copy(&mut self, to: Gpr, from: Gpr) {
        self.note("mov", &[to.into(), from.into()]);
        self.with_registers([0x89], true, from.0, to.0);
    }

    pub(super) fn zero(&mut self, to: Gpr) {
        self.note("xor", &[Arg::Low(4, to), Arg::Low(4, to)]);
        self.with_registers([0x31], false, to.0, to.0);
    }

    pub(super) fn immediate(&mut self, to: Gpr, value: u64) {
        self.note("mov", &[to.into(), Arg::Bits(value)]);
        self.bytes.extend([0x48 | to.0 >> 3, 0xb8 | to.0 & 7]);
        self.bytes.extend(value.to_le_bytes());
    }

    pub(super) fn push(&mut self, register: Gpr) {
        self.note("push", &[register.into()]);
        self.short(0x50, register);
    }

    pub(super) fn pop(&mut self, register: Gpr) {
        self.note("pop", &[register.into()]);
        self.short(0x58, register);
    }

    pub(super) fn ret(&mut self) {
        self.note("ret", &[]);
        self.bytes.push(0xc3);
    }

    pub(super) fn call_register(&mut self, to: Gpr) {
        self.note("call", &[to.into()]);
        self.with_registers([0xff], false, 2, to.0);
    }

    pub(super) fn call(&mut self, to: Label) {
        self.note("call", &[Arg::Label(to)]);
        self.bytes.push(0xe8);
        self.distance(to);
    }

    pub(super) fn jump(&mut self, to: Label) {
        self.note("jmp", &[Arg::Label(to)]);
        self.bytes.push(0xe9);
        self.distance(to);
    }

    pub(super) fn jump_if(&mut self, condition: Condition, to: Label) {
        self.note(condition.jump(), &[Arg::Label(to)]);
        self.bytes.extend([0x0f, 0x80 | condition as u8]);
        self.distance(to);
    }

    /// Notes a general instruction.
    #[inline(always)]
    pub(super) fn note(&mut self, mnemonic: &str, args: &[Arg]) {
        if let Some(listing) = &mut self.listing {
            listing.general(mnemonic, args);
        }
    }

    // Pieces of encodings

    fn short(&mut self, code: u8, register: Gpr) {
        if register.0 > 7 {
            self.bytes.push(0x41);
        }
        self.bytes.push(code | register.0 & 7);
    }

    fn with_registers<const N: usize>(&mut self, code: [u8; N], wide: bool, reg: u8, rm: u8) {
        let mut bytes = rex(wide, reg, 0, rm >> 3);
        bytes.extend(code);
        bytes.push(0xc0 | (reg & 7) << 3 | rm & 7);
        self.code(&bytes);
    }

    fn with_memory<const N: usize>(&mut self, code: [u8; N], wide: bool, reg: u8, mem: Mem, trailing: u32) {
        let (x, b) = mem.high_bits();
        let mut bytes = rex(wide, reg, x, b);
        bytes.extend(code);
        self.address(&mut bytes, reg, mem, 0, trailing);
        self.code(&bytes);
    }

    /// The bytes that say which address; short displacements count in units of so many bits, and `trailing` bytes of the instruction follow.
    fn address(&mut self, code: &mut Code, reg: u8, mem: Mem, unit: u32, trailing: u32) {
        let reg = (reg & 7) << 3;
        match mem {
            Mem::At(label, displacement) => {
                code.push(reg | 5);
                self.fix(code.length, label, displacement, trailing);
                code.extend([0; 4]);
            }
            Mem::Base(base, displacement) => {
                let (mode, short) = size_of_displacement(displacement, base, unit);
                code.push(mode << 6 | reg | base.0 & 7);
                if base.0 & 7 == 4 {
                    code.push(0x24);
                }
                put_displacement(code, mode, short, displacement);
            }
            Mem::Indexed(base, index, scale, displacement) => {
                debug_assert!(index != RSP && scale.is_power_of_two() && scale <= 8);
                let (mode, short) = size_of_displacement(displacement, base, unit);
                let scale = scale.trailing_zeros() as u8;
                code.extend([mode << 6 | reg | 4, scale << 6 | (index.0 & 7) << 3 | base.0 & 7]);
                put_displacement(code, mode, short, displacement);
            }
        }
    }

    /// Four bytes for the distance to a label.
    fn distance(&mut self, label: Label) {
        self.fix(0, label, 0, 0);
        self.bytes.extend([0; 4]);
    }

    /// Notes that the four bytes so far behind the present end will be the distance to a label.
    fn fix(&mut self, behind: u32, label: Label, displacement: i32, trailing: u32) {
        let at = self.bytes.len() as u32 + behind;
        self.fixups.push(Fixup { at, end: at + 4 + trailing, label, displacement });
    }
}

/// The prefix that says how wide general registers are and which, where one is needed.
fn rex(wide: bool, reg: u8, x: u8, b: u8) -> Code {
    match 0x40 | u8::from(wide) << 3 | (reg >> 3) << 2 | x << 1 | b {
        0x40 => Code::of([]),
        rex => Code::of([rex]),
    }
}

/// The mode bits for a displacement, and its one byte where that is enough: it counts in units of so many bits. `rbp` and `r13` always
/// need one.
fn size_of_displacement(displacement: i32, base: Gpr, unit: u32) -> (u8, u8) {
    let short = i64::from(displacement) >> unit;
    if displacement == 0 && base.0 & 7 != 5 {
        (0, 0)
    } else if short << unit == i64::from(displacement) && i8::try_from(short).is_ok() {
        (1, short as u8)
    } else {
        (2, 0)
    }
}

fn put_displacement(code: &mut Code, mode: u8, short: u8, displacement: i32) {
    match mode {
        0 => {}
        1 => code.push(short),
        _ => code.extend(displacement.to_le_bytes()),
    }
}

impl Mem {
    /// The fourth bits of the index and of the base.
    pub(super) fn high_bits(self) -> (u8, u8) {
        match self {
            Mem::Base(base, _) => (0, base.0 >> 3),
            Mem::Indexed(base, index, ..) => (index.0 >> 3, base.0 >> 3),
            Mem::At(..) => (0, 0),
        }
    }

    /// The address so many bytes on.
    pub(super) fn offset(self, by: i32) -> Mem {
        match self {
            Mem::Base(base, displacement) => Mem::Base(base, displacement + by),
            Mem::Indexed(base, index, scale, displacement) => Mem::Indexed(base, index, scale, displacement + by),
            Mem::At(label, displacement) => Mem::At(label, displacement + by),
        }
    }
}
