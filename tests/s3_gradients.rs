//! S3.114–132: the gradient of every primitive and of fused expressions, by hand and by central differences in f64.

use std::f64::consts::LN_2;
use zither::{DimDyn, PadValue, Result, Tensor, Window, grad};

type Array = Tensor<f64, DimDyn>;

fn array(values: &[f64], shape: &[usize]) -> Array {
    Tensor::from_data(values.to_vec(), shape)
}

/// The gradients of `Σ weight · f(inputs)`, element k of the result weighing k + 1, after checking every element of them
/// against central differences.
fn gradients(inputs: &[Array], f: impl Fn(&[Array]) -> Array) -> Result<Vec<Vec<f64>>> {
    let weighted = |inputs: &[Array]| {
        let y = f(inputs);
        let weights = (1..=y.len()).map(|k| k as f64).collect();
        let weights: Array = Tensor::from_data(weights, y.shape());
        (y * weights).sum_all()
    };
    let leaves: Vec<Array> = inputs.iter().map(|x| x.clone().set_requires_grad(true)).collect();
    weighted(&leaves).backward();
    let found: Vec<Vec<f64>> =
        leaves.iter().map(|leaf| leaf.grad().expect("every input has a gradient").data()).collect::<Result<_>>()?;
    for (which, grads) in found.iter().enumerate() {
        let values = inputs[which].data()?;
        for k in 0..values.len() {
            let step = 1e-5;
            let at = |shift: f64| -> Result<f64> {
                let mut moved = values.clone();
                moved[k] += shift;
                let mut inputs = inputs.to_vec();
                inputs[which] = array(&moved, inputs[which].shape());
                weighted(&inputs).item()
            };
            let slope = (at(step)? - at(-step)?) / (2.0 * step);
            let error = (slope - grads[k]).abs() / slope.abs().max(1.0);
            assert!(error < 1e-7, "input {which}, element {k}: gradient {}, central difference {slope}", grads[k]);
        }
    }
    Ok(found)
}

fn close(got: &[f64], wanted: &[f64]) {
    assert_eq!(got.len(), wanted.len());
    for (got, wanted) in got.iter().zip(wanted) {
        assert!((got - wanted).abs() <= 1e-14 * wanted.abs().max(1.0), "{got} is not {wanted}");
    }
}

const X: [f64; 4] = [0.5, 2.0, 3.0, 0.25];
const Y: [f64; 4] = [4.0, -1.0, 3.5, 1.0];
const W: [f64; 4] = [1.0, 2.0, 3.0, 4.0];

/// `W[k] · slope(k)`.
fn weighted(slope: impl Fn(usize) -> f64) -> [f64; 4] {
    std::array::from_fn(|k| W[k] * slope(k))
}

fn gradient(x: &Array, f: impl Fn(&Array) -> Array) -> Result<Vec<f64>> {
    Ok(gradients(std::slice::from_ref(x), |x| f(&x[0]))?.remove(0))
}

fn of_one(f: impl Fn(&Array) -> Array) -> Result<Vec<f64>> {
    gradient(&array(&X, &[4]), f)
}

#[test]
fn s3_114_add() -> Result<()> {
    let found = gradients(&[array(&X, &[4]), array(&Y, &[4])], |x| &x[0] + &x[1])?;
    assert_eq!(found, [W.to_vec(), W.to_vec()]);
    // A stretched operand gets the sum over where it was used.
    let found = gradients(&[array(&X, &[2, 2]), array(&Y[..2], &[2])], |x| &x[0] + &x[1])?;
    assert_eq!(found, [W.to_vec(), vec![4.0, 6.0]]);
    Ok(())
}

#[test]
fn s3_115_mul() -> Result<()> {
    let found = gradients(&[array(&X, &[4]), array(&Y, &[4])], |x| &x[0] * &x[1])?;
    assert_eq!(found, [weighted(|k| Y[k]).to_vec(), weighted(|k| X[k]).to_vec()]);
    Ok(())
}

#[test]
fn s3_116_max_gives_a_tie_to_the_first() -> Result<()> {
    let found = gradients(&[array(&X, &[4]), array(&Y, &[4])], |x| x[0].maximum(&x[1]))?;
    assert_eq!(found, [vec![0.0, 2.0, 0.0, 0.0], vec![1.0, 0.0, 3.0, 4.0]]);
    let a = array(&[1.0, 5.0], &[2]).set_requires_grad(true);
    let b = array(&[1.0, 5.0], &[2]).set_requires_grad(true);
    a.maximum(&b).backward(); // a gets a >= b, b gets b > a
    assert_eq!(a.grad().expect("asked for").data()?, [1.0, 1.0]);
    assert_eq!(b.grad().expect("asked for").data()?, [0.0, 0.0]);
    let x = array(&[-1.0, 0.0, 2.0], &[3]).set_requires_grad(true);
    x.relu().backward(); // max(0, x): the slope at 0 is 0
    assert_eq!(x.grad().expect("asked for").data()?, [0.0, 0.0, 1.0]);
    Ok(())
}

