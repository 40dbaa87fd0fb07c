//! A plan made ready to run: compiled, with a memory plan, and free of nodes.
//!
//! Every node of the request is known by its number in the request's walk, so that one prepared plan serves all requests
//! of the same structure.

use super::contraction::Contracted;
use super::cost::Cost;
use super::in_place::{InPlace, in_place};
use super::layout::{Wish, arrange};
use super::rows::Rows;
use crate::codegen::{self, Compiled};
use crate::dtype::DType;
use crate::graph::{IdMap, Node};
use crate::lower;
use crate::memory::block_bytes;
use crate::schedule::{Form, Kernel, Plan, Request, Stage, Work};
use crate::shape::Shape;
use smallvec::SmallVec;
use std::ops::Range;

/// A plan ready to run.
pub(crate) struct Prepared {
    pub(super) kernels: Vec<Ready>,
    /// Where the numbers of each value are.
    pub(super) places: Vec<Place>,
    /// The values that stay when the run is over.
    pub(super) made: Vec<Made>,
    /// Which of them may take the place of an input that is given away.
    pub(super) in_place: Vec<InPlace>,
    /// What is told to each run, by the nodes' numbers and their parts.
    pub(super) scalars: Vec<(usize, u8)>,
    /// The bytes for everything that does not stay, and those each thread needs for itself.
    pub(super) arena: usize,
    pub(super) scratch: usize,
    /// What each kernel costs.
    pub(super) costs: Vec<Cost>,
}

/// What stays when a run is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Keep {
    /// What was asked for.
    Wanted,
    /// That, and what will be read again: parameters, and what a gradient needs.
    Needed,
    /// Everything that is written to memory.
    All,
}

/// A value's name: its place in [`Prepared::places`].
pub(super) type Value = u32;

/// Where a value's numbers are.
#[derive(Clone, Copy, Debug)]
pub(super) enum Place {
    /// In the buffer of a node that has its numbers, by the node's number.
    Given(usize),
    /// In a buffer that this run makes: which of [`Prepared::made`].
    Made(usize),
    /// In the arena, so many bytes from its start.
    Arena(usize),
}

/// A buffer that a run makes for a node.
#[derive(Clone, Copy, Debug)]
pub(super) struct Made {
    /// The node's number.
    pub(super) node: usize,
    pub(super) dtype: DType,
    pub(super) len: usize,
}

impl Made {
    /// The bytes that the buffer takes from the system.
    pub(super) fn block_bytes(&self) -> usize {
        block_bytes(self.len * self.dtype.size())
    }
}

/// A kernel ready to run.
pub(super) enum Ready {
    /// Stages that do not need each other, all at once.
    Apart(Vec<Piece>),
    /// Stages that read the same numbers, part by part.
    Siblings(Vec<Piece>),
    /// Row by row.
    Rows(Box<Rows>),
    /// A contraction, and what is done with its tiles.
    Contracted(Box<Contracted>),
    /// Elements that are only moved.
    Moves(Box<Moves>),
}

/// A map-reduce ready to run over its whole space.
pub(super) struct Piece {
    pub(super) compiled: Compiled,
    pub(super) loads: SmallVec<[Value; 4]>,
    /// Which of the run's scalars it is told.
    pub(super) scalars: Range<usize>,
    pub(super) out: Value,
    /// How many bytes behind the start of `out` its region begins.
    pub(super) skip: usize,
    /// Where partial results go, if there are any.
    pub(super) partials: Option<Value>,
    /// The number of the node that is made.
    pub(super) node: usize,
}

/// A stage that moves elements.
pub(super) struct Moves {
    pub(super) work: Work,
    pub(super) dtype: DType,
    pub(super) shape: Shape,
    pub(super) reads: Vec<(Value, DType, usize)>,
    pub(super) out: Value,
    pub(super) node: usize,
}

impl Prepared {
    /// Lowers and compiles a plan, and lays out its memory.
    pub(crate) fn new(plan: &Plan, request: &Request, keep: Keep) -> Prepared {
        let mut prepare = Prepare::new(plan, request, keep);
        let kernels = plan.kernels.iter().enumerate().flat_map(|(at, kernel)| prepare.kernel(at, kernel)).collect();
        prepare.finish(kernels)
    }

    /// The most bytes that a run takes, its results included, if inputs are kept.
    pub(crate) fn peak_bytes(&self) -> usize {
        self.made.iter().map(Made::block_bytes).sum::<usize>() + block_bytes(self.arena_bytes())
    }

    /// What a run costs.
    pub(crate) fn cost(&self) -> Cost {
        self.costs.iter().fold(Cost::default(), |sum, cost| sum.and(cost))
    }

