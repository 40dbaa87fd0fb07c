//! Which stages can run under one outer loop, row by row.
//!
//! A stage that reads a row of what another stage made, and needs nothing but the same row of it, can follow it row by
//! row: what lies between them is then a few rows of scratch in the cache, and never a whole tensor in memory. Softmax,
//! the normalisations and their gradients become one kernel each this way.

use super::contraction::{Contraction, collapsed};
use super::plan::{MapReduce, Operand, Stage, Strided, Work};
use crate::shape::Shape;
use smallvec::SmallVec;
use std::ops::Range;

/// Rows of more elements than this do not stay in the cache.
const LONGEST_ROW: usize = 1 << 16;

/// Longer rows than that, up to this many elements, are still nearer than memory from one stage to the next. Several such rows are not: nothing
/// longer than the second number may lie between the stages then, and there must be as many rows as the third says.
const LONGEST_PASSED: usize = 1 << 18;
const LONGEST_BETWEEN: usize = 1 << 12;
const FEWEST_PASSED: usize = 32;

/// Below this many rows there would be too few pieces of work for the threads, if the rows are long.
const FEWEST_ROWS: usize = 8;

/// Rows of fewer elements than this are no work worth sharing.
const SHORT_ROW: usize = 1 << 12;

/// Columns longer than this are not walked several times: too few of them would lie side by side in the cache.
const LONGEST_COLUMN: usize = 1 << 10;

/// What is known of a stage that may run row by row.
pub(super) struct RowFacts {
    /// The axes that are not reduced, and their sizes.
    kept: SmallVec<[usize; 6]>,
    sizes: Shape,
    /// How many kept axes there are before the first reduced one.
    before: usize,
    /// The elements that are computed. A contraction counts as those that it makes.
    work: usize,
    /// How many leading axes may make the rows, if not any number: of a contraction those that are not columns.
    leads: Option<Range<usize>>,
    /// By operand, where it is read; `None` if that is computed from the indices.
    loads: Vec<Option<Strided>>,
}

impl RowFacts {
    /// The facts of a map-reduce that has something to do.
    pub(super) fn of(stage: &Stage, contraction: Option<&Contraction>) -> Option<RowFacts> {
        let Work::MapReduce(work) = &stage.work else { return None };
        if work.space.contains(&0) || stage.region.is_some() {
            return None;
        }
        let reduced: &[usize] = work.reduce.as_ref().map_or(&[], |(_, axes)| axes);
        let kept: SmallVec<[usize; 6]> = (0..work.space.len()).filter(|axis| !reduced.contains(axis)).collect();
        let first = reduced.iter().copied().find(|&axis| work.space[axis] > 1).unwrap_or(work.space.len());
        Some(RowFacts {
            sizes: kept.iter().map(|&axis| work.space[axis]).collect(),
            before: kept.iter().filter(|&&axis| axis < first).count(),
            leads: contraction.map(|roles| roles.leads(work, &kept)),
            kept,
            work: contraction.map_or_else(|| element_count(&work.space), |_| stage.node.len()),
            loads: work.loads.iter().map(Operand::strided).collect(),
        })
    }

    /// The elements that are computed.
    pub(super) fn work(&self) -> usize {
        self.work
    }

    /// How many rows the first axis makes; `None` where it makes none.
    pub(super) fn rows(&self) -> Option<usize> {
        self.sizes.first().copied().filter(|_| self.before > 0 && self.leads.is_none())
    }

    /// The sizes of what is made.
    pub(super) fn sizes(&self) -> &[usize] {
        &self.sizes
    }

    /// The facts of a map that walks an axis before all others.
    pub(super) fn led_by(&self, axis: usize) -> RowFacts {
        let order = || [axis].into_iter().chain((0..self.kept.len()).filter(move |&other| other != axis));
        RowFacts {
            kept: order().map(|place| self.kept[place]).collect(),
            sizes: order().map(|place| self.sizes[place]).collect(),
            before: self.before,
            work: self.work,
            leads: self.leads.clone(),
            loads: self.loads.clone(),
        }
    }

    /// The elements that are made for one row.
    fn made_len(&self, lead: usize) -> usize {
        self.sizes[lead..].iter().product()
    }

    /// The elements that are computed for one row.
    fn row_len(&self, lead: usize) -> usize {
        self.work / self.sizes[..lead].iter().product::<usize>().max(1)
    }

