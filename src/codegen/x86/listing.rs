//! The text of code as it is written, in Intel's notation: what `ZITHER_DEBUG=4` prints.
//!
//! [`super::asm`] notes every instruction here, if it is asked to. The tests hold each line against a decoder's reading
//! of the bytes.

use super::asm::{Gpr, Label, Mem, Operand, Width};
use super::op::{Encoding, Op};
use std::collections::BTreeSet;
use std::fmt::Write;

/// Lines of code.
#[derive(Default)]
pub(super) struct Listing {
    lines: Vec<Line>,
    /// The labels that some instruction names.
    named: BTreeSet<u32>,
}

enum Line {
    Label(Label),
    Code(String),
    Data(String),
}

/// An operand of a general instruction.
#[derive(Clone, Copy)]
pub(super) enum Arg {
    /// The low bytes of a register: 1, 2, 4 or 8 of them.
    Low(usize, Gpr),
    Memory(Mem),
    /// So many bytes of memory, where no register says how many.
    Sized(usize, Mem),
    Label(Label),
    Number(i32),
    /// All bits of a register.
    Bits(u64),
    /// A vector register, and what is said of masks.
    Vector(Width, u8, &'static str),
    /// The mask register.
    Mask,
    MemoryUnderMask(Mem),
}

/// How a vector instruction is encoded.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Encoded {
    Vex,
    Evex,
    /// As before, with the mask register for a destination.
    ToMask,
}

impl From<Gpr> for Arg {
    fn from(register: Gpr) -> Arg {
        Arg::Low(8, register)
    }
}

impl From<Mem> for Arg {
    fn from(mem: Mem) -> Arg {
        Arg::Memory(mem)
    }
}

impl Listing {
    /// Everything that was noted. Constants that nothing reads are left out, and so are labels that nothing names.
    pub(super) fn text(&self) -> String {
        let mut text = String::new();
        let (mut after_label, mut is_read) = (false, false);
        for line in &self.lines {
            if let Line::Label(label) = line {
                // Several labels may be bound to one place.
                is_read = after_label && is_read || self.named.contains(&label.0);
            }
            after_label = matches!(line, Line::Label(_));
            let _ = match line {
                Line::Label(label) if self.named.contains(&label.0) => writeln!(text, "{}:", name(*label)),
                Line::Code(line) => writeln!(text, "    {line}"),
                Line::Data(line) if is_read => writeln!(text, "    {line}"),
                Line::Label(_) | Line::Data(_) => Ok(()),
            };
        }
        text
    }

    /// A label is bound here.
    pub(super) fn bind(&mut self, label: Label) {
        self.lines.push(Line::Label(label));
    }

    /// Bytes that are no code.
    pub(super) fn data(&mut self, bytes: &[u8]) {
        for vector in bytes.chunks(32) {
            let (words, rest) = vector.as_chunks::<8>();
            let words: Vec<String> = words.iter().map(|word| format!("{:#x}", u64::from_le_bytes(*word))).collect();
            let rest: Vec<String> = rest.iter().map(|byte| format!("{byte:#x}")).collect();
            for (size, numbers) in [("dq", words), ("db", rest)] {
                if !numbers.is_empty() {
                    self.lines.push(Line::Data(format!("{size} {}", numbers.join(", "))));
                }
            }
        }
    }

    /// A general instruction.
    pub(super) fn general(&mut self, mnemonic: &str, args: &[Arg]) {
        let args: Vec<String> = args.iter().map(|&arg| self.arg(arg)).collect();
        self.code(mnemonic, &args);
    }

    /// A vector instruction, with the operands of [`super::asm::Asm::vector`].
    pub(super) fn vector(
        &mut self,
        encoded: Encoded,
        op: Op,
        width: Width,
        [reg, vvvv]: [u8; 2],
        rm: Operand,
        immediate: Option<u8>,
    ) {
        let (constant, encoding) = op.described();
        let at = |position: usize, number: u8| match (encoded, position) {
            (Encoded::ToMask, 0) => "k1".to_string(),
            _ => register(constant, width, position, number),
        };
        let other = |position: usize| match rm {
            Operand::Register(r) => at(position, r.0),
            // The register does not say how wide the memory is.
            Operand::Memory(mem) if matches!(constant, "CVTPD2PS" | "CVTTPD2DQ") && width != Width::Z => {
                sized(width.bytes(), mem)
            }
            Operand::Memory(mem) => address(mem),
        };
        let number = immediate.unwrap_or(0);
        let args = match encoding {
            Encoding::Rm => vec![at(0, reg), other(1)],
            Encoding::Rmi => vec![at(0, reg), other(1), number.to_string()],
            Encoding::Rvm => vec![at(0, reg), at(1, vvvv), other(2)],
            Encoding::Rvmi => vec![at(0, reg), at(1, vvvv), other(2), number.to_string()],
            Encoding::Rvmr => vec![at(0, reg), at(1, vvvv), other(2), at(3, number >> 4)],
            Encoding::Mr => vec![other(0), at(1, reg)],
            Encoding::Mri => vec![other(0), at(1, reg), number.to_string()],
            Encoding::Mvr => vec![other(0), at(1, vvvv), at(2, reg)],
            Encoding::Vmi => vec![at(0, vvvv), other(1), number.to_string()],
        };
        if let Operand::Memory(mem) = rm {
            self.reads(mem);
        }
        let name = if encoded == Encoded::Vex { constant } else { evex_name(constant) };
        self.code(&format!("v{}", name.trim_end_matches("_STORE").to_lowercase()), &args);
    }

