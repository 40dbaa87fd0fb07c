//! The order in which kernels run: what is read for the last time is read soon.
//!
//! In: kernels in an order in which they can run. Out: the same kernels, those that free more memory than they take moved forward to where
//! they can run first. A step of training so computes the gradient of each weight while what it is made from is still in a cache, and lets go of
//! activations one layer after the other.
//!
//! What makes a new version of an input, as an optimiser does, waits for all others that read the old one: then it can be written in its place.

use super::plan::{Kernel, Stage};
use crate::graph::{IdMap, Node};
use smallvec::SmallVec;

/// Kernels that take no more than so many bytes may run at any time.
const LITTLE: usize = 1 << 12;

/// Of so many kernels that could run, those that come first, one is chosen.
const CANDIDATES: usize = 64;

/// The kernels in a better order. `stays` says which nodes keep their numbers, whoever reads them.
pub(super) fn order(kernels: Vec<Kernel>, stays: impl Fn(&Node) -> bool) -> Vec<Kernel> {
    let order = Ordering::new(&kernels, &stays).order();
    let mut kernels: Vec<Option<Kernel>> = kernels.into_iter().map(Some).collect();
    order.into_iter().map(|kernel| kernels[kernel].take().expect("each runs once")).collect()
}

/// The kernels that use a node's numbers.
#[derive(Default)]
struct Users {
    maker: Option<usize>,
    /// Each once.
    readers: SmallVec<[usize; 4]>,
    /// How many of them are yet to run.
    left: usize,
    /// The bytes that are free when the last of them has run.
    bytes: usize,
}

/// What is known of a kernel.
#[derive(Default)]
struct Facts {
    /// The nodes that it reads and other kernels make, and those that it makes for others: by their places in [`Ordering::nodes`].
    reads: SmallVec<[usize; 8]>,
    makes: SmallVec<[usize; 4]>,
    /// How many kernels it waits for, and those that wait for it.
    waits: usize,
    waiting: Vec<usize>,
    /// The same, where waiting saves memory but is not needed.
    would_wait: usize,
    would_be_waiting: Vec<usize>,
}

struct Ordering {
    nodes: Vec<Users>,
    facts: Vec<Facts>,
}

impl Ordering {
    fn new(kernels: &[Kernel], stays: &dyn Fn(&Node) -> bool) -> Ordering {
        let mut places: IdMap<usize> = IdMap::default();
        let mut nodes: Vec<Users> = Vec::new();
        let mut facts: Vec<Facts> = kernels.iter().map(|_| Facts::default()).collect();
        let mut place = |node: &Node| {
            *places.entry(node.id()).or_insert_with(|| {
                nodes.push(Users::default());
                nodes.len() - 1
            })
        };
        let makes: Vec<SmallVec<[usize; 8]>> =
            kernels.iter().map(|kernel| kernel.all_stages().map(|stage| place(&stage.node)).collect()).collect();
        let reads: Vec<SmallVec<[usize; 8]>> =
            kernels.iter().map(|kernel| kernel.reads().map(&mut place).collect()).collect();
        for (at, kernel) in kernels.iter().enumerate() {
            for (stage, &node) in kernel.all_stages().zip(&makes[at]) {
                nodes[node].maker = Some(at);
                nodes[node].bytes = if stays(&stage.node) { 0 } else { stage.node.len() * stage.node.dtype().size() };
            }
        }
        for (at, reads) in reads.iter().enumerate() {
            for &node in reads.iter().filter(|node| !makes[at].contains(node)) {
                if !nodes[node].readers.contains(&at) {
                    nodes[node].readers.push(at);
                }
            }
        }
        for (at, kernel) in kernels.iter().enumerate() {
            let renewed = |(stage, read): (&Stage, &Node)| stays(&stage.node) && stage.reads_where_it_writes(read);
            let pairs = kernel.all_stages().flat_map(|stage| stage.reads.iter().map(move |read| (stage, read)));
            for (_, read) in pairs.filter(|&pair| renewed(pair)) {
                let users = &nodes[places[&read.id()]];
                for &other in users.readers.iter().filter(|&&other| users.maker.is_none() && other != at) {
                    facts[other].would_be_waiting.push(at);
                    facts[at].would_wait += 1;
                }
            }
        }
        for (node, users) in nodes.iter_mut().enumerate() {
            users.left = users.readers.len();
            let Some(maker) = users.maker else { continue };
            if users.left > 0 {
                facts[maker].makes.push(node);
            }
            for &reader in &users.readers {
                facts[reader].reads.push(node);
                facts[reader].waits += 1;
                facts[maker].waiting.push(reader);
            }
        }
        Ordering { nodes, facts }
    }

    /// The kernels' places in the order in which they run.
    fn order(mut self) -> Vec<usize> {
        let count = self.facts.len();
        // In the given order.
        let mut ready: Vec<usize> = (0..count).filter(|&kernel| self.facts[kernel].waits == 0).collect();
        let mut order = Vec::with_capacity(count);
        while let Some(place) = self.choose(&ready) {
            let kernel = ready.remove(place);
            order.push(kernel);
            let facts = &mut self.facts[kernel];
            let (waiting, would_be_waiting) =
                (std::mem::take(&mut facts.waiting), std::mem::take(&mut facts.would_be_waiting));
            for &node in &self.facts[kernel].reads {
                self.nodes[node].left -= 1;
            }
            for other in would_be_waiting {
                self.facts[other].would_wait -= 1;
            }
            for other in waiting {
                self.facts[other].waits -= 1;
                if self.facts[other].waits == 0 {
                    ready.insert(ready.partition_point(|&earlier| earlier < other), other);
                }
            }
        }
        order
    }

    /// Which of the kernels that can run does so next: the one that frees the most, if any does; else the first.
    fn choose(&self, ready: &[usize]) -> Option<usize> {
        let mut best: Option<(usize, usize)> = None;
        for (place, &kernel) in ready.iter().enumerate().take(CANDIDATES) {
            let facts = &self.facts[kernel];
            if facts.would_wait > 0 {
                continue;
            }
            let is_last = |node: &&usize| self.nodes[**node].left == 1;
            let freed: usize = facts.reads.iter().filter(is_last).map(|&node| self.nodes[node].bytes).sum();
            let taken: usize = facts.makes.iter().map(|&node| self.nodes[node].bytes).sum();
            let gain = (freed + LITTLE).checked_sub(taken);
            if let Some(gain) = gain.filter(|&gain| best.is_none_or(|(_, most)| gain > most)) {
                best = Some((place, gain));
            }
        }
        let first = || ready.iter().position(|&kernel| self.facts[kernel].would_wait == 0);
        let any = || (!ready.is_empty()).then_some(0);
        best.map(|(place, _)| place).or_else(first).or_else(any)
    }
}
