//! Facts about index expressions, and random ones simplified and compared everywhere.

use super::Expr;
use crate::shape::ordinal_to_index;
use std::sync::Arc;

fn i(axis: usize) -> Expr {
    Expr::idx(axis)
}

#[test]
fn s3_23_causal_mask_condition() {
    let causal = i(0).le(i(1));
    let rows: Vec<Vec<i64>> = (0..3).map(|row| (0..3).map(|col| causal.eval(&[row, col])).collect()).collect();
    assert_eq!(rows, [[1, 1, 1], [0, 1, 1], [0, 0, 1]]);
}

#[test]
fn s3_24_even_index_condition() {
    let even = i(0).rem(2).eq_expr(0);
    assert_eq!((0..6).map(|n| even.eval(&[n])).collect::<Vec<_>>(), [1, 0, 1, 0, 1, 0]);
    // 0 <= i0 % 2 always holds, so that one comparison is left.
    assert_eq!(even.simplify(&[6]).to_string(), "i0%2 < 1");
}

#[test]
fn s3_25_any_condition_over_the_indices() {
    let band = (i(0) - i(1)).lt(2).and((i(1) - i(0)).lt(2));
    let disk = (i(0) * i(0) + i(1) * i(1)).lt(5);
    for (row, col) in [(0, 0), (0, 1), (2, 0), (1, 3), (2, 1), (2, 2)] {
        let (r, c) = (row as i64, col as i64);
        assert_eq!(band.eval(&[row, col]), i64::from((r - c).abs() < 2));
        assert_eq!(disk.eval(&[row, col]), i64::from(r * r + c * c < 5));
    }
}

#[test]
fn s3_26_27_arithmetic_divides_downwards() {
    let index = [7, 3];
    assert_eq!((i(0) + i(1)).eval(&index), 10);
    assert_eq!((i(1) - i(0)).eval(&index), -4);
    assert_eq!((i(0) * i(1)).eval(&index), 21);
    for (a, b, quotient, rest) in [(7, 2, 3, 1), (-7, 2, -4, 1), (7, -2, -4, -1), (-7, -2, 3, -1), (-8, 2, -4, 0)] {
        let (a, b) = (Arc::new(Expr::Const(a)), Arc::new(Expr::Const(b)));
        assert_eq!(Expr::Div(a.clone(), b.clone()).eval(&[]), quotient);
        assert_eq!(Expr::Rem(a, b).eval(&[]), rest);
    }
    let zero = Arc::new(Expr::Const(0));
    assert_eq!(Expr::Div(Arc::new(i(0)), zero.clone()).eval(&[5]), 0);
    assert_eq!(Expr::Rem(Arc::new(i(0)), zero).eval(&[5]), 0);
    let (least, minus) = (Arc::new(Expr::Const(i64::MIN)), Arc::new(Expr::Const(-1)));
    assert_eq!(Expr::Div(least.clone(), minus.clone()).eval(&[]), i64::MIN);
    assert_eq!(Expr::Rem(least, minus).eval(&[]), 0);
}

#[test]
fn s3_28_29_derived_comparisons_give_0_or_1_and_are_made_of_lt_not_and() {
    let lt = |a: Expr, b: Expr| Expr::Lt(Arc::new(a), Arc::new(b));
    let not = |a: Expr| Expr::Not(Arc::new(a));
    let and = |a: Expr, b: Expr| Expr::And(Arc::new(a), Arc::new(b));
    assert_eq!(i(0).lt(i(1)), lt(i(0), i(1)));
    assert_eq!(i(0).gt(i(1)), lt(i(1), i(0)));
    assert_eq!(i(0).le(i(1)), not(lt(i(1), i(0))));
    assert_eq!(i(0).ge(i(1)), not(lt(i(0), i(1))));
    assert_eq!(i(0).eq_expr(i(1)), and(not(lt(i(1), i(0))), not(lt(i(0), i(1)))));
    assert_eq!(i(0).ne_expr(i(1)), not(i(0).eq_expr(i(1))));
    assert_eq!(i(0).or(i(1)), not(and(not(i(0)), not(i(1)))));
    for a in 0..3_usize {
        for b in 0..3_usize {
            let at = |e: Expr| e.eval(&[a, b]);
            assert_eq!(at(i(0).lt(i(1))), i64::from(a < b));
            assert_eq!(at(i(0).gt(i(1))), i64::from(a > b));
            assert_eq!(at(i(0).le(i(1))), i64::from(a <= b));
            assert_eq!(at(i(0).ge(i(1))), i64::from(a >= b));
            assert_eq!(at(i(0).eq_expr(i(1))), i64::from(a == b));
            assert_eq!(at(i(0).ne_expr(i(1))), i64::from(a != b));
            assert_eq!(at(i(0).and(i(1))), i64::from(a != 0 && b != 0));
            assert_eq!(at(i(0).or(i(1))), i64::from(a != 0 || b != 0));
            assert_eq!(at(i(0).not()), i64::from(a == 0));
            // A condition picks a value by multiplication.
            assert_eq!(at((i(0) + 5) * i(0).lt(i(1))), if a < b { a as i64 + 5 } else { 0 });
        }
    }
}

