//! Tensors larger than tiles, parts and caches, against plain loops, with the same bits for any number of threads.

use zither::{Dim2, Dim3, Matrix, Tensor, runtime};

fn value(k: usize) -> f32 {
    ((k * 7919 + 13) % 10007) as f32 / 100.0 - 50.0
}

fn matrix(rows: usize, columns: usize) -> Matrix<f32> {
    Tensor::from_data((0..rows * columns).map(value).collect(), [rows, columns])
}

/// What `make` gives, the same on one, two and three threads.
fn on_any_threads(what: &str, make: impl Fn() -> Vec<f32>) -> Vec<f32> {
    let bits = |values: &[f32]| values.iter().map(|value| value.to_bits()).collect::<Vec<u32>>();
    let results = [1, 2, 3].map(|threads| {
        runtime::set_threads(threads);
        make()
    });
    runtime::set_threads(0);
    let [first, rest @ ..] = results;
    assert!(rest.iter().all(|other| bits(other) == bits(&first)), "{what}: a bit changed with the number of threads");
    first
}

/// The last two are written past the caches, in aligned rows and in others.
const SIZES: [(usize, usize); 9] =
    [(1, 4097), (4097, 1), (7, 4097), (63, 65), (4097, 129), (1000, 1000), (2056, 2048), (2049, 2051), (3568, 3568)];

#[test]
fn transposes_alone_and_in_expressions() {
    for (rows, columns) in SIZES {
        let (x, y) = (matrix(rows, columns), matrix(columns, rows));
        let what = format!("{rows} x {columns}");
        let turned = on_any_threads(&what, || x.t().contiguous().data().unwrap());
        let sum = on_any_threads(&what, || (x.t() + &y * 2.0).data().unwrap());
        for i in 0..columns {
            for j in 0..rows {
                let (at, expected) = (i * rows + j, value(j * columns + i));
                assert_eq!(turned[at], expected, "{what}: ({i}, {j})");
                assert_eq!(sum[at], expected + value(at) * 2.0, "{what}: ({i}, {j})");
            }
        }
    }
}

#[test]
fn permutations_of_three_axes() {
    let (a, b, c) = (70, 33, 130);
    let x = Tensor::<f32, Dim3>::from_data((0..a * b * c).map(value).collect(), [a, b, c]);
    for order in [[0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
        let what = format!("{order:?}");
        let found = on_any_threads(&what, || x.permute(&order.map(|axis| axis as isize)).contiguous().data().unwrap());
        let (sizes, strides) = ([a, b, c], [b * c, c, 1]);
        let [p, q, r] = order;
        let mut at = 0;
        for i in 0..sizes[p] {
            for j in 0..sizes[q] {
                for k in 0..sizes[r] {
                    assert_eq!(found[at], value(i * strides[p] + j * strides[q] + k * strides[r]), "{what}: {at}");
                    at += 1;
                }
            }
        }
    }
}

#[test]
fn maps_and_rows_that_are_written_past_the_caches() {
    for (rows, columns) in SIZES {
        let x = matrix(rows, columns);
        let what = format!("{rows} x {columns}");
        let found = on_any_threads(&what, || (&x * 3.0 - 1.0).data().unwrap());
        assert!((0..rows * columns).all(|k| found[k] == value(k) * 3.0 - 1.0), "{what}");
        let found = on_any_threads(&what, || (&x - x.max_keepdim(1)).data().unwrap());
        for (i, row) in found.chunks(columns).enumerate() {
            let largest = (0..columns).map(|j| value(i * columns + j)).fold(f32::MIN, f32::max);
            assert!((0..columns).all(|j| row[j] == value(i * columns + j) - largest), "{what}: row {i}");
        }
    }
}

#[test]
fn sums_over_each_axis() {
    for (rows, columns) in SIZES {
        let x: Tensor<f32, Dim2> = matrix(rows, columns);
        let what = format!("{rows} x {columns}");
        let down = on_any_threads(&what, || x.sum_axis(0).data().unwrap());
        let along = on_any_threads(&what, || x.sum_axis(1).data().unwrap());
        let near = |found: f32, values: &mut dyn Iterator<Item = f32>| {
            let (sum, size) =
                values.fold((0.0f64, 0.0f64), |(sum, size), x| (sum + f64::from(x), size + f64::from(x.abs())));
            assert!((f64::from(found) - sum).abs() <= 1e-6 * size, "{what}: {found}, not {sum}");
        };
        for (j, &found) in down.iter().enumerate() {
            near(found, &mut (0..rows).map(|i| value(i * columns + j)));
        }
        for (i, &found) in along.iter().enumerate() {
            near(found, &mut (0..columns).map(|j| value(i * columns + j)));
        }
    }
}

/// Kernels of several stages whose rows are the columns of what they read: a cache line has elements of many of them.
#[test]
fn rows_that_lie_side_by_side() {
    for (rows, columns) in [(63, 65), (700, 300), (300, 700), (1000, 129), (12, 5000), (2049, 40)] {
        let x = matrix(rows, columns) / 10.0;
        let what = format!("{rows} x {columns}");
        let shares = on_any_threads(&what, || x.t().softmax(1).data().unwrap());
        let sums = on_any_threads(&what, || x.t().logsumexp_axis(1).data().unwrap());
        let spreads = on_any_threads(&what, || x.t().var_axis(1).data().unwrap());
        for j in 0..columns {
            let column: Vec<f64> = (0..rows).map(|i| f64::from(value(i * columns + j) / 10.0)).collect();
            let near = |found: f32, expected: f64| {
                let most = 2e-6 * expected.abs().max(1.0);
                assert!((f64::from(found) - expected).abs() <= most, "{what}: column {j}: {found}, not {expected}");
            };
            let sum: f64 = column.iter().map(|x| x.exp()).sum();
            let mean = column.iter().sum::<f64>() / rows as f64;
            near(sums[j], sum.ln());
            near(spreads[j], column.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / (rows - 1) as f64);
            for (i, x) in column.iter().enumerate() {
                near(shares[j * rows + i], x.exp() / sum);
            }
        }
    }
}

#[test]
fn positions_along_each_axis() {
    for (rows, columns) in [(63, 65), (700, 300), (1000, 129), (12, 5000), (2049, 40), (3, 20_000)] {
        let mut values: Vec<f32> = (0..rows * columns).map(|k| value(k * k)).collect();
        values[rows / 2 * columns + columns / 3] = f32::NAN;
        let x = Matrix::from_data(values.clone(), [rows, columns]);
        // The first of the largest, or of those that are none.
        let first = |places: &mut dyn Iterator<Item = usize>| {
            let ahead = |a: f32, b: f32| if b.is_nan() { false } else { a.is_nan() || a > b };
            places.enumerate().fold((0, f32::NEG_INFINITY), |best, (k, place)| {
                if ahead(values[place], best.1) { (k, values[place]) } else { best }
            })
        };
        for threads in [1, 2] {
            runtime::set_threads(threads);
            let (down, along) = (x.argmax(0).data().unwrap(), x.argmax(1).data().unwrap());
            runtime::set_threads(0);
            for (j, &found) in down.iter().enumerate() {
                let expected = first(&mut (0..rows).map(|i| i * columns + j)).0;
                assert_eq!(found, expected as i64, "{rows} x {columns}: column {j}");
            }
            for (i, &found) in along.iter().enumerate() {
                let expected = first(&mut (0..columns).map(|j| i * columns + j)).0;
                assert_eq!(found, expected as i64, "{rows} x {columns}: row {i}");
            }
        }
    }
}
