//! Shapes, layouts and dtypes.

use super::naive::{Case, Dice, Extras, Layout, check};
use crate::dtype::DType;

const LAYOUTS: [Layout; 3] = [Layout::Dense, Layout::Turned, Layout::Loose];
const SIZES: [usize; 26] =
    [0, 1, 2, 3, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 31, 33, 63, 64, 65, 100, 255, 256, 257];
/// Depths where one block ends, or several do.
const DEPTHS: [usize; 5] = [513, 767, 768, 769, 1025];

#[test]
fn every_size_in_each_place_and_every_transpose() {
    let mut dice = Dice::new(1);
    for dtype in [DType::F32, DType::F64] {
        for &size in SIZES.iter().chain(&DEPTHS) {
            for place in if DEPTHS.contains(&size) { 2..3 } else { 0..3 } {
                let mut sizes = [dice.pick(&[1, 3, 7, 20]), dice.pick(&[1, 5, 17, 33]), dice.pick(&[1, 4, 9, 40])];
                sizes[place] = size;
                for left in [Layout::Dense, Layout::Turned] {
                    for right in [Layout::Dense, Layout::Turned] {
                        check(&Case::matrices(dtype, sizes, [left, right, Layout::Dense]), Extras::default());
                    }
                }
            }
        }
    }
}

#[test]
fn large_sizes_around_the_blocks() {
    for (dtype, sizes) in [
        (DType::F32, [257, 255, 256]),
        (DType::F32, [64, 513, 600]),
        (DType::F32, [513, 65, 300]),
        (DType::F64, [200, 257, 129]),
        (DType::F32, [193, 1030, 17]),
        (DType::F32, [300, 300, 1000]),
        (DType::F64, [255, 63, 257]),
        (DType::F32, [100, 90, 769]),
        (DType::F64, [70, 100, 1537]),
    ] {
        for left in [Layout::Dense, Layout::Turned] {
            for right in [Layout::Dense, Layout::Turned] {
                check(&Case::matrices(dtype, sizes, [left, right, Layout::Dense]), Extras::default());
            }
        }
    }
}

#[test]
fn vectors_of_any_length() {
    let mut dice = Dice::new(5);
    for &dtype in &DType::ALL[1..] {
        for sizes in [[1, 1, 40_000], [1, 5, 33_000], [600, 1, 40], [1, 1100, 130], [17, 1, 2049], [1, 2, 0]] {
            let layouts = std::array::from_fn(|_| dice.pick(&LAYOUTS));
            check(&Case::matrices(dtype, sizes, layouts), Extras::default());
            let extras = Extras { finish: true, left_source: true, right_source: sizes[1] == 1, ..Extras::default() };
            check(&Case::matrices(dtype, sizes, layouts), extras);
        }
    }
}

#[test]
fn many_tiny_products() {
    let mut dice = Dice::new(6);
    for round in 0..120 {
        let dtype = dice.pick(&DType::ALL[1..]);
        let sizes: [usize; 3] = std::array::from_fn(|_| 1 + dice.below(8));
        let batch = dice.pick(&[31, 32, 33, 100, 517]);
        let layouts = std::array::from_fn(|_| dice.pick(&LAYOUTS));
        let [m, n, k] = sizes;
        let mut case = Case::new(dtype, [&[batch], &[m], &[n], &[k]], layouts);
        match round % 6 {
            0 => case = Case::new(dtype, [&[3, batch], &[m], &[n], &[k]], layouts),
            1 => case.c.left.strides[0] = 0,
            2 => case.c.right.strides[1] = 0,
            _ => {}
        }
        let extras =
            Extras { finish: round % 4 == 0, older: round % 3, left_source: round % 7 == 0, ..Extras::default() };
        check(&case, extras);
    }
}

