//! Numbers to test with: a small generator, and nodes made from what it draws.

use crate::dtype::{DType, Literal, TensorDType, with_dtype};
use crate::error::Result;
use crate::graph::Node;
use crate::memory::Buffer;
use crate::runtime;
use crate::shape::Shape;
use std::ops::Range;

/// A small generator (SplitMix64): the same numbers in every run.
pub(super) struct Random(u64);

impl Random {
    /// The generator of a name, so that one row's numbers do not depend on the rows before it.
    pub(super) fn of(name: &str) -> Random {
        Random(
            name.bytes()
                .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3)),
        )
    }

    pub(super) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `n`.
    pub(super) fn below(&mut self, n: usize) -> usize {
        (self.next() % n as u64) as usize
    }

    pub(super) fn float(&mut self, range: &Range<f64>) -> f64 {
        let unit = (self.next() >> 11) as f64 * 2f64.powi(-53);
        range.start + unit * (range.end - range.start)
    }

    /// A value of a dtype within a range; of unsigned integers, within its part above zero.
    pub(super) fn literal(&mut self, dtype: DType, range: &Range<f64>) -> Literal {
        if dtype.is_float() {
            return Literal::from_f64(dtype, self.float(range));
        }
        if dtype == DType::Bool {
            return Literal::Bool(self.next() & 1 == 1);
        }
        let low = if dtype.is_signed_integer() { range.start.ceil() } else { range.start.ceil().max(0.0) } as i128;
        let high = range.end.floor() as i128;
        assert!(low <= high, "no {dtype} in {range:?}");
        Literal::from_integer(dtype, low + i128::from(self.next()) % (high - low + 1))
    }

    pub(super) fn literals(&mut self, dtype: DType, range: &Range<f64>, len: usize) -> Vec<Literal> {
        (0..len).map(|_| self.literal(dtype, range)).collect()
    }

    /// A dense node of a shape.
    pub(super) fn node(&mut self, dtype: DType, range: &Range<f64>, shape: &[usize]) -> Node {
        node(dtype, &self.literals(dtype, range, shape.iter().product()), shape)
    }
}

/// A dense node of known values.
pub(super) fn node(dtype: DType, values: &[Literal], shape: &[usize]) -> Node {
    let buffer = with_dtype!(dtype, T => {
        let values: Vec<T> = values.iter().map(|&value| T::from_literal(value).expect("values of the dtype")).collect();
        Buffer::from_vec("table", values)
    });
    Node::from_buffer(buffer.expect("memory for a small test"), Shape::from_slice(shape))
}

/// A dense `f64` node.
pub(super) fn floats(values: &[f64], shape: &[usize]) -> Node {
    Node::from_buffer(Buffer::from_slice("table", values).expect("memory for a small test"), Shape::from_slice(shape))
}

/// What padding and masks read as: 1 if the range has it, so that 0 never gets where it may not.
pub(super) fn inside(dtype: DType, range: &Range<f64>) -> Literal {
    let one = range.start <= 1.0 && 1.0 <= range.end;
    Literal::from_f64(dtype, if one { 1.0 } else { (range.start + range.end) / 2.0 })
}

/// The numbers of a node by the real pipeline.
pub(super) fn read(node: &Node) -> Result<Vec<Literal>> {
    let buffer = runtime::read(node)?;
    Ok((0..buffer.len()).map(|k| buffer.literal(k)).collect())
}
