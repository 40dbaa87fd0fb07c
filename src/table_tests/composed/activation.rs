//! Rows of the activations. Ranges keep clear of the places where a slope jumps, or the layouts with padding hit them.

use super::{Case, smooth, x};
use crate::ops::compose::activation::*;

pub(super) static CASES: &[Case] = &[
    smooth("activation::softplus_with", 6.0, &[x(&[3, 5], -3.0, 3.0)], |x, _| softplus_with(&x[0], 2.5)),
    smooth("activation::elu", 4.0, &[x(&[3, 5], -3.0, 3.0)], |x, _| elu(&x[0], 1.5)),
    smooth("activation::celu", 4.0, &[x(&[3, 5], -3.0, 3.0)], |x, _| celu(&x[0], 1.5)),
    smooth("activation::selu", 4.0, &[x(&[3, 5], -3.0, 3.0)], |x, _| selu(&x[0])),
    smooth("activation::leaky_relu", 0.0, &[x(&[3, 5], -3.0, 3.0)], |x, _| leaky_relu(&x[0], 0.1)),
    smooth("activation::prelu", 0.0, &[x(&[2, 3, 2], -3.0, 3.0), x(&[3], 0.1, 0.9)], |x, _| prelu(&x[0], &x[1])),
    smooth("activation::prelu of one weight", 0.0, &[x(&[3], -3.0, 3.0), x(&[1], 0.1, 0.9)], |x, _| {
        prelu(&x[0], &x[1])
    }),
    smooth("activation::prelu of a scalar", 0.0, &[x(&[], -3.0, 3.0), x(&[], 0.1, 0.9)], |x, _| prelu(&x[0], &x[1])),
    smooth("activation::hardtanh", 0.0, &[x(&[3, 5], -3.0, 3.0)], |x, _| hardtanh(&x[0], -0.7, 1.3)),
    smooth("activation::relu6", 0.0, &[x(&[3, 5], -3.0, 9.0)], |x, _| relu6(&x[0])),
    smooth("activation::hardsigmoid", 2.0, &[x(&[3, 5], -5.0, 5.0)], |x, _| hardsigmoid(&x[0])),
    smooth("activation::hardswish", 4.0, &[x(&[3, 5], -5.0, 5.0)], |x, _| hardswish(&x[0])),
    smooth("activation::mish", 6.0, &[x(&[3, 5], -3.0, 3.0)], |x, _| mish(&x[0])),
    smooth("activation::softsign", 2.0, &[x(&[3, 5], -3.0, 3.0)], |x, _| softsign(&x[0])),
    smooth("activation::logsigmoid", 4.0, &[x(&[3, 5], -3.0, 3.0)], |x, _| logsigmoid(&x[0])),
    smooth("activation::tanhshrink", 4.0, &[x(&[3, 5], -3.0, 3.0)], |x, _| tanhshrink(&x[0])),
    smooth("activation::softshrink", 0.0, &[x(&[3, 5], -3.0, 3.0)], |x, _| softshrink(&x[0], 0.6)),
    smooth("activation::hardshrink", 0.0, &[x(&[3, 5], -3.0, 3.0)], |x, _| hardshrink(&x[0], 0.6)),
    smooth("activation::threshold", 0.0, &[x(&[3, 5], -3.0, 3.0)], |x, _| threshold(&x[0], 0.6, 2.0)),
    smooth("activation::glu", 4.0, &[x(&[3, 4], -3.0, 3.0)], |x, _| glu(&x[0], -1)),
    smooth("activation::swiglu", 6.0, &[x(&[4, 3], -3.0, 3.0)], |x, _| swiglu(&x[0], 0)),
    smooth("activation::geglu", 6.0, &[x(&[3, 4], -3.0, 3.0)], |x, _| geglu(&x[0], 1)),
];
