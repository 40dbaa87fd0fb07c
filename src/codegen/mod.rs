//! Runs loop programs: `compile` one, then run its parts on any threads.
//!
//! A program's work is split into parts by its shape alone, and the order of every reduction is fixed (see [`order`]),
//! so results do not depend on how many threads there are or which of them ran what.

mod axes;
mod block;
mod order;
#[cfg(all(target_arch = "x86_64", unix))]
mod x86;

use crate::lower::program::LoopProgram;
use crate::ops::vector::Fault;
use order::Order;

/// A program made ready to run. It may be run any number of times, by several threads at once.
pub(crate) struct Compiled(Kind);

enum Kind {
    /// Machine code.
    #[cfg(all(target_arch = "x86_64", unix))]
    Jit(x86::Jit),
    /// The block interpreter.
    Block(Box<block::Block>),
}

/// What a program is run on.
#[derive(Clone, Copy)]
pub(crate) struct Call<'a> {
    /// The operands, by slot.
    pub(crate) loads: &'a [*const u8],
    /// The values of `Word::Scalar`, by number, each as the bits of its lane (as in `Word::Const`).
    pub(crate) scalars: &'a [u64],
    /// The first element of the output, or the partial results if there are any.
    pub(crate) out: *mut u8,
    /// Where the index along the first outer axis begins: for computed positions, guards and `Word::Position`. The pointers of strided
    /// operands and of the output are already those for this index.
    pub(crate) origin: usize,
}

/// Makes a program ready to run: as machine code where that is served, else for the interpreter.
pub(crate) fn compile(program: &LoopProgram) -> Compiled {
    let bytes = program.outer.iter().product::<usize>().saturating_mul(program.stored.size());
    compile_for(program, Around { bytes, ..Around::default() })
}

/// What a program is a part of.
#[derive(Clone, Copy, Default)]
pub(crate) struct Around<'a> {
    /// The bytes of the whole output. What is far larger than the caches is written past them; 0 if it is read again soon.
    pub(crate) bytes: usize,
    /// By how many bytes the output of the next run lies behind that of this one; 0 if there is no other.
    pub(crate) apart: i64,
    /// By how many bytes what the next run will read of an operand lies behind what this one reads. It is fetched early. 0, or nothing,
    /// where it is not worth while or not known.
    pub(crate) next: &'a [i64],
}

/// As [`compile`], for a program that makes a part of something.
pub(crate) fn compile_for(program: &LoopProgram, around: Around<'_>) -> Compiled {
    #[cfg(all(target_arch = "x86_64", unix))]
    if let Some(jit) = x86::Jit::offer(program, around) {
        return Compiled(Kind::Jit(jit));
    }
    Compiled::interpreted(program, block::vector_unit())
}

/// Whether programs become machine code, where nothing speaks against it.
pub(crate) fn makes_machine_code() -> bool {
    #[cfg(all(target_arch = "x86_64", unix))]
    return x86::allowed();
    #[cfg(not(all(target_arch = "x86_64", unix)))]
    false
}

/// As [`compile_for`], for a fold that also stores whatever it folds, as `plain` would read it: to its last operand, which no word loads. `None`
/// where the two are better done one after the other, or the order of the fold would not be that of `plain`.
pub(crate) fn compile_keeping(program: &LoopProgram, plain: &LoopProgram, around: Around<'_>) -> Option<Compiled> {
    let is_along = |program: &LoopProgram| Order::of(program) == Order::Along;
    if !is_along(program) || !is_along(plain) {
        return None;
    }
    #[cfg(all(target_arch = "x86_64", unix))]
    return x86::Jit::offer_keeping(program, around).map(|jit| Compiled(Kind::Jit(jit)));
    #[cfg(not(all(target_arch = "x86_64", unix)))]
    {
        let _ = around;
        None
    }
}

impl Compiled {
    /// A program for the interpreter; `vector` chooses the loops for machines with a [`block::vector_unit`].
    fn interpreted(program: &LoopProgram, vector: bool) -> Compiled {
        Compiled(Kind::Block(Box::new(block::Block::of(program, vector))))
    }

    /// How many independent parts the work is split into: decided by shape only, never by thread count. At least 1.
    pub(crate) fn parts(&self) -> usize {
        match &self.0 {
            #[cfg(all(target_arch = "x86_64", unix))]
            Kind::Jit(jit) => jit.parts(),
            Kind::Block(block) => block.parts(),
        }
    }

