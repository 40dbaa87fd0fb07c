//! Kernels of several stages that run row by row, with what lies between them in scratch.

use super::contraction::RowProduct;
use super::prepared::{Prepare, Value};
use super::run::{Failure, Space};
use super::threads::seated;
use crate::codegen::{self, Around, Call, Compiled};
use crate::lower::{self, RowProgram};
use crate::memory::ALIGN;
use crate::schedule::{Kernel, Stage, Work, contraction};
use smallvec::SmallVec;
use std::ops::Range;

/// About so many elements of a stage are computed before the next stage takes over: they fit into the cache.
const TILE: usize = 1 << 14;

/// The same where there are products, which pack an operand for every tile.
const PRODUCT_TILE: usize = 1 << 16;

/// Operands of so many bytes are not in a cache near by.
const FAR: i64 = 1 << 20;

/// The most pieces of work. The number is fixed by the shape, so that results do not depend on threads.
const MOST_PARTS: usize = 64;

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
    scalars: Range<usize>,
    out: Spot,
    /// The bytes of an element of the output.
    size: usize,
    /// The number of the node that is made.
    node: usize,
}

/// What runs a stage on a tile.
enum Runner {
    Code(Compiled),
    Product(Box<RowProduct>),
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
        let next = fetched_early(kernel, &programs, rows, tile);
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
            let next = &next[at];
            let roles = contraction(work);
            let runner = |rows: usize| {
                let program = program.for_rows(rows);
                match &roles {
                    Some(roles) => Runner::Product(Box::new(RowProduct::new(&program, roles))),
                    None => Runner::Code(codegen::compile_for(&program, Around { bytes, next })),
                }
            };
            stages.push(RowStage {
                tile: runner(tile),
                last: (!even.is_multiple_of(tile)).then(|| runner(even % tile)),
                rows: program,
                loads: work.loads.iter().map(|load| reads[load.read]).collect(),
                scalars: prepare.scalars(stage),
                out,
                size,
                node: prepare.number(&stage.node),
            });
        }
        let products = stages.iter().flat_map(|stage| [Some(&stage.tile), stage.last.as_ref()]).flatten();
        let own = products.map(|runner| match runner {
            Runner::Product(product) => product.scratch_bytes(),
            Runner::Code(_) => 0,
        });
        prepare.scratch = prepare.scratch.max(scratch + own.max().unwrap_or(0));
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
        let parts = tiles.min(MOST_PARTS);
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
        let scratch = space.scratch(thread);
        let together = self.even.div_ceil(self.tile);
        for index in tiles {
            let within = index % together * self.tile;
            let row = index / together * self.even + within;
            let is_short = self.even - within < self.tile;
            for stage in &self.stages {
                let loads = stage.loads.iter().enumerate().map(|(slot, spot)| match spot {
                    Spot::Whole(value) => {
                        let shift = stage.rows.shift(slot, row) * stage.rows.size_of_load(slot) as i64;
                        space.pointer(*value).wrapping_offset(shift as isize).cast_const()
                    }
                    Spot::Scratch(start) => scratch.wrapping_add(*start).cast_const(),
                });
                let loads: SmallVec<[*const u8; 8]> = loads.collect();
                let out = match stage.out {
                    Spot::Whole(value) => {
                        let shift = stage.rows.store_shift(row) * stage.size as i64;
                        space.pointer(value).wrapping_offset(shift as isize)
                    }
                    Spot::Scratch(start) => scratch.wrapping_add(start),
                };
                let runner = if is_short { stage.last.as_ref().unwrap_or(&stage.tile) } else { &stage.tile };
                let call = Call { loads: &loads, scalars: space.scalars(&stage.scalars), out, origin: row };
                match runner {
                    Runner::Code(compiled) => {
                        // SAFETY: the loads' views stay within their buffers, of which the rows of this tile are read, or within the scratch
                        // rows that an earlier stage has just written; the output has room for the tile's rows, and no other part
                        // writes them.
                        unsafe { compiled.run_all(&call) }.map_err(|fault| Failure { fault, node: stage.node })?;
                    }
                    Runner::Product(product) => {
                        // SAFETY: as above; the product's scratch begins behind that of the stages.
                        unsafe { product.run(&call, scratch.wrapping_add(self.product_scratch)) };
                    }
                }
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

/// Which operands of each stage are fetched early for the next tile, and how far ahead that is. One stage fetches what several read: the one
/// with the most to do in the meantime.
fn fetched_early(kernel: &Kernel, programs: &[RowProgram], rows: usize, tile: usize) -> Vec<Vec<i64>> {
    let mut next: Vec<Vec<i64>> = Vec::with_capacity(programs.len());
    let mut fetching: Vec<(usize, [usize; 2])> = Vec::new(); // a node, and the stage and the operand that fetch it
    for (at, (stage, program)) in kernel.stages.iter().zip(programs).enumerate() {
        let Work::MapReduce(work) = &stage.work else { unreachable!("only map-reduces run row by row") };
        next.push(vec![0; work.loads.len()]);
        for (slot, load) in work.loads.iter().enumerate() {
            let node = &stage.reads[load.read];
            let is_made_here = kernel.stages.iter().any(|stage| stage.node.id() == node.id());
            let row_bytes = program.shift(slot, 1) * program.size_of_load(slot) as i64;
            if is_made_here || row_bytes * (rows as i64) < FAR {
                continue;
            }
            match fetching.iter_mut().find(|(id, _)| *id == node.id()) {
                Some((_, [other, _])) if programs[*other].words() > program.words() => {}
                Some((_, other)) => *other = [at, slot],
                None => fetching.push((node.id(), [at, slot])),
            }
        }
    }
    for (_, [at, slot]) in fetching {
        next[at][slot] = programs[at].shift(slot, tile) * programs[at].size_of_load(slot) as i64;
    }
    next
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
    let tile = if kernel.stages.iter().any(is_product) { PRODUCT_TILE } else { TILE };
    // Large tensors are cut into enough tiles to keep several threads busy.
    let most = if rows * work > 4 * tile { rows.div_ceil(16) } else { rows };
    (tile / work).clamp(1, most.max(1))
}
