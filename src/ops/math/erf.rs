//! The error function, and what is left of it.
//!
//! `erf |x| = 1 - e^(-u)` with `u = -ln(erfc |x|)`, a smooth curve that one polynomial follows over the whole range.
//! `expm1` keeps every bit near 0, and the further out, the less an error of `u` weighs.

use super::exp::{exp, expm1_not_above_zero};
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

/// `e^(a²) erfc(a) · (1 + 2a)` by `q = (a - 2) / (a + 2)` on 0 ≤ a ≤ 10.2. Degree 10, error 2^-26.5.
const ERFC_F32: [f64; 11] = [
    1.2769783914894055,
    -0.09276391569663531,
    -0.16603132430782913,
    0.1640535936103536,
    -0.05420541611159653,
    -0.008047373480710511,
    0.008638507089749795,
    0.0012801680595224962,
    -0.0012509537116935784,
    -0.00037028098097698287,
    2.2995684544349176e-05,
];

/// The same by `q = (a - 4) / (a + 4)` on 0 ≤ a ≤ 27.4 for f64, degree 22, error 2^-56.
const ERFC_F64: [f64; 23] = [
    1.2329951186255526,
    -0.13962111684056286,
    0.015379652102621042,
    0.06809705425473414,
    -0.1010390660363707,
    0.09373283499688893,
    -0.06633036581108195,
    0.03716751556127147,
    -0.01619773406461013,
    0.005031969763652847,
    -0.0007577733027442623,
    -0.00019925553039734192,
    0.000150622079740619,
    -2.4403163176592525e-05,
    -1.1224365307564075e-05,
    5.718043609773559e-06,
    3.0071444837511043e-07,
    -8.356147219289347e-07,
    6.318100986366053e-08,
    1.1588542956541465e-07,
    -7.783296115022294e-09,
    -1.391155394532715e-08,
    -1.8947876100626396e-09,
];

/// `1 - erf(x)`: for `a = |x|` it is `e^(-a²)` times a curve that falls like `1 / (1 + 2a)`; below 0 it is what 2 lacks of that.
pub(crate) fn erfc(e: &mut Emit, x: Val) -> Val {
    let size = e.abs(x);
    let size = at_most(e, size, by_lane(x.lane, 10.2, 27.4)); // beyond: 0 or 2
    let middle = e.float(x.lane, by_lane(x.lane, 2.0, 4.0));
    let [zero, one, two] = [0.0, 1.0, 2.0].map(|value| e.float(x.lane, value));
    let (below, above) = (e.sub(size, middle), e.add(size, middle));
    let place = e.div(below, above);
    let curve = polynomial(e, place, by_lane(x.lane, &ERFC_F32, &ERFC_F64));
    let fall = e.fma(two, size, one);
    let curve = e.div(curve, fall);
    // a² to twice the digits: its rounding would show in the exponential.
    let square = e.mul(size, size);
    let minus = e.neg(square);
    let missing = e.fma(size, size, minus);
    let power = exp(e, minus);
    let curve_less = e.mul(curve, missing);
    let curve = e.sub(curve, curve_less);
    let rest = e.mul(power, curve);
    let other = e.sub(two, rest);
    let negative = e.lt(x, zero);
    e.select(negative, other, rest)
}
