//! Turning lines for packing: blocks of 8×8 or 4×4 elements are transposed in registers.

use super::plain;
use std::arch::x86_64::*;

/// Lines of 4-byte elements, turned eight depths at a time. See [`super::Kernel::turn`].
///
/// # Safety
/// As for [`super::Kernel::turn`].
pub(super) unsafe fn turn_4<E>(lines: &[*const E], depth: usize, ahead: isize, to: *mut E) -> bool {
    // SAFETY: the caller's promise; the elements are moved only.
    unsafe {
        match lines.len() {
            6 => turn_4_by_6(lines, depth, ahead, to),
            8 | 16 => turn_4_by_8s(lines, depth, ahead, to),
            _ => return false,
        }
    }
    true
}

/// Lines of 8-byte elements, turned four depths at a time. See [`super::Kernel::turn`].
///
/// # Safety
/// As for [`super::Kernel::turn`].
pub(super) unsafe fn turn_8<E>(lines: &[*const E], depth: usize, ahead: isize, to: *mut E) -> bool {
    // SAFETY: the caller's promise; the elements are moved only.
    unsafe {
        match lines.len() {
            4 | 6 | 8 | 16 => turn_8_by_2s(lines, depth, ahead, to),
            _ => return false,
        }
    }
    true
}

/// Lines of 2-byte elements, turned eight depths at a time. See [`super::Kernel::turn`].
///
/// # Safety
/// As for [`super::Kernel::turn`].
pub(super) unsafe fn turn_2<E>(lines: &[*const E], depth: usize, ahead: isize, to: *mut E) -> bool {
    // SAFETY: the caller's promise; the elements are moved only.
    unsafe {
        match lines.len() {
            6 => turn_2_by_6(lines, depth, ahead, to),
            8 | 16 => turn_2_by_8s(lines, depth, ahead, to),
            _ => return false,
        }
    }
    true
}

/// Lines of single bytes, turned eight depths at a time. See [`super::Kernel::turn`].
///
/// # Safety
/// As for [`super::Kernel::turn`].
pub(super) unsafe fn turn_1<E>(lines: &[*const E], depth: usize, ahead: isize, to: *mut E) -> bool {
    // SAFETY: the caller's promise; the elements are moved only.
    unsafe {
        match lines.len() {
            8 | 16 => turn_1_by_8s(lines, depth, ahead, to),
            _ => return false,
        }
    }
    true
}

/// # Safety
/// As for [`super::Kernel::turn`], with 8 or 16 lines of single bytes.
#[target_feature(enable = "avx2")]
unsafe fn turn_1_by_8s<E>(lines: &[*const E], depth: usize, ahead: isize, to: *mut E) {
    let (width, whole) = (lines.len(), depth / 8 * 8);
    // SAFETY: the caller's promise.
    unsafe {
        for k in (0..whole).step_by(8) {
            for (half, lines) in lines.chunks_exact(8).enumerate() {
                let line = |i: usize| _mm_loadl_epi64(lines[i].add(k).cast());
                if ahead != 0 && k % 64 == 0 {
                    lines.iter().for_each(|line| _mm_prefetch(line.wrapping_offset(ahead).add(k).cast(), _MM_HINT_T0));
                }
                let pairs: [__m128i; 4] = std::array::from_fn(|i| _mm_unpacklo_epi8(line(2 * i), line(2 * i + 1)));
                let fours = [
                    [_mm_unpacklo_epi16(pairs[0], pairs[1]), _mm_unpacklo_epi16(pairs[2], pairs[3])],
                    [_mm_unpackhi_epi16(pairs[0], pairs[1]), _mm_unpackhi_epi16(pairs[2], pairs[3])],
                ];
                for (i, [a, b]) in fours.into_iter().enumerate() {
                    let to = to.add((k + 4 * i) * width + half * 8);
                    let (low, high) = (_mm_unpacklo_epi32(a, b), _mm_unpackhi_epi32(a, b));
                    _mm_storel_epi64(to.cast(), low);
                    _mm_storel_epi64(to.add(width).cast(), _mm_unpackhi_epi64(low, low));
                    _mm_storel_epi64(to.add(2 * width).cast(), high);
                    _mm_storel_epi64(to.add(3 * width).cast(), _mm_unpackhi_epi64(high, high));
                }
            }
        }
        rest(lines, whole, depth, to);
    }
}

