//! Kernels for x86-64 with AVX-512: a tile of 8 rows and three vectors of columns fills 24 of the 32 registers with sums, and takes
//! eleven loads for 24 multiply-adds. The panels that come next are brought nearer meanwhile.
//!
//! Sums are those of the kernels for AVX2, bit for bit; packing, and products with vectors, are theirs as well.

use super::avx2::Avx2;
use super::element::{Element, Number};
use super::{Cut, Kernel, Piece, Tile, Window, avx2_through, avx512_through, plain};
use crate::dtype::{bf16, f16};
use std::arch::x86_64::*;
use std::marker::PhantomData;

/// Elements of type `E` on a machine with AVX-512, and all that [`Avx2`] needs.
pub(in crate::contract) struct Avx512<E>(PhantomData<E>);

pub(super) const ROWS: usize = 8;
pub(super) const PANELS: usize = 3;

/// One register of numbers, and what is done with it.
///
/// # Safety
/// The methods need AVX-512; pointers may be read or written for the numbers of a register whose bits are set in `lanes`.
pub(super) trait Wide: Number {
    type Vector: Copy;
    const LANES: usize;

    unsafe fn zero() -> Self::Vector;
    unsafe fn load(from: *const Self) -> Self::Vector;
    unsafe fn splat(from: *const Self) -> Self::Vector;
    unsafe fn fused(a: Self::Vector, b: Self::Vector, c: Self::Vector) -> Self::Vector;
    unsafe fn store(to: *mut Self, value: Self::Vector);
    /// The numbers of the lanes, and of `others` in other lanes.
    unsafe fn load_some(others: Self::Vector, from: *const Self, lanes: u16) -> Self::Vector;
    /// Adds to what is there, or takes its place.
    unsafe fn put(to: *mut Self, value: Self::Vector, add: bool);
    unsafe fn put_some(to: *mut Self, value: Self::Vector, add: bool, lanes: u16);
}

macro_rules! wide {
    ($float:ident $vector:ident $lanes:literal $mask:ident $zero:ident $load:ident $splat:ident $fused:ident $add:ident $store:ident $load_some:ident $blend_some:ident $store_some:ident) => {
        impl Wide for $float {
            type Vector = $vector;
            const LANES: usize = $lanes;

            #[inline(always)]
            unsafe fn zero() -> $vector {
                // SAFETY: the machine has AVX-512.
                unsafe { $zero() }
            }

            #[inline(always)]
            unsafe fn load(from: *const $float) -> $vector {
                // SAFETY: the caller's promise.
                unsafe { $load(from) }
            }

            #[inline(always)]
            unsafe fn splat(from: *const $float) -> $vector {
                // SAFETY: the caller's promise.
                unsafe { $splat(*from) }
            }

            #[inline(always)]
            unsafe fn fused(a: $vector, b: $vector, c: $vector) -> $vector {
                // SAFETY: the machine has AVX-512.
                unsafe { $fused(a, b, c) }
            }

            #[inline(always)]
            unsafe fn store(to: *mut $float, value: $vector) {
                // SAFETY: the caller's promise.
                unsafe { $store(to, value) }
            }

            #[inline(always)]
            unsafe fn load_some(others: $vector, from: *const $float, lanes: u16) -> $vector {
                // SAFETY: the caller's promise.
                unsafe { $blend_some(others, lanes as $mask, from) }
            }

            #[inline(always)]
            unsafe fn put(to: *mut $float, value: $vector, add: bool) {
                // SAFETY: the caller's promise.
                unsafe { $store(to, if add { $add($load(to), value) } else { value }) }
            }

            #[inline(always)]
            unsafe fn put_some(to: *mut $float, value: $vector, add: bool, lanes: u16) {
                let lanes = lanes as $mask;
                // SAFETY: the caller's promise.
                unsafe { $store_some(to, lanes, if add { $add($load_some(lanes, to), value) } else { value }) }
            }
        }
    };
}

