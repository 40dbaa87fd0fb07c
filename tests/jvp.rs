//! Forward mode against difference quotients, and against the gradients that it is the transpose of.

use zither::{DimDyn, DynTensor, ErrorKind, Pool, Result, Tensor, grad, jvp};

type Real = Tensor<f64, DimDyn>;

fn numbers(shape: &[usize], seed: usize) -> Real {
    let len: usize = shape.iter().product();
    let values: Vec<f64> = (0..len).map(|i| ((i * 7 + seed * 13) * 2654435761 % 1009) as f64 / 250.0 - 2.0).collect();
    DynTensor::from_data(values, shape).to_typed()
}

type Function = (&'static str, &'static [usize], fn(&Real) -> Real);

const FUNCTIONS: [Function; 8] = [
    ("polynomial", &[5], |x| x * x * x - x * 2.0),
    ("exp of a sum", &[2, 3], |x| (x.sum_axis(1) * 0.1).exp()),
    ("softmax", &[3, 4], |x| x.softmax(1)),
    ("variance", &[3, 4], |x| x.var_axis(0)),
    ("product", &[4, 4], |x| x.matmul(x)),
    ("view", &[4, 3], |x| x.transpose(0, 1).flip(&[0]) * 3.0),
    ("cumsum", &[6], |x| (x * x).cumsum(0)),
    ("flat", &[4], |x| x.floor()),
];

#[test]
fn forward_mode_is_the_difference_quotient() -> Result<()> {
    for (name, shape, f) in FUNCTIONS {
        let (x, tangent) = (numbers(shape, 1), numbers(shape, 2));
        let y = f(&x);
        let found = jvp(&y, &[&x], &[&tangent])?.data()?;
        let step = 1e-6;
        let [after, before] = [step, -step].map(|step| f(&(&x + &tangent * step)).data());
        for ((found, after), before) in found.iter().zip(after?).zip(before?) {
            let quotient = (after - before) / (2.0 * step);
            assert!((found - quotient).abs() < 1e-6 * quotient.abs().max(1.0), "{name}: {found}, expected {quotient}");
        }
        // ⟨u, J v⟩ = ⟨Jᵀ u, v⟩.
        let weights = numbers(y.shape(), 3);
        let forward = (&jvp(&y, &[&x], &[&tangent])? * &weights).sum_all().item()?;
        let backward = (&grad(&(&y * &weights).sum_all(), &[&x])?[0] * &tangent).sum_all().item()?;
        assert!((forward - backward).abs() < 1e-9 * forward.abs().max(1.0), "{name}: {forward} and {backward}");
    }
    Ok(())
}

#[test]
fn several_inputs_change_at_once_and_pools_follow() -> Result<()> {
    let (a, b) = (Tensor::new([1.0f64, 2.0]), Tensor::new([3.0, 5.0]));
    let (da, db) = (Tensor::new([1.0, 0.0]), Tensor::new([0.5, 1.0]));
    assert_eq!(jvp(&(&a * &b), &[&a, &b], &[&da, &db])?.data()?, [3.5, 2.0]);
    let x = Tensor::new([[[1.0f64, 4.0, 2.0, 3.0]]]);
    let change = Tensor::new([[[10.0f64, 20.0, 30.0, 40.0]]]);
    assert_eq!(jvp(&x.max_pool1d(Pool::new([2])), &[&x], &[&change])?.data()?, [20.0, 40.0]);
    Ok(())
}

#[test]
fn tangents_are_like_their_inputs() {
    let x = Tensor::new([1.0f64, 2.0]);
    let y = &x * &x;
    let fewer = jvp(&y, &[&x], &[]).unwrap_err();
    assert_eq!(fewer.kind(), ErrorKind::Value);
    assert!(fewer.to_string().starts_with("jvp: 0 tangents for 1 inputs: give one for each"), "{fewer}");
    let other = jvp(&y, &[&x], &[&Tensor::new([1.0])]).unwrap_err();
    assert_eq!(other.kind(), ErrorKind::Shape);
    assert!(other.to_string().starts_with("jvp: tangent 0 is f64[1], its input f64[2]"), "{other}");
    let strange = jvp(&y, &[&Tensor::new([1.0f64])], &[&Tensor::new([1.0])]).unwrap_err();
    assert_eq!(strange.kind(), ErrorKind::Gradient);
}
