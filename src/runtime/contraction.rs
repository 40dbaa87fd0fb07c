//! Contractions ready to run: the product of two operands, tile by tile, and what is done with each tile while it is in the cache.

use super::prepared::{Prepare, Value};
use super::producer::{Filling, Folded, Place};
use super::run::{Failure, Failures, Space};
use super::threads::seated;
use crate::codegen::{self, Around, Call, Compiled};
use crate::contract::{self, Guard, Operands, Product, Side, Source, Tile, TileShape};
use crate::graph::Node;
use crate::lower;
use crate::lower::program::{Access, Load, LoopProgram};
use crate::memory::ALIGN;
use crate::ops::vector::Emit;
use crate::schedule::{Axes, Contraction, Kernel, MapReduce, Producer, Stage, Work, collapsed, kept_axes};
use crate::shape::{Bound, Bounded, row_major_strides};
use smallvec::SmallVec;
use std::ops::Range;

/// A contraction with its finishing stages, ready to run.
pub(super) struct Contracted {
    product: Product,
    left: Factor,
    right: Factor,
    /// Where the sums go, if no stage runs on their tiles.
    out: Option<Value>,
    /// Where the packed operands are.
    shared: Option<Value>,
    /// Copies the tiles of the sums to memory, where they are needed there besides.
    copy: Option<Finishing>,
    stages: Vec<Finishing>,
}

/// Where an operand comes from.
enum Factor {
    /// It is in memory.
    There(Value),
    /// It is computed where it is packed.
    Computed(Box<Folded>),
}

impl Factor {
    fn pointer(&self, space: &Space) -> *const u8 {
        match self {
            Factor::There(value) => space.pointer(*value),
            Factor::Computed(_) => std::ptr::null(),
        }
    }

    /// What computes it on a thread.
    fn source<'a>(&'a self, space: &'a Space, thread: usize) -> Option<Filling<'a>> {
        match self {
            Factor::There(_) => None,
            Factor::Computed(folded) => Some(Filling { folded, space, thread }),
        }
    }
}

/// A stage that runs on tiles.
struct Finishing {
    /// By the shape of a tile.
    programs: Vec<(TileShape, Compiled)>,
    loads: SmallVec<[Reading; 4]>,
    scalars: Range<usize>,
    out: Reading,
    /// The number of the node that is made.
    node: usize,
}

/// Where the elements of a tile are found, and how they lie there.
#[derive(Clone)]
struct Reading {
    spot: Spot,
    walk: Walk,
}

#[derive(Clone, Copy)]
enum Spot {
    /// In a value, at the tile's place.
    Whole(Value),
    /// In the tile of the sums.
    Sums,
    /// In a tile of this thread's scratch, so many bytes behind its start.
    Scratch(usize),
}

/// How elements lie: sizes and strides of the batch's axes, and the strides of rows and columns, all in elements.
#[derive(Clone, Default)]
struct Walk {
    batch: SmallVec<[(usize, i64); 2]>,
    row: i64,
    column: i64,
    /// The bytes of an element.
    size: usize,
}

impl Walk {
    /// How far the first element of a tile is from the first of all, in bytes.
    fn shift(&self, mut batch: usize, row: usize, column: usize) -> isize {
        let mut shift = row as i64 * self.row + column as i64 * self.column;
        for &(size, stride) in self.batch.iter().rev() {
            shift += (batch % size) as i64 * stride;
            batch /= size;
        }
        (shift * self.size as i64) as isize
    }
}

impl Contracted {
    /// Makes a kernel ready whose first stage is a contraction.
    pub(super) fn prepare(prepare: &mut Prepare<'_>, kernel: &Kernel, roles: &Contraction) -> Contracted {
        let (first, rest) = kernel.stages.split_first().expect("a kernel has a stage");
        let work = map_reduce(first);
        let contraction = contract_of(work, roles, &first.reads, &kernel.producers);
        let product = Product::new(&contraction);
        let mut scratch = product.thread_bytes().next_multiple_of(ALIGN);
        let [left, right] = [roles.left, roles.right].map(|load| {
            match kernel.producers.iter().find(|producer| producer.load == load) {
                None => Factor::There(prepare.read(&first.reads[work.loads[load].read])),
                Some(producer) => {
                    let is_left = load == roles.left;
                    let lines = if is_left { &roles.rows } else { &roles.columns };
                    let place = Place { space: &work.space, roles, lines, width: product.width(is_left) };
                    Factor::Computed(Box::new(Folded::prepare(prepare, producer, &place, &mut scratch)))
                }
            }
        });
        let shared = Some(product.shared_bytes()).filter(|&bytes| bytes > 0).map(|bytes| prepare.reserve_here(bytes));
        let mut contracted = Contracted { product, left, right, out: None, shared, copy: None, stages: Vec::new() };
        if rest.is_empty() {
            contracted.out = Some(prepare.make(&first.node, None));
            prepare.scratch = prepare.scratch.max(scratch);
            return contracted;
        }
        let mut tiling =
            Tiling { prepare, kernel, work, roles, product: &contracted.product, inside: Vec::new(), scratch };
        let copy = tiling.sums(first);
        let stages = rest.iter().map(|stage| tiling.finishing(stage)).collect();
        let scratch = tiling.scratch;
        prepare.scratch = prepare.scratch.max(scratch);
        Contracted { copy, stages, ..contracted }
    }

