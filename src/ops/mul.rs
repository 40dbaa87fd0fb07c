//! Product of two numbers. Integers wrap.

use super::record::{Dtypes, Eval, Gives, Grad, Primitive, Takes};
use crate::graph::{Node, is_recording};

pub(crate) static MUL: Primitive = Primitive {
    name: "mul",
    takes: Takes::Same(2),
    dtypes: Dtypes::Numeric,
    gives: Gives::Same,
    eval: Eval::both(|x| x[0] * x[1], |x, _| Some(x[0].wrapping_mul(x[1]))),
    grad: Grad::Rules(&[|g, x, _| slope(g, &x[1]), |g, x, _| slope(g, &x[0])]),
    emit: |e, _, x| e.mul(x[0], x[1]),
    sample: &[-4.0..4.0, -4.0..4.0],
};

/// `g · other`; where `g` is all ones, as behind a sum of all elements, that is `other` itself.
fn slope(g: &Node, other: &Node) -> Node {
    let (base, view) = g.base_and_view();
    let ones = base.constant().is_some_and(|value| value.to_f64() == 1.0) && view.layout().is_some();
    match ones && g.shape() == other.shape() {
        true if is_recording() => other.clone(),
        true => other.left_behind("backward", "the gradients it leaves have no history"),
        false => g * other,
    }
}
