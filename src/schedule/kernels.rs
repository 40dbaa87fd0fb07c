//! Which stages become one kernel: row by row, side by side, or one after the other.
//!
//! Stages are taken in running order. Each joins a kernel that makes what it reads, or reads what it reads, where it can;
//! and then the kernels of its other operands may become one with that. Kernels never wait for each other in a circle.

use super::contraction::{Contraction, contraction, finishes};
use super::plan::{Form, Kernel, MapReduce, Stage, Work};
use super::rows::{self, Member, RowFacts};
use super::turned::{LedBy, turned};
use crate::graph::{IdMap, Node};
use smallvec::SmallVec;

/// The most stages of one kernel.
const MOST_STAGES: usize = 32;

/// A stage with this many times less work than its kernel is small.
const SMALL: usize = 8;

/// Stages of so few elements are small beside anything.
const NEXT_TO_NOTHING: usize = 1 << 8;

/// How many kernels that read the same numbers are looked at for company.
const NEIGHBOURS: usize = 4;

/// The kernels that the stages, in running order, become.
pub(super) fn kernels(stages: Vec<Stage>) -> Vec<Kernel> {
    let mut forming = Forming::new(&stages);
    for stage in 0..stages.len() {
        forming.place(stage);
    }
    let drafts = forming.finish();
    let mut stages: Vec<Option<Stage>> = stages.into_iter().map(Some).collect();
    let mut take = |places: &[usize]| places.iter().map(|&place| stages[place].take().expect("once")).collect();
    let kernel = |(draft, form, led_by): (Draft, Form, LedBy)| {
        let (mut stages, after): (Vec<Stage>, _) = (take(&draft.stages), take(&draft.after));
        for (stage, axis) in stages.iter_mut().zip(led_by) {
            stage.led_by = axis;
        }
        Kernel { stages, form, after, producers: Vec::new() }
    };
    drafts.into_iter().map(kernel).collect()
}

/// A kernel that is being put together. Stages are known by their places in the running order, and stay in it.
#[derive(Clone, Default)]
struct Draft {
    stages: Vec<usize>,
    /// Small stages that run when the others are done.
    after: Vec<usize>,
    /// The stages run side by side.
    siblings: bool,
    /// The stages run row by row.
    rows: bool,
    /// Some of them are led by an axis that is not their first.
    turned: bool,
}

impl Draft {
    fn all(&self) -> impl Iterator<Item = usize> + '_ {
        self.stages.iter().chain(&self.after).copied()
    }
}

struct Forming<'a> {
    stages: &'a [Stage],
    facts: Vec<Option<RowFacts>>,
    /// The roles of the axes of stages that are contractions.
    contractions: Vec<Option<Contraction>>,
    /// By node, the first of the stages that make it.
    makers: IdMap<usize>,
    /// By node, the stages placed so far that read it.
    readers: IdMap<SmallVec<[usize; 4]>>,
    drafts: Vec<Draft>,
    /// The draft of each stage placed so far.
    home: Vec<usize>,
}

