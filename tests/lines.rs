//! Running totals and sorting, against plain loops; at sizes where the work is cut in another way; and their errors.

use zither::runtime::set_threads;
use zither::{DType, Dim1, DynTensor, Error, ErrorKind, Result, Tensor, bf16, f16, grad};

/// Numbers, the same in each run.
fn numbers(len: usize, seed: u64, different: u64) -> Vec<f64> {
    let mut state = seed;
    let mut next = || {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        ((state >> 33) % different) as f64 - (different / 2) as f64
    };
    (0..len).map(|_| next()).collect()
}

/// Lines before and after an axis, at lengths around those at which work is cut otherwise.
const SHAPES: &[(usize, usize, usize)] = &[
    (1, 1, 1),
    (3, 5, 1),
    (5, 1023, 1),
    (6, 1024, 1),
    (9, 1025, 1),
    (2, 4097, 1),
    (1, 20_001, 1),
    (3, 9_000, 1),
    (2, 7, 3),
    (1, 1025, 5),
    (1, 9_001, 3),
    (2, 3, 1030),
    (40, 2, 17),
];

/// What `f` makes of every line along the middle axis.
fn by_lines(x: &[f64], (outer, len, inner): (usize, usize, usize), f: &dyn Fn(&[f64]) -> Vec<f64>) -> Vec<f64> {
    let mut out = vec![0.0; x.len()];
    for a in 0..outer {
        for b in 0..inner {
            let at = |t: usize| (a * len + t) * inner + b;
            let line: Vec<f64> = (0..len).map(|t| x[at(t)]).collect();
            f(&line).into_iter().enumerate().for_each(|(t, value)| out[at(t)] = value);
        }
    }
    out
}

fn running(line: &[f64], f: impl Fn(f64, f64) -> f64) -> Vec<f64> {
    let mut totals: Vec<f64> = Vec::new();
    for &x in line {
        totals.push(totals.last().map_or(x, |&total| f(total, x)));
    }
    totals
}

#[test]
fn running_totals_are_those_of_plain_loops() -> Result<()> {
    for &(outer, len, inner) in SHAPES {
        let x = numbers(outer * len * inner, len as u64, 41);
        // Whole numbers: every sum is exact in each of these.
        for dtype in [DType::F64, DType::F32, DType::I32] {
            let tensor = DynTensor::from_data(x.clone(), &[outer, len, inner]).cast(dtype).realize()?;
            let check = |name: &str, found: DynTensor, f: &dyn Fn(&[f64]) -> Vec<f64>| -> Result<()> {
                let expected = by_lines(&x, (outer, len, inner), f);
                assert!(found.cast(DType::F64).data::<f64>()? == expected, "{name} {dtype} {outer} {len} {inner}");
                Ok(())
            };
            check("cumsum", tensor.cumsum(1), &|line| running(line, |a, b| a + b))?;
            check("cummax", tensor.cummax(1).0, &|line| running(line, f64::max))?;
            check("cummin", tensor.cummin(1).0, &|line| running(line, f64::min))?;
            let last = |line: &[f64], better: fn(f64, f64) -> bool| {
                let mut best = 0;
                let mut place = |t: usize| {
                    if better(line[t], line[best]) {
                        best = t;
                    }
                    best as f64
                };
                (0..line.len()).map(&mut place).collect()
            };
            check("cummax places", tensor.cummax(1).1, &|line| last(line, |a, b| a >= b))?;
            check("cummin places", tensor.cummin(1).1, &|line| last(line, |a, b| a <= b))?;
        }
        let wrapping = |line: &[f64]| {
            let product = |a: i32, b: &f64| a.wrapping_mul(*b as i32);
            line.iter()
                .scan(1, |total, b| {
                    *total = product(*total, b);
                    Some(f64::from(*total))
                })
                .collect()
        };
        let odd: Vec<f64> = x.iter().map(|x| 2.0 * x + 1.0).collect();
        let tensor = DynTensor::from_data(odd.clone(), &[outer, len, inner]).cast(DType::I32);
        let expected = by_lines(&odd, (outer, len, inner), &wrapping);
        assert_eq!(tensor.cumprod(1).cast(DType::F64).data::<f64>()?, expected, "{outer} {len} {inner}");
        // The gradient of a running sum is the running sum of the gradient, from the other end.
        let x = Tensor::from_data(x, [outer, len, inner]);
        let weights = numbers(x.len(), 7, 9);
        let found = grad(&(x.cumsum(1) * Tensor::from_data(weights.clone(), [outer, len, inner])).sum_all(), &[&x])?;
        let back = |line: &[f64]| {
            let turned: Vec<f64> = line.iter().rev().copied().collect();
            running(&turned, |a, b| a + b).into_iter().rev().collect()
        };
        assert!(found[0].data()? == by_lines(&weights, (outer, len, inner), &back), "gradient {outer} {len} {inner}");
    }
    Ok(())
}

