//! Turns what a kernel has to do into pieces of code.

use super::asm::Width;
use super::combine::Combine;
use super::elements::Step;
use super::inst::{Form, Home, Id, Inst, NONE, Pieces, Target};
use super::op;
use super::select::{Piece, Select};
use crate::dtype::DType;
use crate::ops::vector::{Lane, Val, Word};

/// Everything that decides the code of a kernel, and nothing else: sizes and offsets are told when it is run.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Spec {
    /// The words, of which only those the result needs count.
    pub(super) words: Vec<(Word, Lane)>,
    pub(super) result: Val,
    pub(super) stored: DType,
    /// The operands that words load, by slot.
    pub(super) operands: Vec<Read>,
    /// How results lie along the row, [`Step::Uniform`] if there is only one; folds write them side by side.
    pub(super) output: Step,
    pub(super) kind: Kind,
    /// The registers: 256 bits or, for maps, 512.
    pub(super) full: Width,
}

/// How an operand is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Read {
    pub(super) dtype: DType,
    /// Along the row.
    pub(super) step: Step,
    /// It is another element at every step of a fold across, or in every stream of a fold along.
    pub(super) stepped: bool,
    /// So many bytes ahead lie elements to be fetched into the cache; 0 where there are none.
    pub(super) ahead: i32,
}

/// The most vectors of a row that a map makes at once, if there are registers for them.
pub(super) const MOST_VECTORS: u8 = 4;

/// Folds that keep NaN are written twice, once for numbers only, where there are no more instructions than these before them.
const FEW_INSTRUCTIONS: usize = 8;

/// What becomes of the values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Kind {
    /// They are stored; past the caches if they `stream`. No more than `most` vectors of a row are made at once.
    Map { stream: bool, most: u8 },
    /// They are stored past the caches, two vectors a row. Of one operand, whose rows lie `pitch` bytes apart, the columns are read. Two more pointers
    /// than for operands and the output are to rows that are fetched, one of either in turn.
    Turned { operand: u16, pitch: u16 },
    /// Those of a row are folded to one lane: a leaf in the order along. `identity` is the bits of a lane. If there are several
    /// `streams`, so many rows are folded at once, all of whole accumulators. Each may also be `kept`: stored to this operand, which is
    /// not read.
    Along { combine: Combine, identity: u64, streams: u8, kept: Option<u16> },
    /// Those of `steps` steps are folded into the accumulators of a row, lane by lane: some of a leaf in the order across. Rows that
    /// have `kept` elements, if that is not 0, keep their accumulators in registers from one to the next.
    Across { combine: Combine, steps: u8, kept: u16 },
}

/// A kernel's code before it has registers, and what its loops have to know.
pub(super) struct Built {
    pub(super) pieces: Pieces,
    /// The elements of a vector.
    pub(super) lanes: usize,
    /// Which of the words' operands are read at all, or written.
    pub(super) used: Vec<bool>,
    /// How the operands lie: those of the words, then the output (of lanes, for folds), then the accumulators of a fold, or what is fetched.
    pub(super) operands: Vec<Read>,
    /// The accumulator, or [`NONE`].
    pub(super) accumulator: Id,
    /// The lanes of the scalars that are read, by their numbers.
    pub(super) scalars: Vec<(u16, Lane)>,
    /// A row has one element, which the preamble makes and stores.
    pub(super) alone: bool,
}

/// The dtype that is its lane, bit for bit; a mask's accumulators are as wide as an `I32`.
pub(super) fn accumulator_dtype(lane: Lane) -> DType {
    match lane {
        Lane::Mask | Lane::I32 => DType::I32,
        Lane::I64 => DType::I64,
        Lane::F32 => DType::F32,
        Lane::F64 => DType::F64,
    }
}

