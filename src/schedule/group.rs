//! Which nodes are written to memory; all others live inside the expressions of their consumers.
//!
//! Users are looked at before what they use. A node that is not written is computed wherever it is used: nearly always in one
//! expression, at one place. Only what is cheap, or made of indices alone, is computed at several. A copy with a border is not
//! written where contractions put the border in themselves ([`border`]).

use super::border::{self, Product};
use super::contraction::is_matrix;
use super::frame::{self, Frame, Frames};
use super::snapshot::Snapshot;
use crate::dtype::Literal;
use crate::graph::{IdMap, Node, Op, ReduceKind};
use crate::ops::vector::{QuickMap, QuickSet};
use crate::ops::{self, Primitive};
use crate::shape::{Position, Shape, View};
use smallvec::SmallVec;

/// The most nodes that are merged into one expression.
const EXPRESSION_LIMIT: usize = 64;

/// What costs at most this much may be computed more than once.
const CHEAP: u32 = 3;

/// The cost of a primitive that is not worth computing twice.
const DEAR: u32 = 100;

/// The most places at which one expression computes the same node.
const MOST_TIMES: usize = 3;

/// What has so many times more elements than it reads is not worth writing.
const GROWS: usize = 8;

/// The most parts of a concatenation that are written one by one.
const MOST_PARTS: usize = 32;

/// What an expression makes: a node, and which part of it.
type Sink = (usize, usize);

/// What is written, and the frames in which the rest is computed.
pub(super) struct Groups {
    /// The ids of the nodes that get a buffer.
    pub(super) stored: QuickSet<usize>,
    pub(super) frames: Frames,
    /// By stored node, the space of its expression and the node's frame in it, where that is not the node's own shape.
    pub(super) spaces: IdMap<(Shape, Frame)>,
}

/// What is known of a node's expression, were everything before it merged.
#[derive(Clone, Copy, Default)]
struct Facts {
    cost: u32,
    /// It reads what another stage makes.
    reads_made: bool,
    /// It reads memory.
    reads: bool,
    /// How many elements there are to read.
    reach: usize,
}

/// Decides what is written to memory.
pub(super) fn group(snapshot: &Snapshot, wanted: &[Node]) -> Groups {
    let forced = forced(snapshot, wanted);
    let facts = facts(snapshot, &forced);
    let groups = Groups { stored: QuickSet::default(), frames: Frames::default(), spaces: IdMap::default() };
    let mut deciding = Deciding {
        snapshot,
        forced,
        facts,
        groups,
        places: IdMap::default(),
        sinks: QuickMap::default(),
        products: border::products(snapshot),
        decided: QuickSet::default(),
        bordered: QuickSet::default(),
    };
    let work: Vec<&Node> = work(snapshot).collect();
    for node in work.into_iter().rev() {
        deciding.decide(node);
    }
    deciding.groups
}

/// The nodes that something has to be computed for.
fn work(snapshot: &Snapshot) -> impl Iterator<Item = &Node> {
    snapshot.in_order().filter(|node| !snapshot.has_numbers(node) && !snapshot.is_view(node))
}

/// Whether a node's expression can be part of another.
fn merges(snapshot: &Snapshot, node: &Node) -> bool {
    node.joins() || matches!(snapshot.op(node), Op::Contiguous { .. }) || reads_through(snapshot, node)
}

/// Whether a gather only gives back the numbers of its index, having checked them: it looks among 0, 1, 2 …
pub(super) fn only_checks(snapshot: &Snapshot, node: &Node) -> bool {
    let Op::Gather { input, .. } = snapshot.op(node) else { return false };
    matches!(snapshot.op(input), Op::Arange) && !snapshot.has_numbers(input)
}

