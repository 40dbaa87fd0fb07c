//! Images (and signals, and volumes) of another size, axis by axis.

use super::indexing::index_select;
use super::{movement, reduction};
use crate::dtype::DType;
use crate::error::{Error, ErrorKind, Result};
use crate::graph::Node;
use crate::memory::Buffer;
use crate::ops::record::Dtypes;
use crate::shape::{Shape, element_count};

/// How a value between elements is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interpolation {
    /// The element at or before the place: blocky, and cheap.
    Nearest,
    /// The nearest element, centre to centre (PyTorch's `nearest-exact`).
    NearestExact,
    /// A straight line between neighbours: linear, bilinear, trilinear.
    Linear,
    /// A cubic through four neighbours: sharper, and may overshoot.
    Cubic,
}

/// The last axes brought to `size`. With `align_corners` the first and last elements stay at the ends; otherwise elements
/// are areas, and the ends of the areas are kept. `scale` is the user's factor for each axis, if that was given.
#[track_caller]
pub(crate) fn interpolate(
    op: &str,
    x: &Node,
    size: &[usize],
    scale: Option<&[f64]>,
    mode: Interpolation,
    align_corners: bool,
) -> Result<Node> {
    Dtypes::Float.check(op, x)?;
    let fail = |kind: ErrorKind, message: String| Err(Error::new(kind, op, message).made_at("tensor", x.at()));
    if x.rank() < size.len() {
        return fail(ErrorKind::Shape, format!("shape {:?} has fewer than {} axes", x.shape(), size.len()));
    }
    let lead = x.rank() - size.len();
    if x.shape()[lead..].contains(&0) || size.contains(&0) {
        return fail(ErrorKind::Shape, format!("sizes {:?} and {size:?} must all be at least 1", &x.shape()[lead..]));
    }
    let mut shape = Shape::from_slice(x.shape());
    shape[lead..].copy_from_slice(size);
    element_count(op, &shape, x.dtype())?;
    let mut result = reduction::wide(x)?;
    for (k, &to) in size.iter().enumerate() {
        let from = x.shape()[lead + k];
        let step = match scale {
            Some(scale) => 1.0 / scale[k],
            None => from as f64 / to as f64,
        };
        let places = Places { from, to, step, align_corners };
        result = along(&result, lead + k, &places, mode)?;
    }
    result.cast(x.dtype())
}

/// Where the new elements of an axis lie among the old ones.
struct Places {
    from: usize,
    to: usize,
    /// The distance of new elements, in old ones.
    step: f64,
    align_corners: bool,
}

impl Places {
    /// The place of new element `i`, elements being points.
    fn at(&self, i: usize) -> f64 {
        if !self.align_corners {
            return (i as f64 + 0.5) * self.step - 0.5;
        }
        if self.to > 1 { i as f64 * (self.from - 1) as f64 / (self.to - 1) as f64 } else { 0.0 }
    }

    /// An element that exists.
    fn inside(&self, place: f64) -> i64 {
        place.clamp(0.0, (self.from - 1) as f64) as i64
    }
}

#[track_caller]
fn along(x: &Node, axis: usize, places: &Places, mode: Interpolation) -> Result<Node> {
    let Places { from, to, step, .. } = *places;
    let all = || 0..to;
    let taken = |at: Vec<i64>| -> Result<Node> {
        let index = Node::from_buffer(Buffer::from_vec("interpolate", at)?, [to].as_slice().into());
        index_select(x, axis as isize, &index)
    };
    match mode {
        Interpolation::Nearest if to.is_multiple_of(from) && step == from as f64 / to as f64 => {
            super::tile::repeat_interleave(x, to / from, axis as isize)
        }
        Interpolation::Nearest => taken(all().map(|i| places.inside((i as f64 * step).floor())).collect()),
        Interpolation::NearestExact => taken(all().map(|i| places.inside(((i as f64 + 0.5) * step).floor())).collect()),
        Interpolation::Linear if from == to => Ok(x.clone()),
        Interpolation::Linear => {
            let at = |i: usize| places.at(i).max(0.0);
            let low = taken(all().map(|i| places.inside(at(i).floor())).collect())?;
            let high = taken(all().map(|i| places.inside(at(i).floor() + 1.0)).collect())?;
            let share = column(all().map(|i| at(i) - at(i).floor()).collect(), x, axis)?;
            Ok(&(&low * &(1.0 - &share)) + &(&high * &share))
        }
        Interpolation::Cubic => {
            let mut sum: Option<Node> = None;
            for tap in -1..=2 {
                let near = taken(all().map(|i| places.inside(places.at(i).floor() + f64::from(tap))).collect())?;
                let share = |i: usize| cubic(places.at(i) - places.at(i).floor() - f64::from(tap));
                let part = &near * &column(all().map(share).collect(), x, axis)?;
                sum = Some(match sum {
                    Some(sum) => &sum + &part,
                    None => part,
                });
            }
            Ok(sum.expect("four taps"))
        }
    }
}

