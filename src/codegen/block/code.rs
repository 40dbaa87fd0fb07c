//! Turns a loop program into the interpreter's code: steps in stages, with their registers.
//!
//! What no lane changes is computed once a run (stage 0), what changes from block to block once a block (stage 1), and
//! what changes along the step axes every time (stage 2). See [`Code::of`] for what steps are.

use super::access::Strided;
use super::convert::{Loader, loader};
use super::divide;
use super::lanes::Kernel;
use super::nodes::{Node, Nodes, affine};
use super::registers::{Definition, allocate};
use super::words;
use crate::dtype::DType;
use crate::lower::program::{Access, LoopProgram};
use crate::ops::vector::{Binary, Lane, LaneFn, Table, Val, Word};

/// The number of stages.
pub(super) const STAGES: usize = 3;

/// The interpreter's code for one program.
pub(super) struct Code {
    /// The steps of each stage, in running order.
    pub(super) stages: [Vec<Step>; STAGES],
    /// Values that are the same in every run; their first bytes are one lane.
    pub(super) constants: Vec<(usize, u64)>,
    /// Values that are told when the code is run, and the number and lane of each.
    pub(super) scalars: Vec<(usize, u16, Lane)>,
    /// How many values there are. The one after the last stands for "no operand".
    pub(super) values: usize,
    /// The value that is folded or stored.
    pub(super) result: usize,
    /// The bytes of all registers.
    pub(super) arena: usize,
    /// The operands read at constant strides, by slot.
    pub(super) strided: Vec<Option<Strided>>,
    /// The sizes of the step axes, and how many steps there are in all.
    pub(super) step_axes: Vec<usize>,
    pub(super) step_count: usize,
    /// How far apart, in the index space, neighbours along the first outer axis are; 0 where there is none.
    pub(super) origin_step: usize,
}

/// Makes one value.
pub(super) struct Step {
    /// The value's number.
    pub(super) value: usize,
    /// The offset of its register in the arena.
    pub(super) register: usize,
    pub(super) action: Action,
}

