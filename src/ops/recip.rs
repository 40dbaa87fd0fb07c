//! Reciprocal, `1 / x`, correctly rounded.

use super::record::{Dtypes, Eval, Gives, Grad, Primitive, Takes};

pub(crate) static RECIP: Primitive = Primitive {
    name: "recip",
    takes: Takes::Same(1),
    dtypes: Dtypes::Float,
    gives: Gives::Same,
    eval: Eval::float(|x| 1.0 / x[0]),
    grad: Grad::Rules(&[|g, x, _| -(g / &(&x[0] * &x[0]))]),
    emit: |e, _, x| {
        let one = e.float(x[0].lane, 1.0);
        e.div(one, x[0])
    },
    sample: &[0.5..4.0],
};
