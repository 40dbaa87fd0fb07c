//! The plan cache: a request whose structure was seen before is served by the plan made then.

use super::debug;
use super::prepared::{Keep, Prepared};
use crate::ops::vector::QuickMap;
use crate::schedule::{Fingerprint, Glance, Request};
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};

/// Larger requests are planned afresh each time: their fingerprints and plans would take too much memory.
const MOST_NODES: usize = 1 << 16;

/// When so many nodes' plans are kept, those that were not asked for since the last time are let go.
const MOST_KEPT: usize = 1 << 20;

static PLANS: LazyLock<Mutex<Plans>> = LazyLock::new(Mutex::default);

/// Plans by fingerprint.
#[derive(Default)]
struct Plans {
    kept: QuickMap<Fingerprint, Kept>,
    /// The nodes of all kept requests.
    nodes: usize,
    /// Counts the times that plans were let go.
    turn: u64,
}

struct Kept {
    prepared: Arc<Prepared>,
    nodes: usize,
    /// The turn in which it was last asked for.
    used: u64,
}

/// The plan that is kept for all requests like this one.
pub(super) fn kept(glance: &Glance) -> Option<Arc<Prepared>> {
    if glance.nodes().len() > MOST_NODES { None } else { plans().find(glance.fingerprint()) }
}

/// A new plan of a request, kept for all that are like it.
pub(super) fn prepare_and_keep(request: &Request) -> Arc<Prepared> {
    // Not under the lock: a plan may take milliseconds. Two threads that make the same one at once both keep theirs.
    let prepared = Arc::new(prepare(request, Keep::Needed));
    let nodes = request.nodes().len();
    if nodes <= MOST_NODES {
        plans().keep(request.glance().fingerprint().for_long(), prepared.clone(), nodes);
    }
    prepared
}

fn plans() -> MutexGuard<'static, Plans> {
    PLANS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A new plan.
pub(super) fn prepare(request: &Request, keep: Keep) -> Prepared {
    #[cfg(test)]
    tests::PLANNED.with(|planned| planned.set(planned.get() + 1));
    let plan = request.plan();
    let prepared = Prepared::new(&plan, request, keep);
    debug::print(&plan, &prepared);
    prepared
}

impl Plans {
    fn find(&mut self, fingerprint: &Fingerprint) -> Option<Arc<Prepared>> {
        let turn = self.turn;
        let kept = self.kept.get_mut(fingerprint)?;
        kept.used = turn;
        Some(kept.prepared.clone())
    }

    fn keep(&mut self, fingerprint: Fingerprint, prepared: Arc<Prepared>, nodes: usize) {
        if self.nodes + nodes > MOST_KEPT {
            let turn = self.turn;
            self.kept.retain(|_, kept| kept.used == turn);
            self.nodes = self.kept.values().map(|kept| kept.nodes).sum();
            if self.nodes + nodes > MOST_KEPT {
                (self.kept, self.nodes) = (QuickMap::default(), 0);
            }
            self.turn += 1;
        }
        let old = self.kept.insert(fingerprint, Kept { prepared, nodes, used: self.turn });
        self.nodes += nodes - old.map_or(0, |old| old.nodes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dtype::{DType, Literal};
    use crate::graph::{Node, ReduceKind};
    use crate::memory::Buffer;
    use crate::runtime::{execute, read};
    use std::cell::Cell;

    thread_local! {
        /// How many plans this thread has made.
        pub(super) static PLANNED: Cell<usize> = const { Cell::new(0) };
    }

    fn data(values: &[f32]) -> Node {
        Node::from_buffer(Buffer::from_slice("test", values).unwrap(), [values.len()].as_slice().into())
    }

    fn plan(node: &Node) -> Arc<Prepared> {
        let request = Request::new(vec![node.base()]);
        kept(request.glance()).unwrap_or_else(|| prepare_and_keep(&request))
    }

    /// A step of descent with noise.
    fn step(x: &Node, rate: f32, seed: u64) -> Node {
        let rate = Node::full(x.shape(), Literal::F32(rate)).unwrap();
        let bits = Node::random_bits(x.shape(), seed, 3, 0).unwrap().cast(DType::F32).unwrap();
        &(x - &(&rate * x)) + &(&bits * 1e-12)
    }

    #[test]
    fn other_numbers_have_the_same_plan_and_are_the_numbers_that_count() {
        let (x, y) = (data(&[1.0, 2.0, 3.0]), data(&[-4.0, 5.0, 6.0]));
        let (a, b) = (step(&x, 0.25, 7), step(&y, 0.125, 8));
        assert!(Arc::ptr_eq(&plan(&a), &plan(&b)));
        for (node, numbers, rate, seed) in [(a, [1.0f32, 2.0, 3.0], 0.25f32, 7), (b, [-4.0, 5.0, 6.0], 0.125, 8)] {
            let found = read(&node).unwrap().to_vec::<f32>("test").unwrap();
            let noise = |k: usize| crate::ops::random::philox(seed, 3, k as u64)[0] as f32 * 1e-12;
            let wanted: Vec<f32> = numbers.iter().enumerate().map(|(k, x)| (x - rate * x) + noise(k)).collect();
            assert_eq!(found, wanted);
        }
    }

    #[test]
    fn a_request_for_several_nodes_has_the_same_plan_wherever_they_lie_in_memory() {
        let mut held = Vec::new();
        let mut last: Vec<Node> = (0..6).map(|k| data(&[k as f32, 1.0, 2.0])).collect();
        let before = PLANNED.get();
        for turn in 0..20 {
            let mut next: Vec<(usize, Node)> = Vec::new();
            // Made in another order each time, and asked for in the same one.
            for k in [3, 0, 5, 1, 4, 2].into_iter().map(|k| (k + turn) % 6) {
                // No two are made in the same way.
                next.push((k, (0..k).fold(&last[k] * 0.9, |node, _| &node * 0.9)));
                held.push(data(&[1.0])); // other addresses for what follows
            }
            next.sort_by_key(|(k, _)| *k);
            last = next.into_iter().map(|(_, node)| node).collect();
            execute(&last).unwrap();
            held.truncate(held.len() - 5);
        }
        assert_eq!(PLANNED.get() - before, 1);
    }

    #[test]
    fn what_a_plan_depends_on_tells_requests_apart() {
        let x = data(&[1.0, 2.0, 3.0, 4.0]);
        let sum = |node: &Node, axis| node.reduce("sum", ReduceKind::Sum, &[axis], false).unwrap();
        let matrix = x.reshaped(&[2, 2]);
        let shared = x.exp();
        let same_again = |node: &Node| Arc::ptr_eq(&plan(node), &plan(node));
        let different = [
            &x + &x,
            &x - &x,
            &x + &data(&[1.0; 4]),
            &x + 3.0,
            &x + 2.0, // one of the numbers that everyone uses
            &x + 1.0,
            &shared * &shared,
            &x.exp() * &x.exp(),
            x.cast(DType::F64).unwrap(),
            x.cast(DType::F16).unwrap(),
            sum(&matrix, 0),
            sum(&matrix, 1),
            sum(&matrix.swapped(0, 1), 1),
            data(&[1.0; 5]).exp(),
            x.exp(),
        ];
        for (place, node) in different.iter().enumerate() {
            assert!(same_again(node), "{place}");
            for other in &different[..place] {
                assert!(!Arc::ptr_eq(&plan(node), &plan(other)), "{place}");
            }
        }
    }
}
