//! Failures of our peers that touch layers: see PEER_BUGS.

use zither::{Dim4, Interpolation, Pool, Tensor, grad};

/// The slope of `f` at every element, by differences.
fn slopes(x: &Tensor<f64, Dim4>, f: impl Fn(&Tensor<f64, Dim4>) -> Tensor<f64, zither::Dim0>) -> Vec<f64> {
    let data = x.data().unwrap();
    let shape: [usize; 4] = x.shape().try_into().unwrap();
    let at = |k: usize, step: f64| {
        let mut moved = data.clone();
        moved[k] += step;
        f(&Tensor::from_data(moved, shape)).item().unwrap()
    };
    (0..data.len()).map(|k| (at(k, 1e-6) - at(k, -1e-6)) / 2e-6).collect()
}

fn agree(found: &[f64], expected: &[f64]) {
    for (k, (a, b)) in found.iter().zip(expected).enumerate() {
        assert!((a - b).abs() < 1e-6, "element {k}: {a}, expected {b}");
    }
}

/// Different numbers, in no order.
fn mixed(shape: [usize; 4]) -> Tensor<f64, Dim4> {
    let len: usize = shape.iter().product();
    Tensor::from_data((0..len).map(|k| ((k * 37) % 101) as f64 / 8.0).collect(), shape)
}

#[test]
fn peer_candle_max_pool2d_gradient_is_whole_and_windows_may_overlap() {
    // Windows side by side: each largest element gets all of its window's gradient.
    let x = Tensor::new([[[[1.0f64, 2.0], [4.0, 3.0]]]]);
    let y = x.max_pool2d(Pool::new([2, 2]));
    assert_eq!(grad(&(&y * 3.0).sum_all(), &[&x]).unwrap()[0].data().unwrap(), [0.0, 0.0, 3.0, 0.0]);
    for pool in [
        Pool::new([2, 2]),
        Pool::new([3, 3]).stride([1, 1]),
        Pool { padding: [1, 1], ..Pool::new([3, 3]).stride([2, 1]) },
        Pool { ceil_mode: true, dilation: [2, 1], ..Pool::new([2, 3]).stride([2, 2]) },
    ] {
        let x = mixed([1, 2, 6, 7]);
        let weight = |y: &Tensor<f64, Dim4>| {
            let numbers = (0..y.len()).map(|k| (k % 7) as f64 - 2.5).collect();
            Tensor::from_data(numbers, <[usize; 4]>::try_from(y.shape()).unwrap())
        };
        let f = |x: &Tensor<f64, Dim4>| {
            let y = x.max_pool2d(pool);
            (&y * &weight(&y)).sum_all()
        };
        agree(&grad(&f(&x), &[&x]).unwrap()[0].data().unwrap(), &slopes(&x, f));
    }
    // Ties: the first of a window has it all, and what overlaps adds up.
    let x = Tensor::<f64, _>::ones([1, 1, 1, 4]);
    let y = x.max_pool2d(Pool::new([1, 2]).stride([1, 1]));
    assert_eq!(grad(&y.sum_all(), &[&x]).unwrap()[0].data().unwrap(), [1.0, 1.0, 1.0, 0.0]);
}

#[test]
fn peer_candle_upsample_gradient_adds_up_when_a_tensor_is_used_twice() {
    for mode in [Interpolation::Nearest, Interpolation::Linear, Interpolation::Cubic] {
        let x = mixed([1, 1, 3, 2]);
        let f = |x: &Tensor<f64, Dim4>| {
            let larger = x.interpolate2d([6, 5], mode, false);
            (&larger * &larger).sum_all() + x.interpolate2d([4, 4], mode, false).sum_all()
        };
        let found = grad(&f(&x), &[&x]).unwrap()[0].data().unwrap();
        for (a, b) in found.iter().zip(slopes(&x, f)) {
            assert!((a - b).abs() < 1e-4 * b.abs().max(1.0), "{a}, expected {b}");
        }
    }
}

#[test]
fn peer_candle_2168_fused_paths_have_a_gradient() {
    let x = mixed([1, 2, 4, 4]) * 0.1;
    let f = |x: &Tensor<f64, Dim4>| {
        let cos = Tensor::<f64, _>::full([4, 2], 0.6);
        let turned = x.rotary_embedding(&cos, &(&cos + 0.2));
        turned.scaled_dot_product_attention(&turned, x, Default::default()).square().sum_all()
    };
    agree(&grad(&f(&x), &[&x]).unwrap()[0].data().unwrap(), &slopes(&x, f));
}

#[test]
fn dropout_is_seeded_and_keeps_the_mean() {
    let x = Tensor::<f32, _>::ones([100, 100]);
    let drawn = |threads: usize| {
        zither::runtime::set_threads(threads);
        zither::manual_seed(11);
        x.dropout(0.25).data().unwrap()
    };
    let first = drawn(1);
    assert_eq!(first, drawn(2));
    let mean = first.iter().sum::<f32>() / first.len() as f32;
    assert!((mean - 1.0).abs() < 0.05, "{mean}");
    let channels = Tensor::<f32, _>::ones([8, 8, 3, 3]).feature_dropout(0.5, 2).data().unwrap();
    assert!(channels.chunks(9).all(|channel| channel.iter().all(|&y| y == channel[0])));
}
