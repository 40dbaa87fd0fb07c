//! Reductions of a few elements each, and every other element of a row, against plain loops.

use zither::{DType, DynTensor, Pool, Result, Step, Tensor, grad};

/// Numbers from -4 to 4, the same in each run.
fn numbers(len: usize) -> Vec<f64> {
    (0..len).map(|i| (i * 2654435761 % 17) as f64 / 2.0 - 4.0).collect()
}

/// What `f` makes of every window of `[a, h, 2, w, k]`, the last axis and the one of two being reduced.
fn by_windows(x: &[f64], [a, h, w, k]: [usize; 4], f: &dyn Fn(&[f64]) -> f64) -> Vec<f64> {
    let mut out = Vec::new();
    for place in 0..a * h * w {
        let (row, column) = (place / w, place % w);
        let window: Vec<f64> = (0..2 * k).map(|i| x[(row * 2 + i / k) * w * k + column * k + i % k]).collect();
        out.push(f(&window));
    }
    out
}

type Kind = (&'static str, fn(&DynTensor) -> DynTensor, fn(&[f64]) -> f64);

const KINDS: [Kind; 4] = [
    ("sum", |x| x.sum(&[2, 4], false), |window| window.iter().sum()),
    ("prod", |x| x.prod(&[2, 4], false), |window| window.iter().product()),
    ("max", |x| x.max(&[2, 4], false), |window| window.iter().copied().fold(f64::NEG_INFINITY, f64::max)),
    ("min", |x| x.min(&[2, 4], false), |window| window.iter().copied().fold(f64::INFINITY, f64::min)),
];

#[test]
fn windows_reduce_as_plain_loops_do() -> Result<()> {
    // Widths around those of vectors, few and many results, windows of four to more than are written out.
    for sizes in [[3, 5, 1, 2], [8, 4, 14, 2], [2, 9, 16, 2], [5, 7, 9, 2], [4, 5, 33, 3], [2, 6, 24, 8], [3, 6, 20, 9]]
    {
        let [a, h, w, k] = sizes;
        let x = numbers(a * h * 2 * w * k);
        for dtype in [DType::F64, DType::F32, DType::BF16, DType::I64, DType::I32, DType::I8] {
            let tensor = DynTensor::from_data(x.clone(), &[a, h, 2, w, k]).cast(dtype).realize()?;
            let known = tensor.cast(DType::F64).data::<f64>()?;
            for (name, reduce, plain) in KINDS {
                if name == "prod" && (dtype == DType::BF16 || k > 2) {
                    continue; // too large, or rounded
                }
                let expected = by_windows(&known, sizes, &plain);
                let got = reduce(&tensor).cast(DType::F64).data::<f64>()?;
                let wraps = |value: f64| if dtype == DType::I8 { f64::from(value as i64 as i8) } else { value };
                let expected: Vec<f64> = expected.into_iter().map(wraps).collect();
                assert_eq!(got, expected, "{name} of {dtype} {sizes:?}");
            }
        }
    }
    Ok(())
}

#[test]
fn nan_wins_and_zeros_below_zero_add_up_to_zero() -> Result<()> {
    let mut x = vec![-0.0f32; 16 * 2 * 20 * 2];
    let zeros = DynTensor::from_data(x.clone(), &[16, 2, 20, 2]);
    assert!(zeros.sum(&[1, 3], false).data::<f32>()?.iter().all(|sum| sum.is_sign_positive()));
    x[45] = f32::NAN;
    let some = DynTensor::from_data(x, &[16, 2, 20, 2]);
    for (i, value) in some.max(&[1, 3], false).data::<f32>()?.into_iter().enumerate() {
        assert_eq!(value.is_nan(), i == 2, "window {i}: {value}");
    }
    Ok(())
}

#[test]
fn the_gradient_of_windows_is_shared_by_the_largest() -> Result<()> {
    let sizes = [4usize, 5, 13, 2];
    let [a, h, w, k] = sizes;
    let x = numbers(a * h * 2 * w * k);
    let tensor = DynTensor::from_data(x.clone(), &[a, h, 2, w, k]).set_requires_grad(true);
    tensor.max(&[2, 4], false).backward();
    let slopes = tensor.grad().expect("a gradient").data::<f64>()?;
    for (i, slope) in slopes.into_iter().enumerate() {
        let (line, column) = (i / (w * k), i % (w * k) / k);
        let window: Vec<f64> = (0..2 * k).map(|j| x[(line / 2 * 2 + j / k) * w * k + column * k + j % k]).collect();
        let largest = window.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let count = window.iter().filter(|&&value| value == largest).count();
        let expected = if x[i] == largest { 1.0 / count as f64 } else { 0.0 };
        assert_eq!(slope, expected, "element {i}");
    }
    Ok(())
}

#[test]
fn every_other_element_is_read_to_the_very_end() -> Result<()> {
    for columns in 1..40 {
        for rows in [1, 3] {
            // The last element that is read is the last one there is.
            let width = 2 * columns - 1;
            let x: Vec<f32> = (0..rows * width).map(|i| i as f32).collect();
            let tensor = Tensor::from_data(x.clone(), [rows, width]);
            let got = (tensor.i((.., Step::by(.., 2))) * 2.0 + 1.0).data()?;
            let expected: Vec<f32> =
                (0..rows * columns).map(|i| x[i / columns * width + i % columns * 2] * 2.0 + 1.0).collect();
            assert_eq!(got, expected, "{rows} rows of {columns}");
        }
    }
    Ok(())
}

/// Where the gradient of each window of a `[2, h, w]` goes: to the first largest element inside, nothing being larger than NaN.
fn largest_places(x: &[f32], [h, w]: [usize; 2], pool: &Pool<2>, places: [usize; 2]) -> Vec<usize> {
    let mut chosen = Vec::new();
    for window in 0..2 * places[0] * places[1] {
        let (plane, p, q) = (window / (places[0] * places[1]), window / places[1] % places[0], window % places[1]);
        let mut best: Option<usize> = None;
        for tap in 0..pool.kernel[0] * pool.kernel[1] {
            let (a, b) = (tap / pool.kernel[1], tap % pool.kernel[1]);
            let row = (p * pool.stride[0] + a * pool.dilation[0]).wrapping_sub(pool.padding[0]);
            let column = (q * pool.stride[1] + b * pool.dilation[1]).wrapping_sub(pool.padding[1]);
            if row < h && column < w {
                let at = (plane * h + row) * w + column;
                let is_better = |old: usize| x[at] > x[old] || x[at].is_nan() && !x[old].is_nan();
                if best.is_none_or(is_better) {
                    best = Some(at);
                }
            }
        }
        chosen.push(best.expect("every window has an element inside"));
    }
    chosen
}

#[test]
fn the_gradient_of_a_max_pool_goes_to_the_first_largest_element_inside() -> Result<()> {
    let values = [0.5f32, 1.0, f32::NEG_INFINITY, 1.0, f32::NAN, f32::NEG_INFINITY, -2.0, 1.0, 0.0, f32::INFINITY];
    let pools = [
        Pool::new([2, 2]),
        Pool::new([1, 1]),
        Pool { padding: [1, 1], ..Pool::new([3, 3]).stride([2, 2]) },
        Pool { padding: [1, 0], ceil_mode: true, ..Pool::new([2, 3]).stride([3, 2]) },
        Pool { padding: [1, 1], dilation: [2, 3], ..Pool::new([2, 2]).stride([1, 2]) },
        Pool { padding: [2, 1], ceil_mode: true, ..Pool::new([4, 2]).stride([3, 5]) },
    ];
    for (pool, [h, w]) in pools.iter().flat_map(|pool| [[6, 8], [7, 9], [12, 33]].map(|size| (pool, size))) {
        for kind in 0..3 {
            let value = |i: usize| match kind {
                0 => f32::NEG_INFINITY,
                1 => (i * 7919 % 31) as f32,
                _ => values[(i * 2654435761) % 97 % values.len()],
            };
            let plain: Vec<f32> = (0..2 * h * w).map(value).collect();
            let x = Tensor::from_data(plain.clone(), [1, 2, h, w]);
            let y = x.max_pool2d(*pool);
            let places = [y.shape()[2], y.shape()[3]];
            let weights: Vec<f32> = (0..y.len()).map(|i| (i % 13) as f32 - 4.0).collect();
            let mut expected = vec![0.0f32; plain.len()];
            for (window, at) in largest_places(&plain, [h, w], pool, places).into_iter().enumerate() {
                expected[at] += weights[window];
            }
            let seed = Tensor::from_data(weights, [1, 2, places[0], places[1]]);
            let slope = grad(&(y * seed).sum_all(), &[&x])?.remove(0);
            assert_eq!(slope.data()?, expected, "{pool:?} {h} x {w} {kind}");
        }
    }
    Ok(())
}
