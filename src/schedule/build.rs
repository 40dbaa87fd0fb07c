//! The stage that makes a node: its expression, and what it reads.

use super::expression::{Expression, Step};
use super::fingerprint::is_structural;
use super::frame::{Frame, Seen};
use super::group::{Groups, in_parts, only_checks, reads_through};
use super::plan::{MapReduce, Operand, Region, Scalar, Stage, Work};
use super::snapshot::Snapshot;
use super::unroll::unrolled;
use crate::dtype::{DType, Literal};
use crate::graph::{IdMap, Lookup, Node, Op, ReduceKind};
use crate::ops::vector::QuickMap;
use crate::ops::{self, Primitive};
use crate::shape::{Expr, Position, Shape, Strides, View, row_major_strides};
use smallvec::{SmallVec, smallvec};

/// The stages that make a stored node: one, but for a concatenation.
pub(super) fn stages(node: &Node, snapshot: &Snapshot, groups: &mut Groups) -> Vec<Stage> {
    if let Op::Concat { inputs, axis } = snapshot.op(node)
        && in_parts(snapshot, node)
    {
        return parts(node, inputs, *axis, snapshot, groups);
    }
    let mut reads = Reads::default();
    let work = match snapshot.op(node) {
        Op::Gather { .. } if reads_through(snapshot, node) && !only_moves(node, snapshot, groups) => {
            Work::MapReduce(Builder::new(node, snapshot, groups, &mut reads).map_reduce(node, None))
        }
        Op::Reduce { kind, input, axes, .. } => {
            let reduce = Some((*kind, axes.clone())).filter(|(_, axes)| !axes.is_empty());
            Work::MapReduce(unrolled(Builder::new(node, snapshot, groups, &mut reads).map_reduce(input, reduce)))
        }
        Op::Map { .. } | Op::Cast { .. } | Op::Contiguous { .. } | Op::ConstFill(_) | Op::Arange | Op::Rand { .. } => {
            Work::MapReduce(Builder::new(node, snapshot, groups, &mut reads).map_reduce(node, None))
        }
        Op::Concat { inputs, axis } => {
            Work::Concat { parts: inputs.iter().map(|input| reads.whole(input, snapshot)).collect(), axis: *axis }
        }
        Op::Gather { lookup, input, index, axis } => Work::Gather {
            lookup: *lookup,
            input: reads.whole(input, snapshot),
            index: reads.whole(index, snapshot),
            axis: *axis,
        },
        Op::Scatter { kind, lookup, index, source, axis } => Work::Scatter {
            kind: *kind,
            lookup: *lookup,
            index: reads.whole(index, snapshot),
            source: reads.whole(source, snapshot),
            axis: *axis,
        },
        Op::Lines { work, inputs, axis } => Work::Lines {
            work: *work,
            operands: inputs.iter().map(|input| reads.whole(input, snapshot)).collect(),
            axis: *axis,
        },
        op @ (Op::Buffer | Op::Input | Op::View { .. } | Op::Closure { .. } | Op::Executed) => {
            unreachable!("{} has its numbers, or is no work", op.name())
        }
    };
    vec![reads.stage(node, work, None)]
}

/// Fewer elements than this are gathered in an expression, which may share a kernel with others.
const WORTH_MOVING: usize = 1 << 12;

/// Whether a stored gather is nothing but that: it copies from memory to memory, by an index in memory.
fn only_moves(node: &Node, snapshot: &Snapshot, groups: &Groups) -> bool {
    let Op::Gather { input, index, .. } = snapshot.op(node) else { return false };
    let is_there = |node: &Node| {
        let made_whole = |node| matches!(snapshot.op(node), Op::Lines { .. } | Op::Scatter { .. } | Op::Gather { .. });
        let base = snapshot.base(node);
        snapshot.has_numbers(base) || (groups.stored.contains(&base.id()) && made_whole(base))
    };
    node.len() >= WORTH_MOVING && is_there(input) && is_there(index)
}

