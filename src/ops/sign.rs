//! -1, 0 or 1 by the sign; NaN gives 0, as in PyTorch.

use super::record::{Dtypes, Eval, Gives, Grad, Primitive, Takes};
use crate::dtype::Literal;

pub(crate) static SIGN: Primitive = Primitive {
    name: "sign",
    takes: Takes::Same(1),
    dtypes: Dtypes::Numeric,
    gives: Gives::Same,
    eval: Eval::both(|x| f64::from(x[0] > 0.0) - f64::from(x[0] < 0.0), |x, _| Some(x[0].signum())),
    grad: Grad::Zero,
    emit: |e, dtype, x| {
        let zero = e.literal(Literal::zero(dtype));
        let one = e.literal(Literal::one(dtype));
        let positive = e.ne(x[0], zero);
        if dtype.is_integer() && !dtype.is_signed_integer() {
            return e.select(positive, one, zero);
        }
        let positive = e.lt(zero, x[0]);
        let negative = e.lt(x[0], zero);
        let minus = e.neg(one);
        let low = e.select(negative, minus, zero);
        e.select(positive, one, low)
    },
    sample: &[-4.0..4.0],
};
