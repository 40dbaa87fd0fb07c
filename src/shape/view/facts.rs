//! Facts about views: which form a movement leaves, and what is read.

use super::{Position, Read, View};
use crate::dtype::{DType, Literal};
use crate::shape::{Expr, Layout, ordinal_to_index};

const ZERO: Literal = Literal::F32(0.0);
const ONE: Literal = Literal::F32(1.0);

/// Positions in row-major order; -1 for a default.
fn positions(view: &View) -> Vec<i64> {
    let shape = view.shape();
    let indices = (0..shape.iter().product()).map(|ordinal| ordinal_to_index(ordinal, &shape));
    let read = indices.map(|index| if let Read::At(position) = view.read(&index) { position as i64 } else { -1 });
    read.collect()
}

#[test]
fn s3_17_linear_reads_offset_plus_strides() {
    let view = View::Linear { shape: [2, 2].as_slice().into(), strides: [4, 2].as_slice().into(), offset: 1 };
    assert_eq!(positions(&view), [1, 3, 5, 7]);
    assert!(view.is_linear() && !view.is_contiguous());
    assert!(View::contiguous(&[2, 3]).is_contiguous());
    assert_eq!(View::from(&view.layout().unwrap()), view);
    assert_eq!(View::from(&Layout::contiguous(&[2, 3])), View::contiguous(&[2, 3]));
}

#[test]
fn s3_18_index_expr_reads_at_the_value_of_its_expression() {
    let rolled = View::contiguous(&[5]).substitute([5].as_slice().into(), &[(Expr::idx(0) + 2) % 5]).unwrap();
    assert!(matches!(rolled, View::IndexExpr { .. }));
    assert_eq!(positions(&rolled), [2, 3, 4, 0, 1]);
    // Slicing it to where it does not come round leaves strides.
    let part = rolled.slice(&[(0, 1, 3)]).unwrap();
    assert_eq!(part, View::Linear { shape: [3].as_slice().into(), strides: [1].as_slice().into(), offset: 2 });
}

#[test]
fn s3_19_padded_reads_its_default_outside() {
    let padded = View::contiguous(&[2, 2]).pad(&[(1, 0), (0, 1)], ZERO).unwrap();
    assert_eq!(padded.shape().as_slice(), [3, 3]);
    assert_eq!(positions(&padded), [-1, -1, -1, 0, 1, -1, 2, 3, -1]);
    assert_eq!(padded.read(&[0, 0]), Read::Default(ZERO));
}

#[test]
fn s3_20_masked_reads_its_default_where_the_condition_is_0() {
    let causal = View::contiguous(&[3, 3]).mask(Expr::idx(0).le(Expr::idx(1)), ZERO).unwrap();
    assert!(matches!(causal, View::Masked { .. }));
    assert_eq!(positions(&causal), [0, 1, 2, -1, 4, 5, -1, -1, 8]);
    let even = View::contiguous(&[4]).mask(Expr::idx(0).rem(2).eq_expr(0), ONE).unwrap();
    assert_eq!(positions(&even), [0, -1, 2, -1]);
    assert_eq!(even.read(&[1]), Read::Default(ONE));
}

#[test]
fn s3_21_22_pad_values_are_the_identities_of_sum_prod_and_max() {
    let values = [Literal::zero(DType::F32), Literal::one(DType::F32), Literal::lowest(DType::F32)];
    assert_eq!(values.map(Literal::to_f64), [0.0, 1.0, f64::NEG_INFINITY]);
    for value in values {
        let padded = View::contiguous(&[2]).pad(&[(1, 1)], value).unwrap();
        assert_eq!(
            [0, 1, 2, 3].map(|i| padded.read(&[i])),
            [Read::Default(value), Read::At(0), Read::At(1), Read::Default(value)]
        );
    }
}

#[test]
fn s2_8_9_10_transposes_and_parts_of_a_view_share_its_buffer() {
    let base = View::contiguous(&[2, 3]);
    let transposed = base.permute(&[1, 0]).unwrap();
    assert_eq!(positions(&transposed), [0, 3, 1, 4, 2, 5]);
    assert_eq!(
        transposed,
        View::Linear { shape: [3, 2].as_slice().into(), strides: [1, 3].as_slice().into(), offset: 0 }
    );
    let part = transposed.slice(&[(2, -1, 2), (1, 1, 1)]).unwrap();
    assert_eq!(positions(&part), [5, 4]);
}

#[test]
fn s2_12_13_slices_and_reshapes_of_a_view() {
    let base = View::contiguous(&[2, 4]);
    assert_eq!(positions(&base.slice(&[(0, 1, 2), (0, 2, 2)]).unwrap()), [0, 2, 4, 6]);
    assert_eq!(base.reshape(&[4, 2]).unwrap(), View::contiguous(&[4, 2]));
    assert!(base.permute(&[1, 0]).unwrap().reshape(&[8]).is_none());
}