/// The stages that write the parts of a concatenation into their places.
fn parts(node: &Node, inputs: &[Node], axis: usize, snapshot: &Snapshot, groups: &mut Groups) -> Vec<Stage> {
    let strides: SmallVec<[i64; 6]> = row_major_strides(node.shape()).iter().map(|&stride| stride as i64).collect();
    let mut stages = Vec::with_capacity(inputs.len());
    let mut offset = 0;
    for input in inputs {
        let region = Region { offset, strides: strides.clone() };
        offset += input.shape()[axis] * strides[axis] as usize;
        if input.len() > 0 {
            let mut reads = Reads::default();
            let work = Builder::new(node, snapshot, groups, &mut reads).map_reduce(input, None);
            stages.push(reads.stage(node, Work::MapReduce(work), Some(region)));
        }
    }
    stages
}

/// What one stage reads.
#[derive(Default)]
struct Reads {
    nodes: Vec<Node>,
    places: IdMap<usize>,
    scalars: Vec<Scalar>,
}

impl Reads {
    fn stage(self, node: &Node, work: Work, region: Option<Region>) -> Stage {
        Stage { node: node.clone(), reads: self.nodes, scalars: self.scalars, work, region, led_by: None }
    }

    /// A constant: as it is, or told when the kernel is run.
    fn constant(&mut self, node: &Node, value: Literal) -> Step {
        if is_structural(value) {
            return Step::Const(value);
        }
        Step::Scalar { slot: self.told(node, 1), dtype: value.dtype() }
    }

    /// The first slot of what a node tells when the kernel is run, so many scalars.
    fn told(&mut self, node: &Node, parts: u8) -> usize {
        let known = self.scalars.iter().position(|scalar| scalar.node == *node);
        known.unwrap_or_else(|| {
            self.scalars.extend((0..parts).map(|part| Scalar { node: node.clone(), part }));
            self.scalars.len() - usize::from(parts)
        })
    }

    fn operand(&mut self, base: &Node, view: View, reach: usize) -> Operand {
        let read = *self.places.entry(base.id()).or_insert_with(|| {
            self.nodes.push(base.clone());
            self.nodes.len() - 1
        });
        Operand { read, dtype: base.dtype(), view, reach }
    }

    /// A node as it is.
    fn whole(&mut self, node: &Node, snapshot: &Snapshot) -> Operand {
        match snapshot.view(node) {
            Some((base, view)) => self.operand(base, view.clone(), 0),
            None => self.operand(node, View::contiguous(node.shape()), 0),
        }
    }
}

/// Where a gather looks.
struct Place {
    /// The step with the place on its axis.
    name: usize,
    /// The size of the axis.
    size: usize,
    /// Something that is read depends on it.
    used: bool,
}

/// The steps with the places that gathers look at, and how far apart those places lie.
type Gathers = SmallVec<[(usize, i64); 1]>;

/// Builds one expression.
struct Builder<'a> {
    /// The node that is made.
    node: &'a Node,
    snapshot: &'a Snapshot,
    groups: &'a mut Groups,
    reads: &'a mut Reads,
    loads: Vec<Operand>,
    expression: Expression,
    /// The steps of nodes, each in its frame.
    names: QuickMap<(usize, Frame), usize>,
    /// The steps of loads, each by the node, the way to it, and where the gathers on that way look.
    loaded: QuickMap<(usize, View, Gathers), usize>,
    /// By the frame of a gather, where it looks.
    places: QuickMap<Frame, Place>,
}