    /// What computes operands, and what runs each finishing stage on a whole tile.
    pub(super) fn compiled(&self) -> Vec<&Compiled> {
        let computed = [&self.left, &self.right].into_iter().filter_map(|factor| match factor {
            Factor::There(_) => None,
            Factor::Computed(folded) => Some(folded.compiled()),
        });
        computed.chain(self.stages.iter().map(|stage| &stage.programs[0].1)).collect()
    }

    /// Runs the product, phase by phase, and the stages on each of its tiles.
    ///
    /// # Safety
    /// The space is bound to buffers as large as the plan says.
    pub(super) unsafe fn run(&self, space: &Space) -> Result<(), Failure> {
        let failed = space.failures();
        for phase in 0..self.product.phases() {
            seated(space.threads(), self.product.parts(phase), &|part, thread| {
                let finish = Finish { contracted: self, space, thread, failed: &failed };
                let (left, right) = (self.left.source(space, thread), self.right.source(space, thread));
                let operands = Operands {
                    left: self.left.pointer(space),
                    right: self.right.pointer(space),
                    out: self.out.map_or(std::ptr::null_mut(), |out| space.pointer(out)),
                    shared: self.shared.map_or(std::ptr::null_mut(), |shared| space.pointer(shared)),
                    scratch: space.scratch(thread),
                    finish: (!self.stages.is_empty()).then_some(&finish as &dyn Tile),
                    left_source: left.as_ref().map(|left| left as &dyn Source),
                    right_source: right.as_ref().map(|right| right as &dyn Source),
                };
                // SAFETY: the views of the operands stay within their buffers; the output, the panels and this thread's scratch have the
                // room that the product asked for, and nobody else runs this part.
                unsafe { self.product.run(phase, part, &operands) };
            });
        }
        failed.first()
    }
}

/// The stages that run on the tiles of one thread.
struct Finish<'a> {
    contracted: &'a Contracted,
    space: &'a Space,
    thread: usize,
    failed: &'a Failures,
}

impl Tile for Finish<'_> {
    unsafe fn finish(&self, batch: usize, rows: Range<usize>, columns: Range<usize>, tile: *mut u8, _: usize) {
        let start = |reading: &Reading| match reading.spot {
            Spot::Whole(value) => {
                self.space.pointer(value).wrapping_offset(reading.walk.shift(batch, rows.start, columns.start))
            }
            Spot::Sums => tile,
            Spot::Scratch(start) => self.space.scratch(self.thread).wrapping_add(start),
        };
        for stage in self.contracted.copy.iter().chain(&self.contracted.stages) {
            let mut programs = stage.programs.iter();
            let found = programs.find(|(of, _)| (of.rows, of.cols) == (rows.len(), columns.len()));
            let (_, compiled) = found.expect("a program for every shape of a tile");
            let loads: SmallVec<[*const u8; 8]> = stage.loads.iter().map(|load| start(load).cast_const()).collect();
            let call =
                Call { loads: &loads, scalars: self.space.scalars(&stage.scalars), out: start(&stage.out), origin: 0 };
            // SAFETY: the operands' views stay within their buffers, of which this tile's elements are read, or within the tiles that
            // earlier stages have just written; nobody else writes this tile of the output.
            let done = unsafe { compiled.run_all(&call) };
            self.failed.note(done.map_err(|fault| Failure { fault, node: stage.node }));
        }
    }
}

/// Finishing stages being made ready.
struct Tiling<'a, 'b> {
    prepare: &'a mut Prepare<'b>,
    kernel: &'a Kernel,
    work: &'a MapReduce,
    roles: &'a Contraction,
    product: &'a Product,
    /// Where the nodes are that this kernel makes.
    inside: Vec<(usize, Reading)>,
    /// The scratch of a thread that is taken so far.
    scratch: usize,
}