impl<'a> Forming<'a> {
    fn new(stages: &'a [Stage]) -> Forming<'a> {
        let mut makers = IdMap::default();
        for (place, stage) in stages.iter().enumerate() {
            makers.entry(stage.node.id()).or_insert(place);
        }
        let contractions: Vec<_> = stages.iter().map(|stage| contraction(reduction(stage)?)).collect();
        let facts =
            stages.iter().zip(&contractions).map(|(stage, roles)| RowFacts::of(stage, roles.as_ref())).collect();
        Forming { stages, facts, contractions, makers, readers: IdMap::default(), drafts: Vec::new(), home: Vec::new() }
    }

    /// Puts a stage into a draft.
    fn place(&mut self, stage: usize) {
        let producers = self.producers(stage);
        let company = self.company(stage);
        let draft = self.find_draft(stage, &producers, &company);
        self.home.push(draft);
        for read in &self.stages[stage].reads {
            self.readers.entry(read.id()).or_default().push(stage);
        }
        for other in producers.into_iter().filter(|&other| other != draft) {
            self.merge(other, draft);
        }
    }

    /// The drafts that make what a stage reads, youngest first.
    fn producers(&self, stage: usize) -> SmallVec<[usize; 4]> {
        let mut producers: SmallVec<[usize; 4]> = SmallVec::new();
        for read in &self.stages[stage].reads {
            if let Some(&maker) = self.makers.get(&read.id())
                && !producers.contains(&self.home[maker])
            {
                producers.push(self.home[maker]);
            }
        }
        producers.sort_unstable_by(|a, b| b.cmp(a));
        producers
    }

    /// Drafts that read much of what a stage reads, youngest first. Contractions are no company: they read everything many times over
    /// anyway, and are better off with who reads what they make.
    fn company(&self, stage: usize) -> SmallVec<[usize; 4]> {
        let mut company: SmallVec<[usize; 4]> = SmallVec::new();
        let is_loop = |stage: usize| self.contractions[stage].is_none();
        let Some(facts) = self.facts[stage].as_ref().filter(|_| is_loop(stage)) else { return company };
        for read in self.stages[stage].reads.iter().filter(|read| read.len() >= facts.work() / 2) {
            let readers = self.readers.get(&read.id()).into_iter().flatten().rev().take(NEIGHBOURS);
            for &reader in readers.filter(|&&reader| is_loop(reader)) {
                if !company.contains(&self.home[reader]) {
                    company.push(self.home[reader]);
                }
            }
        }
        company.sort_unstable_by(|a, b| b.cmp(a));
        company
    }

    /// The draft that a stage joins, or a new one.
    fn find_draft(&mut self, stage: usize, producers: &[usize], company: &[usize]) -> usize {
        let free = |other: &&usize| producers.iter().all(|&p| p == **other || !self.waits_for(p, **other));
        let drafts: SmallVec<[usize; 8]> = producers
            .iter()
            .chain(company.iter().filter(|other| !producers.contains(other)))
            .filter(free)
            .copied()
            .collect();
        let part_of_one =
            self.stages[stage].region.is_some() && stage > 0 && self.stages[stage - 1].node == self.stages[stage].node;
        if part_of_one {
            let draft = self.home[stage - 1];
            self.drafts[draft].stages.push(stage);
            return draft;
        }
        if let Some(&draft) = drafts.iter().find(|&&draft| self.finishes(stage, draft)) {
            self.drafts[draft].stages.push(stage);
            return draft;
        }
        if let Some(&draft) = drafts.iter().find(|&&draft| self.runs_with(stage, draft, false)) {
            self.drafts[draft].stages.push(stage);
            self.drafts[draft].rows = true;
            return draft;
        }
        if let Some(&draft) = drafts.iter().find(|&&draft| self.is_sibling(stage, draft)) {
            self.drafts[draft].stages.push(stage);
            self.drafts[draft].siblings = true;
            return draft;
        }
        if let Some(&draft) = drafts.iter().find(|&&draft| producers.contains(&draft) && self.is_small(stage, draft)) {
            self.drafts[draft].after.push(stage);
            return draft;
        }
        if let Some(&draft) = drafts.iter().find(|&&draft| self.runs_with(stage, draft, true)) {
            self.drafts[draft].stages.push(stage);
            self.drafts[draft].rows = true;
            return draft;
        }
        if let Some(&draft) = drafts.iter().find(|&&draft| producers.contains(&draft) && self.turns_with(stage, draft))
        {
            self.drafts[draft].stages.push(stage);
            self.drafts[draft].turned = true;
            return draft;
        }
        self.drafts.push(Draft { stages: vec![stage], ..Draft::default() });
        self.drafts.len() - 1
    }

    /// Whether `draft` needs, by any way, what `other` makes.
    fn waits_for(&self, draft: usize, other: usize) -> bool {
        let Some(&first) = self.drafts[other].stages.first() else { return false };
        let mut seen: SmallVec<[usize; 16]> = SmallVec::from_elem(draft, 1);
        let mut next = 0;
        while next < seen.len() {
            let draft = seen[next];
            next += 1;
            for stage in self.drafts[draft].all() {
                for read in &self.stages[stage].reads {
                    let Some(&maker) = self.makers.get(&read.id()) else { continue };
                    let home = self.home[maker];
                    if home == other && draft != other {
                        return true;
                    }
                    // What was done before the other began does not wait for it.
                    let is_later = self.drafts[home].all().any(|stage| stage > first);
                    if is_later && !seen.contains(&home) {
                        seen.push(home);
                    }
                }
            }
        }
        false
    }

    /// Whether a stage can run on the tiles of a draft's contraction, as each is done.
    fn finishes(&self, stage: usize, draft: usize) -> bool {
        let draft = &self.drafts[draft];
        let Some(&first) = draft.stages.first().filter(|_| !draft.rows) else { return false };
        let Some(roles) = &self.contractions[first] else { return false };
        let reads_after = draft.after.iter().any(|&after| self.stages[stage].reads.contains(&self.stages[after].node));
        let made: SmallVec<[&Node; 4]> = draft.stages.iter().map(|&stage| &self.stages[stage].node).collect();
        let work = reduction(&self.stages[first]).expect("a contraction reduces");
        !reads_after && draft.stages.len() < MOST_STAGES && finishes(&self.stages[stage], work, roles, &made)
    }

    fn member(&self, stage: usize) -> Option<Member<'_>> {
        Some((&self.stages[stage], self.facts[stage].as_ref()?))
    }

