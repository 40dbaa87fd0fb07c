//! Kernels of several stages that run row by row, with what lies between them in scratch.

mod alone;
mod kept;

use super::contraction::{RowProduct, contract_of_rows};
use super::fetch::{self, Early};
use super::layout::{Wish, arrange};
use super::prepared::{Prepare, Value};
use super::row_tiles::{Kind, Tile, Tiles, sizes_of_tiles};
use super::run::{Failure, Space};
use super::threads::seated;
use crate::codegen::{self, Around, Call, Compiled, Next, Repeated};
use crate::contract::{Strip, StripRun};
use crate::graph::Node;
use crate::lower::program::{Access, LoopProgram};
use crate::lower::{self, Part, RowProgram};
use crate::memory::ALIGN;
use crate::schedule::{Contraction, Hidden, Kernel, MapReduce, Operand, Stage, Work, contraction};
use alone::Alone;
use smallvec::SmallVec;
use std::ops::Range;

/// Rows that lie a multiple of so many bytes apart would crowd the same lines of a cache.
const CROWDED: usize = 1 << 10;

/// Where the numbers of a stage go, or come from.
#[derive(Clone, Copy)]
enum Spot {
    /// All rows of a value.
    Whole(Value),
    /// The rows of one tile, so many bytes behind the start of a thread's scratch.
    Scratch(usize),
}

impl Spot {
    /// Where row 0 begins, or what is in scratch.
    fn pointer(self, space: &Space, scratch: *mut u8) -> *mut u8 {
        match self {
            Spot::Whole(value) => space.pointer(value),
            Spot::Scratch(start) => scratch.wrapping_add(start),
        }
    }
}

/// A stage, ready to run on rows.
struct RowStage {
    rows: RowProgram,
    runners: Vec<Runner>,
    /// Which of them runs tiles of each kind. The first one runs whole tiles.
    of_kind: Vec<usize>,
    /// A product with an operand that stays packed.
    strip: Option<PackedStrip>,
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

/// A product with an operand that stays packed as long as rows share it.
struct PackedStrip {
    strip: Strip,
    left: usize,
    right: usize,
    /// The bytes before the packed operand in a thread's scratch.
    packed: usize,
}

/// What runs a stage on a tile of some kind.
enum Runner {
    /// Code, and how many bytes of the output come before what it writes.
    Code(Compiled, isize),
    Product(Box<RowProduct>),
    /// So many rows of a strip, of these columns and this depth.
    Strip(usize, [Range<usize>; 2]),
}

impl Runner {
    /// The bytes that a thread keeps for running it again and again.
    fn repeated_bytes(&self) -> usize {
        match self {
            Runner::Code(compiled, _) => compiled.repeated_bytes(),
            Runner::Product(_) | Runner::Strip(..) => 0,
        }
    }
}

/// The stages on their way along the rows, on one thread.
#[derive(Default)]
struct Way<'s> {
    stages: SmallVec<[Moving<'s>; 32]>,
    /// Where the operands of all of them begin at row 0, and at the present row.
    first: SmallVec<[*const u8; 64]>,
    loads: SmallVec<[*const u8; 64]>,
}

/// A stage on its way along the rows.
struct Moving<'s> {
    stage: &'s RowStage,
    /// What runs whole tiles, unless that is a product.
    tile: Option<Repeated<'s>>,
    /// Which of all operands are its own.
    own: Range<usize>,
    /// Where the output begins at row 0, and at the present row.
    first_out: *mut u8,
    out: *mut u8,
    /// The operand that was packed last.
    packed: *const u8,
    /// The row with which the tile begins that follows the last one evenly.
    next: Option<usize>,
}

impl<'s> Way<'s> {
    /// At the beginning of a kernel's rows, for whole tiles.
    fn begin(&mut self, rows: &'s Rows, space: &'s Space, thread: usize) {
        let Way { stages, first, loads } = self;
        let scratch = space.scratch(thread);
        for stage in &rows.stages {
            let start = first.len();
            first.extend(stage.loads.iter().map(|spot| spot.pointer(space, scratch).cast_const()));
            let out = stage.out.pointer(space, scratch);
            let tile = stage.repeated(space, scratch, rows.tiles.step());
            let own = start..first.len();
            stages.push(Moving { stage, tile, own, first_out: out, out, packed: std::ptr::null(), next: None });
        }
        loads.extend_from_slice(first);
    }
}

