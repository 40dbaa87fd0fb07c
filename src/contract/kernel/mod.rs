//! The innermost loops: the sums of one small tile, kept in registers.
//!
//! A kernel is an element type on a kind of machine. Elements are widened to the type they are summed in when they are
//! packed: 16-bit floats to `f32`, narrow integers to `u32` (what is cut off again does not depend on the sign).

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx2_pack;
#[cfg(target_arch = "x86_64")]
mod avx2_pieces;
#[cfg(target_arch = "x86_64")]
mod avx2_through;
#[cfg(target_arch = "x86_64")]
mod avx2_vector;
#[cfg(target_arch = "x86_64")]
mod avx512;
#[cfg(target_arch = "x86_64")]
mod avx512_through;
mod element;
mod plain;

#[cfg(target_arch = "x86_64")]
pub(super) use avx2::Avx2;
#[cfg(target_arch = "x86_64")]
pub(super) use avx512::Avx512;
pub(super) use element::{Element, Number};
pub(super) use plain::Plain;

/// One tile: `c[r][j] = Σ_k a[r][k]·b[k][j]`, or `c += ` that sum.
pub(super) struct Tile<A> {
    pub(super) depth: usize,
    pub(super) a: *const A,
    /// From one row of `a` to the next, and from one of its depths to the next.
    pub(super) a_row: isize,
    pub(super) a_depth: isize,
    /// The columns of a panel of `b` lie side by side.
    pub(super) b: *const A,
    pub(super) b_depth: isize,
    /// From one panel of `b` to the next.
    pub(super) b_panel: isize,
    /// The columns of `c` lie side by side.
    pub(super) c: *mut A,
    pub(super) c_row: isize,
    /// Whether the sum is added to what `c` holds.
    pub(super) add: bool,
    pub(super) next: Next<A>,
    /// Where a whole panel of columns is put as it is read, for the rows that follow; null where that is not wanted.
    pub(super) keep: *mut A,
}

/// Columns that will be wanted soon: they are brought into the cache between products, a depth at a time. All at once would hold up
/// the products.
pub(super) struct Next<A> {
    /// Panels as those of the tile are, and how many depths of them.
    pub(super) start: *const A,
    pub(super) depth: usize,
}

impl<A> Next<A> {
    /// Nothing.
    pub(super) fn none() -> Next<A> {
        Next { start: std::ptr::null(), depth: 0 }
    }

    /// One of `parts` parts of the depths of a panel, which are `stride` apart.
    pub(super) fn part(start: *const A, stride: isize, depth: usize, part: usize, parts: usize) -> Next<A> {
        let step = depth.div_ceil(parts);
        let first = (part * step).min(depth);
        Next { start: start.wrapping_offset(first as isize * stride), depth: step.min(depth - first) }
    }
}

/// Lanes of a panel that lie side by side.
#[derive(Clone, Copy)]
pub(super) struct Piece<E> {
    /// Where lane 0 would be.
    pub(super) start: *const E,
    /// The lanes that belong to the piece, one bit each.
    pub(super) lanes: u16,
}

/// Which lanes of a panel have elements: those that are set in the masks, which come again and again, one at each depth.
#[derive(Clone, Copy)]
pub(super) struct Cut<'a> {
    pub(super) masks: &'a [u16],
    /// Which of them is the one of the first depth.
    pub(super) first: usize,
}

impl<'a> Cut<'a> {
    /// The masks of so many depths, if they come once.
    pub(super) fn once(self, depths: usize) -> Option<&'a [u16]> {
        (self.first == 0).then(|| self.masks.get(..depths)).flatten()
    }

    /// How many rounds of the masks are made at once: a mask is made ready for all of them.
    pub(super) const ROUNDS: usize = 4;

    /// The masks in order, from that of the first depth on.
    pub(super) fn masks(self) -> impl Iterator<Item = u16> + 'a {
        let (later, now) = self.masks.split_at(self.first);
        now.iter().chain(later).copied()
    }
}

/// The most masks that come in turn, and how often they have to, to be made ready before a tile reads through them.
pub(super) const MOST_MASKS: usize = 64;
const OFTEN: usize = 8;

/// Whether so many masks that come in turn are worth making ready for so many depths.
pub(super) fn are_worth_it(masks: usize, depths: usize) -> bool {
    masks <= MOST_MASKS.min(depths / OFTEN)
}

/// A panel of columns that has not been packed: pieces, of which there is what a cut leaves.
#[derive(Clone, Copy)]
pub(super) struct Window<'a, E> {
    pub(super) pieces: &'a [Piece<E>],
    pub(super) cut: Option<Cut<'a>>,
}

