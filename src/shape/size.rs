//! Sizes that are checked before anybody allocates.

use super::Strides;
use crate::dtype::DType;
use crate::error::{Error, ErrorKind, Result};

/// How many elements a shape has; an error if no memory could hold them. An axis of 0 makes it 0.
pub(crate) fn element_count(op: &str, shape: &[usize], dtype: DType) -> Result<usize> {
    if shape.contains(&0) {
        return Ok(0);
    }
    let count = shape.iter().try_fold(1_usize, |count, &size| count.checked_mul(size));
    match count.and_then(|count| count.checked_mul(dtype.size()).map(|bytes| (count, bytes))) {
        Some((count, bytes)) if isize::try_from(bytes).is_ok() => Ok(count),
        _ => Err(Error::new(
            ErrorKind::Memory,
            op,
            format!("shape {shape:?} of {dtype} has more elements than memory can address"),
        )),
    }
}

/// How many elements a checked shape has, or some of its axes. An axis of 0 makes it 0, however many the others are.
pub(crate) fn len_of(shape: &[usize]) -> usize {
    if shape.contains(&0) { 0 } else { shape.iter().fold(1, |count, &size| count.saturating_mul(size)) }
}

/// The strides of a dense row-major tensor. Axes of 0 count as 1; strides too large to hold stay at the maximum
/// (only a tensor without elements, or one that cannot exist, has such strides).
pub(crate) fn row_major_strides(shape: &[usize]) -> Strides {
    let mut strides = Strides::from_elem(1, shape.len());
    let mut stride = 1_isize;
    for (slot, &size) in strides.iter_mut().zip(shape).rev() {
        *slot = stride;
        stride = stride.saturating_mul(isize::try_from(size.max(1)).unwrap_or(isize::MAX));
    }
    strides
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn s2_11_row_major_strides_of_3_4_5() {
        assert_eq!(row_major_strides(&[3, 4, 5]).as_slice(), [20, 5, 1]);
    }

    #[test]
    fn s2_4_5_6_row_major_strides_of_2_3_4() {
        assert_eq!(row_major_strides(&[2, 3, 4]).as_slice(), [12, 4, 1]);
        assert!(row_major_strides(&[]).is_empty());
        assert_eq!(row_major_strides(&[2; 12])[0], 2048);
        assert_eq!(row_major_strides(&[2, 0, 3]).as_slice(), [3, 3, 1]);
    }

    #[test]
    fn counts_are_checked_before_memory_is_asked_for() {
        assert_eq!(element_count("zeros", &[2, 3], DType::F32).unwrap(), 6);
        assert_eq!(element_count("zeros", &[], DType::F64).unwrap(), 1);
        assert_eq!(element_count("zeros", &[1 << 40, 0, 1 << 40], DType::F32).unwrap(), 0);
        let error = element_count("zeros", &[1 << 40, 1 << 40], DType::F32).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Memory);
        assert_eq!(
            error.to_string(),
            "zeros: shape [1099511627776, 1099511627776] of f32 has more elements than memory can address"
        );
        assert!(element_count("zeros", &[1 << 62], DType::F32).is_err());
        assert!(element_count("zeros", &[1 << 62], DType::U8).is_ok());
        assert!(element_count("zeros", &[1 << 63], DType::U8).is_err());
    }
}
