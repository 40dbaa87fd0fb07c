//! Every primitive where numbers end: zeros with signs, infinities, NaN, denormals, the limits of integers.

use super::compare::{Agreement, Failures};
use super::layouts::LAYOUTS;
use super::primitives::{agreement, operand_dtypes};
use super::sample::{Random, node, read};
use crate::dtype::{DType, Literal, bf16, f16};
use crate::error::ErrorKind;
use crate::graph::Node;
use crate::ops::compose::norm;
use crate::ops::{self, PRIMITIVES};
use crate::reference;

/// The values of a dtype at which something changes.
pub(super) fn edges(dtype: DType) -> Vec<Literal> {
    if dtype == DType::Bool {
        return vec![Literal::Bool(false), Literal::Bool(true)];
    }
    if !dtype.is_float() {
        let bounds =
            [Literal::lowest(dtype), Literal::highest(dtype)].map(|bound| bound.to_integer().expect("an integer"));
        let near = [bounds[0], bounds[0] + 1, bounds[1] - 1, bounds[1], bounds[1] / 2 + 1];
        let small = [-65, -64, -33, -8, -7, -2, -1, 0, 1, 2, 3, 7, 8, 15, 16, 17, 31, 32, 33, 63, 64, 65, 100];
        let fits = |value: &i128| (bounds[0]..=bounds[1]).contains(value);
        return near.into_iter().chain(small).filter(fits).map(|value| Literal::from_integer(dtype, value)).collect();
    }
    let mut values = match dtype {
        DType::F16 => [1, 0x3ff, 0x400, 0x7bff].map(|bits| Literal::F16(f16::from_bits(bits))),
        DType::BF16 => [1, 0x7f, 0x80, 0x7f7f].map(|bits| Literal::BF16(bf16::from_bits(bits))),
        DType::F32 => [1, 0x7f_ffff, 0x80_0000, 0x7f7f_ffff].map(|bits| Literal::F32(f32::from_bits(bits))),
        _ => [1, (1 << 52) - 1, 1 << 52, f64::MAX.to_bits()].map(|bits| Literal::F64(f64::from_bits(bits))),
    }
    .to_vec();
    let plain = [
        0.0,
        0.1,
        0.49999999999999994,
        0.5,
        0.75,
        1.0,
        1.5,
        2.0,
        2.5,
        3.0,
        5.0,
        9.5,
        11.1,
        15.9,
        17.4,
        20.5,
        30.0,
        87.4,
        88.8,
        100.0,
        104.0,
        127.5,
        128.0,
        150.0,
        255.5,
        709.8,
        746.0,
        1023.5,
        1025.0,
        8388607.5,
        8388609.0,
        1e10,
        1e30,
        f64::INFINITY,
        f64::NAN,
    ];
    values.extend(plain.map(|value| Literal::from_f64(dtype, value)));
    let negative = values.clone().into_iter().map(|value| Literal::from_f64(dtype, -value.to_f64()));
    values.extend(negative.collect::<Vec<_>>());
    values
}

/// Every combination of the edges, one list an operand. Three operands take a part of them.
fn combinations(dtypes: &[DType]) -> Vec<Vec<Literal>> {
    let mut rows: Vec<Vec<Literal>> = vec![Vec::new()];
    for &dtype in dtypes {
        let mut values = edges(dtype);
        if dtypes.len() == 3 && values.len() > 16 {
            let mut random = Random::of("edges of three operands");
            values = (0..16).map(|_| values[random.below(values.len())]).collect();
        }
        rows = rows.iter().flat_map(|row| values.iter().map(|&v| row.iter().copied().chain([v]).collect())).collect();
    }
    (0..dtypes.len()).map(|k| rows.iter().map(|row| row[k]).collect()).collect()
}

#[test]
fn every_primitive_agrees_with_the_reference_at_the_edges_of_every_dtype() {
    let mut failures = Failures::default();
    for primitive in PRIMITIVES {
        for dtype in DType::ALL.into_iter().filter(|&dtype| primitive.dtypes.contains(dtype)) {
            let dtypes = operand_dtypes(primitive, dtype);
            let mut operands = combinations(&dtypes);
            if primitive.eval.integer.is_some() && dtype.is_integer() {
                drop_faults(primitive, &mut operands);
            }
            if std::ptr::eq(*primitive, &ops::EXP_BELOW) {
                operands[0].retain(|value| value.to_f64().is_nan() || value.to_f64() <= 0.0); // all that it is for
            }
            let shape = [operands[0].len()];
            let nodes: Vec<Node> = operands.iter().zip(&dtypes).map(|(values, &d)| node(d, values, &shape)).collect();
            let result = Node::map(primitive, &nodes.iter().collect::<Vec<_>>()).expect("operands that fit");
            let expected = reference::evaluate(&result).expect("no fault is left");
            let found = read(&result).expect("no fault is left");
            for k in 0..shape[0] {
                let values: Vec<Literal> = operands.iter().map(|values| values[k]).collect();
                let row = format!("{} {dtype} of {values:?}", primitive.name);
                failures.rows += 1;
                failures.compare(&row, &[1], agreement(primitive, dtype), &expected[k..=k], &found[k..=k]);
            }
        }
    }
    failures.done(20_000);
}

