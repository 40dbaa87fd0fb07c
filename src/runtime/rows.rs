//! Kernels of several stages that run row by row, with what lies between them in scratch.

use super::contraction::RowProduct;
use super::fetch::{self, Early};
use super::prepared::{Prepare, Value};
use super::run::{Failure, Space};
use super::threads::seated;
use crate::codegen::{self, Around, Call, Compiled, Next, Repeated};
use crate::lower::{self, RowProgram};
use crate::memory::ALIGN;
use crate::schedule::{Kernel, Stage, Work, contraction};
use smallvec::SmallVec;
use std::ops::Range;

/// About so many elements of a stage are computed before the next stage takes over: what lies between them fits into the L1 cache, and memory,
/// which some stages keep waiting and some keep busy, is in use nearly all the time.
const TILE: usize = 1 << 10;

/// The same where there are products, which pack an operand for every tile.
const PRODUCT_TILE: usize = 1 << 16;

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
    tile: Runner,
    last: Option<Runner>,
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

/// What runs a stage on a tile.
enum Runner {
    Code(Compiled),
    Product(Box<RowProduct>),
}

impl Runner {
    /// The bytes that a thread keeps for running it again and again.
    fn repeated_bytes(&self) -> usize {
        match self {
            Runner::Code(compiled) => compiled.repeated_bytes(),
            Runner::Product(_) => 0,
        }
    }
}

/// A stage on its way along the rows, on one thread.
struct Moving<'s> {
    stage: &'s RowStage,
    /// What runs whole tiles, unless that is a product.
    tile: Option<Repeated<'s>>,
    /// Where operands and output begin at row 0, and at the present row.
    first: SmallVec<[*const u8; 4]>,
    first_out: *mut u8,
    loads: SmallVec<[*const u8; 4]>,
    out: *mut u8,
    /// The row with which the tile begins that follows the last one evenly.
    next: Option<usize>,
}

impl<'s> Moving<'s> {
    /// For whole tiles of so many rows.
    fn new(stage: &'s RowStage, space: &'s Space, thread: usize, tile: usize) -> Moving<'s> {
        let scratch = space.scratch(thread);
        let pointer = |spot: &Spot| match spot {
            Spot::Whole(value) => space.pointer(*value),
            Spot::Scratch(start) => scratch.wrapping_add(*start),
        };
        let first: SmallVec<[*const u8; 4]> = stage.loads.iter().map(|spot| pointer(spot).cast_const()).collect();
        let out = pointer(&stage.out);
        let tile = match &stage.tile {
            Runner::Code(compiled) => {
                let frame = scratch.wrapping_add(stage.frame);
                let loads: SmallVec<[i64; 4]> = (0..stage.loads.len()).map(|slot| stage.shift(slot, tile)).collect();
                let next = Next { loads: &loads, output: stage.store_shift(tile), origin: tile };
                // SAFETY: the frame is this stage's part of this thread's scratch, which has room for it.
                Some(unsafe { compiled.repeated(space.scalars(&stage.scalars), frame, Some(&next)) })
            }
            Runner::Product(_) => None,
        };
        Moving { stage, tile, loads: first.clone(), first, first_out: out, out, next: None }
    }

    /// Goes to a tile that begins with a row. What is in scratch is always that of the present tile.
    fn go_to(&mut self, row: usize) {
        let Moving { stage, .. } = *self;
        for &slot in &stage.moving {
            self.loads[slot] = self.first[slot].wrapping_offset(stage.shift(slot, row) as isize);
        }
        self.out = self.first_out.wrapping_offset(stage.store_shift(row) as isize);
    }

    /// Runs a whole tile that follows the last one evenly; `false`, with nothing done, where it does not, or has to be gone to.
    ///
    /// # Safety
    /// As for [`Rows::run_tiles`].
    unsafe fn go_on(&mut self, row: usize) -> bool {
        // SAFETY: the caller's promise; a row is only noted where the last thing was to run the tile before it.
        self.next.take() == Some(row) && self.tile.as_mut().is_some_and(|tile| unsafe { tile.run_next() })
    }
}

impl RowStage {
    /// By how many bytes row `row` of an operand lies behind row 0: not at all in scratch.
    fn shift(&self, slot: usize, row: usize) -> i64 {
        let is_moving = self.moving.contains(&slot);
        if is_moving { self.rows.shift(slot, row) * self.rows.size_of_load(slot) as i64 } else { 0 }
    }

    /// The same for the output.
    fn store_shift(&self, row: usize) -> i64 {
        match self.out {
            Spot::Whole(_) => self.rows.store_shift(row) * self.size as i64,
            Spot::Scratch(_) => 0,
        }
    }
}

/// A kernel ready to run row by row.
pub(super) struct Rows {
    stages: Vec<RowStage>,
    /// Where in a thread's scratch the products have theirs.
    product_scratch: usize,
    rows: usize,
    /// So many rows at a time lie alike: no tile goes beyond them.
    even: usize,
    /// The rows of a tile.
    tile: usize,
}