/// Whether a gather can be read through: its places lie apart evenly.
pub(super) fn reads_through(snapshot: &Snapshot, node: &Node) -> bool {
    let Op::Gather { input, axis, .. } = snapshot.op(node) else { return false };
    let places = match snapshot.view(input) {
        Some((_, view)) => frame::gathered(view, *axis, node.shape()),
        None => frame::gathered(&View::contiguous(input.shape()), *axis, node.shape()),
    };
    places.is_some() && node.len() > 0 && u32::try_from(input.shape()[*axis]).is_ok()
}

/// Whether a node is a concatenation whose parts are computed straight into their places.
pub(super) fn in_parts(snapshot: &Snapshot, node: &Node) -> bool {
    node.len() > 0 && matches!(snapshot.op(node), Op::Concat { inputs, .. } if inputs.len() <= MOST_PARTS)
}

/// The ids of the nodes that must be written: what is asked for, parameters, and what a gather or the like reads.
fn forced(snapshot: &Snapshot, wanted: &[Node]) -> QuickSet<usize> {
    let mut forced: QuickSet<usize> = wanted.iter().map(Node::id).collect();
    for node in work(snapshot) {
        if node.is_parameter() {
            forced.insert(node.id());
        }
        if !merges(snapshot, node) && !matches!(snapshot.op(node), Op::Reduce { .. }) && !in_parts(snapshot, node) {
            forced.extend(snapshot.inputs(node).iter().map(|input| snapshot.base(input).id()));
        }
        forced.extend(constant_factor(snapshot, node).map(Node::id));
    }
    forced
}

/// The constant that stands for a whole operand of a matrix product: the gradient of a sum, for one. It is worth writing down, for
/// then there is a contraction to be made of it.
fn constant_factor<'a>(snapshot: &'a Snapshot, node: &'a Node) -> Option<&'a Node> {
    let Op::Reduce { kind: ReduceKind::Sum, input, axes, .. } = snapshot.op(node) else { return None };
    if snapshot.has_numbers(input) {
        return None;
    }
    let Op::Map { primitive, inputs } = snapshot.op(input) else { return None };
    let [a, b] = &inputs[..] else { return None };
    let constant = |node: &'a Node| Some(snapshot.base(node)).filter(|base| snapshot.is_constant(base));
    let (of_a, of_b) = (constant(a), constant(b));
    if !std::ptr::eq(*primitive, &ops::MUL) || of_a.is_some() == of_b.is_some() {
        return None;
    }
    let strides = |node: &Node| match snapshot.view(node)?.1.access() {
        (Position::Strided { strides, .. }, guards) if guards.is_empty() => Some(strides),
        _ => None,
    };
    let (on_a, on_b) = (strides(a)?, strides(b)?);
    is_matrix(input.shape(), axes, &|axis| on_a[axis] != 0, &|axis| on_b[axis] != 0).then(|| of_a.or(of_b))?
}

fn facts(snapshot: &Snapshot, forced: &QuickSet<usize>) -> IdMap<Facts> {
    let mut facts: IdMap<Facts> = IdMap::default();
    for node in work(snapshot) {
        let cost = if only_checks(snapshot, node) { 1 } else { weight(snapshot.op(node)) };
        let mut of = Facts { cost, ..Facts::default() };
        let inputs = snapshot.inputs(node);
        let mut bases: SmallVec<[&Node; 3]> = SmallVec::new();
        for base in inputs.iter().map(|input| snapshot.base(input)) {
            if bases.contains(&base) || snapshot.is_constant(base) {
                continue;
            }
            bases.push(base);
            match facts.get(&base.id()) {
                Some(below) if merges(snapshot, base) && !forced.contains(&base.id()) => {
                    of.cost = of.cost.saturating_add(below.cost);
                    of.reads_made |= below.reads_made;
                    of.reads |= below.reads;
                    of.reach = of.reach.saturating_add(below.reach);
                    continue;
                }
                Some(_) => (of.reads_made, of.reads) = (true, true),
                None => of.reads = true,
            }
            of.reach = of.reach.saturating_add(base.len());
        }
        facts.insert(node.id(), of);
    }
    facts
}

