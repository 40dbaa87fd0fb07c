//! Rows of everything that moves elements, and of reading and writing by index.

use super::{Case, Slope, exact, index, numeric, x};
use crate::dtype::{DType, Literal};
use crate::graph::ReduceKind::Sum;
use crate::graph::{Lookup, Node, SliceRange};
use crate::ops::compose::indexing::{index_select, slice_assign};
use crate::ops::compose::pad::{Border, constant, with_border};
use crate::ops::compose::{join, movement};
use crate::shape::Expr;

/// Every second element, backwards along the other axis.
const RANGES: [SliceRange; 2] = [SliceRange { start: 1, step: 2, len: 2 }, SliceRange { start: 4, step: -2, len: 3 }];

fn two(dtype: DType) -> Literal {
    Literal::from_f64(dtype, 2.0)
}

pub(super) static CASES: &[Case] = &[
    exact("movement::permute", &[x(&[2, 3, 4], -3.0, 3.0)], |x, _| movement::permute(&x[0], &[2, 0, -2])),
    exact("movement::transpose", &[x(&[2, 3, 4], -3.0, 3.0)], |x, _| movement::transpose(&x[0], 0, -1)),
    exact("movement::swapped", &[x(&[3, 4], -3.0, 3.0)], |x, _| Ok(x[0].swapped(0, 1))),
    exact("movement::reshape", &[x(&[2, 3, 4], -3.0, 3.0)], |x, _| movement::reshape(&x[0], &[4, -1])),
    exact("movement::reshape of a transpose", &[x(&[3, 4], -3.0, 3.0)], |x, _| {
        movement::reshape(&movement::transpose(&x[0], 0, 1)?, &[2, 6])
    }),
    exact("movement::expand", &[x(&[3, 1], -3.0, 3.0)], |x, _| movement::expand(&x[0], &[2, -1, 4])),
    exact("movement::broadcast_as", &[x(&[3, 1], -3.0, 3.0)], |x, _| {
        movement::broadcast_as("broadcast_as", &x[0], &[2, 3, 4])
    }),
    exact("movement::unsqueeze", &[x(&[3, 4], -3.0, 3.0)], |x, _| movement::unsqueeze("unsqueeze", &x[0], -2)),
    exact("movement::squeeze", &[x(&[3, 1, 4], -3.0, 3.0)], |x, _| movement::squeeze(&x[0], 1)),
    exact("movement::flatten", &[x(&[2, 3, 4], -3.0, 3.0)], |x, _| movement::flatten(&x[0], 0, 1)),
    exact("movement::flatten of a scalar", &[x(&[], -3.0, 3.0)], |x, _| movement::flatten(&x[0], 0, -1)),
    exact("movement::flip", &[x(&[2, 3, 4], -3.0, 3.0)], |x, _| movement::flip(&x[0], &[0, 2])),
    exact("movement::narrow", &[x(&[2, 5], -3.0, 3.0)], |x, _| movement::narrow(&x[0], 1, 1, 3)),
    exact("movement::unfold", &[x(&[2, 8], -3.0, 3.0)], |x, _| movement::unfold(&x[0], -1, 3, 2, 2)),
    exact("movement::triangle below", &[x(&[4, 5], -3.0, 3.0)], |x, _| movement::triangle("tril", &x[0], 1)),
    exact("movement::triangle above", &[x(&[2, 4, 3], -3.0, 3.0)], |x, _| movement::triangle("triu", &x[0], -1)),
    exact("pad::constant", &[x(&[3, 4], -3.0, 3.0)], |x, dtype| constant(&x[0], &[(1, 0), (2, 1)], two(dtype))),
    exact("pad::constant that crops", &[x(&[3, 4], -3.0, 3.0)], |x, dtype| {
        constant(&x[0], &[(-1, 2), (1, -2)], two(dtype))
    }),
    exact("pad::with_border reflected", &[x(&[3, 4], -3.0, 3.0)], |x, _| with_border(&x[0], 1, 3, 2, Border::Reflect)),
    exact("pad::with_border replicated", &[x(&[3, 4], -3.0, 3.0)], |x, _| {
        with_border(&x[0], 0, 4, 1, Border::Replicate)
    }),
    exact("pad::with_border around", &[x(&[3, 4], -3.0, 3.0)], |x, _| with_border(&x[0], -1, 4, 3, Border::Circular)),
    exact("join::stack", &[x(&[3, 4], -3.0, 3.0), x(&[3, 4], -3.0, 3.0)], |x, _| {
        join::stack(&[&x[0], &x[1], &x[0]], 1)
    }),
    exact("join::split", &[x(&[6, 2], -3.0, 3.0)], |x, _| {
        let parts = join::split(&x[0], &[1, 3, 2], 0)?;
        Node::concat("concat", &[&parts[2], &parts[0], &parts[1]], 0)
    }),
    exact("join::split_every", &[x(&[2, 5], -3.0, 3.0)], |x, _| {
        let parts = join::split_every(&x[0], 2, -1)?;
        Node::concat("concat", &[&parts[2], &parts[0], &parts[1]], 1)
    }),
    exact("compute::concat", &[x(&[3, 2], -3.0, 3.0), x(&[3, 4], -3.0, 3.0)], |x, _| {
        Node::concat("concat", &[&x[0], &x[1], &x[0]], 1)
    }),
    exact("compute::concat of a part without elements", &[x(&[3, 2], -3.0, 3.0)], |x, _| {
        let nothing = movement::narrow(&x[0], 0, 1, 0)?;
        Node::concat("concat", &[&nothing, &x[0], &nothing], 0)
    }),
    exact("indexing::index_select", &[x(&[4, 3], -3.0, 3.0), index(&[6], -4.0, 3.0)], |x, _| {
        index_select(&x[0], 0, &x[1])
    }),
    exact("indexing::index_select across", &[x(&[2, 4, 3], -3.0, 3.0), index(&[5], -4.0, 3.0)], |x, _| {
        index_select(&x[0], 1, &x[1])
    }),
    exact("indexing::slice_assign", &[x(&[4, 5], -3.0, 3.0), x(&[2, 3], -3.0, 3.0)], |x, _| {
        slice_assign(&x[0], &RANGES, &x[1])
    }),
    exact("indexing::slice_assign of a row", &[x(&[4, 5], -3.0, 3.0), x(&[3], -3.0, 3.0)], |x, _| {
        slice_assign(&x[0], &RANGES, &x[1])
    }),
    exact("compute::gather", &[x(&[3, 4], -3.0, 3.0), index(&[2, 6], -4.0, 3.0)], |x, _| {
        x[0].gather("gather", &x[1], 1)
    }),
    exact("compute::gather_by class", &[x(&[3, 4], -3.0, 3.0), index(&[3, 1], 0.0, 3.0)], |x, _| {
        x[0].gather_by(Lookup { name: "cross_entropy", from_end: false }, &x[1], 1)
    }),
    numeric("compute::scatter sum", 8.0, &[x(&[3, 4], -2.0, 2.0), index(&[3, 4], -5.0, 4.0)], |x, _| {
        x[0].scatter(Sum, Lookup { name: "scatter_add", from_end: true }, &x[1], 1, &[3, 5])
    }),
    exact("moves::contiguous", &[x(&[3, 4], -3.0, 3.0)], |x, _| Ok(x[0].contiguous())),
    exact("moves::permuted", &[x(&[2, 3, 4], -3.0, 3.0)], |x, _| Ok(x[0].permuted(&[1, 2, 0]))),
    exact("moves::broadcast_to", &[x(&[1, 4], -3.0, 3.0)], |x, _| x[0].broadcast_to(&[2, 3, 4])),
    exact("moves::reshaped", &[x(&[3, 4], -3.0, 3.0)], |x, _| Ok(x[0].reshaped(&[2, 1, 6]))),
    exact("moves::sliced", &[x(&[4, 5], -3.0, 3.0)], |x, _| Ok(x[0].sliced(&RANGES))),
    exact("moves::spread", &[x(&[2, 3], -3.0, 3.0)], |x, _| x[0].spread(&RANGES, &[4, 5])),
    exact("moves::spread by ones", &[x(&[2, 3], -3.0, 3.0)], |x, _| {
        let range = |start, len| SliceRange { start, step: 1, len };
        x[0].spread(&[range(1, 2), range(2, 3)], &[4, 6])
    }),
    exact("moves::padded", &[x(&[2, 3], -3.0, 3.0)], |x, dtype| x[0].padded(&[(2, 1), (0, 3)], two(dtype))),
    exact("moves::masked", &[x(&[3, 4], -3.0, 3.0)], |x, dtype| {
        x[0].masked((Expr::idx(0) + Expr::idx(1)).rem(2).eq_expr(0), two(dtype))
    }),
    exact("moves::fork", &[x(&[3, 4], -3.0, 3.0)], |x, _| Ok(x[0].fork())),
    Case {
        slope: Slope::Stops("detach"),
        ..exact("moves::detach", &[x(&[3, 4], -3.0, 3.0)], |x, _| Ok(x[0].detach()))
    },
    Case {
        slope: Slope::Stops("choose"),
        ..exact(
            "moves::left_behind",
            &[x(&[3, 4], -3.0, 3.0)],
            |x, _| Ok(x[0].left_behind("choose", "it only chooses")),
        )
    },
];