/// The code of a kernel, or `None` where there are no instructions for one of its words.
pub(super) fn build(spec: &Spec) -> Option<Built> {
    let needed = needed(spec);
    let used = || spec.words.iter().zip(&needed).filter(|(_, needed)| **needed).map(|(word, _)| *word);
    let lanes = lanes_of(spec.full, used());
    if let Kind::Across { kept, .. } = spec.kind
        && (!usize::from(kept).is_multiple_of(lanes) || usize::from(kept) / lanes > most_kept(spec.full))
    {
        return None;
    }
    if let Kind::Turned { operand, .. } = spec.kind
        && !is_turned_well(spec, lanes, usize::from(operand))
    {
        return None;
    }
    let mut select = Select::new(spec.full, lanes, spec.words.len());
    let mut names = vec![NONE; spec.words.len()];
    let mut used_operands = vec![false; spec.operands.len()];
    for (at, &(word, lane)) in spec.words.iter().enumerate() {
        if !needed[at] {
            continue;
        }
        names[at] = match word {
            Word::Load { slot, dtype } => {
                let read = spec.operands[usize::from(slot)];
                used_operands[usize::from(slot)] = true;
                select.read(slot, dtype, read.step, read.stepped)
            }
            Word::Position if matches!(spec.kind, Kind::Across { .. } | Kind::Turned { .. }) => return None,
            Word::Index(_) | Word::Place { .. } | Word::Gather { .. } => return None,
            Word::Position => select.position(),
            word => select.word(word, lane, &|val: Val| names[val.id as usize])?,
        };
    }
    let result = names[spec.result.id as usize];

    let is_map = matches!(spec.kind, Kind::Map { .. });
    let alone = is_map && spec.output == Step::Uniform && select.pieces.body.is_empty();
    let along_row = if spec.output == Step::Uniform && !alone { Step::Dense } else { spec.output };
    let mut operands = spec.operands.clone();
    let dense = |dtype| Read { dtype, step: Step::Dense, stepped: false, ahead: 0 };
    let output = operands.len() as u16;
    let stepped = matches!(spec.kind, Kind::Along { streams: 2.., .. });
    operands.push(Read { dtype: spec.stored, step: along_row, stepped, ahead: 0 });
    let mut accumulator = NONE;
    if let Kind::Along { combine, kept: Some(kept), .. } = spec.kind {
        used_operands[usize::from(kept)] = true;
        select.write(kept, combine.stored, Step::Dense, result);
    }
    select.pieces.fold = select.pieces.body.len();
    match spec.kind {
        Kind::Map { .. } | Kind::Turned { .. } => {
            select.write(output, spec.stored, along_row, result);
            let streams = !matches!(spec.kind, Kind::Map { stream: false, .. });
            if streams && let Some(store) = select.pieces.body.last_mut().filter(|store| store.op == op::MOVUPS_STORE) {
                store.op = op::MOVNTPS_STORE;
            }
            if let Kind::Turned { operand, .. } = spec.kind {
                operands.extend([dense(spec.operands[usize::from(operand)].dtype); 2]);
            }
        }
        Kind::Along { combine, identity, kept, .. } => {
            let of = output + 1;
            operands.push(dense(accumulator_dtype(combine.lane())));
            let width = select.width(combine.lane());
            accumulator = select.at_home(Home::Element { operand: of, lane: 0 }, width, false);
            select.new_mask(accumulator, 32);
            select.clear_accumulators(combine, identity);
            let there = select.begin_tail(combine, identity, result);
            select.accumulate(combine, accumulator, there);
            select.piece = Piece::Body;
            select.accumulate(combine, accumulator, result);
            // What is stored on the way may be stored where it was read, which is not there a second time.
            if combine.keeps_nan() && kept.is_none() && select.pieces.fold <= FEW_INSTRUCTIONS {
                select.watch(combine, accumulator, result);
            }
            select.piece = Piece::After;
            select.store(Target::Operand { operand: of, lane: 0 }, op::MOVUPS_STORE, width, accumulator, None);
            select.fold_accumulators(combine, output);
        }
        Kind::Across { combine, .. } => {
            // The output is the accumulators.
            let dtype = accumulator_dtype(combine.lane());
            operands[usize::from(output)] = dense(dtype);
            accumulator = select.read(output, dtype, Step::Dense, false);
            select.accumulate(combine, accumulator, result);
            select.piece = Piece::After;
            select.write(output, dtype, Step::Dense, accumulator);
        }
    }
    if select.too_wide {
        return None;
    }
    let mut pieces = select.pieces;
    keep_invariants(&mut pieces, spec.full);
    let scalar = |(word, lane)| if let Word::Scalar(slot) = word { Some((slot, lane)) } else { None };
    let scalars = used().filter_map(scalar).collect();
    Some(Built { pieces, lanes, used: used_operands, operands, accumulator, scalars, alone })
}