    /// The bytes of the arena with the scratch of all threads behind it.
    pub(super) fn arena_bytes(&self) -> usize {
        self.arena + self.scratch * super::threads()
    }
}

impl Ready {
    /// What runs each of its stages that compute, in their order. Stages without elements have nothing.
    pub(super) fn compiled(&self) -> Vec<&Compiled> {
        match self {
            Ready::Apart(pieces) | Ready::Siblings(pieces) => pieces.iter().map(|piece| &piece.compiled).collect(),
            Ready::Rows(rows) => rows.compiled(),
            Ready::Contracted(contracted) => contracted.compiled(),
            Ready::Moves(_) => Vec::new(),
        }
    }
}

/// A plan being prepared.
pub(super) struct Prepare<'a> {
    plan: &'a Plan,
    request: &'a Request,
    keep: Keep,
    /// The last kernel that reads each node, by id.
    last_reads: IdMap<usize>,
    values: IdMap<Value>,
    places: Vec<Place>,
    made: Vec<Made>,
    scalars: Vec<(usize, u8)>,
    /// What is to be in the arena, and for which value.
    wishes: Vec<Wish>,
    wishers: Vec<Value>,
    pub(super) scratch: usize,
    costs: Vec<Cost>,
    /// The kernel being prepared.
    at: usize,
}