/// What it costs to compute one element of a node from its operands.
fn weight(op: &Op) -> u32 {
    static CHEAP_PRIMITIVES: [&Primitive; 20] = [
        &ops::ADD,
        &ops::SUB,
        &ops::MUL,
        &ops::NEG,
        &ops::MAXIMUM,
        &ops::MINIMUM,
        &ops::BITAND,
        &ops::BITOR,
        &ops::BITXOR,
        &ops::BITNOT,
        &ops::SHL,
        &ops::SHR,
        &ops::EQ,
        &ops::NE,
        &ops::LT,
        &ops::LE,
        &ops::SELECT,
        &ops::MUL_ADD,
        &ops::ABS,
        &ops::SIGN,
    ];
    match op {
        Op::ConstFill(_) | Op::Arange => 0,
        Op::Map { primitive, .. } if CHEAP_PRIMITIVES.iter().any(|cheap| std::ptr::eq(*cheap, *primitive)) => 1,
        Op::Cast { .. } | Op::Contiguous { .. } => 1,
        _ => DEAR,
    }
}

/// Whether a node may meet a number that stops the run: an integer divided by zero, an index outside its axis.
fn can_fail(snapshot: &Snapshot, node: &Node) -> bool {
    if matches!(snapshot.op(node), Op::Gather { .. }) {
        return true;
    }
    let Op::Map { primitive, inputs } = snapshot.op(node) else { return false };
    let divides = std::ptr::eq(*primitive, &ops::IDIV) || std::ptr::eq(*primitive, &ops::REM);
    let by_a_number = |node: &Node| match snapshot.op(node) {
        Op::ConstFill(value) => snapshot.is_constant(node) && value.to_f64() != 0.0,
        _ => false,
    };
    divides && !node.dtype().is_float() && !by_a_number(&inputs[1])
}

struct Deciding<'a> {
    snapshot: &'a Snapshot,
    forced: QuickSet<usize>,
    facts: IdMap<Facts>,
    groups: Groups,
    /// Where each node is used: in which expressions, and in which frame of them.
    places: IdMap<SmallVec<[(Sink, Frame); 2]>>,
    /// How many nodes each expression has, and whether it is reduced.
    sinks: QuickMap<Sink, (usize, bool)>,
    /// The reductions that may read through a border.
    products: IdMap<Product<'a>>,
    /// The nodes that have been looked at, and those of them whose border is read through.
    decided: QuickSet<usize>,
    bordered: QuickSet<usize>,
}

impl<'a> Deciding<'a> {
    fn decide(&mut self, node: &'a Node) {
        let id = node.id();
        let places = self.places.remove(&id).unwrap_or_default();
        self.decided.insert(id);
        if self.snapshot.is_constant(node) && !self.forced.contains(&id) {
            return;
        }
        let sources = self.behind_border(node, &places);
        if let Some(sources) = &sources {
            self.bordered.insert(id);
            self.forced.extend(sources.iter().map(|source| source.id()));
        }
        if sources.is_some() || self.is_merged(node, &places) {
            for &(sink, frame) in &places {
                self.sinks.entry(sink).or_default().0 += 1;
                self.use_inputs(node, sink, frame);
            }
            return;
        }
        self.groups.stored.insert(id);
        let reduces = matches!(self.snapshot.op(node), Op::Reduce { .. });
        self.sinks.insert((id, 0), (1, reduces));
        if reduces || merges(self.snapshot, node) {
            let frame = if reduces { Frame::SPACE } else { self.choose_space(node) };
            self.use_inputs(node, (id, 0), frame);
        } else if in_parts(self.snapshot, node) {
            let inputs = self.snapshot.inputs(node);
            inputs.iter().enumerate().for_each(|(part, input)| self.use_input(input, (id, part), Frame::SPACE));
        }
    }