impl Tiling<'_, '_> {
    /// The tiles of the sums, and the stage that copies them to memory if they are needed there.
    fn sums(&mut self, first: &Stage) -> Option<Finishing> {
        let size = self.work.dtype.size();
        let sums = Reading { spot: Spot::Sums, walk: Walk { size, ..Walk::default() } };
        self.inside.push((first.node.id(), sums.clone()));
        if !self.prepare.is_whole(&first.node, self.kernel) {
            return None;
        }
        let kept = kept_axes(self.work);
        let sizes: Vec<usize> = kept.iter().map(|&axis| self.work.space[axis]).collect();
        let dense: Vec<i64> = row_major_strides(&sizes).iter().map(|&stride| stride as i64).collect();
        let out = Reading { spot: Spot::Whole(self.prepare.make(&first.node, None)), walk: self.walk(&dense, size) };
        let mut e = Emit::new();
        let result = e.load(0, self.work.dtype);
        let program = LoopProgram {
            outer: Vec::new(),
            store: Vec::new(),
            reduced: Vec::new(),
            loads: vec![Load { dtype: self.work.dtype, access: Access::Strided { offset: 0, strides: Vec::new() } }],
            indices: Vec::new(),
            words: e.finish(),
            result,
            fold: None,
            stored: self.work.dtype,
        };
        let loads = SmallVec::from_elem(sums, 1);
        let node = self.prepare.number(&first.node);
        Some(Finishing { programs: self.programs(&program, &loads, &out), loads, scalars: 0..0, out, node })
    }

    fn finishing(&mut self, stage: &Stage) -> Finishing {
        let work = map_reduce(stage);
        let program = lower::lower(work);
        let loads: SmallVec<[Reading; 4]> = work
            .loads
            .iter()
            .zip(&program.loads)
            .map(|(operand, load)| {
                let node = &stage.reads[operand.read];
                match self.inside.iter().find(|(id, _)| *id == node.id()) {
                    Some((_, reading)) => reading.clone(),
                    None => {
                        let Access::Strided { strides, .. } = &load.access else {
                            unreachable!("checked when it joined")
                        };
                        let walk = self.walk(&long(strides, &work.space), operand.dtype.size());
                        Reading { spot: Spot::Whole(self.prepare.read(node)), walk }
                    }
                }
            })
            .collect();
        let out = self.output(stage, work, &program);
        self.inside.push((stage.node.id(), out.clone()));
        let programs = self.programs(&program, &loads, &out);
        Finishing { programs, loads, scalars: self.prepare.scalars(stage), out, node: self.prepare.number(&stage.node) }
    }

    /// Where the tiles of a stage go.
    fn output(&mut self, stage: &Stage, work: &MapReduce, program: &LoopProgram) -> Reading {
        let size = work.dtype.size();
        if self.prepare.is_whole(&stage.node, self.kernel) {
            let walk = self.walk(&long(&program.store, &work.space), size);
            return Reading { spot: Spot::Whole(self.prepare.make(&stage.node, None)), walk };
        }
        let largest = self.product.tiles()[0];
        let (rows, stride) = (largest.rows, largest.cols);
        let start = self.scratch;
        self.scratch += (rows * stride * size).next_multiple_of(ALIGN);
        let walk = Walk { row: stride as i64, column: 1, size, ..Walk::default() };
        Reading { spot: Spot::Scratch(start), walk }
    }

    /// How a tensor over the contraction's output is walked, by its strides over the axes of more than one element.
    fn walk(&self, strides: &[i64], size: usize) -> Walk {
        let kept = kept_axes(self.work);
        let of = |axes: &Axes| -> SmallVec<[(usize, i64); 2]> {
            let place = |axis: usize| kept.iter().position(|&other| other == axis).expect("a kept axis");
            axes.iter().map(|&axis| (self.work.space[axis], strides[place(axis)])).collect()
        };
        let one = |axes: &Axes| collapsed(of(axes).into_iter()).expect("checked when the stage joined");
        Walk { batch: of(&self.roles.batch), row: one(&self.roles.rows), column: one(&self.roles.columns), size }
    }

    /// The program of a stage for every shape of a tile.
    fn programs(&self, program: &LoopProgram, loads: &[Reading], out: &Reading) -> Vec<(TileShape, Compiled)> {
        let mut program = program.clone();
        let compile = |&shape: &TileShape| {
            program.outer = vec![shape.rows, shape.cols];
            program.store = vec![out.walk.row, out.walk.column];
            for (load, reading) in program.loads.iter_mut().zip(loads) {
                let Access::Strided { strides, .. } = &mut load.access else { unreachable!("checked when it joined") };
                *strides = match reading.spot {
                    Spot::Sums => vec![shape.stride as i64, 1],
                    Spot::Whole(_) | Spot::Scratch(_) => vec![reading.walk.row, reading.walk.column],
                };
            }
            (shape, codegen::compile_for(&program, Around::default()))
        };
        self.product.tiles().iter().map(compile).collect()
    }
}

