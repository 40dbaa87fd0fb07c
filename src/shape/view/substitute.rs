//! The one movement behind the others: old indices as expressions of new ones.

use super::map::{Affine, Map};
use super::{MOST_NODES, View};
use crate::dtype::Literal;
use crate::shape::{Expr, Shape, Strides};
use smallvec::SmallVec;

/// What a border becomes under a map.
enum Border {
    /// It is a border again: the start and the end of the inside, per new axis.
    Stays(SmallVec<[(usize, usize); 6]>),
    /// Nothing of the inside is left.
    All,
    /// Windows and steps cut it up: only a condition can say where it is.
    Condition,
}

impl View {
    /// The view of `shape` that reads, at each index, what this one reads at `map[0](index), map[1](index), …`.
    ///
    /// The map must stay within this view's shape.
    pub(crate) fn substitute(&self, shape: Shape, map: &[Expr]) -> Option<View> {
        if shape.contains(&0) {
            return Some(View::contiguous(&shape));
        }
        if map.iter().any(|expr| expr.is_larger_than(MOST_NODES) || expr.rank() > shape.len()) {
            return None;
        }
        let map: Vec<Expr> = map.iter().map(|expr| expr.clone().simplify(&shape)).collect();
        match Map::from_exprs(&shape, &map) {
            Some(map) => self.apply(&map),
            None => self.substituted(&shape, &map)?.within_limits(),
        }
    }

    /// [`View::substitute`] for an affine map.
    pub(super) fn apply(&self, map: &Map) -> Option<View> {
        if map.shape.contains(&0) {
            return Some(View::contiguous(&map.shape));
        }
        self.mapped(map)?.within_limits()
    }

    fn mapped(&self, map: &Map) -> Option<View> {
        match self {
            View::Linear { strides, offset, .. } => compose(strides, *offset, map),
            View::IndexExpr { index_expr, .. } => computed(&map.shape, index_expr.substitute(&map.exprs())),
            View::Masked { inner, condition, default } => {
                let condition = condition.substitute(&map.exprs()).simplify(&map.shape);
                guarded(&map.shape, condition, *default, || inner.mapped(map))
            }
            View::Padded { inner, padding, default } => {
                let sizes = inner.shape();
                match border(&sizes, padding, map)? {
                    Border::All => Some(View::constant(&map.shape, *default)),
                    Border::Stays(inside) => {
                        let ends = inside.iter().zip(&map.shape);
                        let border: Vec<_> = ends.map(|((start, end), size)| (*start, size - end)).collect();
                        inner.mapped(&within(map, padding, &inside)?)?.pad(&border, *default)
                    }
                    Border::Condition => self.substituted(&map.shape, &map.exprs()),
                }
            }
        }
    }

    fn substituted(&self, shape: &[usize], map: &[Expr]) -> Option<View> {
        match self {
            View::Linear { strides, offset, .. } => {
                let start = Expr::Const(i64::try_from(*offset).ok()?);
                let position = map.iter().zip(strides).fold(start, |sum, (e, s)| sum + e.clone() * *s as i64);
                computed(shape, position)
            }
            View::IndexExpr { index_expr, .. } => computed(shape, index_expr.substitute(map)),
            View::Masked { inner, condition, default } => {
                let condition = condition.substitute(map).simplify(shape);
                guarded(shape, condition, *default, || inner.substituted(shape, map))
            }
            View::Padded { inner, padding, default } => {
                let condition = inside(&inner.shape(), padding, map).simplify(shape);
                let moved = map.iter().zip(padding).map(|(e, (before, _))| (e.clone() - *before).simplify(shape));
                let moved: Vec<Expr> = moved.collect();
                guarded(shape, condition, *default, || match Map::from_exprs(shape, &moved) {
                    Some(map) => inner.mapped(&map),
                    None => inner.substituted(shape, &moved),
                })
            }
        }
    }
}

/// The condition that `map` leads to the inside of a border.
pub(super) fn inside(sizes: &[usize], padding: &[(usize, usize)], map: &[Expr]) -> Expr {
    let axes = map.iter().zip(padding).zip(sizes).filter(|((_, border), _)| **border != (0, 0));
    let conditions = axes.map(|((index, (before, _)), size)| {
        index.clone().ge(*before).and(index.clone().lt(before.saturating_add(*size)))
    });
    conditions.reduce(|a, b| a.and(b)).unwrap_or(Expr::Const(1))
}

