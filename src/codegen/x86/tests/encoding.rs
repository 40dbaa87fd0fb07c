//! Every instruction form, decoded by someone else.

use super::super::asm::*;
use super::super::op::{self, Encoding, Op};
use super::listing;
use iced_x86::{Decoder, DecoderOptions, Formatter, IntelFormatter};

/// The text of every instruction in a piece of code.
pub(super) fn disassemble(code: &[u8]) -> Vec<String> {
    let mut formatter = IntelFormatter::new();
    formatter.options_mut().set_space_after_operand_separator(true);
    formatter.options_mut().set_rip_relative_addresses(true);
    formatter.options_mut().set_memory_size_options(iced_x86::MemorySizeOptions::Never);
    formatter.options_mut().set_use_pseudo_ops(false);
    let mut lines = Vec::new();
    for instruction in Decoder::with_ip(64, code, 0, DecoderOptions::NONE).iter() {
        let mut line = String::new();
        formatter.format(&instruction, &mut line);
        assert!(!instruction.is_invalid(), "no instruction after {lines:?}");
        lines.push(line);
    }
    lines
}

#[track_caller]
fn check(emit: impl FnOnce(&mut Asm), expected: &str) {
    let mut asm = Asm::listed();
    emit(&mut asm);
    let text = asm.text();
    let code = asm.finish();
    assert_eq!(disassemble(&code), [expected]);
    listing::check(&code, &[], &text);
}

fn name(constant: &str, is_evex: bool) -> String {
    let plain = constant.trim_end_matches("_STORE").to_lowercase();
    match (&plain[..], is_evex) {
        ("pand" | "pandn" | "por" | "pxor", true) => format!("v{plain}d"),
        ("roundps", true) => "vrndscaleps".to_string(),
        ("roundpd", true) => "vrndscalepd".to_string(),
        ("extracti128", true) => "vextracti32x4".to_string(),
        _ => format!("v{plain}"),
    }
}

/// Which operands of an instruction are narrower than it works, or general registers.
fn registers(name: &str, width: Width, position: usize, number: u8) -> String {
    let half = if width == Width::Z { 'y' } else { 'x' };
    let letter = match (name, position) {
        ("EXTRACTI128", 0) | ("INSERTI128", 2) => 'x',
        ("CVTPD2PS" | "CVTTPD2DQ" | "CVTPS2PH" | "PMOVDW" | "PMOVQD" | "EXTRACTI64X4", 0) | ("INSERTF64X4", 2) => half,
        ("CVTPS2PD" | "CVTDQ2PD" | "CVTPH2PS", 1) => half,
        ("PMOVDB", 0) => 'x',
        _ if name.starts_with("PMOV") && position == 1 && name.ends_with("XBD") => 'x',
        _ if name.starts_with("PMOV") && position == 1 && name.contains('X') => half,
        _ if name.contains("BROADCAST") && position == 1 => 'x',
        ("PINSRB" | "PINSRW" | "PINSRD", 2) | ("MOVD", 1) | ("MOVD_STORE" | "PEXTRB" | "PEXTRW" | "PEXTRD", 0) => {
            return gpr32(number);
        }
        ("PINSRQ", 2) | ("MOVQ", 1) | ("PEXTRQ", 0) => return gpr64(number),
        _ if width == Width::X => 'x',
        _ if width == Width::Y => 'y',
        _ => 'z',
    };
    format!("{letter}mm{number}")
}

/// Whether operands are general registers, of which there are sixteen.
fn has_general(name: &str) -> bool {
    matches!(name, "MOVD" | "MOVQ" | "MOVD_STORE" | "PEXTRB")
}

