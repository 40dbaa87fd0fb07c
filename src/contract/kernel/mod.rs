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
mod avx2_vector;
#[cfg(target_arch = "x86_64")]
mod avx512;
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
    /// The columns of `b` lie side by side.
    pub(super) b: *const A,
    pub(super) b_depth: isize,
    /// The columns of `c` lie side by side.
    pub(super) c: *mut A,
    pub(super) c_row: isize,
    /// Whether the sum is added to what `c` holds.
    pub(super) add: bool,
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

/// The innermost loops for elements of one type on one kind of machine.
pub(super) trait Kernel: 'static {
    /// What tensors hold.
    type Elem: Element<Acc = Self::Acc>;
    /// What is summed.
    type Acc: Number;
    /// The rows of a tile.
    const ROWS: usize;
    /// The columns of a tile.
    const COLS: usize;
    /// Whether a tile writes no more columns than it has.
    const EXACT: bool;

    /// The sums of a tile of `rows` rows (1 to `ROWS`) and `cols` columns, all `COLS` of which may be read in `b`,
    /// and are written as well if the kernel is not [`Kernel::EXACT`].
    ///
    /// # Safety
    /// The machine is of the kind; what the call says may be read and written.
    unsafe fn tile(rows: usize, cols: usize, call: &Tile<Self::Acc>);

    /// Asks for some numbers to be brought into the cache; wherever they are, nothing else happens.
    #[inline]
    fn fetch(first: *const Self::Acc, count: usize) {
        #[cfg(target_arch = "x86_64")]
        for line in (0..count * size_of::<Self::Acc>()).step_by(64) {
            use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
            // SAFETY: every x86-64 has it, and any address will do.
            unsafe { _mm_prefetch::<_MM_HINT_T0>(first.cast::<i8>().wrapping_add(line)) };
        }
        #[cfg(not(target_arch = "x86_64"))]
        let _ = (first, count);
    }

    /// Sixteen sums of products at once: `to[i] = Σ_k a[left[k] * 16 + i]·b[right[k] * 16 + i]`.
    ///
    /// # Safety
    /// The machine is of the kind; these may be read, and 16 sums written.
    unsafe fn abreast(a: *const Self::Acc, left: &[u16], b: *const Self::Acc, right: &[u16], to: *mut Self::Acc);

    /// Adds `x[r]·rows[r][j]` for at most 8 rows, `len` long, to the sum at `(j / 16 * 8 + r) * 16 + j % 16`.
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
