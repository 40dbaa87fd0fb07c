//! Facts about layouts: the numbers come from the specification.

use super::*;
use crate::error::ErrorKind;

#[test]
fn s0_5_6_ordinal_17_of_2_3_4_is_index_1_1_1() {
    assert_eq!(ordinal_to_index(17, &[2, 3, 4]).as_slice(), [1, 1, 1]);
    assert_eq!(ordinal_to_index(23, &[2, 3, 4]).as_slice(), [1, 2, 3]);
    assert_eq!(ordinal_to_index(5, &[2, 3, 4]).as_slice(), [0, 1, 1]);
    assert!(ordinal_to_index(0, &[]).is_empty());
}

#[test]
fn s0_7_8_position_is_the_sum_of_index_times_stride() {
    assert_eq!(index_to_position(&[1, 1, 1], &[12, 4, 1]), 17);
    assert_eq!(index_to_position(&[0, 1], &[4, 2]), 2);
    assert_eq!(index_to_position(&[2], &[-3]), -6);
}

#[test]
fn s2_4_5_6_7_index_1_2_3_of_2_3_4_is_position_23() {
    let layout = Layout::contiguous(&[2, 3, 4]);
    assert_eq!(layout.strides(), [12, 4, 1]);
    assert_eq!(layout.position(&[1, 2, 3]), 23);
}

#[test]
fn s2_8_transpose_permutes_shape_and_strides() {
    let layout = Layout::contiguous(&[2, 3, 4]);
    let transposed = layout.transpose(0, -1).unwrap();
    assert_eq!(transposed.shape(), [4, 3, 2]);
    assert_eq!(transposed.strides(), [1, 4, 12]);
    assert_eq!(transposed.start_offset(), 0);
    assert!(layout.is_contiguous() && !transposed.is_contiguous());
    assert_eq!(transposed.position(&[3, 2, 1]), layout.position(&[1, 2, 3]));
    let permuted = layout.permute(&[1, -1, 0]).unwrap();
    assert_eq!((permuted.shape(), permuted.strides()), ([3, 4, 2].as_slice(), [4, 1, 12].as_slice()));
    assert_eq!(layout.permute(&[0, 1]).unwrap_err().kind(), ErrorKind::Axis);
    assert_eq!(layout.permute(&[0, 1, 1]).unwrap_err().kind(), ErrorKind::Axis);
}

#[test]
fn s2_9_10_sub_tensors_share_the_positions_of_one_buffer() {
    let layout = Layout::contiguous(&[3, 4]);
    let rows = layout.narrow(0, 1, 2).unwrap();
    let block = rows.narrow(1, 2, 2).unwrap();
    assert_eq!(block.strided_index().collect::<Vec<_>>(), [6, 7, 10, 11]);
    assert_eq!(block.position(&[1, 1]), layout.position(&[2, 3]));
}

#[test]
fn s2_11_row_major_strides_of_3_4_5_in_a_layout() {
    assert_eq!(Layout::contiguous(&[3, 4, 5]).strides(), [20, 5, 1]);
}

#[test]
fn s2_12_slicing_with_a_step_keeps_the_buffer() {
    let even_columns = Layout::contiguous(&[2, 4]).step_by(1, 2).unwrap();
    assert_eq!((even_columns.shape(), even_columns.strides()), ([2, 2].as_slice(), [4, 2].as_slice()));
    assert_eq!(even_columns.strided_index().collect::<Vec<_>>(), [0, 2, 4, 6]);
    assert_eq!(Layout::contiguous(&[5]).step_by(0, 2).unwrap().shape(), [3]);
    assert_eq!(Layout::contiguous(&[5]).step_by(0, 0).unwrap_err().kind(), ErrorKind::Value);
}

#[test]
fn s2_13_reshape_keeps_the_data_where_strides_allow() {
    let layout = Layout::contiguous(&[2, 6]);
    let reshaped = layout.reshape(&[3, 4]).unwrap();
    assert_eq!((reshaped.shape(), reshaped.strides()), ([3, 4].as_slice(), [4, 1].as_slice()));
    assert!(reshaped.strided_index().eq(0..12));
    let transposed = layout.transpose(0, 1).unwrap();
    assert!(transposed.reshape(&[12]).is_none());
    let swapped = Layout::contiguous(&[3, 2, 2, 2]).permute(&[1, 2, 3, 0]).unwrap();
    assert_eq!(swapped.reshape(&[8, 3]).unwrap().strides(), [1, 8]);
    let split = transposed.reshape(&[3, 1, 2, 2]).unwrap();
    assert!(split.strided_index().eq(transposed.strided_index()));
}

#[test]
fn s4_17_18_19_shape_stride_and_start_offset() {
    let layout = Layout::contiguous(&[2, 3]).narrow(1, 1, 2).unwrap();
    assert_eq!(layout.shape(), [2, 2]);
    assert_eq!(layout.strides(), [3, 1]);
    assert_eq!(layout.start_offset(), 1);
    assert_eq!(layout.rank(), 2);
}

#[test]
fn s4_20_21_narrow_moves_the_offset_and_the_full_range_is_the_same() {
    let layout = Layout::contiguous(&[4, 5]);
    let narrowed = layout.narrow(0, 2, 2).unwrap();
    assert_eq!((narrowed.start_offset(), narrowed.shape()), (10, [2, 5].as_slice()));
    assert_eq!(narrowed.strides(), layout.strides());
    assert_eq!(layout.narrow(1, 0, 5).unwrap(), layout);
    assert_eq!(layout.narrow(-1, 5, 0).unwrap().strided_index().count(), 0);
}

#[test]
fn s4_22_23_24_narrow_errors_name_shape_axis_start_and_len() {
    let layout = Layout::contiguous(&[2, 3]);
    let error = layout.narrow(1, 5, 1).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Index);
    assert_eq!(error.to_string(), "narrow: start 5 > len 3 of the axis (shape [2, 3], axis 1, start 5, len 1)");
    let error = layout.narrow(1, 2, 2).unwrap_err();
    assert_eq!(error.to_string(), "narrow: start 2 + len 2 > len 3 of the axis (shape [2, 3], axis 1, start 2, len 2)");
    assert!(layout.narrow(1, 1, usize::MAX).is_err());
    assert_eq!(layout.narrow(2, 0, 1).unwrap_err().kind(), ErrorKind::Axis);
}

#[test]
fn s4_41_the_odometer_visits_every_element_in_order() {
    for shape in [&[][..], &[1], &[7], &[2, 3, 4], &[3, 1, 2], &[2, 0, 3], &[2; 12]] {
        let layout = Layout::contiguous(shape);
        assert!(layout.strided_index().eq(0..shape.iter().product()), "{shape:?}");
        if shape.len() > 1 {
            let reversed: Vec<isize> = (0..shape.len() as isize).rev().collect();
            let reversed = layout.permute(&reversed).unwrap();
            let count = reversed.shape().iter().product();
            let slow = (0..count).map(|ordinal| reversed.position(&ordinal_to_index(ordinal, reversed.shape())));
            assert!(reversed.strided_index().eq(slow), "{shape:?}");
        }
    }
    let backwards = Layout::new(&[3], &[-2], 4).unwrap();
    assert_eq!(backwards.strided_index().collect::<Vec<_>>(), [4, 2, 0]);
    assert_eq!(Layout::new(&[3], &[], 0).unwrap_err().kind(), ErrorKind::Shape);
}
