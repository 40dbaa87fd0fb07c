//! Exact texts. The layouts are those of NumPy 2.4 (`array2string`, `separator=', '`) and of PyTorch's printing rules.

use super::format_tensor;
use crate::dtype::{DType, Literal, TensorDType, bf16, f16};
use std::cell::Cell;
use std::fmt;

/// A tensor to print: its elements come from their row-major position.
struct Sample<'a> {
    shape: &'a [usize],
    dtype: DType,
    element: &'a dyn Fn(usize) -> Literal,
}

impl fmt::Display for Sample<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let position = |index: &[usize]| {
            index.iter().zip(self.shape).fold(0_usize, |at, (i, length)| at.wrapping_mul(*length).wrapping_add(*i))
        };
        format_tensor(self.shape, self.dtype, &|index| (self.element)(position(index)), f)
    }
}

fn text<T: TensorDType>(shape: &[usize], values: &[T]) -> String {
    Sample { shape, dtype: T::DTYPE, element: &|at| values[at].literal() }.to_string()
}

/// The text between `tensor(` and `, shape=`.
fn body<T: TensorDType>(shape: &[usize], values: &[T]) -> String {
    let text = text(shape, values);
    let (body, _) = text.split_once(", shape=").unwrap();
    body.strip_prefix("tensor(").unwrap().to_string()
}

/// 0, 1, 2 … as `dtype`.
fn counting(shape: &[usize], dtype: DType) -> String {
    Sample { shape, dtype, element: &|at| Literal::from_f64(dtype, at as f64) }.to_string()
}

#[test]
fn a_scalar_is_a_bare_number() {
    assert_eq!(text(&[], &[3.0_f32]), "3.");
    assert_eq!(text(&[], &[0.5_f32]), "0.5");
    assert_eq!(text(&[], &[-1.0_f64 / 3.0]), "-0.3333");
    assert_eq!(text(&[], &[1.5e-5_f32]), "1.5e-05");
    assert_eq!(text(&[], &[-0.0_f32]), "-0.");
    assert_eq!(text(&[], &[f32::NAN]), "nan");
    assert_eq!(text(&[], &[-7_i64]), "-7");
    assert_eq!(text(&[], &[true]), "true");
}

#[test]
fn a_vector_is_one_row() {
    assert_eq!(text(&[3], &[1.0_f32, 2.0, 3.0]), "tensor([1., 2., 3.], shape=[3], dtype=f32)");
    assert_eq!(text(&[3], &[0.5_f32, 1.25, -3.0]), "tensor([ 0.50,  1.25, -3.00], shape=[3], dtype=f32)");
    assert_eq!(body(&[2], &[1.0_f64 / 3.0, 20.0]), "[ 0.3333, 20.0000]");
}

#[test]
fn the_rows_of_a_matrix_stand_under_each_other() {
    assert_eq!(
        text(&[2, 2], &[1.0_f32, 2.0, 3.0, 4.0]),
        "tensor([[1., 2.],\n        [3., 4.]], shape=[2, 2], dtype=f32)"
    );
    assert_eq!(body(&[2, 2], &[1_i32, -20, 300, 4]), "[[  1, -20],\n        [300,   4]]");
    assert_eq!(body(&[2, 2], &[true, false, false, false]), "[[ true, false],\n        [false, false]]");
}

#[test]
fn a_blank_line_stands_between_matrices_and_two_between_their_blocks() {
    assert_eq!(
        counting(&[2, 2, 3], DType::F32),
        "tensor([[[ 0.,  1.,  2.],
         [ 3.,  4.,  5.]],

        [[ 6.,  7.,  8.],
         [ 9., 10., 11.]]], shape=[2, 2, 3], dtype=f32)"
    );
    assert_eq!(
        counting(&[2, 2, 1, 2], DType::U8),
        "tensor([[[[0, 1]],

         [[2, 3]]],


        [[[4, 5]],

         [[6, 7]]]], shape=[2, 2, 1, 2], dtype=u8)"
    );
}

#[test]
fn integers_are_written_to_the_last_digit() {
    assert_eq!(body(&[2], &[i64::MIN, i64::MAX]), "[-9223372036854775808,  9223372036854775807]");
    assert_eq!(body(&[2], &[0, u64::MAX]), "[                   0, 18446744073709551615]");
    assert_eq!(body(&[3], &[-128_i8, 0, 127]), "[-128,    0,  127]");
}

#[test]
fn nan_and_infinities_align_and_change_nothing_else() {
    let odd = [1.0_f32, f32::NAN, f32::NEG_INFINITY, -0.0];
    assert_eq!(body(&[4], &odd), "[  1.,  nan, -inf,  -0.]");
    let odd = [1.5_f64, f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -0.0, 0.0];
    assert_eq!(body(&[6], &odd), "[ 1.5,  nan,  inf, -inf, -0.0,  0.0]");
    assert_eq!(body(&[2], &[-f32::NAN, f32::INFINITY]), "[nan, inf]");
}

