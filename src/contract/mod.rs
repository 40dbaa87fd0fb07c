//! Matrix products and general contractions over strided operands.
//!
//! `out[b, m, n] = Σ_k left[b, m, k] · right[b, k, n]`, where each of the four groups (batch, rows, columns, depth) has any
//! number of axes. A [`Contraction`] says so, a [`Product`] is made ready for it once, and runs in phases, whose parts may
//! run on any threads.
//!
//! # The order of sums
//!
//! It follows from the sizes of the groups alone, and each product is fused with its addition where the machine can do that.
//! So an element of the result depends on the elements it is made of, but not on threads, parts, strides, sources or what
//! follows.
//!
//! Depth is cut into equal blocks of at most 256. Within a block products are added one after the other to a sum that
//! starts with 0; sums of blocks are added in order. Where the result has one row or one column, products are added to
//! lanes instead, as `vector.rs` says.

mod axes;
mod blocked;
mod border;
mod deliver;
mod fetch;
mod kernel;
mod late;
mod pack;
mod pack_border;
mod place;
mod plan;
mod reader;
mod room;
mod strip;
#[cfg(test)]
mod tests;
mod tiny;
mod vector;

pub(crate) use place::Meeting;
pub(crate) use reader::Reader;
pub(crate) use strip::{Strip, StripRun};

use crate::dtype::DType;
use axes::Group;
use border::Border;
use plan::Path;
use std::ops::Range;

/// What is to be computed: `out[b, m, n] = Σ_k left[b, m, k] · right[b, k, n]`, every group having any number of axes.
///
/// A flat index of a group counts through its axes, the last one fastest. An axis that only one operand and the result
/// have belongs to the rows or columns: as a batch axis it would be computed as a product of its own.
#[derive(Clone, Debug)]
pub(crate) struct Contraction {
    /// Any dtype but `bool`. 16-bit floats are summed as `f32`; integers wrap.
    pub dtype: DType,
    /// The sizes of the axes of each group.
    pub batch: Vec<usize>,
    pub rows: Vec<usize>,
    pub cols: Vec<usize>,
    pub depth: Vec<usize>,
    pub left: Side,
    pub right: Side,
    /// Strides of the result over batch, rows and columns, in elements.
    pub out: Vec<i64>,
}

/// How an operand is read.
#[derive(Clone, Debug)]
pub(crate) struct Side {
    /// Strides over batch, then rows (left) or columns (right), then depth, in elements; 0 repeats, any sign.
    pub strides: Vec<i64>,
    /// The element at index 0 of every axis.
    pub offset: i64,
    /// Whether a [`Source`] stands for the operand in every run. Strides then say how the operand would lie in memory: which batch indices are
    /// alike, and which way it is best computed.
    pub computed: bool,
    /// Where there are elements: at indices that keep all of these. Elsewhere there are zeros.
    pub guards: Vec<Guard>,
    /// The elements of the buffer; asked for where there are guards.
    pub len: usize,
}

/// A condition on the indices of an operand: `low <= Σ step · index < high`.
#[derive(Clone, Debug)]
pub(crate) struct Guard {
    /// One for each stride of the operand.
    pub steps: Vec<i64>,
    pub low: i64,
    pub high: i64,
}

/// A [`Contraction`] made ready: axes merged, a path chosen and blocks fixed, by shape and machine alone.
pub(crate) struct Product {
    left: Operand,
    right: Operand,
    out: Target,
    path: Path,
    /// The parts of each phase.
    parts: Vec<usize>,
    shared_bytes: usize,
    thread_bytes: usize,
    tiles: Vec<TileShape>,
    /// The lines of a panel of the left operand, and of the right one.
    widths: [usize; 2],
    run: unsafe fn(&Product, usize, usize, &Operands<'_>),
}

/// The shape of a tile that is handed to a [`Tile`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TileShape {
    pub rows: usize,
    pub cols: usize,
    /// Elements from one row to the next.
    pub stride: usize,
}

/// An operand with its axes merged.
struct Operand {
    batch: Group,
    lines: Group,
    depth: Group,
    offset: isize,
    computed: bool,
    /// `None` if there are elements everywhere.
    border: Option<Border>,
}

/// The result with its axes merged.
struct Target {
    batch: Group,
    rows: Group,
    cols: Group,
}