/// The innermost loops for elements of one type on one kind of machine.
pub(super) trait Kernel: 'static {
    /// What tensors hold.
    type Elem: Element<Acc = Self::Acc>;
    /// What is summed.
    type Acc: Number;
    /// The rows of a tile.
    const ROWS: usize;
    /// The columns of a panel.
    const COLS: usize;
    /// The most panels of columns of a tile.
    const PANELS: usize = 1;
    /// Whether a tile writes no more columns than it has.
    const EXACT: bool;
    /// Whether a tile can put the columns that it reads side by side; see [`Tile::keep`]. Only where elements are summed as they are.
    const KEEPS: bool = false;
    /// Whether a tile can read its columns through windows; see [`Kernel::tile_through`]. Only where elements are summed as they are.
    const THROUGH: bool = Self::KEEPS;

    /// The sums of a tile of `rows` rows (1 to `ROWS`) and `cols` columns. All columns of a panel may be read in `b`,
    /// and are written as well if the kernel is not [`Kernel::EXACT`].
    ///
    /// # Safety
    /// The machine is of the kind; what the call says may be read and written.
    unsafe fn tile(rows: usize, cols: usize, call: &Tile<Self::Acc>);

    /// Sixteen sums of products at once: `to[i] = Σ_k a[left[k] * 16 + i]·b[right[k] * 16 + i]`.
    ///
    /// # Safety
    /// The machine is of the kind; these may be read, and 16 sums written.
    unsafe fn abreast(a: *const Self::Acc, left: &[u16], b: *const Self::Acc, right: &[u16], to: *mut Self::Acc);

    /// Adds `x[r]·rows[r][j]` to `sums[j]`, one after the other, for at most 8 rows, `len` long.
    /// The next rows that are wanted are `ahead` of these.
    ///
    /// # Safety
    /// The machine is of the kind; rows may be read and sums written.
    unsafe fn add_rows(x: *const Self::Acc, rows: &[*const Self::Acc], ahead: isize, sums: *mut Self::Acc, len: usize);

    /// `sums[i * N + k % N] += x[k]·lines[i][k]` for at most 4 lines; `N` is 8 or 32.
    ///
    /// # Safety
    /// The machine is of the kind; lines may be read and sums written.
    unsafe fn add_lines<const N: usize>(
        x: *const Self::Acc,
        lines: &[*const Self::Acc],
        depth: usize,
        sums: *mut Self::Acc,
    );

    /// Copies `depth` elements each of `lines.len()` lines, which lie one after the other in each line, to
    /// `to[k * width + line]`. The next lines that are wanted are `ahead` of these. False if there is no quick way to do that; nothing has been done then.
    ///
    /// # Safety
    /// The machine is of the kind; the lines may be read and the places written.
    unsafe fn turn(lines: &[*const Self::Elem], depth: usize, ahead: isize, to: *mut Self::Elem) -> bool;

    /// Copies `W` elements that lie side by side at each of `count` depths, `stride` apart, to one place after the other.
    ///
    /// # Safety
    /// The machine is of the kind; these may be read and written.
    unsafe fn along<const W: usize>(from: *const Self::Elem, stride: isize, count: usize, to: *mut Self::Elem);

    /// Packs a panel of `COLS` lines that consist of pieces: at each depth, the lanes of a piece are copied from `depth` behind
    /// its start, if the `cut` has them. Lanes that are not copied become zero. False if there is no quick way; nothing has been done then.
    ///
    /// # Safety
    /// The machine is of the kind; the lanes of each piece that are copied may be read, and the panel written.
    unsafe fn pack_pieces(
        pieces: &[Piece<Self::Elem>],
        depths: &[isize],
        cut: Option<&Cut<'_>>,
        to: *mut Self::Elem,
    ) -> bool;

    /// The sums of a tile of `rows` rows and of whole panels of columns that have not been packed: they are read as
    /// [`Kernel::pack_pieces`] would, and put where [`Tile::keep`] says, panel after panel. False if there is no quick way; nothing has been done then.
    ///
    /// # Safety
    /// As for [`Kernel::tile`] and [`Kernel::pack_pieces`].
    unsafe fn tile_through(
        _rows: usize,
        _call: &Tile<Self::Acc>,
        _windows: &[Window<'_, Self::Elem>],
        _depths: &[isize],
    ) -> bool {
        false
    }

    /// Copies `len` elements of each of 16 lanes from `from[e * 16 + lane]` to `lanes[lane][e]`, for the lanes there are.
    ///
    /// # Safety
    /// The machine is of the kind; these may be read and written.
    unsafe fn turn_back(from: *const Self::Elem, len: usize, lanes: &[*mut Self::Elem]);

    /// Elements as they are summed.
    ///
    /// # Safety
    /// The machine is of the kind; `len` elements may be read and written.
    unsafe fn widen(from: *const Self::Elem, to: *mut Self::Acc, len: usize);

    /// Sums as elements.
    ///
    /// # Safety
    /// As for [`Kernel::widen`].
    unsafe fn narrow(from: *const Self::Acc, to: *mut Self::Elem, len: usize);
}

/// Whether elements are summed as they are.
pub(super) const fn same<K: Kernel>() -> bool {
    K::Elem::SAME
}

/// How many panels the next tile takes where so many are left: as many as it can, but tiles are of about the same size.
pub(super) fn panels_at_once<K: Kernel>(left: usize) -> usize {
    left.div_ceil(left.div_ceil(K::PANELS))
}

/// The most rows and columns of a tile that writes columns it does not have.
const TALLEST: usize = 6;
const WIDEST: usize = 16;

/// A tile that is not whole, of a kernel that writes whole ones.
///
/// # Safety
/// As for [`Kernel::tile`], but only so many columns are written.
pub(super) unsafe fn narrow_tile<K: Kernel>(rows: usize, cols: usize, mut tile: Tile<K::Acc>) {
    let (c, c_row, add) = (tile.c, tile.c_row, tile.add);
    let mut whole = [[K::Acc::ZERO; WIDEST]; TALLEST];
    (tile.c, tile.c_row, tile.add) = (whole.as_mut_ptr().cast(), WIDEST as isize, false);
    // SAFETY: the caller's promise.
    unsafe {
        K::tile(rows, cols, &tile);
        for (r, sums) in whole[..rows].iter().enumerate() {
            let c = c.offset(r as isize * c_row);
            for (j, &sum) in sums[..cols].iter().enumerate() {
                *c.add(j) = if add { (*c.add(j)).plus(sum) } else { sum };
            }
        }
    }
}
