//! How the rows of a kernel are cut into tiles, and tiles into parts: by shape alone.

use crate::schedule::Hidden;
use std::ops::Range;

/// The most pieces of work.
const MOST_PARTS: usize = 64;

/// The least tiles of a part: it takes some time to begin one.
const LEAST_TILES: usize = 16;

/// Groups of rows that share packed operands are cut up until there are so many pieces.
const ENOUGH_PIECES: usize = 16;

/// Rows in groups, and each group in tiles.
pub(super) struct Tiles {
    /// The groups: so many rows at a time lie alike, and no tile goes beyond them.
    groups: usize,
    even: usize,
    /// The rows of a tile.
    tile: usize,
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
    /// Cuts groups of `even` rows into tiles.
    pub(super) fn new(rows: usize, even: usize, tile: usize, hidden: Option<&Hidden>) -> Tiles {
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
        Tiles { groups: rows / even.max(1), even, tile, kinds, kind_of }
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
            (self.groups * of_group).div_ceil(LEAST_TILES)
        };
        count.clamp(1, MOST_PARTS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_tile_is_in_one_part_and_every_row_in_one_tile() {
        for (rows, even, tile) in
            [(4096, 512, 48), (64, 64, 64), (7, 1, 1), (3000, 3000, 7), (100, 100, 48), (2000, 20, 6)]
        {
            for is_packed in [false, true] {
                let tiles = Tiles::new(rows, even, tile, None);
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