    /// If a node is a copy with a border that is not written, since all that use it are contractions which read through the border: what
    /// they read, and must therefore be in memory.
    fn behind_border(&self, node: &'a Node, places: &[(Sink, Frame)]) -> Option<SmallVec<[&'a Node; 4]>> {
        let (snapshot, frames) = (self.snapshot, &self.groups.frames);
        if self.products.is_empty() || places.is_empty() || self.forced.contains(&node.id()) {
            return None;
        }
        let (base, _) = border::bordered(node, snapshot)?;
        let mut sources = SmallVec::from_elem(base, 1);
        for &((sink, _), frame) in places {
            let other = self.products.get(&sink)?.reads_through(node, frame, frames, snapshot)?;
            let id = other.id();
            if !self.decided.contains(&id) {
                sources.push(other);
            } else if !self.groups.stored.contains(&id) && !self.bordered.contains(&id) {
                return None;
            }
            if !self.is_possible(node, frame) {
                return None;
            }
        }
        Some(sources)
    }

    /// The frame of a stored node in the space of its expression: another space than its shape where that saves writing down
    /// what it reads through a reshape.
    fn choose_space(&mut self, node: &Node) -> Frame {
        let Some(space) = self.finer_space(node) else { return Frame::SPACE };
        let frame = self.groups.frames.reshaped(&space);
        if !self.is_possible(node, frame) {
            return Frame::SPACE;
        }
        self.groups.spaces.insert(node.id(), (space, frame));
        frame
    }

    /// The shape of the first node behind a reshape that cannot be computed in any other shape.
    fn finer_space(&self, node: &Node) -> Option<Shape> {
        let snapshot = self.snapshot;
        let is_free =
            |node: &Node| !snapshot.has_numbers(node) && !self.forced.contains(&node.id()) && merges(snapshot, node);
        let mut seen: SmallVec<[&Node; 32]> = SmallVec::from_elem(node, 1);
        let mut next = 0;
        while next < seen.len() && seen.len() < EXPRESSION_LIMIT {
            let inputs = snapshot.inputs(seen[next]);
            let is_stuck = |(_, view): (&Node, &View)| view.reshape(node.shape()).is_none();
            if seen[next].shape() != node.shape()
                && inputs.iter().filter_map(|input| snapshot.view(input)).any(is_stuck)
            {
                return Some(seen[next].shape().into());
            }
            next += 1;
            for input in inputs {
                let base = snapshot.base(input);
                let same_order = snapshot.view(input).is_none_or(|(_, view)| view.is_contiguous());
                if same_order && base.len() == node.len() && is_free(base) && !seen.contains(&base) {
                    seen.push(base);
                }
            }
        }
        None
    }

    /// Notes that an expression uses what a node is computed from.
    fn use_inputs(&mut self, node: &Node, sink: Sink, frame: Frame) {
        if let Op::Gather { input, index, axis, .. } = self.snapshot.op(node) {
            self.use_input(index, sink, frame);
            if !only_checks(self.snapshot, node) {
                let inside = self.groups.frames.gather(frame, node, input, *axis);
                self.use_input(input, sink, inside);
            }
        } else {
            self.snapshot.inputs(node).iter().for_each(|input| self.use_input(input, sink, frame));
        }
    }

    /// Notes that an expression uses a node.
    fn use_input(&mut self, input: &Node, sink: Sink, frame: Frame) {
        let source = self.snapshot.through_identity(input);
        let base = self.snapshot.base(source);
        if self.snapshot.has_numbers(base) {
            return;
        }
        let inside = if self.snapshot.is_view(source) {
            self.groups.frames.enter(frame, source, self.snapshot)
        } else {
            Some(frame)
        };
        let Some(inside) = inside else {
            self.forced.insert(base.id());
            return;
        };
        let places = self.places.entry(base.id()).or_default();
        if !places.contains(&(sink, inside)) {
            places.push((sink, inside));
        }
    }

