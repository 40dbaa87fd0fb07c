//! A row of much memory beside the loop of its limit, in turns.
//!
//! The processors of a virtual machine may share a last cache and a way to memory or have their own, and its host moves them every few seconds:
//! whatever is bound by memory then takes half the time or twice as long. So row and loop are timed in the same second, several times, and
//! rounds are kept apart by how long a cache line takes from one processor to the other.

use crate::rows::limits::{self, Moved};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Instant;

/// The calls of a row, and the turns of its loop, in a round; the best count.
const CALLS: usize = 5;
/// The calls before them.
const WARM_CALLS: usize = 2;
/// The trips of a cache line, there and back.
const TRIPS: usize = 300;
/// Processors for which a cache line takes fewer seconds each way share a cache.
const SHARED: f64 = 60e-9;

/// Where they are has changed if the loop takes so many times as long after a row as before it.
const STEADY: f64 = 1.25;

/// Where the processors were in a round.
const PLACES: [&str; 2] = ["caches shared", "caches apart"];

/// What was found in one place.
#[derive(Default)]
struct Found {
    /// The seconds of the row, and of its limit, round by round.
    rounds: Vec<[f64; 2]>,
}

impl Found {
    /// The best of each.
    fn best(&self) -> [f64; 2] {
        [0, 1].map(|of| self.rounds.iter().map(|round| round[of]).fold(f64::INFINITY, f64::min))
    }

    /// The median of what the row took relative to its limit in the same round.
    fn median(&self) -> f64 {
        let mut ratios: Vec<f64> = self.rounds.iter().map(|[row, limit]| row / limit).collect();
        ratios.sort_by(f64::total_cmp);
        ratios[ratios.len() / 2]
    }
}

/// Where the processors are.
pub fn place() -> &'static str {
    PLACES[usize::from(is_apart())]
}

/// What the columns of [`row`] are.
pub fn head() {
    println!("row\tplace\trounds\tzither ms\tlimit ms\tbest to best\tmedian of rounds");
}

/// Prints how near a call that moves so much memory comes to the limit, in each place where the processors were found. On machines
/// for which there are no loops, that is said on standard error.
pub fn row(name: &str, moved: Moved, seconds: f64, mut call: impl FnMut()) {
    let Some(mut limit) = limits::turns(name, moved) else { return };
    let mut found = PLACES.map(|_| Found::default());
    let begun = Instant::now();
    while begun.elapsed().as_secs_f64() < seconds {
        let before = is_apart();
        let limit_before = limit(CALLS);
        (0..WARM_CALLS).for_each(|_| call());
        let row_seconds = (0..CALLS).map(|_| seconds_of(&mut call)).fold(f64::INFINITY, f64::min);
        let limit_after = limit(CALLS);
        // A round during which they were moved says nothing.
        let is_steady = limit_before.max(limit_after) < STEADY * limit_before.min(limit_after);
        if is_steady && before == is_apart() {
            found[usize::from(before)].rounds.push([row_seconds, limit_before.min(limit_after)]);
        }
    }
    for (place, found) in PLACES.iter().zip(found).filter(|(_, found)| !found.rounds.is_empty()) {
        let ([row, limit], rounds) = (found.best(), found.rounds.len());
        let median = found.median();
        println!("{name}\t{place}\t{rounds}\t{:.3}\t{:.3}\t{:.2}\t{median:.2}", row * 1e3, limit * 1e3, row / limit);
    }
}

fn seconds_of(call: &mut impl FnMut()) -> f64 {
    let begun = Instant::now();
    call();
    begun.elapsed().as_secs_f64()
}

/// Whether the processors have a last cache each.
fn is_apart() -> bool {
    let line = AtomicUsize::new(0);
    let wait_for = |trip: usize| {
        while line.load(Ordering::Acquire) != trip {
            std::hint::spin_loop();
        }
    };
    let best = thread::scope(|scope| {
        scope.spawn(|| {
            for trip in 0..TRIPS {
                wait_for(2 * trip + 1);
                line.store(2 * trip + 2, Ordering::Release);
            }
        });
        let trip = |trip: usize| {
            seconds_of(&mut || {
                line.store(2 * trip + 1, Ordering::Release);
                wait_for(2 * trip + 2);
            })
        };
        (0..TRIPS).map(trip).fold(f64::INFINITY, f64::min)
    });
    best / 2.0 > SHARED
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_best_of_all_rounds_and_the_median_of_their_ratios() {
        let found = Found { rounds: vec![[3.0, 2.0], [2.0, 2.0], [5.0, 1.0]] };
        assert_eq!(found.best(), [2.0, 1.0]);
        assert_eq!(found.median(), 1.5);
    }
}
