//! Which elementwise operands of contractions are computed while they are packed, and never written to memory.
//!
//! A contraction reads its operands in blocks, which it packs. Where an operand is a map that nothing else reads, and of which no element
//! is packed twice, a block of it is computed there: from blocks of what it reads, seen the way the contraction sees the operand.
//! Operands that a contraction would read where they are, instead of packing them, are better written down.

use super::contraction::{Axes, Contraction, factors};
use super::expression::Step;
use super::frame::{Frame, Frames};
use super::plan::{Form, Kernel, MapReduce, Operand, Stage, Work};
use super::snapshot::Snapshot;
use crate::contract::Meeting;
use crate::dtype::Literal;
use crate::graph::{IdMap, Node, Op};
use crate::ops;
use crate::shape::{Bounded, View};

/// The most that a producer reads: each is packed before it is computed with.
const MOST_LOADS: usize = 4;

/// Where there are no more rows, columns and depth than this, a block takes longer to begin than to compute.
const TINY: usize = 16;

/// Most sums are of this size, and where they are larger, operands are all the more packed.
const SUM_BYTES: usize = 4;

/// A map that is computed where a contraction packs it.
pub(crate) struct Producer {
    pub(crate) stage: Stage,
    /// Which load of the contraction it makes.
    pub(crate) load: usize,
    /// By load of the stage, how it is read in the contraction's space.
    pub(crate) views: Vec<View>,
    /// How many elements are computed.
    pub(crate) count: usize,
}

/// Moves maps into the contractions that read them, where that is cheap.
pub(super) fn fold(kernels: Vec<Kernel>, snapshot: &Snapshot, frames: &mut Frames, wanted: &[Node]) -> Vec<Kernel> {
    let mut readers: IdMap<usize> = IdMap::default();
    kernels.iter().flat_map(Kernel::reads).for_each(|read| *readers.entry(read.id()).or_default() += 1);
    let is_needed = |node: &Node| wanted.contains(node) || snapshot.keeps(node) || readers.get(&node.id()) != Some(&1);
    let map = |(at, kernel)| Some((lone_map(kernel).filter(|stage| !is_needed(&stage.node))?.node.id(), at));
    let makers: IdMap<usize> = kernels.iter().enumerate().filter_map(map).collect();
    if makers.is_empty() {
        return kernels;
    }
    let mut folding = Folding { kernels: &kernels, makers, snapshot, frames };
    let sides = (0..kernels.len()).flat_map(|at| [(at, true), (at, false)]);
    let folds: Vec<Fold> = sides.filter_map(|(at, is_left)| folding.fold(at, is_left)).collect();
    let mut kernels: Vec<Option<Kernel>> = kernels.into_iter().map(Some).collect();
    for Fold { maker, into, load, views, count } in folds {
        let stage = kernels[maker].take().and_then(|kernel| kernel.stages.into_iter().next()).expect("a lone map");
        let into = kernels[into].as_mut().expect("a contraction is no map");
        into.producers.push(Producer { stage, load, views, count });
    }
    kernels.into_iter().flatten().collect()
}

/// The map that is all of a kernel, if elements of it can be computed anywhere.
fn lone_map(kernel: &Kernel) -> Option<&Stage> {
    let [stage] = &kernel.stages[..] else { return None };
    let Work::MapReduce(work) = &stage.work else { return None };
    let is_whole = stage.region.is_none() && work.reduce.is_none() && work.space[..] == *stage.node.shape();
    let is_alone = kernel.form == Form::Alone && kernel.after.is_empty();
    let few = (1..=MOST_LOADS).contains(&work.loads.len());
    (is_alone && is_whole && few && work.expression.steps.iter().all(is_placeless)).then_some(stage)
}

/// Whether a step has the same value at any place, and cannot fail: panels also have lines of which nothing comes.
fn is_placeless(step: &Step) -> bool {
    match step {
        Step::Load { .. } | Step::Const(_) | Step::Scalar { .. } | Step::Cast { .. } => true,
        Step::Map { primitive, dtype, .. } => {
            dtype.is_float() || ![&ops::IDIV, &ops::REM].iter().any(|divides| std::ptr::eq(*divides, *primitive))
        }
        Step::Place { .. } | Step::Gather { .. } | Step::Index { .. } | Step::Rand { .. } => false,
    }
}

/// A map that becomes part of a contraction: the kernels of both.
struct Fold {
    maker: usize,
    into: usize,
    load: usize,
    views: Vec<View>,
    count: usize,
}

struct Folding<'a> {
    kernels: &'a [Kernel],
    /// By node that nobody else reads, the kernel that is a map which makes it.
    makers: IdMap<usize>,
    snapshot: &'a Snapshot,
    frames: &'a mut Frames,
}

