//! Axes as users write them: negative ones count from the end.

use crate::error::{Error, ErrorKind, Result};
use smallvec::SmallVec;

/// The axis as a position in `shape`.
pub(crate) fn normalize_axis(op: &str, axis: isize, shape: &[usize]) -> Result<usize> {
    let rank = shape.len();
    let counted = if axis < 0 { axis.checked_add_unsigned(rank) } else { Some(axis) };
    match counted.and_then(|axis| usize::try_from(axis).ok()) {
        Some(axis) if axis < rank => Ok(axis),
        _ if rank == 0 => Err(Error::new(
            ErrorKind::Axis,
            op,
            format!("axis {axis} is out of range for shape []: a rank-0 tensor has no axes"),
        )),
        _ => Err(Error::new(
            ErrorKind::Axis,
            op,
            format!("axis {axis} is out of range for shape {shape:?} (rank {rank}): use -{rank} to {}", rank - 1),
        )),
    }
}

/// Several axes as positions in `shape`, in rising order; one named twice is an error.
pub(crate) fn normalize_axes(op: &str, axes: &[isize], shape: &[usize]) -> Result<SmallVec<[usize; 6]>> {
    let mut positions = axes.iter().map(|&axis| normalize_axis(op, axis, shape)).collect::<Result<SmallVec<_>>>()?;
    positions.sort_unstable();
    if let Some(twice) = positions.windows(2).find(|pair| pair[0] == pair[1]) {
        let message = format!("axis {} is given twice in {axes:?} for shape {shape:?}", twice[0]);
        return Err(Error::new(ErrorKind::Axis, op, message));
    }
    Ok(positions)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn negative_axes_count_from_the_end() {
        assert_eq!(normalize_axis("sum", -1, &[2, 3]).unwrap(), 1);
        assert_eq!(normalize_axis("sum", -2, &[2, 3]).unwrap(), 0);
        assert_eq!(normalize_axis("sum", 1, &[2, 3]).unwrap(), 1);
        assert_eq!(normalize_axes("sum", &[-1, 0], &[2, 3]).unwrap().as_slice(), [0, 1]);
        assert!(normalize_axes("sum", &[], &[2, 3]).unwrap().is_empty());
    }

    #[test]
    fn an_axis_out_of_range_says_which_ones_there_are() {
        let text = |axis, shape: &[usize]| normalize_axis("sum", axis, shape).unwrap_err().to_string();
        assert_eq!(text(3, &[2, 3]), "sum: axis 3 is out of range for shape [2, 3] (rank 2): use -2 to 1");
        assert_eq!(text(-3, &[2, 3]), "sum: axis -3 is out of range for shape [2, 3] (rank 2): use -2 to 1");
        assert_eq!(text(0, &[]), "sum: axis 0 is out of range for shape []: a rank-0 tensor has no axes");
        assert!(normalize_axis("sum", isize::MIN, &[2]).is_err() && normalize_axis("sum", isize::MAX, &[2]).is_err());
    }

    #[test]
    fn an_axis_given_twice_is_named() {
        let error = normalize_axes("sum", &[1, -1], &[2, 3]).unwrap_err();
        assert_eq!(error.to_string(), "sum: axis 1 is given twice in [1, -1] for shape [2, 3]");
        assert_eq!(error.kind(), ErrorKind::Axis);
    }
}