#[test]
fn mixed_magnitudes_are_scientific_throughout() {
    // Over 1000 times apart, and not all whole.
    assert_eq!(body(&[3], &[0.001_f64, 1.5, 250.0]), "[1.0e-03, 1.5e+00, 2.5e+02]");
    let mixed = [0.00012345_f64, 1.5, 2500.0, -3.0];
    assert_eq!(body(&[4], &mixed), "[ 1.2345e-04,  1.5000e+00,  2.5000e+03, -3.0000e+00]");
    // Large; whole numbers below stay whole, however far apart.
    assert_eq!(body(&[3], &[1e8_f32, 1.0, 0.0]), "[1.e+08, 1.e+00, 0.e+00]");
    assert_eq!(body(&[2], &[99_999_992.0_f32, -1.0]), "[99999992.,       -1.]");
    // Small.
    assert_eq!(body(&[2], &[9.9e-5_f64, 2e-5]), "[9.9e-05, 2.0e-05]");
    assert_eq!(body(&[2], &[1e-4_f64, 0.0]), "[0.0001, 0.0000]");
    // Exactly 1000 times apart; three digits of exponent.
    assert_eq!(body(&[2], &[0.5_f64, 500.0]), "[  0.5, 500.0]");
    assert_eq!(body(&[2], &[1e-300_f64, f64::MAX]), "[1.0000e-300, 1.7977e+308]");
}

#[test]
fn half_floats_show_the_digits_they_have() {
    let f16s = |values: &[f32]| values.iter().map(|&v| f16::from_f32(v)).collect::<Vec<_>>();
    let bf16s = |values: &[f32]| values.iter().map(|&v| bf16::from_f32(v)).collect::<Vec<_>>();
    assert_eq!(text(&[2], &f16s(&[0.1, 3.15])), "tensor([0.10, 3.15], shape=[2], dtype=f16)");
    assert_eq!(body(&[2], &f16s(&[6e-8, 65504.0])), "[5.96e-08, 6.55e+04]");
    assert_eq!(text(&[2], &bf16s(&[0.1, -2.5])), "tensor([ 0.1, -2.5], shape=[2], dtype=bf16)");
    assert_eq!(body(&[2], &bf16s(&[256.0, 1.0])), "[256.,   1.]");
}

#[test]
fn a_long_row_goes_on_under_its_first_element() {
    assert_eq!(
        text(&[30], &(-10..20).collect::<Vec<i32>>()),
        "tensor([-10,  -9,  -8,  -7,  -6,  -5,  -4,  -3,  -2,  -1,   0,   1,   2,   3,
          4,   5,   6,   7,   8,   9,  10,  11,  12,  13,  14,  15,  16,  17,
         18,  19], shape=[30], dtype=i32)"
    );
    let steps: Vec<f32> = (0..30).map(|i| i as f32 / 29.0).collect();
    assert_eq!(
        text(&[2, 15], &steps),
        "tensor([[0.0000, 0.0345, 0.0690, 0.1034, 0.1379, 0.1724, 0.2069, 0.2414,
         0.2759, 0.3103, 0.3448, 0.3793, 0.4138, 0.4483, 0.4828],
        [0.5172, 0.5517, 0.5862, 0.6207, 0.6552, 0.6897, 0.7241, 0.7586,
         0.7931, 0.8276, 0.8621, 0.8966, 0.9310, 0.9655, 1.0000]],
       shape=[2, 15], dtype=f32)"
    );
}

#[test]
fn no_line_is_longer_than_80_columns() {
    let mut longest = 0;
    for rank in 1..=6 {
        for row in 1..120 {
            for digits in 1..19 {
                let mut shape = vec![1; rank];
                shape[rank - 1] = row;
                let text = text(&shape, &vec![10_i64.pow(digits - 1); row]);
                longest = text.lines().map(str::len).fold(longest, usize::max);
            }
        }
    }
    assert_eq!(longest, 80);
}

