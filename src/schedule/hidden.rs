//! Which columns of a row kernel nobody sees: what a causal mask hides becomes -inf, its exponential 0, and 0 adds nothing.
//!
//! In: the stages of a kernel that runs row by row. Out: for each stage the axis along which it may leave out hidden columns,
//! and the condition on row and column that says which are seen. A tile of rows then computes only the columns that some row
//! of it sees.
//!
//! A hidden element is -inf where the mask is applied. What is made of it, element by element, is followed through
//! the stages ([`Sort`]). A sum of zeros or a maximum of -inf is the same without them, so whoever reduces along the columns
//! need not look at them; and what only such stages read need not be made. Whatever else stands in a hidden place (a value
//! that is multiplied by the weight 0, say) is not looked at: if it is not finite, the results may differ from those of the whole
//! product.

use super::expression::Step;
use super::plan::{Kernel, MapReduce, Stage, Work};
use crate::dtype::{DType, Literal};
use crate::graph::{Node, ReduceKind};
use crate::ops::{self, Primitive};
use crate::shape::Expr;
use smallvec::SmallVec;
use std::ops::Range;

/// Columns are left out so many at a time.
const TOGETHER: usize = 32;

/// What need not be computed.
pub(crate) struct Hidden {
    /// By stage, the axis of its space whose hidden indices it leaves out.
    pub(crate) axes: Vec<Option<usize>>,
    /// Whether a column (index 1) is seen by a row (index 0), the rows being those of the last of the rows' axes.
    seen: Expr,
    pub(crate) rows: usize,
    columns: usize,
}

/// What a value is wherever it is hidden, unless it is NaN.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sort {
    Any,
    /// -inf.
    Lowest,
    Zero,
}

impl Hidden {
    /// What the stages of a kernel may leave out, rows being their `lead` first axes; `None` if nothing. `is_whole` says which nodes are needed
    /// outside of the kernel.
    pub(crate) fn of(kernel: &Kernel, lead: usize, is_whole: impl Fn(&Node) -> bool) -> Option<Hidden> {
        let stages: Option<Vec<Columns<'_>>> = kernel.stages.iter().map(|stage| Columns::of(stage, lead)).collect();
        let stages = stages?;
        let (seen, columns) = stages.iter().find_map(Columns::mask)?;
        let mut analysis = Analysis { stages, seen, columns, walks: Vec::new(), sorts: Vec::new() };
        analysis.follow();
        let axes = analysis.left_out(is_whole);
        let rows = analysis.stages[0].rows();
        axes.iter().any(Option::is_some).then_some(Hidden { axes, seen: analysis.seen, rows, columns })
    }

    /// The columns that some row of a range sees, as one range, with a few hidden ones around them. There is always one.
    pub(crate) fn seen_by(&self, rows: Range<usize>) -> Range<usize> {
        let blocks = self.columns.div_ceil(TOGETHER);
        let is_hidden = |blocks: Range<usize>| {
            let (first, count) = (blocks.start * TOGETHER, blocks.len() * TOGETHER);
            let place = [Expr::idx(0) + rows.start as i64, Expr::idx(1) + first as i64];
            self.seen.substitute(&place).simplify(&[rows.len(), count]) == Expr::Const(0)
        };
        let first = leading(blocks, |count| is_hidden(0..count));
        let last = blocks - leading(blocks - first, |count| is_hidden(blocks - count..blocks));
        if first >= last {
            return 0..self.columns.min(TOGETHER);
        }
        first * TOGETHER..(last * TOGETHER).min(self.columns)
    }
}

/// The most for which something holds that holds for all less, up to a limit; it is tried for few.
fn leading(limit: usize, holds: impl Fn(usize) -> bool) -> usize {
    let (mut yes, mut no) = (0, limit + 1);
    while no - yes > 1 {
        let middle = (yes + no) / 2;
        if holds(middle) {
            yes = middle;
        } else {
            no = middle;
        }
    }
    yes
}

