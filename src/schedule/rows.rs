//! Decides which stages run under one outer loop.
//!
//! A stage that reads a row of what another stage made, and needs nothing but the same row of it, can follow it row by
//! row: what lies between them is then a few rows of scratch in the cache, and never a whole tensor in memory. Softmax,
//! the normalisations and their gradients become one kernel each this way.

use super::expression::Step;
use super::plan::{Form, Kernel, MapReduce, Operand, Stage, Work};
use crate::shape::{Position, Shape};
use std::collections::HashMap;

/// The most stages of one kernel.
const MOST_STAGES: usize = 32;

/// Rows of more elements than this do not stay in the cache.
const LONGEST_ROW: usize = 1 << 16;

/// Below this many rows there would be too few pieces of work for the threads, if the rows are long.
const FEWEST_ROWS: usize = 8;

/// Rows of fewer elements than this are no work worth sharing.
const SHORT_ROW: usize = 1 << 12;

/// The kernels that the stages, in running order, become.
pub(super) fn kernels(stages: Vec<Stage>) -> Vec<Kernel> {
    let mut groups: Vec<Group> = Vec::new();
    // Which group makes a node, and as which of its stages.
    let mut made: HashMap<usize, (usize, usize)> = HashMap::new();
    for stage in stages {
        let id = stage.node.id();
        // Everything else the stage reads is older than the youngest group it reads from.
        let youngest = stage.reads.iter().filter_map(|read| made.get(&read.id())).map(|&(group, _)| group).max();
        let joined = youngest.and_then(|k| Some((k, groups[k].lead_with(&stage, k, &made)?)));
        let k = match joined {
            Some((k, lead)) => {
                groups[k].lead = lead;
                k
            }
            None => {
                groups.push(Group { lead: sizes_of(&stage).map_or(0, |sizes| sizes.len()), stages: Vec::new() });
                groups.len() - 1
            }
        };
        groups[k].stages.push(stage);
        made.insert(id, (k, groups[k].stages.len() - 1));
    }
    groups.into_iter().map(Group::finish).collect()
}

/// Stages that share their leading axes.
struct Group {
    /// How many leading axes all stages have in common.
    lead: usize,
    stages: Vec<Stage>,
}

impl Group {
    /// How many leading axes the group shares with a stage that joins it; `None` if it cannot.
    fn lead_with(&self, stage: &Stage, group: usize, made: &HashMap<usize, (usize, usize)>) -> Option<usize> {
        let (sizes, first) = (sizes_of(stage)?, sizes_of(&self.stages[0])?);
        if self.stages.len() >= MOST_STAGES {
            return None;
        }
        let common = sizes.iter().zip(&first).take_while(|(a, b)| a == b).count().min(self.lead);
        (1..=common).rev().find(|&lead| self.follows(stage, lead, group, made))
    }

    /// Whether every row of the stage needs only the same row of what the group makes, and rows are worth it.
    fn follows(&self, stage: &Stage, lead: usize, group: usize, made: &HashMap<usize, (usize, usize)>) -> bool {
        let Work::MapReduce(work) = &stage.work else { return false };
        let aligned = work.loads.iter().all(|load| match made.get(&stage.reads[load.read].id()) {
            Some(&(other, place)) if other == group => {
                sizes_of(&self.stages[place]).is_some_and(|made| row_by_row(work, load, &made, lead))
            }
            _ => true,
        });
        let stages = || self.stages.iter().chain([stage]);
        let row = stages().map(|stage| row_len(stage, lead)).max().unwrap_or(0);
        let rows: usize = sizes_of(stage).map_or(0, |sizes| sizes[..lead].iter().product());
        let worth_it = row <= LONGEST_ROW && (rows >= FEWEST_ROWS || row <= SHORT_ROW);
        // Rows that do not follow each other at one stride are run one at a time, which short ones do not pay for.
        aligned && worth_it && (row >= SHORT_ROW / 4 || stages().all(|stage| is_even(stage, lead)))
    }

    fn finish(self) -> Kernel {
        let form = match self.stages.first().and_then(sizes_of) {
            Some(sizes) if self.stages.len() > 1 => Form::Rows(sizes[..self.lead].into()),
            _ => Form::Alone,
        };
        Kernel { stages: self.stages, form, after: Vec::new() }
    }
}

/// The sizes of the axes a stage keeps, if it can run row by row: there is something to do, its accesses are strides and
/// it asks for no places.
fn sizes_of(stage: &Stage) -> Option<Shape> {
    let Work::MapReduce(work) = &stage.work else { return None };
    if work.space.contains(&0) {
        return None;
    }
    let strided = work.loads.iter().all(|load| strides(load).is_some());
    let placeless = !work.expression.steps.iter().any(|step| matches!(step, Step::Position | Step::Rand { .. }));
    (strided && placeless).then(|| kept(work).map(|axis| work.space[axis]).collect())
}

/// The axes that a stage does not reduce.
fn kept(work: &MapReduce) -> impl Iterator<Item = usize> + '_ {
    let reduced: &[usize] = work.reduce.as_ref().map_or(&[], |(_, axes)| axes);
    (0..work.space.len()).filter(move |axis| !reduced.contains(axis))
}

/// The elements a stage computes for one row.
fn row_len(stage: &Stage, lead: usize) -> usize {
    let Work::MapReduce(work) = &stage.work else { return usize::MAX };
    let rows: usize = kept(work).take(lead).map(|axis| work.space[axis]).product();
    work.space.iter().product::<usize>() / rows.max(1)
}

/// Offset and strides of an unguarded load.
fn strides(load: &Operand) -> Option<(i64, smallvec::SmallVec<[i64; 6]>)> {
    match load.view.access() {
        (Position::Strided { offset, strides }, guards) if guards.is_empty() => Some((offset, strides)),
        _ => None,
    }
}

/// Whether the rows of everything a stage reads follow each other at one stride.
fn is_even(stage: &Stage, lead: usize) -> bool {
    let Work::MapReduce(work) = &stage.work else { return false };
    let leading: Vec<usize> = kept(work).take(lead).filter(|&axis| work.space[axis] != 1).collect();
    work.loads.iter().all(|load| {
        let Some((_, strides)) = strides(load) else { return false };
        leading.windows(2).all(|pair| strides[pair[0]] == strides[pair[1]] * work.space[pair[1]] as i64)
    })
}

/// Whether row `r` of a stage reads nothing but row `r` of a dense tensor of `made` sizes, rows being its `lead` first axes.
fn row_by_row(work: &MapReduce, load: &Operand, made: &[usize], lead: usize) -> bool {
    let Some((offset, strides)) = strides(load) else { return false };
    let leading: Vec<usize> = kept(work).take(lead).collect();
    let mut row: i64 = made[lead.min(made.len())..].iter().product::<usize>() as i64;
    let (mut low, mut high) = (offset, offset);
    for (axis, &stride) in strides.iter().enumerate() {
        if !leading.contains(&axis) {
            let reach = stride * (work.space[axis] as i64 - 1).max(0);
            low += reach.min(0);
            high += reach.max(0);
        }
    }
    if made.len() < lead || low < 0 || high >= row {
        return false;
    }
    leading.iter().enumerate().rev().all(|(place, &axis)| {
        let fits = work.space[axis] == made[place] && (work.space[axis] == 1 || strides[axis] == row);
        row *= made[place] as i64;
        fits
    })
}