const NAMES: [&str; 16] =
    ["rax", "rcx", "rdx", "rbx", "rsp", "rbp", "rsi", "rdi", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15"];

fn gpr64(number: u8) -> String {
    NAMES[usize::from(number)].to_string()
}

fn gpr32(number: u8) -> String {
    if number < 8 { format!("e{}", &NAMES[usize::from(number)][1..]) } else { format!("r{number}d") }
}

/// The text expected of an instruction with the given registers, `rm` being text already.
fn expected(form: (&str, bool), encoding: Encoding, width: Width, reg: u8, vvvv: u8, rm: &str) -> String {
    let r = |position, number| registers(form.0, width, position, number);
    let name = name(form.0, form.1);
    match encoding {
        Encoding::Rm => format!("{name} {}, {rm}", r(0, reg)),
        Encoding::Rmi => format!("{name} {}, {rm}, 5", r(0, reg)),
        Encoding::Rvm => format!("{name} {}, {}, {rm}", r(0, reg), r(1, vvvv)),
        Encoding::Rvmi => format!("{name} {}, {}, {rm}, 5", r(0, reg), r(1, vvvv)),
        Encoding::Rvmr => format!("{name} {}, {}, {rm}, {}", r(0, reg), r(1, vvvv), r(3, 11)),
        Encoding::Mr => format!("{name} {rm}, {}", r(1, reg)),
        Encoding::Mri => format!("{name} {rm}, {}, 5", r(1, reg)),
        Encoding::Mvr => format!("{name} {rm}, {}, {}", r(1, vvvv), r(2, reg)),
        Encoding::Vmi => format!("{name} {}, {rm}, 5", r(0, vvvv)),
    }
}

fn immediate(encoding: Encoding) -> Option<u8> {
    match encoding {
        Encoding::Rmi | Encoding::Rvmi | Encoding::Mri | Encoding::Vmi => Some(5),
        Encoding::Rvmr => Some(11 << 4),
        Encoding::Rm | Encoding::Rvm | Encoding::Mr | Encoding::Mvr => None,
    }
}

fn each_form(mut f: impl FnMut(&str, Op, Encoding, Width)) {
    for &(name, op, encoding, widths) in op::ALL {
        for letter in widths.chars() {
            let width = match letter {
                'x' => Width::X,
                'y' => Width::Y,
                _ => Width::Z,
            };
            f(name, op, encoding, width);
        }
    }
}

#[test]
fn every_vector_instruction_is_what_its_name_says_on_registers() {
    each_form(|name, op, encoding, width| {
        // What only goes between registers and memory.
        if name.contains("MASKMOV") || name.contains("MOVNT") {
            return;
        }
        // A scalar move between registers takes a third.
        if name == "MOVSS_STORE" || name == "MOVSD_STORE" {
            return;
        }
        let lower = [(1, 2, 3), (9, 2, 3), (1, 10, 3), (1, 2, 13), (15, 14, 12)];
        let upper = [(17, 2, 3), (1, 26, 3), (1, 2, 21), (31, 30, 28), (16, 9, 12), (9, 24, 31)];
        for (reg, vvvv, rm) in lower.into_iter().chain(upper) {
            let has_vvvv = matches!(encoding, Encoding::Rvm | Encoding::Rvmi | Encoding::Rvmr | Encoding::Vmi);
            let reg = if encoding == Encoding::Vmi { op.extension } else { reg };
            let position = match encoding {
                Encoding::Rm | Encoding::Rmi | Encoding::Vmi => 1,
                Encoding::Mr | Encoding::Mri | Encoding::Mvr => 0,
                Encoding::Rvm | Encoding::Rvmi | Encoding::Rvmr => 2,
            };
            let rm = if has_general(name) { rm & 15 } else { rm };
            let vvvv = if has_vvvv { vvvv } else { 0 };
            let is_upper = reg.max(vvvv).max(rm) > 15;
            let is_evex = is_upper || width == Width::Z || op.needs_evex();
            if is_evex && (op.evex.is_none() || op.compares()) {
                continue;
            }
            let text = registers(name, width, position, rm);
            check(
                |asm| asm.vector(op, width, reg, vvvv, Operand::Register(Vector(rm)), immediate(encoding)),
                &expected((name, is_evex), encoding, width, reg, vvvv, &text),
            );
        }
    });
}

/// Addresses of every shape, and their text.
fn addresses() -> Vec<(Mem, String)> {
    let mut list = Vec::new();
    for base in 0..16u8 {
        let name = gpr64(base);
        list.push((Mem::Base(Gpr(base), 0), format!("[{name}]")));
        list.push((Mem::Base(Gpr(base), 64), format!("[{name}+40h]")));
        list.push((Mem::Base(Gpr(base), -4096), format!("[{name}-1000h]")));
        for (index, scale) in [(RAX, 1), (RAX, 4), (R9, 2), (R12, 8)] {
            let times = if scale == 1 { String::new() } else { format!("*{scale}") };
            let index_name = gpr64(index.0);
            list.push((Mem::Indexed(Gpr(base), index, scale, 0), format!("[{name}+{index_name}{times}]")));
            list.push((Mem::Indexed(Gpr(base), index, scale, 32), format!("[{name}+{index_name}{times}+20h]")));
            list.push((Mem::Indexed(Gpr(base), index, scale, 512), format!("[{name}+{index_name}{times}+200h]")));
        }
    }
    list
}

#[test]
fn every_vector_instruction_is_what_its_name_says_on_memory() {
    let addresses = addresses();
    let mut turn = 0;
    each_form(|name, op, encoding, width| {
        // What only goes between registers.
        if matches!(name, "MOVAPS") || encoding == Encoding::Vmi {
            return;
        }
        // A few addresses each, so that all addresses meet some instruction.
        for _ in 0..7 {
            let (mem, text) = &addresses[turn % addresses.len()];
            turn += 1;
            let registers = if op.evex.is_some() && !op.compares() { 32 } else { 16 };
            let (reg, vvvv) = ((turn % registers) as u8, (turn / 3 % registers) as u8);
            let has_vvvv = matches!(encoding, Encoding::Rvm | Encoding::Rvmi | Encoding::Rvmr | Encoding::Mvr);
            let vvvv = if has_vvvv { vvvv } else { 0 };
            let is_evex = reg.max(vvvv) > 15 || width == Width::Z || op.needs_evex();
            if is_evex && op.compares() {
                continue;
            }
            check(
                |asm| asm.vector(op, width, reg, vvvv, Operand::Memory(*mem), immediate(encoding)),
                &expected((name, is_evex), encoding, width, reg, vvvv, text),
            );
        }
    });
    assert!(turn > addresses.len(), "every address was used");
}

/// The lines of some code, which has the listing that the decoder says.
fn lines(emit: impl FnOnce(&mut Asm)) -> Vec<String> {
    let mut asm = Asm::listed();
    emit(&mut asm);
    let text = asm.text();
    let code = asm.finish();
    listing::check(&code, &[], &text);
    disassemble(&code)
}

#[test]
fn comparisons_become_lanes() {
    each_form(|name, op, encoding, width| {
        if !op.compares() {
            return;
        }
        for (to, a, b) in [(1, 2, 3), (20, 9, 31), (7, 24, 14)] {
            let rm = Operand::Register(Vector(b));
            let found = lines(|asm| asm.compare_lanes(op, width, to, a, rm, immediate(encoding)));
            let [a, b, to] = [a, b, to].map(|register| registers("", width, 0, register));
            let predicate = if encoding == Encoding::Rvmi { ", 5" } else { "" };
            let lane = if name.ends_with("PD") || name.ends_with('Q') { 'q' } else { 'd' };
            let first = format!("v{} k1, {a}, {b}{predicate}", name.to_lowercase());
            assert_eq!(found, [first, format!("vpmovm2{lane} {to}, k1")]);
        }
    });
}

#[test]
fn masks_are_loaded_used_and_asked() {
    for (mem, text) in addresses() {
        check(|asm| asm.load_mask(mem), &format!("kmovw k1, {text}"));
        for (size, bits) in [(1, 8), (2, 16), (4, 32), (8, 64)] {
            for (width, register) in [(Width::X, "xmm3"), (Width::Y, "ymm3"), (Width::Z, "zmm3")] {
                let load = format!("vmovdqu{bits} {register}{{k1}}{{z}}, {text}");
                check(|asm| asm.load_elements(size, width, 3, mem), &load);
                let store = format!("vmovdqu{bits} {text}{{k1}}, {register}");
                check(|asm| asm.store_elements(size, width, mem, 3), &store);
            }
        }
    }
    for (width, register) in [(Width::Y, "ymm25"), (Width::Z, "zmm25")] {
        let found = lines(|asm| asm.any_bit(width, 25));
        assert_eq!(found, [format!("vptestmd k1, {register}, {register}"), "kortestw k1, k1".to_string()]);
    }
}

#[test]
fn general_instructions_are_what_their_names_say() {
    for (mem, text) in addresses() {
        for register in [RAX, RDX, R10] {
            let (wide, narrow) = (gpr64(register.0), gpr32(register.0));
            check(|asm| asm.load(register, mem), &format!("mov {wide}, {text}"));
            check(|asm| asm.store(mem, register), &format!("mov {text}, {wide}"));
            check(|asm| asm.lea(register, mem), &format!("lea {wide}, {text}"));
            check(|asm| asm.add_into_memory(mem, register), &format!("add {text}, {wide}"));
            check(|asm| asm.add_from_memory(register, mem), &format!("add {wide}, {text}"));
            check(|asm| asm.load_bytes(1, register, mem), &format!("movzx {narrow}, {text}"));
            check(|asm| asm.load_bytes(2, register, mem), &format!("movzx {narrow}, {text}"));
            check(|asm| asm.load_bytes(4, register, mem), &format!("mov {narrow}, {text}"));
            check(|asm| asm.load_bytes(8, register, mem), &format!("mov {wide}, {text}"));
        }
        check(|asm| asm.store_bytes(1, mem, RCX), &format!("mov {text}, cl"));
        check(|asm| asm.store_bytes(2, mem, RCX), &format!("mov {text}, cx"));
        check(|asm| asm.store_bytes(4, mem, RCX), &format!("mov {text}, ecx"));
        check(|asm| asm.store_bytes(8, mem, RCX), &format!("mov {text}, rcx"));
        check(|asm| asm.store_immediate(mem, 0x1234_5678), &format!("mov {text}, 12345678h"));
        check(|asm| asm.prefetch(mem, true), &format!("prefetcht0 {text}"));
        check(|asm| asm.prefetch(mem, false), &format!("prefetcht1 {text}"));
        check(|asm| asm.add_to_memory(mem, 0x1000), &format!("add {text}, 1000h"));
    }
    for number in 0..16 {
        let (register, wide, narrow) = (Gpr(number), gpr64(number), gpr32(number));
        check(|asm| asm.add(register, 0x100), &format!("add {wide}, 100h"));
        check(|asm| asm.and(register, 0x100), &format!("and {wide}, 100h"));
        check(|asm| asm.sub(register, R9), &format!("sub {wide}, r9"));
        check(|asm| asm.sub(RBX, register), &format!("sub rbx, {wide}"));
        check(|asm| asm.neg(register), &format!("neg {wide}"));
        check(|asm| asm.compare(register, RDX), &format!("cmp {wide}, rdx"));
        check(|asm| asm.compare_immediate(register, 7), &format!("cmp {wide}, 7"));
        check(|asm| asm.copy(register, R13), &format!("mov {wide}, r13"));
        check(|asm| asm.zero(register), &format!("xor {narrow}, {narrow}"));
        check(|asm| asm.immediate(register, 0x1234_5678_9abc), &format!("mov {wide}, 123456789ABCh"));
        check(|asm| asm.push(register), &format!("push {wide}"));
        check(|asm| asm.pop(register), &format!("pop {wide}"));
        check(|asm| asm.call_register(register), &format!("call {wide}"));
        check(|asm| asm.vector_gpr(op::MOVQ, Vector(number), R11), &format!("vmovq xmm{number}, r11"));
        check(|asm| asm.vector_gpr(op::MOVQ, Vector(5), register), &format!("vmovq xmm5, {wide}"));
    }
    check(Asm::ret, "ret");
    check(Asm::vzeroupper, "vzeroupper");
}

#[test]
fn jumps_and_constants_find_their_labels() {
    let mut asm = Asm::listed();
    let (back, ahead, constant) = (asm.label(), asm.label(), asm.label());
    asm.bind(back);
    asm.jump_if(Condition::Below, ahead);
    asm.jump_if(Condition::Equal, back);
    asm.jump_if(Condition::NotEqual, back);
    asm.jump_if(Condition::BelowOrEqual, back);
    asm.jump_if(Condition::Above, back);
    asm.jump(back);
    asm.call(ahead);
    // The distance counts from the end of the instruction, which an immediate moves.
    asm.vector(op::ADDPS, Width::Y, 1, 2, Operand::Memory(Mem::At(constant, 0)), None);
    asm.vector(op::CMPPS, Width::Y, 1, 2, Operand::Memory(Mem::At(constant, 8)), Some(5));
    asm.lea(RCX, Mem::At(constant, 16));
    asm.bind(ahead);
    asm.ret();
    let end = asm.len();
    asm.align(32, 0xcc);
    asm.bind(constant);
    asm.data(&[1, 2, 3, 4]);
    let place = asm.len() - 4;
    let (constant_at, ahead_at) = (place as i64, end as i64 - 1);
    let text = asm.text();
    let code = asm.finish();
    listing::check(&code[..end], &code[end..], &text);
    assert_eq!(code[place..], [1, 2, 3, 4]);
    assert_eq!(place % 32, 0);
    let lines = disassemble(&code[..end]);
    let target = |value: i64| format!("{value:X}h");
    assert!(lines[0].starts_with("jb") && lines[0].ends_with(&target(ahead_at)), "{}", lines[0]);
    for (line, jump) in lines[1..6].iter().zip(["je", "jne", "jbe", "ja", "jmp"]) {
        assert!(line.starts_with(jump) && line.ends_with(" 0"), "{line}");
    }
    assert!(lines[6].starts_with("call") && lines[6].ends_with(&target(ahead_at)), "{}", lines[6]);
    let distances: Vec<i64> = Decoder::with_ip(64, &code[..end], 0, DecoderOptions::NONE)
        .iter()
        .filter(|instruction| instruction.is_ip_rel_memory_operand())
        .map(|instruction| instruction.ip_rel_memory_address() as i64 - constant_at)
        .collect();
    assert_eq!(distances, [0, 8, 16]);
}
