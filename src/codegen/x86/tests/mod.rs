//! The emitter against a decoder, the interpreter and the scalar evaluator, bit for bit.

mod encoding;
mod gathers;
mod guarded;
mod keeping;
mod kernels;
mod listed;
mod listing;
mod longer;
mod math;
mod maxima;
mod random;
mod repeated;
mod sizes;
mod tables;
mod turned;

use super::asm::Width;
use super::{Jit, is_wide_machine, machine};
use crate::codegen::block::tests::scalar::{Scalar, Told, evaluate, places};
use crate::codegen::{self, Around, Call, Compiled};
use crate::dtype::Literal;
use crate::lower::program::LoopProgram;
use crate::ops::vector::Fault;
use guarded::Guarded;

/// The registers that the machine has.
fn widths() -> &'static [Width] {
    match (machine(), is_wide_machine()) {
        (true, true) => &[Width::Y, Width::Z],
        (true, false) => &[Width::Y],
        _ => &[],
    }
}

/// The program as machine code, if it is served, in the widest registers.
fn jit(program: &LoopProgram) -> Option<Compiled> {
    jit_for(program, 0, *widths().last()?)
}

/// As [`jit`], for a part of an output of so many bytes, in such registers.
fn jit_for(program: &LoopProgram, bytes: usize, full: Width) -> Option<Compiled> {
    Jit::of(program, Around { bytes, ..Around::default() }, full).map(|jit| Compiled(codegen::Kind::Jit(jit)))
}

/// Runs a program on operands in memory that ends, or begins, at a page nobody may touch.
fn run(
    program: &LoopProgram,
    compiled: &Compiled,
    operands: &[Vec<Literal>],
    told: &Told,
    at_end: bool,
) -> Vec<Literal> {
    let buffers: Vec<Guarded> = operands.iter().map(|values| Guarded::of(values, at_end)).collect();
    let loads: Vec<*const u8> = buffers.iter().map(Guarded::start).collect();
    run_on(program, compiled, &loads, told, at_end).expect("no faults")
}

/// The same on operands that lie where they do.
fn run_on(
    program: &LoopProgram,
    compiled: &Compiled,
    loads: &[*const u8],
    told: &Told,
    at_end: bool,
) -> Result<Vec<Literal>, Fault> {
    let places = places(program);
    let count = places.iter().max().map_or(0, |last| last + 1);
    let mut out = Guarded::new(count * program.stored.size(), at_end);
    let call = Call { loads, scalars: &told.scalars, out: out.start_mut(), origin: told.origin };
    // SAFETY: whoever made the program vouches for its positions, and `out` has room for all outputs.
    unsafe { compiled.run_all(&call) }?;
    Ok(out.elements(program.stored, &places))
}

/// Has the program take each way that it knows, in turn.
fn each_way(compiled: &Compiled, mut run: impl FnMut(usize)) {
    let trial = match &compiled.0 {
        codegen::Kind::Jit(jit) => jit.trial(),
        codegen::Kind::Block(_) => None,
    };
    let Some(trial) = trial else { return run(0) };
    for way in 0..trial.ways() {
        trial.settle_for(way);
        run(way);
    }
}

/// Checks a program, if it is served, against what it should give.
#[track_caller]
pub(in crate::codegen) fn check_against(
    program: &LoopProgram,
    operands: &[Vec<Literal>],
    told: &Told,
    expected: &Result<Vec<Literal>, Fault>,
) -> bool {
    // Near a page nobody may touch, on either side of it; what begins after one is aligned, and can be written past the caches.
    let ways = [(true, 0), (false, 0), (true, usize::MAX), (false, usize::MAX)];
    for ((at_end, bytes), &full) in ways.into_iter().flat_map(|way| widths().iter().map(move |full| (way, full))) {
        let Some(compiled) = jit_for(program, bytes, full) else { return false };
        let buffers: Vec<Guarded> = operands.iter().map(|values| Guarded::of(values, at_end)).collect();
        let loads: Vec<*const u8> = buffers.iter().map(Guarded::start).collect();
        each_way(&compiled, |_| {
            let found = run_on(program, &compiled, &loads, told, at_end);
            let (expected, found) = match (expected, found) {
                (Ok(expected), Ok(found)) => (expected, found),
                (expected, found) => {
                    return assert_eq!(expected.as_ref().err(), found.as_ref().err(), "{full:?} {program:#?} {told:?}");
                }
            };
            assert_eq!(found.len(), expected.len());
            for (i, (&expected, &found)) in expected.iter().zip(&found).enumerate() {
                assert!(
                    Scalar::of(expected).same(Scalar::of(found)),
                    "output {i}: expected {expected:?}, found {found:?} by {full:?} in {program:#?} {told:?}"
                );
            }
        });
    }
    !widths().is_empty()
}

/// Checks a program against the scalar evaluator; says whether it is served.
#[track_caller]
fn check(program: &LoopProgram, operands: &[Vec<Literal>]) -> bool {
    check_told(program, operands, &Told::default())
}

/// The same for a program that is told something.
#[track_caller]
fn check_told(program: &LoopProgram, operands: &[Vec<Literal>], told: &Told) -> bool {
    check_against(program, operands, told, &evaluate(program, operands, told))
}

/// The kernels that serve a program, in all registers that there could be.
fn kernels(program: &LoopProgram) -> Vec<std::sync::Arc<super::kernel::Kernel>> {
    let all = [Width::Y, Width::Z].into_iter().filter_map(|full| Jit::of(program, Around::default(), full));
    all.flat_map(|jit| jit.kernels()).collect()
}
