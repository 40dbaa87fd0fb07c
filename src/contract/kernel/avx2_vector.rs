//! Products of a matrix and a vector: nothing is read twice, so these keep up with memory.

use super::avx2::Lanes;
use super::element::Number;
use super::plain;
use std::arch::x86_64::{_MM_HINT_T1, _mm_prefetch};

/// See [`super::Kernel::add_rows`].
///
/// # Safety
/// As for [`super::Kernel::add_rows`].
pub(super) unsafe fn add_rows<A: Lanes>(x: *const A, rows: &[*const A], ahead: isize, sums: *mut A, len: usize) {
    // SAFETY: the caller's promise.
    unsafe {
        match rows.len() {
            8 => add_rows_of::<A, 8>(x, rows, ahead, sums, len),
            _ => (0..rows.len()).for_each(|r| add_rows_of::<A, 1>(x.add(r), &[rows[r]], 0, sums, len)),
        }
    }
}

/// `R` rows. All of them are read at once, a cache line of each.
///
/// # Safety
/// As for [`super::Kernel::add_rows`].
#[target_feature(enable = "avx2,fma")]
unsafe fn add_rows_of<A: Lanes, const R: usize>(
    x: *const A,
    rows: &[*const A],
    ahead: isize,
    sums: *mut A,
    len: usize,
) {
    let whole = len / 16 * 16;
    // SAFETY: the caller's promise.
    unsafe {
        let mut factors = [A::zero(); R];
        let mut from = [rows[0]; R];
        for r in 0..R {
            (factors[r], from[r]) = (A::splat(x.add(r)), rows[r]);
        }
        for start in (0..whole).step_by(16) {
            let mut all = [A::zero(); 4];
            let all = &mut all[..16 / A::LANES];
            for (v, sum) in all.iter_mut().enumerate() {
                *sum = A::load(sums.add(start + v * A::LANES));
            }
            for (&factor, row) in factors.iter().zip(&from) {
                _mm_prefetch::<_MM_HINT_T1>(row.wrapping_add(start).wrapping_offset(ahead).cast());
                for (v, sum) in all.iter_mut().enumerate() {
                    *sum = A::fused(factor, A::load(row.add(start + v * A::LANES)), *sum);
                }
            }
            for (v, &sum) in all.iter().enumerate() {
                A::store(sums.add(start + v * A::LANES), sum);
            }
        }
        for j in whole..len {
            for (r, row) in from.iter().enumerate() {
                *sums.add(j) = A::fused_one(*x.add(r), *row.add(j), *sums.add(j));
            }
        }
    }
}

/// See [`super::Kernel::add_lines`].
///
/// # Safety
/// As for [`super::Kernel::add_lines`].
pub(super) unsafe fn add_lines<A: Lanes, const N: usize>(x: *const A, lines: &[*const A], depth: usize, sums: *mut A) {
    // SAFETY: the caller's promise. Vectors of the sums of a line: 1 to 8.
    unsafe {
        match (N / A::LANES, lines.len()) {
            (1, 4) => add_lines_of::<A, 4, 1, N>(x, lines, depth, sums),
            (1, _) => lines.iter().enumerate().for_each(|(i, &line)| {
                add_lines_of::<A, 1, 1, N>(x, &[line], depth, sums.add(i * N));
            }),
            (2, 4) => add_lines_of::<A, 4, 2, N>(x, lines, depth, sums),
            (2, _) => lines.iter().enumerate().for_each(|(i, &line)| {
                add_lines_of::<A, 1, 2, N>(x, &[line], depth, sums.add(i * N));
            }),
            (4, _) => lines.iter().enumerate().for_each(|(i, &line)| {
                add_lines_of::<A, 1, 4, N>(x, &[line], depth, sums.add(i * N));
            }),
            _ => lines.iter().enumerate().for_each(|(i, &line)| {
                add_lines_of::<A, 1, 8, N>(x, &[line], depth, sums.add(i * N));
            }),
        }
    }
}

/// `L` lines, the sums of each in `V` vectors.
///
/// # Safety
/// As for [`super::Kernel::add_lines`].
#[target_feature(enable = "avx2,fma")]
unsafe fn add_lines_of<A: Lanes, const L: usize, const V: usize, const N: usize>(
    x: *const A,
    lines: &[*const A],
    depth: usize,
    sums: *mut A,
) {
    let whole = depth / N * N;
    // SAFETY: the caller's promise; `V` vectors hold `N` numbers.
    unsafe {
        let mut from = [lines[0]; L];
        let mut lanes = [[A::zero(); V]; L];
        for (i, lanes) in lanes.iter_mut().enumerate() {
            from[i] = lines[i];
            for (v, lanes) in lanes.iter_mut().enumerate() {
                *lanes = A::load(sums.add(i * N + v * A::LANES));
            }
        }
        for k in (0..whole).step_by(N) {
            let mut factors = [A::zero(); V];
            for (v, factors) in factors.iter_mut().enumerate() {
                *factors = A::load(x.add(k + v * A::LANES));
            }
            for (line, lanes) in from.iter().zip(&mut lanes) {
                for (v, (lanes, &factors)) in lanes.iter_mut().zip(&factors).enumerate() {
                    *lanes = A::fused(factors, A::load(line.add(k + v * A::LANES)), *lanes);
                }
            }
        }
        for (i, (line, lanes)) in from.iter().zip(&lanes).enumerate() {
            for (v, &lanes) in lanes.iter().enumerate() {
                A::store(sums.add(i * N + v * A::LANES), lanes);
            }
            for k in whole..depth {
                let sum = sums.add(i * N + k % N);
                *sum = A::fused_one(*x.add(k), *line.add(k), *sum);
            }
        }
    }
}

/// See [`super::Kernel::add_rows`].
///
/// # Safety
/// As for [`super::Kernel::add_rows`].
#[target_feature(enable = "avx2")]
pub(super) unsafe fn add_integer_rows<A: Number>(
    x: *const A,
    rows: &[*const A],
    _ahead: isize,
    sums: *mut A,
    len: usize,
) {
    // SAFETY: the caller's promise.
    unsafe { plain::add_rows(x, rows, sums, len) }
}

/// See [`super::Kernel::add_lines`].
///
/// # Safety
/// As for [`super::Kernel::add_lines`].
#[target_feature(enable = "avx2")]
pub(super) unsafe fn add_integer_lines<A: Number, const N: usize>(
    x: *const A,
    lines: &[*const A],
    depth: usize,
    sums: *mut A,
) {
    // SAFETY: the caller's promise.
    unsafe { plain::add_lines::<A, N>(x, lines, depth, sums) }
}
