//! Every dtype to every other, at the edges and in between, as Rust's `as` does it.

use super::compare::{Agreement, Failures};
use super::layouts::{LAYOUTS, Shows};
use super::sample::{Random, node, read};
use super::special::edges;
use crate::dtype::{DType, Literal};

/// Edges of `from`, the values around the limits of `to`, and some that must be rounded.
fn values(from: DType, to: DType) -> Vec<Literal> {
    let mut values = edges(from);
    let limits = [Literal::lowest(to).to_f64(), Literal::highest(to).to_f64()];
    for limit in limits {
        for nudge in [-2.0, -1.0, -0.5, 0.0, 0.5, 1.0, 2.0] {
            values.push(Literal::from_f64(from, limit + nudge));
        }
    }
    let mut random = Random::of(&format!("cast {from} to {to}"));
    for exponent in [0.0, 3.0, 11.0, 17.0, 31.0, 33.0, 63.0] {
        let bound = 2f64.powf(exponent);
        values.extend((0..40).map(|_| Literal::from_f64(from, random.float(&(-bound..bound)))));
    }
    // Bits by chance: every exponent of a float, every size of an integer.
    values.extend((0..100).map(|_| from_bits(from, random.next() >> random.below(64))));
    values
}

fn from_bits(dtype: DType, bits: u64) -> Literal {
    match dtype {
        DType::F16 => Literal::F16(crate::dtype::f16::from_bits(bits as u16)),
        DType::BF16 => Literal::BF16(crate::dtype::bf16::from_bits(bits as u16)),
        DType::F32 => Literal::F32(f32::from_bits(bits as u32)),
        DType::F64 => Literal::F64(f64::from_bits(bits)),
        _ => Literal::from_integer(dtype, i128::from(bits)),
    }
}

#[test]
fn every_cast_is_that_of_a_literal() {
    let mut failures = Failures::default();
    for from in DType::ALL {
        for to in DType::ALL {
            let values = values(from, to);
            let cast = node(from, &values, &[values.len()]).cast(to).expect("any dtype casts to any");
            let found = read(&cast).expect("a cast has no fault");
            for (value, found) in values.iter().zip(found) {
                let row = format!("cast-{from}-to-{to} of {value:?}");
                failures.rows += 1;
                failures.compare(&row, &[1], Agreement::Exact, &[value.cast(to)], &[found]);
            }
        }
    }
    failures.done(13 * 13 * 300);
}

#[test]
fn every_cast_works_on_every_layout() {
    let mut failures = Failures::default();
    let shape = [3, 7];
    for from in DType::ALL {
        for to in DType::ALL {
            for layout in LAYOUTS.iter().filter(|layout| layout.shows != Shows::Nothing) {
                let row = format!("cast-{from}-to-{to} {}", layout.name);
                let mut random = Random::of(&row);
                let input = layout.node(&mut random, from, &(-99.5..99.5), &shape);
                failures.judge(&row, &input.cast(to).expect("any dtype casts to any"), Agreement::Exact);
            }
        }
    }
    failures.done(13 * 13 * 14);
}
