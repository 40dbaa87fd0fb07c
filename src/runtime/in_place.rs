//! Results that may take the place of an input: by a plan alone, whoever has the input.
//!
//! A result may be written where an input was if nobody reads that input later: the step that makes the result comes after the last one
//! that reads the input, or is that one and reads each element only where it writes. Whether a run does so is
//! decided when it begins: only if the input was given away (see [`super::program`]).

use super::prepared::Made;
use crate::graph::{IdMap, Node};
use crate::schedule::{Form, Plan, Producer, Request, Stage, Work};

/// A result and the input whose place it may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct InPlace {
    /// Which of [`super::prepared::Prepared::made`].
    pub(super) made: usize,
    /// The input's number.
    pub(super) input: usize,
}

/// Stages that run at one time; steps run one after the other.
struct Step<'p> {
    /// Operands that the first stage computes where it packs them: they are read at any time.
    producers: &'p [Producer],
    stages: &'p [Stage],
    parts: Parts<'p>,
}

/// How the stages of a step take turns.
#[derive(Clone, Copy)]
enum Parts<'p> {
    /// Each runs on any part of its elements at any time.
    Any,
    /// All of them pass over the same part of their elements before any goes on to the next one.
    Same,
    /// These parts are rows, over leading axes of these sizes.
    Rows(&'p [usize]),
}

/// Which results may take the place of which inputs: each input serves one result at most.
pub(super) fn in_place(plan: &Plan, request: &Request, made: &[Made]) -> Vec<InPlace> {
    let steps = steps(plan);
    let mut last_reads: IdMap<usize> = IdMap::default();
    let mut first_writes: IdMap<(usize, usize)> = IdMap::default();
    let mut inputs: Vec<&Node> = Vec::new();
    for (at, step) in steps.iter().enumerate() {
        for (place, stage) in step.stages.iter().enumerate() {
            first_writes.entry(stage.node.id()).or_insert((at, place));
        }
        let producers = step.producers.iter().map(|producer| &producer.stage);
        for read in producers.chain(step.stages).flat_map(|stage| &stage.reads) {
            if last_reads.insert(read.id(), at).is_none() && request.takes(read) {
                inputs.push(read);
            }
        }
    }
    let mut found: Vec<InPlace> = Vec::new();
    // First those that read the very input they replace, as a step of training does; then those that come later.
    for replaces in [true, false] {
        for (which, spec) in made.iter().enumerate() {
            let node = &request.nodes()[spec.node];
            let Some(&(at, place)) = first_writes.get(&node.id()) else { continue };
            if spec.len == 0 || found.iter().any(|pair| pair.made == which) {
                continue;
            }
            let fits = |&at_input: &usize| {
                let input = inputs[at_input];
                let last = last_reads[&input.id()];
                let is_free = if replaces { last == at && steps[at].may_replace(place, input) } else { last < at };
                is_free && (input.dtype(), input.len()) == (spec.dtype, spec.len)
            };
            if let Some(chosen) = (0..inputs.len()).find(fits) {
                let input = request.number(inputs.remove(chosen));
                found.push(InPlace { made: which, input });
            }
        }
    }
    found
}

fn steps(plan: &Plan) -> Vec<Step<'_>> {
    let mut steps = Vec::new();
    for kernel in &plan.kernels {
        let parts = match &kernel.form {
            Form::Rows(sizes) => Parts::Rows(sizes),
            Form::Contraction(_) => Parts::Same,
            Form::Alone if kernel.stages.len() == 1 => Parts::Same,
            Form::Alone | Form::Siblings => Parts::Any,
        };
        steps.push(Step { producers: &kernel.producers, stages: &kernel.stages, parts });
        let after = kernel.after.iter().map(std::slice::from_ref);
        steps.extend(after.map(|stages| Step { producers: &[], stages, parts: Parts::Same }));
    }
    steps
}

impl Step<'_> {
    /// Whether what a stage writes may take the place of what this step reads: no stage reads an element of it after one of that place is
    /// written, in this part or in another.
    fn may_replace(&self, writer: usize, input: &Node) -> bool {
        let is_turned = |place: usize| self.stages[place].led_by.is_some();
        let follows = |(place, stage): (usize, &Stage)| {
            let before = || place < writer && !is_turned(place) && !is_turned(writer);
            !stage.reads.contains(input)
                || place <= writer && stage.reads_where_it_writes(input) && (place == writer || before())
                || before() && self.reads_its_row(stage, input)
        };
        let is_packed = self.producers.iter().any(|producer| producer.stage.reads.contains(input));
        !matches!(self.parts, Parts::Any)
            && !is_packed
            && self.stages[writer].is_map()
            && self.stages.iter().enumerate().all(follows)
    }

    /// Whether each row of a stage reads of a node, which is as large as what is made, only the same row.
    fn reads_its_row(&self, stage: &Stage, node: &Node) -> bool {
        let (Parts::Rows(sizes), Work::MapReduce(work)) = (self.parts, &stage.work) else { return false };
        let reduced: &[usize] = work.reduce.as_ref().map_or(&[], |(_, axes)| axes);
        let has_rows = work.space.starts_with(sizes) && reduced.iter().all(|&axis| axis >= sizes.len());
        has_rows && node.len() == work.space.iter().product() && stage.reads_as_it_lies(node)
    }
}
