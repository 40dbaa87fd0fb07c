//! The least and the greatest value an expression can take.

use super::{Expr, floor_div};

/// Any value at all.
const ANY: (i64, i64) = (i64::MIN, i64::MAX);

/// The range of an expression over indices below `bounds`; `None` if its sums or products might wrap.
///
/// An axis that `bounds` does not name may have any index; one of size 0 has none, and any answer is true of it.
pub(super) fn range(expr: &Expr, bounds: &[usize]) -> Option<(i64, i64)> {
    let of = |e: &Expr| range(e, bounds);
    Some(match expr {
        Expr::Const(value) => (*value, *value),
        Expr::Idx(axis) => {
            let last = bounds.get(*axis).map_or(usize::MAX, |size| size.saturating_sub(1));
            (0, i64::try_from(last).unwrap_or(i64::MAX))
        }
        Expr::Add(a, b) => {
            let ((low, high), (lower, higher)) = (of(a)?, of(b)?);
            (low.checked_add(lower)?, high.checked_add(higher)?)
        }
        Expr::Sub(a, b) => {
            let ((low, high), (lower, higher)) = (of(a)?, of(b)?);
            (low.checked_sub(higher)?, high.checked_sub(lower)?)
        }
        Expr::Mul(a, b) => {
            let ((low, high), (lower, higher)) = (of(a)?, of(b)?);
            let corners = [
                low.checked_mul(lower)?,
                low.checked_mul(higher)?,
                high.checked_mul(lower)?,
                high.checked_mul(higher)?,
            ];
            (*corners.iter().min()?, *corners.iter().max()?)
        }
        Expr::Div(a, b) => match **b {
            Expr::Const(k) if k > 0 => of(a).map_or(ANY, |(low, high)| (floor_div(low, k), floor_div(high, k))),
            _ => ANY,
        },
        Expr::Rem(a, b) => match (&**b, of(a)) {
            (&Expr::Const(k), Some((low, high))) if k > 0 && low >= 0 && high < k => (low, high),
            (&Expr::Const(k), Some((low, high))) if k > 0 && low >= 0 => (0, high.min(k - 1)),
            (&Expr::Const(k), _) if k > 0 => (0, k - 1),
            (&Expr::Const(k), _) if k < 0 => (k + 1, 0),
            (Expr::Const(_), _) => (0, 0),
            _ => ANY,
        },
        Expr::Lt(..) | Expr::Not(_) | Expr::And(..) => (0, 1),
    })
}
