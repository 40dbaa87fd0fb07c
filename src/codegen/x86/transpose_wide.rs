//! Turns a tile of a matrix in registers of 512 bits: square blocks with a cache line a side, which is read whole and written whole.

use super::tiled::{Ahead, LINE};
use super::transpose::{self, Transpose};
use std::arch::x86_64::*;

/// Where what is turned goes.
#[derive(Clone, Copy, Debug)]
pub(super) enum To {
    /// To what is at hand. It is written in any order: memory is better read along its rows.
    Scratch,
    /// It is written along its rows.
    Rows,
}

const SCRATCH: u8 = 0;
const ROWS: u8 = 1;
const MEMORY: u8 = 2;

/// Turns a tile past the caches, and asks for what comes next as it goes, a line for each that it stores: what is asked for all at once is
/// forgotten by a machine that has no room to note it. All rows begin on cache lines; whoever is to see them has to wait
/// ([`super::stream::finish`]).
///
/// # Safety
/// As for [`Transpose`], on a machine with AVX-512.
pub(super) type ToMemory =
    unsafe fn(from: *const u8, from_step: isize, to: *mut u8, to_step: usize, tile: [usize; 2], ahead: Ahead);

/// The function for elements of 4 or 8 bytes.
///
/// # Safety
/// See [`ToMemory`].
pub(super) fn to_memory(size: usize) -> Option<ToMemory> {
    match size {
        4 => Some(words_to_memory),
        8 => Some(doubles_to_memory),
        _ => None,
    }
}

/// The function for elements of 4 or 8 bytes. All need AVX-512.
///
/// # Safety
/// As for [`transpose::of_size`], on a machine with AVX-512.
pub(super) fn of_size(size: usize, to: To) -> Option<Transpose> {
    match (size, to) {
        (4, To::Scratch) => Some(words::<SCRATCH>),
        (4, To::Rows) => Some(words::<ROWS>),
        (8, To::Scratch) => Some(doubles::<SCRATCH>),
        (8, To::Rows) => Some(doubles::<ROWS>),
        _ => None,
    }
}

/// Copies pieces as [`transpose::copy_rows`] does, of so many rows of so many cache lines, into rows that lie side by side.
///
/// # Safety
/// As there, on a machine with AVX-512; scratch begins on cache lines.
#[target_feature(enable = "avx512f")]
pub(super) unsafe fn copy_lines<const LINES: usize, const PIECES: usize>(
    from: [*const u8; PIECES],
    apart: isize,
    rows: usize,
    to: [*mut u8; PIECES],
) {
    let (mut from, mut to) = (from, to);
    for _ in 0..rows {
        for (from, to) in from.iter().zip(to) {
            for line in 0..LINES {
                // SAFETY: the caller's promise.
                unsafe { _mm512_store_pd(to.add(line * LINE).cast(), _mm512_loadu_pd(from.add(line * LINE).cast())) };
            }
        }
        from = from.map(|from| from.wrapping_offset(apart));
        to = to.map(|to| to.wrapping_add(LINES * LINE));
    }
}

/// The function for one kind of element, of which `$n` fill a cache line; `$turned` are the rows of a block whose columns are given. All of it is one
/// function: what is not inlined would go through memory.
macro_rules! blocks {
    ($any:ident, $name:ident, $to_memory:ident, $element:ty, $n:literal, $columns:ident => $turned:block) => {
        /// # Safety
        /// As for [`of_size`].
        #[target_feature(enable = "avx512f")]
        unsafe fn $name<const TO: u8>(
            from: *const u8,
            from_step: isize,
            to: *mut u8,
            to_step: usize,
            rows: usize,
            columns: usize,
        ) {
            // SAFETY: the caller's promise.
            unsafe { $any::<TO>(from, from_step, to, to_step, [rows, columns], || from) }
        }

        /// # Safety
        /// As for [`to_memory`].
        #[target_feature(enable = "avx512f")]
        unsafe fn $to_memory(
            from: *const u8,
            from_step: isize,
            to: *mut u8,
            to_step: usize,
            tile: [usize; 2],
            mut ahead: Ahead,
        ) {
            // SAFETY: the caller's promise.
            unsafe { $any::<MEMORY>(from, from_step, to, to_step, tile, || ahead.take_lines($n)) }
        }

        /// # Safety
        /// As for the two above.
        #[inline]
        #[target_feature(enable = "avx512f")]
        unsafe fn $any<const TO: u8>(
            from: *const u8,
            from_step: isize,
            to: *mut u8,
            to_step: usize,
            [rows, columns]: [usize; 2],
            mut soon: impl FnMut() -> *const u8,
        ) {
            const SIZE: usize = size_of::<$element>();
            let (whole_rows, whole_columns) = (rows - rows % $n, columns - columns % $n);
            // SAFETY: blocks and what is left beside them lie in the tile, for which the caller vouches.
            unsafe {
                let (down, across) = (whole_rows / $n, whole_columns / $n);
                let (outers, inners) = if TO == SCRATCH { (across, down) } else { (down, across) };
                for outer in 0..outers {
                    for inner in 0..inners {
                        let (row, column) = if TO == SCRATCH { (inner, outer) } else { (outer, inner) };
                        let (row, column) = (row * $n, column * $n);
                        let soon = soon();
                        let from = from.offset(column as isize * from_step).add(row * SIZE);
                        let mut $columns = [_mm512_setzero_pd(); $n];
                        for k in 0..$n {
                            $columns[k] = _mm512_loadu_pd(from.offset(k as isize * from_step).cast());
                        }
                        let turned: [__m512d; $n] = $turned;
                        let to = to.add(row * to_step + column * SIZE);
                        for k in 0..$n {
                            match TO {
                                MEMORY => _mm512_stream_pd(to.add(k * to_step).cast(), turned[k]),
                                _ => _mm512_storeu_pd(to.add(k * to_step).cast(), turned[k]),
                            }
                            if TO == MEMORY {
                                _mm_prefetch::<_MM_HINT_T1>(soon.wrapping_add(k * LINE).cast());
                            }
                        }
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

blocks!(any_words, words, words_to_memory, u32, 16, columns => {
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

blocks!(any_doubles, doubles, doubles_to_memory, u64, 8, columns => {
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
            for to in [To::Scratch, To::Rows] {
                turns_any_tile(|k| k as u32, |size| of_size(size, to).expect("4 bytes"));
                turns_any_tile(|k| k as u64, |size| of_size(size, to).expect("8 bytes"));
            }
        }
    }

    #[test]
    fn other_elements_have_no_wide_registers() {
        assert!(of_size(1, To::Rows).is_none() && of_size(2, To::Scratch).is_none());
    }
}