#[test]
fn s3_117_118_119_neg_recip_sqrt() -> Result<()> {
    assert_eq!(of_one(|x| -x)?, weighted(|_| -1.0));
    close(&of_one(|x| x.recip())?, &weighted(|k| -1.0 / (X[k] * X[k])));
    close(&of_one(|x| x.sqrt())?, &weighted(|k| 0.5 / X[k].sqrt()));
    Ok(())
}

#[test]
fn s3_120_121_122_log2_exp2_sin() -> Result<()> {
    close(&of_one(|x| x.log2())?, &weighted(|k| 1.0 / (X[k] * LN_2)));
    close(&of_one(|x| x.exp2())?, &weighted(|k| X[k].exp2() * LN_2));
    close(&of_one(|x| x.sin())?, &weighted(|k| X[k].cos()));
    Ok(())
}

#[test]
fn s3_123_sum_expands() -> Result<()> {
    let x = array(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0], &[2, 3]);
    assert_eq!(gradient(&x, |x| x.sum(&[1], false))?, [1.0, 1.0, 1.0, 2.0, 2.0, 2.0]);
    assert_eq!(gradient(&x, |x| x.sum(&[0], true))?, [1.0, 2.0, 3.0, 1.0, 2.0, 3.0]);
    assert_eq!(gradients(&[x], |x| x[0].sum(&[0, 1], false))?[0], [1.0; 6]);
    Ok(())
}

#[test]
fn s3_124_prod_is_the_product_of_the_others() -> Result<()> {
    let x = array(&[2.0, 3.0, 4.0, -1.0, 0.5, 2.0], &[2, 3]);
    // Row 0 weighs 1: 3·4, 2·4, 2·3. Row 1 weighs 2: 2·(0.5·2), 2·(-1·2), 2·(-1·0.5).
    close(&gradient(&x, |x| x.prod(&[1], false))?, &[12.0, 8.0, 6.0, 2.0, -4.0, -1.0]);
    close(&gradients(&[x], |x| x[0].prod(&[0], false))?[0], &[-1.0, 1.0, 6.0, 2.0, 6.0, 12.0]);
    // Exact with one zero, and with two.
    assert_eq!(gradients(&[array(&[2.0, 0.0, 3.0, 4.0], &[4])], |x| x[0].prod(&[0], false))?[0], [0.0, 24.0, 0.0, 0.0]);
    assert_eq!(gradients(&[array(&[2.0, 0.0, 0.0], &[3])], |x| x[0].prod(&[0], false))?[0], [0.0; 3]);
    Ok(())
}

#[test]
fn s3_125_reduce_max_goes_to_the_largest_and_ties_share() -> Result<()> {
    let x = array(&[1.0, 5.0, 3.0, 8.0, -6.0, 7.0], &[2, 3]);
    assert_eq!(gradient(&x, |x| x.max(&[1], false))?, [0.0, 1.0, 0.0, 2.0, 0.0, 0.0]);
    assert_eq!(gradients(&[x], |x| x[0].min(&[0], false))?[0], [1.0, 0.0, 3.0, 0.0, 2.0, 0.0]);
    let ties = array(&[4.0, 1.0, 4.0, 4.0, 4.0], &[5]).set_requires_grad(true);
    ties.max(&[0], false).backward();
    assert_eq!(ties.grad().expect("asked for").data()?, [0.25, 0.0, 0.25, 0.25, 0.25]);
    Ok(())
}

#[test]
fn s3_126_127_pad_and_slice_are_each_others_gradient() -> Result<()> {
    let x = array(&X, &[2, 2]);
    // In the padded [3, 4], x stands at 4..6 and 8..10 of row-major order (row 1 and 2, columns 1 and 2).
    let found = gradients(&[x], |x| x[0].pad(&[(1, 0), (1, 1)], PadValue::One))?;
    assert_eq!(found[0], [6.0, 7.0, 10.0, 11.0]);
    let x = array(&[0.0, 1.0, 2.0, 3.0, 4.0, 5.0], &[2, 3]);
    let found = gradients(&[x], |x| x[0].slice(&[(0, 2), (1, 3)]))?;
    assert_eq!(found[0], [0.0, 1.0, 2.0, 0.0, 3.0, 4.0]);
    let found = gradients(&[array(&X, &[4])], |x| x[0].flip(&[0]).slice(&[(1, 3)]))?;
    assert_eq!(found[0], [0.0, 2.0, 1.0, 0.0]);
    Ok(())
}

#[test]
fn s3_128_concat_gives_each_its_part() -> Result<()> {
    let (a, b) = (array(&X, &[2, 2]), array(&Y[..2], &[2, 1]));
    let found = gradients(&[a, b], |x| Tensor::concat(&[&x[0], &x[1], &x[0]], 1))?;
    // [a a b a a] by rows: places 1 2 3 4 5 / 6 7 8 9 10.
    assert_eq!(found, [vec![1.0 + 4.0, 2.0 + 5.0, 6.0 + 9.0, 7.0 + 10.0], vec![3.0, 8.0]]);
    Ok(())
}