/// What one run of a [`Product`] works on.
pub(crate) struct Operands<'a> {
    /// The buffers of the operands; not read where there is a source instead.
    pub left: *const u8,
    pub right: *const u8,
    /// The buffer of the result; not touched if there is a `finish`.
    pub out: *mut u8,
    /// [`Product::shared_bytes`] for all threads, aligned to 64 bytes, kept from phase to phase.
    pub shared: *mut u8,
    /// [`Product::thread_bytes`] for this thread alone, aligned to 64 bytes.
    pub scratch: *mut u8,
    /// Called for each finished tile of the result, on the thread that made it, while it is hot in cache. The tile is in
    /// the thread's scratch, and nothing else keeps it.
    pub finish: Option<&'a dyn Tile>,
    /// Where an operand is not strided: computes blocks of it.
    pub left_source: Option<&'a dyn Source>,
    pub right_source: Option<&'a dyn Source>,
}

/// What follows a product.
pub(crate) trait Tile: Sync {
    /// Takes a finished tile: `rows` × `cols` (flat indices) of one flat batch index. Every element of the result is in one tile, and every
    /// tile is taken once: what follows may write over what it reads there. Element `(r, c)` of the tile is at
    /// `tile + (r - rows.start) * stride + (c - cols.start)` elements. Sums of 16-bit floats are given as `f32`; all others
    /// in the dtype of the contraction. The tile may be overwritten.
    ///
    /// # Safety
    /// The tile may be read and written as said.
    unsafe fn finish(&self, batch: usize, rows: Range<usize>, cols: Range<usize>, tile: *mut u8, stride: usize);
}

/// A block of an operand, in panels: lines × depths (flat indices; lines are rows of the left operand or columns of the right one) of
/// one flat batch index.
///
/// A panel has `width` lines, and begins `panel` elements behind the one before. Counted from the first line and the first depth, element
/// `(line, k)` is at `line / width * panel + k * width + line % width`.
#[derive(Clone, Debug)]
pub(crate) struct Wanted {
    pub batch: usize,
    pub lines: Range<usize>,
    pub depth: Range<usize>,
    pub width: usize,
    pub panel: usize,
}

/// An operand that is computed.
pub(crate) trait Source: Sync {
    /// Writes a block in the dtype of the contraction. Where the last panel has no more lines it may write anything; so it may where the guards
    /// of the operand say that there is no element.
    ///
    /// # Safety
    /// There is room for whole panels.
    unsafe fn fill(&self, wanted: &Wanted, to: *mut u8);
}

impl Product {
    /// Makes a contraction ready.
    pub(crate) fn new(contraction: &Contraction) -> Product {
        plan::product(contraction)
    }

    /// How many phases there are. They run one after the other; all parts of a phase may run at once.
    pub(crate) fn phases(&self) -> usize {
        self.parts.len()
    }

    /// How many parts a phase has, by shape only.
    pub(crate) fn parts(&self, phase: usize) -> usize {
        self.parts[phase]
    }

    /// The bytes shared by all threads.
    pub(crate) fn shared_bytes(&self) -> usize {
        self.shared_bytes
    }

    /// The bytes of scratch for each thread.
    pub(crate) fn thread_bytes(&self) -> usize {
        self.thread_bytes
    }

    /// The shapes of all tiles that there are, each once; the largest first.
    pub(crate) fn tiles(&self) -> &[TileShape] {
        &self.tiles
    }

    /// The lines of each panel of the left or the right operand, where it is computed.
    pub(crate) fn width(&self, is_left: bool) -> usize {
        self.widths[usize::from(!is_left)]
    }

    /// Runs one part.
    ///
    /// # Safety
    /// `phase` and `part` are less than [`Product::phases`] and [`Product::parts`], all parts of earlier phases are done, and
    /// nobody else runs this one. Operands cover what the contraction reads (unless a source stands for it), `out` what it
    /// writes (unless there is a `finish`), `shared` and `scratch` are as large as they must be. Nobody writes the operands, or
    /// uses the result or the scratch, meanwhile.
    pub(crate) unsafe fn run(&self, phase: usize, part: usize, call: &Operands<'_>) {
        // SAFETY: the caller's promise; the plan chose a kernel of this machine.
        unsafe { (self.run)(self, phase, part, call) }
    }
}