/// What a step does.
pub(super) enum Action {
    /// Reads a strided operand of `size` bytes an element into `width` bytes a lane.
    Load { slot: usize, size: usize, width: usize, loader: Loader, dense: &'static [Kernel] },
    /// As `Load`, so many elements further as a value says.
    Shifted { load: Box<Action>, at: usize },
    /// Reads elements at computed positions.
    Gather { slot: usize, loader: Loader, position: usize, valid: Option<usize> },
    /// The index along an axis the lanes walk: it stays for `inner` lanes and wraps at `size`. The first begins at the origin.
    Index { size: usize, inner: usize, first: bool },
    /// The place that an index names.
    Place { index: usize, size: i64, from_end: bool },
    /// The index along a step axis.
    StepIndex { axis: usize },
    /// The position in the whole index space.
    Position,
    /// Runs one of the kernels on three operands, of which `used` (a bit set) are real.
    Apply { kernels: &'static [Kernel], operands: [usize; 3], used: usize, divides: Option<Lane> },
    /// An entry of a table.
    Lookup { table: &'static Table, index: usize },
    /// A scalar function on the lanes where `when` is set.
    Rare { when: usize, f: &'static LaneFn, x: usize, otherwise: usize, width: usize },
}

impl Code {
    /// The code for a program whose lanes walk the first `walked` axes, row-major; the axes after them are stepped
    /// through, one index at a time, with a whole block at each step. `vector`: see [`super::lanes::vector_unit`].
    pub(super) fn of(program: &LoopProgram, walked: usize, vector: bool) -> Code {
        let sizes: Vec<usize> = program.outer.iter().chain(&program.reduced).copied().collect();
        let (nodes, result) = Nodes::of(program);
        let strided = strided(program, &sizes, walked);
        let stages = stages(&nodes, &strided, &sizes, walked);

        // Steps run stage by stage; a node keeps its number as the name of its value.
        let mut order: Vec<usize> = (0..nodes.list.len()).filter(|&id| !is_constant(nodes.list[id].0)).collect();
        order.sort_by_key(|&id| stages[id]);
        let mut place = vec![None; nodes.list.len()];
        for (at, &id) in order.iter().enumerate() {
            place[id] = Some(at);
        }
        let definitions: Vec<Definition> = order
            .iter()
            .map(|&id| {
                let (node, lane) = nodes.list[id];
                let operands = node.operands().iter().filter_map(|val| place[val.id as usize]).collect();
                Definition { width: words::width(lane), operands, stage: stages[id] }
            })
            .collect();
        let registers = allocate(&definitions, place[result.id as usize]);

        let mut code = Code {
            stages: Default::default(),
            constants: Vec::new(),
            scalars: Vec::new(),
            values: nodes.list.len(),
            result: result.id as usize,
            arena: registers.bytes,
            strided,
            step_axes: sizes[walked..].to_vec(),
            step_count: sizes[walked..].iter().product(),
            origin_step: origin_step(program),
        };
        for (id, &(node, lane)) in nodes.list.iter().enumerate() {
            match node {
                Node::Word(Word::Const { lane, bits }) => code.constants.push((id, words::constant(lane, bits))),
                Node::Word(Word::Scalar(slot)) => code.scalars.push((id, slot, lane)),
                _ => {}
            }
        }
        for (&id, &register) in order.iter().zip(&registers.offsets) {
            let (node, lane) = nodes.list[id];
            let action = action(node, lane, program, &sizes, walked, vector, code.values);
            code.stages[usize::from(stages[id])].push(Step { value: id, register, action });
        }
        code
    }

    /// Whether rows are read at places that other operands name.
    pub(super) fn looks_up_rows(&self) -> bool {
        self.stages.iter().flatten().any(|step| matches!(step.action, Action::Shifted { .. }))
    }

    /// How many steps one element takes, at least 1: a measure of work.
    pub(super) fn weight(&self) -> usize {
        self.stages.iter().map(Vec::len).sum::<usize>().max(1)
    }
}

fn is_constant(node: Node) -> bool {
    matches!(node, Node::Word(Word::Const { .. } | Word::Scalar(_)))
}

/// How far apart, in a program's index space, neighbours along the first outer axis are; 0 where there is none.
pub(in crate::codegen) fn origin_step(program: &LoopProgram) -> usize {
    let inside = program.outer.get(1..).map(|outer| outer.iter().chain(&program.reduced));
    inside.map_or(0, |sizes| sizes.fold(1, |product: usize, &size| product.wrapping_mul(size)))
}

/// The operands that are read at constant strides.
fn strided(program: &LoopProgram, sizes: &[usize], walked: usize) -> Vec<Option<Strided>> {
    let one = |access: &Access| match access {
        Access::Strided { offset, strides } => Some(Strided::new(*offset, strides, sizes, walked, 0)),
        Access::Computed { position, guards } if guards.is_empty() => {
            let (offset, strides) = affine(position, sizes.len())?;
            let by_origin = if program.outer.is_empty() { 0 } else { strides[0] };
            Some(Strided::new(offset, &strides, sizes, walked, by_origin))
        }
        Access::Computed { .. } => None,
    };
    program.loads.iter().map(|load| one(&load.access)).collect()
}

/// The stage of each node: that of the latest value it reads, or of the axes it depends on.
fn stages(nodes: &Nodes, strided: &[Option<Strided>], sizes: &[usize], walked: usize) -> Vec<u8> {
    let load_stage = |slot: u16| {
        let operand = strided[usize::from(slot)].as_ref().expect("a plain load is strided");
        match operand.steps.iter().zip(&sizes[walked..]).any(|(&stride, &size)| stride != 0 && size > 1) {
            true => 2,
            false if operand.is_uniform() => 0,
            false => 1,
        }
    };
    let mut stages: Vec<u8> = Vec::with_capacity(nodes.list.len());
    for &(node, _) in &nodes.list {
        stages.push(match node {
            Node::Word(Word::Load { slot, .. }) => load_stage(slot),
            Node::Shifted { slot, at } => load_stage(slot).max(stages[at.id as usize]),
            Node::Word(Word::Position) if walked == sizes.len() => 1,
            Node::Word(Word::Position) => 2,
            Node::Index(axis) | Node::LocalIndex(axis) if axis < walked => 1,
            Node::Index(_) | Node::LocalIndex(_) => 2,
            Node::Word(_) | Node::FloorDiv(..) | Node::FloorRem(..) | Node::Gather { .. } => {
                node.operands().iter().map(|val| stages[val.id as usize]).max().unwrap_or(0)
            }
        });
    }
    stages
}

/// What a node's step does; `none` is the value that stands for "no operand".
fn action(
    node: Node,
    lane: Lane,
    program: &LoopProgram,
    sizes: &[usize],
    walked: usize,
    vector: bool,
    none: usize,
) -> Action {
    let number = |val: Val| val.id as usize;
    let apply = |kernels: super::lanes::Table, given: &[Val]| {
        let mut operands = [none; 3];
        for (operand, &val) in operands.iter_mut().zip(given) {
            *operand = number(val);
        }
        Action::Apply { kernels: kernels.pick(vector), operands, used: (1 << given.len()) - 1, divides: None }
    };
    let dtype = |slot: u16| -> DType { program.loads[usize::from(slot)].dtype };
    let load = |slot: u16| {
        let (loader, size, slot) = (loader(dtype(slot)), dtype(slot).size(), usize::from(slot));
        Action::Load { slot, size, width: words::width(lane), loader, dense: loader.dense.pick(vector) }
    };
    match node {
        Node::Shifted { slot, at } => Action::Shifted { load: Box::new(load(slot)), at: number(at) },
        Node::Word(word) => match word {
            Word::Load { slot, .. } => load(slot),
            Word::Const { .. } | Word::Scalar(_) => unreachable!("a constant takes no step"),
            Word::Position => Action::Position,
            Word::Index(_) | Word::Gather { .. } => unreachable!("its position is written out"),
            Word::Place { index, size, from_end } => {
                Action::Place { index: number(index), size: i64::from(size), from_end }
            }
            Word::Unary(unary, a) => apply(words::unary(unary, a.lane), &[a]),
            Word::Binary(binary, a, b) => {
                let mut action = apply(words::binary(binary, a.lane), &[a, b]);
                if let Action::Apply { divides, .. } = &mut action {
                    let division = matches!(binary, Binary::DivS | Binary::RemS | Binary::DivU | Binary::RemU);
                    *divides = division.then_some(a.lane);
                }
                action
            }
            Word::Compare(compare, a, b) => apply(words::compare(compare, a.lane), &[a, b]),
            Word::Select(mask, a, b) => apply(words::select(lane), &[mask, a, b]),
            Word::Fma(a, b, c) => apply(words::fma(lane), &[a, b, c]),
            Word::Lookup { table, index, .. } => Action::Lookup { table, index: number(index) },
            Word::Rare { when, f, x, otherwise } => Action::Rare {
                when: number(when),
                f,
                x: number(x),
                otherwise: number(otherwise),
                width: words::width(lane),
            },
        },
        Node::Index(axis) if axis < walked => {
            let inner = sizes[axis + 1..walked].iter().product();
            Action::Index { size: sizes[axis], inner, first: axis == 0 && !program.outer.is_empty() }
        }
        Node::LocalIndex(axis) if axis < walked => {
            Action::Index { size: sizes[axis], inner: sizes[axis + 1..walked].iter().product(), first: false }
        }
        Node::Index(axis) | Node::LocalIndex(axis) => Action::StepIndex { axis: axis - walked },
        Node::FloorDiv(a, b) => apply(divide::quotient(), &[a, b]),
        Node::FloorRem(a, b) => apply(divide::remainder(), &[a, b]),
        Node::Gather { slot, position, valid } => Action::Gather {
            slot: usize::from(slot),
            loader: loader(dtype(slot)),
            position: number(position),
            valid: valid.map(number),
        },
    }
}
