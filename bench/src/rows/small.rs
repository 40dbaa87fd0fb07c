//! Row h: a thousand ops on 64 elements, where what counts is the cost of an op and not of its numbers.
//!
//! The chain is traced afresh in each call.

use crate::bench::{Bench, Outcome, Unit};
use crate::check::Near;
use crate::data::Input;

const ELEMENTS: usize = 64;
const PAIRS: usize = 500;

pub fn run(bench: &Bench) -> Outcome {
    let x = Input::<f32, 1>::random([ELEMENTS]);
    bench.row(
        "h_small_op_64",
        Unit::MicrosecondsOf(2.0 * PAIRS as f64),
        [ELEMENTS],
        || (0..PAIRS).fold(x.tensor.clone(), |y, _| y * 0.999 + 0.001),
        |[i]| {
            let y = (0..PAIRS).fold(x.plain()[i], |y, _| y * 0.999 + 0.001);
            Near::new(y.into(), 1.0)
        },
    )
}
