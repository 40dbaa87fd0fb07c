//! Which of several ways a program takes: tried out, where it is run again and again.
//!
//! What is quickest may go by how much cache the threads have between them, by whether they share a way to memory, and by what else wants either. No machine
//! tells that, and virtual ones tell it wrong and move their processors about. An output of 30 MiB, made of as much on two processors, takes a tenth
//! less time with half of its parts left in the caches if each has a last cache of 32 MiB, and a third more if they share one.
//!
//! So a program begins with its first way; if it is run again, it tries each for a few runs, keeps the quickest, and asks anew from time to time
//! or when runs begin to take another time. Nothing but the time depends on it: a part makes the same elements whichever way it takes.

use smallvec::SmallVec;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicU64, AtomicUsize};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

/// So many runs of each, one way after the other, and all of it again: a machine that wakes up, or is wanted by others for a while, is so for all.
const RUNS: usize = 8;
const ROUNDS: usize = 2;
/// The first of those runs bring the caches to where that way leaves them.
const FIRST: usize = 2;
/// Of the others, the one that so many are quicker than: noise only ever adds, but a few may have been lucky.
const LUCKY: usize = 3;
/// A way must be better than the first by so much: one part in this many.
const BETTER: u64 = 50;
/// After so many runs, the machine may be another.
const AGAIN: usize = 2048;
/// It is another if so many runs one after the other are odd: they take longer than expected by one part in so many, or less, which noise seldom does, by
/// a smaller one. It is asked no sooner than after some.
const ODD: usize = 5;
const LONGER_BY: u64 = 4;
const LESS_BY: u64 = 8;
const SOONEST: usize = 64;

/// The ways of one program.
pub(super) struct Trial {
    ways: usize,
    /// That of this run.
    way: AtomicUsize,
    /// The parts that have ended, and the nanoseconds they took since a run had.
    ended: AtomicUsize,
    took: AtomicU64,
    known: Mutex<Known>,
}

/// What is known of past runs.
struct Known {
    /// What the runs of a trial took. There is always room for all of them.
    runs: Vec<u64>,
    /// What the last trial found out, if there is none now.
    settled: Option<Settled>,
}

/// How long a run takes, how many there were since the trial, and how many of the last ones were odd.
struct Settled {
    expected: u64,
    since: usize,
    odd: usize,
}

/// A part that is running.
pub(super) struct Turn {
    pub(super) way: usize,
    began: Instant,
}

impl Trial {
    pub(super) fn new(ways: usize) -> Trial {
        Trial {
            ways,
            way: AtomicUsize::new(0),
            ended: AtomicUsize::new(0),
            took: AtomicU64::new(0),
            known: Mutex::new(Known { runs: Vec::with_capacity(ways * RUNS * ROUNDS), settled: None }),
        }
    }

    /// The way of the next part.
    pub(super) fn way(&self) -> usize {
        self.way.load(Relaxed)
    }

    /// A part begins.
    pub(super) fn begin(&self) -> Turn {
        Turn { way: self.way(), began: Instant::now() }
    }

    /// A part of so many has ended. What they took is added up: a thread that comes late changes nothing.
    pub(super) fn end(&self, turn: &Turn, parts: usize) {
        self.took.fetch_add(turn.began.elapsed().as_nanos() as u64, Relaxed);
        if (self.ended.fetch_add(1, Relaxed) + 1).is_multiple_of(parts) {
            self.note(self.took.swap(0, Relaxed));
        }
    }

    /// A run has ended, which took so long.
    fn note(&self, took: u64) {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let Known { runs, settled } = &mut *known;
        let way = match settled {
            None => {
                runs.push(took);
                if runs.len() == self.ways * RUNS * ROUNDS {
                    let (quickest, expected) = quickest(runs, self.ways);
                    runs.clear();
                    *settled = Some(Settled { expected, since: 0, odd: 0 });
                    quickest
                } else {
                    runs.len() / RUNS % self.ways
                }
            }
            Some(Settled { expected, since, odd }) => {
                *since += 1;
                let usual = *expected - *expected / LESS_BY..=*expected + *expected / LONGER_BY;
                *odd = if usual.contains(&took) { 0 } else { *odd + 1 };
                if *since < AGAIN && (*since < SOONEST || *odd < ODD) {
                    return;
                }
                *settled = None;
                0
            }
        };
        self.way.store(way, Relaxed);
    }
}

/// The quickest of so many ways, by what the runs of all took, and how long it takes as a rule.
fn quickest(runs: &[u64], ways: usize) -> (usize, u64) {
    let sorted = |way: usize| {
        let of_way = runs.chunks(RUNS).skip(way).step_by(ways);
        let mut times: SmallVec<[u64; 16]> = of_way.flat_map(|runs| &runs[FIRST..]).copied().collect();
        times.sort_unstable();
        times
    };
    let needed = sorted(0)[LUCKY] - sorted(0)[LUCKY] / BETTER;
    let others = (1..ways).filter(|&way| sorted(way)[LUCKY] < needed);
    let quickest = others.min_by_key(|&way| sorted(way)[LUCKY]).unwrap_or(0);
    let times = sorted(quickest);
    (quickest, times[times.len() / 2])
}

