//! How long a call takes: the best round's median.
//!
//! After a warm-up come several rounds of calls; a round's figure is its median, and the best round counts. Rounds in
//! which other programs used the processors are repeated, for a while.

use std::fs;
use std::time::Instant;

/// How much is measured.
#[derive(Clone, Copy)]
pub struct Method {
    /// How many rounds.
    pub rounds: usize,
    /// The least seconds of a round.
    pub round_seconds: f64,
    /// The least seconds of warming up.
    pub warm_seconds: f64,
}

/// Single ops.
pub const OP: Method = Method { rounds: 5, round_seconds: 0.15, warm_seconds: 0.3 };
/// Steps of training.
pub const STEP: Method = Method { rounds: 3, round_seconds: 1.0, warm_seconds: 1.0 };

const WARM_CALLS: usize = 2;
const ROUND_CALLS: usize = 3;
/// A row that has taken so long repeats no disturbed rounds.
const ENOUGH_SECONDS: f64 = 10.0;

impl Method {
    /// About the seconds of a row whose calls take so long.
    pub fn row_seconds(&self, call_seconds: f64) -> f64 {
        let calls = (WARM_CALLS + ROUND_CALLS * self.rounds) as f64;
        (calls * call_seconds).max(self.warm_seconds + self.rounds as f64 * self.round_seconds)
    }

    /// The seconds of one call, which returns when its result is there.
    pub fn seconds(&self, mut call: impl FnMut()) -> f64 {
        let begun = Instant::now();
        let mut calls = 0;
        while calls < WARM_CALLS || begun.elapsed().as_secs_f64() < self.warm_seconds {
            call();
            calls += 1;
        }
        let (mut best, mut quiet) = (f64::INFINITY, 0);
        for round in 1..=3 * self.rounds {
            let (others, start) = (seconds_of_others(), Instant::now());
            best = best.min(self.round(&mut call));
            let disturbed = seconds_of_others() - others;
            quiet += usize::from(disturbed < 0.1 * start.elapsed().as_secs_f64() + 0.02);
            let enough = round >= self.rounds && begun.elapsed().as_secs_f64() > ENOUGH_SECONDS;
            if quiet == self.rounds || enough {
                break;
            }
        }
        best
    }

    /// The median of one round.
    fn round(&self, call: &mut impl FnMut()) -> f64 {
        let (start, mut calls) = (Instant::now(), Vec::new());
        while calls.len() < ROUND_CALLS || start.elapsed().as_secs_f64() < self.round_seconds {
            let begun = Instant::now();
            call();
            calls.push(begun.elapsed().as_secs_f64());
        }
        calls.sort_by(f64::total_cmp);
        calls[calls.len() / 2]
    }
}

/// Processor seconds that all programs but this one have used so far; 0 where the system does not say.
fn seconds_of_others() -> f64 {
    const TICKS_PER_SECOND: f64 = 100.0; // what Linux counts in, whatever its kernel's clock
    let ticks = || -> Option<f64> {
        let machine = fs::read_to_string("/proc/stat").ok()?;
        let fields: Vec<f64> = machine.lines().next()?.split_whitespace().skip(1).flat_map(str::parse).collect();
        let busy: f64 = [0, 1, 2, 5, 6].iter().filter_map(|&k| fields.get(k)).sum(); // neither idle nor waiting
        let own = fs::read_to_string("/proc/self/stat").ok()?;
        let own: Vec<f64> = own.rsplit(')').next()?.split_whitespace().skip(11).take(2).flat_map(str::parse).collect();
        Some(busy - own.iter().sum::<f64>())
    };
    ticks().map_or(0.0, |ticks| ticks / TICKS_PER_SECOND)
}