#[test]
fn running_totals_are_the_same_bits_for_any_number_of_threads() -> Result<()> {
    for &(outer, len, inner) in SHAPES {
        let x: Vec<f32> = numbers(outer * len * inner, 3, 1009).into_iter().map(|x| x as f32 * 0.37).collect();
        let mut bits: Option<Vec<Vec<u32>>> = None;
        for threads in [1, 2, 3] {
            set_threads(threads);
            let x = Tensor::from_data(x.clone(), [outer, len, inner]);
            let found = [x.cumsum(1), (&x * 0.01).cumprod(1), x.logcumsumexp(1)];
            let found: Vec<Vec<u32>> = found
                .iter()
                .map(|totals| Ok(totals.data()?.into_iter().map(f32::to_bits).collect()))
                .collect::<Result<_>>()?;
            assert!(bits.as_ref().is_none_or(|bits| *bits == found), "{threads} threads: {outer} {len} {inner}");
            bits = Some(found);
        }
        set_threads(0);
    }
    Ok(())
}

#[test]
fn a_zero_stays_zero_in_a_running_product_that_would_overflow() -> Result<()> {
    let mut x = vec![1e30f32; 5000];
    x[0] = 0.0;
    assert!(Tensor::from_data(x, [5000]).cumprod(0).data()?.iter().all(|&y| y == 0.0));
    Ok(())
}

#[test]
fn infinities_and_nan_in_running_totals() -> Result<()> {
    let (inf, nan) = (f32::INFINITY, f32::NAN);
    let (values, places) = Tensor::new([1.0, nan, 3.0, nan, inf]).cummax(0);
    assert_eq!(places.data()?, [0, 1, 1, 3, 3]);
    assert!(values.data()?[1..].iter().all(|x| x.is_nan()));
    assert_eq!(Tensor::new([-inf, -inf, -1000.0, 0.0]).logcumsumexp(0).data()?, [-inf, -inf, -1000.0, 0.0]);
    assert_eq!(Tensor::new([1.0, inf, 1000.0]).logcumsumexp(0).data()?, [1.0, inf, inf]);
    let x = Tensor::new([-inf, 0.0f32, 0.0]);
    let slope = grad(&x.logcumsumexp(0).i(2), &[&x])?[0].data()?;
    assert_eq!(slope, [0.0, 0.5, 0.5]);
    Ok(())
}

#[test]
fn sixteen_bit_totals_are_rounded_once() -> Result<()> {
    let x = Tensor::full([5000], f16::from_f32(1.0));
    assert_eq!(x.cumsum(0).data()?[4999], f16::from_f32(5000.0));
    let x = Tensor::full([2, 3000], bf16::from_f32(1.0));
    assert_eq!(x.cumsum(1).data()?[5999], bf16::from_f32(3000.0));
    Ok(())
}

#[test]
fn peer_candle_cumsum_takes_linear_time() -> Result<()> {
    // A triangular matrix of this size would have 2^44 elements.
    let total = Tensor::<i64, _>::ones([1 << 22]).cumsum(0);
    assert_eq!(total.i(-1).item()?, 1 << 22);
    Ok(())
}

#[test]
fn peer_burn_5533_cumprod_among_zeros() -> Result<()> {
    for zeros in 0..4 {
        let values: Vec<f64> = (0..4).map(|k| if k < zeros { 0.0 } else { k as f64 + 2.0 }).collect();
        let x = Tensor::from_data(values.clone(), [4]);
        let slope = |values: &[f64], k: usize| -> f64 {
            (k..4).map(|j| (0..=j).filter(|&i| i != k).map(|i| values[i]).product::<f64>()).sum()
        };
        let first = &grad(&x.cumprod(0).sum_all(), &[&x])?[0];
        let second = grad(&first.sum_all(), &[&x])?[0].data()?;
        assert_eq!(first.data()?, (0..4).map(|k| slope(&values, k)).collect::<Vec<_>>(), "{zeros} zeros");
        // Each slope is a polynomial in the others, so differences of it are exact.
        for (j, found) in second.iter().enumerate() {
            let total = |by: f64| {
                let mut moved = values.clone();
                moved[j] += by;
                (0..4).map(|k| slope(&moved, k)).sum::<f64>()
            };
            assert_eq!(*found, total(1.0) - total(0.0), "{zeros} zeros, element {j}");
        }
    }
    let x = Tensor::new([2.0f32, 0.0, 3.0, 4.0]);
    assert_eq!(grad(&x.cumprod(0).sum_all(), &[&x])?[0].data()?, [1.0, 32.0, 0.0, 0.0]);
    Ok(())
}

