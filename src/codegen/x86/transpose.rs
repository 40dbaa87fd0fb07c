//! Turns a tile of a matrix: what lies along its columns comes to lie along its rows.
//!
//! Vectors are read along the columns, turned in registers as square blocks, and written along the rows.

use std::arch::x86_64::*;

/// Turns a tile: `to[row][column] = from[column][row]` for all rows and columns. Rows of `to` are `to_step` bytes apart, columns of
/// `from` are `from_step` bytes apart; the elements of either lie side by side.
pub(super) type Transpose =
    unsafe fn(from: *const u8, from_step: isize, to: *mut u8, to_step: usize, rows: usize, columns: usize);

/// The function for elements of so many bytes: 1, 2, 4 or 8. All need AVX2.
///
/// # Safety
/// The functions are to be called on a machine with AVX2; the tile of `from` can be read, that of `to` written, and they do not overlap.
pub(super) fn of_size(size: usize) -> Transpose {
    match size {
        1 => blocks::<u8, 8>,
        2 => blocks::<u16, 8>,
        4 => blocks::<u32, 8>,
        _ => blocks::<u64, 4>,
    }
}

/// A piece of a matrix: rows of so many bytes at equal distances.
#[derive(Clone, Copy)]
pub(super) struct Piece {
    pub(super) start: *const u8,
    pub(super) apart: isize,
    pub(super) rows: usize,
    pub(super) bytes: usize,
}

/// Copies two pieces, row by row of each in turn: rows that crowd the same lines of a cache arrive twice as soon if others come between them.
///
/// # Safety
/// The machine has AVX2; the rows of the pieces can be read, and those where they go, `to_step` bytes apart, written; they do not overlap.
#[target_feature(enable = "avx2")]
pub(super) unsafe fn copy_rows(pieces: &[Piece; 2], to: [*mut u8; 2], to_step: usize) {
    for row in 0..pieces[0].rows.max(pieces[1].rows) {
        for (piece, to) in pieces.iter().zip(to).filter(|(piece, _)| row < piece.rows) {
            // SAFETY: the caller's promise.
            unsafe { copy_row(piece.start.offset(row as isize * piece.apart), to.add(row * to_step), piece.bytes) };
        }
    }
}

/// # Safety
/// As for [`copy_rows`].
#[inline]
#[target_feature(enable = "avx2")]
unsafe fn copy_row(from: *const u8, to: *mut u8, bytes: usize) {
    const VECTOR: usize = 32;
    let whole = bytes - bytes % (2 * VECTOR);
    // SAFETY: vectors and what is left behind them lie in the row, for which the caller vouches.
    unsafe {
        for at in (0..whole).step_by(2 * VECTOR) {
            let first = _mm256_loadu_si256(from.add(at).cast());
            let second = _mm256_loadu_si256(from.add(at + VECTOR).cast());
            _mm256_storeu_si256(to.add(at).cast(), first);
            _mm256_storeu_si256(to.add(at + VECTOR).cast(), second);
        }
        if whole < bytes {
            std::ptr::copy_nonoverlapping(from.add(whole), to.add(whole), bytes - whole);
        }
    }
}

/// An element, and how a square block of `N` rows is turned.
trait Element<const N: usize>: Copy {
    /// # Safety
    /// As for a [`Transpose`] of `N` rows and columns.
    unsafe fn block(from: *const u8, from_step: isize, to: *mut u8, to_step: usize);
}

/// # Safety
/// As for [`of_size`].
#[target_feature(enable = "avx2")]
unsafe fn blocks<T: Element<N>, const N: usize>(
    from: *const u8,
    from_step: isize,
    to: *mut u8,
    to_step: usize,
    rows: usize,
    columns: usize,
) {
    let size = size_of::<T>();
    let (whole_rows, whole_columns) = (rows - rows % N, columns - columns % N);
    // SAFETY: blocks and single elements lie in the tile, for which the caller vouches.
    unsafe {
        for column in (0..whole_columns).step_by(N) {
            let source = from.offset(column as isize * from_step);
            for row in (0..whole_rows).step_by(N) {
                T::block(source.add(row * size), from_step, to.add(row * to_step + column * size), to_step);
            }
        }
        let rest = |rows: std::ops::Range<usize>, columns: std::ops::Range<usize>| {
            for column in columns {
                for row in rows.clone() {
                    let source = from.offset(column as isize * from_step).cast::<T>().add(row);
                    *to.add(row * to_step).cast::<T>().add(column) = *source;
                }
            }
        };
        rest(whole_rows..rows, 0..whole_columns);
        rest(0..rows, whole_columns..columns);
    }
}

impl Element<8> for u8 {
    #[inline]
    #[target_feature(enable = "avx2")]
    unsafe fn block(from: *const u8, from_step: isize, to: *mut u8, to_step: usize) {
        // SAFETY: the caller's promise.
        unsafe {
            let column = |k: isize| _mm_loadl_epi64(from.offset(k * from_step).cast());
            let pairs = [0, 2, 4, 6].map(|k| _mm_unpacklo_epi8(column(k), column(k + 1)));
            let low = [0, 2].map(|k| _mm_unpacklo_epi16(pairs[k], pairs[k + 1]));
            let high = [0, 2].map(|k| _mm_unpackhi_epi16(pairs[k], pairs[k + 1]));
            let two_rows = [
                _mm_unpacklo_epi32(low[0], low[1]),
                _mm_unpackhi_epi32(low[0], low[1]),
                _mm_unpacklo_epi32(high[0], high[1]),
                _mm_unpackhi_epi32(high[0], high[1]),
            ];
            for (k, rows) in two_rows.into_iter().enumerate() {
                _mm_storel_epi64(to.add(2 * k * to_step).cast(), rows);
                _mm_storel_epi64(to.add((2 * k + 1) * to_step).cast(), _mm_unpackhi_epi64(rows, rows));
            }
        }
    }
}

