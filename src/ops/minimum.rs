//! The smaller of two numbers; NaN if either is.

use super::record::{Dtypes, Eval, Gives, Grad, Primitive, Takes};
use super::vector::{Binary, Lane};

pub(crate) static MINIMUM: Primitive = Primitive {
    name: "minimum",
    takes: Takes::Same(2),
    dtypes: Dtypes::Numeric,
    gives: Gives::Same,
    eval: Eval::both(|x| if x[0].is_nan() || x[0] < x[1] { x[0] } else { x[1] }, |x, _| Some(x[0].min(x[1]))),
    grad: Grad::Rules(&[
        |g, x, _| g.keep_where(&x[0].le(&x[1])), // a tie is the first operand's
        |g, x, _| g.keep_where(&x[1].lt(&x[0])),
    ]),
    emit: |e, dtype, x| match x[0].lane {
        Lane::F32 | Lane::F64 => {
            let smaller = e.min(x[0], x[1]); // the second operand where either is NaN
            let nan = e.is_nan(x[0]);
            e.select(nan, x[0], smaller)
        }
        Lane::I32 | Lane::I64 | Lane::Mask => {
            let word = if dtype.is_signed_integer() { Binary::MinS } else { Binary::MinU };
            e.integer(word, x[0], x[1])
        }
    },
    sample: &[-4.0..4.0, -4.0..4.0],
};