#[test]
fn text_reads_like_arithmetic() {
    assert_eq!((i(0) * 4 + i(1)).to_string(), "i0*4 + i1");
    assert_eq!(((i(0) + 1) * 4 - (i(1) - 2)).to_string(), "(i0 + 1)*4 - (i1 - 2)");
    assert_eq!((i(0) / 3 % 2).to_string(), "i0/3%2");
    assert_eq!((i(0) / (i(1) * 2)).to_string(), "i0/(i1*2)");
    assert_eq!(i(0).le(i(1)).and(i(0).lt(-3)).to_string(), "!(i1 < i0) && i0 < -3");
    assert_eq!((i(0) * -2).to_string(), "i0*(-2)");
}

#[test]
fn simplifying_knows_how_far_an_index_goes() {
    let text = |e: Expr, bounds: &[usize]| e.simplify(bounds).to_string();
    assert_eq!(text((i(0) * 4 + i(1)) / 4, &[3, 4]), "i0");
    assert_eq!(text((i(0) * 4 + i(1)) % 4, &[3, 4]), "i1");
    assert_eq!(text((i(0) * 4 + i(1)) / 4, &[3, 5]), "i0 + i1/4");
    assert_eq!(text((i(0) * 4 + i(1)) % 4, &[3, 5]), "i1%4");
    assert_eq!(text((i(0) * 4 + i(1)) / 8, &[9, 4]), "i0/2");
    assert_eq!(text(i(0) / 3 / 5, &[100]), "i0/15");
    assert_eq!(text(i(0).lt(5), &[5]), "1");
    assert_eq!(text(i(0).lt(5), &[6]), "i0 < 5");
    assert_eq!(text(i(0).ge(0), &[6]), "1");
    assert_eq!(text(i(0).gt(9), &[6]), "0");
    assert_eq!(text((i(0) + 1).gt(i(0)), &[6]), "1");
    assert_eq!(text((i(0) - 1).ge(0).and((i(0) - 1).lt(4)), &[6]), "0 < i0 && i0 < 5");
    assert_eq!(text((i(0) * 2 + 1).lt(6), &[9]), "i0 < 3");
    assert_eq!(text(i(0).le(i(1)), &[4, 4]), "i0 < i1 + 1");
    assert_eq!(text(i(0).lt(3).and(i(0).gt(2)), &[9]), "0");
    assert_eq!(text(i(0).lt(3).and(i(0).lt(5)).and(i(0).lt(3)), &[9]), "i0 < 3");
    assert_eq!(text(!!i(0).lt(3), &[9]), "i0 < 3");
    assert_eq!(text((i(0) + i(1)) * 2 - i(0) * 2, &[9, 9]), "i1*2");
    assert_eq!(text(i(0) + i(1), &[1, 0]), "0");
    assert_eq!(text(i(0) * Expr::constant(0) + i(1) * 1 + 0, &[9, 9]), "i1");
    assert_eq!(text(Expr::constant(3) - i(0), &[9]), "3 - i0");
}