impl Moving<'_> {
    /// Goes to a tile that begins with a row. What is in scratch is always that of the present tile.
    fn go_to(&mut self, row: usize, first: &[*const u8], loads: &mut [*const u8]) {
        let Moving { stage, .. } = *self;
        for &slot in &stage.moving {
            loads[slot] = first[slot].wrapping_offset(stage.shift(slot, row) as isize);
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

    /// Whether all there is to do for a whole tile that begins with this row is to go on.
    fn goes_on_to(&self, row: usize) -> bool {
        let goes_on = self.tile.as_ref().is_some_and(Repeated::goes_on);
        self.next == Some(row) && goes_on && self.stage.early.is_empty()
    }

    /// Runs a whole tile that follows the last one evenly, and to which it goes on.
    ///
    /// # Safety
    /// As for [`Rows::run_tiles`].
    unsafe fn run_next(&mut self) {
        // SAFETY: the caller's promise.
        let done = self.tile.as_mut().is_some_and(|tile| unsafe { tile.run_next() });
        debug_assert!(done, "it goes on");
    }

    /// Runs some rows of a strip. The operand is packed if it is not the one that was packed last.
    ///
    /// # Safety
    /// As for [`Rows::run_tiles`].
    unsafe fn run_strip(&mut self, loads: &[*const u8], rows: usize, ranges: &[Range<usize>; 2], scratch: *mut u8) {
        let strip = self.stage.strip.as_ref().expect("a strip");
        // SAFETY: the caller's promise.
        unsafe {
            if self.packed != loads[strip.right] {
                strip.pack(loads, scratch);
                self.packed = loads[strip.right];
            }
            strip.run(loads, self.out, rows, ranges, scratch);
        }
    }
}

impl PackedStrip {
    /// # Safety
    /// As for [`Rows::run_tiles`]; the loads are those of the stage.
    unsafe fn pack(&self, loads: &[*const u8], scratch: *mut u8) {
        // SAFETY: the caller's promise; the packed operand has a place of its own in the scratch.
        unsafe { self.strip.pack(loads[self.right], scratch.wrapping_add(self.packed)) }
    }

    /// Runs some rows, after packing.
    ///
    /// # Safety
    /// As for [`Rows::run_tiles`]; the loads are those of the stage, and that one has been packed.
    unsafe fn run(
        &self,
        loads: &[*const u8],
        out: *mut u8,
        rows: usize,
        [cols, depth]: &[Range<usize>; 2],
        scratch: *mut u8,
    ) {
        let packed = scratch.wrapping_add(self.packed);
        let run = StripRun { left: loads[self.left], out, packed, rows, cols: cols.clone(), depth: depth.clone() };
        // SAFETY: the caller's promise.
        unsafe { self.strip.run(&run) }
    }
}

impl RowStage {
    /// What runs whole tiles of so many rows again and again, unless that is a product.
    fn repeated<'s>(&'s self, space: &'s Space, scratch: *mut u8, tile: usize) -> Option<Repeated<'s>> {
        let Runner::Code(compiled, _) = &self.runners[0] else { return None };
        let loads: SmallVec<[i64; 16]> = (0..self.loads.len()).map(|slot| self.shift(slot, tile)).collect();
        let next = Next { loads: &loads, output: self.store_shift(tile), origin: tile };
        // SAFETY: the frame is this stage's part of this thread's scratch, which has room for it.
        Some(unsafe { compiled.repeated(space.scalars(&self.scalars), scratch.wrapping_add(self.frame), Some(&next)) })
    }

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
    /// By stage of the kernel, which of them runs it: one may run two.
    of_stage: Vec<usize>,
    /// After so many stages of a tile the first stage of the next one may run.
    overlap: usize,
    /// Where in a thread's scratch the products have theirs.
    product_scratch: usize,
    tiles: Tiles,
}

impl Rows {
    /// Makes a kernel of map-reduces over rows of these sizes ready.
    pub(super) fn prepare(prepare: &mut Prepare<'_>, kernel: &Kernel, sizes: &[usize]) -> Rows {
        let rows: usize = sizes.iter().product();
        let programs: Vec<RowProgram> = kernel.stages.iter().map(|stage| row_program(stage, sizes.len())).collect();
        let roles: Vec<Option<Contraction>> =
            kernel.stages.iter().map(|stage| contraction(map_reduce(stage))).collect();
        let hidden = hidden(prepare, kernel, sizes.len(), &programs, &roles);
        let even = programs.iter().map(RowProgram::even_rows).min().unwrap_or(rows);
        let even = hidden.as_ref().map_or(even, |hidden| even.min(hidden.rows));
        let [tile, least] = sizes_of_tiles(&programs, &roles, rows, hidden.as_ref().map(|_| even));
        let tile = tile.min(even);
        let tiles = Tiles::new(rows, even, [tile, least], hidden.as_ref());
        let wishes = Vec::new();
        let mut preparing = Preparing { prepare, kernel, roles, hidden, tile, tiles, alone: Vec::new(), wishes };
        let programs = preparing.without_alone(programs);
        preparing.rows(programs, rows)
    }

    /// What runs each stage of the kernel, on a whole tile.
    pub(super) fn compiled(&self) -> Vec<&Compiled> {
        let code = self.of_stage.iter().filter_map(|&stage| match &self.stages[stage].runners[0] {
            Runner::Code(compiled, _) => Some(compiled),
            Runner::Product(_) | Runner::Strip(..) => None,
        });
        code.collect()
    }

    /// Runs all stages on all rows.
    ///
    /// # Safety
    /// The space is bound to buffers as large as the plan says.
    pub(super) unsafe fn run(&self, space: &Space) -> Result<(), Failure> {
        let is_packed = self.stages.iter().any(|stage| !matches!(stage.runners[0], Runner::Code(..)));
        let (parts, tiles_of) = (self.tiles.part_count(is_packed), self.tiles.parts(is_packed));
        if parts == 1 {
            // SAFETY: the caller's promise.
            return unsafe { self.run_tiles(tiles_of(0), space, 0) };
        }
        let failed = space.failures();
        seated(space.threads(), parts, &|part, thread| {
            // SAFETY: the caller's promise; each part has rows of its own, and each thread its own scratch.
            failed.note(unsafe { self.run_tiles(tiles_of(part), space, thread) });
        });
        failed.first()
    }

    /// Runs every stage on each tile of a range.
    ///
    /// # Safety
    /// As for [`Rows::run`], and nobody else runs these tiles or uses this thread's scratch.
    unsafe fn run_tiles(&self, tiles: Range<usize>, space: &Space, thread: usize) -> Result<(), Failure> {
        if tiles.len() == 1 {
            // SAFETY: the caller's promise.
            return unsafe { self.run_tile(self.tiles.tile(tiles.start), space, thread) };
        }
        let mut way = Way::default();
        way.begin(self, space, thread);
        let scratch = space.scratch(thread);
        let own = scratch.wrapping_add(self.product_scratch);
        // The row with which a tile begins to which all stages go on by themselves.
        let mut even = None;
        // Whether the first stage has already run for it.
        let mut begun = false;
        let mut tiles = self.tiles.each(tiles).peekable();
        while let Some((Tile { row, kind }, next)) = tiles.next() {
            if even == Some(row) && kind == 0 {
                let goes_on = tiles.peek().is_some_and(|(tile, _)| next == Some(tile.row) && tile.kind == 0);
                let (before, after) = way.stages.split_at_mut(self.overlap);
                // SAFETY: as below; the last thing that every stage did was to run the tile before this one, or, if it is the first one and has
                // begun, this one.
                before[usize::from(begun)..].iter_mut().for_each(|moving| unsafe { moving.run_next() });
                begun = goes_on && !after.is_empty();
                if begun {
                    // SAFETY: as below; the next tile is a whole one, and what this stage made of the present one is not read any more.
                    unsafe { before[0].run_next() };
                }
                // SAFETY: as for the others.
                after.iter_mut().for_each(|moving| unsafe { moving.run_next() });
                even = next;
                continue;
            }
            for (stage, moving) in self.stages.iter().zip(&mut way.stages) {
                stage.early.fetch(space, row);
                let runner = stage.of_kind[kind];
                // SAFETY: as below.
                if runner == 0 && unsafe { moving.go_on(row) } {
                    moving.next = next;
                    continue;
                }
                let loads = &mut way.loads[moving.own.clone()];
                moving.go_to(row, &way.first[moving.own.clone()], loads);
                let (loads, out) = (&*loads, moving.out);
                let call = Call { loads, scalars: space.scalars(&stage.scalars), out, origin: row };
                // SAFETY: the loads' views stay within their buffers, of which the rows of this tile are read, or within the scratch
                // rows that an earlier stage has just written; the output has room for the tile's rows, and no other part
                // writes them. The scratch of products begins behind that of the stages.
                let done = unsafe {
                    match (&stage.runners[runner], &mut moving.tile) {
                        (Runner::Product(product), _) => {
                            product.run(&call, own);
                            Ok(())
                        }
                        (Runner::Strip(rows, ranges), _) => {
                            moving.run_strip(loads, *rows, ranges, scratch);
                            Ok(())
                        }
                        (Runner::Code(_, 0), Some(tile)) if runner == 0 => {
                            moving.next = next;
                            tile.run(loads, out, row)
                        }
                        (Runner::Code(compiled, skip), _) => {
                            compiled.run_all(&Call { out: out.wrapping_offset(*skip), ..call })
                        }
                    }
                };
                done.map_err(|fault| Failure { fault, node: stage.node })?;
            }
            even = next.filter(|&next| way.stages.iter().all(|moving| moving.goes_on_to(next)));
        }
        Ok(())
    }
}

impl Rows {
    /// Runs every stage on one tile, with nothing made ready for others.
    ///
    /// # Safety
    /// As for [`Rows::run_tiles`].
    unsafe fn run_tile(&self, tile: Tile, space: &Space, thread: usize) -> Result<(), Failure> {
        let Tile { row, kind } = tile;
        let scratch = space.scratch(thread);
        let own = scratch.wrapping_add(self.product_scratch);
        for stage in &self.stages {
            stage.early.fetch(space, row);
            let place = |(slot, spot): (usize, &Spot)| {
                spot.pointer(space, scratch).wrapping_offset(stage.shift(slot, row) as isize).cast_const()
            };
            let loads: SmallVec<[*const u8; 16]> = stage.loads.iter().enumerate().map(place).collect();
            let out = stage.out.pointer(space, scratch).wrapping_offset(stage.store_shift(row) as isize);
            let call = Call { loads: &loads, scalars: space.scalars(&stage.scalars), out, origin: row };
            // SAFETY: as in `run_tiles`.
            unsafe {
                match &stage.runners[stage.of_kind[kind]] {
                    Runner::Product(product) => product.run(&call, own),
                    Runner::Strip(rows, ranges) => {
                        let strip = stage.strip.as_ref().expect("a strip");
                        strip.pack(&loads, scratch);
                        strip.run(&loads, out, *rows, ranges, scratch);
                    }
                    Runner::Code(compiled, skip) => compiled
                        .run_all(&Call { out: out.wrapping_offset(*skip), ..call })
                        .map_err(|fault| Failure { fault, node: stage.node })?,
                }
            }
        }
        Ok(())
    }
}

/// A kernel being made ready.
struct Preparing<'a, 'b> {
    prepare: &'a mut Prepare<'b>,
    kernel: &'a Kernel,
    /// By stage, the roles of the axes of a contraction.
    roles: Vec<Option<Contraction>>,
    hidden: Option<Hidden>,
    tile: usize,
    tiles: Tiles,
    /// The stages of one element a row that others make on the spot.
    alone: Vec<Alone>,
    /// What is to be in a thread's scratch, and between which stages.
    wishes: Vec<Wish>,
}

/// Where a node is that the kernel has made; in scratch, the elements from one row to the next.
type Inside = (usize, Spot, Option<i64>);

impl Preparing<'_, '_> {
    fn rows(mut self, programs: Vec<RowProgram>, rows: usize) -> Rows {
        let mut plan = fetch::plan(self.kernel, &programs, rows, self.tile);
        let mut inside: Vec<Inside> = Vec::new();
        let mut stages: Vec<RowStage> = Vec::with_capacity(programs.len());
        let mut of_stage = Vec::with_capacity(programs.len());
        let mut programs = programs.into_iter().peekable();
        while let Some(program) = programs.next() {
            let (at, next) = (of_stage.len(), &plan[of_stage.len()].next);
            of_stage.push(stages.len());
            if self.is_alone(at) {
                continue;
            }
            let both = programs.peek().and_then(|fold| self.kept(at, &program, fold, next, &mut inside));
            if both.is_some() {
                programs.next();
                of_stage.push(stages.len());
            }
            stages.push(both.unwrap_or_else(|| self.stage(at, program, next, &mut inside)));
        }
        let overlap = self.overlap(&stages, &of_stage);
        let (offsets, scratch) = arrange(&self.wishes);
        let place = |spot: &mut Spot| {
            if let Spot::Scratch(wish) = spot {
                *wish = offsets[*wish];
            }
        };
        for stage in &mut stages {
            stage.loads.iter_mut().chain([&mut stage.out]).for_each(place);
            stage.frame = offsets[stage.frame];
            stage.strip.iter_mut().for_each(|strip| strip.packed = offsets[strip.packed]);
        }
        let products = stages.iter().flat_map(|stage| &stage.runners).map(|runner| match runner {
            Runner::Product(product) => product.scratch_bytes(),
            Runner::Code(..) | Runner::Strip(..) => 0,
        });
        let own = products.max().unwrap_or(0);
        self.prepare.scratch = self.prepare.scratch.max(scratch + own.next_multiple_of(ALIGN));
        for (at, fetches) in plan.iter_mut().enumerate() {
            let early = Early::new(fetches, |[stage, slot]| match stages[of_stage[stage]].loads[slot] {
                Spot::Whole(value) => Some(value),
                Spot::Scratch(_) => None,
            });
            stages[of_stage[at]].early.join(early);
        }
        Rows { stages, of_stage, overlap, product_scratch: scratch, tiles: self.tiles }
    }

    /// After how many stages the first one may run for the next tile: when what it made of this one is not read any more. A machine then has
    /// something to do while one number is made of a row: softmax takes a tenth less time.
    fn overlap(&mut self, stages: &[RowStage], of_stage: &[usize]) -> usize {
        let first = &stages[0];
        let last = of_stage.iter().take_while(|&&stage| stage == 0).count() - 1;
        // What it stores on its way is read by all.
        let keeps = first.loads.iter().any(|spot| matches!(spot, Spot::Scratch(_)));
        match (first.out, self.last_reader(last)) {
            (Spot::Scratch(wish), Some(reader)) if !keeps => {
                // It is written while others have numbers in scratch.
                self.wishes[wish].to = self.kernel.stages.len() - 1;
                of_stage[reader] + 1
            }
            _ => stages.len(),
        }
    }

    /// Scratch from one stage to another; its number stands for its place until all is known.
    fn reserve(&mut self, bytes: usize, from: usize, to: usize) -> usize {
        self.wishes.push(Wish { bytes, from, to, instead: None });
        self.wishes.len() - 1
    }

    fn stage(&mut self, at: usize, program: RowProgram, next: &[i64], inside: &mut Vec<Inside>) -> RowStage {
        let (stage, last) = (&self.kernel.stages[at], self.kernel.stages.len() - 1);
        let size = map_reduce(stage).dtype.size();
        let (loads, pitches) = self.operands(at, inside);
        let pitch = self.pitch(at, &program);
        let out = self.output(at, at, pitch, inside);
        // What a later stage reads had better stay in the cache.
        let bytes = if self.last_reader(at).is_some() { 0 } else { stage.node.len() * size };
        let around = Around { bytes, apart: program.store_shift(self.tile) * size as i64, next };
        let tile = TileProgram { program: &program, pitches: &pitches, pitch: pitch.map(|pitch| pitch as i64) };
        let strip = self.strip(at, &tile, last);
        let (runners, of_kind) = self.runners(at, &tile, strip.as_ref(), around);
        RowStage {
            frame: self.reserve(runners[0].repeated_bytes(), 0, last),
            moving: moving(&loads, &program),
            runners,
            of_kind,
            strip,
            rows: program,
            loads,
            scalars: self.scalars(at),
            out,
            size,
            node: self.prepare.number(&stage.node),
            early: Early::default(),
        }
    }

    /// Where the operands of a stage are, and how far apart their rows in scratch.
    fn operands(&mut self, at: usize, inside: &[Inside]) -> (SmallVec<[Spot; 4]>, SmallVec<[Option<i64>; 4]>) {
        let stage = &self.kernel.stages[at];
        let find = |prepare: &mut Prepare<'_>, node: &Node| {
            let found = inside.iter().find(|(id, ..)| *id == node.id());
            found.map_or_else(|| (Spot::Whole(prepare.read(node)), None), |&(_, spot, pitch)| (spot, pitch))
        };
        let of = |(slot, load): (usize, &Operand)| match self.made_for(at, slot) {
            Some(made) => (made, map_reduce(&self.kernel.stages[made]).loads[0].read),
            None => (at, load.read),
        };
        let reads: SmallVec<[(usize, usize); 4]> = map_reduce(stage).loads.iter().enumerate().map(of).collect();
        reads.into_iter().map(|(stage, read)| find(self.prepare, &self.kernel.stages[stage].reads[read])).unzip()
    }

    /// The last stage that reads what a stage makes.
    fn last_reader(&self, at: usize) -> Option<usize> {
        let (stages, node) = (&self.kernel.stages, &self.kernel.stages[at].node);
        (at + 1..stages.len()).rev().find(|&later| self.reads(later).any(|read| read == node))
    }

    /// The elements from one row to the next in scratch, if that is where a stage's numbers go.
    fn pitch(&self, at: usize, program: &RowProgram) -> Option<usize> {
        let stage = &self.kernel.stages[at];
        if self.prepare.is_whole(&stage.node, self.kernel) {
            return None;
        }
        let (row, size) = (program.row_len(), map_reduce(stage).dtype.size());
        let is_crowded = self.roles.iter().any(Option::is_some) && row > 1 && (row * size).is_multiple_of(CROWDED);
        Some(if is_crowded { row + ALIGN / size } else { row })
    }

    /// Where the numbers of a stage go, which begins to write them when stage `from` runs.
    fn output(&mut self, at: usize, from: usize, pitch: Option<usize>, inside: &mut Vec<Inside>) -> Spot {
        let stage = &self.kernel.stages[at];
        let out = match pitch {
            None => Spot::Whole(self.prepare.make(&stage.node, None)),
            Some(pitch) => {
                let bytes = self.tile * pitch * map_reduce(stage).dtype.size();
                Spot::Scratch(self.reserve(bytes, from, self.last_reader(at).unwrap_or(at)))
            }
        };
        inside.push((stage.node.id(), out, pitch.map(|pitch| pitch as i64)));
        out
    }

    /// The strip that a contraction is, if it can be one.
    fn strip(&mut self, at: usize, tile: &TileProgram<'_>, last: usize) -> Option<PackedStrip> {
        let roles = self.roles[at].as_ref()?;
        let strip = Strip::new(&contract_of_rows(&tile.of(self.tile, None), roles))?;
        let (left, right) = (roles.left, roles.right);
        let packed = self.reserve(strip.packed_bytes(), 0, last);
        Some(PackedStrip { strip, left, right, packed })
    }

    /// What runs a stage on tiles of each kind: what is needed, each once.
    fn runners(
        &self,
        at: usize,
        tile: &TileProgram<'_>,
        strip: Option<&PackedStrip>,
        around: Around<'_>,
    ) -> (Vec<Runner>, Vec<usize>) {
        let work = map_reduce(&self.kernel.stages[at]);
        let axis = self.hidden.as_ref().and_then(|hidden| hidden.axes[at]);
        let part_of = |kind: &Kind| Some(Part { axis: lower::loop_of(work, axis?), range: kind.seen.clone()? });
        let mut known: Vec<(usize, Option<Part>)> = Vec::new();
        let mut runners = Vec::new();
        let of_kind = self.tiles.kinds.iter().map(|kind| {
            let wanted = (kind.rows, part_of(kind));
            known.iter().position(|known| *known == wanted).unwrap_or_else(|| {
                runners.push(self.runner(at, tile, strip, around, &wanted));
                known.push(wanted);
                runners.len() - 1
            })
        });
        let of_kind = of_kind.collect();
        (runners, of_kind)
    }

    fn runner(
        &self,
        at: usize,
        tile: &TileProgram<'_>,
        strip: Option<&PackedStrip>,
        around: Around<'_>,
        (rows, part): &(usize, Option<Part>),
    ) -> Runner {
        if let Some(PackedStrip { strip, .. }) = strip {
            let mut ranges = strip.whole();
            if let Some(part) = part {
                let is_depth =
                    map_reduce(&self.kernel.stages[at]).space.len() - part.axis <= tile.program.reduced_axes();
                ranges[usize::from(is_depth)] = part.range.clone();
            }
            return Runner::Strip(*rows, ranges);
        }
        let program = tile.of(*rows, part.as_ref());
        if let Some(roles) = &self.roles[at] {
            return Runner::Product(Box::new(RowProduct::new(&program, roles)));
        }
        let skip = part.as_ref().map_or(0, |part| tile.program.skipped(part)) * program.stored.size() as i64;
        Runner::Code(codegen::compile_for(&program, around), skip as isize)
    }
}

