//! The words of a loop program, with index arithmetic written out: what the interpreter's code is made from.
//!
//! An operand read through index expressions becomes words too: its position and its guards are computed on `I64`
//! and mask lanes like everything else, and a gather reads what they say. Equal nodes are made once.

use crate::dtype::Literal;
use crate::lower::program::{Access, Guard, LoopProgram};
use crate::ops::vector::QuickMap;
use crate::ops::vector::{Binary, Compare, Emit, Lane, Unary, Val, Word};
use crate::shape::Expr;

/// One value, computed for every lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Node {
    /// A word; a `Load` is of a strided operand.
    Word(Word),
    /// The index along an axis.
    Index(usize),
    /// The index along an axis, from where the operands' pointers are.
    LocalIndex(usize),
    /// The quotient and the remainder of index expressions (see [`Expr`]); 0 by a zero divisor.
    FloorDiv(Val, Val),
    FloorRem(Val, Val),
    /// The element of operand `slot` at `position`, or 0 where `valid` is not set.
    Gather {
        slot: u16,
        position: Val,
        valid: Option<Val>,
    },
    /// The element of a strided operand so many elements behind the one a load would give; the distance changes seldom.
    Shifted {
        slot: u16,
        at: Val,
    },
}

impl Node {
    /// The values a node reads.
    pub(super) fn operands(&self) -> Vec<Val> {
        match *self {
            Node::Word(Word::Load { .. } | Word::Const { .. } | Word::Scalar(_) | Word::Position | Word::Index(_))
            | Node::Index(_)
            | Node::LocalIndex(_) => vec![],
            Node::Word(Word::Unary(_, a) | Word::Place { index: a, .. } | Word::Gather { at: a, .. }) => vec![a],
            Node::Word(Word::Binary(_, a, b) | Word::Compare(_, a, b)) => vec![a, b],
            Node::Word(Word::Select(a, b, c) | Word::Fma(a, b, c)) => vec![a, b, c],
            Node::Word(Word::Lookup { index, .. }) => vec![index],
            Node::Word(Word::Rare { when, x, otherwise, .. }) => vec![when, x, otherwise],
            Node::FloorDiv(a, b) | Node::FloorRem(a, b) => vec![a, b],
            Node::Shifted { at, .. } => vec![at],
            Node::Gather { position, valid, .. } => [position].into_iter().chain(valid).collect(),
        }
    }
}

/// The nodes of a program, each after those it reads.
#[derive(Default)]
pub(super) struct Nodes {
    pub(super) list: Vec<(Node, Lane)>,
    known: QuickMap<(Node, Lane), Val>,
    expressions: QuickMap<*const Expr, Val>,
}

impl Nodes {
    /// The nodes that `result` needs, and the result among them.
    pub(super) fn of(program: &LoopProgram) -> (Nodes, Val) {
        let needed = needed(program);
        let mut nodes = Nodes::default();
        let mut names: Vec<Option<Val>> = vec![None; program.words.len()];
        for (at, &(word, lane)) in program.words.iter().enumerate() {
            if needed[at] {
                let name = |val: Val| names[val.id as usize].expect("a word reads earlier words");
                let val = nodes.word(program, word.of(name), lane);
                names[at] = Some(val);
            }
        }
        let result = names[program.result.id as usize].expect("the result is needed");
        (nodes, result)
    }

    fn node(&mut self, node: Node, lane: Lane) -> Val {
        let fresh = Val { id: self.list.len() as u32, lane };
        let val = *self.known.entry((node, lane)).or_insert(fresh);
        if val == fresh {
            self.list.push((node, lane));
        }
        val
    }

    fn word(&mut self, program: &LoopProgram, word: Word, lane: Lane) -> Val {
        if let Word::Load { slot, dtype } = word {
            let load = &program.loads[usize::from(slot)];
            debug_assert_eq!(load.dtype, dtype, "a word loads its operand's dtype");
            if let Access::Computed { position, guards } = &load.access {
                let rank = program.outer.len() + program.reduced.len();
                if !guards.is_empty() || affine(position, rank).is_none() {
                    return self.computed(slot, lane, position, guards);
                }
            }
        }
        if let Word::Gather { slot, at, .. } = word {
            return self.gathered(program, slot, lane, at);
        }
        if let Word::Index(which) = word {
            let value = &program.indices[usize::from(which)];
            return if lane == Lane::Mask { self.truth(value) } else { self.integer(value) };
        }
        self.node(Node::Word(word), lane)
    }

