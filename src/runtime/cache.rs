//! The plan cache: a request whose structure was seen before is served by the plan made then.

use super::debug;
use super::prepared::{Keep, Prepared};
use crate::schedule::{Fingerprint, Request};
use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

/// Larger requests are planned afresh each time: writing down and keeping their fingerprints would cost too much.
const MOST_NODES: usize = 1 << 16;

/// When so many nodes' plans are kept, those that were not asked for since the last time are let go.
const MOST_KEPT: usize = 1 << 20;

static PLANS: LazyLock<Mutex<Plans>> = LazyLock::new(Mutex::default);

/// Plans by fingerprint.
#[derive(Default)]
struct Plans {
    kept: HashMap<Fingerprint, Kept>,
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

/// The plan of a request: one kept, or a new one.
pub(super) fn prepared(request: &Request) -> Arc<Prepared> {
    let prepare = || Arc::new(prepare(request, Keep::Needed));
    if request.nodes().len() > MOST_NODES {
        return prepare();
    }
    let fingerprint = request.fingerprint();
    let plans = || PLANS.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(found) = plans().find(&fingerprint) {
        return found;
    }
    // Not under the lock: a plan may take milliseconds. Two threads that make the same one at once both keep theirs.
    let prepared = prepare();
    plans().keep(fingerprint, prepared.clone(), request.nodes().len());
    prepared
}

/// A new plan.
pub(super) fn prepare(request: &Request, keep: Keep) -> Prepared {
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
                (self.kept, self.nodes) = (HashMap::new(), 0);
            }
            self.turn += 1;
        }
        let old = self.kept.insert(fingerprint, Kept { prepared, nodes, used: self.turn });
        self.nodes += nodes - old.map_or(0, |old| old.nodes);
    }
}
