//! Matrix products, written as the sum of products they are.

use crate::error::{Error, ErrorKind, Result};
use crate::graph::{Node, ReduceKind};
use crate::ops::record::Dtypes;
use crate::shape::{Shape, broadcast_shapes};

/// The matrix product of the last two axes; the axes before them broadcast. A rank-1 operand is a row on the left, a
/// column on the right, and its axis goes away.
#[track_caller]
pub(crate) fn matmul(a: &Node, b: &Node) -> Result<Node> {
    let op = "matmul";
    let clash = |message: String| Error::new(ErrorKind::Shape, op, message).operands(a.at(), b.at());
    if a.rank() == 0 || b.rank() == 0 {
        return Err(clash(format!(
            "shapes {:?} and {:?}: a scalar has no axis to sum over, use *",
            a.shape(),
            b.shape()
        )));
    }
    if a.dtype() != b.dtype() {
        let message = format!("dtypes {} and {} do not mix: cast one", a.dtype(), b.dtype());
        return Err(Error::new(ErrorKind::DType, op, message).operands(a.at(), b.at()));
    }
    Dtypes::Numeric.check(op, a)?;
    let left_axis = a.rank() - 1;
    let right_axis = if b.rank() == 1 { 0 } else { b.rank() - 2 };
    let (depth, other) = (a.shape()[left_axis], b.shape()[right_axis]);
    if depth != other {
        return Err(clash(format!(
            "shapes {:?} and {:?} do not multiply: axis {left_axis} on the left is {depth}, axis {right_axis} on the right is {other}",
            a.shape(),
            b.shape()
        )));
    }
    let wide = crate::ops::accumulator(a.dtype());
    if wide != a.dtype() {
        // Sixteen bits are too few for products that will be added up, here and in the gradient.
        return matmul(&a.cast(wide)?, &b.cast(wide)?)?.cast(a.dtype());
    }
    // Rows and columns for rank-1 operands, taken away again at the end.
    let left = if a.rank() == 1 { a.reshaped(&[1, depth]) } else { a.clone() };
    let right = if b.rank() == 1 { b.reshaped(&[depth, 1]) } else { b.clone() };
    let (rows, columns) = (left.shape()[left.rank() - 2], right.shape()[right.rank() - 1]);
    let left_batch = &left.shape()[..left.rank() - 2];
    let right_batch = &right.shape()[..right.rank() - 2];
    let batch = broadcast_shapes(op, left_batch, right_batch)
        .map_err(|_| clash(format!("batch axes {left_batch:?} and {right_batch:?} do not broadcast")))?;
    // [.., rows, 1, depth] · [.., 1, columns, depth], summed over depth.
    let with = |axes: [usize; 3]| batch.iter().copied().chain(axes).collect::<Shape>();
    let left = left.reshaped(&insert(left.shape(), left.rank() - 1)).broadcast_to(&with([rows, columns, depth]))?;
    let turned = right.swapped(right.rank() - 2, right.rank() - 1);
    let right =
        turned.reshaped(&insert(turned.shape(), turned.rank() - 2)).broadcast_to(&with([rows, columns, depth]))?;
    let product = Node::map(&crate::ops::MUL, &[&left, &right])?;
    let sum = product.reduce(op, ReduceKind::Sum, &[-1], false)?;
    let mut shape = batch;
    if a.rank() > 1 {
        shape.push(rows);
    }
    if b.rank() > 1 {
        shape.push(columns);
    }
    Ok(sum.reshaped(&shape))
}

/// The shape with a size-1 axis inserted.
fn insert(shape: &[usize], axis: usize) -> Shape {
    let mut shape = Shape::from_slice(shape);
    shape.insert(axis, 1);
    shape
}

/// `x · wᵀ + b`: the layer everyone writes.
#[track_caller]
pub(crate) fn linear(x: &Node, weight: &Node, bias: Option<&Node>) -> Result<Node> {
    if weight.rank() != 2 {
        let message = format!("weight has shape {:?}, not [outputs, inputs]", weight.shape());
        return Err(Error::new(ErrorKind::Shape, "linear", message).made_at("weight", weight.at()));
    }
    if x.shape().last() != Some(&weight.shape()[1]) {
        let message = format!(
            "shape {:?} does not end in the {} inputs that the weight {:?} has: give [outputs, inputs]",
            x.shape(),
            weight.shape()[1],
            weight.shape()
        );
        return Err(Error::new(ErrorKind::Shape, "linear", message).operands(x.at(), weight.at()));
    }
    let product = matmul(x, &weight.swapped(0, 1))?;
    match bias {
        Some(bias) if bias.shape() != [weight.shape()[0]] => {
            let message = format!("bias has shape {:?}, not [{}]", bias.shape(), weight.shape()[0]);
            Err(Error::new(ErrorKind::Shape, "linear", message).made_at("bias", bias.at()))
        }
        Some(bias) => Node::map(&crate::ops::ADD, &[&product, bias]),
        None => Ok(product),
    }
}
