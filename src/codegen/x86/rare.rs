//! The call that is seldom made: a scalar function for the few lanes that the straight line does not serve.
//!
//! Where a lane is set, the code jumps to a stub behind the kernel. It notes in the frame which registers are meant and
//! calls a routine that puts all vector registers into the frame, lets [`serve`] work on them there, and takes
//! them back.

use super::allocate::Site;
use super::asm::*;
use super::frame::{FUNCTION, SITE};
use super::op;
use crate::ops::vector::LaneFn;

/// The general registers that a call may change and that kernels use.
const CHANGED: [Gpr; 8] = [RAX, RDX, RSI, RDI, R8, R9, R10, R11];

/// A site as the frame knows it: the numbers of three registers, the lanes, and whether they have 64 bits.
fn packed(site: &Site, lanes: usize) -> u32 {
    let wide = u32::from(matches!(site.f, LaneFn::F64(..)));
    u32::from(site.when) | u32::from(site.x) << 5 | u32::from(site.to) << 10 | (lanes as u32) << 15 | wide << 20
}

/// Writes the stubs and the routine.
pub(super) fn write(asm: &mut Asm, sites: &[Site], save: usize, full: Width, lanes: usize) {
    if sites.is_empty() {
        return;
    }
    let (serve, count) = match full {
        Width::Z => (serve::<64> as *const (), full.registers()),
        _ => (serve::<32> as *const (), full.registers()),
    };
    let routine = asm.label();
    for site in sites {
        asm.bind(site.cold);
        asm.store_immediate(Mem::Base(RDI, SITE), packed(site, lanes));
        let function = match *site.f {
            LaneFn::F32(_, f) => f as usize,
            LaneFn::F64(_, f) => f as usize,
        };
        asm.immediate(RCX, function as u64);
        asm.store(Mem::Base(RDI, FUNCTION), RCX);
        asm.call(routine);
        asm.jump(site.back);
    }
    asm.bind(routine);
    let saved = |register: u8| Operand::Memory(Mem::Base(RDI, save as i32 + full.bytes() as i32 * i32::from(register)));
    for register in 0..count {
        asm.vector(op::MOVUPS_STORE, full, register, 0, saved(register), None);
    }
    for register in CHANGED {
        asm.push(register);
    }
    // The stack as calls want it, and back.
    asm.copy(RCX, RSP);
    asm.and(RSP, -16);
    asm.push(RCX);
    asm.push(RCX);
    asm.vzeroupper();
    asm.lea(RSI, Mem::Base(RDI, save as i32));
    asm.immediate(RAX, serve as usize as u64);
    asm.call_register(RAX);
    asm.pop(RCX);
    asm.copy(RSP, RCX);
    for register in CHANGED.into_iter().rev() {
        asm.pop(register);
    }
    for register in 0..count {
        asm.vector(op::MOVUPS, full, register, 0, saved(register), None);
    }
    asm.ret();
}

/// Runs the function on the lanes that are set. `registers` are all vector registers, of `BYTES` bytes each.
///
/// # Safety
/// Called by a stub: the frame holds a site's note and function, and the registers are in memory.
unsafe extern "sysv64" fn serve<const BYTES: usize>(frame: *const u8, registers: *mut u8) {
    // SAFETY: the stub has written the note and the function, which is of the type that the note tells; a register has
    // room for the lanes of a vector.
    unsafe {
        let note = frame.add(SITE as usize).cast::<u32>().read();
        let function = frame.add(FUNCTION as usize).cast::<usize>().read();
        let register = |shift: u32| registers.add(BYTES * (note >> shift & 31) as usize);
        let (when, x, to) = (register(0), register(5), register(10));
        for lane in 0..(note >> 15 & 31) as usize {
            if note >> 20 & 1 == 0 {
                if when.cast::<i32>().add(lane).read_unaligned() != 0 {
                    let f: fn(f32) -> f32 = std::mem::transmute(function);
                    let value = f(x.cast::<f32>().add(lane).read_unaligned());
                    to.cast::<f32>().add(lane).write_unaligned(value);
                }
            } else if when.cast::<i64>().add(lane).read_unaligned() != 0 {
                let f: fn(f64) -> f64 = std::mem::transmute(function);
                let value = f(x.cast::<f64>().add(lane).read_unaligned());
                to.cast::<f64>().add(lane).write_unaligned(value);
            }
        }
    }
}
