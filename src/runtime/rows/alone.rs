//! Stages that make one element a row of another one, such as a mean of a sum: whoever reads them makes them on the spot.
//!
//! For a kernel that is one word or some before its loop; as a stage it would be a call, and numbers on their way through memory.

use super::{Preparing, RowProgram, map_reduce};
use crate::codegen;
use crate::graph::Node;
use std::ops::Range;

/// Rows of fewer elements are not worth making anything twice for.
const LONG: usize = 64;

/// Operand `slot` of stage `by` is what stage `made` would have made.
pub(super) struct Alone {
    made: usize,
    by: usize,
    slot: usize,
}

impl Preparing<'_, '_> {
    /// The programs of all stages. Those that are made on the spot ([`Preparing::is_alone`]) are not read by the others any more.
    pub(super) fn without_alone(&mut self, mut programs: Vec<RowProgram>) -> Vec<RowProgram> {
        // The interpreter would make it for every element.
        if !codegen::makes_machine_code() || self.hidden.is_some() {
            return programs;
        }
        for made in 0..programs.len() {
            for (alone, program) in self.made_by_readers(made, &programs).unwrap_or_default() {
                programs[alone.by] = program;
                self.alone.push(alone);
            }
        }
        programs
    }

    /// Who makes what a stage would, and their programs, if all that read it can.
    fn made_by_readers(&self, made: usize, programs: &[RowProgram]) -> Option<Vec<(Alone, RowProgram)>> {
        let (stages, node) = (&self.kernel.stages, &self.kernel.stages[made].node);
        if self.roles[made].is_some() || !programs[made].is_map() || self.prepare.is_whole(node, self.kernel) {
            return None;
        }
        let mut changed = Vec::new();
        for by in (made + 1..stages.len()).filter(|&by| stages[by].reads.contains(node)) {
            if self.roles[by].is_some() || programs[by].row_work() < LONG {
                return None;
            }
            let loads = map_reduce(&stages[by]).loads.iter().enumerate();
            let mut slots = loads.filter(|(_, load)| stages[by].reads[load.read] == *node).map(|(slot, _)| slot);
            let (Some(slot), None) = (slots.next(), slots.next()) else { return None };
            let program = programs[by].making(slot, &programs[made], self.scalar_count(by))?;
            changed.push((Alone { made, by, slot }, program));
        }
        Some(changed)
    }

    /// Whether a stage is made on the spot by all that read it.
    pub(super) fn is_alone(&self, at: usize) -> bool {
        self.alone.iter().any(|alone| alone.made == at)
    }

    /// The stage that would have made an operand of another.
    pub(super) fn made_for(&self, by: usize, slot: usize) -> Option<usize> {
        self.alone.iter().find(|alone| alone.by == by && alone.slot == slot).map(|alone| alone.made)
    }

    /// The stages that another makes on the spot.
    fn made_by(&self, by: usize) -> impl Iterator<Item = usize> {
        self.alone.iter().filter(move |alone| alone.by == by).map(|alone| alone.made)
    }

    /// What a stage reads, and what those read that it makes on the spot.
    pub(super) fn reads(&self, at: usize) -> impl Iterator<Item = &Node> {
        let stages = &self.kernel.stages;
        stages[at].reads.iter().chain(self.made_by(at).flat_map(|made| &stages[made].reads))
    }

    /// How many scalars a stage is told.
    fn scalar_count(&self, at: usize) -> usize {
        let stages = &self.kernel.stages;
        stages[at].scalars.len() + self.made_by(at).map(|made| stages[made].scalars.len()).sum::<usize>()
    }

    /// Tells each run to look up the scalars of a stage: its own, then those of what it makes on the spot.
    pub(super) fn scalars(&mut self, at: usize) -> Range<usize> {
        let made: Vec<usize> = self.made_by(at).collect();
        let mut all = self.prepare.scalars(&self.kernel.stages[at]);
        for made in made {
            all.end = self.prepare.scalars(&self.kernel.stages[made]).end;
        }
        all
    }
}
