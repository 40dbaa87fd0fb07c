//! Kernels for x86-64 with AVX2, FMA and F16C: a tile of 6 rows and two vectors of columns fills twelve of the sixteen
//! registers, and every product is one fused multiply-add.

use super::element::{Element, Number};
use super::{Cut, Kernel, Piece, Tile, Window, avx2_pack, avx2_pieces, avx2_through, avx2_vector, plain};
use crate::dtype::{bf16, f16};
use std::arch::x86_64::*;
use std::marker::PhantomData;

/// Elements of type `E` on a machine with AVX2, FMA and F16C.
pub(in crate::contract) struct Avx2<E>(PhantomData<E>);

pub(super) const ROWS: usize = 6;

/// One register of numbers, and what is done with it.
///
/// # Safety
/// The methods need AVX2 and FMA; pointers may be read or written for as many numbers as a register holds.
pub(super) trait Lanes: Number {
    type Vector: Copy;
    const LANES: usize;

    unsafe fn zero() -> Self::Vector;
    unsafe fn load(from: *const Self) -> Self::Vector;
    unsafe fn splat(from: *const Self) -> Self::Vector;
    unsafe fn fused(a: Self::Vector, b: Self::Vector, c: Self::Vector) -> Self::Vector;
    /// `a * b + c` of single numbers, rounded once.
    unsafe fn fused_one(a: Self, b: Self, c: Self) -> Self;
    unsafe fn add(a: Self::Vector, b: Self::Vector) -> Self::Vector;
    unsafe fn store(to: *mut Self, value: Self::Vector);
    /// The masks of two registers for lanes that are set; what is not set is not loaded, and is zero.
    unsafe fn masks(lanes: u16) -> [__m256i; 2];
    unsafe fn load_some(from: *const Self, mask: __m256i) -> Self::Vector;

    /// Stores the sums of a tile, or adds them to what is there.
    ///
    /// # Safety
    /// As for [`Kernel::tile`].
    #[inline(always)]
    unsafe fn put<const R: usize, const V: usize>(sums: &[[Self::Vector; V]; R], call: &Tile<Self>) {
        // SAFETY: the caller's promise.
        unsafe {
            for (row, sums) in sums.iter().enumerate() {
                for (v, &sum) in sums.iter().enumerate() {
                    let c = call.c.offset(row as isize * call.c_row).add(v * Self::LANES);
                    Self::store(c, if call.add { Self::add(Self::load(c), sum) } else { sum });
                }
            }
        }
    }
}

macro_rules! lanes {
    ($float:ident $vector:ident $lanes:literal $zero:ident $load:ident $splat:ident $fused:ident $add:ident $store:ident $some:ident $mask:expr) => {
        impl Lanes for $float {
            type Vector = $vector;
            const LANES: usize = $lanes;

            #[inline(always)]
            unsafe fn zero() -> $vector {
                // SAFETY: the machine has AVX2.
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
                unsafe { $splat(&*from) }
            }

            #[inline(always)]
            unsafe fn fused(a: $vector, b: $vector, c: $vector) -> $vector {
                // SAFETY: the machine has FMA.
                unsafe { $fused(a, b, c) }
            }

            #[inline(always)]
            unsafe fn fused_one(a: $float, b: $float, c: $float) -> $float {
                a.mul_add(b, c)
            }

            #[inline(always)]
            unsafe fn add(a: $vector, b: $vector) -> $vector {
                // SAFETY: the machine has AVX2.
                unsafe { $add(a, b) }
            }

            #[inline(always)]
            unsafe fn store(to: *mut $float, value: $vector) {
                // SAFETY: the caller's promise.
                unsafe { $store(to, value) }
            }

            #[inline(always)]
            unsafe fn masks(lanes: u16) -> [__m256i; 2] {
                // SAFETY: the machine has AVX2.
                unsafe { [$mask(lanes), $mask(lanes >> $lanes)] }
            }

            #[inline(always)]
            unsafe fn load_some(from: *const $float, mask: __m256i) -> $vector {
                // SAFETY: the caller's promise.
                unsafe { $some(from, mask) }
            }
        }
    };
}

