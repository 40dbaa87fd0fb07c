//! Index expressions along one axis, in pieces on which they change evenly.
//!
//! A guard of a padded or masked operand is true on one interval of a row, a rolled index is even but for one jump: a few
//! pieces tell all of a row, and each of them is found from the expression's value at its first element.

use crate::codegen::block::affine;
use crate::shape::{Expr, floor_div, floor_rem};
use smallvec::SmallVec;
use std::ops::Range;
use std::sync::Arc;

/// `offset + Σ index · stride`, over the axes with a stride.
#[derive(Debug)]
pub(super) struct Affine {
    offset: i64,
    strides: SmallVec<[(usize, i64); 4]>,
}

impl Affine {
    fn of(expr: &Expr, rank: usize) -> Option<Affine> {
        let (offset, strides) = affine(expr, rank)?;
        Some(Affine::new(offset, &strides))
    }

    /// By its strides over all axes.
    pub(super) fn new(offset: i64, strides: &[i64]) -> Affine {
        let strides = strides.iter().copied().enumerate().filter(|(_, stride)| *stride != 0).collect();
        Affine { offset, strides }
    }

    /// The value at an index, and what a step along an axis adds to it.
    pub(super) fn at(&self, index: &[i64], along: usize) -> (i64, i64) {
        let (mut value, mut slope) = (self.offset, 0);
        for &(axis, stride) in &self.strides {
            value = value.wrapping_add(index[axis].wrapping_mul(stride));
            if axis == along {
                slope = stride;
            }
        }
        (value, slope)
    }

    /// What a step along an axis adds to it.
    fn stride(&self, along: usize) -> i64 {
        self.strides.iter().find(|(axis, _)| *axis == along).map_or(0, |&(_, stride)| stride)
    }

    /// Whether no index that there can be makes it overflow: there are fewer than 2^40 along any axis.
    fn is_small(&self) -> bool {
        self.strides.len() <= 8
            && self.offset.unsigned_abs() < 1 << 61
            && self.strides.iter().all(|(_, stride)| stride.unsigned_abs() < 1 << 18)
    }
}

/// An operand with borders: it is where all of some bounds are not negative.
#[derive(Debug)]
pub(super) struct Interval {
    bounds: Vec<Affine>,
    pub(super) position: Affine,
    /// Bounds and position may depend on what the index along the first axis leaves when it is divided by this, as if it were the index
    /// along an axis behind the others: rows that count through several axes.
    pub(super) period: Option<i64>,
}

