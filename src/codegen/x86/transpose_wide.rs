//! Turns a tile of a matrix in registers of 512 bits: square blocks with a cache line a side, which is read whole and written whole.

use super::transpose::{self, Transpose};
use std::arch::x86_64::*;

/// The function for elements of 4 or 8 bytes; it may store past the caches. All need AVX-512.
///
/// # Safety
/// As for [`transpose::of_size`], on a machine with AVX-512. What is stored past the caches begins on a cache line in every row.
pub(super) fn of_size(size: usize, past_caches: bool) -> Option<Transpose> {
    match (size, past_caches) {
        (4, false) => Some(blocks::<u32, 16, false>),
        (4, true) => Some(blocks::<u32, 16, true>),
        (8, false) => Some(blocks::<u64, 8, false>),
        (8, true) => Some(blocks::<u64, 8, true>),
        _ => None,
    }
}

/// An element, of which `N` fill a cache line.
trait Element<const N: usize>: Copy {
    /// The rows of a block whose columns are read.
    ///
    /// # Safety
    /// As for a [`Transpose`] of `N` rows and columns.
    unsafe fn turned(from: *const u8, from_step: isize) -> [__m512d; N];
}

/// # Safety
/// As for [`of_size`].
#[target_feature(enable = "avx512f")]
unsafe fn blocks<T: Element<N>, const N: usize, const PAST_CACHES: bool>(
    from: *const u8,
    from_step: isize,
    to: *mut u8,
    to_step: usize,
    rows: usize,
    columns: usize,
) {
    let size = size_of::<T>();
    let (whole_rows, whole_columns) = (rows - rows % N, columns - columns % N);
    let column_at = |column: usize| from.wrapping_offset(column as isize * from_step);
    // SAFETY: blocks and what is left beside them lie in the tile, for which the caller vouches.
    unsafe {
        for row in (0..whole_rows).step_by(N) {
            for column in (0..whole_columns).step_by(N) {
                let to = to.add(row * to_step + column * size);
                for (k, line) in T::turned(column_at(column).add(row * size), from_step).into_iter().enumerate() {
                    let to = to.add(k * to_step).cast();
                    if PAST_CACHES { _mm512_stream_pd(to, line) } else { _mm512_storeu_pd(to, line) }
                }
            }
        }
        let narrow = transpose::of_size(size);
        if whole_rows < rows && whole_columns > 0 {
            let from = from.add(whole_rows * size);
            narrow(from, from_step, to.add(whole_rows * to_step), to_step, rows - whole_rows, whole_columns);
        }
        if whole_columns < columns {
            let to = to.add(whole_columns * size);
            narrow(column_at(whole_columns), from_step, to, to_step, rows, columns - whole_columns);
        }
    }
}

/// The first and third quarter of two registers.
#[inline]
#[target_feature(enable = "avx512f")]
fn even(x: __m512d, y: __m512d) -> __m512d {
    _mm512_shuffle_f64x2::<0b10_00_10_00>(x, y)
}

/// The second and fourth quarter of two registers.
#[inline]
#[target_feature(enable = "avx512f")]
fn odd(x: __m512d, y: __m512d) -> __m512d {
    _mm512_shuffle_f64x2::<0b11_01_11_01>(x, y)
}

impl Element<16> for u32 {
    #[inline]
    #[target_feature(enable = "avx512f")]
    unsafe fn turned(from: *const u8, from_step: isize) -> [__m512d; 16] {
        // SAFETY: the caller's promise.
        let column = |k: usize| unsafe { _mm512_loadu_ps(from.offset(k as isize * from_step).cast()) };
        let columns: [__m512; 16] = std::array::from_fn(column);
        // Of columns 4g to 4g + 3, row j of each quarter.
        let fours: [[__m512d; 4]; 4] = std::array::from_fn(|group| {
            let four = &columns[4 * group..4 * group + 4];
            let low = [0, 2].map(|k| _mm512_castps_pd(_mm512_unpacklo_ps(four[k], four[k + 1])));
            let high = [0, 2].map(|k| _mm512_castps_pd(_mm512_unpackhi_ps(four[k], four[k + 1])));
            [
                _mm512_unpacklo_pd(low[0], low[1]),
                _mm512_unpackhi_pd(low[0], low[1]),
                _mm512_unpacklo_pd(high[0], high[1]),
                _mm512_unpackhi_pd(high[0], high[1]),
            ]
        });
        let mut rows = [_mm512_setzero_pd(); 16];
        for j in 0..4 {
            let [first, second] = [0, 2].map(|group| (fours[group][j], fours[group + 1][j]));
            let evens = (even(first.0, first.1), even(second.0, second.1));
            let odds = (odd(first.0, first.1), odd(second.0, second.1));
            rows[j] = even(evens.0, evens.1);
            rows[4 + j] = even(odds.0, odds.1);
            rows[8 + j] = odd(evens.0, evens.1);
            rows[12 + j] = odd(odds.0, odds.1);
        }
        rows
    }
}

impl Element<8> for u64 {
    #[inline]
    #[target_feature(enable = "avx512f")]
    unsafe fn turned(from: *const u8, from_step: isize) -> [__m512d; 8] {
        // SAFETY: the caller's promise.
        let column = |k: usize| unsafe { _mm512_loadu_pd(from.offset(k as isize * from_step).cast()) };
        let columns: [__m512d; 8] = std::array::from_fn(column);
        // Of columns 2g and 2g + 1, row j of each quarter.
        let twos: [[__m512d; 2]; 4] = std::array::from_fn(|group| {
            let (first, second) = (columns[2 * group], columns[2 * group + 1]);
            [_mm512_unpacklo_pd(first, second), _mm512_unpackhi_pd(first, second)]
        });
        let mut rows = [_mm512_setzero_pd(); 8];
        for j in 0..2 {
            let evens = (even(twos[0][j], twos[1][j]), even(twos[2][j], twos[3][j]));
            let odds = (odd(twos[0][j], twos[1][j]), odd(twos[2][j], twos[3][j]));
            rows[j] = even(evens.0, evens.1);
            rows[2 + j] = even(odds.0, odds.1);
            rows[4 + j] = odd(evens.0, evens.1);
            rows[6 + j] = odd(odds.0, odds.1);
        }
        rows
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codegen::x86::is_wide_machine;
    use crate::codegen::x86::transpose::tests::turns_any_tile;

    #[test]
    fn tiles_of_every_size_are_turned_in_wide_registers() {
        if is_wide_machine() {
            turns_any_tile(|k| k as u32, |size| of_size(size, false).expect("4 bytes"));
            turns_any_tile(|k| k as u64, |size| of_size(size, false).expect("8 bytes"));
        }
    }

    #[test]
    fn other_elements_have_no_wide_registers() {
        assert!(of_size(1, false).is_none() && of_size(2, true).is_none());
    }
}