#[test]
fn s3_129_130_unfold_and_fold_are_each_others_gradient() -> Result<()> {
    let x = array(&X, &[4]);
    let found = gradient(&x, |x| x.unfold1d([2], Window::default()))?;
    assert_eq!(found, [1.0, 2.0 + 3.0, 4.0 + 5.0, 6.0]); // windows 1 2 / 3 4 / 5 6
    let windows = array(&[1.0, -1.0, 2.0, 0.5, 3.0, 4.0], &[3, 2]);
    let found = gradients(&[windows], |x| x[0].fold1d([4], [2], Window::default()))?;
    assert_eq!(found[0], [1.0, 2.0, 2.0, 3.0, 3.0, 4.0]);

    let window = Window { stride: [2, 1], padding: [1, 1], dilation: [1, 2], groups: 1 };
    let image = array(&(0..20).map(|k| f64::from(k * k % 7)).collect::<Vec<_>>(), &[1, 4, 5]);
    gradient(&image, |x| x.unfold2d([3, 2], window))?;
    let windows = image.unfold2d([3, 2], window).contiguous();
    gradients(&[windows], |x| x[0].fold2d([4, 5], [3, 2], window))?;
    let cube = array(&(0..27).map(|k| f64::from(k % 5)).collect::<Vec<_>>(), &[3, 3, 3]);
    let found = gradients(&[cube], |x| x[0].unfold3d([3, 3, 3], Window::default()))?;
    assert_eq!(found[0], (1..=27).map(f64::from).collect::<Vec<_>>());
    Ok(())
}

#[test]
fn s3_131_the_gradient_of_a_fused_expression_is_its_symbolic_derivative() -> Result<()> {
    // f(x) = sin(x²)·exp(-x) + √x / (1 + x): one kernel, and so is its derivative
    // f'(x) = (2x·cos(x²) - sin(x²))·exp(-x) + 1 / (2√x·(1 + x)) - √x / (1 + x)².
    let f = |x: &Array| (x * x).sin() * (-x).exp() + x.sqrt() / (x + 1.0);
    let derivative = |x: f64| {
        (2.0 * x * (x * x).cos() - (x * x).sin()) * (-x).exp() + 0.5 / (x.sqrt() * (1.0 + x))
            - x.sqrt() / ((1.0 + x) * (1.0 + x))
    };
    close(&of_one(f)?, &weighted(|k| derivative(X[k])));
    let x = array(&X, &[4]);
    let y = f(&x);
    let slope = grad(&y, &[&x])?.remove(0);
    assert_eq!(y.lowered()?.matches("kernel ").count(), 1);
    close(&slope.data()?, &X.map(derivative));
    Ok(())
}

#[test]
fn s3_132_with_a_reduction_the_gradient_is_expanded_first() -> Result<()> {
    // g(a, b) = Σ_j exp(a_ij)·b_j, one value a row: ∂/∂a_ij = w_i·exp(a_ij)·b_j, ∂/∂b_j = Σ_i w_i·exp(a_ij).
    let a = [0.1, -0.5, 1.5, 0.3, 2.0, -1.0];
    let b = [2.0, -3.0, 0.5];
    let found = gradients(&[array(&a, &[2, 3]), array(&b, &[3])], |x| (x[0].exp() * &x[1]).sum(&[1], false))?;
    let wanted: Vec<f64> = (0..6).map(|k| [1.0, 2.0][k / 3] * a[k].exp() * b[k % 3]).collect();
    close(&found[0], &wanted);
    close(&found[1], &std::array::from_fn::<f64, 3, _>(|j| a[j].exp() + 2.0 * a[j + 3].exp()));
    // The same for a product and a maximum of an expression.
    gradients(&[array(&a, &[2, 3])], |x| (x[0].sin() + 2.0).prod(&[0], true))?;
    gradients(&[array(&a, &[2, 3])], |x| (&x[0] * &x[0]).max(&[1], false))?;
    Ok(())
}

#[test]
fn functions_with_a_derivative_of_their_own_have_the_same_one_on_inputs_that_are_given() -> Result<()> {
    let functions: [fn(&Array) -> Array; 4] =
        [|x| x.gelu_tanh(), |x| x.softplus(), |x| x.softmax(0), |x| x.gelu_tanh().softmax(0).gelu_tanh()];
    let slopes = |y: &Array, x: &Array| -> Result<[Vec<f64>; 2]> {
        let first = grad(&(y * y).sum_all(), &[x])?.remove(0);
        let second = grad(&first.sum_all(), &[x])?.remove(0);
        Ok([first.data()?, second.data()?])
    };
    for f in functions {
        let data = array(&X, &[4]);
        let wanted = slopes(&f(&data), &data)?;
        let input = Tensor::<f64, DimDyn>::input("x", &[4]);
        for placeholder in [input.clone(), input.set_requires_grad(true)] {
            let data = array(&X, &[4]).set_requires_grad(true);
            let given = f(&placeholder).realize_with(&[("x", &data.to_dynamic())])?;
            assert_eq!(slopes(&given, &data)?, wanted);
        }
    }
    Ok(())
}
