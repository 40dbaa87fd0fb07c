//! The block interpreter: runs a loop program a few hundred lanes at a time, on any machine.
//!
//! Each word is one loop over a block of lanes ([`lanes`], [`words`]), which LLVM has vectorised; values live in registers of
//! [`LANES`] lanes in a scratch arena that stays in the L1 cache ([`registers`], [`frame`]). [`map`] walks the outputs of a program
//! without a fold, [`reduce`] folds, in the order that [`super::order`] lays down.

mod access;
mod code;
mod convert;
mod divide;
mod fold;
mod frame;
mod half;
mod lanes;
mod map;
mod nodes;
mod reduce;
mod registers;
mod split;
#[cfg(test)]
pub(super) mod tests;
mod words;

pub(super) use code::origin_step;
pub(super) use fold::{fill, identity};
pub(super) use frame::Value;
pub(super) use lanes::vector_unit;
pub(super) use nodes::{affine, lane_bits};
pub(super) use split::{Cascade, Part, Split};

use super::Call;
use crate::lower::program::LoopProgram;
use crate::ops::vector::Fault;
use smallvec::SmallVec;

/// The lanes of a block.
pub(super) const LANES: usize = 512;

/// The work of one part, in lanes of one word: some tens of microseconds at most.
const PART_WORK: usize = 1 << 16;

/// A program made ready for the interpreter.
pub(super) struct Block(Kind);

enum Kind {
    Map(map::Map),
    Reduce(reduce::Reduce),
}

impl Block {
    /// Makes a program ready. `vector` chooses the loops for machines with a [`vector_unit`].
    pub(super) fn of(program: &LoopProgram, vector: bool) -> Block {
        Block(match program.fold {
            None => Kind::Map(map::Map::of(program, vector)),
            Some(fold) => Kind::Reduce(reduce::Reduce::of(program, fold, vector)),
        })
    }

    /// See [`super::Compiled::parts`].
    pub(super) fn parts(&self) -> usize {
        match &self.0 {
            Kind::Map(map) => map.parts(),
            Kind::Reduce(reduce) => reduce.parts(),
        }
    }

    /// See [`super::Compiled::partial_bytes`].
    pub(super) fn partial_bytes(&self) -> usize {
        match &self.0 {
            Kind::Map(_) => 0,
            Kind::Reduce(reduce) => reduce.partial_bytes(),
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
                Kind::Reduce(reduce) => reduce.run(part, call),
            }
        }
    }

    /// See [`super::Compiled::run_rows`].
    ///
    /// # Safety
    /// As there.
    pub(super) unsafe fn run_rows(
        &self,
        [rows, length]: [usize; 2],
        steps: &[i64],
        call: &Call<'_>,
    ) -> Result<(), Fault> {
        let Kind::Map(map) = &self.0 else { unreachable!("there is no fold") };
        let (output, inputs) = steps.split_last().expect("a step of the output");
        for row in 0..rows {
            let moved = |step: i64| step as isize * row as isize;
            let loads = call.loads.iter().zip(inputs).map(|(load, &step)| load.wrapping_offset(moved(step)));
            let loads: SmallVec<[*const u8; 8]> = loads.collect();
            let call = Call { loads: &loads, out: call.out.wrapping_offset(moved(*output)), ..*call };
            // SAFETY: the caller's promise.
            unsafe { map.run_range(0..length, &call)? };
        }
        Ok(())
    }

    /// See [`super::Compiled::finish`].
    ///
    /// # Safety
    /// As there.
    pub(super) unsafe fn finish(&self, partials: *const u8, out: *mut u8) {
        match &self.0 {
            Kind::Map(_) => {}
            // SAFETY: the caller's promise is the callee's.
            Kind::Reduce(reduce) => unsafe { reduce.finish(partials, out) },
        }
    }
}
