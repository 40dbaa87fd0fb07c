//! Operands of one op brought to one dtype and one shape.

use crate::error::{Error, ErrorKind, Result};
use crate::graph::Node;
use crate::shape::{broadcast_shapes, element_count};

/// An error unless two operands have one dtype.
pub(crate) fn one_dtype(op: &str, left: &Node, right: &Node) -> Result<()> {
    if left.dtype() == right.dtype() {
        return Ok(());
    }
    let message = format!(
        "dtypes {} and {} do not mix: cast one, as in x.cast(DType::{:?})",
        left.dtype(),
        right.dtype(),
        left.dtype()
    );
    Err(Error::new(ErrorKind::DType, op, message).operands(left.at(), right.at()))
}

/// An error unless two operands have one dtype and shapes that stretch to one.
pub(crate) fn fits(op: &str, left: &Node, right: &Node) -> Result<()> {
    one_dtype(op, left, right)?;
    broadcast_shapes(op, left.shape(), right.shape()).map_err(|error| error.operands(left.at(), right.at())).map(drop)
}

/// Two operands of one dtype, stretched to one shape.
#[track_caller]
pub(crate) fn pair(op: &str, left: &Node, right: &Node) -> Result<(Node, Node)> {
    one_dtype(op, left, right)?;
    let shape =
        broadcast_shapes(op, left.shape(), right.shape()).map_err(|error| error.operands(left.at(), right.at()))?;
    element_count(op, &shape, left.dtype())?;
    Ok((left.broadcast_to(&shape)?, right.broadcast_to(&shape)?))
}

/// An error unless two operands have one dtype and one shape: nothing is stretched.
pub(crate) fn same(op: &str, left: &Node, right: &Node) -> Result<()> {
    one_dtype(op, left, right)?;
    if left.shape() == right.shape() {
        return Ok(());
    }
    let message = format!("shapes {:?} and {:?} differ: give tensors of one shape", left.shape(), right.shape());
    Err(Error::new(ErrorKind::Shape, op, message).operands(left.at(), right.at()))
}