#[cfg(test)]
impl Trial {
    pub(super) fn ways(&self) -> usize {
        self.ways
    }

    /// Has the next runs take this way, as if it had been the quickest.
    pub(super) fn settle_for(&self, way: usize) {
        let mut known = self.known.lock().expect("nobody panicked");
        known.settled = Some(Settled { expected: 0, since: 0, odd: 0 });
        self.way.store(way, Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WAYS: usize = 4;

    fn is_settled(trial: &Trial) -> bool {
        trial.known.lock().expect("nobody panicked").settled.is_some()
    }

    /// Ends a trial in which a run takes so long by its way and its number among those; the way it settles for.
    fn settle(trial: &Trial, took: impl Fn(usize, usize) -> u64) -> usize {
        let mut runs = [0; WAYS];
        for run in 0..WAYS * RUNS * ROUNDS {
            assert!(!is_settled(trial), "run {run}");
            let way = trial.begin().way;
            assert_eq!(way, run / RUNS % WAYS);
            trial.note(took(way, runs[way]));
            runs[way] += 1;
        }
        assert!(is_settled(trial));
        trial.begin().way
    }

    /// A trial that has settled for the last way, whose runs take 700.
    fn settled() -> Trial {
        let trial = Trial::new(WAYS);
        assert_eq!(settle(&trial, |way, _| 1000 - 100 * way as u64), WAYS - 1);
        trial
    }

    #[test]
    fn the_quickest_way_is_kept() {
        assert_eq!(settle(&Trial::new(WAYS), |way, _| 1000 + 100 * way.abs_diff(2) as u64), 2);
        settled();
    }

    #[test]
    fn little_is_no_reason_and_neither_are_a_few_runs() {
        assert_eq!(settle(&Trial::new(WAYS), |way, _| 1000 - way as u64), 0);
        assert_eq!(settle(&Trial::new(WAYS), |_, _| 0), 0);
        let few = |way, run| if way == 2 && run < FIRST + LUCKY { 10 } else { 1000 };
        assert_eq!(settle(&Trial::new(WAYS), few), 0);
        let slow = |way, run| if way == 3 && run >= RUNS { 9000 } else { 1000 - 60 * way as u64 };
        assert_eq!(settle(&Trial::new(WAYS), slow), WAYS - 1);
    }

    #[test]
    fn a_time_in_which_all_are_slow_speaks_against_none() {
        let slow_first = |way, run| if run < RUNS { 9000 } else { 1000 + 100 * way as u64 };
        assert_eq!(settle(&Trial::new(WAYS), slow_first), 0);
        let slow_then = |way, run| if run < RUNS { 1000 - 60 * way as u64 } else { 9000 };
        assert_eq!(settle(&Trial::new(WAYS), slow_then), WAYS - 1);
    }

    #[test]
    fn it_asks_again() {
        let trial = settled();
        for run in 0..AGAIN {
            assert!(is_settled(&trial) && trial.begin().way == WAYS - 1, "run {run}");
            trial.note(700);
        }
        assert_eq!(settle(&trial, |way, _| 1000 + 100 * way as u64), 0);
    }

    #[test]
    fn it_asks_sooner_if_runs_take_another_time() {
        for odd in [500, 610, 880, 1000] {
            let trial = settled();
            for run in (0..2 * SOONEST).rev() {
                assert!(is_settled(&trial), "run {run}");
                trial.note(if run % ODD == 0 { 700 } else { odd });
            }
            for run in 0..ODD {
                assert!(is_settled(&trial), "run {run}");
                trial.note(odd);
            }
            assert!(!is_settled(&trial), "{odd}");
        }
    }

    #[test]
    fn a_little_more_or_less_is_not_odd() {
        let trial = settled();
        for took in (620..870).cycle().take(AGAIN - 1) {
            trial.note(took);
            assert!(is_settled(&trial), "{took}");
        }
    }

    #[test]
    fn it_does_not_ask_all_the_time() {
        let trial = settled();
        for run in 0..SOONEST {
            assert!(is_settled(&trial), "run {run}");
            trial.note(2000);
        }
        assert!(!is_settled(&trial));
    }

    #[test]
    fn a_run_has_ended_when_all_parts_have() {
        let trial = Trial::new(WAYS);
        let runs = || trial.known.lock().expect("nobody panicked").runs.len();
        for run in 0..WAYS * RUNS * ROUNDS {
            for _ in 0..5 {
                assert_eq!(runs(), run);
                trial.end(&trial.begin(), 5);
            }
        }
        assert!(is_settled(&trial));
    }
}
