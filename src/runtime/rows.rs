//! Runs a kernel of several stages row by row, with what lies between them in scratch.

use super::run::{Pointer, StageFault};
use super::threads::parallel;
use crate::codegen::{self, Call, Compiled};
use crate::error::Result;
use crate::graph::Node;
use crate::lower::{self, RowProgram};
use crate::memory::{Buffer, BufferMut};
use crate::ops::vector::Fault;
use crate::schedule::{Kernel, Stage, Work};
use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

/// About so many elements of a stage are computed before the next stage takes over: they fit into the cache.
const TILE: usize = 1 << 14;

/// The most pieces of work. The number is fixed by the shape, so that results do not depend on threads.
const MOST_PARTS: usize = 64;

/// Where the numbers of a stage go, or come from.
#[derive(Clone, Copy)]
enum Place {
    /// A whole buffer: its address.
    Whole(Pointer),
    /// Scratch for the rows of one tile: which.
    Scratch(usize),
}

/// A stage, ready to run on rows.
struct Ready<'a> {
    stage: &'a Stage,
    rows: RowProgram,
    /// For a whole tile, and for the last one if that is shorter.
    tile: Compiled,
    last: Option<Compiled>,
    loads: Vec<Place>,
    out: Place,
}

/// Runs all stages; gives the numbers of the nodes for which `whole` holds. `read` finds what other kernels made.
pub(super) fn run(
    kernel: &Kernel,
    sizes: &[usize],
    whole: impl Fn(&Node) -> bool,
    read: impl Fn(&Node) -> Buffer,
) -> Result<Result<Vec<(Node, Buffer)>, StageFault>> {
    let rows: usize = sizes.iter().product();
    let programs: Vec<RowProgram> = kernel.stages.iter().map(|stage| row_program(stage, sizes.len())).collect();
    let tile = tile_rows(&programs, rows);
    let last = rows % tile;

    let mut outputs: Vec<(Node, BufferMut)> = Vec::new();
    let mut scratch: Vec<(usize, crate::dtype::DType)> = Vec::new();
    let mut places: HashMap<usize, Place> = HashMap::new();
    // What is read is kept here until the kernel is done.
    let mut inputs: Vec<Buffer> = Vec::new();
    let mut ready = Vec::with_capacity(programs.len());
    for (stage, rows) in kernel.stages.iter().zip(programs) {
        let Work::MapReduce(work) = &stage.work else { unreachable!("only map-reduces run row by row") };
        let reads: Vec<Place> = stage
            .reads
            .iter()
            .map(|node| {
                *places.entry(node.id()).or_insert_with(|| {
                    let buffer = read(node);
                    let pointer = Pointer(buffer.as_ptr().cast_mut());
                    inputs.push(buffer);
                    Place::Whole(pointer)
                })
            })
            .collect();
        let out = if whole(&stage.node) {
            let mut buffer = Buffer::uninit("realize", work.dtype, stage.node.len())?;
            let pointer = Pointer(buffer.as_mut_ptr());
            outputs.push((stage.node.clone(), buffer));
            Place::Whole(pointer)
        } else {
            scratch.push((tile * rows.row_len(), work.dtype));
            Place::Scratch(scratch.len() - 1)
        };
        places.insert(stage.node.id(), out);
        let loads = work.loads.iter().map(|load| reads[load.read]).collect();
        let whole_tile = codegen::compile(&rows.for_rows(tile));
        let last = (last > 0).then(|| codegen::compile(&rows.for_rows(last)));
        ready.push(Ready { stage, rows, tile: whole_tile, last, loads, out });
    }

    let tiles = rows.div_ceil(tile);
    let parts = tiles.min(MOST_PARTS);
    let failed: Mutex<Option<Result<StageFault>>> = Mutex::new(None);
    parallel(parts, &|part| {
        let tiles = tiles * part / parts..tiles * (part + 1) / parts;
        if let Err(error) = run_tiles(&ready, tiles, tile, rows, &scratch) {
            *failed.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
        }
    });
    drop(ready);
    if let Some(failure) = failed.into_inner().unwrap_or_else(PoisonError::into_inner) {
        return failure.map(Err);
    }
    // SAFETY: all tiles have run, and together they write every row of every output.
    Ok(Ok(outputs.into_iter().map(|(node, buffer)| (node, unsafe { buffer.freeze() })).collect()))
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
    // Large tensors are cut into enough tiles to keep several threads busy.
    let most = if rows * work > 4 * TILE { rows.div_ceil(16) } else { rows };
    (TILE / work).clamp(1, most.max(1))
}

/// Runs every stage on each tile of a range. An error is a fault of a stage, or memory that could not be had.
fn run_tiles(
    ready: &[Ready<'_>],
    tiles: std::ops::Range<usize>,
    tile: usize,
    rows: usize,
    scratch: &[(usize, crate::dtype::DType)],
) -> Result<(), Result<StageFault>> {
    let scratch = scratch.iter().map(|&(len, dtype)| Buffer::uninit("realize", dtype, len));
    let mut scratch: Vec<BufferMut> = scratch.collect::<Result<_>>().map_err(Err)?;
    let scratch: Vec<*mut u8> = scratch.iter_mut().map(BufferMut::as_mut_ptr).collect();
    for index in tiles {
        let row = index * tile;
        let compiled = |stage: &Ready<'_>| -> *const Compiled {
            if rows - row < tile { stage.last.as_ref().unwrap_or(&stage.tile) } else { &stage.tile }
        };
        for stage in ready {
            let loads = stage.loads.iter().enumerate().map(|(slot, place)| match place {
                Place::Whole(pointer) => {
                    let size = stage.rows.size_of_load(slot) as i64;
                    pointer.get().wrapping_offset((stage.rows.shift(slot, row) * size) as isize).cast_const()
                }
                Place::Scratch(which) => scratch[*which].cast_const(),
            });
            let loads: smallvec::SmallVec<[*const u8; 8]> = loads.collect();
            let out = match stage.out {
                Place::Whole(pointer) => {
                    let size = stage.stage.node.dtype().size() as i64;
                    pointer.get().wrapping_offset((stage.rows.store_shift(row) * size) as isize)
                }
                Place::Scratch(which) => scratch[which],
            };
            // SAFETY: `compiled` points into `ready`. The loads' views stay within their buffers, of which the rows of this
            // tile are read, or within the scratch rows that an earlier stage has just written; the output has room for
            // the tile's rows, and no other part writes them.
            let result: Result<(), Fault> =
                unsafe { (*compiled(stage)).run_all(&Call { loads: &loads, scalars: &[], out, origin: row }) };
            result.map_err(|fault| Ok(StageFault { fault, node: stage.stage.node.clone() }))?;
        }
    }
    Ok(())
}
