//! Peers' bugs around the graph as a whole: depth, places in messages, threads, meaning of simple ops.

use zither::runtime::set_threads;
use zither::{Dim1, Result, Tensor, grad};

/// Runs `f` on a thread with a stack of 2 MiB, where recursion over a deep graph would end it.
fn on_a_small_stack(f: impl FnOnce() -> Result<()> + Send + 'static) {
    let thread = std::thread::Builder::new().stack_size(2 << 20).spawn(f).expect("a thread");
    thread.join().expect("no overflow, no panic").expect("no error");
}

#[test]
fn peer_tinygrad_4905_pytorch_5534_a_chain_of_a_million_nodes() {
    on_a_small_stack(|| {
        let x = Tensor::new([1.0f32]).set_requires_grad(true);
        let mut y = &x + 0.0;
        for _ in 0..500_000 {
            y = -(y + 1.0); // two nodes and a constant
        }
        let grads = y.backward();
        let slope = grads.get(&x).expect("x requires a gradient");
        drop(y);
        drop(slope);
        drop(grads);
        drop(x);
        Ok(())
    });
}

#[test]
fn peer_tinygrad_4905_a_long_chain_is_read_and_differentiated_right() {
    on_a_small_stack(|| {
        let x = Tensor::new([1.0f64, 2.0]).set_requires_grad(true);
        let y = (0..20_000).fold(&x * 1.0, |y, _| y + 1.0);
        assert_eq!(y.data()?, [20_001.0, 20_002.0]);
        y.backward();
        assert_eq!(x.grad().expect("asked for").data()?, [1.0, 1.0]);
        Ok(())
    });
}

#[test]
fn peer_tinygrad_4905_doubling_sixty_times_is_sixty_steps() -> Result<()> {
    let x = Tensor::new([1.0f64]).set_requires_grad(true);
    let y = (0..60).fold(&x * 1.0, |y, _| &y + &y); // 2^60 paths
    assert_eq!(y.item()?, 2f64.powi(60));
    y.backward();
    assert_eq!(x.grad().expect("asked for").item()?, 2f64.powi(60));
    let z = (0..60).fold(x.detach(), |z, _| &z + &z);
    assert_eq!(grad(&z, &[&x.detach()]).err().map(|e| e.kind()), Some(zither::ErrorKind::Gradient));
    assert_eq!(z.item()?, 2f64.powi(60));
    Ok(())
}

#[test]
fn peer_tinygrad_3302_errors_name_the_line_of_the_op_and_of_both_operands() {
    let here = |line: u32| format!("{}:{line}", file!());
    let (a, made_a) = (Tensor::<f32, _>::zeros([2, 3]), line!());
    let (b, made_b) = (Tensor::<f32, _>::zeros([4]), line!());
    let (error, _called) = (a.try_add(&b).unwrap_err(), line!());
    let text = error.to_string();
    assert!(text.contains(&format!("left made at {}, right made at {}", here(made_a), here(made_b))), "{text}");

    // What only fails when it runs names the op's line as well, however much was done with the result since.
    let (rows, made_rows) = (Tensor::new([[1.0f32], [2.0]]), line!());
    let (index, made_index) = (Tensor::new([0i64, 2]), line!());
    let (taken, called) = (rows.index_select(0, &index), line!());
    let later = (&taken + 1.0).sum_all();
    let text = later.data().unwrap_err().to_string();
    let wanted = format!(
        "index_select: index 2 is out of range for an axis of 2: use -2 to 1\n  result made at {}\n  tensor made at {}\n  index made at {}",
        here(called),
        here(made_rows),
        here(made_index)
    );
    assert_eq!(text, wanted);

    let (zero, made) = (Tensor::new([7i32, 7]) / Tensor::new([1, 0]), line!());
    let text = ((zero + 1) * 2).data().unwrap_err().to_string();
    assert_eq!(text, format!("idiv: an integer was divided by zero\n  result made at {}", here(made)));
    let (zero, made) = (Tensor::new([7i32, 7]) % Tensor::new([1, 0]), line!());
    let text = (zero / 3).sum_all().data().unwrap_err().to_string();
    assert_eq!(text, format!("rem: an integer was divided by zero\n  result made at {}", here(made)));
    // Of several divisions in one kernel it is the one with the zero.
    let fine = Tensor::new([7i32, 7]) / Tensor::new([1, 2]);
    let (zero, made) = (&fine / Tensor::new([0, 5]), line!());
    let text = (zero % Tensor::new([3, 3]) + fine).data().unwrap_err().to_string();
    assert_eq!(text, format!("idiv: an integer was divided by zero\n  result made at {}", here(made)));
}

