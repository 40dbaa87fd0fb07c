//! The threads, and how a job's parts are handed to them.
//!
//! A job is a closure and a number of parts. Each thread has a *share*: neighbouring parts, which it claims from the first on, or from the last.
//! Whoever has finished its own claims from the other end of another's, so a worker the system has put aside holds nobody up unless it
//! has already begun a part. Shares are the same for every job of so many parts: a thread meets the numbers again that it
//! had before, and finds them in the caches (a sum over twice as much as the last cache holds takes two thirds of the time).
//!
//! Workers that found nothing spin for a moment and then park: the next job of a running program starts in a fraction of a
//! microsecond, and an idle program takes no processor time.
//!
//! How many parts a job has is for its caller to decide, by the shape of the work and never by the number of
//! threads: then results are the same bits for any number of threads.

use std::any::Any;
use std::cell::{Cell, UnsafeCell};
use std::hint::spin_loop;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release, SeqCst};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, fence};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

/// How long a thread with nothing to do stays awake.
const AWAKE: Duration = Duration::from_micros(50);

/// More threads than this are not started, whatever is asked for.
const MOST_THREADS: usize = 1024;

/// The threads in use; 0 until it is asked for the first time.
static THREADS: AtomicUsize = AtomicUsize::new(0);

static POOL: Pool = Pool::new();

/// How many threads an operation may use, the calling one included.
///
/// The environment variable `ZITHER_THREADS` sets it; without it, it is the number of processors.
///
/// ```
/// assert!(zither::runtime::threads() >= 1);
/// ```
pub fn threads() -> usize {
    match THREADS.load(Relaxed) {
        0 => {
            let count = default_threads(std::env::var("ZITHER_THREADS").ok().as_deref());
            THREADS.store(count, Relaxed);
            count
        }
        count => count,
    }
}

/// Sets how many threads an operation may use, the calling one included; 0 goes back to the default.
///
/// Results do not depend on it, only speed does.
pub fn set_threads(count: usize) {
    THREADS.store(count.min(MOST_THREADS), Relaxed);
}

/// The default for a value of `ZITHER_THREADS`; anything but a positive whole number counts as unset.
fn default_threads(variable: Option<&str>) -> usize {
    match variable.and_then(|text| text.trim().parse::<usize>().ok()) {
        Some(count) if count > 0 => count.min(MOST_THREADS),
        _ => thread::available_parallelism().map_or(1, usize::from).min(MOST_THREADS),
    }
}

/// Runs `f(0)`, `f(1)` … `f(parts - 1)`, each once, in any order and on any of the threads; returns when all are done.
///
/// Decide `parts` by the shape of the work, never by the number of threads: then results do not depend on it.
/// One part, or one thread, never touches the pool. A call from inside a part, or while another thread's job is on,
/// runs its parts one after the other on the calling thread. A panic in a part comes out here, after all
/// parts that were begun have ended (if several panic, that of the lowest part).
pub(crate) fn parallel(parts: usize, f: &(dyn Fn(usize) + Sync)) {
    parallel_from(End::First, parts, f);
}

/// As [`parallel`]; each thread begins at this end of its share.
pub(crate) fn parallel_from(end: End, parts: usize, f: &(dyn Fn(usize) + Sync)) {
    if parts <= 1 || threads() == 1 {
        return in_order(end, parts, f);
    }
    POOL.run(threads(), end, parts, f);
}

/// An end of a list of parts.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    First,
    Last,
}

/// Runs all parts on this thread.
fn in_order(end: End, parts: usize, f: impl FnMut(usize)) {
    match end {
        End::First => (0..parts).for_each(f),
        End::Last => (0..parts).rev().for_each(f),
    }
}

/// As [`parallel`], on at most `most` threads. Each call of `f` is told the seat of its thread, below `most`: no two calls that run at the
/// same time have the same, so a seat may have memory of its own.
pub(crate) fn seated(most: usize, parts: usize, f: &(dyn Fn(usize, usize) + Sync)) {
    let threads = threads().min(most);
    let is_shared = parts > 1 && threads > 1 && POOL.offer(threads, End::First, parts, &|part| f(part, SEAT.get()));
    if !is_shared {
        in_order(End::First, parts, |part| f(part, 0));
    }
}