impl Rows {
    /// Makes a kernel of map-reduces over rows of these sizes ready.
    pub(super) fn prepare(prepare: &mut Prepare<'_>, kernel: &Kernel, sizes: &[usize]) -> Rows {
        let rows: usize = sizes.iter().product();
        let programs: Vec<RowProgram> = kernel.stages.iter().map(|stage| row_program(stage, sizes.len())).collect();
        let even = programs.iter().map(RowProgram::even_rows).min().unwrap_or(rows);
        let tile = tile_rows(kernel, &programs, rows).min(even);
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
            let roles = contraction(work);
            let runner = |rows: usize| {
                let program = program.for_rows(rows);
                match &roles {
                    Some(roles) => Runner::Product(Box::new(RowProduct::new(&program, roles))),
                    None => Runner::Code(codegen::compile_for(&program, Around { bytes, next })),
                }
            };
            let loads: SmallVec<[Spot; 4]> = work.loads.iter().map(|load| reads[load.read]).collect();
            let is_moving = |&slot: &usize| matches!(loads[slot], Spot::Whole(_)) && program.moves(slot);
            let last = (!even.is_multiple_of(tile)).then(|| runner(even % tile));
            let (tile, frame) = (runner(tile), scratch);
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
        let products = stages.iter().flat_map(|stage| [Some(&stage.tile), stage.last.as_ref()]).flatten();
        let own = products.map(|runner| match runner {
            Runner::Product(product) => product.scratch_bytes(),
            Runner::Code(_) => 0,
        });
        prepare.scratch = prepare.scratch.max(scratch + own.max().unwrap_or(0));
        for (at, fetches) in plan.iter_mut().enumerate() {
            stages[at].early = Early::new(fetches, |[stage, slot]| match stages[stage].loads[slot] {
                Spot::Whole(value) => Some(value),
                Spot::Scratch(_) => None,
            });
        }
        Rows { stages, product_scratch: scratch, rows, even, tile }
    }

    /// What runs each stage, on a whole tile.
    pub(super) fn compiled(&self) -> Vec<&Compiled> {
        let code = self.stages.iter().filter_map(|stage| match &stage.tile {
            Runner::Code(compiled) => Some(compiled),
            Runner::Product(_) => None,
        });
        code.collect()
    }

    /// Runs all stages on all rows.
    ///
    /// # Safety
    /// The space is bound to buffers as large as the plan says.
    pub(super) unsafe fn run(&self, space: &Space) -> Result<(), Failure> {
        let tiles = self.rows / self.even * self.even.div_ceil(self.tile);
        let has_product = self.stages.iter().any(|stage| matches!(stage.tile, Runner::Product(_)));
        let parts = tiles.div_ceil(if has_product { 1 } else { LEAST_TILES }).min(MOST_PARTS);
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
            self.stages.iter().map(|stage| Moving::new(stage, space, thread, self.tile)).collect();
        let together = self.even.div_ceil(self.tile);
        for index in tiles {
            let within = index % together * self.tile;
            let row = index / together * self.even + within;
            let is_short = self.even - within < self.tile;
            let next = (!is_short && within + self.tile < self.even).then_some(row + self.tile);
            for (stage, moving) in self.stages.iter().zip(&mut moving) {
                stage.early.fetch(space, row);
                // SAFETY: as below.
                if !is_short && unsafe { moving.go_on(row) } {
                    moving.next = next;
                    continue;
                }
                moving.go_to(row);
                let (loads, out) = (&moving.loads[..], moving.out);
                let call = Call { loads, scalars: space.scalars(&stage.scalars), out, origin: row };
                let runner = if is_short { stage.last.as_ref().unwrap_or(&stage.tile) } else { &stage.tile };
                // SAFETY: the loads' views stay within their buffers, of which the rows of this tile are read, or within the scratch
                // rows that an earlier stage has just written; the output has room for the tile's rows, and no other part
                // writes them. The scratch of products begins behind that of the stages.
                let done = unsafe {
                    match (runner, &mut moving.tile) {
                        (Runner::Product(product), _) => {
                            product.run(&call, space.scratch(thread).wrapping_add(self.product_scratch));
                            Ok(())
                        }
                        (Runner::Code(_), Some(tile)) if !is_short => {
                            moving.next = next;
                            tile.run(loads, out, row)
                        }
                        (Runner::Code(compiled), _) => compiled.run_all(&call),
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
        Work::Concat { .. } | Work::Gather { .. } | Work::Scatter { .. } | Work::Lines { .. } => {
            unreachable!("only map-reduces run row by row")
        }
    }
}

/// How many rows are run at a time.
fn tile_rows(kernel: &Kernel, programs: &[RowProgram], rows: usize) -> usize {
    let is_product = |stage: &Stage| matches!(&stage.work, Work::MapReduce(work) if contraction(work).is_some());
    let work = kernel
        .stages
        .iter()
        .zip(programs)
        .map(|(stage, program)| if is_product(stage) { program.row_len() } else { program.row_work() });
    let work = work.max().unwrap_or(1).max(1);
    if rows * work <= SMALL {
        return rows.max(1);
    }
    let tile = if kernel.stages.iter().any(is_product) { PRODUCT_TILE } else { TILE };
    // Large tensors are cut into enough tiles to keep several threads busy.
    (tile / work).clamp(1, rows.div_ceil(16))
}
