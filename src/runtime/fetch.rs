//! What row kernels fetch early: while one tile is computed, the next is on its way from memory.
//!
//! A stage with much to do for every element fetches as it goes ([`codegen::Around`]). Where there is none, every stage first asks for its
//! share of the next tile.

use super::prepared::Value;
use super::run::Space;
use crate::codegen;
use crate::lower::RowProgram;
use crate::schedule::{Kernel, Work};
use std::ops::Range;

/// Operands of so many bytes are not in a cache near by.
const FAR: i64 = 1 << 20;
/// A stage of so many words, its loads among them, has time to fetch as it goes: a layer norm or the gradient of a softmax takes 5 to 20 % less time
/// than if it asked for much at once, which a machine forgets in part. What only scales or shifts its rows is quicker without.
const DEAR: usize = 5;

/// What a stage fetches as it goes is a tile about so many bytes ahead. A row of a thousand numbers takes less time than its way from memory: layer norms of such rows
/// take 5 to 15 % less time, and rms norms up to 20 % less, if the tile after the next is fetched. Twice as many bytes do not stay in the first cache.
const AHEAD: i64 = 8 << 10;

/// What one stage fetches.
#[derive(Default)]
pub(super) struct Fetches {
    /// For each of its operands, how many bytes ahead the tile lies that it fetches as it goes; 0 for none.
    pub(super) next: Vec<i64>,
    shares: Vec<Share>,
}

/// A share of the next tile of an operand.
struct Share {
    /// A stage of the kernel, and the operand of it.
    of: [usize; 2],
    /// Where row 0 begins, and how far apart rows are, in bytes.
    start: i64,
    row: i64,
    /// The bytes of it, from the first of the present tile on.
    bytes: Range<usize>,
}

/// A share, and the value it is of.
#[derive(Default)]
pub(super) struct Early(Vec<(Value, i64, i64, Range<usize>)>);

/// What each stage of a kernel fetches.
pub(super) fn plan(kernel: &Kernel, programs: &[RowProgram], rows: usize, tile: usize) -> Vec<Fetches> {
    let mut plan: Vec<Fetches> = Vec::with_capacity(programs.len());
    let mut readers: Vec<(usize, [usize; 2])> = Vec::new(); // a node; and the stage and the operand that fetch it
    for (at, (stage, program)) in kernel.stages.iter().zip(programs).enumerate() {
        let Work::MapReduce(work) = &stage.work else { unreachable!("only map-reduces run row by row") };
        plan.push(Fetches { next: vec![0; work.loads.len()], shares: Vec::new() });
        for (slot, load) in work.loads.iter().enumerate() {
            let node = &stage.reads[load.read];
            let is_made_here = kernel.stages.iter().any(|stage| stage.node.id() == node.id());
            let is_far = program.tile_bytes(slot, 1).is_some_and(|bytes| bytes.end * rows as i64 >= FAR);
            if is_made_here || !is_far {
                continue;
            }
            // Of all that read it, the one with the most to do.
            match readers.iter_mut().find(|(id, _)| *id == node.id()) {
                Some((_, [other, _])) if programs[*other].words() >= program.words() => {}
                Some((_, other)) => *other = [at, slot],
                None => readers.push((node.id(), [at, slot])),
            }
        }
    }
    let work = |program: &RowProgram| program.row_work() * (program.words() + 2);
    let total: usize = programs.iter().map(work).sum();
    for (_, [at, slot]) in readers {
        let Some(bytes) = programs[at].tile_bytes(slot, tile) else { continue };
        let (start, length) = (bytes.start, bytes.end - bytes.start);
        if programs[at].words() >= DEAR && programs[at].is_map() {
            plan[at].next[slot] = length * (AHEAD / length.max(1)).max(1);
            continue;
        }
        let mut done = 0;
        for (fetches, program) in plan.iter_mut().zip(programs) {
            let to = |done: usize| (length as usize * done / total).next_multiple_of(64) + length as usize;
            let bytes = to(done)..to(done + work(program));
            done += work(program);
            fetches.shares.push(Share { of: [at, slot], start, row: length / tile as i64, bytes });
        }
    }
    plan
}

impl Early {
    /// The shares of a stage, given the value of each operand of each stage.
    pub(super) fn new(fetches: &mut Fetches, value: impl Fn([usize; 2]) -> Option<Value>) -> Early {
        let of = |share: Share| Some((value(share.of)?, share.start, share.row, share.bytes));
        Early(std::mem::take(&mut fetches.shares).into_iter().filter_map(of).collect())
    }

    /// Whether there is nothing to fetch.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Fetches what another would, too.
    pub(super) fn join(&mut self, other: Early) {
        self.0.extend(other.0);
    }

    /// Fetches the shares that belong to the tile after the one that begins with a row.
    pub(super) fn fetch(&self, space: &Space, row: usize) {
        for (value, start, step, bytes) in &self.0 {
            let first = space.pointer(*value).wrapping_offset((start + step * row as i64) as isize);
            codegen::fetch(first.wrapping_add(bytes.start).cast_const(), bytes.len());
        }
    }
}
