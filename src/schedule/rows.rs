//! Which stages can run under one outer loop, row by row.
//!
//! A stage that reads a row of what another stage made, and needs nothing but the same row of it, can follow it row by
//! row: what lies between them is then a few rows of scratch in the cache, and never a whole tensor in memory. Softmax,
//! the normalisations and their gradients become one kernel each this way.

use super::plan::{MapReduce, Operand, Stage, Work};
use crate::shape::{Position, Shape};
use smallvec::SmallVec;

/// Rows of more elements than this do not stay in the cache.
const LONGEST_ROW: usize = 1 << 16;

/// Below this many rows there would be too few pieces of work for the threads, if the rows are long.
const FEWEST_ROWS: usize = 8;

/// Rows of fewer elements than this are no work worth sharing.
const SHORT_ROW: usize = 1 << 12;

/// Columns longer than this are not walked several times: too few of them would lie side by side in the cache.
const LONGEST_COLUMN: usize = 1 << 10;

/// Offset and strides of an unguarded load.
type Strided = (i64, SmallVec<[i64; 6]>);

/// What is known of a stage that may run row by row.
pub(super) struct RowFacts {
    /// The axes that are not reduced, and their sizes.
    kept: SmallVec<[usize; 6]>,
    sizes: Shape,
    /// How many kept axes there are before the first reduced one.
    before: usize,
    /// The elements that are computed.
    work: usize,
    /// By operand, where it is read; `None` if that is computed from the indices.
    loads: Vec<Option<Strided>>,
}

impl RowFacts {
    /// The facts of a map-reduce that has something to do.
    pub(super) fn of(stage: &Stage) -> Option<RowFacts> {
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
            kept,
            work: work.space.iter().fold(1, |product, &size| product.saturating_mul(size)),
            loads: work.loads.iter().map(strided).collect(),
        })
    }

    /// The elements that are computed.
    pub(super) fn work(&self) -> usize {
        self.work
    }

    /// The elements that are computed for one row.
    fn row_len(&self, lead: usize) -> usize {
        self.work / self.sizes[..lead].iter().product::<usize>().max(1)
    }

    /// Whether the rows of everything that is read at strides follow each other at one stride.
    fn is_even(&self, lead: usize) -> bool {
        let leading: SmallVec<[usize; 6]> = (0..lead).filter(|&place| self.sizes[place] != 1).collect();
        self.loads.iter().flatten().all(|(_, strides)| {
            leading
                .windows(2)
                .all(|pair| strides[self.kept[pair[0]]] == strides[self.kept[pair[1]]] * self.sizes[pair[1]] as i64)
        })
    }

    /// Whether row `r` reads nothing but row `r` of a dense tensor of `made` sizes through an operand, rows being the `lead`
    /// first axes.
    fn row_by_row(&self, work: &MapReduce, load: usize, made: &[usize], lead: usize) -> bool {
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
fn fits(members: &[Member<'_>], lead: usize) -> bool {
    let row = members.iter().map(|(_, facts)| facts.row_len(lead)).max().unwrap_or(0);
    let rows: usize = members[0].1.sizes[..lead].iter().product();
    let worth_it = row <= LONGEST_ROW && (rows >= FEWEST_ROWS || row <= SHORT_ROW);
    // Rows that do not follow each other at one stride are run one at a time, which short ones do not pay for.
    let even = row >= SHORT_ROW / 4 || members.iter().all(|(_, facts)| facts.is_even(lead));
    let wide = members.iter().all(|(_, facts)| lead <= facts.before || facts.row_len(lead) <= LONGEST_COLUMN);
    worth_it && even && wide && members.iter().all(|member| is_aligned(*member, members, lead))
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

fn strided(load: &Operand) -> Option<Strided> {
    match load.view.access() {
        (Position::Strided { offset, strides }, guards) if guards.is_empty() => Some((offset, strides)),
        _ => None,
    }
}
