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

/// # Safety
/// As for [`super::Kernel::pack_pieces`], with `P` pieces.
#[target_feature(enable = "avx2")]
unsafe fn pack_some_4<E, const P: usize>(pieces: &[Piece<E>], depths: &[isize], cut: Option<&Cut<'_>>, to: *mut E) {
    let bits = _mm256_setr_epi32(1, 2, 4, 8, 16, 32, 64, 128);
    let mask = |lanes: u16| _mm256_cmpeq_epi32(_mm256_and_si256(_mm256_set1_epi32(i32::from(lanes)), bits), bits);
    let mut masks = [(bits, bits); P];
    for (masks, piece) in masks.iter_mut().zip(pieces) {
        *masks = (mask(piece.lanes & 0xff), mask(piece.lanes >> 8));
    }
    let mut to = to.cast::<__m256i>();
    macro_rules! pack {
        ($masks:expr, $depth:expr, $to:expr) => {{
            let (mut low, mut high) = (_mm256_setzero_si256(), _mm256_setzero_si256());
            for (piece, &(first, second)) in pieces[..P].iter().zip(&$masks) {
                let from = piece.start.wrapping_offset($depth).cast::<i32>();
                low = _mm256_or_si256(low, _mm256_maskload_epi32(from, first));
                high = _mm256_or_si256(high, _mm256_maskload_epi32(from.wrapping_add(8), second));
            }
            _mm256_storeu_si256($to, low);
            _mm256_storeu_si256($to.add(1), high);
        }};
    }
    // SAFETY: the caller's promise; masked loads read the lanes of the piece alone.
    unsafe {
        let Some(cut) = cut else {
            for &depth in depths {
                pack!(masks, depth, to);
                to = to.add(2);
            }
            return;
        };
        let cut_by = |open: u16| {
            let (first, second) = (mask(open & 0xff), mask(open >> 8));
            masks.map(|(low, high)| (_mm256_and_si256(low, first), _mm256_and_si256(high, second)))
        };
        if let Some(open) = cut.once(depths.len()) {
            let whole = pieces.iter().fold(0, |whole, piece| whole | piece.lanes);
            for (&depth, &open) in depths.iter().zip(open) {
                match open == whole {
                    true => pack!(masks, depth, to),
                    false => pack!(cut_by(open), depth, to),
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
                    pack!(masks, depths[k], to.add(2 * k));
                    k += period;
                }
            }
            to = to.add(2 * depths.len());
        }
    }
}

/// # Safety
/// As for [`super::Kernel::pack_pieces`], with `P` pieces.
#[target_feature(enable = "avx2")]
unsafe fn pack_some_8<E, const P: usize>(pieces: &[Piece<E>], depths: &[isize], cut: Option<&Cut<'_>>, to: *mut E) {
    let bits = _mm256_setr_epi64x(1, 2, 4, 8);
    let mask = |lanes: u16| _mm256_cmpeq_epi64(_mm256_and_si256(_mm256_set1_epi64x(i64::from(lanes)), bits), bits);
    let mut masks = [(bits, bits); P];
    for (masks, piece) in masks.iter_mut().zip(pieces) {
        *masks = (mask(piece.lanes & 0xf), mask(piece.lanes >> 4));
    }
    let mut to = to.cast::<__m256i>();
    macro_rules! pack {
        ($masks:expr, $depth:expr, $to:expr) => {{
            let (mut low, mut high) = (_mm256_setzero_si256(), _mm256_setzero_si256());
            for (piece, &(first, second)) in pieces[..P].iter().zip(&$masks) {
                let from = piece.start.wrapping_offset($depth).cast::<i64>();
                low = _mm256_or_si256(low, _mm256_maskload_epi64(from, first));
                high = _mm256_or_si256(high, _mm256_maskload_epi64(from.wrapping_add(4), second));
            }
            _mm256_storeu_si256($to, low);
            _mm256_storeu_si256($to.add(1), high);
        }};
    }
    // SAFETY: the caller's promise; masked loads read the lanes of the piece alone.
    unsafe {
        let Some(cut) = cut else {
            for &depth in depths {
                pack!(masks, depth, to);
                to = to.add(2);
            }
            return;
        };
        let cut_by = |open: u16| {
            let (first, second) = (mask(open & 0xf), mask(open >> 4));
            masks.map(|(low, high)| (_mm256_and_si256(low, first), _mm256_and_si256(high, second)))
        };
        if let Some(open) = cut.once(depths.len()) {
            let whole = pieces.iter().fold(0, |whole, piece| whole | piece.lanes);
            for (&depth, &open) in depths.iter().zip(open) {
                match open == whole {
                    true => pack!(masks, depth, to),
                    false => pack!(cut_by(open), depth, to),
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
                    pack!(masks, depths[k], to.add(2 * k));
                    k += period;
                }
            }
            to = to.add(2 * depths.len());
        }
    }
}