lanes!(f32 __m256 8 _mm256_setzero_ps _mm256_loadu_ps _mm256_broadcast_ss _mm256_fmadd_ps _mm256_add_ps _mm256_storeu_ps _mm256_maskload_ps avx2_pieces::mask_4);
lanes!(f64 __m256d 4 _mm256_setzero_pd _mm256_loadu_pd _mm256_broadcast_sd _mm256_fmadd_pd _mm256_add_pd _mm256_storeu_pd _mm256_maskload_pd avx2_pieces::mask_8);

/// The sums of one tile of `R` rows and `V` vectors of columns. If `PACKED`, both operands are panels as packing makes them; if
/// `KEEP`, columns are put where the call says as they are read.
///
/// # Safety
/// As for [`Kernel::tile`].
#[target_feature(enable = "avx2,fma")]
unsafe fn tile<A: Lanes, const R: usize, const V: usize, const PACKED: bool, const KEEP: bool>(call: &Tile<A>) {
    let a_row = if PACKED { 1 } else { call.a_row };
    let a_depth = if PACKED { ROWS as isize } else { call.a_depth };
    let b_depth = if PACKED { 2 * A::LANES as isize } else { call.b_depth };
    let (mut a, mut b, mut keep) = (call.a, call.b, call.keep);
    // SAFETY: the caller's promise: `R` rows of `a` and `c`, `V` vectors of columns of `b` and `c`, `depth` of `a` and `b`.
    unsafe {
        for row in 0..R {
            let c = call.c.offset(row as isize * call.c_row);
            _mm_prefetch::<_MM_HINT_T0>(c.cast());
            if V == 2 {
                _mm_prefetch::<_MM_HINT_T0>(c.add(2 * A::LANES - 1).cast());
            }
        }
        let mut sums = [[A::zero(); V]; R];
        macro_rules! step {
            () => {{
                let mut columns = [A::zero(); V];
                for (v, columns) in columns.iter_mut().enumerate() {
                    *columns = A::load(b.add(v * A::LANES));
                    if KEEP {
                        A::store(keep.add(v * A::LANES), *columns);
                    }
                }
                if KEEP {
                    keep = keep.add(2 * A::LANES);
                }
                for (row, sums) in sums.iter_mut().enumerate() {
                    let x = A::splat(a.offset(row as isize * a_row));
                    for (sum, &columns) in sums.iter_mut().zip(&columns) {
                        *sum = A::fused(x, columns, *sum);
                    }
                }
                a = a.offset(a_depth);
                b = b.offset(b_depth);
            }};
        }
        let mut next = call.next.start;
        for four in 0..call.depth / 4 {
            if PACKED {
                _mm_prefetch::<_MM_HINT_T0>(a.wrapping_add(16 * ROWS).cast());
            }
            if four < call.next.depth {
                _mm_prefetch::<_MM_HINT_T0>(next.cast());
                next = next.wrapping_offset(b_depth);
            }
            step!();
            step!();
            step!();
            step!();
        }
        for _ in 0..call.depth % 4 {
            step!();
        }
        A::put(&sums, call);
    }
}

/// # Safety
/// As for [`Kernel::tile`], with `V` vectors of columns.
#[inline(always)]
unsafe fn tile_rows<A: Lanes, const V: usize, const PACKED: bool, const KEEP: bool>(rows: usize, call: &Tile<A>) {
    // SAFETY: the caller's promise.
    unsafe {
        match rows {
            1 => tile::<A, 1, V, PACKED, KEEP>(call),
            2 => tile::<A, 2, V, PACKED, KEEP>(call),
            3 => tile::<A, 3, V, PACKED, KEEP>(call),
            4 => tile::<A, 4, V, PACKED, KEEP>(call),
            5 => tile::<A, 5, V, PACKED, KEEP>(call),
            _ => tile::<A, ROWS, V, PACKED, KEEP>(call),
        }
    }
}

