//! The rows, and the threads they run on.

use super::Moved;
use super::loops;
use super::pages::{self, Floats};
use crate::bench::{Bench, print};
use std::sync::Barrier;
use std::thread;
use std::time::Instant;

const MIB: usize = 1 << 20;
const REPEATS: usize = 15;
const FMA_REPEATS: usize = 5;
const FRESH_REPEATS: usize = 9;

/// What a thread does with its part of three arrays.
type Stream = fn(a: &mut [f32], b: &[f32], c: &[f32]);

/// The loops over memory: their names, and how many arrays they go through.
const STREAMS: [(&str, usize, Stream); 6] = [
    ("copy", 2, loops::copy),
    ("copy_nt", 2, loops::copy_streaming),
    ("triad", 3, loops::triad),
    ("triad_nt", 3, loops::triad_streaming),
    ("read", 1, |_, b, _| loops::read(b)),
    ("write", 1, |a, _, _| loops::write(a)),
];

pub fn run(bench: &Bench) {
    for mebibytes in [256, 64] {
        for (is_huge, pages) in [(false, "4k"), (true, "huge")] {
            bandwidth(bench, mebibytes, is_huge, pages);
        }
    }
    for threads in [1, 2] {
        fma(bench, "f32", threads, loops::fma_f32, loops::FMA_F32_FLOPS);
        fma(bench, "f64", threads, loops::fma_f64, loops::FMA_F64_FLOPS);
    }
    for (is_huge, pages) in [(false, "4k"), (true, "hugepage")] {
        let name = format!("limit_fresh_64MiB_{pages}_1t");
        if bench.wants(&name) {
            let seconds = (0..FRESH_REPEATS).map(|_| pages::seconds_of_fresh(64 * MIB, is_huge));
            print(&name, "machine", (seconds.fold(f64::INFINITY, f64::min) * 1e3, "ms"));
        }
    }
}

/// See [`super::turns`].
pub fn turns(moved: Moved) -> Box<dyn FnMut(usize) -> f64> {
    let (bytes, kind) = match moved {
        Moved::Read(bytes) => (bytes, "read"),
        Moved::Copied(bytes) => (bytes, "copy_nt"),
    };
    let (_, arrays, stream) = STREAMS.into_iter().find(|stream| stream.0 == kind).expect("it is one of them");
    let len = 64 * MIB / size_of::<f32>();
    let (mut a, b) = (Floats::ones(len, true), Floats::ones(len, true));
    Box::new(move |repeats| {
        let parts = a.chunks_exact_mut(len / 2).zip(b.chunks_exact(len / 2));
        let jobs = parts.map(|(a, b)| move || stream(a, b, b)).collect();
        best_seconds(repeats, jobs) * bytes as f64 / (arrays * len * size_of::<f32>()) as f64
    })
}

fn bandwidth(bench: &Bench, mebibytes: usize, is_huge: bool, pages: &str) {
    let row = |kind: &str, threads: usize| format!("limit_{kind}_{mebibytes}MiB_{pages}_{threads}t");
    let wanted = |threads: usize| STREAMS.iter().filter(move |stream| bench.wants(&row(stream.0, threads)));
    if wanted(1).chain(wanted(2)).next().is_none() {
        return;
    }
    let len = mebibytes * MIB / size_of::<f32>();
    let (mut a, b, c) = (Floats::ones(len, is_huge), Floats::ones(len, is_huge), Floats::ones(len, is_huge));
    for threads in [1, 2] {
        for (kind, arrays, stream) in wanted(threads) {
            let part = len / threads;
            let parts = a.chunks_exact_mut(part).zip(b.chunks_exact(part).zip(c.chunks_exact(part)));
            let jobs = parts.map(|(a, (b, c))| move || stream(a, b, c)).collect();
            let bytes = (arrays * len * size_of::<f32>()) as f64;
            print(&row(kind, threads), "machine", (bytes / best_seconds(REPEATS, jobs) / 1e9, "GB/s"));
        }
    }
}

fn fma(bench: &Bench, dtype: &str, threads: usize, job: fn(), flops: f64) {
    let name = format!("limit_fma_{dtype}_{threads}t");
    if bench.wants(&name) {
        let seconds = best_seconds(FMA_REPEATS, vec![job; threads]);
        print(&name, "machine", (threads as f64 * flops / seconds / 1e9, "GFLOP/s"));
    }
}

/// The least seconds from the first job's start to the last job's end, each on its own thread.
fn best_seconds<J: FnMut() + Send>(repeats: usize, jobs: Vec<J>) -> f64 {
    let barrier = &Barrier::new(jobs.len());
    // For each thread, when each turn began and ended: a thread that comes late must not count its own time alone.
    let turns: Vec<Vec<(Instant, Instant)>> = thread::scope(|scope| {
        let timed = |mut job: J| {
            move || {
                let turn = |_| {
                    barrier.wait();
                    let begun = Instant::now();
                    job();
                    (begun, Instant::now())
                };
                (0..repeats).map(turn).collect()
            }
        };
        let threads: Vec<_> = jobs.into_iter().map(|job| scope.spawn(timed(job))).collect();
        threads.into_iter().map(|thread| thread.join().expect("a loop does not panic")).collect()
    });
    let seconds = (0..repeats).map(|turn| {
        let begun = turns.iter().map(|thread| thread[turn].0).min();
        let ended = turns.iter().map(|thread| thread[turn].1).max();
        begun.zip(ended).map_or(f64::INFINITY, |(begun, ended)| (ended - begun).as_secs_f64())
    });
    seconds.fold(f64::INFINITY, f64::min)
}
