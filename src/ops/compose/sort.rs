//! Sorting: the order is a primitive, and the values are gathered by it, so their gradient is the gather's.

use super::movement::axis_of;
use crate::dtype::{DType, Literal};
use crate::error::{Error, ErrorKind, Result};
use crate::graph::build::whole_ranges;
use crate::graph::{Lookup, Node, ReduceKind, SliceRange};
use crate::ops;

/// The positions that sort an axis. Equal elements stay in order; NaN is larger than every number.
#[track_caller]
pub(crate) fn argsort(x: &Node, axis: isize, descending: bool) -> Result<Node> {
    let axis = axis_of("argsort", x, axis)?;
    x.order(axis, descending, x.shape()[axis])
}

/// The elements at positions, which are right.
#[track_caller]
fn at(op: &'static str, x: &Node, places: Node, axis: usize) -> Result<(Node, Node)> {
    // Of nothing there is nothing to take, and a gather says so.
    let values = if places.len() == 0 {
        let mut ranges = whole_ranges(x.shape());
        ranges[axis].len = places.shape()[axis];
        x.sliced(&ranges)
    } else {
        x.gather_by(Lookup { name: op, from_end: false }, &places, axis)?
    };
    Ok((values, places))
}

/// An axis in order, and the positions its elements had.
#[track_caller]
pub(crate) fn sort(x: &Node, axis: isize, descending: bool) -> Result<(Node, Node)> {
    let axis = axis_of("sort", x, axis)?;
    at("sort", x, x.order(axis, descending, x.shape()[axis])?, axis)
}

/// The `k` largest (or smallest) elements of an axis, in order, and their positions.
#[track_caller]
pub(crate) fn topk(x: &Node, k: usize, axis: isize, largest: bool) -> Result<(Node, Node)> {
    let axis = axis_of("topk", x, axis)?;
    check_count("topk", x, k, axis)?;
    at("topk", x, x.order(axis, largest, k)?, axis)
}

fn check_count(op: &str, x: &Node, k: usize, axis: usize) -> Result<()> {
    if k <= x.shape()[axis] {
        return Ok(());
    }
    let message = format!("{k} elements were asked for, axis {axis} of shape {:?} has {}", x.shape(), x.shape()[axis]);
    Err(Error::new(ErrorKind::Value, op, message).made_at("tensor", x.at()))
}

/// The `k`-th smallest element of an axis, counted from 1, and its position; the axis stays as 1.
#[track_caller]
pub(crate) fn kthvalue(op: &'static str, x: &Node, k: usize, axis: isize) -> Result<(Node, Node)> {
    let axis = axis_of(op, x, axis)?;
    if k == 0 {
        let message = "elements are counted from 1: the smallest is k = 1";
        return Err(Error::new(ErrorKind::Value, op, message).made_at("tensor", x.at()));
    }
    check_count(op, x, k, axis)?;
    let order = x.order(axis, false, k)?;
    let mut ranges = whole_ranges(order.shape());
    ranges[axis] = SliceRange { start: k - 1, step: 1, len: 1 };
    at(op, x, order.sliced(&ranges), axis)
}

/// The element in the middle of an axis (of two the smaller), and its position; the axis stays as 1. With a NaN it is NaN.
#[track_caller]
pub(crate) fn median(x: &Node, axis: isize) -> Result<(Node, Node)> {
    let op = "median";
    let place = axis_of(op, x, axis)?;
    let size = x.shape()[place];
    if size == 0 {
        let message = format!("nothing to choose from: shape {:?} is empty along axis {place}", x.shape());
        return Err(Error::new(ErrorKind::Shape, op, message).made_at("tensor", x.at()));
    }
    let (middle, middle_place) = kthvalue(op, x, size.div_ceil(2), axis)?;
    if !x.dtype().is_float() {
        return Ok((middle, middle_place));
    }
    // The largest stands last, and it is NaN if there is one.
    let x_known = x.detach();
    let nan = x_known.ne(&x_known);
    let any = nan.reduce(op, ReduceKind::Max, &[place as isize], true)?;
    let first = super::reduction::arg(op, ReduceKind::Max, &nan.cast(DType::U8)?, Some(axis), true)?;
    at(op, x, first.or_where_not(&any, &middle_place), place)
}

/// For each value how many elements of a sorted last axis come before it; with `right` those that are equal too.
///
/// The axes before the last are the same in both, or `sorted` has no others.
#[track_caller]
pub(crate) fn searchsorted(sorted: &Node, values: &Node, right: bool) -> Result<Node> {
    let op = "searchsorted";
    if sorted.dtype() != values.dtype() {
        let message = format!("{} values cannot be found among {}: cast one", values.dtype(), sorted.dtype());
        return Err(Error::new(ErrorKind::DType, op, message).operands(sorted.at(), values.at()));
    }
    if sorted.rank() == 1 {
        return Ok(sorted.search(&values.reshaped(&[values.len()]), right)?.reshaped(values.shape()));
    }
    let lead = |node: &Node| node.shape()[..node.rank().saturating_sub(1)].to_vec();
    if sorted.rank() == 0 || values.rank() != sorted.rank() || lead(sorted) != lead(values) {
        let message = format!(
            "values of shape {:?} do not fit a sorted tensor of shape {:?}: all axes but the last must be the same",
            values.shape(),
            sorted.shape()
        );
        return Err(Error::new(ErrorKind::Shape, op, message).operands(sorted.at(), values.at()));
    }
    sorted.search(values, right)
}

/// Whether each element of a sorted line begins a run of equal ones. NaN equals NaN here.
#[track_caller]
pub(crate) fn begins_run(sorted: &Node) -> Result<Node> {
    let len = sorted.len();
    let mut ranges = whole_ranges(&[len]);
    ranges[0].len = len.saturating_sub(1);
    let before = sorted.sliced(&ranges).padded(&[(len.min(1), 0)], Literal::zero(sorted.dtype()))?;
    let mut differs = sorted.ne(&before);
    if sorted.dtype().is_float() {
        let one_is = Node::map(&ops::BITOR, &[&sorted.eq(sorted), &before.eq(&before)])?;
        differs = Node::map(&ops::BITAND, &[&differs, &one_is])?;
    }
    let first = Node::positions(len)?;
    Node::map(&ops::BITOR, &[&differs, &first.eq(&first.full_like(Literal::I64(0)))])
}