/// Takes away what the primitive cannot do, such as dividing by zero.
fn drop_faults(primitive: &ops::Primitive, operands: &mut [Vec<Literal>]) {
    let good: Vec<bool> = (0..operands[0].len())
        .map(|k| primitive.apply(&operands.iter().map(|values| values[k]).collect::<Vec<_>>()).is_some())
        .collect();
    for values in operands {
        let mut k = 0;
        values.retain(|_| {
            k += 1;
            good[k - 1]
        });
    }
}

#[test]
fn rows_with_infinity_have_no_shares() {
    for dtype in DType::ALL.into_iter().filter(|dtype| dtype.is_float()) {
        for values in [[1.0, f64::INFINITY, 60.0], [f64::INFINITY, f64::NEG_INFINITY, 90.0], [-5.0, 3.0, f64::INFINITY]]
        {
            let x = node(dtype, &values.map(|value| Literal::from_f64(dtype, value)), &[1, 3]);
            let (shares, logs) = (norm::softmax(&x, 1), norm::log_softmax(&x, 1));
            for result in [shares.expect("floats"), logs.expect("floats")] {
                let found = read(&result).expect("numbers");
                assert!(found.iter().all(|value| value.to_f64().is_nan()), "{dtype} {values:?} gives {found:?}");
            }
        }
    }
}

#[test]
fn an_integer_divided_by_zero_is_an_error_in_every_dtype_and_layout() {
    let shape = [3, 4];
    for primitive in [&ops::IDIV, &ops::REM] {
        for dtype in DType::ALL.into_iter().filter(|dtype| dtype.is_integer()) {
            for layout in LAYOUTS.iter().filter(|layout| (layout.base)(&shape).is_some()) {
                let row = format!("{} {dtype} by zeros, {}", primitive.name, layout.name);
                let mut random = Random::of(&row);
                let left = random.node(dtype, &(1.0..9.0), &shape);
                let right = layout.node(&mut random, dtype, &(0.0..0.0), &shape);
                let result = Node::map(primitive, &[&left, &right]).expect("operands that fit");
                let expected = reference::evaluate(&result).expect_err(&row);
                let found = read(&result).expect_err(&row);
                assert_eq!((found.kind(), found.op()), (ErrorKind::Value, primitive.name), "{row}: {found}");
                assert_eq!(expected, found, "{row}");
            }
        }
    }
}

#[test]
fn a_single_zero_among_divisors_is_an_error_wherever_it_stands() {
    for (len, place) in [(1, 0), (7, 6), (33, 32), (600, 599), (600, 300)] {
        let mut divisors = vec![Literal::I32(3); len];
        divisors[place] = Literal::I32(0);
        let divisor = node(DType::I32, &divisors, &[len]);
        let result = Node::map(&ops::IDIV, &[&divisor, &divisor]).expect("operands that fit");
        assert!(read(&result).is_err(), "a zero at {place} of {len}");
    }
}

#[test]
fn mul_add_rounds_once() {
    let mut random = Random::of("mul_add");
    let mut values = || random.literals(DType::F32, &(-4.0..4.0), 3000);
    let mut operands = [values(), values(), values()];
    // Products that all but cancel: a rounding in between would show.
    let [left, right, sum] = &mut operands;
    for ((a, b), c) in left.iter().zip(right.iter()).zip(sum.iter_mut()).take(1500) {
        *c = Literal::from_f64(DType::F32, -(a.to_f64() * b.to_f64()));
    }
    let nodes = operands.each_ref().map(|values| node(DType::F32, values, &[3000]));
    let result = Node::map(&ops::MUL_ADD, &[&nodes[0], &nodes[1], &nodes[2]]).expect("operands that fit");
    let single = |k: usize| {
        let [a, b, c] = operands.each_ref().map(|values| values[k].to_f64() as f32);
        Literal::F32(a.mul_add(b, c))
    };
    let expected: Vec<Literal> = (0..3000).map(single).collect();
    let mut failures = Failures::default();
    failures.compare(&"mul_add f32", &[3000], Agreement::Exact, &expected, &read(&result).expect("no fault"));
    failures.done(0);
}
