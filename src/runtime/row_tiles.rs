//! How the rows of a kernel are cut into tiles, and tiles into parts: by shape alone.

use crate::lower::RowProgram;
use crate::schedule::{Contraction, Hidden};
use std::ops::Range;

/// The most pieces of work.
const MOST_PARTS: usize = 64;

/// The least tiles of a part, unless they are large: it takes some time to begin one.
const LEAST_TILES: usize = 16;

/// About so many elements of a stage are computed before the next stage takes over: what lies between them fits into the L1 cache, and memory,
/// which some stages keep waiting and some keep busy, is in use nearly all the time.
const TILE: usize = 1 << 10;

/// The same where rows lie side by side, and the least and the most rows of a tile: whole cache lines are read, and the next stage reads them again
/// from the L2 cache.
const SIDE_BY_SIDE: usize = 1 << 16;
const ROWS_SIDE_BY_SIDE: [usize; 2] = [128, 512];

/// Nor are there more rows than have so many elements between stages, but for those of one cache line: each thread has memory for them.
const MOST_BETWEEN: usize = 1 << 20;
const ROWS_OF_A_LINE: usize = 16;

/// The same where there are products: what lies between stages fits into the L2 cache.
const PRODUCT_TILE: usize = 1 << 16;

/// The most rows of a tile where there are products: enough to be worth reading the packed operand for, and a multiple of what kernels take
/// at once.
const PRODUCT_ROWS: usize = 96;

/// Where columns are left out, tiles of fewer rows leave out more: so many tiles are about right, and so many rows the least and the most.
const HIDING_TILES: usize = 16;
const HIDING_ROWS: [usize; 2] = [32, 64];

/// So many elements are one tile.
const SMALL: usize = 1 << 13;

/// Groups of rows that share packed operands are cut up until there are so many pieces.
const ENOUGH_PIECES: usize = 16;

/// Rows in groups, and each group in tiles.
pub(super) struct Tiles {
    /// The groups: so many rows at a time lie alike, and no tile goes beyond them.
    groups: usize,
    even: usize,
    /// The rows of a tile.
    tile: usize,
    /// The least tiles of a part.
    least: usize,
    /// Tiles that differ, and which of them each tile of a group is.
    pub(super) kinds: Vec<Kind>,
    kind_of: Vec<usize>,
}

/// What tiles of one kind have in common.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Kind {
    pub(super) rows: usize,
    /// The columns that some row sees, if others are left out.
    pub(super) seen: Option<Range<usize>>,
}

/// One tile.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tile {
    /// Its first row, among all.
    pub(super) row: usize,
    /// Its place in [`Tiles::kinds`].
    pub(super) kind: usize,
}

impl Tiles {
    /// Cuts groups of `even` rows into tiles; see [`sizes_of_tiles`].
    pub(super) fn new(rows: usize, even: usize, [tile, least]: [usize; 2], hidden: Option<&Hidden>) -> Tiles {
        let mut kinds: Vec<Kind> = Vec::new();
        let of = |first: usize| {
            let rows = first..(first + tile).min(even);
            let kind = Kind { rows: rows.len(), seen: hidden.map(|hidden| hidden.seen_by(rows)) };
            kinds.iter().position(|known| *known == kind).unwrap_or_else(|| {
                kinds.push(kind);
                kinds.len() - 1
            })
        };
        let kind_of = (0..even).step_by(tile).map(of).collect();
        Tiles { groups: rows / even.max(1), even, tile, least, kinds, kind_of }
    }

    /// A tile, by its number among all.
    pub(super) fn tile(&self, index: usize) -> Tile {
        let (group, place) = (index / self.kind_of.len(), index % self.kind_of.len());
        Tile { row: group * self.even + place * self.tile, kind: self.kind_of[place] }
    }

    /// The rows of a whole tile.
    pub(super) fn step(&self) -> usize {
        self.tile
    }

    /// The tiles of a range, by their numbers, each with the first row of the one after it, if that is of the same group.
    pub(super) fn each(&self, range: Range<usize>) -> impl Iterator<Item = (Tile, Option<usize>)> {
        let count = self.kind_of.len().max(1);
        let (mut place, mut first) = (range.start % count, range.start / count * self.even);
        range.map(move |_| {
            let tile = Tile { row: first + place * self.tile, kind: self.kind_of[place] };
            place += 1;
            if place < count {
                return (tile, Some(tile.row + self.tile));
            }
            (place, first) = (0, first + self.even);
            (tile, None)
        })
    }

    /// The numbers of the tiles of each part. Where operands stay packed for a group, parts begin and end with groups, unless those are few.
    pub(super) fn parts(&self, is_packed: bool) -> impl Fn(usize) -> Range<usize> + Sync + use<> {
        let (of_group, groups) = (self.kind_of.len(), self.groups);
        let pieces = if is_packed { ENOUGH_PIECES.div_ceil(groups.max(1)).min(of_group) } else { of_group };
        let parts = self.part_count(is_packed);
        let start = move |part: usize| {
            let piece = groups * pieces * part / parts;
            piece / pieces * of_group + of_group * (piece % pieces) / pieces
        };
        move |part| start(part)..start(part + 1)
    }

    /// How many parts there are.
    pub(super) fn part_count(&self, is_packed: bool) -> usize {
        let of_group = self.kind_of.len();
        let count = if is_packed {
            self.groups * ENOUGH_PIECES.div_ceil(self.groups.max(1)).min(of_group)
        } else {
            (self.groups * of_group).div_ceil(self.least)
        };
        count.clamp(1, MOST_PARTS)
    }
}

