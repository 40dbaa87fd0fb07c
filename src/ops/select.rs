//! The second operand where the first is true, the third elsewhere.

use super::record::{Dtypes, Eval, Gives, Grad, Primitive, Takes};

pub(crate) static SELECT: Primitive = Primitive {
    name: "where",
    takes: Takes::Choice,
    dtypes: Dtypes::Any,
    gives: Gives::Same,
    eval: Eval::both(|x| if x[0] != 0.0 { x[1] } else { x[2] }, |x, _| Some(if x[0] != 0 { x[1] } else { x[2] })),
    grad: Grad::Rules(&[
        |_, _, _| unreachable!("a condition is a bool and takes no gradient"),
        |g, x, _| g.keep_where(&x[0]),
        |g, x, _| g.keep_where(&x[0].not()),
    ]),
    emit: |e, _, x| e.select(x[0], x[1], x[2]),
    sample: &[0.0..1.0, -4.0..4.0, -4.0..4.0],
};
