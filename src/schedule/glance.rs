//! A short look at the wanted part of the graph: enough to find the plan that is kept for it, and to run that.
//!
//! Every node is looked at once, while it is held: another thread may finish it, and let go of what led to it, right after. A
//! [`Snapshot`](super::snapshot::Snapshot) is the same with the ops, which only a new plan needs.

use super::fingerprint::{Fingerprint, Words};
use crate::dtype::Literal;
use crate::graph::{Harvest, IdMap, Node, Op};
use crate::ops::random;
use crate::ops::vector::lane_bits;
use std::cell::Cell;
use std::collections::hash_map::Entry;
use std::sync::{Arc, Mutex, PoisonError};

/// Lists of up to so many nodes are kept for the next request.
const MOST_KEPT: usize = 4096;

thread_local! {
    /// The lists of the thread's last look, empty.
    static SPARE: Cell<Option<Lists>> = const { Cell::new(None) };
}

/// The needed nodes at one moment.
pub(crate) struct Glance {
    lists: Lists,
    fingerprint: Fingerprint,
    /// Backward passes through some of the nodes, and whether all their gradients are made here.
    harvests: Mutex<Vec<(Arc<Harvest>, bool)>>,
}

/// What a look is made of. Requests of many nodes would get it from the system, and give it back, again and again: the next one takes
/// what the last one had.
#[derive(Default)]
struct Lists {
    /// Every needed node, by number: those that are wanted, then those that these need, and so on.
    nodes: Vec<Node>,
    numbers: IdMap<u32>,
    /// What each tells when a kernel is run.
    told: Vec<Told>,
    /// Nodes that were met just now.
    met: Vec<Node>,
    words: Vec<u64>,
}

/// What a node tells when a kernel is run.
enum Told {
    Nothing,
    Constant(Literal),
    Random { seed: u64, stream: u64 },
}

impl Drop for Glance {
    fn drop(&mut self) {
        if self.lists.nodes.len() > MOST_KEPT {
            return;
        }
        let mut lists = std::mem::take(&mut self.lists);
        lists.words = self.fingerprint.take_words();
        lists.nodes.clear();
        lists.numbers.clear();
        lists.told.clear();
        lists.words.clear();
        // Where the thread is ending there is no next request.
        let _ = SPARE.try_with(|spare| spare.set(Some(lists)));
    }
}

impl Glance {
    /// Looks at everything `wanted` needs: a view's base, and nothing behind a node that has its numbers. `see` is shown each op
    /// in turn, and whether the numbers are there or will be given.
    pub(crate) fn at(wanted: &[Node], mut see: impl FnMut(&Op, bool)) -> Glance {
        let mut lists = SPARE.try_with(Cell::take).ok().flatten().unwrap_or_default();
        let Lists { nodes, numbers, told, met, words } = &mut lists;
        let mut words = Words::new(std::mem::take(words));
        let mut tracks = false;
        words.count(wanted.len());
        wanted.iter().for_each(|node| words.count(number_of(node, numbers, met) as usize));
        nodes.append(met);
        let mut number = 0;
        while let Some(node) = nodes.get(number) {
            node.forget_history();
            node.with_op_and_buffer(|op, buffer| {
                let has_numbers = buffer.is_some() || matches!(op, Op::Input);
                words.node(node, op, has_numbers);
                if !has_numbers {
                    tracks |= node.tracks();
                    op.for_each_needed(|input| words.count(number_of(input, numbers, met) as usize));
                }
                told.push(match op {
                    Op::ConstFill(value) => Told::Constant(*value),
                    Op::Rand { seed, stream, .. } => Told::Random { seed: *seed, stream: *stream },
                    _ => Told::Nothing,
                });
                see(op, has_numbers);
            });
            nodes.append(met);
            number += 1;
        }
        let mut glance = Glance { lists, fingerprint: Fingerprint::default(), harvests: Mutex::default() };
        if tracks {
            // Whether gradients will be wanted later hangs on all that is needed now.
            glance.nodes().iter().filter(|node| node.tracks()).for_each(|node| words.truth(glance.keeps(node)));
        }
        glance.fingerprint = words.fingerprint();
        glance
    }

    /// Every needed node, by number.
    pub(crate) fn nodes(&self) -> &[Node] {
        &self.lists.nodes
    }

    /// The number of a node.
    pub(crate) fn number(&self, node: &Node) -> usize {
        self.lists.numbers[&node.id()] as usize
    }

    /// What the request has in common with all requests of the same plan.
    pub(crate) fn fingerprint(&self) -> &Fingerprint {
        &self.fingerprint
    }

    /// What a node tells when a kernel is run, by its number: the bits of one of its parts.
    pub(crate) fn told(&self, number: usize, part: u8) -> u64 {
        match self.lists.told[number] {
            Told::Constant(value) => lane_bits(value),
            Told::Random { seed, stream } => random::halves(seed, stream)[usize::from(part)].into(),
            Told::Nothing => unreachable!("only constants and random bits are told"),
        }
    }

    /// Whether the numbers of a node, once in memory, will be wanted again: a parameter's, and what a gradient that this request does not
    /// make may need.
    pub(crate) fn keeps(&self, node: &Node) -> bool {
        node.is_parameter() || (node.tracks() && !node.harvest().is_some_and(|harvest| self.brings_in(&harvest)))
    }

    /// Whether all gradients of a backward pass are there when this is done.
    fn brings_in(&self, harvest: &Arc<Harvest>) -> bool {
        let mut known = self.harvests.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, answer)) = known.iter().find(|(other, _)| Arc::ptr_eq(other, harvest)) {
            return *answer;
        }
        let answer = harvest.is_brought_in(|node| self.lists.numbers.contains_key(&node.id()));
        known.push((harvest.clone(), answer));
        answer
    }
}

/// The number of a node. One that is met for the first time goes to the end of `met`.
fn number_of(node: &Node, numbers: &mut IdMap<u32>, met: &mut Vec<Node>) -> u32 {
    let next = numbers.len() as u32;
    match numbers.entry(node.id()) {
        Entry::Occupied(known) => *known.get(),
        Entry::Vacant(place) => {
            met.push(node.clone());
            *place.insert(next)
        }
    }
}
