//! Rows of elementwise compositions: activations, and primitives with numbers.

use super::{Case, condition, exact, numeric, smooth, x};
use crate::dtype::Literal;
use crate::graph::Node;
use crate::ops;
use crate::ops::compose::scalar::Number;
use crate::ops::compose::{activation, scalar};

pub(super) static CASES: &[Case] = &[
    smooth("activation::relu", 0.0, &[x(&[3, 5], -3.0, 3.0)], |x, _| activation::relu(&x[0])),
    smooth("activation::silu", 6.0, &[x(&[3, 5], -3.0, 3.0)], |x, _| activation::silu(&x[0])),
    smooth("activation::gelu", 6.0, &[x(&[3, 5], -3.0, 3.0)], |x, _| activation::gelu(&x[0])),
    smooth("activation::softplus", 4.0, &[x(&[3, 5], -6.0, 6.0)], |x, _| activation::softplus(&x[0])),
    smooth("activation::softplus far", 4.0, &[x(&[3, 5], 15.0, 30.0)], |x, _| activation::softplus(&x[0])),
    numeric("scalar::with_scalar add", 0.0, &[x(&[3, 5], -3.0, 3.0)], |x, _| {
        scalar::with_scalar(&ops::ADD, &x[0], Number::Whole(2))
    }),
    smooth("scalar::with_scalar pow", 4.0, &[x(&[3, 5], 0.3, 3.0)], |x, _| {
        scalar::with_scalar(&ops::POW, &x[0], Number::Float(1.5))
    }),
    numeric("scalar::clamp", 0.0, &[x(&[3, 5], 0.0, 9.0)], |x, dtype| {
        scalar::clamp(&x[0], Some(Literal::from_f64(dtype, 2.0)), Some(Literal::from_f64(dtype, 6.0)))
    }),
    numeric("scalar::clamp below", 0.0, &[x(&[3, 5], 0.0, 9.0)], |x, dtype| {
        scalar::clamp(&x[0], Some(Literal::from_f64(dtype, 3.0)), None)
    }),
    numeric("scalar::clamp crossed", 0.0, &[x(&[3, 5], 0.0, 9.0)], |x, dtype| {
        scalar::clamp(&x[0], Some(Literal::from_f64(dtype, 7.0)), Some(Literal::from_f64(dtype, 4.0)))
    }),
    smooth("scalar::powf 0", 0.0, &[x(&[3, 5], 0.5, 3.0)], |x, _| scalar::powf(&x[0], 0.0)),
    smooth("scalar::powf 1", 0.0, &[x(&[3, 5], -3.0, 3.0)], |x, _| scalar::powf(&x[0], 1.0)),
    numeric("scalar::powf 2", 0.0, &[x(&[3, 5], -3.0, 3.0)], |x, _| scalar::powf(&x[0], 2.0)),
    numeric("scalar::powf 3", 0.0, &[x(&[3, 5], -3.0, 3.0)], |x, _| scalar::powf(&x[0], 3.0)),
    smooth("scalar::powf 4", 4.0, &[x(&[3, 5], -3.0, 3.0)], |x, _| scalar::powf(&x[0], 4.0)),
    smooth("scalar::powf 0.5", 0.0, &[x(&[3, 5], 0.5, 3.0)], |x, _| scalar::powf(&x[0], 0.5)),
    smooth("scalar::powf -1", 0.0, &[x(&[3, 5], 0.5, 3.0)], |x, _| scalar::powf(&x[0], -1.0)),
    smooth("scalar::powf -2", 4.0, &[x(&[3, 5], 0.5, 3.0)], |x, _| scalar::powf(&x[0], -2.0)),
    smooth("scalar::powf 2.5", 4.0, &[x(&[3, 5], 0.5, 3.0)], |x, _| scalar::powf(&x[0], 2.5)),
    smooth("scalar::rsqrt", 0.0, &[x(&[3, 5], 0.5, 3.0)], |x, _| scalar::rsqrt(&x[0])),
    numeric("scalar::square", 0.0, &[x(&[3, 5], -3.0, 3.0)], |x, _| scalar::square(&x[0])),
    numeric("compute::map affine", 0.0, &[x(&[3, 5], -3.0, 3.0)], |x, _| Ok(&(&x[0] * 3.0) + 2.0)),
    numeric("compute::map column times row", 0.0, &[x(&[3, 1], -3.0, 3.0), x(&[5], -3.0, 3.0)], |x, _| {
        Node::map(&ops::MUL, &[&x[0], &x[1]])
    }),
    numeric("compute::map_of a column and a row", 0.0, &[x(&[3, 1], -3.0, 3.0), x(&[5], -3.0, 3.0)], |x, _| {
        Node::map_of(&ops::MUL, [x[0].clone(), x[1].clone()])
    }),
    smooth("compute::map a chain", 12.0, &[x(&[3, 5], 0.5, 3.0), x(&[1, 5], 0.5, 3.0), x(&[], 0.5, 3.0)], |x, _| {
        let product = &(&x[0] * &x[1]) + &x[2];
        Ok(&(&product.ln() / &x[0].sqrt()) - &product.sin())
    }),
    exact(
        "compute::map where that broadcasts",
        &[condition(&[3, 1]), x(&[1, 4], -3.0, 3.0), x(&[2, 3, 4], -3.0, 3.0)],
        |x, _| Node::map(&ops::SELECT, &[&x[0], &x[1], &x[2]]),
    ),
    smooth("compute::cast there and back", 0.0, &[x(&[3, 5], -3.0, 3.0)], |x, dtype| {
        x[0].cast(crate::dtype::DType::F64)?.cast(dtype)
    }),
];