#[test]
fn random_products_of_every_dtype() {
    let mut dice = Dice::new(2);
    for round in 0..300 {
        let dtype = dice.pick(&DType::ALL[1..]);
        let sizes = std::array::from_fn(|_| dice.pick(&SIZES));
        if sizes.iter().product::<usize>() > 1 << 21 {
            continue;
        }
        let layouts = std::array::from_fn(|_| dice.pick(&LAYOUTS));
        let extras = Extras { older: round % 3, backwards: round % 3 == 0, ..Extras::default() };
        check(&Case::matrices(dtype, sizes, layouts), extras);
    }
}

#[test]
fn several_axes_in_each_group() {
    let mut dice = Dice::new(3);
    for round in 0..200 {
        let dtype = dice.pick(&DType::ALL[1..]);
        let groups: [Vec<usize>; 4] = std::array::from_fn(|_| {
            let rank = dice.below(4);
            (0..rank).map(|_| dice.pick(&[1, 2, 3, 4, 5, 8, 17])).collect()
        });
        if groups.iter().flatten().product::<usize>() > 1 << 20 {
            continue;
        }
        let layouts = std::array::from_fn(|_| dice.pick(&LAYOUTS));
        let extras = Extras {
            finish: round % 2 == 0,
            left_source: round % 3 == 0,
            right_source: round % 5 < 2,
            older: round % 4,
            backwards: round % 4 == 0,
        };
        check(&Case::new(dtype, [&groups[0], &groups[1], &groups[2], &groups[3]], layouts), extras);
    }
}

#[test]
fn finish_and_sources_with_every_dtype() {
    let mut dice = Dice::new(4);
    for &dtype in &DType::ALL[1..] {
        for sizes in [
            [1, 1, 1],
            [13, 37, 19],
            [70, 200, 33],
            [300, 40, 50],
            [200, 220, 300],
            [20, 40, 900],
            [3, 0, 4],
            [3, 4, 0],
        ] {
            for extras in [[true, false, false], [false, true, false], [true, false, true], [true, true, true]] {
                let [finish, left_source, right_source] = extras;
                let layouts = std::array::from_fn(|_| dice.pick(&LAYOUTS));
                let extras = Extras { finish, left_source, right_source, ..Extras::default() };
                check(&Case::matrices(dtype, sizes, layouts), extras);
            }
        }
    }
}

#[test]
fn broadcast_operands_repeat() {
    for dtype in [DType::F32, DType::F16, DType::I64] {
        for sizes in [[5, 9, 11], [40, 70, 90], [200, 210, 64]] {
            for still in 0..6 {
                let [m, n, k] = sizes;
                let mut case = Case::new(dtype, [&[3, 2], &[m], &[n], &[k]], [Layout::Dense; 3]);
                match still {
                    0 => case.c.left.strides[..2].fill(0),
                    1 => case.c.right.strides[..2].fill(0),
                    2 => case.c.right.strides[0] = 0,
                    3 => case.c.left.strides[2] = 0,
                    4 => case.c.right.strides[2] = 0,
                    _ => case.c.left.strides[3] = 0,
                }
                check(&case, Extras::default());
                check(&case, Extras { older: 2, finish: true, ..Extras::default() });
            }
        }
    }
}

#[test]
fn windows_are_strides_that_overlap() {
    for (channels, size, taps, dtype) in [
        (3, 12, 3, DType::F32),
        (1, 28, 5, DType::F32),
        (8, 20, 3, DType::F64),
        (5, 9, 2, DType::I16),
        (100, 8, 3, DType::F32),
    ] {
        for step in [1, 2] {
            let (images, filters, places) = (2usize, 10usize, (size - taps) / step + 1);
            let mut case = Case::new(
                dtype,
                [&[], &[filters], &[images, places, places], &[channels, taps, taps]],
                [Layout::Dense; 3],
            );
            let line = size as i64;
            let plane = line * line;
            let s = step as i64;
            case.c.right.strides = vec![channels as i64 * plane, s * line, s, plane, line, 1];
            case.right_len = images * channels * size * size;
            // The images of the result lie outside its filters.
            let result = (places * places) as i64;
            case.c.out = vec![result, filters as i64 * result, places as i64, 1];
            check(&case, Extras::default());
            check(&case, Extras { finish: true, right_source: true, ..Extras::default() });
        }
    }
}