/// Whether an operand can be turned in registers: elements fill vectors as they lie, results fill cache lines, and nothing is for one row only.
fn is_turned_well(spec: &Spec, lanes: usize, operand: usize) -> bool {
    let fills = |dtype: DType| dtype.size() * lanes == Width::Z.bytes();
    spec.full == Width::Z
        && fills(spec.operands[operand].dtype)
        && fills(spec.stored)
        && spec.output == Step::Dense
        && spec.operands.iter().all(|read| read.step == Step::Dense)
}

/// The elements of a vector, for such words.
pub(super) fn lanes_of(full: Width, mut words: impl Iterator<Item = (Word, Lane)>) -> usize {
    let is_wide = words.any(|(_, lane)| matches!(lane, Lane::I64 | Lane::F64));
    full.bytes() / if is_wide { 8 } else { 4 }
}

/// How many vectors of accumulators can be kept in registers: the others are for the words.
pub(super) fn most_kept(full: Width) -> usize {
    usize::from(full.registers()) / 2
}

/// Which words the result is made from.
fn needed(spec: &Spec) -> Vec<bool> {
    let mut needed = vec![false; spec.words.len()];
    needed[spec.result.id as usize] = true;
    for at in (0..needed.len()).rev() {
        if !needed[at] {
            continue;
        }
        let mut need = |val: Val| needed[val.id as usize] = true;
        match spec.words[at].0 {
            Word::Load { .. } | Word::Const { .. } | Word::Scalar(_) | Word::Position | Word::Index(_) => {}
            Word::Unary(_, a) | Word::Place { index: a, .. } | Word::Gather { at: a, .. } => need(a),
            Word::Lookup { index, .. } => need(index),
            Word::Binary(_, a, b) | Word::Compare(_, a, b) => [a, b].into_iter().for_each(need),
            Word::Select(a, b, c) | Word::Fma(a, b, c) => [a, b, c].into_iter().for_each(need),
            Word::Rare { when, x, otherwise, .. } => [when, x, otherwise].into_iter().for_each(need),
        }
    }
    needed
}

/// Gives a slot of the frame to every value that the preamble makes and other pieces read.
fn keep_invariants(pieces: &mut Pieces, full: Width) {
    let readers = pieces.body.iter().chain(&pieces.tail).chain(&pieces.after).chain(&pieces.finish);
    for id in readers.flat_map(|inst| inst.args).filter(|&id| id != NONE) {
        let value = &mut pieces.values[id as usize];
        if value.invariant && value.home == Home::None {
            value.home = Home::Slot(pieces.slots);
            pieces.slots += 1;
        }
    }
    let mut preamble = Vec::with_capacity(pieces.preamble.len() + pieces.slots as usize);
    for inst in pieces.preamble.drain(..) {
        preamble.push(inst);
        if inst.to != NONE
            && let Home::Slot(slot) = pieces.values[inst.to as usize].home
        {
            let (form, args) = (Form::Store(Target::Slot(slot)), [inst.to, NONE, NONE]);
            preamble.push(Inst { form, op: op::MOVUPS_STORE, width: full, to: NONE, args, immediate: None });
        }
    }
    pieces.preamble = preamble;
}
