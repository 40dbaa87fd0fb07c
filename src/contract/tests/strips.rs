//! Strips give the bits of whole products, and leave out what they are told to.

use super::naive::{Case, Dice, Extras, Layout, Memory, numbers, run};
use crate::contract::{Strip, StripRun};
use crate::dtype::{DType, TensorDType};
use std::ops::Range;

/// The result by row and column, some rows at a time; what was not computed is 99.
fn strips<T: TensorDType>(case: &Case, [left, right]: [&[T]; 2], step: usize, ranges: [Range<usize>; 2]) -> Vec<f64> {
    let strip = Strip::new(&case.c).expect("a case for strips");
    let [rows, cols] = [&case.c.rows, &case.c.cols].map(|sizes| sizes.iter().product::<usize>());
    let mut out = vec![T::from_f64(99.0); case.out_len];
    let mut packed = Memory::new(strip.packed_bytes(), 0xff);
    let packed = packed.start();
    // SAFETY: the buffers are as long as the strides need, packed as long as the strip says.
    unsafe { strip.pack(right.as_ptr().cast(), packed) };
    for row in (0..rows).step_by(step) {
        let [cols, depth] = ranges.clone();
        let run = StripRun {
            left: left.as_ptr().wrapping_offset(row as isize * case.c.left.strides[0] as isize).cast(),
            out: out.as_mut_ptr().wrapping_offset(row as isize * case.c.out[0] as isize).cast(),
            packed,
            rows: (rows - row).min(step),
            cols,
            depth,
        };
        // SAFETY: as above.
        unsafe { strip.run(&run) };
    }
    (0..rows * cols).map(|i| out[i / cols * case.c.out[0] as usize + i % cols].to_f64()).collect()
}

fn check<T: TensorDType>(sizes: [usize; 3], layouts: [Layout; 2], dice: &mut Dice) {
    let case = Case::matrices(T::DTYPE, sizes, [layouts[0], layouts[1], Layout::Dense]);
    let third = |len: usize, seed: u64| -> Vec<T> {
        numbers::<f64>(len, seed).into_iter().map(|value| T::from_f64(value / 3.0)).collect()
    };
    let (mut left, right) = (third(case.left_len, 1), third(case.right_len, 2));
    let [m, n, k] = sizes;
    let step = 1 + dice.below(m + 5);
    let whole = run(&case, &left, &right, Extras::default());
    if m > 1 && n > 1 {
        assert_eq!(strips(&case, [&left, &right], step, [0..n, 0..k]), whole, "{sizes:?} {layouts:?} {step}");
    }
    // Depth that is left out is as if it were multiplied by 0; columns that are asked for are those of the whole.
    let mut part = |size: usize| {
        let first = dice.below(size);
        first..first + 1 + dice.below(size - first)
    };
    let (cols, depth) = (part(n), part(k));
    let found = strips(&case, [&left, &right], step, [cols.clone(), depth.clone()]);
    for (row, at) in (0..m).flat_map(|row| (0..k).map(move |at| (row, at))).filter(|(_, at)| !depth.contains(at)) {
        let side = &case.c.left;
        left[(side.offset + row as i64 * side.strides[0] + at as i64 * side.strides[1]) as usize] = T::from_f64(0.0);
    }
    let expected = strips(&case, [&left, &right], step, [0..n, 0..k]);
    for (i, (found, expected)) in found.iter().zip(&expected).enumerate() {
        assert!(!cols.contains(&(i % n)) || found == expected, "{sizes:?} {layouts:?} {cols:?} {depth:?}: {i}");
    }
}

#[test]
fn strips_are_rows_of_the_product() {
    let mut dice = Dice::new(5);
    let layouts = [Layout::Dense, Layout::Turned, Layout::Loose];
    for sizes in [
        [1, 1, 1],
        [7, 15, 64],
        [48, 64, 300],
        [50, 100, 16],
        [13, 33, 700],
        [20, 40, 1100],
        [100, 17, 257],
        [6, 16, 256],
    ] {
        for left in layouts {
            for right in layouts {
                check::<f32>(sizes, [left, right], &mut dice);
                check::<f64>(sizes, [left, right], &mut dice);
            }
        }
    }
}

#[test]
fn what_is_widened_is_no_case_for_strips() {
    for dtype in [DType::F16, DType::BF16, DType::I32, DType::U8] {
        assert!(Strip::new(&Case::matrices(dtype, [8, 16, 16], [Layout::Dense; 3]).c).is_none());
    }
    // Neither is a result whose columns lie apart.
    assert!(
        Strip::new(&Case::matrices(DType::F32, [8, 16, 16], [Layout::Dense, Layout::Dense, Layout::Turned]).c)
            .is_none()
    );
}
