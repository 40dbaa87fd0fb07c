//! Index maps that strides can follow: each old index is a number plus multiples of the new indices.

use crate::shape::{Expr, Shape};
use smallvec::SmallVec;

/// One old index: `offset + Σ coefficient · new index`.
#[derive(Clone, Debug)]
pub(super) struct Affine {
    pub(super) offset: i64,
    pub(super) coefficients: SmallVec<[i64; 6]>,
}

/// How the indices of an old shape follow from those of a new one.
#[derive(Clone, Debug)]
pub(super) struct Map {
    /// The new shape.
    pub(super) shape: Shape,
    /// One per old axis.
    pub(super) axes: SmallVec<[Affine; 6]>,
}

impl Affine {
    /// The number 0, over `rank` new axes.
    pub(super) fn zero(rank: usize) -> Affine {
        Affine { offset: 0, coefficients: SmallVec::from_elem(0, rank) }
    }

    /// `offset + coefficient · Idx(axis)`, over `rank` new axes.
    pub(super) fn along(rank: usize, axis: usize, offset: i64, coefficient: i64) -> Affine {
        let mut affine = Affine { offset, ..Affine::zero(rank) };
        affine.coefficients[axis] = coefficient;
        affine
    }

    pub(super) fn expr(&self) -> Expr {
        Expr::from_affine(self.offset, &self.coefficients)
    }

    /// The least and the greatest value over a shape that has elements; `None` if too large to say.
    pub(super) fn range(&self, shape: &[usize]) -> Option<(i64, i64)> {
        let (mut low, mut high) = (self.offset, self.offset);
        for (&coefficient, &size) in self.coefficients.iter().zip(shape) {
            let reach = coefficient.checked_mul(i64::try_from(size - 1).ok()?)?;
            low = low.checked_add(reach.min(0))?;
            high = high.checked_add(reach.max(0))?;
        }
        Some((low, high))
    }
}

impl Map {
    /// The map that expressions describe, if each of them is affine.
    pub(super) fn from_exprs(shape: &[usize], exprs: &[Expr]) -> Option<Map> {
        let rank = shape.len();
        let axes = exprs.iter().map(|expr| expr.affine(rank));
        let axes = axes.map(|axis| axis.map(|(offset, coefficients)| Affine { offset, coefficients }));
        Some(Map { shape: shape.into(), axes: axes.collect::<Option<_>>()? })
    }

    pub(super) fn exprs(&self) -> Vec<Expr> {
        self.axes.iter().map(Affine::expr).collect()
    }
}
