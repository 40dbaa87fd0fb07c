//! The emitter for x86-64 with AVX2, FMA and F16C: compiles a loop program to machine code. Where the machine has AVX-512, maps use its
//! registers, and so do folds of many words or of much memory.
//!
//! A program is served by a [`kernel`] that runs over rows of elements, and by Rust code that walks the rows ([`map`], [`fold`]) and
//! brings guarded operands, and rows that an index names, to where a kernel can read them ([`staged`], [`gathered`]). The
//! kernel's code is chosen word by word ([`select`], [`convert`], [`elements`], [`combine`]) as instructions on values ([`inst`]),
//! which then get registers ([`allocate`]) and bytes ([`asm`], [`evex`], [`op`]), or text ([`listing`]). What the emitter does not serve (divisions of integers,
//! very short rows, …) is left to the block interpreter, which gives the same bits.

mod across;
mod allocate;
mod asm;
mod build;
mod cache;
mod call;
mod combine;
mod convert;
mod elements;
mod evex;
mod fold;
mod frame;
mod gathered;
mod inst;
mod kernel;
mod line;
mod listing;
mod longer;
mod machine;
mod map;
mod memory;
mod op;
mod parts;
mod pieces;
mod rare;
mod repeat;
mod select;
mod staged;
mod stream;
mod table;
#[cfg(test)]
pub(super) mod tests;
mod tiled;
mod transpose;
mod transpose_wide;
mod trial;
mod twins;
mod twins_long;
mod walk;

use super::{Around, Call};
use crate::lower::program::LoopProgram;
use crate::ops::vector::Fault;
use asm::Width;
pub(super) use machine::allowed;
use machine::{ZEN_5, family_of_amd, registers};
#[cfg(test)]
use machine::{is_wide_machine, machine};
pub(super) use repeat::{OneRun, Repeat};
use std::sync::Arc;

/// A program as machine code.
pub(super) struct Jit(Kind);

enum Kind {
    Map(Box<map::Map>),
    Tiled(Box<tiled::Tiled>),
    Fold(Box<fold::Fold>),
}

impl Jit {
    /// The program as machine code, if it may be made and the emitter serves it. See [`super::compile_for`].
    pub(super) fn offer(program: &LoopProgram, around: Around<'_>) -> Option<Jit> {
        if allowed() { Jit::of(program, around, registers()) } else { None }
    }

    /// See [`super::compile_keeping`].
    pub(super) fn offer_keeping(program: &LoopProgram, around: Around<'_>) -> Option<Jit> {
        let fold = fold::Fold::of(program, program.fold?, allowed().then(registers)?, Some(around))?;
        Some(Jit(Kind::Fold(Box::new(fold))))
    }

    /// The program as machine code, if the emitter serves it. The machine must have such registers and their instructions.
    fn of(program: &LoopProgram, around: Around<'_>, full: Width) -> Option<Jit> {
        Some(Jit(match program.fold {
            None => match tiled::Tiled::of(program, around, full) {
                Some(tiled) => Kind::Tiled(Box::new(tiled)),
                None => Kind::Map(Box::new(map::Map::of(program, around, full)?)),
            },
            Some(fold) => Kind::Fold(Box::new(fold::Fold::of(program, fold, full, None)?)),
        }))
    }

    /// See [`super::Compiled::parts`].
    pub(super) fn parts(&self) -> usize {
        match &self.0 {
            Kind::Map(map) => map.parts(),
            Kind::Tiled(tiled) => tiled.parts(),
            Kind::Fold(fold) => fold.parts(),
        }
    }

    /// See [`super::Compiled::goes_back`].
    pub(super) fn goes_back(&self) -> bool {
        match &self.0 {
            Kind::Tiled(tiled) => tiled.goes_back(),
            Kind::Map(_) | Kind::Fold(_) => false,
        }
    }

    /// See [`super::Compiled::partial_bytes`].
    pub(super) fn partial_bytes(&self) -> usize {
        match &self.0 {
            Kind::Map(_) | Kind::Tiled(_) => 0,
            Kind::Fold(fold) => fold.partial_bytes(),
        }
    }

    /// The kernels that serve the program.
    fn kernels(&self) -> Vec<Arc<kernel::Kernel>> {
        match &self.0 {
            Kind::Map(map) => map.kernels(),
            Kind::Tiled(tiled) => tiled.kernels(),
            Kind::Fold(fold) => fold.kernels(),
        }
    }

    /// What it tries out, if it knows several ways.
    #[cfg(test)]
    fn trial(&self) -> Option<&trial::Trial> {
        match &self.0 {
            Kind::Map(map) => map.trial.as_ref(),
            Kind::Tiled(tiled) => tiled.trial.as_ref(),
            Kind::Fold(_) => None,
        }
    }

    /// The code of all kernels as text.
    pub(super) fn assembly(&self) -> String {
        match &self.kernels()[..] {
            [] => "; turned straight into the output\n".to_string(),
            kernels => kernels.iter().map(|kernel| kernel.assembly()).collect(),
        }
    }

    /// See [`super::Compiled::run`].
    ///
    /// # Safety
    /// As there.
    pub(super) unsafe fn run(&self, part: usize, call: &Call<'_>) -> Result<(), Fault> {
        // SAFETY: the caller's promise is the callee's.
        unsafe {
            match &self.0 {
                Kind::Map(map) => map.run(part, call),
                Kind::Tiled(tiled) => {
                    tiled.run(part, call);
                    Ok(())
                }
                Kind::Fold(fold) => fold.run(part, call),
            }
        }
    }

    /// See [`super::Compiled::run_rows`].
    ///
    /// # Safety
    /// As there.
    pub(super) unsafe fn run_rows(&self, sizes: [usize; 2], steps: &[i64], call: &Call<'_>) {
        match &self.0 {
            // SAFETY: the caller's promise is the callee's.
            Kind::Map(map) => unsafe { map.run_rows(sizes, steps, call) },
            Kind::Tiled(_) | Kind::Fold(_) => unreachable!("one axis without a fold is a map"),
        }
    }

    /// The run, if one run of one kernel is all of the program.
    pub(super) fn one_run(&self) -> Option<OneRun<'_>> {
        match &self.0 {
            Kind::Map(map) => map.one_run(),
            Kind::Tiled(_) => None,
            Kind::Fold(fold) => fold.one_run(),
        }
    }

    /// See [`super::Compiled::finish`].
    ///
    /// # Safety
    /// As there.
    pub(super) unsafe fn finish(&self, partials: *const u8, out: *mut u8) {
        match &self.0 {
            Kind::Map(_) | Kind::Tiled(_) => {}
            // SAFETY: the caller's promise is the callee's.
            Kind::Fold(fold) => unsafe { fold.finish(partials, out) },
        }
    }
}
