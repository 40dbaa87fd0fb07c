//! Operands of contractions that are computed where they are packed: what they are made from is packed in small pieces, and a program runs
//! over the panels that come of it.

use super::contraction::side_of;
use super::prepared::{Prepare, Value};
use super::run::Space;
use crate::codegen::{self, Around, Call, Compiled};
use crate::contract::{Reader, Source, Wanted};
use crate::dtype::Literal;
use crate::lower;
use crate::lower::program::Access;
use crate::memory::ALIGN;
use crate::schedule::{Axes, Contraction, Producer, Work};
use smallvec::SmallVec;
use std::ops::Range;

/// The elements that are computed at a time, and the most lines of them: what is packed for that stays near.
const PIECE: usize = 1 << 12;
const MOST_LINES: usize = 1 << 9;

/// The lines of the widest panel.
const WIDEST: usize = 16;

/// An operand that is computed, ready to run.
pub(super) struct Folded {
    /// For one axis, along which everything lies side by side.
    compiled: Compiled,
    leaves: SmallVec<[Leaf; 4]>,
    scalars: Range<usize>,
    /// The bytes of an element of what is made.
    size: usize,
}

/// What an operand is computed from.
struct Leaf {
    value: Value,
    /// The bytes of an element.
    size: usize,
    way: Way,
}

enum Way {
    /// Every element of the operand takes the same one, which is so many bytes behind the first.
    Still(isize),
    /// In panels, at the place where the operand goes.
    Here(Reader),
    /// In panels of this thread's scratch, so many bytes behind its start.
    Aside(Reader, usize),
}

/// Where an operand stands in a contraction.
pub(super) struct Place<'a> {
    pub(super) space: &'a [usize],
    pub(super) roles: &'a Contraction,
    pub(super) lines: &'a Axes,
    /// The lines of a panel.
    pub(super) width: usize,
}

impl Folded {
    /// Makes a producer ready. It takes what it needs behind the `scratch` of a thread.
    pub(super) fn prepare(
        prepare: &mut Prepare<'_>,
        producer: &Producer,
        at: &Place<'_>,
        scratch: &mut usize,
    ) -> Folded {
        let Work::MapReduce(work) = &producer.stage.work else { unreachable!("a producer is a map") };
        let sizes = [&at.roles.batch, at.lines, &at.roles.depth]
            .map(|axes| axes.iter().map(|&axis| at.space[axis]).collect::<Vec<usize>>());
        let mut program = lower::lower(work);
        (program.outer, program.store) = (vec![PIECE], vec![1]);
        let mut leaves = SmallVec::<[Leaf; 4]>::new();
        for ((operand, load), view) in work.loads.iter().zip(&mut program.loads).zip(&producer.views) {
            let node = &producer.stage.reads[operand.read];
            let seen = view.bounded(Literal::zero(operand.dtype)).expect("checked when it was folded");
            let is_still =
                seen.bounds.is_empty() && (0..at.space.len()).all(|axis| at.space[axis] == 1 || !seen.follows(axis));
            load.access = Access::Strided { offset: 0, strides: vec![i64::from(!is_still)] };
            let size = operand.dtype.size();
            let side = side_of(&seen, at.roles, at.lines, node.len());
            let way = match is_still {
                true => Way::Still(side.offset as isize * size as isize),
                false => Way::Here(Reader::new(size, &side, [&sizes[0], &sizes[1], &sizes[2]], at.width)),
            };
            leaves.push(Leaf { value: prepare.read(node), size, way });
        }
        let compiled = codegen::compile_for(&program, Around::default());
        let size = work.dtype.size();
        let mut is_free = true;
        for leaf in &mut leaves {
            leaf.way = match std::mem::replace(&mut leaf.way, Way::Still(0)) {
                Way::Here(reader) if !is_free || leaf.size != size => {
                    let start = *scratch;
                    *scratch += (PIECE * leaf.size).next_multiple_of(ALIGN);
                    Way::Aside(reader, start)
                }
                way => {
                    is_free &= matches!(way, Way::Still(_));
                    way
                }
            };
        }
        Folded { compiled, leaves, scalars: prepare.scalars(&producer.stage), size }
    }