    /// Whether the parts of this run are better begun with the last ones; asked once for each run. Every other run of what reads much memory goes the
    /// other way: it finds in the caches what the one before read last.
    pub(crate) fn goes_back(&self) -> bool {
        match &self.0 {
            #[cfg(all(target_arch = "x86_64", unix))]
            Kind::Jit(jit) => jit.goes_back(),
            Kind::Block(_) => false,
        }
    }

    /// The machine code as text.
    pub(crate) fn assembly(&self) -> String {
        match &self.0 {
            #[cfg(all(target_arch = "x86_64", unix))]
            Kind::Jit(jit) => jit.assembly(),
            Kind::Block(_) => "(run by the block interpreter)\n".to_string(),
        }
    }

    /// The bytes of partial results, or 0. Few outputs of long reductions are split along the reduction: then
    /// each part is run with a buffer of this size (aligned for `u64`) in place of `out`, and [`Compiled::finish`] gives the output.
    pub(crate) fn partial_bytes(&self) -> usize {
        match &self.0 {
            #[cfg(all(target_arch = "x86_64", unix))]
            Kind::Jit(jit) => jit.partial_bytes(),
            Kind::Block(block) => block.partial_bytes(),
        }
    }

    /// Runs one part, writing its range of the output, or of the partial results if there are any.
    ///
    /// # Safety
    /// - `loads[k]` points to the base of a buffer in which every position the program computes for slot k is valid for
    ///   reads of its dtype, and is aligned for it.
    /// - `out` points to room for the output, an element of `stored` at every place that `store` gives, or for
    ///   [`Compiled::partial_bytes`] if that is not 0; aligned; no operand overlaps it. But where nothing is folded, the output may be the
    ///   memory of operands that are read only at the very places that are written.
    /// - `scalars` has a value for every number that the program's words name.
    ///
    /// Parts may run at the same time on different threads: they write disjoint ranges. What a part that fails has
    /// written is left as it is.
    pub(crate) unsafe fn run(&self, part: usize, call: &Call<'_>) -> Result<(), Fault> {
        // SAFETY: the caller's promise is the callee's.
        unsafe {
            match &self.0 {
                #[cfg(all(target_arch = "x86_64", unix))]
                Kind::Jit(jit) => jit.run(part, call),
                Kind::Block(block) => block.run(part, call),
            }
        }
    }

    /// Runs a program without a fold over one axis, all of whose operands are read at strides, on several rows: on the first elements of the
    /// axis, `sizes` being the rows and the elements of each. `steps` has the bytes from one row to the next, for each operand and then for
    /// the output.
    ///
    /// # Safety
    /// As for [`Compiled::run`], for each row; the elements are no more than the axis has.
    pub(crate) unsafe fn run_rows(&self, sizes: [usize; 2], steps: &[i64], call: &Call<'_>) -> Result<(), Fault> {
        debug_assert_eq!(steps.len(), call.loads.len() + 1, "a step for each operand and the output");
        if sizes.contains(&0) {
            return Ok(());
        }
        // SAFETY: the caller's promise is the callee's.
        unsafe {
            match &self.0 {
                #[cfg(all(target_arch = "x86_64", unix))]
                Kind::Jit(jit) => {
                    jit.run_rows(sizes, steps, call);
                    Ok(())
                }
                Kind::Block(block) => block.run_rows(sizes, steps, call),
            }
        }
    }

    /// Combines partial results into the output. Only where there are any, after all parts have run.
    ///
    /// # Safety
    /// `partials` is the buffer that all parts were run with, `out` points to room for the output.
    pub(crate) unsafe fn finish(&self, partials: *const u8, out: *mut u8) {
        // SAFETY: the caller's promise is the callee's.
        unsafe {
            match &self.0 {
                #[cfg(all(target_arch = "x86_64", unix))]
                Kind::Jit(jit) => jit.finish(partials, out),
                Kind::Block(block) => block.finish(partials, out),
            }
        }
    }

    /// The bytes that [`Compiled::repeated`] needs.
    pub(crate) fn repeated_bytes(&self) -> usize {
        match &self.0 {
            #[cfg(all(target_arch = "x86_64", unix))]
            Kind::Jit(jit) => jit.one_run().map_or(0, |run| run.frame_bytes()),
            Kind::Block(_) => 0,
        }
    }

