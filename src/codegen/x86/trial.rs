//! Which parts of a large output are left in the caches: tried out, where the program is run again and again.
//!
//! Ordinary stores push out of the caches what will be read, and leave there what they store; stores past them do neither, and go at the pace
//! of the memory. Which of them takes less time goes by how much cache the threads have between them and by what else wants it. No machine
//! tells that, and virtual ones tell it wrong. An output of 30 MiB, made of as much on two processors, takes a tenth less time with half of its parts
//! stored in the ordinary way if each has a last cache of 32 MiB, and a third more if they share one.
//!
//! So a program begins with all parts stored past the caches; if it is run again, it tries a few shares for a few runs each, keeps
//! the quickest, and asks anew from time to time. Nothing but the time depends on it.

use super::machine::last_cache;
use super::stream::LARGE;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, AtomicUsize};
use std::sync::{Mutex, PoisonError};
use std::thread::available_parallelism;
use std::time::Instant;

/// Shares are told in parts of so many.
const OF: usize = 8;
/// The shares that are tried: how many parts are left in the caches.
const SHARES: [u8; 4] = [0, 2, 4, 8];
/// So many runs each.
const RUNS: usize = 9;
/// The first of them bring the caches to where that share leaves them.
const FIRST: usize = 2;
/// A share must be better than none by so much: one part in this many.
const BETTER: u64 = 50;
/// After so many runs, the machine may be another.
const AGAIN: usize = 2048;

/// The shares of one program.
pub(super) struct Trial {
    /// The share of this run.
    share: AtomicU8,
    is_on: AtomicBool,
    /// Runs since it was last on.
    since: AtomicUsize,
    /// Of the run that it watches: the parts that have ended, and the nanoseconds they took.
    ended: AtomicUsize,
    took: AtomicU64,
    /// What the runs of this trial took.
    runs: Mutex<Vec<u64>>,
}

/// A part that is running.
pub(super) struct Turn {
    /// Its output is left in the caches.
    pub(super) is_kept: bool,
    began: Option<Instant>,
}

impl Trial {
    /// For an output of so many bytes, if stores may take either way.
    pub(super) fn of(bytes: usize) -> Option<Trial> {
        let processors = available_parallelism().map_or(1, usize::from);
        (LARGE..processors.saturating_mul(last_cache())).contains(&bytes).then(|| Trial {
            share: AtomicU8::new(SHARES[0]),
            is_on: AtomicBool::new(true),
            since: AtomicUsize::new(0),
            ended: AtomicUsize::new(0),
            took: AtomicU64::new(0),
            runs: Mutex::new(Vec::new()),
        })
    }

    /// A part begins.
    pub(super) fn begin(&self, part: usize) -> Turn {
        if !self.is_on.load(Relaxed) && part == 0 && self.since.fetch_add(1, Relaxed) + 1 == AGAIN {
            self.share.store(SHARES[0], Relaxed);
            self.is_on.store(true, Relaxed);
        }
        let is_kept = part % OF < usize::from(self.share.load(Relaxed));
        Turn { is_kept, began: self.is_on.load(Relaxed).then(Instant::now) }
    }

    /// A part of so many has ended. What they took is added up: a thread that comes late changes nothing.
    pub(super) fn end(&self, turn: &Turn, parts: usize) {
        let Some(began) = turn.began else { return };
        self.took.fetch_add(began.elapsed().as_nanos() as u64, Relaxed);
        if self.ended.fetch_add(1, Relaxed) + 1 == parts {
            self.ended.fetch_sub(parts, Relaxed);
            self.note(self.took.swap(0, Relaxed));
        }
    }

    /// A run has ended, which took so long.
    fn note(&self, took: u64) {
        let mut runs = self.runs.lock().unwrap_or_else(PoisonError::into_inner);
        runs.push(took);
        if let Some(&share) = SHARES.get(runs.len() / RUNS) {
            return self.share.store(share, Relaxed);
        }
        let medians: Vec<u64> = runs.chunks_mut(RUNS).map(|runs| median(&mut runs[FIRST..])).collect();
        let needed = medians[0] - medians[0] / BETTER;
        let quickest = (1..SHARES.len()).filter(|&k| medians[k] < needed).min_by_key(|&k| medians[k]).unwrap_or(0);
        runs.clear();
        self.share.store(SHARES[quickest], Relaxed);
        self.since.store(0, Relaxed);
        self.is_on.store(false, Relaxed);
    }
}

fn median(times: &mut [u64]) -> u64 {
    times.sort_unstable();
    times[times.len() / 2]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ends a trial in which a run with the given share takes so long; the share it settles for.
    fn settle(trial: &Trial, took: impl Fn(u8, usize) -> u64) -> u8 {
        for run in 0..SHARES.len() * RUNS {
            assert!(trial.is_on.load(Relaxed), "run {run}");
            trial.note(took(trial.share.load(Relaxed), run % RUNS));
        }
        assert!(!trial.is_on.load(Relaxed));
        trial.share.load(Relaxed)
    }

    fn trial() -> Trial {
        Trial::of(LARGE).expect("any machine has so large a cache")
    }

    #[test]
    fn the_quickest_share_is_kept() {
        let slow_at = |share: u8| u64::from(share.abs_diff(4)) * 100;
        assert_eq!(settle(&trial(), |share, _| 1000 + slow_at(share)), 4);
        assert_eq!(settle(&trial(), |share, _| 1000 - u64::from(share) * 10), 8);
    }

    #[test]
    fn little_is_no_reason_and_neither_are_a_few_runs() {
        assert_eq!(settle(&trial(), |share, _| 1000 - u64::from(share)), 0);
        assert_eq!(settle(&trial(), |_, _| 0), 0);
        let few = |share, run| if share == 2 && run < FIRST + (RUNS - FIRST) / 2 { 10 } else { 1000 };
        assert_eq!(settle(&trial(), few), 0);
        assert_eq!(
            settle(&trial(), |share, run| if (share, run) == (4, RUNS - 1) {
                9000
            } else {
                1000 - u64::from(share) * 30
            }),
            8
        );
    }

    #[test]
    fn it_asks_again() {
        let trial = trial();
        assert_eq!(settle(&trial, |share, _| 1000 - 100 * u64::from(share)), 8);
        for run in 1..AGAIN {
            let turns = [0, 1, 7].map(|part| trial.begin(part));
            assert!(turns.iter().all(|turn| turn.is_kept && turn.began.is_none()), "run {run}");
        }
        assert!(trial.begin(0).began.is_some());
        assert_eq!(settle(&trial, |share, _| 1000 + 100 * u64::from(share)), 0);
    }

    #[test]
    fn a_run_has_ended_when_all_parts_have() {
        let trial = trial();
        for run in 0..SHARES.len() * RUNS {
            for part in 0..5 {
                assert_eq!(trial.runs.lock().expect("nobody panicked").len(), run);
                trial.end(&trial.begin(part), 5);
            }
        }
        assert!(!trial.is_on.load(Relaxed));
    }

    #[test]
    fn small_outputs_and_those_beyond_all_caches_are_not_tried() {
        assert!(Trial::of(LARGE - 1).is_none());
        assert!(Trial::of(usize::MAX).is_none());
    }
}