/// The operands that are others for every row, and not in scratch.
fn moving(loads: &[Spot], program: &RowProgram) -> SmallVec<[usize; 4]> {
    (0..loads.len()).filter(|&slot| matches!(loads[slot], Spot::Whole(_)) && program.moves(slot)).collect()
}

/// The program of a stage for a few rows, operands in scratch lying as they do there.
struct TileProgram<'a> {
    program: &'a RowProgram,
    pitches: &'a [Option<i64>],
    pitch: Option<i64>,
}

impl TileProgram<'_> {
    fn of(&self, rows: usize, part: Option<&Part>) -> LoopProgram {
        let mut program = self.program.for_rows(rows, part);
        if let Some(pitch) = self.pitch {
            program.store[0] = pitch;
        }
        for (load, pitch) in program.loads.iter_mut().zip(self.pitches) {
            if let (Access::Strided { strides, .. }, Some(pitch)) = (&mut load.access, pitch) {
                strides[0] = *pitch;
            }
        }
        program
    }
}

/// What the stages may leave out, if products do, and can.
fn hidden(
    prepare: &Prepare<'_>,
    kernel: &Kernel,
    lead: usize,
    programs: &[RowProgram],
    roles: &[Option<Contraction>],
) -> Option<Hidden> {
    if roles.iter().all(Option::is_none) {
        return None;
    }
    let hidden = Hidden::of(kernel, lead, |node| prepare.is_whole(node, kernel))?;
    let mut cut = (0..programs.len()).filter(|&at| hidden.axes[at].is_some());
    let can = |at: usize| match &roles[at] {
        Some(roles) => {
            Strip::new(&contract_of_rows(&programs[at].for_rows(programs[at].even_rows(), None), roles)).is_some()
        }
        None => true,
    };
    let does = cut.clone().any(|at| roles[at].is_some());
    (does && cut.all(can)).then_some(hidden)
}

fn map_reduce(stage: &Stage) -> &MapReduce {
    match &stage.work {
        Work::MapReduce(work) => work,
        Work::Concat { .. } | Work::Gather { .. } | Work::Scatter { .. } | Work::Lines { .. } => {
            unreachable!("only map-reduces run row by row")
        }
    }
}

fn row_program(stage: &Stage, lead: usize) -> RowProgram {
    let work = map_reduce(stage);
    let program = stage.led_by.map_or_else(|| lower::lower(work), |axis| lower::lower_led_by(work, axis));
    RowProgram::new(program, lead)
}