/// A stage and the axes of its rows.
struct Columns<'a> {
    stage: &'a Stage,
    work: &'a MapReduce,
    /// The axes that make the rows.
    lead: SmallVec<[usize; 6]>,
    /// The only other axis of the result, if it has only one.
    out: Option<usize>,
}

impl<'a> Columns<'a> {
    fn of(stage: &'a Stage, lead: usize) -> Option<Columns<'a>> {
        let Work::MapReduce(work) = &stage.work else { return None };
        let is_reduced = |axis: &usize| work.reduce.as_ref().is_some_and(|(_, axes)| axes.contains(axis));
        let kept: SmallVec<[usize; 6]> = (0..work.space.len()).filter(|axis| !is_reduced(axis)).collect();
        let mut long = kept[lead..].iter().copied().filter(|&axis| work.space[axis] != 1);
        let out = long.next().filter(|_| long.next().is_none());
        Some(Columns { stage, work, lead: kept[..lead].into(), out })
    }

    /// The size of the last axis of the rows.
    fn rows(&self) -> usize {
        self.work.space[self.lead[self.lead.len() - 1]]
    }

    /// The condition of a mask that hides columns, and how many columns there are.
    fn mask(&self) -> Option<(Expr, usize)> {
        let steps = &self.work.expression.steps;
        steps.iter().find_map(|step| {
            let [condition, _, other] = is(step, &ops::SELECT)?[..] else { return None };
            let (Step::Index { value, dtype: DType::Bool }, Step::Const(other)) = (&steps[condition], &steps[other])
            else {
                return None;
            };
            let mut columns = (0..self.work.space.len()).filter(|axis| !self.lead.contains(axis));
            let (seen, axis) = columns.find_map(|axis| Some((self.by_row(value, axis)?, axis)))?;
            is_lowest(*other).then_some((seen, self.work.space[axis]))
        })
    }

    /// A condition in terms of the row (index 0) and an axis (index 1), if it has no others.
    fn by_row(&self, condition: &Expr, column: usize) -> Option<Expr> {
        let row = *self.lead.last()?;
        let nowhere = condition.rank().max(self.work.space.len()) + 2;
        let place = (0..self.work.space.len()).map(|axis| match axis {
            _ if axis == row => Expr::idx(0),
            _ if axis == column => Expr::idx(1),
            _ if self.work.space[axis] == 1 => Expr::Const(0),
            _ => Expr::idx(nowhere),
        });
        let found = condition.substitute(&place.collect::<Vec<_>>());
        (found.rank() == 2).then(|| found.simplify(&[self.work.space[row], self.work.space[column]]))
    }

    /// The axis along which an operand walks the columns of a result with one row's axis, if that is all it does in a row.
    fn walks(&self, load: usize, columns: usize) -> Option<usize> {
        let (offset, strides) = self.work.loads[load].strided()?;
        let is_long = |axis: &usize| self.work.space[*axis] != 1 && strides[*axis] != 0;
        let mut axes = (0..self.work.space.len()).filter(|axis| !self.lead.contains(axis)).filter(is_long);
        let axis = axes.next().filter(|_| axes.next().is_none())?;
        (offset == 0 && strides[axis] == 1 && self.work.space[axis] == columns).then_some(axis)
    }

    /// Whether the expression knows the place of an element among all.
    fn knows_places(&self) -> bool {
        let is_place = |step: &Step| matches!(step, Step::Index { dtype, .. } if *dtype != DType::Bool);
        self.work.expression.steps.iter().any(is_place)
    }

    fn reduces(&self, axis: usize) -> Option<ReduceKind> {
        self.work.reduce.as_ref().filter(|(_, axes)| axes.contains(&axis)).map(|(kind, _)| *kind)
    }
}

struct Analysis<'a> {
    stages: Vec<Columns<'a>>,
    seen: Expr,
    columns: usize,
    /// By stage, the axis along which it walks the columns.
    walks: Vec<Option<usize>>,
    /// By stage, what its expression is where it is hidden.
    sorts: Vec<Sort>,
}