impl<'a> Prepare<'a> {
    fn new(plan: &'a Plan, request: &'a Request, keep: Keep) -> Prepare<'a> {
        let mut last_reads = IdMap::default();
        for (at, kernel) in plan.kernels.iter().enumerate() {
            for read in kernel.reads() {
                last_reads.insert(read.id(), at);
            }
        }
        Prepare {
            plan,
            request,
            keep,
            last_reads,
            values: IdMap::default(),
            places: Vec::new(),
            made: Vec::new(),
            scalars: Vec::new(),
            wishes: Vec::new(),
            wishers: Vec::new(),
            scratch: 0,
            costs: Vec::new(),
            at: 0,
        }
    }

    fn kernel(&mut self, at: usize, kernel: &Kernel) -> Vec<Ready> {
        self.at = at;
        self.costs.push(Cost::of(kernel, |node| self.is_whole(node, kernel)));
        let mut ready = match &kernel.form {
            Form::Rows(sizes) => vec![Ready::Rows(Box::new(Rows::prepare(self, kernel, sizes)))],
            Form::Contraction(roles) => {
                vec![Ready::Contracted(Box::new(Contracted::prepare(self, kernel, roles)))]
            }
            Form::Siblings => vec![Ready::Siblings(self.pieces(&kernel.stages, false))],
            Form::Alone => match &kernel.stages[..] {
                [stage] if !matches!(stage.work, Work::MapReduce(_)) => vec![self.moves(stage)],
                stages => vec![Ready::Apart(self.pieces(stages, stages.len() == 1 && kernel.after.is_empty()))],
            },
        };
        for stage in &kernel.after {
            ready.push(Ready::Apart(self.pieces(std::slice::from_ref(stage), false)));
        }
        ready
    }

    /// Whether a node's numbers are needed after its kernel's loop is done.
    pub(super) fn is_whole(&self, node: &Node, kernel: &Kernel) -> bool {
        self.stays(node)
            || self.last_reads.get(&node.id()).is_some_and(|&last| last > self.at)
            || kernel.after.iter().any(|stage| stage.reads.contains(node))
    }

    /// Whether a node's numbers stay when the run is over.
    fn stays(&self, node: &Node) -> bool {
        match self.keep {
            Keep::Wanted => self.plan.wanted.contains(&node.id()),
            Keep::Needed => self.plan.wanted.contains(&node.id()) || self.request.keeps(node),
            Keep::All => true,
        }
    }

    fn pieces(&mut self, stages: &[Stage], alone: bool) -> Vec<Piece> {
        let mut pieces = Vec::with_capacity(stages.len());
        for stage in stages {
            if stage.node.len() == 0 {
                self.make(&stage.node, None);
            } else {
                pieces.push(self.piece(stage, alone));
            }
        }
        pieces
    }

    /// A stage made ready; if it is `alone` in its kernel, it may overwrite what nobody needs after it.
    fn piece(&mut self, stage: &Stage, alone: bool) -> Piece {
        let Work::MapReduce(work) = &stage.work else { unreachable!("only map-reduces run together") };
        let mut program = lower::lower(work);
        let mut skip = 0;
        if let Some(region) = &stage.region {
            program.store = region.strides.to_vec();
            skip = region.offset * work.dtype.size();
        }
        let compiled = codegen::compile(&program);
        let reads: Vec<Value> = stage.reads.iter().map(|node| self.read(node)).collect();
        let dying = if alone { self.dying_operand(stage, &reads) } else { None };
        Piece {
            loads: work.loads.iter().map(|load| reads[load.read]).collect(),
            scalars: self.scalars(stage),
            out: self.make(&stage.node, dying),
            skip,
            partials: self.partials(&compiled),
            node: self.request.number(&stage.node),
            compiled,
        }
    }

    fn moves(&mut self, stage: &Stage) -> Ready {
        let read = |prepare: &mut Self, node: &Node| (prepare.read(node), node.dtype(), node.len());
        Ready::Moves(Box::new(Moves {
            work: stage.work.clone(),
            dtype: stage.node.dtype(),
            shape: stage.node.shape().into(),
            reads: stage.reads.iter().map(|node| read(self, node)).collect(),
            out: self.make(&stage.node, None),
            node: self.request.number(&stage.node),
        }))
    }

    /// The operand whose place the result may take: nobody needs it later, and it is read only element by element.
    fn dying_operand(&self, stage: &Stage, reads: &[Value]) -> Option<Value> {
        if self.stays(&stage.node) {
            return None;
        }
        let fits = |read: usize| {
            let node = &stage.reads[read];
            let in_arena = matches!(self.places[reads[read] as usize], Place::Arena(_));
            let dies = self.last_reads.get(&node.id()) == Some(&self.at);
            in_arena && dies && stage.reads_where_it_writes(node)
        };
        (0..reads.len()).find(|&read| fits(read)).map(|read| reads[read])
    }

    /// The value of a node that is read.
    pub(super) fn read(&mut self, node: &Node) -> Value {
        if let Some(&value) = self.values.get(&node.id()) {
            return value;
        }
        let value = self.value(Place::Given(self.request.number(node)));
        self.values.insert(node.id(), value);
        value
    }

    /// The value of a node that is made here; `instead` may be overwritten by it.
    pub(super) fn make(&mut self, node: &Node, instead: Option<Value>) -> Value {
        if let Some(&value) = self.values.get(&node.id()) {
            return value; // another stage makes another part of it
        }
        let value = if self.stays(node) {
            self.made.push(Made { node: self.request.number(node), dtype: node.dtype(), len: node.len() });
            self.value(Place::Made(self.made.len() - 1))
        } else {
            let to = self.last_reads.get(&node.id()).copied().unwrap_or(self.at);
            self.reserve(node.len() * node.dtype().size(), to, instead)
        };
        self.values.insert(node.id(), value);
        value
    }

    /// Memory for partial results.
    fn partials(&mut self, compiled: &Compiled) -> Option<Value> {
        let bytes = compiled.partial_bytes();
        (bytes > 0).then(|| self.reserve_here(bytes))
    }

    /// Memory that only the kernel being prepared needs.
    pub(super) fn reserve_here(&mut self, bytes: usize) -> Value {
        self.reserve(bytes, self.at, None)
    }

    fn reserve(&mut self, bytes: usize, to: usize, instead: Option<Value>) -> Value {
        let instead = instead.and_then(|value| self.wishers.iter().position(|&wisher| wisher == value));
        self.wishes.push(Wish { bytes, from: self.at, to, instead });
        let value = self.value(Place::Arena(0)); // told when all wishes are known
        self.wishers.push(value);
        value
    }

    fn value(&mut self, place: Place) -> Value {
        self.places.push(place);
        (self.places.len() - 1) as Value
    }

    /// Tells each run to look up the scalars of a stage.
    pub(super) fn scalars(&mut self, stage: &Stage) -> Range<usize> {
        let start = self.scalars.len();
        self.scalars.extend(stage.scalars.iter().map(|scalar| (self.request.number(&scalar.node), scalar.part)));
        start..self.scalars.len()
    }

    /// The number of a node.
    pub(super) fn number(&self, node: &Node) -> usize {
        self.request.number(node)
    }

    fn finish(mut self, kernels: Vec<Ready>) -> Prepared {
        let (offsets, arena) = arrange(&self.wishes);
        for (&value, offset) in self.wishers.iter().zip(offsets) {
            self.places[value as usize] = Place::Arena(offset);
        }
        Prepared {
            kernels,
            places: self.places,
            in_place: in_place(self.plan, self.request, &self.made),
            made: self.made,
            scalars: self.scalars,
            arena,
            scratch: self.scratch,
            costs: self.costs,
        }
    }
}
