//! Broadcasting: shapes are aligned at their last axes, missing axes count as 1, and axes of 1 stretch.

use super::Shape;
use crate::error::{Error, ErrorKind, Result};

/// The shape that both operands stretch to.
pub(crate) fn broadcast_shapes(op: &str, left: &[usize], right: &[usize]) -> Result<Shape> {
    let rank = left.len().max(right.len());
    let mut shape = Shape::from_elem(1, rank);
    for axis in (0..rank).rev() {
        shape[axis] = match (aligned(left, rank, axis), aligned(right, rank, axis)) {
            (a, b) if a == b => a,
            (1, b) => b,
            (a, 1) => a,
            (a, b) => {
                let message = format!(
                    "shapes {left:?} and {right:?} do not broadcast: axis {axis} is {a} on the left and {b} on the right"
                );
                return Err(Error::new(ErrorKind::Shape, op, message));
            }
        };
    }
    Ok(shape)
}

/// The size of `axis` once `shape` has been padded with leading ones up to `rank`.
fn aligned(shape: &[usize], rank: usize, axis: usize) -> usize {
    (axis + shape.len()).checked_sub(rank).map_or(1, |axis| shape[axis])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn s4_44_shapes_align_right_and_ones_stretch() {
        let shape = |left: &[usize], right: &[usize]| broadcast_shapes("add", left, right).unwrap().to_vec();
        assert_eq!(shape(&[2, 3], &[3]), [2, 3]);
        assert_eq!(shape(&[3], &[2, 3]), [2, 3]);
        assert_eq!(shape(&[2, 1], &[1, 3]), [2, 3]);
        assert_eq!(shape(&[32, 630, 12, 32], &[32, 1, 1, 32]), [32, 630, 12, 32]);
        assert_eq!(shape(&[], &[4]), [4]);
        assert_eq!(shape(&[], &[]), [0; 0]);
        assert_eq!(shape(&[1], &[0]), [0]);
        assert_eq!(shape(&[2, 0], &[2, 1]), [2, 0]);
    }

    #[test]
    fn s4_45_shapes_that_do_not_broadcast_are_named_with_the_op() {
        let text = |left: &[usize], right: &[usize]| broadcast_shapes("add", left, right).unwrap_err().to_string();
        assert_eq!(
            text(&[2, 3], &[4]),
            "add: shapes [2, 3] and [4] do not broadcast: axis 1 is 3 on the left and 4 on the right"
        );
        assert_eq!(
            text(&[5], &[7, 6]),
            "add: shapes [5] and [7, 6] do not broadcast: axis 1 is 5 on the left and 6 on the right"
        );
        assert_eq!(
            text(&[2, 3], &[4, 3]),
            "add: shapes [2, 3] and [4, 3] do not broadcast: axis 0 is 2 on the left and 4 on the right"
        );
        assert!(broadcast_shapes("add", &[0], &[3]).is_err());
    }
}