    /// How many consecutive rows follow each other at one stride in everything that is read at strides.
    fn even_rows(&self, lead: usize) -> usize {
        let is_even = |first: usize| {
            let axes = (first..lead).filter(|&place| self.sizes[place] != 1);
            self.loads.iter().flatten().all(|(_, strides)| {
                collapsed(axes.clone().map(|place| (self.sizes[place], strides[self.kept[place]]))).is_some()
            })
        };
        let first = (0..lead).find(|&first| is_even(first)).unwrap_or(lead);
        self.sizes[first..lead].iter().product()
    }

    /// Whether row `r` reads nothing but row `r` of a dense tensor of `made` sizes through an operand, rows being the `lead`
    /// first axes.
    pub(super) fn row_by_row(&self, work: &MapReduce, load: usize, made: &[usize], lead: usize) -> bool {
        let Some((offset, strides)) = &self.loads[load] else { return false };
        if made.len() < lead {
            return false;
        }
        let leading = &self.kept[..lead];
        let mut row: i64 = made[lead..].iter().product::<usize>() as i64;
        let (mut low, mut high) = (*offset, offset.saturating_add_unsigned(work.loads[load].reach as u64));
        for (axis, &stride) in strides.iter().enumerate() {
            if !leading.contains(&axis) {
                let reach = stride * (work.space[axis] as i64 - 1).max(0);
                low += reach.min(0);
                high += reach.max(0);
            }
        }
        if low < 0 || high >= row {
            return false;
        }
        leading.iter().enumerate().rev().all(|(place, &axis)| {
            let fits = work.space[axis] == made[place] && (work.space[axis] == 1 || strides[axis] == row);
            row *= made[place] as i64;
            fits
        })
    }
}

/// A stage, and what is known of its rows.
pub(super) type Member<'a> = (&'a Stage, &'a RowFacts);

/// How many leading axes the stages share if they run row by row; `None` if they cannot. With `columns` rows may also be what
/// a reduction over leading axes leaves.
pub(super) fn lead(members: &[Member<'_>], columns: bool) -> Option<usize> {
    let (_, first) = members.first()?;
    let mut common = first.sizes.len();
    for (_, facts) in members {
        common = common.min(facts.sizes.iter().zip(&first.sizes).take_while(|(a, b)| a == b).count());
        if !columns {
            common = common.min(facts.before);
        }
    }
    (1..=common).rev().find(|&lead| fits(members, lead))
}

/// Whether every row of every stage needs only the same row of what the others make, and rows are worth it.
pub(super) fn fits(members: &[Member<'_>], lead: usize) -> bool {
    let row = members.iter().map(|(_, facts)| facts.row_len(lead)).max().unwrap_or(0);
    let rows: usize = members[0].1.sizes[..lead].iter().product();
    let is_read = |(stage, _): &&Member<'_>| members.iter().any(|(other, _)| other.reads.contains(&stage.node));
    let between = || members.iter().filter(is_read).map(|(_, facts)| facts.made_len(lead)).max().unwrap_or(0);
    let passed = || row <= LONGEST_PASSED && rows >= FEWEST_PASSED && between() <= LONGEST_BETWEEN;
    let worth_it = row <= LONGEST_ROW && (rows >= FEWEST_ROWS || row <= SHORT_ROW) || passed();
    // Rows that do not follow each other at one stride are not run at a time, which short ones do not pay for.
    let together = members.iter().map(|(_, facts)| facts.even_rows(lead)).min().unwrap_or(1);
    let even = together == rows || row.saturating_mul(together) >= SHORT_ROW / 4;
    let allowed = members.iter().all(|(_, facts)| facts.leads.as_ref().is_none_or(|leads| leads.contains(&lead)));
    let wide = members.iter().all(|(_, facts)| lead <= facts.before || facts.row_len(lead) <= LONGEST_COLUMN);
    worth_it && even && allowed && wide && members.iter().all(|member| is_aligned(*member, members, lead))
}

/// Whether every row of a stage needs only the same row of what the others make.
fn is_aligned((stage, facts): Member<'_>, members: &[Member<'_>], lead: usize) -> bool {
    let Work::MapReduce(work) = &stage.work else { return false };
    work.loads.iter().enumerate().all(|(slot, load)| {
        let read = &stage.reads[load.read];
        let maker = members.iter().find(|(other, _)| other.node == *read);
        maker.is_none_or(|(_, made)| facts.row_by_row(work, slot, &made.sizes, lead))
    })
}

/// The sizes of the rows' axes.
pub(super) fn row_sizes(member: Member<'_>, lead: usize) -> Shape {
    member.1.sizes[..lead].into()
}

fn element_count(space: &[usize]) -> usize {
    space.iter().fold(1, |product, &size| product.saturating_mul(size))
}