impl Folding<'_> {
    /// What makes the left or the right operand of a kernel, if it is computed while it is packed.
    fn fold(&mut self, into: usize, is_left: bool) -> Option<Fold> {
        let kernel = &self.kernels[into];
        let Form::Contraction(roles) = &kernel.form else { return None };
        let Work::MapReduce(work) = &kernel.stages[0].work else { return None };
        let factors: [usize; 2] = factors(work)?.into();
        let load = if is_left { roles.left } else { roles.right };
        let factor = factors.iter().position(|&factor| factor == load)?;
        let reads = factors.map(|load| work.loads[load].read);
        let node = &kernel.stages[0].reads[reads[factor]];
        let &maker = self.makers.get(&node.id())?;
        let mut operand = Packed::new(work, roles, load)?;
        if reads[0] == reads[1] || operand.count() > node.len() {
            return None;
        }
        let Op::Reduce { input, .. } = self.snapshot.op(&kernel.stages[0].node) else { return None };
        let Op::Map { inputs, .. } = self.snapshot.op(input) else { return None };
        let frame = self.frame(&inputs[factor], node)?;
        let Work::MapReduce(made) = &self.kernels[maker].stages[0].work else { return None };
        let seen = |load: &Operand| {
            let outside = Literal::zero(load.dtype);
            self.frames.apply(frame, &load.view, outside).filter(|seen| seen.gathers.is_empty()).map(|seen| seen.view)
        };
        let views = made.loads.iter().map(seen).collect::<Option<Vec<View>>>()?;
        for (view, load) in views.iter().zip(&made.loads) {
            operand.look_at(&view.bounded(Literal::zero(load.dtype))?);
        }
        operand.is_worth_it().then(|| Fold { maker, into, load, views, count: operand.count() })
    }

    /// The frame of a node that a factor is a view of.
    fn frame(&mut self, factor: &Node, node: &Node) -> Option<Frame> {
        let mut frame = Frame::SPACE;
        let mut factor = factor.clone();
        loop {
            let source = self.snapshot.through_identity(&factor);
            if self.snapshot.is_view(source) {
                frame = self.frames.enter(frame, source, self.snapshot)?;
            }
            let base = self.snapshot.base(source);
            if base == node {
                return Some(frame);
            }
            let Op::Contiguous { input } = self.snapshot.op(base) else { return None };
            factor = input.clone();
        }
    }
}

/// An operand of a contraction.
struct Packed<'a> {
    roles: &'a Contraction,
    is_left: bool,
    /// How many indices there are of the batch, if they are not all the same, of the operand's own lines, of the other's, and of depth.
    batch: usize,
    lines: usize,
    others: usize,
    depth: usize,
    /// Lines lie side by side, also in what the operand is computed from.
    is_along: bool,
    has_border: bool,
}

impl<'a> Packed<'a> {
    fn new(work: &MapReduce, roles: &'a Contraction, load: usize) -> Option<Packed<'a>> {
        let seen = work.loads[load].bounded()?;
        let size = |axes: &Axes| axes.iter().fold(1, |size: usize, &axis| size.saturating_mul(work.space[axis]));
        let is_left = load == roles.left;
        let (lines, others) = if is_left { (&roles.rows, &roles.columns) } else { (&roles.columns, &roles.rows) };
        Some(Packed {
            roles,
            is_left,
            batch: if roles.batch.iter().any(|&axis| seen.follows(axis)) { size(&roles.batch) } else { 1 },
            lines: size(lines),
            others: size(others),
            depth: size(&roles.depth),
            is_along: lines.last().is_some_and(|&axis| seen.strides[axis] == 1),
            has_border: !seen.bounds.is_empty(),
        })
    }

    /// Takes note of how something is read that the operand is computed from.
    fn look_at(&mut self, leaf: &Bounded) {
        let lines = if self.is_left { &self.roles.rows } else { &self.roles.columns };
        let has_depth = self.roles.depth.iter().any(|&axis| leaf.follows(axis));
        self.is_along &= !has_depth || lines.last().is_none_or(|&axis| [0, 1].contains(&leaf.strides[axis]));
    }

    /// How many elements are packed.
    fn count(&self) -> usize {
        self.batch.saturating_mul(self.lines).saturating_mul(self.depth)
    }

    /// Whether the operand would be packed in any case.
    fn is_worth_it(&self) -> bool {
        let Packed { lines, others, depth, is_along, .. } = *self;
        let meeting = Meeting { lines, depth, others, size: SUM_BYTES, is_along, streams: true };
        let is_left_there = if self.is_left { meeting.leaves_left() } else { meeting.right_meets_few() };
        let is_tiny = lines.max(others).max(depth) <= TINY;
        !is_tiny && (self.has_border || !is_left_there)
    }
}