/// The positions that sort a line: NaN last, equal ones in order.
fn plain_order(line: &[f64], descending: bool) -> Vec<i64> {
    let mut places: Vec<usize> = (0..line.len()).collect();
    places.sort_by(|&a, &b| {
        let (x, y) = (line[a], line[b]);
        let order = x.partial_cmp(&y).unwrap_or_else(|| x.is_nan().cmp(&y.is_nan()));
        if descending { order.reverse() } else { order }
    });
    places.into_iter().map(|place| place as i64).collect()
}

#[test]
fn sorting_is_that_of_a_plain_sort() -> Result<()> {
    for len in [0, 1, 2, 3, 64, 191, 192, 193, 1000, 2047, 2048, 2049, 10_000] {
        for (dtype, different) in [
            (DType::F32, 100_000),
            (DType::F32, 7),
            (DType::F64, 1000),
            (DType::F16, 50),
            (DType::BF16, 9),
            (DType::I8, 200),
            (DType::U8, 100),
            (DType::I64, 100_000),
            (DType::U32, 500),
            (DType::Bool, 2),
        ] {
            let mut values = numbers(len, len as u64 + different, different);
            match dtype {
                DType::U8 | DType::U32 => values.iter_mut().for_each(|x| *x += different as f64),
                DType::Bool => values.iter_mut().for_each(|x| *x = x.abs()),
                _ => {}
            }
            if dtype.is_float() {
                for k in (3..len).step_by(17) {
                    values[k] = [f64::NAN, f64::INFINITY, -0.0, f64::NEG_INFINITY, 0.0][k % 5];
                }
            }
            let x = DynTensor::from_data(values.clone(), &[len]).cast(dtype).realize()?;
            for descending in [false, true] {
                let expected = plain_order(&values, descending);
                let row = format!("{len} {dtype} of {different}, descending {descending}");
                assert!(x.argsort(0, descending).data::<i64>()? == expected, "{row}");
                let (sorted, _) = x.sort(0, descending);
                let found = sorted.cast(DType::F64).data::<f64>()?;
                let same = |(a, &b): (&f64, &i64)| a.to_bits() == values[b as usize].to_bits() || a.is_nan();
                assert!(found.iter().zip(&expected).all(same), "{row}");
                for k in [0, 1, 2, len / 20, len / 2, len].into_iter().filter(|&k| k <= len) {
                    let (_, places) = x.topk(k, 0, descending);
                    assert!(places.data::<i64>()? == expected[..k], "the first {k} of {row}");
                }
            }
        }
    }
    Ok(())
}

#[test]
fn lines_that_lie_apart_are_sorted_too() -> Result<()> {
    for (outer, len, inner) in [(2, 300, 37), (3, 5, 1), (1, 40, 16), (4, 2500, 2)] {
        let x = numbers(outer * len * inner, 11, 900);
        let tensor = DynTensor::from_data(x.clone(), &[outer, len, inner]).cast(DType::F32).realize()?;
        let order = |line: &[f64]| plain_order(line, false).into_iter().map(|place| place as f64).collect();
        let expected = by_lines(&x, (outer, len, inner), &order);
        assert_eq!(tensor.argsort(1, false).cast(DType::F64).data::<f64>()?, expected, "{outer} {len} {inner}");
        let turned = tensor.transpose(1, 2).argsort(2, false).transpose(1, 2);
        assert_eq!(turned.cast(DType::F64).data::<f64>()?, expected, "turned {outer} {len} {inner}");
    }
    Ok(())
}

#[test]
fn medians_and_what_is_in_the_middle() -> Result<()> {
    let x = Tensor::new([[3.0f32, 1.0, 2.0, 9.0], [f32::NAN, 1.0, f32::NAN, 0.0]]);
    let (values, places) = x.median(1);
    assert_eq!((values.shape(), places.data()?), (&[2, 1][..], vec![2, 0]));
    assert!(values.data()?[0] == 2.0 && values.data()?[1].is_nan());
    assert_eq!(x.kthvalue(4, 1).1.data()?, [3, 2]);
    Ok(())
}

#[test]
fn values_are_found_in_sorted_lines() -> Result<()> {
    let edges = Tensor::new([[1.0f32, 2.0, 2.0, f32::NAN], [0.0, 5.0, 6.0, 7.0]]);
    let values = Tensor::new([[2.0f32, f32::INFINITY, f32::NAN], [-1.0, 5.5, 8.0]]);
    assert_eq!(edges.searchsorted(&values, false).to_vec2()?, [[1, 3, 3], [0, 2, 4]]);
    assert_eq!(edges.searchsorted(&values, true).to_vec2()?, [[3, 3, 4], [0, 2, 4]]);
    assert_eq!(Tensor::<i32, Dim1>::zeros([0]).searchsorted(&Tensor::new([[1, 2]]), false).to_vec2()?, [[0, 0]]);
    Ok(())
}

