//! S3.77–88: what is composed from primitives, in f32 and f64, against plain Rust.

use zither::dtype::FloatDType;
use zither::{Result, Tensor, Window};

const POINTS: [f64; 6] = [-3.0, -0.5, 0.0, 0.25, 1.0, 4.0];
const POSITIVE: [f64; 6] = [0.001, 0.5, 1.0, 1.25, 3.0, 4096.0];

fn tensor<T: FloatDType>(values: &[f64]) -> Tensor<T, zither::Dim1> {
    Tensor::new(values.iter().map(|&v| T::from_f64(v)).collect::<Vec<T>>())
}

/// Every value within `ulps` units in the last place of T (by `epsilon`) of the true one.
fn close<T: FloatDType>(got: &[T], wanted: &[f64], epsilon: f64, ulps: f64) {
    assert_eq!(got.len(), wanted.len());
    for (got, wanted) in got.iter().zip(wanted) {
        let got = got.to_f64();
        assert!((got - wanted).abs() <= ulps * epsilon * wanted.abs(), "{got} is not {wanted} ({})", T::DTYPE);
    }
}

/// Runs a check in f32 and in f64.
macro_rules! in_both {
    ($check:ident) => {
        $check::<f32>(f64::from(f32::EPSILON))?;
        $check::<f64>(f64::EPSILON)?;
    };
}

#[test]
fn s3_77_78_sub_and_div_are_correctly_rounded() -> Result<()> {
    assert_eq!((Tensor::new([1.0f32, 0.1]) - Tensor::new([3.0, 0.3])).data()?, [-2.0, 0.1f32 - 0.3]);
    assert_eq!((Tensor::new([5u8]) - Tensor::new([7u8])).data()?, [254]);
    let (a, b): (Vec<f32>, Vec<f32>) = (1..2000).map(|k| (k as f32 * 0.37, (k % 97) as f32 + 0.3)).unzip();
    let wanted: Vec<f32> = a.iter().zip(&b).map(|(a, b)| a / b).collect();
    assert_eq!((Tensor::new(a) / Tensor::new(b)).data()?, wanted, "one division, not a product with 1/b");
    let (a, b): (Vec<f64>, Vec<f64>) = (1..2000).map(|k| (k as f64 * 0.37, (k % 97) as f64 + 0.3)).unzip();
    let wanted: Vec<f64> = a.iter().zip(&b).map(|(a, b)| a / b).collect();
    assert_eq!((Tensor::new(a) / Tensor::new(b)).data()?, wanted);
    Ok(())
}

#[test]
fn s3_79_80_81_exp_ln_cos_are_within_2_ulp() -> Result<()> {
    fn check<T: FloatDType>(epsilon: f64) -> Result<()> {
        close(&tensor::<T>(&POINTS).exp().data()?, &POINTS.map(f64::exp), epsilon, 2.0);
        close(&tensor::<T>(&POSITIVE).ln().data()?, &POSITIVE.map(|v| T::from_f64(v).to_f64().ln()), epsilon, 2.0);
        close(&tensor::<T>(&POINTS).cos().data()?, &POINTS.map(f64::cos), epsilon, 2.0);
        Ok(())
    }
    in_both!(check);
    assert_eq!(Tensor::new([0.0f32, f32::NEG_INFINITY, 1000.0]).exp().data()?, [1.0, 0.0, f32::INFINITY]);
    assert_eq!(Tensor::new([1.0f64, 0.0]).ln().data()?, [0.0, f64::NEG_INFINITY]);
    Ok(())
}

#[test]
fn s3_82_83_84_relu_sigmoid_tanh() -> Result<()> {
    fn check<T: FloatDType>(epsilon: f64) -> Result<()> {
        close(&tensor::<T>(&POINTS).relu().data()?, &[0.0, 0.0, 0.0, 0.25, 1.0, 4.0], epsilon, 0.0);
        close(&tensor::<T>(&POINTS).sigmoid().data()?, &POINTS.map(|v| 1.0 / (1.0 + (-v).exp())), epsilon, 4.0);
        close(&tensor::<T>(&POINTS).tanh().data()?, &POINTS.map(f64::tanh), epsilon, 4.0);
        let far = tensor::<T>(&[-1e4, 1e4]);
        close(&far.sigmoid().data()?, &[0.0, 1.0], epsilon, 0.0);
        close(&far.tanh().data()?, &[-1.0, 1.0], epsilon, 0.0);
        Ok(())
    }
    in_both!(check);
    Ok(())
}