impl<'a> Builder<'a> {
    fn new(node: &'a Node, snapshot: &'a Snapshot, groups: &'a mut Groups, reads: &'a mut Reads) -> Builder<'a> {
        Builder {
            node,
            snapshot,
            groups,
            reads,
            loads: Vec::new(),
            expression: Expression::default(),
            names: QuickMap::default(),
            loaded: QuickMap::default(),
            places: QuickMap::default(),
        }
    }

    /// The expression that ends in `root`, over `root`'s shape. What is stored is loaded, but for the node itself.
    fn map_reduce(mut self, root: &Node, reduce: Option<(ReduceKind, SmallVec<[usize; 6]>)>) -> MapReduce {
        let own = (Shape::from_slice(root.shape()), Frame::SPACE);
        let (space, frame) = self.groups.spaces.get(&self.node.id()).cloned().unwrap_or(own);
        let result = self.value(root, frame);
        debug_assert_eq!(result + 1, self.expression.steps.len(), "the root is done last");
        MapReduce { space, loads: self.loads, expression: self.expression, reduce, dtype: self.node.dtype() }
    }

    /// The step that computes a node in a frame. It recurses no deeper than an expression is large.
    fn value(&mut self, node: &Node, frame: Frame) -> usize {
        if let Some(&known) = self.names.get(&(node.id(), frame)) {
            return known;
        }
        let snapshot = self.snapshot;
        let name = match snapshot.view(node) {
            Some((base, view)) => self.looked_at(node, base, view, frame),
            None if self.is_in_memory(node) => self.load(node, &View::contiguous(node.shape()), frame),
            None => self.computed(node, frame),
        };
        self.names.insert((node.id(), frame), name);
        name
    }

    fn is_in_memory(&self, node: &Node) -> bool {
        self.snapshot.has_numbers(node) || (self.groups.stored.contains(&node.id()) && node != self.node)
    }

    /// What a view shows.
    fn looked_at(&mut self, node: &Node, base: &Node, view: &View, frame: Frame) -> usize {
        let snapshot = self.snapshot;
        if snapshot.through_identity(node) == base {
            return self.value(base, frame);
        }
        if self.is_in_memory(base) {
            return self.load(base, view, frame);
        }
        if let Some((constant, value)) = snapshot.viewed_constant(node) {
            let step = self.reads.constant(constant, value);
            return self.expression.push(step);
        }
        let inside = self.groups.frames.enter(frame, node, snapshot).expect("what cannot be replayed is stored");
        let mut value = self.value(base, inside);
        // The first guard that fails has the last word.
        for (condition, default) in view.access().1.into_iter().rev() {
            let holds =
                self.groups.frames.condition(frame, node.shape(), &condition).expect("checked when it was merged");
            value = self.guarded(holds, value, default);
        }
        value
    }

    /// A value where a condition on the space's indices holds, and another one elsewhere.
    fn guarded(&mut self, condition: Expr, value: usize, default: Literal) -> usize {
        match condition {
            Expr::Const(0) => self.expression.push(Step::Const(default)),
            Expr::Const(_) => value,
            condition => {
                let holds = self.expression.push(Step::Index { value: condition, dtype: DType::Bool });
                let other = self.expression.push(Step::Const(default));
                let operands = smallvec![holds, value, other];
                self.expression.push(Step::Map { primitive: &ops::SELECT, dtype: default.dtype(), operands })
            }
        }
    }

    fn load(&mut self, base: &Node, view: &View, frame: Frame) -> usize {
        let outside = Literal::zero(base.dtype());
        let seen = self.groups.frames.apply(frame, view, outside).expect("checked when it was merged");
        let Seen { view, gathers } = seen;
        let mut reach = 0;
        let mut gather = |(frame, step): &(Frame, i64)| {
            let place = self.places.get_mut(frame).expect("a gather's place is computed before what it reads");
            place.used = true;
            reach += *step as usize * (place.size - 1);
            (place.name, *step)
        };
        let gathers: Gathers = gathers.iter().map(&mut gather).collect();
        // What this plan makes may be read row by row, if it is read at strides. Where a mask hides nothing but elements, the
        // choice can come after the reading.
        match everywhere(&view, base.len()) {
            Some(plain) if !self.snapshot.has_numbers(base) => {
                let mut value = self.loaded(base, plain, gathers, reach);
                for (condition, default) in view.access().1.into_iter().rev() {
                    value = self.guarded(condition, value, default);
                }
                value
            }
            _ => self.loaded(base, view, gathers, reach),
        }
    }

    /// The step that loads from a buffer; each way of looking at it is loaded once.
    fn loaded(&mut self, base: &Node, view: View, gathers: Gathers, reach: usize) -> usize {
        let key = (base.id(), view, gathers);
        if let Some(&known) = self.loaded.get(&key) {
            return known;
        }
        let at = key.2.iter().map(|&(place, step)| self.scaled(place, step)).collect::<SmallVec<[usize; 1]>>();
        let at = at.into_iter().reduce(|a, b| self.integer(&ops::ADD, a, b));
        self.loads.push(self.reads.operand(base, key.1.clone(), reach));
        let (slot, dtype) = (self.loads.len() - 1, base.dtype());
        let step = at.map_or(Step::Load { slot, dtype }, |at| Step::Gather { slot, dtype, at });
        let name = self.expression.push(step);
        self.loaded.insert(key, name);
        name
    }

    /// A place times the distance between places.
    fn scaled(&mut self, place: usize, step: i64) -> usize {
        if step == 1 {
            return place;
        }
        let step = self.expression.push(Step::Const(Literal::I64(step)));
        self.integer(&ops::MUL, place, step)
    }

    fn integer(&mut self, primitive: &'static Primitive, a: usize, b: usize) -> usize {
        self.expression.push(Step::Map { primitive, dtype: DType::I64, operands: smallvec![a, b] })
    }

    /// A node computed from its operands.
    fn computed(&mut self, node: &Node, frame: Frame) -> usize {
        let snapshot = self.snapshot;
        let step = match snapshot.op(node) {
            Op::ConstFill(value) => self.reads.constant(node, *value),
            Op::Arange => self.place(node, frame),
            Op::Rand { word, .. } => {
                let at = self.place(node, frame);
                Step::Rand { slot: self.reads.told(node, 4), word: *word, at: self.expression.push(at) }
            }
            Op::Map { primitive, inputs } => Step::Map {
                primitive,
                dtype: inputs[inputs.len() - 1].dtype(),
                operands: inputs.iter().map(|input| self.value(input, frame)).collect(),
            },
            Op::Cast { input } => {
                Step::Cast { from: input.dtype(), to: node.dtype(), operand: self.value(input, frame) }
            }
            Op::Gather { lookup, input, index, axis } => {
                return self.gathered(node, *lookup, (input, index), *axis, frame);
            }
            // A copy has the value of what it copies.
            Op::Contiguous { input } => return self.value(input, frame),
            op @ (Op::Buffer
            | Op::Input
            | Op::View { .. }
            | Op::Reduce { .. }
            | Op::Concat { .. }
            | Op::Scatter { .. }
            | Op::Lines { .. }
            | Op::Closure { .. }
            | Op::Executed) => unreachable!("{} is not elementwise", op.name()),
        };
        self.expression.push(step)
    }

    /// What a gather finds.
    fn gathered(
        &mut self,
        node: &Node,
        lookup: Lookup,
        (input, index): (&Node, &Node),
        axis: usize,
        frame: Frame,
    ) -> usize {
        let index = self.value(index, frame);
        if only_checks(self.snapshot, node) {
            return self.expression.push(Step::Place { index, size: input.shape()[axis], from_end: lookup.from_end });
        }
        let inside = self.groups.frames.gather(frame, node, input, axis);
        let size = input.shape()[axis];
        let name = self.expression.push(Step::Place { index, size, from_end: lookup.from_end });
        self.places.insert(inside, Place { name, size, used: false });
        let value = self.value(input, inside);
        if self.places[&inside].used {
            return value;
        }
        // All places have the same number, but there must be such a place.
        let first = self.expression.push(Step::Const(Literal::I64(0)));
        let operands = smallvec![name, first];
        let is_first = self.expression.push(Step::Map { primitive: &ops::EQ, dtype: DType::I64, operands });
        let operands = smallvec![is_first, value, value];
        self.expression.push(Step::Map { primitive: &ops::SELECT, dtype: node.dtype(), operands })
    }

    /// The row-major place of a node's element.
    fn place(&self, node: &Node, frame: Frame) -> Step {
        let value = self.groups.frames.place(frame, node.shape()).expect("checked when it was merged");
        Step::Index { value, dtype: DType::I64 }
    }
}

/// A guarded view without its guards, if it is read at strides and stays within `len` elements even so.
pub(super) fn everywhere(view: &View, len: usize) -> Option<View> {
    let shape = view.shape();
    let (Position::Strided { offset, strides }, guards) = view.access() else { return None };
    if guards.is_empty() || shape.contains(&0) {
        return None;
    }
    let (mut low, mut high) = (offset, offset);
    for (&stride, &size) in strides.iter().zip(&shape) {
        let reach = stride.checked_mul(i64::try_from(size - 1).ok()?)?;
        low = low.checked_add(reach.min(0))?;
        high = high.checked_add(reach.max(0))?;
    }
    let strides: Strides = strides.iter().map(|&stride| stride as isize).collect();
    (low >= 0 && high < len as i64).then_some(View::Linear { shape, strides, offset: offset as isize })
}