/// The strides of the axes that have more than one element.
fn long(strides: &[i64], sizes: &[usize]) -> Vec<i64> {
    strides.iter().zip(sizes).filter(|(_, size)| **size != 1).map(|(stride, _)| *stride).collect()
}

fn map_reduce(stage: &Stage) -> &MapReduce {
    match &stage.work {
        Work::MapReduce(work) => work,
        _ => unreachable!("a contraction and its finishing stages are map-reduces"),
    }
}

/// The contraction as the product's kernels want it.
fn contract_of(work: &MapReduce, roles: &Contraction, reads: &[Node], producers: &[Producer]) -> contract::Contraction {
    let sizes = |axes: &Axes| axes.iter().map(|&axis| work.space[axis]).collect::<Vec<usize>>();
    let side = |load: usize, lines: &Axes| {
        let seen = work.loads[load].bounded().expect("a contraction reads at strides");
        let computed = producers.iter().any(|producer| producer.load == load);
        Side { computed, ..side_of(&seen, roles, lines, reads[work.loads[load].read].len()) }
    };
    let kept = kept_axes(work);
    let dense = row_major_strides(&kept.iter().map(|&axis| work.space[axis]).collect::<Vec<_>>());
    let place = |axis: &usize| kept.iter().position(|other| other == axis).expect("a kept axis");
    let out = roles.batch.iter().chain(&roles.rows).chain(&roles.columns);
    contract::Contraction {
        dtype: work.dtype,
        batch: sizes(&roles.batch),
        rows: sizes(&roles.rows),
        cols: sizes(&roles.columns),
        depth: sizes(&roles.depth),
        left: side(roles.left, &roles.rows),
        right: side(roles.right, &roles.columns),
        out: out.map(|axis| dense[place(axis)] as i64).collect(),
    }
}

/// How something is read along batch, lines and depth, in a buffer of `len` elements.
pub(super) fn side_of(seen: &Bounded, roles: &Contraction, lines: &Axes, len: usize) -> Side {
    let of = |all: &[i64]| roles.batch.iter().chain(lines).chain(&roles.depth).map(|&axis| all[axis]).collect();
    let guard = |bound: &Bound| Guard { steps: of(&bound.steps), low: bound.low, high: bound.high };
    let guards = seen.bounds.iter().map(guard).collect();
    Side { offset: seen.offset, strides: of(&seen.strides), computed: false, guards, len }
}

/// The contraction that the program of a stage is for a few rows.
pub(super) fn contract_of_rows(program: &LoopProgram, roles: &Contraction) -> contract::Contraction {
    let side = |load: usize, lines: Range<usize>| {
        let Access::Strided { offset, strides } = &program.loads[load].access else {
            unreachable!("checked when it joined the rows")
        };
        let strides = strides[lines].iter().chain(&strides[program.outer.len()..]).copied().collect();
        Side { offset: *offset, strides, computed: false, guards: Vec::new(), len: 0 }
    };
    contract::Contraction {
        dtype: program.stored,
        left: side(roles.left, 0..1),
        right: side(roles.right, 1..program.outer.len()),
        batch: Vec::new(),
        rows: program.outer[..1].to_vec(),
        cols: program.outer[1..].to_vec(),
        depth: program.reduced.clone(),
        out: program.store.clone(),
    }
}

/// A contraction of a few rows, for one thread.
pub(super) struct RowProduct {
    product: Product,
    left: usize,
    right: usize,
}

impl RowProduct {
    /// The contraction that a program for a few rows is.
    pub(super) fn new(program: &LoopProgram, roles: &Contraction) -> RowProduct {
        let product = Product::new(&contract_of_rows(program, roles));
        RowProduct { product, left: roles.left, right: roles.right }
    }

    /// The scratch that a thread needs.
    pub(super) fn scratch_bytes(&self) -> usize {
        self.product.shared_bytes().next_multiple_of(ALIGN) + self.product.thread_bytes()
    }

    /// Runs it all.
    ///
    /// # Safety
    /// The call's operands and output are as for the program; nobody else uses the scratch.
    pub(super) unsafe fn run(&self, call: &Call<'_>, scratch: *mut u8) {
        let operands = Operands {
            left: call.loads[self.left],
            right: call.loads[self.right],
            out: call.out,
            shared: scratch,
            scratch: scratch.wrapping_add(self.product.shared_bytes().next_multiple_of(ALIGN)),
            finish: None,
            left_source: None,
            right_source: None,
        };
        for phase in 0..self.product.phases() {
            for part in 0..self.product.parts(phase) {
                // SAFETY: the caller's promise; parts run one after the other.
                unsafe { self.product.run(phase, part, &operands) };
            }
        }
    }
}
