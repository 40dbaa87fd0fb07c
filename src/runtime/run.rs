//! Runs a prepared plan on the buffers of one request.

use super::prepared::{Piece, Place, Prepared, Ready, Value};
use super::structural;
use super::threads::{End, parallel, parallel_from};
use crate::codegen::Call;
use crate::dtype::DType;
use crate::error::Result;
use crate::memory::{Buffer, BufferMut};
use crate::ops::vector::Fault;
use smallvec::SmallVec;
use std::ops::Range;
use std::sync::{Mutex, PoisonError};

/// The memory of one run: an arena, and where every value is.
pub(crate) struct Space {
    arena: BufferMut,
    pointers: SmallVec<[Pointer; 16]>,
    scalars: SmallVec<[u64; 8]>,
    /// Where the threads' scratch begins, and the bytes of each.
    scratch_start: usize,
    scratch: usize,
    threads: usize,
}

/// What a stage met, and the number of the node it was making.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) fault: Fault,
    pub(crate) node: usize,
}

/// The failures of parts that ran at the same time.
pub(super) struct Failures(Mutex<Option<Failure>>);

impl Failures {
    pub(super) fn note(&self, result: Result<(), Failure>) {
        if let Err(failure) = result {
            *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(failure);
        }
    }

    /// One of the failures, if there was any.
    pub(super) fn first(self) -> Result<(), Failure> {
        self.0.into_inner().unwrap_or_else(PoisonError::into_inner).map_or(Ok(()), Err)
    }
}

impl Space {
    /// Memory for runs of a plan.
    pub(crate) fn new(prepared: &Prepared) -> Result<Space> {
        let threads = super::threads();
        let bytes = prepared.arena + prepared.scratch * threads;
        Ok(Space {
            arena: Buffer::uninit("realize", DType::U8, bytes)?,
            pointers: SmallVec::new(),
            scalars: SmallVec::new(),
            scratch_start: prepared.arena,
            scratch: prepared.scratch,
            threads,
        })
    }

    /// Whether there is scratch for every thread there may be now.
    pub(crate) fn suits_threads(&self) -> bool {
        super::threads() <= self.threads
    }

    /// Tells where the values of a run are: `given` finds those of nodes that have their numbers, by the node's number,
    /// `made` are the buffers the run fills, and `scalar` finds the bits of a part of what a node tells.
    pub(crate) fn bind(
        &mut self,
        prepared: &Prepared,
        mut given: impl FnMut(usize) -> Result<*const u8>,
        made: impl Fn(usize) -> *mut u8,
        scalar: impl Fn(usize, u8) -> u64,
    ) -> Result<()> {
        self.pointers.clear();
        self.scalars.clear();
        let arena = self.arena.as_mut_ptr();
        for place in &prepared.places {
            self.pointers.push(Pointer(match *place {
                Place::Given(node) => given(node)?.cast_mut(),
                Place::Made(which) => made(which),
                Place::Arena(offset) => arena.wrapping_add(offset),
            }));
        }
        self.scalars.extend(prepared.scalars.iter().map(|&(node, part)| scalar(node, part)));
        Ok(())
    }

    /// Tells where one value is.
    pub(super) fn set(&mut self, value: Value, pointer: *mut u8) {
        self.pointers[value as usize] = Pointer(pointer);
    }

    pub(super) fn pointer(&self, value: Value) -> *mut u8 {
        self.pointers[value as usize].0
    }

    pub(super) fn scalars(&self, range: &Range<usize>) -> &[u64] {
        &self.scalars[range.clone()]
    }

    /// The start of a thread's scratch.
    pub(super) fn scratch(&self, thread: usize) -> *mut u8 {
        debug_assert!(thread < self.threads);
        self.arena.as_ptr().cast_mut().wrapping_add(self.scratch_start + thread * self.scratch)
    }

    /// How many threads have scratch.
    pub(super) fn threads(&self) -> usize {
        self.threads
    }

    pub(super) fn failures(&self) -> Failures {
        Failures(Mutex::new(None))
    }
}

/// A pointer that may go to another thread; whoever uses it says why that is sound.
#[derive(Clone, Copy)]
struct Pointer(*mut u8);

// SAFETY: a pointer is only a number until it is used, and its uses say why they are sound.
unsafe impl Send for Pointer {}
// SAFETY: as above.
unsafe impl Sync for Pointer {}

impl Prepared {
    /// Runs every kernel.
    ///
    /// # Safety
    /// The space is bound to this plan: what is given has the dtypes, the lengths and the numbers that the plan was made for,
    /// and stays; what is made has room.
    pub(crate) unsafe fn run(&self, space: &Space) -> Result<(), Stop> {
        for kernel in &self.kernels {
            // SAFETY: the caller's promise; kernels run one after the other, so what one reads has been made.
            unsafe {
                match kernel {
                    Ready::Apart(pieces) => run_apart(pieces, space)?,
                    Ready::Siblings(pieces) => run_siblings(pieces, space)?,
                    Ready::Rows(rows) => rows.run(space)?,
                    Ready::Contracted(contracted) => contracted.run(space)?,
                    Ready::Moves(moves) => structural::run(moves, space)?,
                }
            }
        }
        Ok(())
    }
}