impl Element<8> for u16 {
    #[inline]
    #[target_feature(enable = "avx2")]
    unsafe fn block(from: *const u8, from_step: isize, to: *mut u8, to_step: usize) {
        // SAFETY: the caller's promise.
        unsafe {
            let column = |k: isize| _mm_loadu_si128(from.offset(k * from_step).cast());
            let columns = [0, 1, 2, 3, 4, 5, 6, 7].map(column);
            let low = [0, 2, 4, 6].map(|k| _mm_unpacklo_epi16(columns[k], columns[k + 1]));
            let high = [0, 2, 4, 6].map(|k| _mm_unpackhi_epi16(columns[k], columns[k + 1]));
            for (half, pairs) in [low, high].into_iter().enumerate() {
                let first = [0, 2].map(|k| _mm_unpacklo_epi32(pairs[k], pairs[k + 1]));
                let second = [0, 2].map(|k| _mm_unpackhi_epi32(pairs[k], pairs[k + 1]));
                for (quarter, [left, right]) in [first, second].into_iter().enumerate() {
                    let row = to.add((4 * half + 2 * quarter) * to_step);
                    _mm_storeu_si128(row.cast(), _mm_unpacklo_epi64(left, right));
                    _mm_storeu_si128(row.add(to_step).cast(), _mm_unpackhi_epi64(left, right));
                }
            }
        }
    }
}

impl Element<8> for u32 {
    #[inline]
    #[target_feature(enable = "avx2")]
    unsafe fn block(from: *const u8, from_step: isize, to: *mut u8, to_step: usize) {
        // SAFETY: the caller's promise.
        unsafe {
            // Four elements of column k in the lower half, those of column k + 4 in the upper.
            let columns = |k: isize, half: isize| {
                let at = |k: isize| from.offset(k * from_step + 16 * half).cast::<f32>();
                _mm256_insertf128_ps(_mm256_castps128_ps256(_mm_loadu_ps(at(k))), _mm_loadu_ps(at(k + 4)), 1)
            };
            for half in 0..2 {
                let column = [0, 1, 2, 3].map(|k| columns(k, half));
                let low = [0, 2].map(|k| _mm256_unpacklo_ps(column[k], column[k + 1]));
                let high = [0, 2].map(|k| _mm256_unpackhi_ps(column[k], column[k + 1]));
                let row = to.add(4 * half as usize * to_step);
                let store = |k: usize, row_values: __m256| _mm256_storeu_ps(row.add(k * to_step).cast(), row_values);
                store(0, _mm256_shuffle_ps(low[0], low[1], 0b01_00_01_00));
                store(1, _mm256_shuffle_ps(low[0], low[1], 0b11_10_11_10));
                store(2, _mm256_shuffle_ps(high[0], high[1], 0b01_00_01_00));
                store(3, _mm256_shuffle_ps(high[0], high[1], 0b11_10_11_10));
            }
        }
    }
}

impl Element<4> for u64 {
    #[inline]
    #[target_feature(enable = "avx2")]
    unsafe fn block(from: *const u8, from_step: isize, to: *mut u8, to_step: usize) {
        // SAFETY: the caller's promise.
        unsafe {
            // Two elements of column k in the lower half, those of column k + 2 in the upper.
            let columns = |k: isize, half: isize| {
                let at = |k: isize| from.offset(k * from_step + 16 * half).cast::<f64>();
                _mm256_insertf128_pd(_mm256_castpd128_pd256(_mm_loadu_pd(at(k))), _mm_loadu_pd(at(k + 2)), 1)
            };
            for half in 0..2 {
                let [first, second] = [0, 1].map(|k| columns(k, half));
                let row = to.add(2 * half as usize * to_step);
                _mm256_storeu_pd(row.cast(), _mm256_unpacklo_pd(first, second));
                _mm256_storeu_pd(row.add(to_step).cast(), _mm256_unpackhi_pd(first, second));
            }
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::codegen::x86::machine;

    pub(in super::super) fn turns_any_tile<T: Copy + PartialEq + std::fmt::Debug>(
        value: impl Fn(usize) -> T,
        of_size: impl Fn(usize) -> Transpose,
    ) {
        for rows in [1, 3, 4, 7, 8, 9, 16, 31, 33] {
            for columns in [1, 2, 4, 7, 8, 9, 24, 40] {
                let (from_step, to_step) = (rows + 3, columns + 5);
                let from: Vec<T> = (0..columns * from_step).map(&value).collect();
                let mut to = vec![value(0); rows * to_step];
                let size = size_of::<T>();
                let (source, target) = (from.as_ptr().cast(), to.as_mut_ptr().cast());
                // SAFETY: the machine was asked, and both have room for the tile.
                unsafe {
                    let turn = of_size(size);
                    turn(source, (from_step * size) as isize, target, to_step * size, rows, columns);
                }
                for row in 0..rows {
                    for column in 0..to_step {
                        let expected = if column < columns { from[column * from_step + row] } else { value(0) };
                        assert_eq!(to[row * to_step + column], expected, "{rows} x {columns}");
                    }
                }
            }
        }
    }

    #[test]
    fn tiles_of_every_size_are_turned() {
        if machine() {
            turns_any_tile(|k| (k % 251) as u8, of_size);
            turns_any_tile(|k| k as u16, of_size);
            turns_any_tile(|k| k as u32, of_size);
            turns_any_tile(|k| k as u64, of_size);
        }
    }
}