thread_local! {
    /// A worker's seat; everyone else, who can only be the caller of a job, sits at 0.
    static SEAT: Cell<usize> = const { Cell::new(0) };
}

/// Something on cache lines of its own: what one thread writes does not slow the readers of its neighbour.
#[repr(align(128))]
struct Apart<T>(T);

/// The workers and the job they are on.
struct Pool {
    /// What each thread is told of its job. Where there are more threads than desks, some have a desk in common.
    desks: [Apart<Desk>; MOST_DESKS],
    done: Apart<Done>,
    /// The panic of the lowest part that panicked.
    panic: Mutex<Option<(usize, Box<dyn Any + Send>)>>,
    caller: Mutex<Option<Thread>>,
    /// Held by the one caller whose job is on.
    crew: Mutex<Crew>,
}

/// All that a worker needs to begin, on one cache line: between processors far from each other each line takes a while.
struct Desk {
    /// The share: the job's number (32 bits), the first claim that nobody has taken (16) and the end of those (16).
    share: AtomicU64,
    /// How many desks the job is on.
    desks: AtomicUsize,
    /// How many workers may join the job: those with a lower number.
    helpers: AtomicUsize,
    /// Whether they begin with the last claims of their shares.
    is_from_last: AtomicBool,
    /// Read only by holders of an unfinished claim, written only while there is none.
    job: UnsafeCell<Job>,
}

// SAFETY: `job` is the one field that is not `Sync` by itself. It is written by the holder of `crew` while no claim is
// open (it waited for the last), and read only by those who hold a claim; the share's atomic orders both.
unsafe impl Sync for Desk {}

/// What to run: claim `c` stands for the parts from `c * stride` up to the next claim's.
#[derive(Clone, Copy)]
struct Job {
    f: &'static (dyn Fn(usize) + Sync),
    parts: usize,
    stride: usize,
}

/// What workers tell the caller.
struct Done {
    /// How many claims they have finished, of all jobs so far; beyond the largest number it begins again.
    claims: AtomicUsize,
    /// The caller sleeps, and wants to be woken.
    caller_parked: AtomicBool,
}

/// What a caller needs to know.
struct Crew {
    workers: Vec<Worker>,
    /// The number of the last job.
    job: u64,
    /// How many claims the workers had finished when it was done.
    done: usize,
}

struct Worker {
    thread: Thread,
    parked: Arc<AtomicBool>,
}

/// The most claims a job can have: they are counted in 16 bits.
const MOST_CLAIMS: usize = 0xFFFF;

const MOST_DESKS: usize = 64;

/// The fields of a share.
fn job_number(share: u64) -> u64 {
    share >> 32
}
fn open_claims(share: u64) -> Range<usize> {
    (share >> 16 & 0xFFFF) as usize..(share & 0xFFFF) as usize
}

impl Desk {
    const fn new() -> Desk {
        Desk {
            share: AtomicU64::new(0),
            desks: AtomicUsize::new(0),
            helpers: AtomicUsize::new(0),
            is_from_last: AtomicBool::new(false),
            job: UnsafeCell::new(Job { f: &|_| (), parts: 0, stride: 1 }),
        }
    }

    /// A claim of the share of a job, if any is left: the next one for the thread whose share it is, or the one it would take last.
    fn claim(&self, number: u64, is_own: bool) -> Option<usize> {
        let mut now = self.share.load(Acquire);
        let first = is_own != self.is_from_last.load(Relaxed);
        loop {
            let open = open_claims(now);
            if job_number(now) != number || open.is_empty() {
                return None;
            }
            let taken = if first { now + (1 << 16) } else { now - 1 };
            match self.share.compare_exchange_weak(now, taken, AcqRel, Acquire) {
                Ok(_) => return Some(if first { open.start } else { open.end - 1 }),
                Err(changed) => now = changed,
            }
        }
    }
}