/// Keys's cubic with `a = -0.75`, at a distance.
fn cubic(distance: f64) -> f64 {
    const A: f64 = -0.75;
    let t = distance.abs();
    if t <= 1.0 {
        ((A + 2.0) * t - (A + 3.0)) * t * t + 1.0
    } else if t < 2.0 {
        ((A * t - 5.0 * A) * t + 8.0 * A) * t - 4.0 * A
    } else {
        0.0
    }
}

/// Numbers along one axis, beside `x`.
fn column(values: Vec<f64>, x: &Node, axis: usize) -> Result<Node> {
    let mut shape = Shape::from_elem(1, x.rank());
    shape[axis] = values.len();
    let node = Node::from_buffer(Buffer::from_vec("interpolate", values)?, shape);
    debug_assert_eq!(node.dtype(), DType::F64);
    node.cast(x.dtype())
}

/// `[.., C · r², H, W]` to `[.., C, H · r, W · r]`: channels become places.
#[track_caller]
pub(crate) fn pixel_shuffle(x: &Node, factor: usize) -> Result<Node> {
    let op = "pixel_shuffle";
    let rank = x.rank();
    if rank < 3 || factor == 0 || !x.shape()[rank - 3].is_multiple_of(factor * factor) {
        let message = format!("shape {:?} does not end in [channels · {factor}², rows, columns]", x.shape());
        return Err(Error::new(ErrorKind::Shape, op, message).made_at("tensor", x.at()));
    }
    let lead = &x.shape()[..rank - 3];
    let [channels, rows, columns] = [x.shape()[rank - 3], x.shape()[rank - 2], x.shape()[rank - 1]];
    let with = |end: &[usize]| lead.iter().chain(end).copied().collect::<Shape>();
    let channels = channels / (factor * factor);
    let apart = x.reshaped(&with(&[channels, factor, factor, rows, columns]));
    let order: Vec<isize> = (0..lead.len() as isize).chain([0, 3, 1, 4, 2].map(|k| k + lead.len() as isize)).collect();
    Ok(movement::permute(&apart, &order)?.reshaped(&with(&[channels, rows * factor, columns * factor])))
}

/// `[.., C, H · r, W · r]` to `[.., C · r², H, W]`: the way back from [`pixel_shuffle`].
#[track_caller]
pub(crate) fn pixel_unshuffle(x: &Node, factor: usize) -> Result<Node> {
    let op = "pixel_unshuffle";
    let rank = x.rank();
    if rank < 3 || factor == 0 || x.shape()[rank - 2..].iter().any(|size| !size.is_multiple_of(factor)) {
        let message = format!("shape {:?} does not end in [channels, rows · {factor}, columns · {factor}]", x.shape());
        return Err(Error::new(ErrorKind::Shape, op, message).made_at("tensor", x.at()));
    }
    let lead = &x.shape()[..rank - 3];
    let [channels, rows, columns] = [x.shape()[rank - 3], x.shape()[rank - 2] / factor, x.shape()[rank - 1] / factor];
    let with = |end: &[usize]| lead.iter().chain(end).copied().collect::<Shape>();
    let apart = x.reshaped(&with(&[channels, rows, factor, columns, factor]));
    let order: Vec<isize> = (0..lead.len() as isize).chain([0, 2, 4, 1, 3].map(|k| k + lead.len() as isize)).collect();
    Ok(movement::permute(&apart, &order)?.reshaped(&with(&[channels * factor * factor, rows, columns])))
}
