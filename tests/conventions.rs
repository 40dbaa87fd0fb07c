//! The gradient conventions of the operator index, line by line: `docs/OPERATORS.md`.

use zither::{Dim1, Pool, Tensor, grad};

type Function = fn(&Tensor<f64, Dim1>) -> Tensor<f64, zither::DimDyn>;

/// The gradient of the sum of `f` at some numbers.
#[track_caller]
fn slope(at: &[f64], f: Function) -> Vec<f64> {
    let x = Tensor::from_data(at.to_vec(), [at.len()]);
    let y = f(&x).sum_all();
    grad(&y, &[&x]).unwrap()[0].data().unwrap()
}

#[test]
fn ties() {
    assert_eq!(slope(&[2.0, 2.0, 1.0], |x| x.max(&[0], false)), [0.5, 0.5, 0.0], "max shares");
    assert_eq!(slope(&[2.0, 2.0, 3.0], |x| x.min(&[0], false)), [0.5, 0.5, 0.0], "min shares");
    let pool: Function = |x| x.max_pool1d(Pool::new([3])).reshape_dyn(&[-1]);
    assert_eq!(slope(&[2.0, 2.0, 1.0], pool), [1.0, 0.0, 0.0], "a pool takes the first");
    assert_eq!(slope(&[1.0], |x| x.maximum(1.0).reshape_dyn(&[-1])), [1.0], "maximum: the first operand's");
    assert_eq!(slope(&[-1.0, 1.0], |x| x.norm(f64::INFINITY, &[0], false)), [-0.5, 0.5], "the largest shares");
}

#[test]
fn zeros() {
    assert_eq!(slope(&[2.0, 0.0, 3.0, 4.0], |x| x.prod(&[0], false)), [0.0, 24.0, 0.0, 0.0], "prod is exact");
    assert_eq!(slope(&[0.0, 0.0], |x| x.norm(2.0, &[0], false)), [0.0, 0.0], "a length of 0 is flat");
    assert_eq!(slope(&[0.0, 0.0], |x| x.norm(3.0, &[0], false)), [0.0, 0.0], "of any order");
    assert_eq!(slope(&[0.0], |x| x.hypot(0.0).reshape_dyn(&[-1])), [0.0], "hypot at the origin");
    assert_eq!(slope(&[0.0], |x| x.xlogy(0.0).reshape_dyn(&[-1])), [0.0], "xlogy where it is 0");
    assert_eq!(slope(&[0.0], |x| x.sqrt().reshape_dyn(&[-1])), [f64::INFINITY], "sqrt is steep at 0");
}

#[test]
fn kinks() {
    let kinks: [(&str, f64, Function, f64); 11] = [
        ("abs", 0.0, |x| x.abs().reshape_dyn(&[-1]), 0.0),
        ("relu", 0.0, |x| x.relu().reshape_dyn(&[-1]), 0.0),
        ("leaky_relu", 0.0, |x| x.leaky_relu(0.1).reshape_dyn(&[-1]), 0.1),
        ("elu", 0.0, |x| x.elu(2.0).reshape_dyn(&[-1]), 2.0),
        ("relu6", 6.0, |x| x.relu6().reshape_dyn(&[-1]), 0.0),
        ("hardtanh", -1.0, |x| x.hardtanh(-1.0, 1.0).reshape_dyn(&[-1]), 0.0),
        ("clamp", 1.0, |x| x.clamp(0.0, 1.0).reshape_dyn(&[-1]), 1.0),
        ("softshrink", 0.5, |x| x.softshrink(0.5).reshape_dyn(&[-1]), 0.0),
        ("floor", 2.0, |x| x.floor().reshape_dyn(&[-1]), 0.0),
        ("sign", 0.0, |x| x.sign().reshape_dyn(&[-1]), 0.0),
        ("logsigmoid", 0.0, |x| x.logsigmoid().reshape_dyn(&[-1]), 0.5),
    ];
    for (name, at, f, expected) in kinks {
        assert_eq!(slope(&[at], f), [expected], "{name}");
    }
}

#[test]
fn nothing() {
    let empty = Tensor::<f64, _>::zeros([0]);
    assert_eq!(empty.sum_all().item().unwrap(), 0.0);
    assert_eq!(empty.prod_all().item().unwrap(), 1.0);
    assert!(empty.mean_all().item().unwrap().is_nan());
    assert_eq!(empty.logsumexp_all().item().unwrap(), f64::NEG_INFINITY);
    assert!(empty.try_max_all().is_err(), "there is nothing to choose from");
    assert_eq!(grad(&empty.sum_all(), &[&empty]).unwrap()[0].shape(), [0]);
}

#[test]
fn nan() {
    let nan = f64::NAN;
    assert_eq!(slope(&[1.0, nan], |x| x.max(&[0], false)), [0.0, 1.0], "NaN is the largest, and takes the gradient");
    assert_eq!(slope(&[nan], |x| x.relu().reshape_dyn(&[-1])), [0.0], "a comparison with NaN is false");
    let chosen: Function = |x| x.isnan().where_(&Tensor::new([0.0, 0.0]), x).reshape_dyn(&[-1]);
    assert_eq!(slope(&[nan, 2.0], chosen), [0.0, 1.0], "what is not chosen gets 0");
    assert_eq!(
        slope(&[nan, f64::INFINITY, 2.0], |x| x.nan_to_num(0.0, None, None).reshape_dyn(&[-1])),
        [0.0, 0.0, 1.0]
    );
}
