//! Running totals along an axis: sums, products, extremes.

use super::movement::axis_of;
use super::reduction::wide;
use crate::dtype::{DType, Literal};
use crate::error::{Error, ErrorKind, Result};
use crate::graph::build::whole_ranges;
use crate::graph::{Node, ScanKind, SliceRange};
use crate::ops::record::Dtypes;
use smallvec::SmallVec;

fn checked(op: &str, x: &Node, axis: isize) -> Result<usize> {
    if x.dtype() == DType::Bool {
        let message = "bool is not a number: cast to an integer dtype first";
        return Err(Error::new(ErrorKind::DType, op, message).made_at("tensor", x.at()));
    }
    axis_of(op, x, axis)
}

/// The sum of each element and all before it.
#[track_caller]
pub(crate) fn cumsum(x: &Node, axis: isize) -> Result<Node> {
    x.scan(ScanKind::Sum, None, checked("cumsum", x, axis)?, false)
}

/// The product of each element and all before it.
#[track_caller]
pub(crate) fn cumprod(x: &Node, axis: isize) -> Result<Node> {
    x.scan(ScanKind::Prod, None, checked("cumprod", x, axis)?, false)
}

/// The largest of each element and all before it, and the last place where it was met.
#[track_caller]
pub(crate) fn cummax(x: &Node, axis: isize) -> Result<(Node, Node)> {
    let axis = checked("cummax", x, axis)?;
    Ok((x.scan(ScanKind::Max, None, axis, false)?, x.scan(ScanKind::ArgMax, None, axis, false)?))
}

/// The smallest of each element and all before it, and the last place where it was met.
#[track_caller]
pub(crate) fn cummin(x: &Node, axis: isize) -> Result<(Node, Node)> {
    let axis = checked("cummin", x, axis)?;
    Ok((x.scan(ScanKind::Min, None, axis, false)?, x.scan(ScanKind::ArgMin, None, axis, false)?))
}

/// `ln Σ exp(x)` of each element and all before it, without overflow.
///
/// The sum is kept relative to the largest element so far: `s = s · exp(old - new) + exp(x - new)`.
#[track_caller]
pub(crate) fn logcumsumexp(x: &Node, axis: isize) -> Result<Node> {
    let op = "logcumsumexp";
    Dtypes::Float.check(op, x)?;
    let axis = checked(op, x, axis)?;
    let x_wide = wide(x)?;
    let largest = x_wide.detach().scan(ScanKind::Max, None, axis, false)?;
    let finite = largest.abs().lt(&largest.fill(f64::INFINITY));
    let shift = largest.keep_where(&finite);
    // The largest so far never falls; only a shift of 0 in place of -inf does, where there is nothing to fade.
    let fading = (&before(&shift, axis)? - &shift).minimum(&shift.fill(0.0)).exp();
    let sum = (&x_wide - &shift).exp().scan(ScanKind::Linear, Some(&fading), axis, false)?;
    // Of nothing but -inf the sum is 0: its logarithm is known, and has no slope.
    let nothing = sum.eq(&sum.fill(0.0));
    let logarithm = &sum.fill(1.0).or_where_not(&nothing, &sum).ln() + &shift;
    logarithm.fill(f64::NEG_INFINITY).or_where_not(&nothing, &logarithm).cast(x.dtype())
}

/// Each element one place further along the axis, with a 0 coming in.
#[track_caller]
fn before(x: &Node, axis: usize) -> Result<Node> {
    let size = x.shape()[axis];
    let mut ranges = whole_ranges(x.shape());
    ranges[axis] = SliceRange { start: 0, step: 1, len: size.saturating_sub(1) };
    let mut padding: SmallVec<[(usize, usize); 6]> = SmallVec::from_elem((0, 0), x.rank());
    padding[axis] = (size.min(1), 0);
    x.sliced(&ranges).padded(&padding, Literal::zero(x.dtype()))
}

/// `h = a · h + b` along an axis, beginning with `h = 0`: the recurrence of leaky sums and state-space models.
#[track_caller]
pub(crate) fn linear_scan(a: &Node, b: &Node, axis: isize) -> Result<Node> {
    let op = "linear_scan";
    if a.dtype() != b.dtype() {
        let message = format!("factors of {} and terms of {} do not mix: cast one", a.dtype(), b.dtype());
        return Err(Error::new(ErrorKind::DType, op, message).operands(a.at(), b.at()));
    }
    let shape =
        crate::shape::broadcast_shapes(op, a.shape(), b.shape()).map_err(|error| error.operands(a.at(), b.at()))?;
    crate::shape::element_count(op, &shape, a.dtype())?;
    let (a, b) = (a.broadcast_to(&shape)?, b.broadcast_to(&shape)?);
    let axis = checked(op, &b, axis)?;
    b.scan(ScanKind::Linear, Some(&a), axis, false)
}