impl Analysis<'_> {
    /// The stage that makes what an operand of a stage reads.
    fn maker(&self, stage: usize, load: usize) -> Option<usize> {
        let Columns { stage: reader, work, .. } = &self.stages[stage];
        let node = &reader.reads[work.loads[load].read];
        self.stages[..stage].iter().position(|other| other.stage.node == *node)
    }

    /// Whether a stage's result is rows of columns.
    fn is_wide(&self, stage: usize) -> bool {
        let Columns { work, out, .. } = &self.stages[stage];
        out.is_some_and(|axis| work.space[axis] == self.columns)
    }

    /// Follows what is hidden through the stages, in running order.
    fn follow(&mut self) {
        for stage in 0..self.stages.len() {
            let walk = self.walk(stage);
            self.walks.push(walk);
            self.sorts.push(walk.map_or(Sort::Any, |axis| self.sort(stage, axis)));
        }
    }

    /// The axis along which a stage walks the columns: what it reads agrees about it.
    fn walk(&self, stage: usize) -> Option<usize> {
        let Columns { work, out, .. } = &self.stages[stage];
        let wide = (0..work.loads.len()).filter(|&load| self.maker(stage, load).is_some_and(|made| self.is_wide(made)));
        let axes: SmallVec<[Option<usize>; 4]> =
            wide.map(|load| self.stages[stage].walks(load, self.columns)).collect();
        match axes.first() {
            Some(first) => first.filter(|_| axes.iter().all(|axis| axis == first)),
            None => out.filter(|_| self.is_wide(stage)),
        }
    }

    /// What a stage's expression is where a column is hidden.
    fn sort(&self, stage: usize, axis: usize) -> Sort {
        let this = &self.stages[stage];
        let steps = &this.work.expression.steps;
        let mut sorts: Vec<Sort> = Vec::with_capacity(steps.len());
        for step in steps {
            let sort = match step {
                Step::Load { slot, .. } => match self.maker(stage, *slot) {
                    Some(made) if self.keeps(made) => self.sorts[made],
                    _ => Sort::Any,
                },
                Step::Cast { from, to, operand } if from.is_float() && to.is_float() => sorts[*operand],
                Step::Map { primitive, operands, .. } => {
                    let of: SmallVec<[Sort; 3]> = operands.iter().map(|&operand| sorts[operand]).collect();
                    self.mapped(this, axis, primitive, operands, &of)
                }
                Step::Cast { .. } | Step::Const(_) | Step::Scalar { .. } | Step::Index { .. } => Sort::Any,
                Step::Place { .. } | Step::Gather { .. } | Step::Rand { .. } => Sort::Any,
            };
            sorts.push(sort);
        }
        sorts.last().copied().unwrap_or(Sort::Any)
    }

    /// Whether the columns that a stage walks are those of its result.
    fn keeps(&self, stage: usize) -> bool {
        self.walks[stage].is_some() && self.walks[stage] == self.stages[stage].out
    }

    /// What a primitive makes of hidden values.
    fn mapped(&self, this: &Columns<'_>, axis: usize, primitive: &Primitive, operands: &[usize], of: &[Sort]) -> Sort {
        let steps = &this.work.expression.steps;
        let is_it = |other: &Primitive| std::ptr::eq(primitive, other);
        if is_it(&ops::SELECT) {
            let hides = match &steps[operands[0]] {
                Step::Index { value, .. } => this.by_row(value, axis).as_ref() == Some(&self.seen),
                _ => false,
            };
            let other = match steps[operands[2]] {
                Step::Const(value) if is_lowest(value) => Sort::Lowest,
                _ => of[2],
            };
            return if hides || of[1] == other { other } else { Sort::Any };
        }
        match of {
            [Sort::Lowest, _] if is_it(&ops::ADD) || is_it(&ops::SUB) => Sort::Lowest,
            [_, Sort::Lowest] if is_it(&ops::ADD) => Sort::Lowest,
            [Sort::Lowest] if is_it(&ops::EXP) || is_it(&ops::EXP_BELOW) => Sort::Zero,
            [Sort::Zero, _] if is_it(&ops::MUL) || is_it(&ops::DIV) => Sort::Zero,
            [_, Sort::Zero] if is_it(&ops::MUL) => Sort::Zero,
            [Sort::Zero] if is_it(&ops::NEG) => Sort::Zero,
            _ => Sort::Any,
        }
    }

    /// By stage, the axis along which it may leave out what is hidden. Readers are looked at before what they read.
    fn left_out(&self, is_whole: impl Fn(&Node) -> bool) -> Vec<Option<usize>> {
        let mut axes: Vec<Option<usize>> = vec![None; self.stages.len()];
        for stage in (0..self.stages.len()).rev() {
            let this = &self.stages[stage];
            let Some(axis) = self.walks[stage].filter(|_| !this.knows_places()) else { continue };
            let is_neutral = match this.reduces(axis) {
                Some(ReduceKind::Sum) => self.sorts[stage] == Sort::Zero,
                Some(ReduceKind::Max) => self.sorts[stage] == Sort::Lowest,
                Some(_) => false,
                None => !is_whole(&this.stage.node) && self.keeps(stage) && self.readers_leave_out(stage, &axes),
            };
            axes[stage] = is_neutral.then_some(axis);
        }
        axes
    }

    /// Whether all that read what a stage makes leave out what is hidden.
    fn readers_leave_out(&self, made: usize, axes: &[Option<usize>]) -> bool {
        (made + 1..self.stages.len()).all(|reader| {
            let loads = &self.stages[reader].work.loads;
            let mut reads = (0..loads.len()).filter(|&load| self.maker(reader, load) == Some(made));
            reads.next().is_none() || axes[reader].is_some()
        })
    }
}

