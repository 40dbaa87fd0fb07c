//! Turns a tile of a matrix in registers of 512 bits: square blocks with a cache line a side, which is read whole and written whole.

use super::transpose::{self, Transpose};
use std::arch::x86_64::*;

/// The function for elements of 4 or 8 bytes. What goes to scratch, which is at hand, is written in any order: memory is better read along its
/// rows. Otherwise it is written along its rows. All need AVX-512.
///
/// # Safety
/// As for [`transpose::of_size`], on a machine with AVX-512.
pub(super) fn of_size(size: usize, to_scratch: bool) -> Option<Transpose> {
    match (size, to_scratch) {
        (4, false) => Some(words::<false>),
        (4, true) => Some(words::<true>),
        (8, false) => Some(doubles::<false>),
        (8, true) => Some(doubles::<true>),
        _ => None,
    }
}

/// The function for one kind of element, of which `$n` fill a cache line; `$turned` are the rows of a block whose columns are given. All of it is one
/// function: what is not inlined would go through memory.
macro_rules! blocks {
    ($name:ident, $element:ty, $n:literal, $columns:ident => $turned:block) => {
        /// # Safety
        /// As for [`of_size`].
        #[target_feature(enable = "avx512f")]
        unsafe fn $name<const TO_SCRATCH: bool>(
            from: *const u8,
            from_step: isize,
            to: *mut u8,
            to_step: usize,
            rows: usize,
            columns: usize,
        ) {
            const SIZE: usize = size_of::<$element>();
            let (whole_rows, whole_columns) = (rows - rows % $n, columns - columns % $n);
            // SAFETY: blocks and what is left beside them lie in the tile, for which the caller vouches.
            unsafe {
                let (down, across) = (whole_rows / $n, whole_columns / $n);
                for block in 0..down * across {
                    let (row, column) = match TO_SCRATCH {
                        true => (block % down * $n, block / down * $n),
                        false => (block / across * $n, block % across * $n),
                    };
                    let from = from.offset(column as isize * from_step).add(row * SIZE);
                    let mut $columns = [_mm512_setzero_pd(); $n];
                    for k in 0..$n {
                        $columns[k] = _mm512_loadu_pd(from.offset(k as isize * from_step).cast());
                    }
                    let turned: [__m512d; $n] = $turned;
                    let to = to.add(row * to_step + column * SIZE);
                    for k in 0..$n {
                        _mm512_storeu_pd(to.add(k * to_step).cast(), turned[k]);
                    }
                }
                let narrow = transpose::of_size(SIZE);
                if whole_rows < rows && whole_columns > 0 {
                    let from = from.add(whole_rows * SIZE);
                    narrow(from, from_step, to.add(whole_rows * to_step), to_step, rows - whole_rows, whole_columns);
                }
                if whole_columns < columns {
                    let from = from.offset(whole_columns as isize * from_step);
                    narrow(from, from_step, to.add(whole_columns * SIZE), to_step, rows, columns - whole_columns);
                }
            }
        }
    };
}

/// The first and third quarter of two registers.
macro_rules! even {
    ($x:expr, $y:expr) => {
        _mm512_shuffle_f64x2::<0b10_00_10_00>($x, $y)
    };
}

/// The second and fourth quarter of two registers.
macro_rules! odd {
    ($x:expr, $y:expr) => {
        _mm512_shuffle_f64x2::<0b11_01_11_01>($x, $y)
    };
}

blocks!(words, u32, 16, columns => {
    // Of columns 4g to 4g + 3, row j of each quarter.
    let mut fours = [[_mm512_setzero_pd(); 4]; 4];
    for (group, four) in fours.iter_mut().enumerate() {
        let mut pairs = [_mm512_setzero_pd(); 4];
        for k in 0..2 {
            let first = 4 * group + 2 * k;
            let (x, y) = (_mm512_castpd_ps(columns[first]), _mm512_castpd_ps(columns[first + 1]));
            pairs[k] = _mm512_castps_pd(_mm512_unpacklo_ps(x, y));
            pairs[2 + k] = _mm512_castps_pd(_mm512_unpackhi_ps(x, y));
        }
        for k in 0..2 {
            four[2 * k] = _mm512_unpacklo_pd(pairs[2 * k], pairs[2 * k + 1]);
            four[2 * k + 1] = _mm512_unpackhi_pd(pairs[2 * k], pairs[2 * k + 1]);
        }
    }
    let mut rows = [_mm512_setzero_pd(); 16];
    for j in 0..4 {
        let evens = (even!(fours[0][j], fours[1][j]), even!(fours[2][j], fours[3][j]));
        let odds = (odd!(fours[0][j], fours[1][j]), odd!(fours[2][j], fours[3][j]));
        rows[j] = even!(evens.0, evens.1);
        rows[4 + j] = even!(odds.0, odds.1);
        rows[8 + j] = odd!(evens.0, evens.1);
        rows[12 + j] = odd!(odds.0, odds.1);
    }
    rows
});

blocks!(doubles, u64, 8, columns => {
    // Of columns 2g and 2g + 1, row j of each quarter.
    let mut twos = [[_mm512_setzero_pd(); 2]; 4];
    for (group, two) in twos.iter_mut().enumerate() {
        two[0] = _mm512_unpacklo_pd(columns[2 * group], columns[2 * group + 1]);
        two[1] = _mm512_unpackhi_pd(columns[2 * group], columns[2 * group + 1]);
    }
    let mut rows = [_mm512_setzero_pd(); 8];
    for j in 0..2 {
        let evens = (even!(twos[0][j], twos[1][j]), even!(twos[2][j], twos[3][j]));
        let odds = (odd!(twos[0][j], twos[1][j]), odd!(twos[2][j], twos[3][j]));
        rows[j] = even!(evens.0, evens.1);
        rows[2 + j] = even!(odds.0, odds.1);
        rows[4 + j] = odd!(evens.0, evens.1);
        rows[6 + j] = odd!(odds.0, odds.1);
    }
    rows
});

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codegen::x86::is_wide_machine;
    use crate::codegen::x86::transpose::tests::turns_any_tile;

    #[test]
    fn tiles_of_every_size_are_turned_in_wide_registers() {
        if is_wide_machine() {
            turns_any_tile(|k| k as u32, |size| of_size(size, false).expect("4 bytes"));
            turns_any_tile(|k| k as u32, |size| of_size(size, true).expect("4 bytes"));
            turns_any_tile(|k| k as u64, |size| of_size(size, false).expect("8 bytes"));
            turns_any_tile(|k| k as u64, |size| of_size(size, true).expect("8 bytes"));
        }
    }

    #[test]
    fn other_elements_have_no_wide_registers() {
        assert!(of_size(1, false).is_none() && of_size(2, true).is_none());
    }
}