#[test]
fn s3_85_mean_divides_by_the_count() -> Result<()> {
    fn check<T: FloatDType>(epsilon: f64) -> Result<()> {
        let x = tensor::<T>(&[1.0, 2.0, 6.0, -1.0, 0.0, 4.0]).reshape([2, 3]);
        close(&x.mean(&[1], false).data()?, &[3.0, 1.0], epsilon, 0.0);
        close(&x.mean(&[0], true).data()?, &[0.0, 1.0, 5.0], epsilon, 0.0);
        close(&[x.mean_all().item()?], &[2.0], epsilon, 0.0);
        Ok(())
    }
    in_both!(check);
    Ok(())
}

#[test]
fn s3_86_softmax_is_right_and_does_not_overflow() -> Result<()> {
    fn check<T: FloatDType>(epsilon: f64) -> Result<()> {
        let sum: f64 = POINTS.iter().map(|v| v.exp()).sum();
        let wanted = POINTS.map(|v| v.exp() / sum);
        close(&tensor::<T>(&POINTS).softmax(0).data()?, &wanted, epsilon, 8.0);
        // Shifted by a constant it is the same.
        close(&tensor::<T>(&POINTS.map(|v| v + 1024.0)).softmax(0).data()?, &wanted, epsilon, 8.0);
        let rows = tensor::<T>(&[0.0, 0.0, 1e30, 0.0]).reshape([2, 2]).softmax(1);
        close(&rows.data()?, &[0.5, 0.5, 1.0, 0.0], epsilon, 1.0);
        Ok(())
    }
    in_both!(check);
    Ok(())
}

#[test]
fn s3_87_matmul_is_the_sum_of_products() -> Result<()> {
    fn check<T: FloatDType>(epsilon: f64) -> Result<()> {
        let a = tensor::<T>(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]).reshape([2, 3]);
        let b = tensor::<T>(&[7.0, 8.0, 9.0, 10.0, 11.0, 12.0]).reshape([3, 2]);
        close(&a.matmul(&b).data()?, &[58.0, 64.0, 139.0, 154.0], epsilon, 0.0);
        // The same through its definition: unsqueeze, multiply, sum.
        let composed = (a.unsqueeze(2) * b.unsqueeze(0)).sum_axis(1);
        assert_eq!(composed.data()?, a.matmul(&b).data()?);
        let v = tensor::<T>(&[1.0, 0.0, -1.0]);
        close(&a.matmul(&v).data()?, &[-2.0, -2.0], epsilon, 0.0);
        close(&[v.matmul(&v).item()?], &[2.0], epsilon, 0.0);
        // Batches broadcast.
        let batch = Tensor::stack(&[&b, &(&b * T::from_f64(2.0))], 0);
        close(&a.matmul(&batch).data()?, &[58.0, 64.0, 139.0, 154.0, 116.0, 128.0, 278.0, 308.0], epsilon, 0.0);
        Ok(())
    }
    in_both!(check);
    assert_eq!(Tensor::new([[2i32, 3]]).matmul(&Tensor::new([[4], [5]])).data()?, [23]);
    Ok(())
}

