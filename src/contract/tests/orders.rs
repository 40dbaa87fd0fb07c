//! Results do not depend on the order of parts, on strides, or on what follows.

use super::naive::{Case, Extras, Layout, numbers, run};
use crate::contract::plan;
use crate::dtype::DType;

/// The bits of a result of fractions that f32 must round.
fn bits(sizes: [usize; 3], layouts: [Layout; 3], extras: Extras) -> Vec<u64> {
    let case = Case::matrices(DType::F32, sizes, layouts);
    let [m, n, k] = sizes;
    let value = |i: usize| (numbers::<f64>(64, i as u64 / 64 + 7)[i % 64] / 3.0) as f32;
    let mut left = vec![0f32; case.left_len];
    let mut right = vec![0f32; case.right_len];
    for depth in 0..k {
        for row in 0..m {
            let at = case.c.left.offset + row as i64 * case.c.left.strides[0] + depth as i64 * case.c.left.strides[1];
            left[at as usize] = value(row * k + depth);
        }
        for col in 0..n {
            let at =
                case.c.right.offset + col as i64 * case.c.right.strides[0] + depth as i64 * case.c.right.strides[1];
            right[at as usize] = value(depth * n + col + 1000);
        }
    }
    run(&case, &left, &right, extras).into_iter().map(f64::to_bits).collect()
}

#[test]
fn the_same_bits_for_every_layout_and_order_of_parts() {
    for sizes in [
        [5, 7, 9],
        [64, 64, 64],
        [100, 40, 300],
        [1, 70, 600],
        [70, 1, 600],
        [200, 230, 520],
        [60, 230, 1100],
        [530, 70, 800],
        [3, 3, 700],
        [1, 37, 5001],
        [1, 1, 70],
        [1, 1, 70_003],
        [2, 1, 70_003],
    ] {
        let expected = bits(sizes, [Layout::Dense; 3], Extras::default());
        for left in [Layout::Dense, Layout::Turned, Layout::Loose] {
            for right in [Layout::Dense, Layout::Turned, Layout::Loose] {
                // Kernels for AVX2 sum like those for AVX-512; the plain one does not fuse.
                let older = usize::from(plan::Machine::all().len() == 3 && left == Layout::Loose);
                let extras = Extras { backwards: true, finish: left == right, older, ..Extras::default() };
                assert_eq!(
                    bits(sizes, [left, right, Layout::Turned], extras),
                    expected,
                    "{sizes:?} {left:?} {right:?}"
                );
            }
        }
    }
}