impl Pool {
    const fn new() -> Pool {
        Pool {
            desks: [const { Apart(Desk::new()) }; MOST_DESKS],
            done: Apart(Done { claims: AtomicUsize::new(0), caller_parked: AtomicBool::new(false) }),
            panic: Mutex::new(None),
            caller: Mutex::new(None),
            crew: Mutex::new(Crew { workers: Vec::new(), job: 0, done: 0 }),
        }
    }

    /// Runs all parts on up to `threads` threads, the calling one included; on that alone if another job is on.
    fn run(&'static self, threads: usize, end: End, parts: usize, f: &(dyn Fn(usize) + Sync)) {
        if !self.offer(threads, end, parts, f) {
            in_order(end, parts, f);
        }
    }

    /// Runs all parts on up to `threads` threads, the calling one included; `false` if another job is on, and nothing was run.
    fn offer(&'static self, threads: usize, end: End, parts: usize, f: &(dyn Fn(usize) + Sync)) -> bool {
        let mut crew = match self.crew.try_lock() {
            Ok(crew) => crew,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            // Another job is on: perhaps the very one this call comes from, so waiting for it could take for ever.
            Err(TryLockError::WouldBlock) => return false,
        };
        let stride = parts.div_ceil(MOST_CLAIMS);
        let claims = parts.div_ceil(stride);
        let helpers = (threads - 1).min(claims - 1);
        while crew.workers.len() < helpers {
            match self.hire(crew.workers.len()) {
                Some(worker) => crew.workers.push(worker),
                None => break, // the system gives no more threads: the caller does what they would have done
            }
        }
        // SAFETY: only the lifetime changes. The reference is used by holders of a claim of this job, and this
        // function does not return before the last claim is finished, so it never outlives `f`.
        let f = unsafe { std::mem::transmute::<&(dyn Fn(usize) + Sync), &'static (dyn Fn(usize) + Sync)>(f) };
        crew.job = (crew.job + 1) & 0xFFFF_FFFF;
        let number = crew.job;
        let desks = (helpers + 1).min(MOST_DESKS);
        // The caller's own comes last: workers may begin meanwhile.
        for (k, Apart(desk)) in self.desks[..desks].iter().enumerate().rev() {
            // SAFETY: we hold `crew`, and the caller before us waited until every claim of its job was finished: nobody
            // reads `job` until the share is stored below.
            unsafe { *desk.job.get() = Job { f, parts, stride } };
            desk.desks.store(desks, Relaxed);
            desk.helpers.store(helpers, Relaxed);
            desk.is_from_last.store(end == End::Last, Relaxed);
            let [first, end] = [k, k + 1].map(|k| (claims * k / desks) as u64);
            desk.share.store(number << 32 | first << 16 | end, Release);
        }
        fence(SeqCst);
        for worker in crew.workers.iter().take(helpers) {
            // Behind the fence: either we see the worker parked, or it sees the new share before it parks.
            if worker.parked.load(SeqCst) && worker.parked.swap(false, SeqCst) {
                worker.thread.unpark();
            }
        }
        let (own, others) = (self.take_own(0, number), self.take_others(0, number, desks));
        crew.done = crew.done.wrapping_add(claims - own - others);
        self.wait_for(crew.done);
        let panic = locked(&self.panic).take();
        drop(crew);
        if let Some((_, payload)) = panic {
            resume_unwind(payload);
        }
        true
    }

    /// Starts one more worker.
    fn hire(&'static self, number: usize) -> Option<Worker> {
        let parked = Arc::new(AtomicBool::new(false));
        let its_parked = Arc::clone(&parked);
        let name = format!("zither-{}", number + 1);
        let handle = thread::Builder::new().name(name).spawn(move || self.work(number, &its_parked)).ok()?;
        Some(Worker { thread: handle.thread().clone(), parked })
    }

    /// A worker's life: wait for a job, take what is left of it, and again.
    fn work(&self, number: usize, parked: &AtomicBool) {
        SEAT.set(number + 1);
        let own = (number + 1) % MOST_DESKS;
        let Apart(desk) = &self.desks[own];
        let mut seen = 0;
        loop {
            let is_new = || job_number(desk.share.load(SeqCst)) != seen;
            if !stay_awake_until(is_new) {
                parked.store(true, SeqCst);
                while !is_new() {
                    thread::park();
                    parked.store(true, SeqCst);
                }
                parked.store(false, SeqCst);
            }
            seen = job_number(desk.share.load(SeqCst));
            // If the next job is being written already, this one has no claim left, whatever is read here.
            if number < desk.helpers.load(Relaxed) {
                let desks = desk.desks.load(Relaxed);
                // Told at once, before a look at the others' desks: that takes a while, and the caller may be waiting.
                self.tell(self.take_own(own, seen));
                self.tell(self.take_others(own, seen, desks));
            }
        }
    }

    /// Runs the claims of a desk's own share until none is left; how many.
    fn take_own(&self, own: usize, number: u64) -> usize {
        let mut finished = 0;
        while let Some(claim) = self.desks[own].0.claim(number, true) {
            self.run_claim(own, claim);
            finished += 1;
        }
        finished
    }

    /// The same for the shares of others.
    fn take_others(&self, own: usize, number: u64, desks: usize) -> usize {
        let mut finished = 0;
        for other in (own + 1..desks).chain(0..own) {
            while let Some(claim) = self.desks[other].0.claim(number, false) {
                self.run_claim(own, claim);
                finished += 1;
            }
        }
        finished
    }

    /// Runs the parts of a claim, as the desk says; a panic is kept for the caller.
    fn run_claim(&self, desk: usize, claim: usize) {
        // SAFETY: this claim is ours and not told of, so the job it belongs to stays. The desk has the same job: its share, which
        // was read, was stored after it.
        let Job { f, parts, stride } = unsafe { *self.desks[desk].0.job.get() };
        for part in claim * stride..parts.min((claim + 1) * stride) {
            if let Err(payload) = catch_unwind(AssertUnwindSafe(|| f(part))) {
                let mut panic = locked(&self.panic);
                if panic.as_ref().is_none_or(|&(lowest, _)| part < lowest) {
                    *panic = Some((part, payload));
                }
            }
        }
    }

    /// Tells the caller that a worker has finished some claims. From then on the job may end, and another begin.
    fn tell(&self, finished: usize) {
        if finished == 0 {
            return;
        }
        let Apart(done) = &self.done;
        done.claims.fetch_add(finished, SeqCst);
        // Both sides are SeqCst: either we see the caller parked, or it sees this before it parks.
        if done.caller_parked.load(SeqCst)
            && let Some(caller) = locked(&self.caller).as_ref()
        {
            caller.unpark();
        }
    }

    /// The caller's wait until workers have finished so many claims, of all jobs.
    fn wait_for(&self, claims: usize) {
        let Apart(done) = &self.done;
        let all_done = || done.claims.load(SeqCst) == claims;
        if stay_awake_until(all_done) {
            return;
        }
        *locked(&self.caller) = Some(thread::current());
        done.caller_parked.store(true, SeqCst);
        while !all_done() {
            thread::park();
        }
        done.caller_parked.store(false, SeqCst);
    }
}

/// A lock whose data stays sound whoever panicked while holding it.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Watches for a short while: whether `it` came true in that time.
fn stay_awake_until(it: impl Fn() -> bool) -> bool {
    // Some microseconds of plain watching, which is what the next job of a busy program needs.
    for _ in 0..60 {
        for _ in 0..16 {
            if it() {
                return true;
            }
            spin_loop();
        }
    }
    // Then let others have the processor between looks.
    let start = Instant::now();
    while start.elapsed() < AWAKE {
        thread::yield_now();
        for _ in 0..64 {
            if it() {
                return true;
            }
            spin_loop();
        }
    }
    it()
}

#[cfg(test)]
#[path = "threads_tests.rs"]
mod tests;
