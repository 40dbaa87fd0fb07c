//! Rounded to nearest, ties to even (as NumPy and PyTorch).

use super::record::{Dtypes, Eval, Gives, Grad, Primitive, Takes};

pub(crate) static ROUND: Primitive = Primitive {
    name: "round",
    takes: Takes::Same(1),
    dtypes: Dtypes::Float,
    gives: Gives::Same,
    eval: Eval::float(|x| x[0].round_ties_even()),
    grad: Grad::Zero,
    emit: |e, _, x| e.round_even(x[0]),
    sample: &[-4.0..4.0],
};