impl Interval {
    /// An operand at a position, where all conditions hold; `None` if it is not as simple as that.
    pub(super) fn of<'e>(position: &Expr, conditions: impl Iterator<Item = &'e Expr>, rank: usize) -> Option<Interval> {
        let mut period = None;
        let position = Affine::of(&without_remainders(position, rank, &mut period), rank + 1)?;
        let mut interval = Interval { bounds: Vec::new(), position, period: None };
        for condition in conditions {
            interval.add(&without_remainders(condition, rank, &mut period), rank + 1)?;
        }
        interval.period = period;
        interval.bounds.iter().all(Affine::is_small).then_some(interval)
    }

    /// An operand without borders.
    pub(super) fn everywhere(position: Affine) -> Interval {
        Interval { bounds: Vec::new(), position, period: None }
    }

    /// Whether it can be told along an axis: what a period leaves is the same for all elements of a piece.
    pub(super) fn suits(&self, along: usize) -> bool {
        self.period.is_none() || along > 0
    }

    /// The outermost axis that the bounds depend on.
    pub(super) fn first_axis(&self) -> Option<usize> {
        self.bounds.iter().flat_map(|bound| &bound.strides).map(|&(axis, _)| axis).min()
    }

    fn add(&mut self, condition: &Expr, rank: usize) -> Option<()> {
        // Each side by itself first: their difference must not be small by an overflow.
        let small = |expr: &Expr| Affine::of(expr, rank).is_some_and(|side| side.is_small());
        let bound = match condition {
            Expr::And(a, b) => {
                self.add(a, rank)?;
                return self.add(b, rank);
            }
            Expr::Const(value) => Expr::Const(if *value == 0 { -1 } else { 0 }),
            Expr::Lt(a, b) if small(a) && small(b) => Expr::clone(b) - Expr::clone(a) - 1,
            Expr::Not(a) => match &**a {
                Expr::Lt(a, b) if small(a) && small(b) => Expr::clone(a) - Expr::clone(b),
                _ => return None,
            },
            _ => return None,
        };
        self.bounds.push(Affine::of(&bound, rank)?);
        Some(())
    }

    /// Of the next `most` elements from an index on, those within the bounds. If there is a period, the index has one more number, and
    /// `along` is not the first axis.
    pub(super) fn inside(&self, index: &[i64], along: usize, most: usize) -> Range<usize> {
        within(self.bounds.iter().map(|bound| bound.at(index, along)), most)
    }

    /// How many rows that follow each other along an axis may be told together, of so many.
    pub(super) fn together(&self, index: &[i64], across: usize, rows: usize) -> usize {
        match self.period {
            Some(period) if across == 0 => rows.min((period - index[index.len() - 1]) as usize),
            _ => rows,
        }
    }

    /// Tells for so many rows ([`Interval::together`]) which of their `most` elements are within the bounds, and the position of the first element.
    pub(super) fn each_row(
        &self,
        index: &[i64],
        [along, across]: [usize; 2],
        [rows, most]: [usize; 2],
        mut tell: impl FnMut(usize, Range<usize>, i64),
    ) {
        // What a period leaves of the first index grows with it.
        let left = if self.period.is_some() && across == 0 { index.len() - 1 } else { across };
        let rising = |affine: &Affine| {
            let (value, slope) = affine.at(index, along);
            let next = affine.stride(across) + if left == across { 0 } else { affine.stride(left) };
            (value, slope, next)
        };
        let bounds: SmallVec<[_; 4]> = self.bounds.iter().map(rising).collect();
        let (position, _, next) = rising(&self.position);
        for row in 0..rows {
            let here = bounds.iter().map(|&(value, slope, next)| (value + row as i64 * next, slope));
            tell(row, within(here, most), position + row as i64 * next);
        }
    }
}

/// Of `most` elements, those where no bound is negative: each has a value at the first element, and a slope.
#[inline]
fn within(bounds: impl Iterator<Item = (i64, i64)>, most: usize) -> Range<usize> {
    let (mut first, mut end) = (0, most as i64);
    for (value, slope) in bounds {
        match slope {
            0 if value < 0 => return 0..0,
            0 => {}
            1 => first = first.max(-value),
            -1 => end = end.min(value + 1),
            2.. => first = first.max(-floor_div(value, slope)),
            _ => end = end.min(floor_div(value, -slope) + 1),
        }
    }
    let first = first.min(most as i64);
    first as usize..end.max(first) as usize
}

/// An expression in which the remainder of the first index by one number, if there is any, is the index along axis `rank`.
fn without_remainders(expr: &Expr, rank: usize, period: &mut Option<i64>) -> Expr {
    if let Expr::Rem(a, b) = expr
        && let (Expr::Idx(0), &Expr::Const(by)) = (&**a, &**b)
        && by > 0
        && period.is_none_or(|period| period == by)
    {
        *period = Some(by);
        return Expr::Idx(rank);
    }
    let mut inner = |expr: &Expr| Arc::new(without_remainders(expr, rank, period));
    match expr {
        Expr::Const(_) | Expr::Idx(_) => expr.clone(),
        Expr::Rem(a, b) => Expr::Rem(inner(a), inner(b)),
        Expr::Add(a, b) => Expr::Add(inner(a), inner(b)),
        Expr::Sub(a, b) => Expr::Sub(inner(a), inner(b)),
        Expr::Mul(a, b) => Expr::Mul(inner(a), inner(b)),
        Expr::Div(a, b) => Expr::Div(inner(a), inner(b)),
        Expr::Lt(a, b) => Expr::Lt(inner(a), inner(b)),
        Expr::And(a, b) => Expr::And(inner(a), inner(b)),
        Expr::Not(a) => Expr::Not(inner(a)),
    }
}

