//! Rows of composed elementary functions, and of questions about floats.

use super::{ALL, Case, Slope, numeric, smooth, x};
use crate::dtype::DType;
use crate::error::Result;
use crate::graph::Node;
use crate::ops::compose::classify::*;
use crate::ops::compose::elementary::*;
use crate::table_tests::compare::Agreement;

/// A question with yes or no as the answer; the op named stops the gradient.
const fn question(name: &'static str, stops: &'static str, build: fn(&[Node], DType) -> Result<Node>) -> Case {
    let inputs = &[super::Input { shape: &[3, 4], range: -3.0..3.0, dtype: None }];
    Case { name, inputs, dtypes: ALL, agreement: Agreement::Exact, slope: Slope::Stops(stops), build }
}

pub(super) static CASES: &[Case] = &[
    question("classify::isnan", "ne", |x, _| isnan(&x[0])),
    question("classify::isinf", "eq", |x, _| isinf(&x[0])),
    question("classify::isfinite", "lt", |x, _| isfinite(&x[0])),
    question("classify::isposinf", "eq", |x, _| isposinf(&x[0])),
    question("classify::isneginf", "eq", |x, _| isneginf(&x[0])),
    smooth("classify::nan_to_num", 0.0, &[x(&[3, 5], -3.0, 3.0)], |x, _| nan_to_num(&x[0], 1.5, None, Some(2.0))),
    smooth("elementary::asinh", 4.0, &[x(&[3, 5], -3.0, 3.0)], |x, _| asinh(&x[0])),
    smooth("elementary::acosh", 6.0, &[x(&[3, 5], 1.5, 5.0)], |x, _| acosh(&x[0])),
    smooth("elementary::atanh", 6.0, &[x(&[3, 5], -0.7, 0.7)], |x, _| atanh(&x[0])),
    smooth("elementary::sinc", 6.0, &[x(&[3, 5], 0.3, 2.0)], |x, _| sinc(&x[0])),
    smooth("elementary::deg2rad", 0.0, &[x(&[3, 5], -90.0, 90.0)], |x, _| deg2rad(&x[0])),
    smooth("elementary::rad2deg", 0.0, &[x(&[3, 5], -3.0, 3.0)], |x, _| rad2deg(&x[0])),
    smooth("elementary::frac", 0.0, &[x(&[3, 5], 0.1, 0.9)], |x, _| frac(&x[0])),
    smooth("elementary::logit", 6.0, &[x(&[3, 5], 0.2, 0.8)], |x, _| logit(&x[0])),
    smooth("elementary::hypot", 4.0, &[x(&[3, 5], 0.5, 3.0), x(&[5], -3.0, 3.0)], |x, _| hypot(&x[0], &x[1])),
    smooth("elementary::logaddexp", 6.0, &[x(&[3, 5], -3.0, 0.0), x(&[3, 1], 0.5, 3.0)], |x, _| {
        logaddexp(&x[0], &x[1])
    }),
    smooth("elementary::xlogy", 4.0, &[x(&[3, 5], 0.2, 3.0), x(&[5], 0.3, 3.0)], |x, _| xlogy(&x[0], &x[1])),
    smooth("elementary::lerp", 6.0, &[x(&[3, 5], -3.0, 3.0), x(&[5], -3.0, 3.0), x(&[3, 1], 0.6, 1.4)], |x, _| {
        lerp(&x[0], &x[1], &x[2])
    }),
    numeric("elementary::fmod", 0.0, &[x(&[3, 5], 1.0, 1.9), x(&[5], 2.0, 3.0)], |x, _| fmod(&x[0], &x[1])),
    numeric("elementary::remainder", 0.0, &[x(&[3, 5], 1.0, 1.9), x(&[5], 2.0, 3.0)], |x, _| remainder(&x[0], &x[1])),
    Case {
        name: "elementary::remainder of either sign",
        dtypes: &[DType::I8, DType::I64, DType::F16, DType::F32, DType::F64],
        slope: Slope::Nothing,
        ..numeric("", 4.0, &[x(&[3, 5], -90.0, 90.0), x(&[5], 3.0, 9.0)], |x, _| remainder(&x[0], &-&x[1]))
    },
    numeric("elementary::heaviside", 0.0, &[x(&[3, 5], 0.5, 3.0), x(&[5], 0.5, 3.0)], |x, _| heaviside(&x[0], &x[1])),
];