    /// A load some elements behind the access of its operand.
    fn gathered(&mut self, program: &LoopProgram, slot: u16, lane: Lane, at: Val) -> Val {
        // Rows of a table: neighbouring elements lie side by side, and only from row to row they lie elsewhere.
        if program.reduced.is_empty() && !self.varies(program, at) {
            let is_strided = match &program.loads[usize::from(slot)].access {
                Access::Strided { .. } => true,
                Access::Computed { position, .. } => affine(position, program.outer.len()).is_some(),
            };
            if is_strided {
                return self.node(Node::Shifted { slot, at }, lane);
            }
        }
        let position = match &program.loads[usize::from(slot)].access {
            Access::Strided { offset, strides } => {
                let mut position = self.number(*offset);
                for (axis, &stride) in strides.iter().enumerate().filter(|(_, stride)| **stride != 0) {
                    let (index, stride) = (self.node(Node::LocalIndex(axis), Lane::I64), self.number(stride));
                    let along = self.node(Node::Word(Word::Binary(Binary::Mul, index, stride)), Lane::I64);
                    position = self.node(Node::Word(Word::Binary(Binary::Add, position, along)), Lane::I64);
                }
                position
            }
            Access::Computed { position, guards } => {
                debug_assert!(guards.is_empty(), "what is gathered is not guarded");
                self.integer(position)
            }
        };
        let position = self.node(Node::Word(Word::Binary(Binary::Add, position, at)), Lane::I64);
        self.node(Node::Gather { slot, position, valid: None }, lane)
    }

    /// Whether a value changes along the last axis.
    fn varies(&self, program: &LoopProgram, val: Val) -> bool {
        let Some(last) = (0..program.outer.len()).rev().find(|&axis| program.outer[axis] > 1) else { return false };
        match self.list[val.id as usize].0 {
            Node::Word(Word::Load { slot, .. }) => match &program.loads[usize::from(slot)].access {
                Access::Strided { strides, .. } => strides[last] != 0,
                Access::Computed { position, .. } => {
                    affine(position, program.outer.len()).is_none_or(|(_, strides)| strides[last] != 0)
                }
            },
            Node::Word(Word::Const { .. } | Word::Scalar(_)) => false,
            Node::Word(Word::Place { index, .. }) => self.varies(program, index),
            Node::Word(Word::Binary(_, a, b)) => self.varies(program, a) || self.varies(program, b),
            Node::Index(axis) | Node::LocalIndex(axis) => axis == last,
            _ => true,
        }
    }

    /// A load through index expressions.
    fn computed(&mut self, slot: u16, lane: Lane, position: &Expr, guards: &[Guard]) -> Val {
        let position = self.integer(position);
        let conditions: Vec<Val> = guards.iter().map(|guard| self.truth(&guard.condition)).collect();
        let both = |nodes: &mut Nodes, a, b| nodes.node(Node::Word(Word::Binary(Binary::And, a, b)), Lane::Mask);
        let valid = conditions.iter().copied().reduce(|a, b| both(self, a, b));
        let mut value = self.node(Node::Gather { slot, position, valid }, lane);
        // The first guard that fails has the last word. A gather gives 0 where any fails: often that is the default.
        let defaults: Vec<u64> = guards.iter().map(|guard| lane_bits(guard.default)).collect();
        if defaults.iter().any(|&bits| bits != 0) {
            for (&condition, &bits) in conditions.iter().zip(&defaults).rev() {
                let default = self.node(Node::Word(Word::Const { lane, bits }), lane);
                value = self.node(Node::Word(Word::Select(condition, value, default)), lane);
            }
        }
        value
    }

