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
const ROW: f64 = 24.0;
const ACCUMULATE: f64 = 1.0;

/// The cost of one element where lanes walk the first `walked` axes, in blocks of `lanes`.
fn cost(program: &LoopProgram, sizes: &[usize], walked: usize, lanes: usize) -> f64 {
    let overhead = WORD * (program.words.len() + 1) as f64 / lanes as f64;
    let load = |access: &Access| match access {
        Access::Strided { strides, .. } => {
            let axes = merge(&sizes[..walked], &strides[..walked]);
            let inner = axes[axes.len() - 1];
            let run = RUN / inner.size.min(lanes) as f64;
            run + if (0..=1).contains(&inner.stride) { 1.0 } else { GATHER }
        }
        // Guards keep axes apart.
        Access::Computed { position, .. } => match affine(position, sizes.len()) {
            Some((_, strides)) => {
                let inner = (0..walked).rev().find(|&axis| sizes[axis] > 1);
                inner.map_or(GATHER, |axis| {
                    let run = RUN / sizes[axis].min(lanes) as f64;
                    run + if (0..=1).contains(&strides[axis]) { 1.0 } else { GATHER }
                })
            }
            None => GATHER,
        },
    };
    overhead + program.loads.iter().map(|operand| load(&operand.access)).sum::<f64>()
}