#[test]
fn above_1000_elements_long_axes_show_their_edges() {
    assert!(!counting(&[1000], DType::I32).contains("..."));
    assert_eq!(
        counting(&[1001], DType::I32),
        "tensor([   0,    1,    2,  ...,  998,  999, 1000], shape=[1001], dtype=i32)"
    );
    assert_eq!(
        counting(&[50, 50], DType::I64),
        "tensor([[   0,    1,    2,  ...,   47,   48,   49],
        [  50,   51,   52,  ...,   97,   98,   99],
        [ 100,  101,  102,  ...,  147,  148,  149],
        ...,
        [2350, 2351, 2352,  ..., 2397, 2398, 2399],
        [2400, 2401, 2402,  ..., 2447, 2448, 2449],
        [2450, 2451, 2452,  ..., 2497, 2498, 2499]], shape=[50, 50], dtype=i64)"
    );
    assert_eq!(
        counting(&[3, 1000], DType::F32),
        "tensor([[   0.,    1.,    2.,  ...,  997.,  998.,  999.],
        [1000., 1001., 1002.,  ..., 1997., 1998., 1999.],
        [2000., 2001., 2002.,  ..., 2997., 2998., 2999.]], shape=[3, 1000],
       dtype=f32)"
    );
    // 200 elements are shown whole; 1200 are not, but rows of 2 are.
    let whole: Vec<String> = (0..100).map(|i| format!("[{:3}, {:3}]", 2 * i, 2 * i + 1)).collect();
    assert_eq!(
        counting(&[100, 2], DType::I32),
        format!("tensor([{}], shape=[100, 2], dtype=i32)", whole.join(",\n        "))
    );
    assert_eq!(
        counting(&[600, 2], DType::I32),
        "tensor([[   0,    1],
        [   2,    3],
        [   4,    5],
        ...,
        [1194, 1195],
        [1196, 1197],
        [1198, 1199]], shape=[600, 2], dtype=i32)"
    );
}

#[test]
fn a_gap_between_matrices_has_blank_lines_around_it() {
    let text = counting(&[10, 1, 200], DType::I32);
    assert!(text.contains(" 599]],\n\n        ...,\n\n        [[1400,"), "{text}");
}

#[test]
fn only_the_shown_elements_are_asked_for_and_only_once() {
    let asked = |shape: &[usize]| {
        let count = Cell::new(0);
        let element = |_| {
            count.set(count.get() + 1);
            Literal::F32(1.5)
        };
        let text = Sample { shape, dtype: DType::F32, element: &element }.to_string();
        (count.get(), text)
    };
    assert_eq!(asked(&[50, 50]).0, 36);
    assert_eq!(asked(&[usize::MAX / 2, 4, usize::MAX / 2]).0, 6 * 4 * 6);
    assert_eq!(asked(&[usize::MAX, 0]).0, 0);
    assert_eq!(asked(&[7; 5]).0, 6_usize.pow(5));
    assert_eq!(asked(&[7; 6]).0, 4_usize.pow(6));
    assert_eq!(asked(&[9; 12]).0, 2_usize.pow(12));
    let (count, text) = asked(&[3; 14]);
    assert_eq!(count, 0);
    assert_eq!(text, format!("tensor([...], shape={:?}, dtype=f32)", [3; 14]));
}

#[test]
fn a_tensor_without_elements_tells_its_shape() {
    assert_eq!(text::<f32>(&[0], &[]), "tensor([], shape=[0], dtype=f32)");
    assert_eq!(text::<i64>(&[2, 0], &[]), "tensor([], shape=[2, 0], dtype=i64)");
    assert_eq!(text::<bool>(&[0, 3], &[]), "tensor([], shape=[0, 3], dtype=bool)");
}

#[test]
fn the_format_options_set_decimals_width_and_completeness() {
    let values = [1.0_f32, 2.0 / 3.0];
    let sample = Sample { shape: &[2], dtype: DType::F32, element: &|at| values[at].literal() };
    assert_eq!(format!("{sample:.2}"), "tensor([1.00, 0.67], shape=[2], dtype=f32)");
    assert_eq!(format!("{sample:.0}"), "tensor([1., 1.], shape=[2], dtype=f32)");
    assert_eq!(format!("{sample:6.1}"), "tensor([   1.0,    0.7], shape=[2], dtype=f32)");
    let tiny = Sample { shape: &[], dtype: DType::F64, element: &|_| Literal::F64(1e-9) };
    assert_eq!(format!("{tiny:8.1}"), " 1.0e-09");
    let ones = Sample { shape: &[2000], dtype: DType::U8, element: &|_| Literal::U8(1) };
    assert_eq!(format!("{ones:#}").matches('1').count(), 2000);
}

#[test]
fn every_dtype_prints_at_every_rank() {
    for dtype in DType::ALL {
        for rank in 0..=12 {
            for length in 0..=3 {
                let extremes = [Literal::lowest(dtype), Literal::highest(dtype), Literal::one(dtype)];
                let shape = vec![length; rank];
                let sample = Sample { shape: &shape, dtype, element: &|at| extremes[at % 3] };
                let text = format!("{sample} {sample:.9}");
                assert_eq!(text.matches('[').count(), text.matches(']').count());
            }
        }
    }
}