    /// An index expression as an `I64` value.
    fn integer(&mut self, expr: &Expr) -> Val {
        if let Some(&known) = self.expressions.get(&std::ptr::from_ref(expr)) {
            return known;
        }
        let binary = |nodes: &mut Nodes, word, a: &Expr, b: &Expr| {
            let (a, b) = (nodes.integer(a), nodes.integer(b));
            nodes.node(Node::Word(Word::Binary(word, a, b)), Lane::I64)
        };
        let val = match expr {
            Expr::Const(value) => self.number(*value),
            Expr::Idx(axis) => self.node(Node::Index(*axis), Lane::I64),
            Expr::Add(a, b) => binary(self, Binary::Add, a, b),
            Expr::Sub(a, b) => binary(self, Binary::Sub, a, b),
            Expr::Mul(a, b) => binary(self, Binary::Mul, a, b),
            Expr::Div(a, b) => {
                let (a, b) = (self.integer(a), self.integer(b));
                self.node(Node::FloorDiv(a, b), Lane::I64)
            }
            Expr::Rem(a, b) => {
                let (a, b) = (self.integer(a), self.integer(b));
                self.node(Node::FloorRem(a, b), Lane::I64)
            }
            Expr::Lt(..) | Expr::Not(_) | Expr::And(..) => {
                let (truth, one, zero) = (self.truth(expr), self.number(1), self.number(0));
                self.node(Node::Word(Word::Select(truth, one, zero)), Lane::I64)
            }
        };
        self.expressions.insert(expr, val);
        val
    }

    /// Whether an index expression is not 0, as a mask.
    fn truth(&mut self, expr: &Expr) -> Val {
        let word = match expr {
            Expr::Lt(a, b) => Word::Compare(Compare::Lt, self.integer(a), self.integer(b)),
            Expr::Not(a) => Word::Unary(Unary::Not, self.truth(a)),
            Expr::And(a, b) => Word::Binary(Binary::And, self.truth(a), self.truth(b)),
            Expr::Const(_)
            | Expr::Idx(_)
            | Expr::Add(..)
            | Expr::Sub(..)
            | Expr::Mul(..)
            | Expr::Div(..)
            | Expr::Rem(..) => Word::Compare(Compare::Ne, self.integer(expr), self.number(0)),
        };
        self.node(Node::Word(word), Lane::Mask)
    }

    fn number(&mut self, value: i64) -> Val {
        self.node(Node::Word(Word::Const { lane: Lane::I64, bits: value as u64 }), Lane::I64)
    }
}

/// A position without divisions or conditions, as an offset and one stride per axis.
pub(in crate::codegen) fn affine(expr: &Expr, rank: usize) -> Option<(i64, Vec<i64>)> {
    let both = |a: &Expr, b: &Expr, sign: i64| {
        let ((mut offset, mut strides), (other, others)) = (affine(a, rank)?, affine(b, rank)?);
        offset = offset.wrapping_add(sign.wrapping_mul(other));
        for (stride, other) in strides.iter_mut().zip(others) {
            *stride = stride.wrapping_add(sign.wrapping_mul(other));
        }
        Some((offset, strides))
    };
    match expr {
        Expr::Const(value) => Some((*value, vec![0; rank])),
        Expr::Idx(axis) => Some((0, (0..rank).map(|k| i64::from(k == *axis)).collect())),
        Expr::Add(a, b) => both(a, b, 1),
        Expr::Sub(a, b) => both(a, b, -1),
        Expr::Mul(a, b) => {
            let ((offset, strides), (other, others)) = (affine(a, rank)?, affine(b, rank)?);
            let is_constant = |strides: &[i64]| strides.iter().all(|&stride| stride == 0);
            let (factor, offset, strides) = match (is_constant(&strides), is_constant(&others)) {
                (_, true) => (other, offset, strides),
                (true, false) => (offset, other, others),
                (false, false) => return None,
            };
            Some((offset.wrapping_mul(factor), strides.iter().map(|s| s.wrapping_mul(factor)).collect()))
        }
        Expr::Div(..) | Expr::Rem(..) | Expr::Lt(..) | Expr::Not(_) | Expr::And(..) => None,
    }
}

/// A literal's bits in its lane.
pub(in crate::codegen) fn lane_bits(literal: Literal) -> u64 {
    let mut emit = Emit::new();
    emit.literal(literal);
    match emit.finish()[..] {
        [(Word::Const { bits, .. }, _)] => bits,
        _ => unreachable!("a literal is one constant"),
    }
}

/// Which words the result is made from.
fn needed(program: &LoopProgram) -> Vec<bool> {
    let mut needed = vec![false; program.words.len()];
    needed[program.result.id as usize] = true;
    for at in (0..program.words.len()).rev() {
        if needed[at] {
            for operand in Node::Word(program.words[at].0).operands() {
                needed[operand.id as usize] = true;
            }
        }
    }
    needed
}
