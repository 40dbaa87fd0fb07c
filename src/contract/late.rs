//! Columns that are packed just before a tile wants them, or by its first rows as they read them.

use super::axes::Group;
use super::blocked::{Block, Worker};
use super::fetch::Fetch;
use super::kernel::{Cut, Kernel, Tile, Window};
use super::pack::Pieces;
use super::plan::Read;
use smallvec::SmallVec;
use std::ops::Range;

/// The columns of a tile.
pub(super) struct Late<'w, K: Kernel> {
    pub(super) columns: Columns<'w, K>,
    /// What will be packed next.
    pub(super) following: Fetch,
}

/// Where the columns of a tile are.
#[expect(clippy::large_enum_variant, reason = "it is made for every tile: a box would allocate each time")]
pub(super) enum Columns<'w, K: Kernel> {
    Packed,
    /// Side by side, at so many elements from depth to depth: the first rows keep what they read.
    Along(*const K::Acc, isize),
    /// In pieces, of which there is what a cut leaves, panel by panel: the first rows keep what they read.
    Pieces(SmallVec<[Panel<'w, K::Elem>; 3]>),
}

/// The pieces of a panel, and what a cut leaves of them.
type Panel<'w, E> = (Pieces<E>, Option<Cut<'w>>);

impl<K: Kernel> Worker<'_, K> {
    /// Notes where the depths of a block are, for columns that are read through windows.
    ///
    /// # Safety
    /// As for [`super::blocked::run`].
    pub(super) unsafe fn note_places(&self, batch: usize, depths: &Range<usize>) {
        let (operand, base, ..) = self.operand(false);
        let places = self.scratch_at::<isize>(self.scratch.places);
        // SAFETY: the scratch has room for the places of the longest block, and is this thread's own.
        let places = unsafe {
            places.write_bytes(0, depths.len());
            std::slice::from_raw_parts_mut(places, depths.len())
        };
        operand.at(batch, base).places(depths.clone(), places);
    }

    /// Packs some of the columns, counted from the first, for a tile, or leaves that to its first rows.
    ///
    /// # Safety
    /// As for [`super::blocked::run`]; `to` has room for whole panels.
    pub(super) unsafe fn pack_late(&self, all: &Block, cols: Range<usize>, to: *mut K::Acc) -> Late<'_, K> {
        let Block { batch, ref lines, ref depth, .. } = *all;
        let here = lines.start + cols.start..lines.start + cols.end;
        let late = match self.plan.right {
            Read::Through => self.windows(batch, &here, depth),
            _ => self.strided(all, &here),
        };
        if matches!(late.columns, Columns::Packed) {
            // SAFETY: the caller's promise.
            unsafe { self.pack_local(false, batch, here, depth.clone(), to) };
        }
        late
    }

    /// The columns of an operand that has one stride each for its columns and depths.
    fn strided(&self, all: &Block, here: &Range<usize>) -> Late<'_, K> {
        let Block { batch, ref lines, ref depth, .. } = *all;
        // The columns beside these, or else the first ones again at the next depths.
        let (first, depths) = match here.end < lines.end {
            true => (here.end, depth.clone()),
            false => (lines.start, depth.end..(depth.end + depth.len()).min(self.plan.depth.len)),
        };
        let (operand, base, source, _) = self.operand(false);
        let base = base.wrapping_offset(operand.offset + operand.batch.offset(batch));
        let stride = |group: &Group| group.uniform(&(0..group.len())).expect("one stride");
        let reads_on = K::KEEPS && source.is_none() && here.len() == K::COLS && stride(&operand.lines) == 1;
        let columns = match reads_on {
            true => {
                let place = operand.lines.offset(here.start) + operand.depth.offset(depth.start);
                Columns::Along(base.wrapping_offset(place).cast(), stride(&operand.depth))
            }
            false => Columns::Packed,
        };
        let next = first..(first + here.len()).min(lines.end);
        let following = match source {
            Some(_) => Fetch::default(),
            None => Fetch::new(base, (&operand.lines, next), (&operand.depth, depths)),
        };
        Late { columns, following }
    }

    /// The columns of an operand with windows.
    fn windows(&self, batch: usize, here: &Range<usize>, depth: &Range<usize>) -> Late<'_, K> {
        let (operand, base, source, _) = self.operand(false);
        let view = operand.at(batch, base);
        let panel = |first: usize| -> Option<Panel<'_, K::Elem>> {
            let lines = first..first + K::COLS;
            let cut = match &operand.border {
                Some(border) => border.table(&lines, K::COLS)?.cut_in_turn(&lines, depth.start)?,
                None => None,
            };
            Some((view.pieces(lines)?, cut))
        };
        let is_whole = source.is_none() && here.len().is_multiple_of(K::COLS);
        let panels = is_whole.then(|| here.clone().step_by(K::COLS).map(panel).collect()).flatten();
        let columns = panels.map_or(Columns::Packed, Columns::Pieces);
        // The machine fetches the next ones well enough by itself.
        Late { columns, following: Fetch::default() }
    }

    /// The places that have been noted for the present block of depth.
    fn places(&self, depths: usize) -> &[isize] {
        // SAFETY: they have been noted, and stay as they are until the next block.
        unsafe { std::slice::from_raw_parts(self.scratch_at::<isize>(self.scratch.places), depths) }
    }

    /// Lets the first rows of a tile keep the columns that they read, if those are not packed. Says whether the tile is done.
    ///
    /// # Safety
    /// As for [`super::blocked::run`]; the tile reads packed columns, which are to be written there first.
    pub(super) unsafe fn keep(
        &self,
        columns: &Columns<'_, K>,
        all: &Block,
        cols: Range<usize>,
        rows: usize,
        tile: &mut Tile<K::Acc>,
    ) -> bool {
        let to = tile.b.cast_mut();
        match columns {
            Columns::Packed => false,
            Columns::Along(from, depth) => {
                (tile.b, tile.b_depth, tile.keep) = (*from, *depth, to);
                false
            }
            Columns::Pieces(panels) => {
                let places = self.places(all.depth.len());
                let windows: SmallVec<[Window<'_, K::Elem>; 3]> =
                    panels.iter().map(|(pieces, cut)| Window { pieces, cut: *cut }).collect();
                tile.keep = to;
                // SAFETY: the caller's promise; the places of this block of depth have been noted, and elements are summed as they are.
                unsafe {
                    if K::tile_through(rows, tile, &windows, places) {
                        return true;
                    }
                    tile.keep = std::ptr::null_mut();
                    for (i, Window { pieces, cut }) in windows.iter().enumerate() {
                        let to = to.offset(i as isize * tile.b_panel);
                        if !K::pack_pieces(pieces, places, cut.as_ref(), to.cast()) {
                            let first = all.lines.start + cols.start + i * K::COLS;
                            self.pack_local(false, all.batch, first..first + K::COLS, all.depth.clone(), to);
                        }
                    }
                }
                false
            }
        }
    }
}