    /// The program for a thread that will run all of it many times, with these scalars; `next` says how one run follows another, if
    /// that is known.
    ///
    /// # Safety
    /// `frame` is on a cache line and has room for [`Compiled::repeated_bytes`], for nobody else as long as the result is in use.
    pub(crate) unsafe fn repeated<'c>(
        &'c self,
        scalars: &'c [u64],
        frame: *mut u8,
        next: Option<&Next<'_>>,
    ) -> Repeated<'c> {
        #[cfg(not(all(target_arch = "x86_64", unix)))]
        let _ = (frame, next);
        Repeated {
            #[cfg(all(target_arch = "x86_64", unix))]
            jit: match &self.0 {
                // SAFETY: the caller's promise.
                Kind::Jit(jit) => jit.one_run().map(|run| unsafe { run.repeat(scalars, frame, next) }),
                Kind::Block(_) => None,
            },
            compiled: self,
            scalars,
        }
    }

    /// Runs everything on this thread.
    ///
    /// # Safety
    /// As for [`Compiled::run`], the call's `out` being the output itself.
    pub(crate) unsafe fn run_all(&self, call: &Call<'_>) -> Result<(), Fault> {
        let mut partials = vec![0u64; self.partial_bytes().div_ceil(8)];
        let to = if partials.is_empty() { call.out } else { partials.as_mut_ptr().cast() };
        // SAFETY: the caller's promise; partial results have a buffer of their own, aligned for any lane.
        unsafe {
            for part in 0..self.parts() {
                self.run(part, &Call { out: to, ..*call })?;
            }
            if !partials.is_empty() {
                self.finish(to, call.out);
            }
        }
        Ok(())
    }
}

/// Asks for some bytes to be brought into the nearest cache. Nothing else happens, wherever they are.
pub(crate) fn fetch(first: *const u8, bytes: usize) {
    fetch_to::<3>(first, bytes);
}

/// The same, into the cache behind that: what crowds a few lines of the nearest would not stay there.
pub(crate) fn fetch_half_way(first: *const u8, bytes: usize) {
    fetch_to::<2>(first, bytes);
}

/// By the machine's numbers for caches.
fn fetch_to<const CACHE: i32>(first: *const u8, bytes: usize) {
    #[cfg(target_arch = "x86_64")]
    for line in (0..bytes).step_by(64) {
        // SAFETY: every x86-64 has it, and any address will do.
        unsafe { std::arch::x86_64::_mm_prefetch::<CACHE>(first.wrapping_add(line).cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (first, bytes);
}

/// How a run follows the one before.
pub(crate) struct Next<'n> {
    /// By how many bytes each operand, and the output, lies behind that of the last run.
    pub(crate) loads: &'n [i64],
    pub(crate) output: i64,
    /// What is added to the origin.
    pub(crate) origin: usize,
}

/// A program that one thread runs many times. What was stored can be seen by others when this is dropped.
pub(crate) struct Repeated<'c> {
    #[cfg(all(target_arch = "x86_64", unix))]
    jit: Option<x86::Repeat<'c>>,
    compiled: &'c Compiled,
    scalars: &'c [u64],
}

impl Repeated<'_> {
    /// Runs everything on this thread.
    ///
    /// # Safety
    /// As for [`Compiled::run_all`].
    pub(crate) unsafe fn run(&mut self, loads: &[*const u8], out: *mut u8, origin: usize) -> Result<(), Fault> {
        let call = Call { loads, scalars: self.scalars, out, origin };
        // SAFETY: the caller's promise.
        unsafe {
            #[cfg(all(target_arch = "x86_64", unix))]
            if self.jit.as_mut().is_some_and(|jit| jit.run(&call)) {
                return Ok(());
            }
            self.compiled.run_all(&call)
        }
    }

    /// Whether [`Repeated::run_next`] does anything, after a run.
    pub(crate) fn goes_on(&self) -> bool {
        #[cfg(all(target_arch = "x86_64", unix))]
        return self.jit.as_ref().is_some_and(x86::Repeat::goes_on);
        #[cfg(not(all(target_arch = "x86_64", unix)))]
        false
    }

    /// Runs everything on what follows the operands of the last run; `false`, with nothing done, where it has to be told what those are.
    ///
    /// # Safety
    /// As for [`Compiled::run_all`]; the last thing done was a run, by this function or by [`Repeated::run`].
    pub(crate) unsafe fn run_next(&mut self) -> bool {
        #[cfg(all(target_arch = "x86_64", unix))]
        if let Some(jit) = self.jit.as_mut() {
            // SAFETY: the caller's promise.
            return unsafe { jit.run_next() };
        }
        false
    }
}