/// The rows of a tile of some stages that make so many, and the least tiles of a part. `hiding` has the rows of a group of which columns are left
/// out.
pub(super) fn sizes_of_tiles(
    programs: &[RowProgram],
    roles: &[Option<Contraction>],
    rows: usize,
    hiding: Option<usize>,
) -> [usize; 2] {
    let stages = || programs.iter().zip(roles);
    let work = stages().map(|(program, role)| if role.is_some() { program.row_len() } else { program.row_work() });
    let work = work.max().unwrap_or(1).max(1);
    if rows * work <= SMALL {
        return [rows.max(1), LEAST_TILES];
    }
    // Large tensors are cut into enough tiles to keep several threads busy.
    let enough = rows.div_ceil(16);
    let has_product = roles.iter().any(Option::is_some);
    let most = match (has_product, hiding) {
        (true, Some(group)) => {
            let [least, most] = HIDING_ROWS;
            let rows = (group / HIDING_TILES).next_multiple_of(least / 2).clamp(least, most);
            (4 * PRODUCT_TILE / work).min(rows)
        }
        (true, None) => (PRODUCT_TILE / work).min(PRODUCT_ROWS),
        (false, _) if programs.iter().any(RowProgram::has_rows_side_by_side) => {
            let between = programs.iter().map(RowProgram::row_len).max().unwrap_or(1).max(1);
            let [least, most] = ROWS_SIDE_BY_SIDE.map(|rows| rows.min(MOST_BETWEEN / between).max(ROWS_OF_A_LINE));
            return [(SIDE_BY_SIDE / work).min(enough).clamp(least, most).min(rows), 1];
        }
        (false, _) => TILE / work,
    };
    [most.clamp(1, enough), LEAST_TILES]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dtype::DType;
    use crate::lower::program::{Access, Fold, Load, LoopProgram, dense};
    use crate::ops::vector::Emit;

    /// Rows of so many elements, read at such strides, that become one each or are stored.
    fn rows_of(rows: usize, elements: usize, strides: [i64; 2], fold: Option<Fold>) -> RowProgram {
        let mut e = Emit::new();
        let result = e.load(0, DType::F32);
        let access = Access::Strided { offset: 0, strides: strides.to_vec() };
        let sizes = [rows, elements];
        let (outer, reduced) = sizes.split_at(if fold.is_some() { 1 } else { 2 });
        let program = LoopProgram {
            outer: outer.to_vec(),
            store: dense(outer),
            reduced: reduced.to_vec(),
            loads: vec![Load { dtype: DType::F32, access }],
            indices: vec![],
            words: e.finish(),
            result,
            fold,
            stored: DType::F32,
        };
        RowProgram::new(program, 1)
    }

    #[test]
    fn long_rows_that_are_stored_are_fewer_at_a_time() {
        let sizes = |rows: usize, elements: usize| {
            let strides = [1, rows as i64];
            sizes_of_tiles(
                &[Some(Fold::Sum), None].map(|fold| rows_of(rows, elements, strides, fold)),
                &[None, None],
                rows,
                None,
            )
        };
        assert_eq!(sizes(4096, 1024), [128, 1]);
        assert_eq!(sizes(4096, 16_384), [64, 1]);
        assert_eq!(sizes(512, 65_536), [16, 1]);
    }

    #[test]
    fn rows_that_lie_side_by_side_are_run_many_at_a_time() {
        let sizes = |rows: usize, elements: usize, strides| {
            sizes_of_tiles(&[rows_of(rows, elements, strides, Some(Fold::Sum))], &[None], rows, None)
        };
        // One after the other; side by side, as columns are, or every other one of those; each on lines of its own.
        assert_eq!(sizes(4096, 1024, [1024, 1]), [1, LEAST_TILES]);
        assert_eq!(sizes(4096, 1024, [1, 4096]), [128, 1]);
        assert_eq!(sizes(4096, 128, [2, 8192]), [256, 1]);
        assert_eq!(sizes(4096, 1024, [16, 65536]), [1, LEAST_TILES]);
        // Rows of elements that are as near as the rows are.
        assert_eq!(sizes(4096, 64, [1, 1]), [16, LEAST_TILES]);
        // Few of them, and next to nothing.
        assert_eq!(sizes(40, 1024, [1, 40]), [40, 1]);
        assert_eq!(sizes(40, 40, [1, 40]), [40, LEAST_TILES]);
    }

    #[test]
    fn every_tile_is_in_one_part_and_every_row_in_one_tile() {
        for (rows, even, tile) in
            [(4096, 512, 48), (64, 64, 64), (7, 1, 1), (3000, 3000, 7), (100, 100, 48), (2000, 20, 6)]
        {
            for is_packed in [false, true] {
                let tiles = Tiles::new(rows, even, [tile, LEAST_TILES], None);
                let parts = tiles.parts(is_packed);
                let (mut next_tile, mut next_row) = (0, 0);
                for part in 0..tiles.part_count(is_packed) {
                    let range = parts(part);
                    assert_eq!(range.start, next_tile);
                    next_tile = range.end;
                    for (index, (Tile { row, kind }, after)) in range.clone().zip(tiles.each(range)) {
                        assert_eq!((row, kind), (tiles.tile(index).row, tiles.tile(index).kind));
                        assert_eq!(row, next_row);
                        next_row += tiles.kinds[kind].rows;
                        assert_eq!(after, (next_row % even != 0).then_some(next_row));
                    }
                }
                assert_eq!(next_row, rows, "{rows} {even} {tile} {is_packed}");
            }
        }
    }
}