/// # Safety
/// As for [`Kernel::tile`].
#[inline(always)]
unsafe fn float_tile<A: Lanes>(rows: usize, cols: usize, call: &Tile<A>) {
    let packed = call.a_row == 1 && call.a_depth == ROWS as isize && call.b_depth == 2 * A::LANES as isize;
    // SAFETY: the caller's promise.
    unsafe {
        if !call.keep.is_null() {
            return tile_rows::<A, 2, false, true>(rows, call);
        }
        match (cols > A::LANES, packed) {
            (true, true) => tile_rows::<A, 2, true, false>(rows, call),
            (true, false) => tile_rows::<A, 2, false, false>(rows, call),
            (false, true) => tile_rows::<A, 1, true, false>(rows, call),
            (false, false) => tile_rows::<A, 1, false, false>(rows, call),
        }
    }
}

/// # Safety
/// As for [`Kernel::tile`].
#[target_feature(enable = "avx2")]
unsafe fn integer_tile<A: Number>(rows: usize, _cols: usize, call: &Tile<A>) {
    // SAFETY: the caller's promise.
    unsafe { plain::tile_rows(rows, call) }
}

/// # Safety
/// As for [`Kernel::abreast`].
#[target_feature(enable = "avx2,fma")]
unsafe fn abreast<A: Lanes>(a: *const A, left: &[u16], b: *const A, right: &[u16], to: *mut A) {
    // SAFETY: the caller's promise; four vectors hold 16 numbers of any kind.
    unsafe {
        let mut sums = [A::zero(); 4];
        for (&l, &r) in left.iter().zip(right) {
            let (a, b) = (a.add(usize::from(l) * 16), b.add(usize::from(r) * 16));
            for (v, sum) in sums[..16 / A::LANES].iter_mut().enumerate() {
                *sum = A::fused(A::load(a.add(v * A::LANES)), A::load(b.add(v * A::LANES)), *sum);
            }
        }
        for (v, &sum) in sums[..16 / A::LANES].iter().enumerate() {
            A::store(to.add(v * A::LANES), sum);
        }
    }
}

/// # Safety
/// As for [`Kernel::abreast`].
#[target_feature(enable = "avx2")]
unsafe fn integer_abreast<A: Number>(a: *const A, left: &[u16], b: *const A, right: &[u16], to: *mut A) {
    // SAFETY: the caller's promise.
    unsafe { plain::abreast(a, left, b, right, to) }
}

/// # Safety
/// As for [`Kernel::widen`].
#[target_feature(enable = "avx2")]
unsafe fn widen<E: Element>(from: *const E, to: *mut E::Acc, len: usize) {
    // SAFETY: the caller's promise.
    unsafe { plain::widen(from, to, len) }
}

/// # Safety
/// As for [`Kernel::narrow`].
#[target_feature(enable = "avx2")]
unsafe fn narrow<E: Element>(from: *const E::Acc, to: *mut E, len: usize) {
    // SAFETY: the caller's promise.
    unsafe { plain::narrow(from, to, len) }
}

/// # Safety
/// As for [`Kernel::widen`].
#[target_feature(enable = "avx2,f16c")]
unsafe fn widen_f16(from: *const f16, to: *mut f32, len: usize) {
    let whole = len / 8 * 8;
    // SAFETY: the caller's promise.
    unsafe {
        for i in (0..whole).step_by(8) {
            _mm256_storeu_ps(to.add(i), _mm256_cvtph_ps(_mm_loadu_si128(from.add(i).cast())));
        }
        plain::widen(from.add(whole), to.add(whole), len - whole);
    }
}

/// # Safety
/// As for [`Kernel::narrow`].
#[target_feature(enable = "avx2,f16c")]
unsafe fn narrow_f16(from: *const f32, to: *mut f16, len: usize) {
    let whole = len / 8 * 8;
    // SAFETY: the caller's promise.
    unsafe {
        for i in (0..whole).step_by(8) {
            let halves = _mm256_cvtps_ph::<_MM_FROUND_TO_NEAREST_INT>(_mm256_loadu_ps(from.add(i)));
            _mm_storeu_si128(to.add(i).cast(), halves);
        }
        plain::narrow(from.add(whole), to.add(whole), len - whole);
    }
}

/// # Safety
/// As for [`Kernel::along`].
#[target_feature(enable = "avx2")]
unsafe fn along<E, const W: usize>(from: *const E, stride: isize, count: usize, to: *mut E) {
    // SAFETY: the caller's promise.
    unsafe { plain::along::<E, W>(from, stride, count, to) }
}

