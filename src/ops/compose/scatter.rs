//! Writing by index tensors: what goes to one place is added, chosen from, or replaces what was there.
//!
//! The primitive puts together what goes to each place, in the order of the source; what was there before joins it here. So all of it
//! fuses with what follows, and the gradient of each is that of its parts.

use super::indexing::along;
use super::movement::{axis_of, broadcast_as};
use crate::dtype::{DType, Literal};
use crate::error::{Error, ErrorKind, Result};
use crate::graph::{Lookup, Node, ReduceKind};
use crate::ops;
use crate::shape::Shape;

/// How elements that go to one place become one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Combine {
    Add,
    Prod,
    Max,
    Min,
    Mean,
}

/// A place for each element of a source.
struct Target {
    lookup: Lookup,
    index: Node,
    source: Node,
    axis: usize,
}

impl Target {
    /// Checks that `index` fits `x` and `source`, of which it takes the first elements of each axis.
    #[track_caller]
    fn new(name: &'static str, x: &Node, axis: isize, index: &Node, source: &Node) -> Result<Target> {
        let axis = axis_of(name, x, axis)?;
        let index_places = index.as_places(name)?;
        same_dtype(name, x, source)?;
        let fits = index.rank() == x.rank()
            && source.rank() == x.rank()
            && (0..x.rank()).all(|k| index.shape()[k] <= source.shape()[k])
            && (0..x.rank()).all(|k| k == axis || index.shape()[k] <= x.shape()[k]);
        if !fits {
            let message = format!(
                "index of shape {:?} and source of shape {:?} do not fit a tensor of shape {:?} along axis {axis}",
                index.shape(),
                source.shape(),
                x.shape()
            );
            return Err(Error::new(ErrorKind::Shape, name, message).operands(x.at(), index.at()));
        }
        if x.shape()[axis] == 0 && index.len() > 0 {
            let message = format!("axis {axis} of shape {:?} is empty: there is no place to go to", x.shape());
            return Err(Error::new(ErrorKind::Index, name, message).made_at("tensor", x.at()));
        }
        let ranges: Vec<_> =
            index.shape().iter().map(|&len| crate::graph::SliceRange { start: 0, step: 1, len }).collect();
        let lookup = Lookup { name, from_end: true };
        Ok(Target { lookup, index: index_places, source: source.sliced(&ranges), axis })
    }

    /// A rank-1 index along an axis, for slices of `source`.
    #[track_caller]
    fn slices(name: &'static str, x: &Node, axis: isize, index: &Node, source: &Node) -> Result<Target> {
        let axis = axis_of(name, x, axis)?;
        let (places, shape) = along(name, x.shape(), axis, index)?;
        same_dtype(name, x, source)?;
        if source.shape() != &shape[..] {
            let message = format!(
                "a source of shape {:?} does not fit a tensor of shape {:?} and {} indices along axis {axis}: it must have shape {:?}",
                source.shape(),
                x.shape(),
                index.len(),
                &shape[..]
            );
            return Err(Error::new(ErrorKind::Shape, name, message).operands(x.at(), source.at()));
        }
        let lookup = Lookup { name, from_end: true };
        Ok(Target { lookup, index: places.broadcast_to(&shape)?, source: source.clone(), axis })
    }

    /// What goes to each place of `shape`, put together.
    #[track_caller]
    fn put(&self, kind: ReduceKind, shape: &[usize]) -> Result<Node> {
        self.source.scatter(kind, self.lookup, &self.index, self.axis, shape)
    }

    /// How many elements go to each place.
    #[track_caller]
    fn counts(&self, shape: &[usize]) -> Result<Node> {
        let ones = Node::full(self.source.shape(), Literal::I64(1))?;
        ones.scatter(ReduceKind::Sum, self.lookup, &self.index, self.axis, shape)
    }

    /// The source's elements in `x`, the last of those that go to one place.
    #[track_caller]
    fn replace(&self, x: &Node) -> Result<Node> {
        let len = self.source.len();
        if len == 0 {
            return Ok(x.clone());
        }
        // Which element of the source comes last at each place; below zero where none does.
        let order = Node::positions(len)?.reshaped(self.source.shape());
        let last = order.scatter(ReduceKind::Max, self.lookup, &self.index, self.axis, x.shape())?;
        let none = last.lt(&last.full_like(Literal::I64(0)));
        let place = Node::map(&ops::MAXIMUM, &[&last, &last.full_like(Literal::I64(0))])?;
        let flat = self.source.reshaped(&[len]);
        let found = flat.gather_by(self.lookup, &place.reshaped(&[place.len()]), 0)?.reshaped(x.shape());
        Ok(x.or_where_not(&none, &found))
    }
}

fn same_dtype(op: &str, x: &Node, source: &Node) -> Result<()> {
    if x.dtype() == source.dtype() {
        return Ok(());
    }
    let message = format!("a {} tensor cannot take {} values: cast them", x.dtype(), source.dtype());
    Err(Error::new(ErrorKind::DType, op, message).operands(x.at(), source.at()))
}

fn check_number(op: &str, x: &Node) -> Result<()> {
    if x.dtype() != DType::Bool {
        return Ok(());
    }
    let message = "bool is not a number: cast to an integer dtype first";
    Err(Error::new(ErrorKind::DType, op, message).made_at("tensor", x.at()))
}

/// `x` with `source[.., j, ..]` in place of `x[.., index[.., j, ..], ..]`; of several for one place the last stays.
#[track_caller]
pub(crate) fn scatter(x: &Node, axis: isize, index: &Node, source: &Node) -> Result<Node> {
    Target::new("scatter", x, axis, index, source)?.replace(x)
}