#[test]
fn a_padded_view_stays_padded_under_plain_movements() {
    let padded = View::contiguous(&[2, 3]).pad(&[(1, 1), (2, 0)], ZERO).unwrap();
    let forms = [
        padded.permute(&[1, 0]),
        padded.slice(&[(0, 1, 3), (1, 1, 4)]),
        padded.slice(&[(3, -1, 4), (4, -1, 5)]),
        padded.expand(&[3, 4, 5]),
        padded.reshape(&[4, 1, 5]),
        padded.pad(&[(1, 0), (0, 1)], ZERO),
    ];
    for form in forms {
        let Some(View::Padded { inner, .. }) = form else { panic!("{form:?}") };
        assert!(inner.is_linear());
    }
    // Inside there is no border, and in the border nothing else.
    assert_eq!(padded.slice(&[(1, 1, 2), (2, 1, 3)]).unwrap(), View::contiguous(&[2, 3]));
    assert_eq!(padded.slice(&[(0, 1, 1), (0, 1, 5)]).unwrap().as_constant(), Some(ZERO));
    // Another default nests.
    assert!(matches!(padded.pad(&[(1, 0), (0, 1)], ONE), Some(View::Padded { inner, .. }) if !inner.is_linear()));
}

#[test]
fn windows_over_a_border_are_one_masked_view() {
    // A 3-wide convolution with padding 1 over 5: the window at 0 starts in the border.
    let windows = View::contiguous(&[5]).pad(&[(1, 1)], ZERO).unwrap().unfold(0, 3, 2, 1).unwrap();
    assert_eq!(windows.shape().as_slice(), [3, 3]);
    assert_eq!(positions(&windows), [-1, 0, 1, 1, 2, 3, 3, 4, -1]);
    let (position, guards) = windows.access();
    assert_eq!(position, Position::Strided { offset: -1, strides: [2, 1].as_slice().into() });
    assert_eq!(guards.len(), 1);
    assert_eq!(guards[0].0.to_string(), "0 < i0*2 + i1 && i0*2 + i1 < 6");
}

#[test]
fn two_dimensional_windows_over_a_border_stay_one_view() {
    let image = View::contiguous(&[2, 3, 8, 8]).pad(&[(0, 0), (0, 0), (1, 1), (1, 1)], ZERO).unwrap();
    let windows = image.unfold(2, 3, 1, 1).unwrap().unfold(3, 3, 1, 1).unwrap().permute(&[0, 2, 3, 1, 4, 5]).unwrap();
    assert_eq!(windows.shape().as_slice(), [2, 8, 8, 3, 3, 3]);
    let (position, guards) = windows.access();
    assert_eq!(position, Position::Strided { offset: -9, strides: [192, 8, 1, 64, 8, 1].as_slice().into() });
    assert_eq!(guards.len(), 1);
}

#[test]
fn masks_with_one_default_merge_and_needless_ones_vanish() {
    let base = View::contiguous(&[4, 4]);
    let both = base.mask(Expr::idx(0).lt(3), ZERO).unwrap().mask(Expr::idx(1).lt(2), ZERO).unwrap();
    assert_eq!(both.access().1.len(), 1);
    assert_eq!(base.mask(Expr::idx(0).lt(4), ZERO).unwrap(), base);
    assert_eq!(base.mask(Expr::idx(0).gt(4), ZERO).unwrap().as_constant(), Some(ZERO));
    let nested = base.mask(Expr::idx(0).lt(3), ZERO).unwrap().mask(Expr::idx(1).lt(2), ONE).unwrap();
    assert_eq!(nested.access().1.len(), 2);
    assert_eq!(nested.read(&[3, 3]), Read::Default(ONE));
    assert_eq!(nested.read(&[3, 0]), Read::Default(ZERO));
    // The rows that a mask keeps whole are plain again.
    assert!(both.slice(&[(0, 1, 3), (0, 1, 2)]).unwrap().is_linear());
}

#[test]
fn axes_without_a_border_merge_under_one() {
    let padded = View::contiguous(&[2, 3, 4]).pad(&[(0, 0), (0, 0), (1, 1)], ZERO).unwrap();
    let merged = padded.reshape(&[6, 6]).unwrap();
    assert!(matches!(&merged, View::Padded { inner, .. } if inner.is_contiguous()));
    assert_eq!(positions(&merged), positions(&padded));
    assert!(padded.reshape(&[36]).is_none());
    let masked = View::contiguous(&[2, 3, 4]).mask(Expr::idx(2).lt(2), ZERO).unwrap();
    assert_eq!(positions(&masked.reshape(&[6, 4]).unwrap()), positions(&masked));
}

