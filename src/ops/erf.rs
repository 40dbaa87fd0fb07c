//! The error function.

use super::math;
use super::record::{Dtypes, Eval, Gives, Grad, Primitive, Takes};
use std::f64::consts::FRAC_2_SQRT_PI;

pub(crate) static ERF: Primitive = Primitive {
    name: "erf",
    takes: Takes::Same(1),
    dtypes: Dtypes::Float,
    gives: Gives::Same,
    eval: Eval::float(|x| series(x[0])),
    grad: Grad::Rules(&[|g, x, _| &(g * &(-(&x[0] * &x[0])).exp()) * FRAC_2_SQRT_PI]),
    emit: |e, _, x| math::erf(e, x[0]),
    sample: &[-2.0..2.0],
};

/// `2/√π · exp(-x²) · Σ 2ⁿ x²ⁿ⁺¹ / (1·3·5···(2n+1))`: every term has the sign of `x`, so nothing cancels.
pub(super) fn series(x: f64) -> f64 {
    if x.is_nan() || x == 0.0 {
        return x;
    }
    if x.abs() > 6.0 {
        return 1f64.copysign(x); // 1 - erf(6) is below half an ulp of 1
    }
    let (mut term, mut sum, mut n) = (x, x, 0.0);
    while term.abs() > sum.abs() * 1e-18 {
        n += 1.0;
        term *= 2.0 * x * x / (2.0 * n + 1.0);
        sum += term;
    }
    FRAC_2_SQRT_PI * (-x * x).exp() * sum
}