/// The operands of a step, if it is this primitive on floats.
fn is<'s>(step: &'s Step, primitive: &Primitive) -> Option<&'s SmallVec<[usize; 3]>> {
    match step {
        Step::Map { primitive: this, operands, .. } if std::ptr::eq(*this, primitive) => Some(operands),
        _ => None,
    }
}

fn is_lowest(value: Literal) -> bool {
    value.dtype().is_float() && value.to_f64() == f64::NEG_INFINITY
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What rows see of columns, row by row.
    fn check(seen: &Expr, rows: usize, columns: usize, tile: usize) -> Vec<Range<usize>> {
        let hidden = Hidden { axes: Vec::new(), seen: seen.clone(), rows, columns };
        let tiles = (0..rows).step_by(tile).map(|first| first..(first + tile).min(rows));
        let of_tile = |tile: Range<usize>| {
            let range = hidden.seen_by(tile.clone());
            assert!(!range.is_empty() && range.end <= columns);
            for (row, column) in tile.flat_map(|row| (0..columns).map(move |column| (row, column))) {
                assert!(range.contains(&column) || seen.eval(&[row, column]) == 0, "{row} {column} {range:?}");
            }
            range
        };
        tiles.map(of_tile).collect()
    }

    #[test]
    fn a_tile_of_rows_sees_little_more_than_it_must() {
        let (row, column) = (|| Expr::idx(0), || Expr::idx(1));
        assert_eq!(check(&column().le(row()), 128, 128, 48), [0..64, 0..96, 0..128]);
        assert_eq!(check(&row().le(column()), 128, 128, 48), [0..128, 32..128, 96..128]);
        // A band, fewer columns than rows, more of them, and none at all.
        let band = column().le(row()).and(row().lt(column() + 10));
        assert_eq!(check(&band, 200, 200, 50), [0..64, 32..128, 64..160, 128..200]);
        assert_eq!(check(&column().le(row()), 90, 40, 30), [0..32, 0..40, 0..40]);
        assert_eq!(check(&column().le(row()), 40, 90, 20), [0..32, 0..64]);
        assert_eq!(check(&column().lt(row() - 100), 60, 60, 30), [0..32, 0..32]);
        assert_eq!(check(&column().lt(row() + 100), 60, 60, 30), [0..60, 0..60]);
    }
}
