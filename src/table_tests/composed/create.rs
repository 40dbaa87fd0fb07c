//! Rows of tensors from nothing.

use super::{ALL, Case, FLOATS, NUMBERS, Slope};
use crate::dtype::{DType, Literal};
use crate::error::Result;
use crate::graph::Node;
use crate::ops::compose::create;
use crate::table_tests::compare::Agreement;

/// A row without operands.
const fn from(name: &'static str, dtypes: &'static [DType], build: fn(&[Node], DType) -> Result<Node>) -> Case {
    Case { name, inputs: &[], dtypes, agreement: Agreement::Exact, slope: Slope::Nothing, build }
}

fn range(dtype: DType, start: f64, end: f64, step: f64) -> Result<Node> {
    let [start, end, step] = [start, end, step].map(|value| Literal::from_f64(dtype, value));
    create::arange(start, end, step)
}

pub(super) static CASES: &[Case] = &[
    from("create::arange", NUMBERS, |_, dtype| range(dtype, 2.0, 33.0, 3.0)),
    from("create::arange of nothing", NUMBERS, |_, dtype| range(dtype, 5.0, 5.0, 1.0)),
    from("create::arange by fractions", FLOATS, |_, dtype| range(dtype, -1.0, 2.0, 0.125)),
    from("create::arange downwards", &[DType::I8, DType::I64, DType::F32], |_, dtype| range(dtype, 9.0, -20.0, -4.0)),
    from("create::arange of large numbers", &[DType::U64], |_, _| {
        create::arange(Literal::U64(u64::MAX - 20), Literal::U64(u64::MAX), Literal::U64(3))
    }),
    from("create::linspace", FLOATS, |_, dtype| create::linspace(-1.0, 2.0, 37, dtype)),
    from("create::linspace of one", FLOATS, |_, dtype| create::linspace(-1.5, 2.0, 1, dtype)),
    from("create::linspace of none", FLOATS, |_, dtype| create::linspace(-1.5, 2.0, 0, dtype)),
    from("create::eye", ALL, |_, dtype| create::eye(4, 6, dtype)),
    from("create::eye of nothing", ALL, |_, dtype| create::eye(0, 3, dtype)),
    from("create::rand", FLOATS, |_, dtype| create::rand(&[5, 70], dtype)),
    Case {
        agreement: Agreement::Epsilons(6.0),
        ..from("create::randn", FLOATS, |_, dtype| create::randn(&[5, 70], dtype))
    },
    from("create::randint", &[DType::I8, DType::I64, DType::U8], |_, dtype| {
        create::randint(&[3, 50], Literal::from_f64(dtype, 3.0), Literal::from_f64(dtype, 90.0))
    }),
    from("create::randint of either sign", &[DType::I8, DType::I64], |_, dtype| {
        create::randint(&[3, 50], Literal::lowest(dtype), Literal::highest(dtype))
    }),
    from("create::bernoulli", &[DType::F32], |_, _| create::bernoulli(&[3, 50], 0.3)),
    from("source::full", ALL, |_, dtype| Node::full(&[3, 5], Literal::from_f64(dtype, 2.0))),
    from("source::full of rank 0", ALL, |_, dtype| Node::full(&[], Literal::from_f64(dtype, 2.0))),
    from("source::full_like", ALL, |_, dtype| {
        Ok(Node::full(&[3, 5], Literal::from_f64(dtype, 2.0))?.full_like(Literal::from_f64(dtype, 1.0)))
    }),
    from("source::positions", &[DType::I64], |_, _| Node::positions(70)),
    from("source::random_bits", &[DType::U32], |_, _| Node::random_bits(&[3, 50], 17, 1 << 40, 3)),
    from("source::positions turned", &[DType::I64], |_, _| Ok(Node::positions(70)?.reshaped(&[7, 10]).swapped(0, 1))),
    from("source::random_bits in part", &[DType::U32], |_, _| {
        crate::ops::compose::movement::narrow(&Node::random_bits(&[3, 50], 17, 2, 1)?, 1, 20, 9)
    }),
];
