//! Compiled functions: the same numbers as without, for new inputs, shapes and threads.

use zither::{DynTensor, ErrorKind, Matrix, Result, Tensor, Vector, compile, grad};

#[test]
fn shapes_may_change_and_several_results_share_a_plan() -> Result<()> {
    let both = compile(|(x, y): (DynTensor, DynTensor)| vec![&x + &y, &x * &y, x.clone(), (&x + &y).sum_all()]);
    for size in [1usize, 3, 100, 3] {
        let x = DynTensor::from_data((0..size).map(|k| k as f64).collect(), &[size]);
        let y = DynTensor::from_data(vec![2.0f64; size], &[size]);
        let results = both.call(&(x.clone(), y))?;
        assert_eq!(results[0].data::<f64>()?, (0..size).map(|k| k as f64 + 2.0).collect::<Vec<_>>());
        assert_eq!(results[1].data::<f64>()?, (0..size).map(|k| k as f64 * 2.0).collect::<Vec<_>>());
        assert_eq!(results[2].data::<f64>()?, x.data::<f64>()?);
        assert_eq!(results[3].item()?.to_f64(), (size * (size - 1)) as f64 / 2.0 + 2.0 * size as f64);
    }
    Ok(())
}

#[test]
fn gradients_are_taken_inside() -> Result<()> {
    let slope = compile(|x: Vector<f64>| {
        let x = x.set_requires_grad(true);
        let y = x.powf(3.0).sum_all();
        grad(&y, &[&x]).expect("a gradient")[0].clone()
    });
    assert_eq!(slope.call(&Tensor::new([1.0, 2.0]))?.data()?, [3.0, 12.0]);
    assert_eq!(slope.call(&Tensor::new([-1.0, 0.0]))?.data()?, [3.0, 0.0]);
    let tracked = Tensor::new([1.0f64, 2.0]).set_requires_grad(true);
    let error = slope.call(&tracked).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Gradient);
    assert!(error.to_string().contains("take the gradient inside the function"), "{error}");
    Ok(())
}

#[test]
fn views_constants_and_lazy_inputs() -> Result<()> {
    let f = compile(|x: Matrix<f32>| (x.t(), Tensor::<f32, zither::Dim1>::full([2], 7.0), x.reshape([6])));
    let x = Tensor::new([[1.0f32, 2.0, 3.0], [4.0, 5.0, 6.0]]);
    let (t, seven, flat) = f.call(&(&x + 1.0))?;
    assert_eq!(t.data()?, [2.0, 5.0, 3.0, 6.0, 4.0, 7.0]);
    assert_eq!((t.shape(), seven.data()?), (&[3, 2][..], vec![7.0, 7.0]));
    assert_eq!(flat.data()?, [2.0, 3.0, 4.0, 5.0, 6.0, 7.0]);
    // A transposed input is read through its view.
    let (t, ..) = f.call(&Tensor::new([[1.0f32, 4.0], [2.0, 5.0], [3.0, 6.0]]).t())?;
    assert_eq!(t.data()?, [1.0, 4.0, 2.0, 5.0, 3.0, 6.0]);
    Ok(())
}

#[test]
fn a_function_that_reads_its_input_gets_an_error() {
    let f = compile(|x: Vector<f32>| {
        let error = x.data().unwrap_err();
        assert!(error.to_string().contains("input 0 of a compiled function"), "{error}");
        x * 2.0
    });
    assert!(f.call(&Tensor::new([1.0])).is_ok());
}

#[test]
fn many_threads_may_call_at_once() {
    let f = compile(|x: Vector<f32>| (&x * 2.0 + 1.0).exp().sum_all());
    let expected: Vec<f32> =
        (0..16).map(|k| f.call(&Tensor::full([1000], k as f32 / 16.0)).unwrap().item().unwrap()).collect();
    std::thread::scope(|scope| {
        for start in 0..4 {
            let (f, expected) = (&f, &expected);
            scope.spawn(move || {
                for k in (0..16).cycle().skip(start).take(400) {
                    let x = Tensor::full([1000], k as f32 / 16.0);
                    assert_eq!(f.call(&x).unwrap().item().unwrap(), expected[k]);
                }
            });
        }
    });
}

#[test]
fn what_needs_numbers_at_once_says_that_it_cannot_be_inside() -> Result<()> {
    let halved = compile(|x: Matrix<f64>| {
        for error in [x.try_inverse().unwrap_err(), x.try_nonzero().unwrap_err(), x.try_unique().unwrap_err()] {
            let text = error.to_string();
            assert!(
                text.contains("input 0 of a compiled function has no numbers while the function is recorded"),
                "{text}"
            );
        }
        // What does not hang on the inputs is computed once.
        x.matmul(&Tensor::new([[2.0f64, 0.0], [0.0, 2.0]]).inverse())
    });
    assert_eq!(halved.call(&Tensor::new([[2.0, 4.0]]))?.data()?, [1.0, 2.0]);
    Ok(())
}

#[test]
fn results_may_be_bools() -> Result<()> {
    let positive = compile(|x: Vector<f32>| x.gt(0.0));
    assert_eq!(positive.call(&Tensor::new([1.0, -1.0, 0.0]))?.data()?, [true, false, false]);
    let even = compile(|x: Vector<i64>| (x % 2).eq(0));
    assert_eq!(even.call_owned(Tensor::new([4, 5]))?.data()?, [true, false]);
    Ok(())
}
