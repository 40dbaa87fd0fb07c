//! Packing windows: a panel of columns that run along an image, with a break where a row ends.
//!
//! Each piece between breaks is read with masked loads, which touch no lane of another piece.

use super::{Cut, Piece};
use std::arch::x86_64::*;

/// See [`super::Kernel::pack_pieces`]: no quick way.
///
/// # Safety
/// None is needed.
pub(super) unsafe fn pack_none<E>(_: &[Piece<E>], _: &[isize], _: Option<&Cut<'_>>, _: *mut E) -> bool {
    false
}

/// See [`super::Kernel::pack_pieces`]: 16 lanes of 4 bytes.
///
/// # Safety
/// As for [`super::Kernel::pack_pieces`].
pub(super) unsafe fn pack_4<E>(pieces: &[Piece<E>], depths: &[isize], cut: Option<&Cut<'_>>, to: *mut E) -> bool {
    // SAFETY: the caller's promise.
    unsafe {
        match pieces {
            [piece] if piece.lanes == u16::MAX && cut.is_none() => pack_whole(piece, depths, to),
            [_] => pack_some_4::<E, 1>(pieces, depths, cut, to),
            [_, _] => pack_some_4::<E, 2>(pieces, depths, cut, to),
            [_, _, _] => pack_some_4::<E, 3>(pieces, depths, cut, to),
            [_, _, _, _] => pack_some_4::<E, 4>(pieces, depths, cut, to),
            _ => return false,
        }
    }
    true
}

/// See [`super::Kernel::pack_pieces`]: 8 lanes of 8 bytes.
///
/// # Safety
/// As for [`super::Kernel::pack_pieces`].
pub(super) unsafe fn pack_8<E>(pieces: &[Piece<E>], depths: &[isize], cut: Option<&Cut<'_>>, to: *mut E) -> bool {
    // SAFETY: the caller's promise.
    unsafe {
        match pieces {
            [piece] if piece.lanes == 0xff && cut.is_none() => pack_whole(piece, depths, to),
            [_] => pack_some_8::<E, 1>(pieces, depths, cut, to),
            [_, _] => pack_some_8::<E, 2>(pieces, depths, cut, to),
            [_, _, _] => pack_some_8::<E, 3>(pieces, depths, cut, to),
            [_, _, _, _] => pack_some_8::<E, 4>(pieces, depths, cut, to),
            _ => return false,
        }
    }
    true
}

/// All lanes are one piece: 64 bytes of it at each depth.
///
/// # Safety
/// As for [`super::Kernel::pack_pieces`].
#[target_feature(enable = "avx2")]
unsafe fn pack_whole<E>(piece: &Piece<E>, depths: &[isize], to: *mut E) {
    let mut to = to.cast::<__m256i>();
    // SAFETY: the caller's promise.
    unsafe {
        for &depth in depths {
            let from = piece.start.offset(depth).cast::<__m256i>();
            _mm256_storeu_si256(to, _mm256_loadu_si256(from));
            _mm256_storeu_si256(to.add(1), _mm256_loadu_si256(from.add(1)));
            to = to.add(2);
        }
    }
}

/// The lanes of a register that are set, for elements of 4 bytes.
///
/// # Safety
/// The machine has AVX2.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) unsafe fn mask_4(lanes: u16) -> __m256i {
    let bits = _mm256_setr_epi32(1, 2, 4, 8, 16, 32, 64, 128);
    _mm256_cmpeq_epi32(_mm256_and_si256(_mm256_set1_epi32(i32::from(lanes)), bits), bits)
}

/// The same for elements of 8 bytes.
///
/// # Safety
/// As for [`mask_4`].
#[inline]
#[target_feature(enable = "avx2")]
pub(super) unsafe fn mask_8(lanes: u16) -> __m256i {
    let bits = _mm256_setr_epi64x(1, 2, 4, 8);
    _mm256_cmpeq_epi64(_mm256_and_si256(_mm256_set1_epi64x(i64::from(lanes)), bits), bits)
}

/// Puts the lanes that masks leave of all pieces at one depth side by side.
macro_rules! pack_pieces_at {
    ($pieces:expr, $count:expr, $masks:expr, $depth:expr, $to:expr, $lane:ty, $half:expr, $load:ident) => {{
        let (mut low, mut high) = (_mm256_setzero_si256(), _mm256_setzero_si256());
        for (piece, &(first, second)) in $pieces[..$count].iter().zip(&$masks) {
            let from = piece.start.wrapping_offset($depth).cast::<$lane>();
            low = _mm256_or_si256(low, $load(from, first));
            high = _mm256_or_si256(high, $load(from.wrapping_add($half), second));
        }
        _mm256_storeu_si256($to, low);
        _mm256_storeu_si256($to.add(1), high);
    }};
}

/// Pieces of lanes of one width: a half of a panel fills a register.
macro_rules! pack_some {
    ($name:ident $lane:ty, $mask:ident $load:ident) => {
        /// # Safety
        /// As for [`super::Kernel::pack_pieces`], with `P` pieces.
        #[target_feature(enable = "avx2")]
        unsafe fn $name<E, const P: usize>(pieces: &[Piece<E>], depths: &[isize], cut: Option<&Cut<'_>>, to: *mut E) {
            const HALF: usize = 32 / size_of::<$lane>();
            // SAFETY: the machine has AVX2.
            let both = |lanes: u16| unsafe { ($mask(lanes), $mask(lanes >> HALF)) };
            let masks: [(__m256i, __m256i); P] = std::array::from_fn(|p| both(pieces[p].lanes));
            let mut to = to.cast::<__m256i>();
            // SAFETY: the caller's promise; masked loads read the lanes of the piece alone.
            unsafe {
                let Some(cut) = cut else {
                    for &depth in depths {
                        pack_pieces_at!(pieces, P, masks, depth, to, $lane, HALF, $load);
                        to = to.add(2);
                    }
                    return;
                };
                let cut_by = |open: u16| {
                    let (first, second) = both(open);
                    masks.map(|(low, high)| (_mm256_and_si256(low, first), _mm256_and_si256(high, second)))
                };
                if let Some(open) = cut.once(depths.len()) {
                    let whole = pieces.iter().fold(0, |whole, piece| whole | piece.lanes);
                    for (&depth, &open) in depths.iter().zip(open) {
                        match open == whole {
                            true => pack_pieces_at!(pieces, P, masks, depth, to, $lane, HALF, $load),
                            false => pack_pieces_at!(pieces, P, cut_by(open), depth, to, $lane, HALF, $load),
                        }
                        to = to.add(2);
                    }
                    return;
                }
                let period = cut.masks.len();
                for depths in depths.chunks(Cut::ROUNDS * period) {
                    for (k, open) in cut.masks().enumerate().take(depths.len()) {
                        let masks = cut_by(open);
                        let mut k = k;
                        while k < depths.len() {
                            pack_pieces_at!(pieces, P, masks, depths[k], to.add(2 * k), $lane, HALF, $load);
                            k += period;
                        }
                    }
                    to = to.add(2 * depths.len());
                }
            }
        }
    };
}

pack_some!(pack_some_4 i32, mask_4 _mm256_maskload_epi32);
pack_some!(pack_some_8 i64, mask_8 _mm256_maskload_epi64);
