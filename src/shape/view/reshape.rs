//! Another shape over the same elements, where a view can say it without new divisions.

use super::View;
use super::map::Map;
use super::substitute::{computed, guarded};
use crate::shape::{Expr, Shape, reshape_strides};
use std::ops::Range;

/// Neighbouring old axes and neighbouring new axes that hold the same elements.
struct Group {
    old: Range<usize>,
    new: Range<usize>,
}

impl View {
    /// The same elements in the same order under another shape of as many elements.
    pub(crate) fn reshape(&self, shape: &[usize]) -> Option<View> {
        let old = self.shape();
        if old.as_slice() == shape {
            return Some(self.clone());
        }
        if old.contains(&0) || shape.contains(&0) {
            return (old.contains(&0) && shape.contains(&0)).then(|| View::contiguous(shape));
        }
        if let View::Linear { strides, offset, .. } = self {
            let strides = reshape_strides(&old, strides, shape)?;
            return Some(View::Linear { shape: shape.into(), strides, offset: *offset });
        }
        let groups = groups(&old, shape)?;
        let map = index_map(&old, shape, &groups)?;
        if let Some(map) = Map::from_exprs(shape, &map) {
            return self.apply(&map);
        }
        match self {
            View::Linear { .. } => None,
            View::IndexExpr { index_expr, .. } => {
                computed(shape, no_new_division(index_expr, &map, shape)?)?.within_limits()
            }
            View::Masked { inner, condition, default } => {
                let condition = no_new_division(condition, &map, shape)?;
                guarded(shape, condition, *default, || inner.reshape(shape))?.within_limits()
            }
            View::Padded { inner, padding, default } => {
                // Groups without a border are reshaped inside it; those with one must then be splits.
                let sizes = inner.shape();
                let (mut inside, mut border) = (Shape::new(), Vec::new());
                for Group { old, new } in groups {
                    if padding[old.clone()].iter().all(|ends| *ends == (0, 0)) {
                        inside.extend_from_slice(&shape[new.clone()]);
                        border.extend(new.map(|_| (0, 0)));
                    } else {
                        inside.extend_from_slice(&sizes[old.clone()]);
                        border.extend_from_slice(&padding[old]);
                    }
                }
                if inside == sizes {
                    return None;
                }
                inner.reshape(&inside)?.pad(&border, *default)?.reshape(shape)
            }
        }
    }
}

/// Pairs the axes of both shapes up, in the smallest groups with equal products.
fn groups(old: &[usize], new: &[usize]) -> Option<Vec<Group>> {
    let mut groups = Vec::new();
    let (mut i, mut j) = (0, 0);
    while i < old.len() || j < new.len() {
        let (first_old, first_new) = (i, j);
        let (mut left, mut right) = (1_u128, 1_u128);
        if i < old.len() {
            left = old[i] as u128;
            i += 1;
        }
        if j < new.len() {
            right = new[j] as u128;
            j += 1;
        }
        while left != right {
            if left < right {
                left = left.checked_mul(*old.get(i)? as u128)?;
                i += 1;
            } else {
                right = right.checked_mul(*new.get(j)? as u128)?;
                j += 1;
            }
        }
        groups.push(Group { old: first_old..i, new: first_new..j });
    }
    Some(groups)
}

/// Each old index as an expression of the new ones.
fn index_map(old: &[usize], new: &[usize], groups: &[Group]) -> Option<Vec<Expr>> {
    let mut map = vec![Expr::Const(0); old.len()];
    for group in groups {
        let mut ordinal = Expr::Const(0);
        let mut stride = 1_i64;
        for axis in group.new.clone().rev() {
            ordinal = Expr::idx(axis) * stride + ordinal;
            stride = stride.checked_mul(i64::try_from(new[axis]).ok()?)?;
        }
        let mut stride = 1_i64;
        for axis in group.old.clone().rev() {
            map[axis] = ordinal.clone().div(stride).rem(old[axis]).simplify(new);
            stride = stride.checked_mul(i64::try_from(old[axis]).ok()?)?;
        }
    }
    Some(map)
}

/// The expression over the new indices, unless it now divides more than before.
fn no_new_division(expr: &Expr, map: &[Expr], shape: &[usize]) -> Option<Expr> {
    let moved = expr.substitute(map).simplify(shape);
    (moved.divisions() <= expr.divisions()).then_some(moved)
}
