//! Kernels of several stages that run row by row, with what lies between them in scratch.

use super::fetch::{self, Early};
use super::prepared::{Prepare, Value};
use super::run::{Failure, Space};
use super::threads::seated;
use crate::codegen::{self, Around, Call, Compiled, Repeated};
use crate::lower::{self, RowProgram};
use crate::memory::ALIGN;
use crate::schedule::{Kernel, Stage, Work};
use smallvec::SmallVec;
use std::ops::Range;

/// About so many elements of a stage are computed before the next stage takes over: what lies between them fits into the L1 cache, and memory,
/// which some stages keep waiting and some keep busy, is in use nearly all the time.
const TILE: usize = 1 << 10;

/// So many elements are one tile.
const SMALL: usize = 1 << 13;

/// The most pieces of work. The number is fixed by the shape, so that results do not depend on threads.
const MOST_PARTS: usize = 64;

/// The least tiles of a part: it takes some time to begin one.
const LEAST_TILES: usize = 4;

/// Where the numbers of a stage go, or come from.
#[derive(Clone, Copy)]
enum Spot {
    /// All rows of a value.
    Whole(Value),
    /// The rows of one tile, so many bytes behind the start of a thread's scratch.
    Scratch(usize),
}

/// A stage, ready to run on rows.
struct RowStage {
    rows: RowProgram,
    /// For a whole tile, and for the last one if that is shorter.
    tile: Compiled,
    last: Option<Compiled>,
    loads: SmallVec<[Spot; 4]>,
    /// The operands that are others for every row, and not in scratch.
    moving: SmallVec<[usize; 4]>,
    scalars: Range<usize>,
    out: Spot,
    /// The bytes of an element of the output.
    size: usize,
    /// The bytes before its frame in a thread's scratch.
    frame: usize,
    /// Fetched before it runs, for the next tile.
    early: Early,
    /// The number of the node that is made.
    node: usize,
}

/// A stage on its way along the rows, on one thread.
struct Moving<'s> {
    stage: &'s RowStage,
    tile: Repeated<'s>,
    /// Where operands and output begin at row 0, and at the present row.
    first: SmallVec<[*const u8; 4]>,
    first_out: *mut u8,
    loads: SmallVec<[*const u8; 4]>,
    out: *mut u8,
}

impl<'s> Moving<'s> {
    fn new(stage: &'s RowStage, space: &'s Space, thread: usize) -> Moving<'s> {
        let scratch = space.scratch(thread);
        let pointer = |spot: &Spot| match spot {
            Spot::Whole(value) => space.pointer(*value),
            Spot::Scratch(start) => scratch.wrapping_add(*start),
        };
        let first: SmallVec<[*const u8; 4]> = stage.loads.iter().map(|spot| pointer(spot).cast_const()).collect();
        let out = pointer(&stage.out);
        // SAFETY: the frame is this stage's part of this thread's scratch, which has room for it.
        let tile = unsafe { stage.tile.repeated(space.scalars(&stage.scalars), scratch.wrapping_add(stage.frame)) };
        Moving { stage, tile, loads: first.clone(), first, first_out: out, out }
    }

    /// Goes to a tile that begins with a row. What is in scratch is always that of the present tile.
    fn go_to(&mut self, row: usize) {
        let Moving { stage, .. } = *self;
        for &slot in &stage.moving {
            let shift = stage.rows.shift(slot, row) * stage.rows.size_of_load(slot) as i64;
            self.loads[slot] = self.first[slot].wrapping_offset(shift as isize);
        }
        if let Spot::Whole(_) = stage.out {
            let shift = stage.rows.store_shift(row) * stage.size as i64;
            self.out = self.first_out.wrapping_offset(shift as isize);
        }
    }
}

/// A kernel ready to run row by row.
pub(super) struct Rows {
    stages: Vec<RowStage>,
    rows: usize,
    /// The rows of a tile.
    tile: usize,
}

