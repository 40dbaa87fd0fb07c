//! The error function.
//!
//! `erf |x| = 1 - e^(-u)` with `u = -ln(erfc |x|)`, a smooth curve that one polynomial follows over the whole range.
//! `expm1` keeps every bit near 0, and the further out, the less an error of `u` weighs.

use super::exp::expm1_not_above_zero;
use super::{at_most, by_lane, copy_sign, polynomial};
use crate::ops::vector::{Emit, Val};

/// `ln(erfc a) / a` on 0 ≤ a ≤ 4, weighted by its effect on `erf`. Degree 8, error 2^-24.2 of `erf`.
const ERF_F32: [f64; 9] = [
    -1.128379225730896,
    -0.6366193890571594,
    -0.10277783125638962,
    0.019153065979480743,
    0.00016039173351600766,
    -0.001667022705078125,
    0.0006328342715278268,
    -0.00011764057853724808,
    9.256192242901307e-06,
];

/// The same on 0 ≤ a ≤ 6 for f64, degree 23, error 2^-55.
const ERF_F64: [f64; 24] = [
    -std::f64::consts::FRAC_2_SQRT_PI,
    -0.6366197723675909,
    -0.10277260330131552,
    0.019128446993095967,
    0.00020919485391059575,
    -0.0016962076697779232,
    0.000590132429669375,
    -2.590449777929711e-05,
    -6.44204780323512e-05,
    2.957568089773195e-05,
    -3.1696932431136126e-06,
    -3.13293633091191e-06,
    2.037164611912858e-06,
    -5.706152081436811e-07,
    1.1698277161268977e-08,
    6.573811911656125e-08,
    -3.458652615420074e-08,
    1.077383346155783e-08,
    -2.360622504044336e-09,
    3.760893059777165e-10,
    -4.302009073227937e-11,
    3.3645383185243455e-12,
    -1.6149686953084537e-13,
    3.592429114279748e-15,
];

/// The error function, `2/√π ∫₀ˣ e^(-t²) dt`.
pub(crate) fn erf(e: &mut Emit, x: Val) -> Val {
    let size = e.abs(x);
    let size = at_most(e, size, by_lane(x.lane, 4.0, 6.0)); // beyond: ±1
    let slope = polynomial(e, size, by_lane(x.lane, &ERF_F32, &ERF_F64));
    let log = e.mul(size, slope);
    let minus = expm1_not_above_zero(e, log);
    copy_sign(e, minus, x)
}