/// An index expression made ready.
#[derive(Debug)]
pub(super) enum Line {
    Affine(Affine),
    Binary(Kind, Box<[Line; 2]>),
    Not(Box<Line>),
}

/// What is made of two expressions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Add,
    Sub,
    Mul,
    Div,
    Rem,
    Lt,
    And,
}

/// `value + k · slope` for the first `length` elements; `length` is 1 at least.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Piece {
    pub(super) value: i64,
    pub(super) slope: i64,
    pub(super) length: usize,
}

impl Piece {
    /// As far as the values stay numbers of 64 bits; one element where they do not.
    fn within_range(self) -> Piece {
        let last = self.slope.checked_mul(self.length as i64 - 1).and_then(|rise| rise.checked_add(self.value));
        if last.is_some() { self } else { Piece { slope: 0, length: 1, ..self } }
    }

    /// As far as the value is 0, or is not: then it is 1.
    pub(super) fn truth(self) -> Piece {
        let piece = self.within_range();
        let length = match (piece.value, piece.slope) {
            (_, 0) => piece.length,
            (0, _) => 1,
            // It becomes 0 after so many elements, if ever.
            (value, slope) if value.wrapping_rem(slope) == 0 && (value < 0) != (slope < 0) => {
                piece.length.min(value.wrapping_div(slope).unsigned_abs() as usize)
            }
            _ => piece.length,
        };
        Piece { value: i64::from(piece.value != 0), slope: 0, length }
    }

    /// As far as the value is below 0, or is not.
    fn negative(self) -> Piece {
        let piece = self.within_range();
        let (below, away) = (piece.value < 0, piece.slope.unsigned_abs());
        // The distance to the first value on the other side.
        let changes = match below {
            true if piece.slope > 0 => Some(piece.value.unsigned_abs().div_ceil(away)),
            false if piece.slope < 0 => Some(piece.value.unsigned_abs() / away + 1),
            _ => None,
        };
        let length = changes.map_or(piece.length, |changes| piece.length.min(changes.try_into().unwrap_or(usize::MAX)));
        Piece { value: i64::from(below), slope: 0, length }
    }

    /// The quotient by a number, rounded down, and the remainder.
    fn divided(self, by: i64) -> (Piece, Piece) {
        let piece = self.within_range();
        let (quotient, rest) = (floor_div(piece.value, by), floor_rem(piece.value, by));
        let even = |value, slope, length| Piece { value, slope, length };
        if by <= 0 && piece.slope != 0 {
            return (even(quotient, 0, 1), even(rest, 0, 1));
        }
        if piece.slope == 0 || piece.slope % by == 0 {
            let slope = if piece.slope == 0 { 0 } else { piece.slope / by };
            return (even(quotient, slope, piece.length), even(rest, 0, piece.length));
        }
        // As long as the remainder stays one, the quotient stays.
        let away = piece.slope.unsigned_abs();
        let room =
            if piece.slope > 0 { (by - rest).unsigned_abs().div_ceil(away) } else { rest.unsigned_abs() / away + 1 };
        let length = piece.length.min(room.try_into().unwrap_or(usize::MAX));
        (even(quotient, 0, length), even(rest, piece.slope, length))
    }
}