/// A linear view under an affine map is linear.
fn compose(strides: &[isize], offset: isize, map: &Map) -> Option<View> {
    let mut found = Affine { offset: i64::try_from(offset).ok()?, ..Affine::zero(map.shape.len()) };
    for (axis, &stride) in map.axes.iter().zip(strides) {
        let stride = i64::try_from(stride).ok()?;
        found.offset = found.offset.checked_add(stride.checked_mul(axis.offset)?)?;
        for (sum, coefficient) in found.coefficients.iter_mut().zip(&axis.coefficients) {
            *sum = sum.checked_add(stride.checked_mul(*coefficient)?)?;
        }
    }
    linear(&map.shape, found.offset, &found.coefficients)
}

fn linear(shape: &[usize], offset: i64, coefficients: &[i64]) -> Option<View> {
    let strides = coefficients.iter().map(|&stride| isize::try_from(stride).ok()).collect::<Option<Strides>>()?;
    Some(View::Linear { shape: shape.into(), strides, offset: isize::try_from(offset).ok()? })
}

/// The view whose positions are the values of an expression: linear if the expression is.
pub(super) fn computed(shape: &[usize], position: Expr) -> Option<View> {
    let position = position.simplify(shape);
    if let Some((offset, coefficients)) = position.affine(shape.len()) {
        return linear(shape, offset, &coefficients);
    }
    Some(View::IndexExpr { shape: shape.into(), index_expr: position })
}

/// A view under a simplified condition: none if it always holds, no view if it never does, one if there already is one.
pub(super) fn guarded(
    shape: &[usize],
    condition: Expr,
    default: Literal,
    inner: impl FnOnce() -> Option<View>,
) -> Option<View> {
    match condition {
        Expr::Const(0) => Some(View::constant(shape, default)),
        Expr::Const(_) => inner(),
        condition => Some(match inner()? {
            View::Masked { inner, condition: under, default: same } if same == default => {
                match condition.and(under).simplify(shape) {
                    Expr::Const(0) => View::constant(shape, default),
                    Expr::Const(_) => *inner,
                    condition => View::Masked { inner, condition, default },
                }
            }
            inner => View::Masked { inner: Box::new(inner), condition, default },
        }),
    }
}

/// What becomes of the border around `sizes`; `None` if the numbers are too large.
fn border(sizes: &[usize], padding: &[(usize, usize)], map: &Map) -> Option<Border> {
    let mut inside: SmallVec<[(i64, i64); 6]> = SmallVec::new();
    for &size in &map.shape {
        inside.push((0, i64::try_from(size).ok()?));
    }
    let mut stays = true;
    for ((axis, &border), &size) in map.axes.iter().zip(padding).zip(sizes) {
        let first = i64::try_from(border.0).ok()?;
        let end = first.checked_add(i64::try_from(size).ok()?)?;
        let (low, high) = axis.range(&map.shape)?;
        if border == (0, 0) || (low >= first && high < end) {
            continue;
        }
        if high < first || low >= end {
            return Some(Border::All);
        }
        // Only an axis that follows one new axis step by step, forwards or backwards, keeps a border.
        let mut moving = (0..map.shape.len()).filter(|&j| map.shape[j] > 1 && axis.coefficients[j] != 0);
        let (start, stop, j) = match (moving.next(), moving.next()) {
            (Some(j), None) if axis.coefficients[j] == 1 => {
                (first.checked_sub(axis.offset)?, end.checked_sub(axis.offset)?, j)
            }
            (Some(j), None) if axis.coefficients[j] == -1 => {
                (axis.offset.checked_sub(end)?.checked_add(1)?, axis.offset.checked_sub(first)?.checked_add(1)?, j)
            }
            _ => {
                stays = false;
                continue;
            }
        };
        inside[j] = (inside[j].0.max(start), inside[j].1.min(stop));
        if inside[j].0 >= inside[j].1 {
            return Some(Border::All);
        }
    }
    if !stays {
        return Some(Border::Condition);
    }
    let inside =
        inside.into_iter().map(|(start, end)| Some((usize::try_from(start).ok()?, usize::try_from(end).ok()?)));
    Some(Border::Stays(inside.collect::<Option<_>>()?))
}

/// A map cut down to the inside of a border.
fn within(map: &Map, padding: &[(usize, usize)], inside: &[(usize, usize)]) -> Option<Map> {
    let mut axes = map.axes.clone();
    for (axis, (before, _)) in axes.iter_mut().zip(padding) {
        axis.offset = axis.offset.checked_sub(i64::try_from(*before).ok()?)?;
        for (coefficient, (start, _)) in axis.coefficients.iter().zip(inside) {
            axis.offset = axis.offset.checked_add(coefficient.checked_mul(i64::try_from(*start).ok()?)?)?;
        }
    }
    let shape = inside.iter().map(|(start, end)| end - start).collect();
    Some(Map { shape, axes })
}