#[test]
fn affine_expressions_give_their_coefficients() {
    let (offset, coefficients) = ((i(0) + 2) * 3 - i(2) + 1).affine(3).unwrap();
    assert_eq!((offset, coefficients.as_slice()), (7, [3, 0, -1].as_slice()));
    assert!((i(0) * i(1)).affine(2).is_none());
    assert!((i(0) % 2).affine(1).is_none());
    assert!(i(3).affine(2).is_none());
    assert!((i(0) * i64::MAX * 2).affine(1).is_none());
    assert_eq!(Expr::constant(5).affine(0).unwrap().0, 5);
}

#[test]
fn substitution_sizes_and_ranks() {
    let e = i(0) * 4 + i(1);
    assert_eq!(e.substitute(&[i(1), i(0) + 2]), i(1) * 4 + (i(0) + 2));
    assert_eq!((e.size(), e.rank()), (5, 2));
    assert!(e.is_larger_than(4) && !e.is_larger_than(5));
    // A shared node counts each time: this one would take 2^60 steps to count to the end.
    let doubled = (0..60).fold(i(0), |e, _| e.clone() * e);
    assert!(doubled.is_larger_than(128));
}

/// A random expression over three axes, odd constants included.
fn random_expr(depth: usize, next: &mut impl FnMut(usize) -> usize) -> Expr {
    if depth == 0 || next(6) == 0 {
        return match next(8) {
            0..=3 => i(next(3)),
            4 if next(4) == 0 => Expr::Const([i64::MIN, i64::MAX, i64::MIN + 1, 1 << 40][next(4)]),
            _ => Expr::Const(next(13) as i64 - 4),
        };
    }
    let a = Arc::new(random_expr(depth - 1, next));
    let b = Arc::new(random_expr(depth - 1, next));
    let small = Arc::new(Expr::Const(next(12) as i64 - 2));
    match next(14) {
        0..=2 => Expr::Add(a, b),
        3 => Expr::Sub(a, b),
        4..=5 => Expr::Mul(a, small),
        6 => Expr::Mul(a, b),
        7 => Expr::Div(a, small),
        8 => Expr::Rem(a, small),
        9 => {
            if next(2) == 0 {
                Expr::Div(a, b)
            } else {
                Expr::Rem(a, b)
            }
        }
        10..=11 => Expr::Lt(a, b),
        12 => Expr::Not(a),
        _ => Expr::And(a, b),
    }
}

#[test]
fn a_simplified_expression_has_the_same_value_everywhere() {
    let mut random = crate::shape::view::Random(0x1234_5678_9ABC_DEF1);
    for _ in 0..60_000 {
        let bounds: Vec<usize> = (0..3).map(|_| random.below(8)).collect();
        let depth = random.below(6);
        let expr = random_expr(depth, &mut |limit| random.below(limit));
        let simple = expr.clone().simplify(&bounds);
        assert!(simple.divisions() <= expr.divisions(), "{expr} became {simple}");
        for ordinal in 0..bounds.iter().product() {
            let index = ordinal_to_index(ordinal, &bounds);
            assert_eq!(simple.eval(&index), expr.eval(&index), "{expr} became {simple} for {bounds:?}, at {index:?}");
        }
        if let Some((offset, coefficients)) = simple.affine(3) {
            let again = Expr::from_affine(offset, &coefficients);
            let index = bounds.iter().map(|size| size / 2).collect::<Vec<_>>();
            assert_eq!(again.eval(&index), simple.eval(&index));
        }
    }
}

#[test]
fn quotients_and_remainders_of_sums_fall_apart_rightly() {
    let mut random = crate::shape::view::Random(99);
    for _ in 0..20_000 {
        let bounds: Vec<usize> = (0..3).map(|_| 1 + random.below(6)).collect();
        let mut factor = || random.below(13) as i64 - 4;
        let sum = i(0) * factor() + i(1) * factor() + i(2) * factor() + factor();
        let (k, j) = (1 + random.below(12), 1 + random.below(5));
        for expr in [sum.clone() / k, sum.clone() % k, sum.clone() / k / j, sum.clone() / j % k, sum.clone() % k / j] {
            let simple = expr.clone().simplify(&bounds);
            for ordinal in 0..bounds.iter().product() {
                let index = ordinal_to_index(ordinal, &bounds);
                assert_eq!(simple.eval(&index), expr.eval(&index), "{expr} became {simple} for {bounds:?}");
            }
        }
    }
}