/// One element at a time. See [`super::Kernel::turn_back`].
///
/// # Safety
/// As for [`super::Kernel::turn_back`].
pub(super) unsafe fn turn_back<E: Copy>(from: *const E, len: usize, lanes: &[*mut E]) {
    // SAFETY: the caller's promise.
    unsafe { plain::turn_back(from, 0, len, lanes) }
}

/// Elements of 4 bytes, turned eight at a time. See [`super::Kernel::turn_back`].
///
/// # Safety
/// As for [`super::Kernel::turn_back`].
#[target_feature(enable = "avx2")]
pub(super) unsafe fn turn_back_4(from: *const f32, len: usize, lanes: &[*mut f32]) {
    let whole = if lanes.len() == 16 { len / 8 * 8 } else { 0 };
    // SAFETY: the caller's promise.
    unsafe {
        for e in (0..whole).step_by(8) {
            for (half, lanes) in lanes.chunks_exact(8).enumerate() {
                let mut rows = [_mm256_setzero_ps(); 8];
                for (i, row) in rows.iter_mut().enumerate() {
                    *row = _mm256_loadu_ps(from.add((e + i) * 16 + half * 8));
                }
                for (&row, to) in transpose_8x8(rows).iter().zip(lanes) {
                    _mm256_storeu_ps(to.add(e), row);
                }
            }
        }
        plain::turn_back(from, whole, len, lanes);
    }
}

/// The depths from `from` on, one element at a time.
///
/// # Safety
/// As for [`super::Kernel::turn`].
#[inline(always)]
unsafe fn rest<E>(lines: &[*const E], from: usize, depth: usize, to: *mut E) {
    for k in from..depth {
        for (i, line) in lines.iter().enumerate() {
            // SAFETY: the caller's promise.
            unsafe { std::ptr::copy_nonoverlapping(line.add(k), to.add(k * lines.len() + i), 1) }
        }
    }
}

/// # Safety
/// As for [`super::Kernel::turn`], with 6 lines of 4-byte elements.
#[target_feature(enable = "avx2")]
unsafe fn turn_4_by_6<E>(lines: &[*const E], depth: usize, ahead: isize, to: *mut E) {
    let whole = depth / 8 * 8;
    // SAFETY: the caller's promise. A row of eight is written where six belong; what is too much is written over by the next
    // row, and the last row of a block is written without it.
    unsafe {
        for k in (0..whole).step_by(8) {
            let mut rows = [_mm256_setzero_ps(); 8];
            for (row, line) in rows.iter_mut().zip(lines) {
                _mm_prefetch::<_MM_HINT_T0>(line.wrapping_add(k).wrapping_offset(ahead).cast());
                *row = _mm256_loadu_ps(line.add(k).cast());
            }
            let turned = transpose_8x8(rows);
            for (j, &row) in turned[..7].iter().enumerate() {
                _mm256_storeu_ps(to.add((k + j) * 6).cast(), row);
            }
            let last = to.add((k + 7) * 6);
            _mm_storeu_ps(last.cast(), _mm256_castps256_ps128(turned[7]));
            _mm_storel_pd(last.add(4).cast(), _mm_castps_pd(_mm256_extractf128_ps::<1>(turned[7])));
        }
        rest(lines, whole, depth, to);
    }
}

