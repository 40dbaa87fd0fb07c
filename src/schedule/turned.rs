//! Rows that are not the leading axis of everything: the channels of images.
//!
//! A batch norm makes a few numbers of each channel, and then something of every element. Its sums are rows by channel, but what
//! is made at the end is not: there the channels are the second axis. A map that nothing else in its kernel reads may walk its axes in
//! any order, so it is *led by* the axis of the channels, and follows the sums row by row like all others. A channel is then
//! read from memory once.

use super::plan::{Stage, Work};
use super::rows::{Member, RowFacts, fits};
use smallvec::SmallVec;

/// Shorter runs of memory than this are not worth leaving its order for.
const SHORTEST_RUN: usize = 32;

/// The axis that leads each stage, where it is not the first.
pub(super) type LedBy = SmallVec<[Option<usize>; 8]>;

/// What leads each stage if they run row by row over one axis, which is not the first of all of them; `None` if they cannot.
pub(super) fn turned(members: &[Member<'_>]) -> Option<(usize, LedBy)> {
    let is_sum = |(stage, _): &&Member<'_>| matches!(&stage.work, Work::MapReduce(work) if work.reduce.is_some());
    let rows = members.iter().find(is_sum)?.1.rows()?;
    let led_by: LedBy = members.iter().map(|&member| led_by(member, members, rows)).collect::<Option<_>>()?;
    let facts: SmallVec<[Option<RowFacts>; 8]> =
        members.iter().zip(&led_by).map(|((_, facts), axis)| axis.map(|axis| facts.led_by(axis))).collect();
    let seen: SmallVec<[Member<'_>; 8]> =
        members.iter().zip(&facts).map(|(&(stage, facts), turned)| (stage, turned.as_ref().unwrap_or(facts))).collect();
    let is_turned = led_by.iter().any(Option::is_some);
    (is_turned && fits(&seen, 1)).then_some((rows, led_by))
}

/// The axis that leads a stage; nothing if it is led by none.
fn led_by((stage, facts): Member<'_>, members: &[Member<'_>], rows: usize) -> Option<Option<usize>> {
    let of_kernel: SmallVec<[(usize, &[usize]); 4]> = inside(stage, members);
    let Work::MapReduce(work) = &stage.work else { return None };
    let follows = |facts: &RowFacts| of_kernel.iter().all(|(slot, made)| facts.row_by_row(work, *slot, made, 1));
    if facts.rows() == Some(rows) && follows(facts) {
        return Some(None);
    }
    let is_read = members.iter().any(|(other, _)| other.reads.contains(&stage.node));
    if work.reduce.is_some() || is_read || of_kernel.is_empty() {
        return None;
    }
    let is_long = |axis: usize| work.space[axis + 1..].iter().product::<usize>() >= SHORTEST_RUN;
    let leads = |&axis: &usize| work.space[axis] == rows && is_long(axis) && follows(&facts.led_by(axis));
    (1..work.space.len()).find(leads).map(Some)
}

/// The operands of a stage that others make, and the sizes of those.
fn inside<'m>(stage: &Stage, members: &[Member<'m>]) -> SmallVec<[(usize, &'m [usize]); 4]> {
    let Work::MapReduce(work) = &stage.work else { return SmallVec::new() };
    let loads = work.loads.iter().enumerate();
    let made = |read: usize| members.iter().find(|(other, _)| other.node == stage.reads[read]);
    loads.filter_map(|(slot, load)| made(load.read).map(|(_, made)| (slot, made.sizes()))).collect()
}
