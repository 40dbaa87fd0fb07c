//! The order in which a reduction folds its elements. It decides the bits of float results, so it is the same for every
//! code generator and any number of threads.
//!
//! The elements of one output, in row-major order of the reduced axes, are cut into *leaves*; each leaf becomes one
//! value, and the leaves' values are combined in pairs, neighbours first, like a binary counter: leaf 2k with leaf
//! 2k + 1, then pairs of pairs; at the end what is left over is combined from the last (shortest) group to the
//! first. The earlier value is always the left operand. Errors of a float sum thus grow with the logarithm of its length.
//!
//! There are two kinds of leaves:
//! - [`Order::Along`]: [`ALONG_LEAF`] elements. Element `i` of the leaf is folded into accumulator `i % W`, where `W` is the least
//!   power of two that is not less than the number of reduced elements, and at most [`ACCUMULATORS`]. Then, while there is
//!   more than one accumulator, number `j` takes in number `j + W/2` for every `j < W/2`, and `W` is halved.
//! - [`Order::Across`]: [`ACROSS_LEAF`] elements, folded one after the other into one accumulator.
//!
//! Accumulators start as the fold's identity.

use super::axes::merge;
use super::block::affine;
use crate::dtype::DType;
use crate::lower::program::{Access, LoopProgram};

/// The most accumulators of a leaf whose elements lie along the lanes.
pub(crate) const ACCUMULATORS: usize = 32;
/// The elements of such a leaf.
pub(crate) const ALONG_LEAF: usize = 2048;
/// The elements of a leaf that is folded one by one.
pub(crate) const ACROSS_LEAF: usize = 32;

/// Which axes the lanes of a reduction walk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    /// Lanes walk the reduced axes: good where these are dense in memory, or where outputs are few.
    Along,
    /// Lanes walk the outputs: good where those are dense and the reduced axes are not.
    Across,
}

impl Order {
    /// The order for a program: whichever is estimated to be cheaper, by its shape and strides.
    pub(crate) fn of(program: &LoopProgram) -> Order {
        let outputs: usize = program.outer.iter().product();
        let elements: usize = program.reduced.iter().product();
        if outputs <= 1 || elements == 0 {
            return Order::Along;
        }
        let sizes: Vec<usize> = program.outer.iter().chain(&program.reduced).copied().collect();
        let lanes_along = if elements >= LANES { LANES } else { elements * (LANES / elements).min(outputs) };
        // Folding a short row costs about as much as a few dozen lanes.
        let along = cost(program, &sizes, sizes.len(), lanes_along) + ROW / elements as f64;
        let across = cost(program, &sizes, program.outer.len(), outputs.min(LANES)) + ACCUMULATE;
        if across < along { Order::Across } else { Order::Along }
    }
}

// Costs in the time of one dense lane of one word, about 0.1 ns; measured roughly, they need not be exact.
const LANES: usize = 512;
const WORD: f64 = 64.0;
const RUN: f64 = 30.0;
const GATHER: f64 = 8.0;
/// What a cache line costs that comes from memory, or from the second cache, and how many bytes a walk must span for that.
const LINE: f64 = 32.0;
const NEAR_LINE: f64 = 12.0;
const LINE_BYTES: f64 = 64.0;
const FAR: f64 = 1048576.0;
const NEAR: f64 = 262144.0;
const ROW: f64 = 24.0;
const ACCUMULATE: f64 = 1.0;

/// The cost of one lane of a load, where lanes walk an axis of this stride and size. A walk over far places uses a part of each cache line
/// only, and will have lost it when it comes by again.
fn lane(stride: i64, size: usize, dtype: DType) -> f64 {
    let step = stride.unsigned_abs() as f64 * dtype.size() as f64;
    match stride {
        0 | 1 => 1.0,
        _ if step * size as f64 > FAR => GATHER + LINE * (step / LINE_BYTES).min(1.0),
        _ if step * size as f64 > NEAR => GATHER + NEAR_LINE * (step / LINE_BYTES).min(1.0),
        _ => GATHER,
    }
}

/// The cost of one element where lanes walk the first `walked` axes, in blocks of `lanes`.
fn cost(program: &LoopProgram, sizes: &[usize], walked: usize, lanes: usize) -> f64 {
    let overhead = WORD * (program.words.len() + 1) as f64 / lanes as f64;
    let load = |access: &Access, dtype: DType| match access {
        Access::Strided { strides, .. } => {
            let axes = merge(&sizes[..walked], &strides[..walked]);
            let inner = axes[axes.len() - 1];
            RUN / inner.size.min(lanes) as f64 + lane(inner.stride, inner.size, dtype)
        }
        // Guards keep axes apart.
        Access::Computed { position, .. } => match affine(position, sizes.len()) {
            Some((_, strides)) => {
                let inner = (0..walked).rev().find(|&axis| sizes[axis] > 1);
                inner.map_or(GATHER, |axis| {
                    RUN / sizes[axis].min(lanes) as f64 + lane(strides[axis], sizes[axis], dtype)
                })
            }
            None => GATHER,
        },
    };
    overhead + program.loads.iter().map(|operand| load(&operand.access, operand.dtype)).sum::<f64>()
}