impl Line {
    /// An expression over an index of so many axes.
    pub(super) fn of(expr: &Expr, rank: usize) -> Line {
        if let Some(affine) = Affine::of(expr, rank) {
            return Line::Affine(affine);
        }
        let both = |kind, a: &Expr, b: &Expr| Line::Binary(kind, Box::new([Line::of(a, rank), Line::of(b, rank)]));
        match expr {
            Expr::Const(_) | Expr::Idx(_) => unreachable!("these are affine"),
            Expr::Add(a, b) => both(Kind::Add, a, b),
            Expr::Sub(a, b) => both(Kind::Sub, a, b),
            Expr::Mul(a, b) => both(Kind::Mul, a, b),
            Expr::Div(a, b) => both(Kind::Div, a, b),
            Expr::Rem(a, b) => both(Kind::Rem, a, b),
            Expr::Lt(a, b) => both(Kind::Lt, a, b),
            Expr::And(a, b) => both(Kind::And, a, b),
            Expr::Not(a) => Line::Not(Box::new(Line::of(a, rank))),
        }
    }

    /// The first piece from an index on, along axis `along`, of at most `most` elements.
    pub(super) fn piece(&self, index: &[i64], along: usize, most: usize) -> Piece {
        match self {
            Line::Affine(affine) => {
                let (value, slope) = affine.at(index, along);
                Piece { value, slope, length: most }
            }
            Line::Not(a) => {
                let truth = a.piece(index, along, most).truth();
                Piece { value: 1 - truth.value, ..truth }
            }
            Line::Binary(kind, both) => {
                let a = both[0].piece(index, along, most);
                // What both hold for is all that is asked of the second.
                let b = both[1].piece(index, along, a.length);
                combined(*kind, Piece { length: b.length, ..a }, b)
            }
        }
    }
}