impl Rows {
    /// Makes a kernel of map-reduces over rows of these sizes ready.
    pub(super) fn prepare(prepare: &mut Prepare<'_>, kernel: &Kernel, sizes: &[usize]) -> Rows {
        let rows: usize = sizes.iter().product();
        let programs: Vec<RowProgram> = kernel.stages.iter().map(|stage| row_program(stage, sizes.len())).collect();
        let tile = tile_rows(&programs, rows);
        let mut plan = fetch::plan(kernel, &programs, rows, tile);
        // Where each node is that only this kernel needs.
        let mut inside: Vec<(usize, Spot)> = Vec::new();
        let mut scratch = 0;
        let mut stages = Vec::with_capacity(programs.len());
        for (at, (stage, program)) in kernel.stages.iter().zip(programs).enumerate() {
            let Work::MapReduce(work) = &stage.work else { unreachable!("only map-reduces run row by row") };
            let spot = |prepare: &mut Prepare<'_>, node: &crate::graph::Node| {
                let found = inside.iter().find(|(id, _)| *id == node.id());
                found.map_or_else(|| Spot::Whole(prepare.read(node)), |&(_, spot)| spot)
            };
            let reads: Vec<Spot> = stage.reads.iter().map(|node| spot(prepare, node)).collect();
            let size = work.dtype.size();
            let out = if prepare.is_whole(&stage.node, kernel) {
                Spot::Whole(prepare.make(&stage.node, None))
            } else {
                let start = scratch;
                scratch += (tile * program.row_len() * size).next_multiple_of(ALIGN);
                Spot::Scratch(start)
            };
            inside.push((stage.node.id(), out));
            // What a later stage reads had better stay in the cache.
            let read_soon = kernel.stages[at + 1..].iter().any(|later| later.reads.contains(&stage.node));
            let bytes = if read_soon { 0 } else { stage.node.len() * size };
            let next = &plan[at].next;
            let compile = |rows: usize| codegen::compile_for(&program.for_rows(rows), Around { bytes, next });
            let loads: SmallVec<[Spot; 4]> = work.loads.iter().map(|load| reads[load.read]).collect();
            let is_moving = |&slot: &usize| matches!(loads[slot], Spot::Whole(_)) && program.moves(slot);
            let last = (!rows.is_multiple_of(tile)).then(|| compile(rows % tile));
            let (tile, frame) = (compile(tile), scratch);
            scratch += tile.repeated_bytes().next_multiple_of(ALIGN);
            stages.push(RowStage {
                frame,
                moving: (0..loads.len()).filter(is_moving).collect(),
                tile,
                last,
                rows: program,
                loads,
                scalars: prepare.scalars(stage),
                out,
                size,
                node: prepare.number(&stage.node),
                early: Early::default(),
            });
        }
        prepare.scratch = prepare.scratch.max(scratch);
        for (at, fetches) in plan.iter_mut().enumerate() {
            stages[at].early = Early::new(fetches, |[stage, slot]| match stages[stage].loads[slot] {
                Spot::Whole(value) => Some(value),
                Spot::Scratch(_) => None,
            });
        }
        Rows { stages, rows, tile }
    }

    /// What runs each stage, on a whole tile.
    pub(super) fn compiled(&self) -> Vec<&Compiled> {
        self.stages.iter().map(|stage| &stage.tile).collect()
    }

    /// Runs all stages on all rows.
    ///
    /// # Safety
    /// The space is bound to buffers as large as the plan says.
    pub(super) unsafe fn run(&self, space: &Space) -> Result<(), Failure> {
        let tiles = self.rows.div_ceil(self.tile);
        let parts = tiles.div_ceil(LEAST_TILES).min(MOST_PARTS);
        if parts == 1 {
            // SAFETY: the caller's promise.
            return unsafe { self.run_tiles(0..tiles, space, 0) };
        }
        let failed = space.failures();
        seated(space.threads(), parts, &|part, thread| {
            let tiles = tiles * part / parts..tiles * (part + 1) / parts;
            // SAFETY: the caller's promise; each part has rows of its own, and each thread its own scratch.
            failed.note(unsafe { self.run_tiles(tiles, space, thread) });
        });
        failed.first()
    }

    /// Runs every stage on each tile of a range.
    ///
    /// # Safety
    /// As for [`Rows::run`], and nobody else runs these tiles or uses this thread's scratch.
    unsafe fn run_tiles(&self, tiles: Range<usize>, space: &Space, thread: usize) -> Result<(), Failure> {
        let mut moving: SmallVec<[Moving<'_>; 8]> =
            self.stages.iter().map(|stage| Moving::new(stage, space, thread)).collect();
        for index in tiles {
            let row = index * self.tile;
            let is_short = self.rows - row < self.tile;
            for (stage, moving) in self.stages.iter().zip(&mut moving) {
                stage.early.fetch(space, row);
                moving.go_to(row);
                let (loads, out) = (&moving.loads[..], moving.out);
                // SAFETY: the loads' views stay within their buffers, of which the rows of this tile are read, or within the scratch
                // rows that an earlier stage has just written; the output has room for the tile's rows, and no other part
                // writes them.
                let done = unsafe {
                    match &stage.last {
                        Some(last) if is_short => {
                            last.run_all(&Call { loads, scalars: space.scalars(&stage.scalars), out, origin: row })
                        }
                        _ => moving.tile.run(loads, out, row),
                    }
                };
                done.map_err(|fault| Failure { fault, node: stage.node })?;
            }
        }
        Ok(())
    }
}

fn row_program(stage: &Stage, lead: usize) -> RowProgram {
    match &stage.work {
        Work::MapReduce(work) => RowProgram::new(lower::lower(work), lead),
        Work::Concat { .. } | Work::Gather { .. } | Work::ScatterAdd { .. } => {
            unreachable!("only map-reduces run row by row")
        }
    }
}

/// How many rows are run at a time.
fn tile_rows(programs: &[RowProgram], rows: usize) -> usize {
    if !programs.iter().all(RowProgram::rows_are_even) {
        return 1;
    }
    let work = programs.iter().map(RowProgram::row_work).max().unwrap_or(1).max(1);
    if rows * work <= SMALL {
        return rows.max(1);
    }
    // Large tensors are cut into enough tiles to keep several threads busy.
    (TILE / work).clamp(1, rows.div_ceil(16))
}