    /// Whether a node used at these places lives inside the expressions that use it.
    fn is_merged(&self, node: &Node, places: &[(Sink, Frame)]) -> bool {
        if places.is_empty() || self.forced.contains(&node.id()) || !merges(self.snapshot, node) {
            return false;
        }
        let facts = self.facts[&node.id()];
        let sink = places[0].0;
        let cheap = facts.cost <= CHEAP && places.len() <= MOST_TIMES;
        let one_sink = places.iter().all(|(other, _)| *other == sink);
        let once = one_sink && (places.len() == 1 || cheap);
        // Rows of numbers that another stage makes are better prepared once a row, and what is summed over and over once.
        let reduces = self.sinks.get(&sink).is_some_and(|(_, reduces)| *reduces);
        // What is cheap and far larger than what it is made from (ones and zeros at places that an index names) is never written.
        let grows = facts.reach.saturating_mul(GROWS) <= node.len();
        let again = cheap && (grows || (!facts.reads_made && !reduces));
        let repeats = places.iter().any(|(_, frame)| self.groups.frames.repeats(*frame));
        let slight = !repeats && places.len() <= MOST_TIMES && self.is_slight(node);
        let worth_it = facts.cost == 0 || (cheap && !facts.reads) || (once && (!repeats || again)) || slight;
        let has_room = |sink: &Sink| self.sinks.get(sink).is_none_or(|(size, _)| *size < EXPRESSION_LIMIT);
        worth_it && places.iter().all(|(sink, frame)| has_room(sink) && self.is_possible(node, *frame))
    }

    /// Whether a node is a cheap step from one operand of its size, all others being far smaller: reading that operand instead takes no
    /// longer than reading the node would, and nothing has to be written.
    fn is_slight(&self, node: &Node) -> bool {
        let is_large = |input: &&&Node| self.snapshot.base(input).len().saturating_mul(GROWS) > node.len();
        weight(self.snapshot.op(node)) <= 1 && self.snapshot.inputs(node).iter().filter(is_large).count() <= 1
    }

    /// Whether a node can be computed in a frame.
    fn is_possible(&self, node: &Node, frame: Frame) -> bool {
        let (snapshot, frames) = (self.snapshot, &self.groups.frames);
        if frame == Frame::SPACE {
            return true;
        }
        match snapshot.op(node) {
            Op::Arange | Op::Rand { .. } => frames.place(frame, node.shape()).is_some(),
            Op::ConstFill(_) => true,
            // The frame may show places where there is nothing to divide by, or not show all there is.
            _ if can_fail(snapshot, node) && !frames.shows_all(frame) => false,
            Op::Gather { index, .. } if only_checks(snapshot, node) => self.is_readable(index, frame),
            Op::Gather { input, index, axis, .. } => {
                let contiguous = View::contiguous(input.shape());
                let view = snapshot.view(input).map_or(&contiguous, |(_, view)| view);
                let places = frame::gathered(view, *axis, node.shape());
                let outside = Literal::zero(input.dtype());
                places.is_some_and(|(view, _)| frames.apply(frame, &view, outside).is_some())
                    && self.is_readable(index, frame)
            }
            _ => snapshot.inputs(node).iter().all(|input| self.is_readable(input, frame)),
        }
    }

    /// Whether a node can be read in a frame, once it is written.
    fn is_readable(&self, node: &Node, frame: Frame) -> bool {
        let (outside, frames) = (Literal::zero(node.dtype()), &self.groups.frames);
        match self.snapshot.view(node) {
            Some((_, view)) => {
                let guards = view.access().1;
                frames.apply(frame, view, outside).is_some()
                    && guards.iter().all(|(holds, _)| frames.condition(frame, node.shape(), holds).is_some())
            }
            None => frames.apply(frame, &View::contiguous(node.shape()), outside).is_some(),
        }
    }
}