/// Two pieces of the same length as one.
fn combined(kind: Kind, a: Piece, b: Piece) -> Piece {
    let length = b.length;
    let alone = |value| Piece { value, slope: 0, length: 1 };
    match kind {
        Kind::Add => Piece { value: a.value.wrapping_add(b.value), slope: a.slope.wrapping_add(b.slope), length },
        Kind::Sub => Piece { value: a.value.wrapping_sub(b.value), slope: a.slope.wrapping_sub(b.slope), length },
        Kind::Mul => {
            let value = a.value.wrapping_mul(b.value);
            match (a.slope, b.slope) {
                (slope, 0) => Piece { value, slope: slope.wrapping_mul(b.value), length },
                (0, slope) => Piece { value, slope: slope.wrapping_mul(a.value), length },
                _ => alone(value),
            }
        }
        Kind::Div | Kind::Rem if b.slope != 0 => {
            alone(if kind == Kind::Div { floor_div(a.value, b.value) } else { floor_rem(a.value, b.value) })
        }
        Kind::Div => a.divided(b.value).0,
        Kind::Rem => a.divided(b.value).1,
        Kind::Lt => {
            let (a_safe, b_safe) = (a.within_range(), b.within_range());
            let length = a_safe.length.min(b_safe.length);
            let difference = a_safe.value.checked_sub(b_safe.value).zip(a_safe.slope.checked_sub(b_safe.slope));
            match difference {
                Some((value, slope)) => Piece { value, slope, length }.negative(),
                None => alone(i64::from(a.value < b.value)),
            }
        }
        Kind::And => {
            let (a, b) = (a.truth(), b.truth());
            Piece { value: a.value & b.value, slope: 0, length: a.length.min(b.length) }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codegen::block::tests::Random;
    use crate::codegen::block::tests::random::expression;

    #[test]
    fn pieces_are_the_expression() {
        for seed in 0..4000 {
            let mut random = Random::new(600_000 + seed);
            let (rank, depth) = (1 + random.below(3), random.below(5));
            let mut expr = expression(&mut random, rank, depth);
            if random.chance(8) {
                // Sums and products at the ends of 64 bits.
                let huge = Arc::new(Expr::Const(random.pick(&[i64::MAX, i64::MIN, 1 << 62])));
                expr = Expr::Lt(Arc::new(Expr::Mul(Arc::new(expr), huge.clone())), huge);
            }
            let along = random.below(rank);
            let mut index: Vec<usize> = (0..rank).map(|_| random.below(40)).collect();
            let line = Line::of(&expr, rank);
            let end = index[along] + 60;
            while index[along] < end {
                let at: Vec<i64> = index.iter().map(|&index| index as i64).collect();
                let piece = line.piece(&at, along, end - index[along]);
                assert!(piece.length >= 1 && piece.length <= end - index[along]);
                for k in 0..piece.length {
                    let value = piece.value.wrapping_add(piece.slope.wrapping_mul(k as i64));
                    assert_eq!(value, expr.eval(&index), "{expr} along {along} at {index:?}, {k} after {at:?}");
                    index[along] += 1;
                }
            }
        }
    }

    #[test]
    fn intervals_are_where_conditions_hold() {
        let mut simple = 0;
        for seed in 0..4000 {
            let mut random = Random::new(700_000 + seed);
            let rank = 1 + random.below(3);
            let mut sum = || {
                let terms = (0..rank).map(|axis| Expr::idx(axis) * (random.below(7) as i64 - 3));
                let sum = terms.reduce(|sum, term| sum + term).expect("there is an axis");
                sum + (random.below(60) as i64 - 30)
            };
            let (a, b, c, d) = (sum(), sum(), sum(), sum());
            let conditions = [a.lt(b), c.clone().ge(d.clone()).and(c.lt(d + 9))];
            let along = random.below(rank);
            let mut index: Vec<usize> = (0..rank).map(|_| random.below(40)).collect();
            let most = random.below(60);
            let period = 1 + random.below(20) as i64;
            let rows = Expr::idx(0).rem(period);
            let conditions = match along > 0 && random.chance(2) {
                true => [conditions[0].clone(), conditions[1].clone().and(Expr::idx(along).lt(rows * 2 + 3))],
                false => conditions,
            };
            let Some(interval) = Interval::of(&Expr::idx(0), conditions.iter(), rank) else { continue };
            simple += 1;
            let mut at: Vec<i64> = index.iter().map(|&index| index as i64).collect();
            at.push(at[0] % period);
            let inside = interval.inside(&at, along, most);
            let first = index.clone();
            for k in 0..most {
                let holds = conditions.iter().all(|condition| condition.eval(&index) != 0);
                assert_eq!(inside.contains(&k), holds, "{conditions:?} along {along}, {k} after {at:?}");
                index[along] += 1;
            }
            if along == 0 {
                continue;
            }
            // The next rows, told together.
            let across = along - 1;
            let rows = interval.together(&at, across, 1 + random.below(9));
            let mut told = 0;
            interval.each_row(&at, [along, across], [rows, most], |row, inside, position| {
                let mut index = first.clone();
                index[across] += row;
                assert_eq!((row, position), (told, index[0] as i64));
                told += 1;
                for k in 0..most {
                    let holds = conditions.iter().all(|condition| condition.eval(&index) != 0);
                    assert_eq!(
                        inside.contains(&k),
                        holds,
                        "{conditions:?} along {along}, {k} in row {row} after {at:?}"
                    );
                    index[along] += 1;
                }
            });
            assert_eq!(told, rows);
        }
        assert!(simple > 3900);
    }

    #[test]
    fn a_row_has_as_few_pieces_as_it_can() {
        let count = |expr: &Expr, rows: i64| {
            let line = Line::of(expr, 2);
            let (mut at, mut pieces) = (0, 0);
            while at < 1000 {
                at += line.piece(&[rows, at as i64], 1, 1000 - at).length;
                pieces += 1;
            }
            pieces
        };
        let (i, j) = (Expr::idx(0), Expr::idx(1));
        assert_eq!(count(&j.clone().le(i.clone()), 300), 2);
        assert_eq!(count(&j.clone().ge(1).and(j.clone().lt(999)), 0), 3);
        assert_eq!(count(&(j.clone() + 10).rem(1000), 0), 2);
        assert_eq!(count(&(j * 1000 + i).div(1000), 7), 1);
    }
}