macro_rules! kernels {
    ($($elem:ident $keeps:literal $rows:expr, $cols:expr, $tile:expr, $abreast:expr, $turn_back:expr, $pack_pieces:expr, $through:expr, $add_rows:expr, $add_lines:ident, $turn:expr, $widen:ident, $narrow:ident;)*) => {$(
        impl Kernel for Avx2<$elem> {
            type Elem = $elem;
            type Acc = <$elem as Element>::Acc;
            const ROWS: usize = $rows;
            const COLS: usize = $cols;
            const EXACT: bool = false;
            const KEEPS: bool = $keeps;

            #[inline]
            unsafe fn tile(rows: usize, cols: usize, call: &Tile<Self::Acc>) {
                // SAFETY: the caller's promise.
                unsafe { $tile(rows, cols, call) }
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
                unsafe { $abreast(a, left, b, right, to) }
            }

            #[inline]
            unsafe fn pack_pieces(
                pieces: &[Piece<$elem>],
                depths: &[isize],
                cut: Option<&Cut<'_>>,
                to: *mut $elem,
            ) -> bool {
                // SAFETY: the caller's promise.
                unsafe { $pack_pieces(pieces, depths, cut, to) }
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
                unsafe { $turn_back(from, len, lanes) }
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
                unsafe { $add_rows(x, rows, ahead, sums, len) }
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
                unsafe { avx2_vector::$add_lines::<Self::Acc, N>(x, lines, depth, sums) }
            }

            #[inline]
            unsafe fn turn(lines: &[*const $elem], depth: usize, ahead: isize, to: *mut $elem) -> bool {
                // SAFETY: the caller's promise.
                unsafe { $turn(lines, depth, ahead, to) }
            }

            #[inline]
            unsafe fn widen(from: *const $elem, to: *mut Self::Acc, len: usize) {
                // SAFETY: the caller's promise.
                unsafe { $widen(from, to, len) }
            }

            #[inline]
            unsafe fn narrow(from: *const Self::Acc, to: *mut $elem, len: usize) {
                // SAFETY: the caller's promise.
                unsafe { $narrow(from, to, len) }
            }
        }
    )*};
}

kernels! {
    f32 true ROWS, 16, float_tile, abreast, avx2_pack::turn_back_4, avx2_pieces::pack_4, avx2_through::tile_through, avx2_vector::add_rows, add_lines, avx2_pack::turn_4, widen, narrow;
    f64 true ROWS, 8, float_tile, abreast, avx2_pack::turn_back, avx2_pieces::pack_8, avx2_through::tile_through, avx2_vector::add_rows, add_lines, avx2_pack::turn_8, widen, narrow;
    f16 false ROWS, 16, float_tile, abreast, avx2_pack::turn_back, avx2_pieces::pack_none, avx2_through::never, avx2_vector::add_rows, add_lines, avx2_pack::turn_2, widen_f16, narrow_f16;
    bf16 false ROWS, 16, float_tile, abreast, avx2_pack::turn_back, avx2_pieces::pack_none, avx2_through::never, avx2_vector::add_rows, add_lines, avx2_pack::turn_2, widen, narrow;
    u8 false 4, 16, integer_tile, integer_abreast, avx2_pack::turn_back, avx2_pieces::pack_none, avx2_through::never, avx2_vector::add_integer_rows, add_integer_lines, avx2_pack::turn_1, widen, narrow;
    u16 false 4, 16, integer_tile, integer_abreast, avx2_pack::turn_back, avx2_pieces::pack_none, avx2_through::never, avx2_vector::add_integer_rows, add_integer_lines, avx2_pack::turn_2, widen, narrow;
    u32 false 4, 16, integer_tile, integer_abreast, avx2_pack::turn_back, avx2_pieces::pack_4, avx2_through::never, avx2_vector::add_integer_rows, add_integer_lines, avx2_pack::turn_4, widen, narrow;
    u64 false 4, 16, integer_tile, integer_abreast, avx2_pack::turn_back, avx2_pieces::pack_none, avx2_through::never, avx2_vector::add_integer_rows, add_integer_lines, avx2_pack::turn_8, widen, narrow;
}
