//! A movement applied to a view: what a look at other elements of the same shape becomes under it.

use super::movement::{Movement, SliceRange, Window};
use crate::dtype::Literal;
use crate::shape::{Expr, View};
use smallvec::SmallVec;

impl Movement {
    /// The view that `view` becomes under this movement to `shape`; what the movement adds reads as `outside`.
    /// `None` where no view can say it.
    pub(crate) fn apply(&self, view: &View, shape: &[usize], outside: Literal) -> Option<View> {
        match self {
            Movement::Permute(axes) => view.permute(axes),
            Movement::Expand => view.expand(shape),
            Movement::Reshape => view.reshape(shape),
            Movement::Slice(ranges) => {
                let triples: SmallVec<[(usize, isize, usize); 6]> =
                    ranges.iter().map(|r| (r.start, r.step, r.len)).collect();
                view.slice(&triples)
            }
            Movement::Spread(ranges) => {
                let (map, condition) = spread_map(ranges, shape);
                view.substitute(shape.into(), &map)?.mask(condition, outside)
            }
            Movement::Pad(padding, _) => view.pad(padding, outside),
            Movement::Mask(condition, _) => view.mask(condition.clone(), outside),
            Movement::Unfold(Window { axis, size, step, dilation, .. }) => view.unfold(*axis, *size, *step, *dilation),
            Movement::Place(window) => {
                let (map, condition) = place_map(window, &view.shape());
                view.substitute(shape.into(), &map)?.mask(condition, outside)
            }
            Movement::Pick(window) => view.substitute(shape.into(), &pick_map(window, view.rank())),
            Movement::Fork | Movement::Leaf | Movement::Detach { .. } | Movement::Custom(_) => Some(view.clone()),
        }
    }

    /// Whether the elements stay where they are.
    pub(crate) fn is_identity(&self) -> bool {
        match self {
            Movement::Fork | Movement::Leaf | Movement::Detach { .. } | Movement::Custom(_) => true,
            Movement::Permute(_)
            | Movement::Expand
            | Movement::Reshape
            | Movement::Slice(_)
            | Movement::Spread(_)
            | Movement::Pad(..)
            | Movement::Mask(..)
            | Movement::Unfold(_)
            | Movement::Place(_)
            | Movement::Pick(_) => false,
        }
    }
}

/// Where the elements at `ranges` of `shape` come from, and where there are any.
pub(super) fn spread_map(ranges: &[SliceRange], shape: &[usize]) -> (Vec<Expr>, Expr) {
    let mut condition = Expr::Const(1);
    let mut map: Vec<Expr> = (0..ranges.len()).map(Expr::idx).collect();
    for (axis, range) in ranges.iter().enumerate() {
        if *range == (SliceRange { start: 0, step: 1, len: shape[axis] }) {
            continue;
        }
        let (start, step) = (range.start as i64, range.step as i64);
        let distance = if step > 0 { Expr::idx(axis) - Expr::from(start) } else { Expr::from(start) - Expr::idx(axis) };
        let step = step.abs();
        let on_grid = distance.clone().rem(step).eq_expr(0);
        let inside = distance.clone().ge(0).and(distance.clone().lt(step * range.len as i64));
        condition = condition.and(on_grid).and(inside);
        map[axis] = distance.div(step);
    }
    (map, condition)
}

/// Where the elements of windows, of the shape `windows`, come from when they are put in their places, and where there are any.
pub(super) fn place_map(window: &Window, windows: &[usize]) -> (Vec<Expr>, Expr) {
    let Window { axis, step, dilation, .. } = *window;
    let last = windows.len() - 1;
    let distance = Expr::idx(axis) - Expr::idx(last) * Expr::from(dilation as i64);
    let step = step as i64;
    let inside = distance.clone().ge(0).and(distance.clone().lt(step * windows[axis] as i64));
    let condition = distance.clone().rem(step).eq_expr(0).and(inside);
    (replaced(windows.len(), axis, distance.div(step)), condition)
}

/// Where the elements of windows are found among the places.
pub(super) fn pick_map(window: &Window, rank: usize) -> Vec<Expr> {
    let Window { axis, step, dilation, .. } = *window;
    let place = Expr::idx(axis) * Expr::from(step as i64) + Expr::idx(rank - 1) * Expr::from(dilation as i64);
    replaced(rank, axis, place)
}

/// Every axis as it is, but for one.
fn replaced(rank: usize, axis: usize, with: Expr) -> Vec<Expr> {
    (0..rank).map(|k| if k == axis { with.clone() } else { Expr::idx(k) }).collect()
}