wide!(f32 __m512 16 __mmask16 _mm512_setzero_ps _mm512_loadu_ps _mm512_set1_ps _mm512_fmadd_ps _mm512_add_ps _mm512_storeu_ps _mm512_maskz_loadu_ps _mm512_mask_loadu_ps _mm512_mask_storeu_ps);
wide!(f64 __m512d 8 __mmask8 _mm512_setzero_pd _mm512_loadu_pd _mm512_set1_pd _mm512_fmadd_pd _mm512_add_pd _mm512_storeu_pd _mm512_maskz_loadu_pd _mm512_mask_loadu_pd _mm512_mask_storeu_pd);

/// The sums of `R` rows and `V` panels of a tile. If `PACKED`, the rows lie in a panel as packing makes it.
///
/// # Safety
/// As for [`Kernel::tile`].
#[target_feature(enable = "avx512f")]
unsafe fn sums_of<A: Wide, const R: usize, const V: usize, const PACKED: bool>(cols: usize, call: &Tile<A>) {
    let a_row = if PACKED { 1 } else { call.a_row };
    let a_depth = if PACKED { ROWS as isize } else { call.a_depth };
    let (mut a, mut b) = (call.a, call.b);
    // SAFETY: the caller's promise: `R` rows of `a` and `c`, `V` vectors of columns of `b`, `depth` of `a` and `b`.
    unsafe {
        for row in 0..R {
            for v in 0..V {
                let c = call.c.wrapping_offset(row as isize * call.c_row).wrapping_add(v * A::LANES);
                _mm_prefetch::<_MM_HINT_T0>(c.cast());
            }
        }
        let mut sums = [[A::zero(); V]; R];
        macro_rules! step {
            () => {{
                let mut columns = [A::zero(); V];
                for (v, columns) in columns.iter_mut().enumerate() {
                    *columns = A::load(b.offset(v as isize * call.b_panel));
                }
                for (row, sums) in sums.iter_mut().enumerate() {
                    let x = A::splat(a.offset(row as isize * a_row));
                    for (sum, &columns) in sums.iter_mut().zip(&columns) {
                        *sum = A::fused(x, columns, *sum);
                    }
                }
                a = a.offset(a_depth);
                b = b.offset(call.b_depth);
            }};
        }
        let fetched = call.next.depth.min(call.depth);
        let mut next = call.next.start;
        for _ in 0..fetched {
            for v in 0..V {
                _mm_prefetch::<_MM_HINT_T0>(next.wrapping_offset(v as isize * call.b_panel).cast());
            }
            next = next.wrapping_offset(call.b_depth);
            step!();
        }
        for _ in fetched..call.depth {
            step!();
        }
        put(&sums, cols, call);
    }
}

/// Delivers the sums of a tile of so many columns.
///
/// # Safety
/// As for [`Kernel::tile`].
#[inline(always)]
pub(super) unsafe fn put<A: Wide, const R: usize, const V: usize>(
    sums: &[[A::Vector; V]; R],
    cols: usize,
    call: &Tile<A>,
) {
    let last = cols - (V - 1) * A::LANES;
    for (row, sums) in sums.iter().enumerate() {
        let c = call.c.wrapping_offset(row as isize * call.c_row);
        for (v, &sum) in sums.iter().enumerate() {
            let c = c.wrapping_add(v * A::LANES);
            // SAFETY: the caller's promise.
            unsafe {
                if v + 1 < V || last == A::LANES {
                    A::put(c, sum, call.add);
                } else {
                    A::put_some(c, sum, call.add, (1 << last) - 1);
                }
            }
        }
    }
}

/// A tile of so many rows and columns.
///
/// # Safety
/// As for [`Kernel::tile`].
#[inline(always)]
unsafe fn tile<A: Wide>(rows: usize, cols: usize, call: &Tile<A>) {
    // SAFETY: the caller's promise.
    unsafe {
        match cols.div_ceil(A::LANES) {
            1 => rows_of::<A, 1>(rows, cols, call),
            2 => rows_of::<A, 2>(rows, cols, call),
            _ => rows_of::<A, PANELS>(rows, cols, call),
        }
    }
}

