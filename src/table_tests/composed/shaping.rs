//! Rows of what repeats, turns and takes apart, of diagonals, and of products of several kinds.

use super::{Case, exact, numeric, smooth, x};
use crate::graph::Node;
use crate::ops::compose::diagonal::{diag, diag_embed, diagonal, trace};
use crate::ops::compose::join::{chunk, meshgrid, tensor_split, unbind};
use crate::ops::compose::movement::movedim;
use crate::ops::compose::product::{addmm, inner, kron, outer, tensordot, vecdot};
use crate::ops::compose::tile::{repeat, repeat_interleave, roll, rot90, tile};

/// The parts in another order, so that a part in a wrong place shows.
fn mixed(parts: &[Node], axis: isize) -> crate::error::Result<Node> {
    let parts: Vec<&Node> = parts.iter().rev().collect();
    Node::concat("concat", &parts, axis)
}

pub(super) static CASES: &[Case] = &[
    exact("tile::repeat", &[x(&[2, 3], -3.0, 3.0)], |x, _| repeat(&x[0], &[2, 1, 3])),
    exact("tile::tile", &[x(&[2, 3], -3.0, 3.0)], |x, _| tile(&x[0], &[2])),
    exact("tile::repeat_interleave", &[x(&[2, 3], -3.0, 3.0)], |x, _| repeat_interleave(&x[0], 3, 0)),
    exact("tile::roll", &[x(&[2, 5], -3.0, 3.0)], |x, _| roll(&x[0], &[1, -2], &[0, 1])),
    exact("tile::roll of all", &[x(&[2, 5], -3.0, 3.0)], |x, _| roll(&x[0], &[13], &[])),
    exact("tile::rot90", &[x(&[2, 3, 2], -3.0, 3.0)], |x, _| rot90(&x[0], 1, [1, 2])),
    exact("tile::rot90 twice", &[x(&[2, 3], -3.0, 3.0)], |x, _| rot90(&x[0], -2, [0, 1])),
    exact("tile::rot90 back", &[x(&[2, 3], -3.0, 3.0)], |x, _| rot90(&x[0], 3, [1, 0])),
    exact("join::chunk", &[x(&[2, 5], -3.0, 3.0)], |x, _| mixed(&chunk(&x[0], 3, 1)?, 1)),
    exact("join::tensor_split", &[x(&[5, 2], -3.0, 3.0)], |x, _| mixed(&tensor_split(&x[0], 3, 0)?, 0)),
    exact("join::unbind", &[x(&[2, 3, 2], -3.0, 3.0)], |x, _| mixed(&unbind(&x[0], 1)?, 1)),
    exact("join::meshgrid", &[x(&[3], -3.0, 3.0), x(&[2], -3.0, 3.0)], |x, _| {
        mixed(&meshgrid(&[&x[0], &x[1]], false)?, 0)
    }),
    exact("join::meshgrid by columns", &[x(&[3], -3.0, 3.0), x(&[2], -3.0, 3.0)], |x, _| {
        mixed(&meshgrid(&[&x[0], &x[1]], true)?, 0)
    }),
    exact("movement::movedim", &[x(&[2, 3, 4], -3.0, 3.0)], |x, _| movedim(&x[0], &[0, -1], &[-1, 1])),
    exact("diagonal::diagonal", &[x(&[3, 4], -3.0, 3.0)], |x, _| diagonal(&x[0], 0, 0, 1)),
    exact("diagonal::diagonal above", &[x(&[2, 3, 4], -3.0, 3.0)], |x, _| diagonal(&x[0], 2, 1, 2)),
    exact("diagonal::diagonal below", &[x(&[4, 2, 3], -3.0, 3.0)], |x, _| diagonal(&x[0], -1, 0, 2)),
    exact("diagonal::diagonal outside", &[x(&[4, 3], -3.0, 3.0)], |x, _| diagonal(&x[0], -9, 0, 1)),
    exact("diagonal::diag into", &[x(&[3], -3.0, 3.0)], |x, _| diag(&x[0], 2)),
    exact("diagonal::diag out", &[x(&[3, 3], -3.0, 3.0)], |x, _| diag(&x[0], -1)),
    exact("diagonal::diag_embed", &[x(&[2, 3], -3.0, 3.0)], |x, _| diag_embed(&x[0], -1)),
    numeric("diagonal::trace", 8.0, &[x(&[2, 3, 4], -3.0, 3.0)], |x, _| trace(&x[0])),
    numeric("product::outer", 0.0, &[x(&[3], -3.0, 3.0), x(&[4], -3.0, 3.0)], |x, _| outer(&x[0], &x[1])),
    numeric("product::inner", 16.0, &[x(&[2, 3], -1.0, 1.0), x(&[4, 3], -1.0, 1.0)], |x, _| inner(&x[0], &x[1])),
    numeric("product::inner with a scalar", 0.0, &[x(&[2, 3], -1.0, 1.0), x(&[], -1.0, 1.0)], |x, _| {
        inner(&x[0], &x[1])
    }),
    numeric("product::vecdot", 16.0, &[x(&[2, 3], -1.0, 1.0), x(&[1, 3], -1.0, 1.0)], |x, _| vecdot(&x[0], &x[1], -1)),
    smooth("product::addmm", 24.0, &[x(&[4], -1.0, 1.0), x(&[2, 3], -1.0, 1.0), x(&[3, 4], -1.0, 1.0)], |x, _| {
        addmm(&x[0], &x[1], &x[2], 0.5, 2.0)
    }),
    numeric("product::tensordot", 24.0, &[x(&[2, 3, 4], -1.0, 1.0), x(&[4, 2, 3], -1.0, 1.0)], |x, _| {
        tensordot("tensordot", &x[0], &x[1], &[1, 0], &[2, 1])
    }),
    numeric("product::kron", 0.0, &[x(&[2, 3], -3.0, 3.0), x(&[2], -3.0, 3.0)], |x, _| kron(&x[0], &x[1])),
];