    /// Whether a stage can run row by row with all of a draft.
    fn runs_with(&self, stage: usize, draft: usize, columns: bool) -> bool {
        let draft = &self.drafts[draft];
        let reads_after = draft.after.iter().any(|&after| self.stages[stage].reads.contains(&self.stages[after].node));
        if draft.siblings || reads_after || draft.stages.len() >= MOST_STAGES {
            return false;
        }
        let all = draft.stages.iter().copied().chain([stage]);
        if draft.turned { self.turned(all).is_some() } else { self.lead(all, columns).is_some() }
    }

    /// Whether a stage, or others, can run row by row with all of a draft if led by an axis that is not its first.
    fn turns_with(&self, stage: usize, draft: usize) -> bool {
        let draft = &self.drafts[draft];
        draft.rows
            && !draft.turned
            && draft.after.is_empty()
            && draft.stages.len() < MOST_STAGES
            && self.turned(draft.stages.iter().copied().chain([stage])).is_some()
    }

    fn turned(&self, stages: impl Iterator<Item = usize>) -> Option<(usize, LedBy)> {
        let members: Option<SmallVec<[Member<'_>; 8]>> = stages.map(|stage| self.member(stage)).collect();
        turned(&members?)
    }

    fn lead(&self, stages: impl Iterator<Item = usize>, columns: bool) -> Option<usize> {
        let members: Option<SmallVec<[Member<'_>; 8]>> = stages.map(|stage| self.member(stage)).collect();
        rows::lead(&members?, columns)
    }

    /// Whether a stage is a reduction like those of a draft, over numbers that they read too.
    fn is_sibling(&self, stage: usize, draft: usize) -> bool {
        let stages = &self.drafts[draft].stages;
        let shares = |stage: usize, other: usize| {
            let (stage, other) = (&self.stages[stage], &self.stages[other]);
            match (reduction(stage), reduction(other)) {
                (Some(a), Some(b)) => {
                    let same_axes = a.reduce.as_ref().map(|(_, axes)| axes) == b.reduce.as_ref().map(|(_, axes)| axes);
                    a.space == b.space && same_axes && stage.reads.iter().any(|read| other.reads.contains(read))
                }
                _ => false,
            }
        };
        let makes = |other: usize| self.stages[stage].reads.contains(&self.stages[other].node);
        let kinds = stages.len() == 1 || self.drafts[draft].siblings;
        let is_loop = |stage: usize| self.contractions[stage].is_none();
        kinds
            && is_loop(stage)
            && stages.iter().all(|&other| is_loop(other))
            && stages.len() < MOST_STAGES
            && stages.iter().all(|&other| shares(stage, other))
            && !self.drafts[draft].all().any(makes)
    }

    /// Whether a stage is small beside the work of a draft, so that it may run when that is done.
    fn is_small(&self, stage: usize, draft: usize) -> bool {
        let draft = &self.drafts[draft];
        let Some(facts) = self.facts[stage].as_ref().filter(|_| self.contractions[stage].is_none()) else {
            return false;
        };
        let largest = draft.stages.iter().filter_map(|&stage| self.facts[stage].as_ref()).map(RowFacts::work).max();
        let Some(largest) = largest else { return false };
        draft.after.len() < MOST_STAGES
            && (facts.work() <= NEXT_TO_NOTHING || facts.work().saturating_mul(SMALL) <= largest)
    }

    /// Makes one draft of two, of which `draft` reads what `other` makes, if that can be: row by row, or with all that is
    /// small in `other` after `draft`.
    fn merge(&mut self, other: usize, draft: usize) {
        let between = |read: &Node| {
            let maker = self.makers.get(&read.id());
            maker.map(|&maker| self.home[maker]).filter(|&home| home != draft && home != other)
        };
        // A way from one to the other through a third would become a circle.
        let reads = self.drafts[draft].all().flat_map(|stage| &self.stages[stage].reads);
        let detour = reads.filter_map(between).any(|third| self.waits_for(third, other));
        if detour || self.drafts[other].siblings || self.drafts[draft].siblings {
            return;
        }
        let (from, to) = (&self.drafts[other], &self.drafts[draft]);
        let merged = |a: &[usize], b: &[usize]| {
            let mut both: Vec<usize> = a.iter().chain(b).copied().collect();
            both.sort_unstable();
            both
        };
        let reads = |stages: &[usize], makers: &[usize]| {
            let made = |read: &Node| makers.iter().any(|&maker| self.stages[maker].node == *read);
            stages.iter().any(|&stage| self.stages[stage].reads.iter().any(made))
        };
        let stages = merged(&from.stages, &to.stages);
        let after = merged(&from.after, &to.after);
        let in_rows = stages.len() <= MOST_STAGES
            && !reads(&to.stages, &from.after)
            && match from.turned || to.turned {
                true => self.turned(stages.iter().copied()).is_some(),
                false => self.lead(stages.iter().copied(), false).is_some(),
            };
        let is_turned = from.turned || to.turned;
        let small = !reads(&to.stages, &merged(&from.stages, &from.after))
            && from.all().all(|stage| self.is_small(stage, draft))
            && !self.waits_for(other, draft);
        let joined = if in_rows {
            Draft { stages, after, siblings: false, rows: true, turned: is_turned }
        } else if small {
            Draft {
                stages: to.stages.clone(),
                after: merged(&merged(&from.stages, &from.after), &to.after),
                siblings: false,
                rows: to.rows,
                turned: to.turned,
            }
        } else {
            return;
        };
        self.drafts[draft] = joined;
        self.drafts[other] = Draft::default();
        for stage in self.drafts[draft].all().collect::<Vec<_>>() {
            self.home[stage] = draft;
        }
    }

    /// The drafts in running order, each with its form, and with what leads its stages.
    fn finish(self) -> Vec<(Draft, Form, LedBy)> {
        let mut order: Vec<usize> = Vec::with_capacity(self.drafts.len());
        let mut done = vec![false; self.drafts.len()];
        // Operands before users, by a list instead of recursion. `true`: the operands are done.
        let mut stack: Vec<(usize, bool)> = (0..self.drafts.len()).rev().map(|draft| (draft, false)).collect();
        while let Some((draft, ready)) = stack.pop() {
            if done[draft] || self.drafts[draft].stages.is_empty() {
                continue;
            }
            if ready {
                done[draft] = true;
                order.push(draft);
                continue;
            }
            stack.push((draft, true));
            let stages: Vec<usize> = self.drafts[draft].all().collect();
            for producer in stages.into_iter().flat_map(|stage| self.producers(stage)) {
                if producer != draft && !done[producer] {
                    stack.push((producer, false));
                }
            }
        }
        let finished = |draft: usize| {
            let draft = self.drafts[draft].clone();
            let turned = if draft.turned { self.turned(draft.stages.iter().copied()) } else { None };
            let (form, led_by) = match turned {
                Some((rows, led_by)) => (Form::Rows([rows].as_slice().into()), led_by),
                None => (self.form(&draft), LedBy::new()),
            };
            (draft, form, led_by)
        };
        order.into_iter().map(finished).collect()
    }

    fn form(&self, draft: &Draft) -> Form {
        let stages = &draft.stages;
        if draft.siblings {
            return Form::Siblings;
        }
        if let Some(roles) = self.contractions[stages[0]].as_ref().filter(|_| !draft.rows) {
            return Form::Contraction(roles.clone());
        }
        if stages.len() == 1 || self.stages[stages[0]].region.is_some() {
            return Form::Alone;
        }
        let lead = self.lead(stages.iter().copied(), false).or_else(|| self.lead(stages.iter().copied(), true));
        let lead = lead.expect("stages were joined because they share rows");
        Form::Rows(rows::row_sizes(self.member(stages[0]).expect("a stage with rows"), lead))
    }
}

/// The map-reduce of a stage that reduces.
fn reduction(stage: &Stage) -> Option<&MapReduce> {
    match &stage.work {
        Work::MapReduce(work) if work.reduce.is_some() && !work.space.contains(&0) => Some(work),
        _ => None,
    }
}