/// # Safety
/// As for [`super::Kernel::turn`], with a multiple of 8 lines of 4-byte elements.
#[target_feature(enable = "avx2")]
unsafe fn turn_4_by_8s<E>(lines: &[*const E], depth: usize, ahead: isize, to: *mut E) {
    let whole = depth / 8 * 8;
    // SAFETY: the caller's promise.
    unsafe {
        // Two blocks of eight depths, which share cache lines, before the next eight lines.
        for first in (0..whole).step_by(16) {
            for (eight, lines_8) in lines.chunks_exact(8).enumerate() {
                for line in lines_8 {
                    _mm_prefetch::<_MM_HINT_T0>(line.wrapping_add(first).wrapping_offset(ahead).cast());
                }
                for k in (first..whole.min(first + 16)).step_by(8) {
                    let mut rows = [_mm256_setzero_ps(); 8];
                    for (row, line) in rows.iter_mut().zip(lines_8) {
                        *row = _mm256_loadu_ps(line.add(k).cast());
                    }
                    for (j, &row) in transpose_8x8(rows).iter().enumerate() {
                        _mm256_storeu_ps(to.add((k + j) * lines.len() + eight * 8).cast(), row);
                    }
                }
            }
        }
        rest(lines, whole, depth, to);
    }
}

/// # Safety
/// As for [`super::Kernel::turn`], with an even number of lines of 8-byte elements.
#[target_feature(enable = "avx2")]
unsafe fn turn_8_by_2s<E>(lines: &[*const E], depth: usize, ahead: isize, to: *mut E) {
    let whole = depth / 4 * 4;
    let (fours, two) = lines.split_at(lines.len() / 4 * 4);
    // SAFETY: the caller's promise.
    unsafe {
        for k in (0..whole).step_by(4) {
            for (four, lines_4) in fours.chunks_exact(4).enumerate() {
                let mut rows = [_mm256_setzero_pd(); 4];
                for (row, line) in rows.iter_mut().zip(lines_4) {
                    _mm_prefetch::<_MM_HINT_T0>(line.wrapping_add(k).wrapping_offset(ahead).cast());
                    *row = _mm256_loadu_pd(line.add(k).cast());
                }
                for (j, &row) in transpose_4x4(rows).iter().enumerate() {
                    _mm256_storeu_pd(to.add((k + j) * lines.len() + four * 4).cast(), row);
                }
            }
            if let [first, second] = two {
                let (x, y) = (_mm256_loadu_pd(first.add(k).cast()), _mm256_loadu_pd(second.add(k).cast()));
                let (even, odd) = (_mm256_unpacklo_pd(x, y), _mm256_unpackhi_pd(x, y));
                let to = to.add(k * lines.len() + fours.len());
                _mm_storeu_pd(to.cast(), _mm256_castpd256_pd128(even));
                _mm_storeu_pd(to.add(lines.len()).cast(), _mm256_castpd256_pd128(odd));
                _mm_storeu_pd(to.add(2 * lines.len()).cast(), _mm256_extractf128_pd::<1>(even));
                _mm_storeu_pd(to.add(3 * lines.len()).cast(), _mm256_extractf128_pd::<1>(odd));
            }
        }
        rest(lines, whole, depth, to);
    }
}

/// # Safety
/// As for [`super::Kernel::turn`], with 6 lines of 2-byte elements.
#[target_feature(enable = "avx2")]
unsafe fn turn_2_by_6<E>(lines: &[*const E], depth: usize, ahead: isize, to: *mut E) {
    let whole = depth / 8 * 8;
    // SAFETY: the caller's promise. As in `turn_4_by_6`, a row of eight is written where six belong.
    unsafe {
        for k in (0..whole).step_by(8) {
            let mut rows = [_mm_setzero_si128(); 8];
            for (row, line) in rows.iter_mut().zip(lines) {
                _mm_prefetch::<_MM_HINT_T0>(line.wrapping_add(k).wrapping_offset(ahead).cast());
                *row = _mm_loadu_si128(line.add(k).cast());
            }
            let turned = transpose_8x8_short(rows);
            for (j, &row) in turned[..7].iter().enumerate() {
                _mm_storeu_si128(to.add((k + j) * 6).cast(), row);
            }
            let last = to.add((k + 7) * 6);
            _mm_storel_epi64(last.cast(), turned[7]);
            last.add(4).cast::<i32>().write_unaligned(_mm_extract_epi32::<2>(turned[7]));
        }
        rest(lines, whole, depth, to);
    }
}