/// Why a run stopped.
#[derive(Debug)]
pub(crate) enum Stop {
    /// A stage met something: a division by zero.
    Failure(Failure),
    /// An index that names no place: the number of the node, the index and the size of the axis.
    OutOfRange { node: usize, at: i64, size: usize },
    /// There was no memory.
    Error(crate::error::Error),
}

impl From<Failure> for Stop {
    fn from(failure: Failure) -> Stop {
        Stop::Failure(failure)
    }
}

/// Stages that do not need each other: the parts of all are one list.
///
/// # Safety
/// As for [`Prepared::run`].
unsafe fn run_apart(pieces: &[Piece], space: &Space) -> Result<(), Failure> {
    let failed = space.failures();
    if let [piece] = pieces {
        let (bound, failed) = (piece.bind(space), &failed);
        let end = if piece.compiled.goes_back() { End::Last } else { End::First };
        // SAFETY: the caller's promise; parts write apart from each other.
        parallel_from(end, piece.compiled.parts(), &move |part| failed.note(unsafe { bound.run(part) }));
    } else {
        let total = pieces.iter().map(|piece| piece.compiled.parts()).sum();
        parallel(total, &|part| {
            let mut part = part;
            for piece in pieces {
                let parts = piece.compiled.parts();
                if part < parts {
                    // SAFETY: the caller's promise; parts of one stage write apart from each other, and so do the stages.
                    return failed.note(unsafe { piece.bind(space).run(part) });
                }
                part -= parts;
            }
        });
    }
    failed.first()?;
    // SAFETY: all parts have run.
    pieces.iter().for_each(|piece| unsafe { piece.finish(space) });
    Ok(())
}

/// Stages that read the same numbers: what the part of one has read is in the cache for the same part of the next.
///
/// # Safety
/// As for [`Prepared::run`].
unsafe fn run_siblings(pieces: &[Piece], space: &Space) -> Result<(), Failure> {
    let parts = pieces.iter().map(|piece| piece.compiled.parts()).max().unwrap_or(0);
    let failed = space.failures();
    parallel(parts, &|part| {
        for piece in pieces {
            let own = piece.compiled.parts();
            for part in own * part / parts..own * (part + 1) / parts {
                // SAFETY: the caller's promise; every part of every stage is run once.
                failed.note(unsafe { piece.bind(space).run(part) });
            }
        }
    });
    failed.first()?;
    // SAFETY: all parts have run.
    pieces.iter().for_each(|piece| unsafe { piece.finish(space) });
    Ok(())
}

impl Piece {
    /// The first element that is written, of the output itself.
    fn output(&self, space: &Space) -> *mut u8 {
        space.pointer(self.out).wrapping_add(self.skip)
    }

    /// The piece with the places of this run.
    fn bind(&self, space: &Space) -> Bound<'_> {
        Bound {
            piece: self,
            loads: self.loads.iter().map(|&load| space.pointer(load).cast_const()).collect(),
            scalars: SmallVec::from_slice(space.scalars(&self.scalars)),
            out: self.partials.map_or_else(|| self.output(space), |partials| space.pointer(partials)),
        }
    }

    /// Combines partial results, if there are any.
    ///
    /// # Safety
    /// As for [`Prepared::run`]; all parts have run.
    unsafe fn finish(&self, space: &Space) {
        if let Some(partials) = self.partials {
            // SAFETY: all parts have run with these partial results, and there is room for the output.
            unsafe { self.compiled.finish(space.pointer(partials), self.output(space)) };
        }
    }
}

/// A piece and the places of one run. All of it lies together: a worker far away has few cache lines to fetch before it begins.
struct Bound<'a> {
    piece: &'a Piece,
    loads: SmallVec<[*const u8; 8]>,
    scalars: SmallVec<[u64; 8]>,
    out: *mut u8,
}

// SAFETY: the pointers are only numbers until the piece is run, which says why that is sound.
unsafe impl Sync for Bound<'_> {}

impl Bound<'_> {
    /// # Safety
    /// As for [`Prepared::run`]; no other thread runs this part.
    unsafe fn run(&self, part: usize) -> Result<(), Failure> {
        let call = Call { loads: &self.loads, scalars: &self.scalars, out: self.out, origin: 0 };
        // SAFETY: the views of the loads stay within their buffers; the output has an element for each index of the
        // stage's outer space (or is the partial results' own memory); parts write disjoint ranges.
        unsafe { self.piece.compiled.run(part, &call) }.map_err(|fault| Failure { fault, node: self.piece.node })
    }
}