/// # Safety
/// As for [`Kernel::tile`], with `V` panels.
unsafe fn rows_of<A: Wide, const V: usize>(rows: usize, cols: usize, call: &Tile<A>) {
    // SAFETY: the caller's promise.
    unsafe {
        match rows {
            1 => sums_of::<A, 1, V, false>(cols, call),
            2 => sums_of::<A, 2, V, false>(cols, call),
            3 => sums_of::<A, 3, V, false>(cols, call),
            4 => sums_of::<A, 4, V, false>(cols, call),
            5 => sums_of::<A, 5, V, false>(cols, call),
            6 => sums_of::<A, 6, V, false>(cols, call),
            7 => sums_of::<A, 7, V, false>(cols, call),
            _ if call.a_row == 1 && call.a_depth == ROWS as isize => sums_of::<A, ROWS, V, true>(cols, call),
            _ => sums_of::<A, ROWS, V, false>(cols, call),
        }
    }
}

/// # Safety
/// As for [`Kernel::along`].
#[target_feature(enable = "avx512f")]
unsafe fn along<E, const W: usize>(from: *const E, stride: isize, count: usize, to: *mut E) {
    // SAFETY: the caller's promise.
    unsafe { plain::along::<E, W>(from, stride, count, to) }
}

/// # Safety
/// As for [`Kernel::pack_pieces`].
unsafe fn pack_pieces<E>(pieces: &[Piece<E>], depths: &[isize], cut: Option<&Cut<'_>>, to: *mut E) -> bool {
    if !matches!(size_of::<E>(), 4 | 8) {
        return false;
    }
    // SAFETY: the caller's promise; elements of 4 and 8 bytes fill a vector with the lanes of a panel.
    unsafe {
        match pieces {
            [_] => pieces_of::<E, 1>(pieces, depths, cut, to),
            [_, _] => pieces_of::<E, 2>(pieces, depths, cut, to),
            [_, _, _] => pieces_of::<E, 3>(pieces, depths, cut, to),
            [_, _, _, _] => pieces_of::<E, 4>(pieces, depths, cut, to),
            _ => return false,
        }
    }
    true
}

/// `P` pieces; each load touches the lanes of its piece alone.
///
/// # Safety
/// As for [`Kernel::pack_pieces`].
#[target_feature(enable = "avx512f")]
unsafe fn pieces_of<E, const P: usize>(pieces: &[Piece<E>], depths: &[isize], cut: Option<&Cut<'_>>, to: *mut E) {
    let mut to = to.cast::<__m512i>();
    macro_rules! pack {
        ($lanes:expr, $depth:expr, $to:expr) => {{
            let mut vector = _mm512_setzero_si512();
            for (piece, &lanes) in pieces[..P].iter().zip(&$lanes) {
                let from = piece.start.wrapping_offset($depth);
                vector = match size_of::<E>() {
                    4 => _mm512_mask_loadu_epi32(vector, lanes, from.cast()),
                    _ => _mm512_mask_loadu_epi64(vector, lanes as __mmask8, from.cast()),
                };
            }
            _mm512_storeu_si512($to, vector);
        }};
    }
    let all: [u16; P] = std::array::from_fn(|piece| pieces[piece].lanes);
    // SAFETY: the caller's promise.
    unsafe {
        let Some(cut) = cut else {
            for &depth in depths {
                pack!(all, depth, to);
                to = to.add(1);
            }
            return;
        };
        if let Some(masks) = cut.once(depths.len()) {
            let whole = all.iter().fold(0, |whole, lanes| whole | lanes);
            for (&depth, &open) in depths.iter().zip(masks) {
                match open == whole {
                    true => pack!(all, depth, to),
                    false => pack!(all.map(|lanes| lanes & open), depth, to),
                }
                to = to.add(1);
            }
            return;
        }
        let period = cut.masks.len();
        for depths in depths.chunks(Cut::ROUNDS * period) {
            for (k, open) in cut.masks().enumerate().take(depths.len()) {
                let lanes = all.map(|lanes| lanes & open);
                let mut k = k;
                while k < depths.len() {
                    pack!(lanes, depths[k], to.add(k));
                    k += period;
                }
            }
            to = to.add(depths.len());
        }
    }
}