/// `x` with `source[.., j, ..]` added to `x[.., index[.., j, ..], ..]`.
#[track_caller]
pub(crate) fn scatter_add(x: &Node, axis: isize, index: &Node, source: &Node) -> Result<Node> {
    check_number("scatter_add", x)?;
    let sum = Target::new("scatter_add", x, axis, index, source)?.put(ReduceKind::Sum, x.shape())?;
    Ok(x + &sum)
}

/// `x` and what goes to each of its places, combined; without `include_self` what was there gives way to what comes.
#[track_caller]
pub(crate) fn scatter_reduce(
    x: &Node,
    axis: isize,
    index: &Node,
    source: &Node,
    how: Combine,
    include_self: bool,
) -> Result<Node> {
    let op = "scatter_reduce";
    check_number(op, x)?;
    let target = Target::new(op, x, axis, index, source)?;
    let counts = target.counts(x.shape())?;
    let (kind, join) = match how {
        Combine::Add | Combine::Mean => (ReduceKind::Sum, &ops::ADD),
        Combine::Prod => (ReduceKind::Prod, &ops::MUL),
        Combine::Max => (ReduceKind::Max, &ops::MAXIMUM),
        Combine::Min => (ReduceKind::Min, &ops::MINIMUM),
    };
    let mut put = target.put(kind, x.shape())?;
    let one = counts.full_like(Literal::I64(1));
    if include_self {
        put = Node::map(join, &[x, &put])?;
    }
    if how == Combine::Mean {
        // Where nothing comes there is nothing to divide; elsewhere there is at least one.
        let of = if include_self { &counts + &one } else { Node::map(&ops::MAXIMUM, &[&counts, &one])? };
        let divide = if x.dtype().is_float() { &ops::DIV } else { &ops::IDIV };
        put = Node::map(divide, &[&put, &of.cast(x.dtype())?])?;
    }
    if include_self { Ok(put) } else { Ok(x.or_where_not(&counts.lt(&one), &put)) }
}

/// `x` with slices of `source` added at the places that a rank-1 index names along an axis.
#[track_caller]
pub(crate) fn index_add(x: &Node, axis: isize, index: &Node, source: &Node) -> Result<Node> {
    check_number("index_add", x)?;
    let sum = Target::slices("index_add", x, axis, index, source)?.put(ReduceKind::Sum, x.shape())?;
    Ok(x + &sum)
}

/// `x` with slices of `source` at the places that a rank-1 index names along an axis; of several for one place the last stays.
#[track_caller]
pub(crate) fn index_copy(x: &Node, axis: isize, index: &Node, source: &Node) -> Result<Node> {
    Target::slices("index_copy", x, axis, index, source)?.replace(x)
}

/// `x` with one value at the places that a rank-1 index names along an axis.
#[track_caller]
pub(crate) fn index_fill(x: &Node, axis: isize, index: &Node, value: Literal) -> Result<Node> {
    let op = "index_fill";
    let at = axis_of(op, x, axis)?;
    let (places, _) = along(op, &[x.shape()[at]], 0, index)?;
    let ones = Node::full(places.shape(), Literal::I64(1))?;
    let counts = ones.scatter(ReduceKind::Sum, Lookup { name: op, from_end: true }, &places, 0, &[x.shape()[at]])?;
    let line: Shape = (0..x.rank()).map(|k| if k == at { x.shape()[at] } else { 1 }).collect();
    let none = counts.lt(&counts.full_like(Literal::I64(1))).reshaped(&line);
    let none = broadcast_as(op, &none, x.shape())?;
    Ok(x.or_where_not(&none, &x.full_like(value)))
}

/// `x` with elements of `source` at the row-major places that an index of the same shape names, or added there.
#[track_caller]
pub(crate) fn put(x: &Node, index: &Node, source: &Node, accumulate: bool) -> Result<Node> {
    let op = "put";
    if index.shape() != source.shape() {
        let message = format!("index {:?} and source {:?} must have one shape", index.shape(), source.shape());
        return Err(Error::new(ErrorKind::Shape, op, message).operands(index.at(), source.at()));
    }
    let (flat, len) = (x.reshaped(&[x.len()]), source.len());
    let (index, source) = (index.reshaped(&[len]), source.reshaped(&[len]));
    let target = Target::new(op, &flat, 0, &index, &source)?;
    let result = if accumulate {
        check_number(op, x)?;
        &flat + &target.put(ReduceKind::Sum, flat.shape())?
    } else {
        target.replace(&flat)?
    };
    Ok(result.reshaped(x.shape()))
}

/// How often each of `0..size` stands in a rank-1 tensor, as `i64`; with weights their sums instead.
#[track_caller]
pub(crate) fn bincount(x: &Node, weights: Option<&Node>, size: usize) -> Result<Node> {
    let op = "bincount";
    let places = x.as_places(op)?;
    let lookup = Lookup { name: op, from_end: false };
    match weights {
        Some(weights) if weights.shape() != x.shape() => {
            let message = format!("weights {:?} do not fit numbers {:?}", weights.shape(), x.shape());
            Err(Error::new(ErrorKind::Shape, op, message).operands(x.at(), weights.at()))
        }
        Some(weights) => {
            check_number(op, weights)?;
            weights.scatter(ReduceKind::Sum, lookup, &places, 0, &[size])
        }
        None => Node::full(x.shape(), Literal::I64(1))?.scatter(ReduceKind::Sum, lookup, &places, 0, &[size]),
    }
}