#[test]
fn s4_37_views_without_elements_survive_every_movement() {
    let empty = View::contiguous(&[0, 3]);
    assert!(empty.permute(&[1, 0]).unwrap().is_contiguous());
    assert_eq!(empty.expand(&[2, 0, 3]).unwrap().shape().as_slice(), [2, 0, 3]);
    assert_eq!(empty.slice(&[(0, 1, 0), (2, -1, 3)]).unwrap().shape().as_slice(), [0, 3]);
    assert_eq!(empty.reshape(&[5, 0]).unwrap().shape().as_slice(), [5, 0]);
    assert!(empty.reshape(&[5]).is_none() && View::contiguous(&[5]).reshape(&[0]).is_none());
    assert_eq!(empty.unfold(0, 2, 1, 1).unwrap().shape().as_slice(), [0, 3, 2]);
    assert_eq!(empty.mask(Expr::idx(0) % 0, ZERO).unwrap(), empty);
    let padded = empty.pad(&[(1, 1), (0, 0)], ONE).unwrap();
    assert_eq!(padded.as_constant(), Some(ONE));
    assert_eq!(View::contiguous(&[]).mask(Expr::constant(0), ONE).unwrap().read(&[]), Read::Default(ONE));
    assert_eq!(View::contiguous(&[1]).expand(&[0]).unwrap().shape().as_slice(), [0]);
}

#[test]
fn absurd_numbers_give_none_and_never_a_panic() {
    let huge = View::contiguous(&[1]).expand(&[1 << 40, 1 << 40, 1 << 40]).unwrap();
    assert_eq!(huge.permute(&[2, 0, 1]).unwrap().read(&[1, 2, 3]), Read::At(0));
    assert!(huge.reshape(&[1 << 60, 1 << 60]).is_none());
    assert!(huge.pad(&[(usize::MAX, 0), (0, 0), (0, 0)], ZERO).is_none());
    let padded = huge.pad(&[(1 << 61, 1 << 61), (1, 1), (0, 0)], ZERO).unwrap();
    assert_eq!(padded.read(&[0, 0, 0]), Read::Default(ZERO));
    let _ = padded.access();
    let _ = padded.unfold(0, 1 << 61, 3, 2);
    let _ = padded.slice(&[(1 << 61, isize::MIN, 2), (0, 1, 1), (0, isize::MAX, 1 << 40)]);
    let _ = padded.permute(&[1, 2, 0]).unwrap().access();
    assert_eq!(View::contiguous(&[8]).unfold(0, usize::MAX, 1, usize::MAX).unwrap().shape()[..], [0, usize::MAX]);
    assert!(View::contiguous(&[8]).unfold(0, 2, 0, 1).is_none());
    assert_eq!(View::contiguous(&[2; 12]).permute(&[11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0]).unwrap().rank(), 12);
}

#[test]
fn random_absurd_movements_do_not_panic() {
    let mut random = super::Random(5);
    let mut size = move || {
        let wide = random.below(1 << 20).wrapping_mul(random.below(1 << 20)) << random.below(23);
        [random.below(4), random.below(100), wide & (usize::MAX >> 1)][random.below(3)]
    };
    let mut moved = 0;
    for _ in 0..20_000 {
        let mut view = View::contiguous(&[1, 1]).expand(&[size(), size(), size()]).unwrap();
        for _ in 0..6 {
            let shape = view.shape();
            let next = match size() % 6 {
                0 => view.permute(&[2, 0, 1]),
                1 => view.pad(&[(size(), size()), (0, 0), (size(), size())], [ZERO, ONE][size() % 2]),
                2 => view.unfold(size() % 3, size(), size(), size()).and_then(|view| view.reshape(&view.shape())),
                3 => view.mask((Expr::idx(0) * size() + Expr::idx(1)).lt(Expr::idx(2) * size()), ZERO),
                4 => view.reshape(&[shape[0], 1, shape[1], shape[2]]).and_then(|view| view.permute(&[3, 2, 1, 0])),
                _ => {
                    let half = |n: usize| (n - n / 2, [1, -1][n % 2], n / 2);
                    view.slice(&[half(shape[0]), half(shape[1]), half(shape[2])])
                }
            };
            match next {
                Some(next) if next.rank() == 3 => view = next,
                _ => break,
            }
            moved += 1;
            let shape = view.shape();
            if !shape.contains(&0) {
                let last: Vec<usize> = shape.iter().map(|size| size - 1).collect();
                let _ = (view.read(&last), view.read(&[0, 0, 0]), view.access());
            }
        }
    }
    assert!(moved > 20_000, "{moved}");
}

#[test]
fn a_view_that_would_grow_too_large_is_refused() {
    let mut view = View::contiguous(&[9, 9]);
    let mut kept = 0;
    while let Some(next) = view.mask((Expr::idx(0) * (kept + 3) % 7).lt(5), Literal::F32((kept % 2) as f32)) {
        view = next;
        kept += 1;
        assert!(kept < 50);
    }
    assert_eq!(view.access().1.len(), 4);
    let long = (0..200).fold(Expr::idx(0), |sum, n| (sum + Expr::idx(1) * n) % (n + 7));
    assert!(View::contiguous(&[9, 9]).mask(long.clone(), ZERO).is_none());
    assert!(View::contiguous(&[9]).mask(Expr::idx(1), ZERO).is_none());
    assert!(View::contiguous(&[9]).substitute([9, 9].as_slice().into(), &[long % 9]).is_none());
}