macro_rules! kernels {
    ($($elem:ident $cols:literal $is_through:literal $through:expr;)*) => {$(
        impl Kernel for Avx512<$elem> {
            type Elem = $elem;
            type Acc = <$elem as Element>::Acc;
            const ROWS: usize = ROWS;
            const COLS: usize = $cols;
            const PANELS: usize = PANELS;
            const EXACT: bool = true;
            const THROUGH: bool = $is_through;

            #[inline]
            unsafe fn tile(rows: usize, cols: usize, call: &Tile<Self::Acc>) {
                // SAFETY: the caller's promise.
                unsafe { tile(rows, cols, call) }
            }

            #[inline]
            unsafe fn abreast(
                a: *const Self::Acc,
                left: &[u16],
                b: *const Self::Acc,
                right: &[u16],
                to: *mut Self::Acc,
            ) {
                // SAFETY: the caller's promise.
                unsafe { Avx2::<$elem>::abreast(a, left, b, right, to) }
            }

            #[inline]
            unsafe fn pack_pieces(
                pieces: &[Piece<$elem>],
                depths: &[isize],
                cut: Option<&Cut<'_>>,
                to: *mut $elem,
            ) -> bool {
                // SAFETY: the caller's promise.
                unsafe { pack_pieces(pieces, depths, cut, to) }
            }

            #[inline]
            unsafe fn tile_through(
                rows: usize,
                call: &Tile<Self::Acc>,
                windows: &[Window<'_, $elem>],
                depths: &[isize],
            ) -> bool {
                // SAFETY: the caller's promise.
                unsafe { $through(rows, call, windows, depths) }
            }

            #[inline]
            unsafe fn turn_back(from: *const $elem, len: usize, lanes: &[*mut $elem]) {
                // SAFETY: the caller's promise.
                unsafe { Avx2::<$elem>::turn_back(from, len, lanes) }
            }

            #[inline]
            unsafe fn add_rows(
                x: *const Self::Acc,
                rows: &[*const Self::Acc],
                ahead: isize,
                sums: *mut Self::Acc,
                len: usize,
            ) {
                // SAFETY: the caller's promise.
                unsafe { Avx2::<$elem>::add_rows(x, rows, ahead, sums, len) }
            }

            #[inline]
            unsafe fn along<const W: usize>(from: *const $elem, stride: isize, count: usize, to: *mut $elem) {
                // SAFETY: the caller's promise.
                unsafe { along::<$elem, W>(from, stride, count, to) }
            }

            #[inline]
            unsafe fn add_lines<const N: usize>(
                x: *const Self::Acc,
                lines: &[*const Self::Acc],
                depth: usize,
                sums: *mut Self::Acc,
            ) {
                // SAFETY: the caller's promise.
                unsafe { Avx2::<$elem>::add_lines::<N>(x, lines, depth, sums) }
            }

            #[inline]
            unsafe fn turn(lines: &[*const $elem], depth: usize, ahead: isize, to: *mut $elem) -> bool {
                // SAFETY: the caller's promise.
                unsafe { Avx2::<$elem>::turn(lines, depth, ahead, to) }
            }

            #[inline]
            unsafe fn widen(from: *const $elem, to: *mut Self::Acc, len: usize) {
                // SAFETY: the caller's promise.
                unsafe { Avx2::<$elem>::widen(from, to, len) }
            }

            #[inline]
            unsafe fn narrow(from: *const Self::Acc, to: *mut $elem, len: usize) {
                // SAFETY: the caller's promise.
                unsafe { Avx2::<$elem>::narrow(from, to, len) }
            }
        }
    )*};
}

kernels! {
    f32 16 true avx512_through::tile_through;
    f64 8 true avx512_through::tile_through;
    f16 16 false avx2_through::never;
    bf16 16 false avx2_through::never;
}
