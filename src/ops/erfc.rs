//! What is left of the error function, `1 - erf x`, with all its digits far out.

use super::erf::series;
use super::math;
use super::record::{Dtypes, Eval, Gives, Grad, Primitive, Takes};
use std::f64::consts::FRAC_2_SQRT_PI;

pub(crate) static ERFC: Primitive = Primitive {
    name: "erfc",
    takes: Takes::Same(1),
    dtypes: Dtypes::Float,
    gives: Gives::Same,
    eval: Eval::float(|x| rest(x[0])),
    grad: Grad::Rules(&[|g, x, _| &(g * &(-(&x[0] * &x[0])).exp()) * -FRAC_2_SQRT_PI]),
    emit: |e, _, x| math::erfc(e, x[0]),
    sample: &[-2.0..4.0],
};

/// Below ½ by the series of `erf`, above by a continued fraction: `exp(-x²)/√π · 1/(x + ½/(x + 1/(x + 3⁄2/(x + ...))))`.
fn rest(x: f64) -> f64 {
    if x <= 0.5 || x.is_nan() {
        return 1.0 - series(x);
    }
    if x > 28.0 {
        return 0.0; // below every f64
    }
    const TERMS: u32 = 1000; // as many as ½ needs
    let fraction = (1..=TERMS).rev().fold(x, |rest, k| x + f64::from(k) / 2.0 / rest);
    // x² to twice the digits: its rounding would show in the exponential.
    let (square, missing) = (x * x, x.mul_add(x, -(x * x)));
    0.5 * FRAC_2_SQRT_PI * (-square).exp() * (1.0 - missing) / fraction
}