#[test]
fn peer_pytorch_88718_2201_results_are_the_same_bits_for_any_number_of_threads() -> Result<()> {
    let data: Vec<f32> = (0..300_007u32).map(|k| (k.wrapping_mul(2_654_435_761) >> 8) as f32 / 1e5 - 80.0).collect();
    let run = |threads: usize| -> Result<Vec<u32>> {
        set_threads(threads);
        let x = Tensor::new(data.clone());
        let matrix = x.slice(&[(0, 300_000)]).reshape([500, 600]);
        let mut bits = vec![
            x.sum_all().item()?.to_bits(),
            x.mean_all().item()?.to_bits(),
            (&x * &x).sum_all().item()?.to_bits(),
            x.std_all().item()?.to_bits(),
            x.max_all().item()?.to_bits(),
        ];
        for tensor in [matrix.softmax(1), matrix.softmax(0), (&matrix.t() * 0.5).matmul(&matrix.narrow(1, 0, 9))] {
            bits.extend(tensor.data()?.iter().map(|v| v.to_bits()));
        }
        bits.extend(matrix.sum_axis(0).data()?.iter().map(|v| v.to_bits()));
        bits.extend(matrix.sum_axis(1).data()?.iter().map(|v| v.to_bits()));
        let leaf = matrix.contiguous().set_requires_grad(true);
        leaf.tanh().mean_axis(0).sin().sum_all().backward();
        bits.extend(leaf.grad().expect("asked for").data()?.iter().map(|v| v.to_bits()));
        set_threads(0);
        Ok(bits)
    };
    let one = run(1)?;
    assert!(one == run(2)? && one == run(3)?);
    Ok(())
}

#[test]
fn peer_harp_mean_pow_and_the_gradients_of_exp_and_sin() -> Result<()> {
    let x = Tensor::new([1.0f64, 2.0, 6.0]);
    assert_eq!(x.mean_all().item()?, 3.0, "not the sum");
    let powers = x.pow(&Tensor::new([3.0f64, 0.5, -1.0])).data()?;
    for (got, wanted) in powers.iter().zip([1.0, std::f64::consts::SQRT_2, 1.0 / 6.0]) {
        assert!((got - wanted).abs() < 1e-15, "{got} is not {wanted}");
    }
    assert_eq!(x.powf(2.0).data()?, [1.0, 4.0, 36.0]);
    assert_eq!(x.powf(3.0).data()?, [1.0, 8.0, 216.0]);

    let slope = |f: fn(&Tensor<f64, Dim1>) -> Tensor<f64, Dim1>| -> Result<Vec<f64>> {
        let x = Tensor::new([1.0f64, 2.0, 6.0]);
        grad(&f(&x), &[&x])?[0].data()
    };
    let close = |got: Vec<f64>, wanted: [f64; 3]| {
        for (got, wanted) in got.iter().zip(wanted) {
            assert!((got - wanted).abs() <= 1e-14 * wanted.abs(), "{got} is not {wanted}");
        }
    };
    close(slope(|x| x.exp())?, [std::f64::consts::E, 7.389_056_098_930_65, 403.428_793_492_735_1]);
    close(slope(|x| x.sin())?, [0.540_302_305_868_139_7, -0.416_146_836_547_142_4, 0.960_170_286_650_366]);
    close(slope(|x| x.powf(2.5))?, [2.5, 2.5 * 2f64.powf(1.5), 2.5 * 6f64.powf(1.5)]);
    close(slope(|x| x.mean_keepdim(0) * 3.0)?, [1.0; 3]);
    Ok(())
}
