//! Ordinals, indices and positions: the arithmetic that the kernels do incrementally, spelled out.
//!
//! An *ordinal* counts elements in row-major order, an *index* has one number for each axis, a *position* is where the
//! element lies in its slice. An ordinal is never a position: only strides know where things lie.

use super::view::check_broadcast;
use crate::error::{Error, ErrorKind, Result};

/// Whether two operands have the same rank, shape and strides, so that the same element lies at the same position.
///
/// ```
/// assert!(zither::strided::is_aligned(&[2, 3], &[3, 1], &[2, 3], &[3, 1]));
/// assert!(!zither::strided::is_aligned(&[2, 3], &[3, 1], &[2, 3], &[1, 2]));
/// ```
pub fn is_aligned(a_shape: &[usize], a_strides: &[isize], b_shape: &[usize], b_strides: &[isize]) -> bool {
    a_shape == b_shape && a_strides == b_strides
}

/// Writes the index of the element with this ordinal: mixed radix, from the last axis.
///
/// ```
/// let mut index = [0; 3];
/// zither::strided::ordinal_to_index(17, &[2, 3, 4], &mut index)?;
/// assert_eq!(index, [1, 1, 1]);
/// # Ok::<(), zither::Error>(())
/// ```
pub fn ordinal_to_index(ordinal: usize, shape: &[usize], index: &mut [usize]) -> Result<()> {
    const OP: &str = "ordinal_to_index";
    same_rank(OP, "index", index.len(), shape.len())?;
    let mut rest = ordinal;
    if !shape.contains(&0) {
        for (slot, &size) in index.iter_mut().zip(shape).rev() {
            *slot = rest % size;
            rest /= size;
        }
        if rest == 0 {
            return Ok(());
        }
    }
    Err(Error::new(ErrorKind::Index, OP, format!("shape {shape:?} has no element {ordinal}: it has fewer elements")))
}

/// The position of an index: the sum of index times stride, in elements, counted from the first element.
///
/// ```
/// assert_eq!(zither::strided::index_to_position(&[1, 1, 1], &[12, 4, 1])?, 17);
/// # Ok::<(), zither::Error>(())
/// ```
pub fn index_to_position(index: &[usize], strides: &[isize]) -> Result<isize> {
    const OP: &str = "index_to_position";
    same_rank(OP, "index", index.len(), strides.len())?;
    let steps = index.iter().zip(strides).map(|(&i, &stride)| (i as i128).checked_mul(stride as i128));
    let position = steps.into_iter().try_fold(0i128, |sum, step| sum.checked_add(step?));
    position.and_then(|position| isize::try_from(position).ok()).ok_or_else(|| {
        let message = format!("index {index:?} with strides {strides:?} is too far to address: use smaller strides");
        Error::new(ErrorKind::Index, OP, message)
    })
}

/// Writes which element of an input an output's element reads: index 0 along axes of size 1, else the output's.
/// An input with fewer axes is aligned right.
///
/// ```
/// let mut index = [9; 2];
/// zither::strided::broadcast_index(&[4, 1, 2], &[5, 2, 3], &[1, 3], &mut index)?;
/// assert_eq!(index, [0, 2]);
/// # Ok::<(), zither::Error>(())
/// ```
pub fn broadcast_index(
    out_index: &[usize],
    out_shape: &[usize],
    in_shape: &[usize],
    in_index: &mut [usize],
) -> Result<()> {
    const OP: &str = "broadcast_index";
    same_rank(OP, "out_index", out_index.len(), out_shape.len())?;
    same_rank(OP, "in_index", in_index.len(), in_shape.len())?;
    check_broadcast(OP, "input", in_shape, out_shape)?;
    let missing = out_shape.len() - in_shape.len();
    for ((slot, &size), &i) in in_index.iter_mut().zip(in_shape).zip(&out_index[missing..]) {
        *slot = if size == 1 { 0 } else { i };
    }
    Ok(())
}

fn same_rank(op: &str, what: &str, got: usize, wanted: usize) -> Result<()> {
    if got == wanted {
        return Ok(());
    }
    let message = format!("{what} has {got} entries for {wanted} axes: give one entry for each axis");
    Err(Error::new(ErrorKind::Shape, op, message))
}