    /// What computes it.
    pub(super) fn compiled(&self) -> &Compiled {
        &self.compiled
    }

    /// The lines and depths of a piece.
    fn piece(&self, wanted: &Wanted) -> (usize, usize) {
        let is_along = self.leaves.iter().any(|leaf| match &leaf.way {
            Way::Still(_) => false,
            Way::Here(reader) | Way::Aside(reader, _) => reader.is_along(),
        });
        let whole = |number: usize, of: usize| (number / of).max(1) * of;
        let width = wanted.width;
        // Memory is read in long pieces.
        if is_along {
            let lines = wanted.lines.len().next_multiple_of(width).min(whole(MOST_LINES, width));
            (lines, whole(PIECE / lines, 8))
        } else {
            let depth = wanted.depth.len().min(PIECE / WIDEST);
            (whole(PIECE / depth, width), depth)
        }
    }
}

/// A thread that computes an operand.
pub(super) struct Filling<'a> {
    pub(super) folded: &'a Folded,
    pub(super) space: &'a Space,
    pub(super) thread: usize,
}

impl Source for Filling<'_> {
    unsafe fn fill(&self, wanted: &Wanted, to: *mut u8) {
        if wanted.lines.is_empty() || wanted.depth.is_empty() {
            return;
        }
        let (lines, depth) = self.folded.piece(wanted);
        for first in wanted.lines.clone().step_by(lines) {
            for start in wanted.depth.clone().step_by(depth) {
                let piece = Wanted {
                    lines: first..(first + lines).min(wanted.lines.end),
                    depth: start..(start + depth).min(wanted.depth.end),
                    ..*wanted
                };
                let panels = (first - wanted.lines.start) / wanted.width * wanted.panel;
                let at = panels + (start - wanted.depth.start) * wanted.width;
                // SAFETY: the caller's promise.
                unsafe { self.fill_piece(&piece, to.add(at * self.folded.size)) }
            }
        }
    }
}

impl Filling<'_> {
    /// # Safety
    /// As for [`Source::fill`], with at most [`PIECE`] elements.
    unsafe fn fill_piece(&self, piece: &Wanted, to: *mut u8) {
        let Folded { compiled, leaves, scalars, size } = self.folded;
        let (panels, len) = (piece.lines.len().div_ceil(piece.width), piece.depth.len() * piece.width);
        let mut loads = SmallVec::<[*const u8; 4]>::new();
        let mut steps = SmallVec::<[i64; 5]>::new();
        for leaf in leaves {
            let base = self.space.pointer(leaf.value).cast_const();
            // SAFETY: the leaf's view stays within its buffer; the panels have room for the piece.
            let (load, panel) = unsafe {
                match &leaf.way {
                    Way::Still(offset) => (base.offset(*offset), 0),
                    Way::Here(reader) => {
                        reader.read(base, piece, to);
                        (to.cast_const(), piece.panel)
                    }
                    Way::Aside(reader, start) => {
                        let aside = self.space.scratch(self.thread).add(*start);
                        reader.read(base, &Wanted { panel: len, ..piece.clone() }, aside);
                        (aside.cast_const(), len)
                    }
                }
            };
            loads.push(load);
            steps.push((panel * leaf.size) as i64);
        }
        steps.push((piece.panel * size) as i64);
        let call = Call { loads: &loads, scalars: self.space.scalars(scalars), out: to, origin: 0 };
        // SAFETY: all panels have so many elements, which were just read; the output is the caller's.
        let done = unsafe { compiled.run_rows([panels, len], &steps, &call) };
        assert!(done.is_ok(), "checked when it was folded: nothing of a producer can fail");
    }
}