    fn code(&mut self, mnemonic: &str, args: &[String]) {
        let space = if args.is_empty() { "" } else { " " };
        self.lines.push(Line::Code(format!("{mnemonic}{space}{}", args.join(", "))));
    }

    fn arg(&mut self, arg: Arg) -> String {
        match arg {
            Arg::Low(bytes, register) => general_register(bytes, register),
            Arg::Memory(mem) => {
                self.reads(mem);
                address(mem)
            }
            Arg::Sized(bytes, mem) => {
                self.reads(mem);
                sized(bytes, mem)
            }
            Arg::Label(label) => {
                self.named.insert(label.0);
                name(label)
            }
            Arg::Number(number) => number.to_string(),
            Arg::Bits(bits) => format!("{bits:#x}"),
            Arg::Vector(width, number, mask) => format!("{}{mask}", vector_register(width, number)),
            Arg::Mask => "k1".to_string(),
            Arg::MemoryUnderMask(mem) => {
                self.reads(mem);
                format!("{}{{k1}}", address(mem))
            }
        }
    }

    fn reads(&mut self, mem: Mem) {
        if let Mem::At(label, _) = mem {
            self.named.insert(label.0);
        }
    }
}

fn name(label: Label) -> String {
    format!("L{}", label.0)
}

fn address(mem: Mem) -> String {
    let (place, displacement) = match mem {
        Mem::Base(base, displacement) => (general_register(8, base), displacement),
        Mem::Indexed(base, index, scale, displacement) => {
            let times = if scale == 1 { String::new() } else { format!("*{scale}") };
            (format!("{}+{}{times}", general_register(8, base), general_register(8, index)), displacement)
        }
        Mem::At(label, displacement) => (name(label), displacement),
    };
    if displacement == 0 { format!("[{place}]") } else { format!("[{place}{displacement:+}]") }
}

fn sized(bytes: usize, mem: Mem) -> String {
    let size = match bytes {
        1 => "byte",
        2 => "word",
        4 => "dword",
        8 => "qword",
        16 => "xmmword",
        _ => "ymmword",
    };
    format!("{size} ptr {}", address(mem))
}

fn general_register(bytes: usize, register: Gpr) -> String {
    const NAMES: [&str; 8] = ["ax", "cx", "dx", "bx", "sp", "bp", "si", "di"];
    match (NAMES.get(usize::from(register.0)), bytes) {
        (Some(name), 8) => format!("r{name}"),
        (Some(name), 4) => format!("e{name}"),
        (Some(name), 2) => name.to_string(),
        // Of the first four, those with a low byte that needs no prefix.
        (Some(name), _) => format!("{}l", &name[..1]),
        (None, bytes) => format!("r{}{}", register.0, ["b", "w", "d", ""][bytes.trailing_zeros() as usize]),
    }
}

/// What EVEX calls an instruction that VEX calls otherwise: it tells apart by lanes, and more ways to round.
fn evex_name(constant: &str) -> &str {
    match constant {
        "PAND" => "PANDD",
        "PANDN" => "PANDND",
        "POR" => "PORD",
        "PXOR" => "PXORD",
        "ROUNDPS" => "RNDSCALEPS",
        "ROUNDPD" => "RNDSCALEPD",
        "EXTRACTI128" => "EXTRACTI32X4",
        same => same,
    }
}

fn vector_register(width: Width, number: u8) -> String {
    let letter = match width {
        Width::X => 'x',
        Width::Y => 'y',
        Width::Z => 'z',
    };
    format!("{letter}mm{number}")
}

/// The register at some place among a vector instruction's operands: some are narrower than the rest, some are general ones.
fn register(constant: &str, width: Width, position: usize, number: u8) -> String {
    let width = match (constant, position) {
        ("EXTRACTI128", 0) | ("INSERTI128", 2) => Width::X,
        ("CVTPD2PS" | "CVTTPD2DQ" | "CVTPS2PH" | "PMOVDW" | "PMOVQD" | "EXTRACTI64X4", 0) | ("INSERTF64X4", 2) => {
            width.half()
        }
        ("CVTPS2PD" | "CVTDQ2PD" | "CVTPH2PS", 1) => width.half(),
        ("PMOVSXWD" | "PMOVSXDQ" | "PMOVZXWD" | "PMOVZXDQ", 1) => width.half(),
        ("PMOVDB", 0) | ("PMOVSXBD" | "PMOVZXBD", 1) => width.half().half(),
        ("PINSRB" | "PINSRW" | "PINSRD", 2) | ("MOVD", 1) | ("MOVD_STORE" | "PEXTRB" | "PEXTRW" | "PEXTRD", 0) => {
            return general_register(4, Gpr(number));
        }
        ("PINSRQ", 2) | ("MOVQ", 1) | ("PEXTRQ", 0) => return general_register(8, Gpr(number)),
        (_, 1) if constant.contains("BROADCAST") => Width::X,
        _ => width,
    };
    vector_register(width, number)
}
