//! A map and the fold of what it stores, run as one: each element is folded while it is at hand.

use super::{Inside, Kind, Part, Preparing, RowProgram, RowStage, Runner, TileProgram, map_reduce};
use crate::codegen::{self, Around};
use crate::lower;
use crate::runtime::fetch::Early;
use smallvec::SmallVec;

impl Preparing<'_, '_> {
    /// Stage `at` and the next one as one, if the next is the fold of what the first stores and machine code does both; `None`, with nothing
    /// done, where they had better run one after the other. `next` says what the first fetches as it goes.
    pub(super) fn kept(
        &mut self,
        at: usize,
        map: &RowProgram,
        fold: &RowProgram,
        next: &[i64],
        inside: &mut Vec<Inside>,
    ) -> Option<RowStage> {
        let [first, second] = [&self.kernel.stages[at], &self.kernel.stages[at + 1]];
        // A map that turns what it reads goes tile by tile, which no fold can follow.
        if map.has_rows_side_by_side() {
            return None;
        }
        if self.roles[at].is_some() || self.roles[at + 1].is_some() || !second.reads.contains(&first.node) {
            return None;
        }
        let both = map.folded_by(fold)?;
        let [kept_pitch, out_pitch] = [self.pitch(at, map), self.pitch(at + 1, fold)];
        let [kept, out] = [kept_pitch, out_pitch].map(|pitch| pitch.map(|pitch| pitch as i64));
        let (mut loads, mut pitches) = self.operands(at, inside);
        pitches.push(kept);
        let tile = TileProgram { program: &both, pitches: &pitches, pitch: out };
        let plain = TileProgram { program: fold, pitches: &[kept], pitch: out };
        let (runners, of_kind) = self.keeping(at, &tile, &plain, next)?;

        loads.push(self.output(at, at, kept_pitch, inside));
        // The sums of a tile's first rows are written before its last rows are read.
        let out = self.output(at + 1, at, out_pitch, inside);
        let last = self.kernel.stages.len() - 1;
        Some(RowStage {
            frame: self.reserve(runners[0].repeated_bytes(), 0, last),
            moving: super::moving(&loads, &both),
            runners,
            of_kind,
            strip: None,
            rows: both,
            loads,
            scalars: self.scalars(at),
            out,
            size: map_reduce(second).dtype.size(),
            node: self.prepare.number(&second.node),
            early: Early::default(),
        })
    }

    /// What runs both on tiles of each kind, if machine code does.
    fn keeping(
        &self,
        at: usize,
        tile: &TileProgram<'_>,
        plain: &TileProgram<'_>,
        next: &[i64],
    ) -> Option<(Vec<Runner>, Vec<usize>)> {
        let axes = self.hidden.as_ref().map(|hidden| [hidden.axes[at], hidden.axes[at + 1]]);
        // Both leave out the same columns, or neither any.
        let axis = match axes {
            Some([Some(_), Some(axis)]) => Some(lower::loop_of(map_reduce(&self.kernel.stages[at + 1]), axis)),
            Some([None, None]) | None => None,
            Some(_) => return None,
        };
        let mut known: SmallVec<[(usize, Option<Part>); 4]> = SmallVec::new();
        let mut runners = Vec::new();
        let mut of_kind = Vec::with_capacity(self.tiles.kinds.len());
        for Kind { rows, seen } in &self.tiles.kinds {
            let wanted = (*rows, axis.zip(seen.clone()).map(|(axis, range)| Part { axis, range }));
            let place = match known.iter().position(|known| *known == wanted) {
                Some(place) => place,
                None => {
                    let (program, plain) = (tile.of(*rows, wanted.1.as_ref()), plain.of(*rows, wanted.1.as_ref()));
                    let around = Around { next, ..Around::default() };
                    runners.push(Runner::Code(codegen::compile_keeping(&program, &plain, around)?, 0));
                    known.push(wanted);
                    runners.len() - 1
                }
            };
            of_kind.push(place);
        }
        Some((runners, of_kind))
    }
}