/// # Safety
/// As for [`super::Kernel::turn`], with a multiple of 8 lines of 2-byte elements.
#[target_feature(enable = "avx2")]
unsafe fn turn_2_by_8s<E>(lines: &[*const E], depth: usize, ahead: isize, to: *mut E) {
    let whole = depth / 8 * 8;
    // SAFETY: the caller's promise.
    unsafe {
        for k in (0..whole).step_by(8) {
            for (eight, lines_8) in lines.chunks_exact(8).enumerate() {
                let mut rows = [_mm_setzero_si128(); 8];
                for (row, line) in rows.iter_mut().zip(lines_8) {
                    _mm_prefetch::<_MM_HINT_T0>(line.wrapping_add(k).wrapping_offset(ahead).cast());
                    *row = _mm_loadu_si128(line.add(k).cast());
                }
                for (j, &row) in transpose_8x8_short(rows).iter().enumerate() {
                    _mm_storeu_si128(to.add((k + j) * lines.len() + eight * 8).cast(), row);
                }
            }
        }
        rest(lines, whole, depth, to);
    }
}

#[target_feature(enable = "avx2")]
#[inline]
pub(super) fn transpose_8x8(r: [__m256; 8]) -> [__m256; 8] {
    let pairs = |x, y| (_mm256_unpacklo_ps(x, y), _mm256_unpackhi_ps(x, y));
    let ((a0, a1), (a2, a3)) = (pairs(r[0], r[1]), pairs(r[2], r[3]));
    let ((a4, a5), (a6, a7)) = (pairs(r[4], r[5]), pairs(r[6], r[7]));
    let fours = |x, y| (_mm256_shuffle_ps::<0x44>(x, y), _mm256_shuffle_ps::<0xee>(x, y));
    let ((b0, b1), (b2, b3)) = (fours(a0, a2), fours(a1, a3));
    let ((b4, b5), (b6, b7)) = (fours(a4, a6), fours(a5, a7));
    let low = |x, y| _mm256_permute2f128_ps::<0x20>(x, y);
    let high = |x, y| _mm256_permute2f128_ps::<0x31>(x, y);
    [low(b0, b4), low(b1, b5), low(b2, b6), low(b3, b7), high(b0, b4), high(b1, b5), high(b2, b6), high(b3, b7)]
}

#[target_feature(enable = "avx2")]
#[inline]
pub(super) fn transpose_4x4(r: [__m256d; 4]) -> [__m256d; 4] {
    let (a0, a1) = (_mm256_unpacklo_pd(r[0], r[1]), _mm256_unpackhi_pd(r[0], r[1]));
    let (a2, a3) = (_mm256_unpacklo_pd(r[2], r[3]), _mm256_unpackhi_pd(r[2], r[3]));
    let low = |x, y| _mm256_permute2f128_pd::<0x20>(x, y);
    let high = |x, y| _mm256_permute2f128_pd::<0x31>(x, y);
    [low(a0, a2), low(a1, a3), high(a0, a2), high(a1, a3)]
}

#[target_feature(enable = "avx2")]
#[inline]
fn transpose_8x8_short(r: [__m128i; 8]) -> [__m128i; 8] {
    let ones = |x, y| (_mm_unpacklo_epi16(x, y), _mm_unpackhi_epi16(x, y));
    let ((a0, a1), (a2, a3)) = (ones(r[0], r[1]), ones(r[2], r[3]));
    let ((a4, a5), (a6, a7)) = (ones(r[4], r[5]), ones(r[6], r[7]));
    let twos = |x, y| (_mm_unpacklo_epi32(x, y), _mm_unpackhi_epi32(x, y));
    let ((b0, b1), (b2, b3)) = (twos(a0, a2), twos(a1, a3));
    let ((b4, b5), (b6, b7)) = (twos(a4, a6), twos(a5, a7));
    let fours = |x, y| [_mm_unpacklo_epi64(x, y), _mm_unpackhi_epi64(x, y)];
    let ([c0, c1], [c2, c3], [c4, c5], [c6, c7]) = (fours(b0, b4), fours(b1, b5), fours(b2, b6), fours(b3, b7));
    [c0, c1, c2, c3, c4, c5, c6, c7]
}
