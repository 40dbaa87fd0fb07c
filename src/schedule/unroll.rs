//! Reductions of a few elements each, as of the windows of a pool, become expressions: folds are made for long rows.

use super::contraction::contraction;
use super::expression::{Expression, Step};
use super::plan::{MapReduce, Operand, Strided};
use crate::dtype::{DType, Literal};
use crate::graph::ReduceKind;
use crate::ops::vector::QuickMap;
use crate::ops::{self, Primitive};
use crate::shape::{Shape, Strides, View};
use smallvec::{SmallVec, smallvec};

/// The most elements of a reduction, the most operands and the most steps of what it becomes.
const FEW: usize = 16;
const MOST_LOADS: usize = 16;
const MOST_STEPS: usize = 96;

/// The fewest results.
const MANY: usize = 1 << 8;

/// A reduction of a few elements as an expression without one, if there is such a thing; or the reduction. Contractions have kernels of
/// their own.
pub(super) fn unrolled(work: MapReduce) -> MapReduce {
    match contraction(&work) {
        None => short(&work).unwrap_or(work),
        Some(_) => work,
    }
}

fn short(work: &MapReduce) -> Option<MapReduce> {
    let (kind, axes) = work.reduce.as_ref()?;
    let kept: SmallVec<[usize; 6]> = (0..work.space.len()).filter(|axis| !axes.contains(axis)).collect();
    let sizes = |axes: &[usize]| -> Shape { axes.iter().map(|&axis| work.space[axis]).collect() };
    let (space, reduced) = (sizes(&kept), sizes(axes));
    let count = product(&reduced);
    let fits =
        (2..=FEW).contains(&count) && product(&space) >= MANY && work.expression.steps.len() * count <= MOST_STEPS;
    let word = word(*kind, work.dtype).filter(|_| fits)?;
    let places: Option<Vec<Strided>> = work.loads.iter().map(Operand::strided).collect();
    let mut writing =
        Writing { work, kept: &kept, space: &space, places: places?, loads: Vec::new(), known: QuickMap::default() };
    let mut expression = Expression::default();
    // A sum of zeros below zero is zero.
    let starts_with_zero = *kind == ReduceKind::Sum && work.dtype.is_float();
    let mut total = starts_with_zero.then(|| expression.push(Step::Const(Literal::zero(work.dtype))));
    for index in 0..count {
        let value = writing.element(&mut expression, &spread(index, &reduced), axes)?;
        total = Some(match total {
            None => value,
            Some(total) => {
                let operands = smallvec![total, value];
                expression.push(Step::Map { primitive: word, dtype: work.dtype, operands })
            }
        });
    }
    let loads = writing.loads;
    (loads.len() <= MOST_LOADS).then_some(MapReduce { space, loads, expression, reduce: None, dtype: work.dtype })
}

/// What makes one of two values, if it rounds as a fold does.
fn word(kind: ReduceKind, dtype: DType) -> Option<&'static Primitive> {
    let is_half = matches!(dtype, DType::F16 | DType::BF16);
    match (kind, dtype) {
        (ReduceKind::Sum | ReduceKind::Max, DType::Bool) => Some(&ops::BITOR),
        (ReduceKind::Prod | ReduceKind::Min, DType::Bool) => Some(&ops::BITAND),
        (ReduceKind::Max, _) => Some(&ops::MAXIMUM),
        (ReduceKind::Min, _) => Some(&ops::MINIMUM),
        (ReduceKind::Sum, _) if !is_half => Some(&ops::ADD),
        (ReduceKind::Prod, _) if !is_half => Some(&ops::MUL),
        _ => None,
    }
}

/// The index on each axis of a flat one.
fn spread(mut index: usize, sizes: &[usize]) -> SmallVec<[usize; 6]> {
    let mut indices: SmallVec<[usize; 6]> = sizes.iter().rev().map(|&size| (index % size, index /= size).0).collect();
    indices.reverse();
    indices
}

fn product(sizes: &[usize]) -> usize {
    sizes.iter().fold(1, |product, &size| product.saturating_mul(size))
}

struct Writing<'a> {
    work: &'a MapReduce,
    kept: &'a [usize],
    space: &'a Shape,
    /// Where each operand is read.
    places: Vec<Strided>,
    loads: Vec<Operand>,
    /// The new operand by the old one and its offset.
    known: QuickMap<(usize, i64), usize>,
}

impl Writing<'_> {
    /// The steps for one element of each reduction; `None` if they depend on more than operands.
    fn element(&mut self, expression: &mut Expression, indices: &[usize], axes: &[usize]) -> Option<usize> {
        let base = expression.steps.len();
        for step in &self.work.expression.steps {
            let step = match step {
                Step::Load { slot, dtype } => Step::Load { slot: self.load(*slot, indices, axes), dtype: *dtype },
                Step::Const(_) | Step::Scalar { .. } => step.clone(),
                Step::Map { primitive, dtype, operands } => Step::Map {
                    primitive,
                    dtype: *dtype,
                    operands: operands.iter().map(|operand| base + operand).collect(),
                },
                Step::Cast { from, to, operand } => Step::Cast { from: *from, to: *to, operand: base + operand },
                Step::Place { .. } | Step::Gather { .. } | Step::Index { .. } | Step::Rand { .. } => return None,
            };
            expression.push(step);
        }
        Some(expression.steps.len() - 1)
    }

    /// The operand that reads one element of each reduction.
    fn load(&mut self, slot: usize, indices: &[usize], axes: &[usize]) -> usize {
        let (offset, strides) = &self.places[slot];
        let shift = axes.iter().zip(indices).map(|(&axis, &index)| strides[axis] * index as i64).sum::<i64>();
        let offset = offset + shift;
        *self.known.entry((slot, offset)).or_insert_with(|| {
            let strides: Strides = self.kept.iter().map(|&axis| strides[axis] as isize).collect();
            let view = View::Linear { shape: self.space.clone(), strides, offset: offset as isize };
            self.loads.push(Operand { view, ..self.work.loads[slot].clone() });
            self.loads.len() - 1
        })
    }
}