#[test]
fn different_elements_are_found() -> Result<()> {
    let x = Tensor::new([[2.0f32, f32::NAN, -0.0], [0.0, 2.0, f32::NAN]]);
    let (values, inverse, counts) = x.unique_with_counts();
    assert_eq!(values.data()?[..2], [0.0, 2.0]);
    assert!(values.len() == 3 && values.data()?[2].is_nan());
    assert_eq!((inverse.to_vec2()?, counts.data()?), (vec![vec![1, 2, 0], vec![0, 1, 2]], vec![2, 2, 2]));
    assert_eq!(Tensor::<i32, _>::zeros([0]).unique().shape(), [0]);
    assert_eq!(Tensor::new([true, false, true]).unique().data()?, [false, true]);
    Ok(())
}

#[track_caller]
fn check<T>(result: Result<T>, kind: ErrorKind, text: &str, made: u32) {
    let error: Error = result.err().expect("an error");
    assert_eq!(error.to_string(), format!("{text}\n  tensor made at {}:{made}", file!()));
    assert_eq!(error.kind(), kind);
}

#[test]
fn arguments_that_do_not_fit_are_named() {
    let (x, made) = (Tensor::<f32, _>::zeros([2, 3]), line!());
    let axis = |op: &str| format!("{op}: axis 2 is out of range for shape [2, 3] (rank 2): use -2 to 1");
    check(x.try_cumsum(2), ErrorKind::Axis, &axis("cumsum"), made);
    check(x.try_cumprod(2), ErrorKind::Axis, &axis("cumprod"), made);
    check(x.try_cummax(2), ErrorKind::Axis, &axis("cummax"), made);
    check(x.try_cummin(2), ErrorKind::Axis, &axis("cummin"), made);
    check(x.try_logcumsumexp(2), ErrorKind::Axis, &axis("logcumsumexp"), made);
    check(x.try_sort(2, false), ErrorKind::Axis, &axis("sort"), made);
    check(x.try_argsort(2, false), ErrorKind::Axis, &axis("argsort"), made);
    check(x.try_median(2), ErrorKind::Axis, &axis("median"), made);
    let text = "topk: 4 elements were asked for, axis 1 of shape [2, 3] has 3";
    check(x.try_topk(4, 1, true), ErrorKind::Value, text, made);
    check(x.to_dynamic().try_topk(4, -1, false), ErrorKind::Value, text, made);
    let text = "kthvalue: elements are counted from 1: the smallest is k = 1";
    check(x.try_kthvalue(0, 1), ErrorKind::Value, text, made);
    let (empty, made) = (Tensor::<f32, _>::zeros([2, 0]), line!());
    let text = "median: nothing to choose from: shape [2, 0] is empty along axis 1";
    check(empty.try_median(1), ErrorKind::Shape, text, made);
    let (bools, made) = (DynTensor::from_data(vec![true], &[1]), line!());
    let text = "cumsum: bool is not a number: cast to an integer dtype first";
    check(bools.try_cumsum(0), ErrorKind::DType, text, made);
    let (whole, made) = (DynTensor::from_data(vec![1i32], &[1]), line!());
    let text = "logcumsumexp: i32 is not a float dtype: cast it first";
    assert!(whole.try_logcumsumexp(0).is_err(), "{text} {made}");
    let error = Tensor::new([1, 2]).to_dynamic().try_searchsorted(&x.to_dynamic(), false).expect_err("dtypes");
    assert!(error.to_string().starts_with("searchsorted: f32 values cannot be found among i32: cast one"), "{error}");
}

#[test]
fn nothing_along_an_axis_is_no_trouble() -> Result<()> {
    for shape in [[0, 3], [3, 0]] {
        let x = Tensor::<f32, _>::zeros(shape);
        for axis in 0..2 {
            assert_eq!(x.cumsum(axis).shape(), shape);
            assert_eq!(x.cumprod(axis).data()?.len(), 0);
            assert_eq!(x.cummax(axis).1.data()?.len(), 0);
            assert_eq!(x.logcumsumexp(axis).data()?.len(), 0);
            assert_eq!(x.sort(axis, false).0.data()?.len(), 0);
            assert_eq!(x.topk(0, axis, true).0.data()?.len(), 0);
            assert_eq!(grad(&x.cumprod(axis).sum_all(), &[&x])?[0].shape(), shape);
        }
    }
    Ok(())
}