/// The definition of a 2-d convolution, as loops.
fn convolve(x: &[f64], [n, c, h, w]: [usize; 4], k: &[f64], [o, _, kh, kw]: [usize; 4], window: Window<2>) -> Vec<f64> {
    let Window { stride, padding, dilation, groups } = window;
    let size =
        |n: usize, k: usize, axis: usize| (n + 2 * padding[axis] - dilation[axis] * (k - 1) - 1) / stride[axis] + 1;
    let (oh, ow, inside) = (size(h, kh, 0), size(w, kw, 1), c / groups);
    let mut out = Vec::new();
    for (sample, output, row, col) in
        (0..n * o * oh * ow).map(|at| (at / (o * oh * ow), at / (oh * ow) % o, at / ow % oh, at % ow))
    {
        let mut sum = 0.0;
        for (channel, i, j) in (0..inside * kh * kw).map(|at| (at / (kh * kw), at / kw % kh, at % kw)) {
            let (y, x_at) = (row * stride[0] + i * dilation[0], col * stride[1] + j * dilation[1]);
            let within = (padding[0]..h + padding[0]).contains(&y) && (padding[1]..w + padding[1]).contains(&x_at);
            if within {
                let from = output / (o / groups) * inside + channel;
                let place = ((sample * c + from) * h + y - padding[0]) * w + x_at - padding[1];
                sum += x[place] * k[((output * inside + channel) * kh + i) * kw + j];
            }
        }
        out.push(sum);
    }
    out
}

#[test]
fn s3_88_conv2d_agrees_with_its_definition() -> Result<()> {
    fn check<T: FloatDType>(epsilon: f64) -> Result<()> {
        let x: Vec<f64> = (0..2 * 4 * 6 * 5).map(|k| ((k * 7) % 11) as f64 - 5.0).collect();
        for (window, inside) in [
            (Window::default(), 4),
            (Window { stride: [2, 1], padding: [1, 2], dilation: [1, 2], groups: 1 }, 4),
            (Window { stride: [1, 2], padding: [1, 0], dilation: [2, 1], groups: 2 }, 2),
            (Window { groups: 4, ..Window::default() }, 1),
        ] {
            let k: Vec<f64> = (0..4 * inside * 3 * 2).map(|k| ((k * 5) % 7) as f64 - 3.0).collect();
            let input = tensor::<T>(&x).reshape([2, 4, 6, 5]);
            let weight = tensor::<T>(&k).reshape([4, inside, 3, 2]);
            let wanted = convolve(&x, [2, 4, 6, 5], &k, [4, inside, 3, 2], window);
            close(&input.conv2d(&weight, None, window).data()?, &wanted, epsilon, 0.0); // small integers: exact
            let bias = tensor::<T>(&[1.0, -1.0, 0.5, 2.0]);
            let places = wanted.len() / 8;
            let shifted: Vec<f64> =
                wanted.iter().enumerate().map(|(k, v)| v + [1.0, -1.0, 0.5, 2.0][k / places % 4]).collect();
            close(&input.conv2d(&weight, Some(&bias), window).data()?, &shifted, epsilon, 0.0);
        }
        Ok(())
    }
    in_both!(check);
    Ok(())
}

#[test]
fn rows_with_an_infinity_have_no_softmax_as_in_pytorch() -> Result<()> {
    fn check<T: FloatDType>(_epsilon: f64) -> Result<()> {
        let (inf, low) = (f64::INFINITY, f64::NEG_INFINITY);
        // Rows are long enough for vectors, and for what is left over behind them.
        for (row, expected) in [([inf, 1.0, 2.0], None), ([low; 3], None), ([low, 1.0, 2.0], Some([0.0, 0.268_941_42]))]
        {
            for copies in [1, 23] {
                let x = tensor::<T>(&row.repeat(copies)).reshape([1, 3 * copies]);
                let (soft, log) = (x.softmax(1).data()?, x.log_softmax(1).data()?);
                let loss = x.cross_entropy(&Tensor::<i64, _>::new([1])).item()?;
                match expected {
                    None => {
                        let all = soft.iter().chain(&log).chain([&loss]);
                        assert!(all.into_iter().all(|v| v.to_f64().is_nan()), "{row:?} {copies}: {soft:?} {log:?}")
                    }
                    Some([first, second]) => {
                        assert_eq!(soft[0].to_f64(), first);
                        assert!((soft[1].to_f64() * copies as f64 - second).abs() < 1e-6, "{soft:?}");
                        assert_eq!(log[0].to_f64(), low);
                    }
                }
            }
        }
        Ok(())
    }
    in_both!(check);
    Ok(())
}
