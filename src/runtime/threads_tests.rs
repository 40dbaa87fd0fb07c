//! The pool under stress: every part runs once, whoever calls, however deep, whatever panics.

use super::*;
use std::collections::HashSet;

/// A pool of the test's own (it lasts as long as the process).
fn pool() -> &'static Pool {
    Box::leak(Box::new(Pool::new()))
}

/// Asserts that every part ran once.
fn check_each_once(parts: usize, run: impl FnOnce(&(dyn Fn(usize) + Sync))) {
    let counts: Vec<AtomicUsize> = (0..parts).map(|_| AtomicUsize::new(0)).collect();
    run(&|part| {
        counts[part].fetch_add(1, Relaxed);
    });
    assert!(counts.iter().all(|count| count.load(Relaxed) == 1));
}

#[test]
fn every_part_runs_once() {
    let pool = pool();
    for threads in [2, 3, 8] {
        for parts in [1, 2, 3, 7, 64, 1000] {
            check_each_once(parts, |f| pool.run(threads, End::First, parts, f));
        }
    }
    check_each_once(0, |f| parallel(0, f));
    check_each_once(1, |f| parallel(1, f));
    check_each_once(17, |f| parallel(17, f));
}

#[test]
fn more_parts_than_claims_run_once_too() {
    for parts in [MOST_CLAIMS - 1, MOST_CLAIMS, MOST_CLAIMS + 1, 200_001] {
        check_each_once(parts, |f| pool().run(2, End::First, parts, f));
    }
}

#[test]
fn more_threads_than_desks_run_every_part_once() {
    let pool = pool();
    for threads in [MOST_DESKS - 1, MOST_DESKS, MOST_DESKS + 1, MOST_DESKS + 10, 3, MOST_DESKS + 5] {
        for parts in [MOST_DESKS, 3 * MOST_DESKS, 2] {
            check_each_once(parts, |f| pool.run(threads, End::First, parts, f));
        }
        let seats = Mutex::new(HashSet::new());
        pool.run(threads, End::First, 1000, &|_| {
            seats.lock().unwrap().insert(SEAT.get());
        });
        assert!(seats.lock().unwrap().iter().all(|&seat| seat < threads));
    }
}

#[test]
fn one_part_stays_on_the_calling_thread() {
    let caller = thread::current().id();
    parallel(1, &|_| assert_eq!(thread::current().id(), caller));
}

#[test]
fn workers_take_parts_too() {
    let pool = pool();
    let seen = Mutex::new(HashSet::new());
    pool.run(3, End::First, 60, &|_| {
        thread::sleep(Duration::from_millis(1));
        seen.lock().unwrap().insert(thread::current().id());
    });
    assert!((2..=3).contains(&seen.lock().unwrap().len()), "{:?}", seen.lock().unwrap());
}

#[test]
fn a_job_may_begin_at_the_other_end_of_every_share() {
    let pool = pool();
    for (end, expected) in [(End::First, [0, 2]), (End::Last, [1, 3]), (End::First, [0, 2])] {
        let everybody = std::sync::Barrier::new(2);
        let begun = Mutex::new(Vec::new());
        pool.run(2, end, 4, &|part| {
            let is_first = !begun.lock().unwrap().iter().any(|&(_, who)| who == thread::current().id());
            begun.lock().unwrap().push((part, thread::current().id()));
            if is_first {
                everybody.wait();
            }
        });
        let mut begun = begun.into_inner().unwrap();
        begun.truncate(2);
        begun.sort_unstable_by_key(|&(part, _)| part);
        assert_eq!(begun.iter().map(|&(part, _)| part).collect::<Vec<_>>(), expected);
        check_each_once(40, |f| pool.run(3, end, 40, f));
    }
    let mut order = Vec::new();
    in_order(End::Last, 4, |part| order.push(part));
    assert_eq!(order, [3, 2, 1, 0]);
}

#[test]
fn a_thread_begins_with_the_same_part_in_every_job() {
    let pool = pool();
    let mut before = None;
    for _ in 0..100 {
        let everybody = std::sync::Barrier::new(3);
        let who = Mutex::new([None; 3]);
        pool.run(3, End::First, 3, &|part| {
            who.lock().unwrap()[part] = Some(thread::current().id());
            everybody.wait();
        });
        let who = who.into_inner().unwrap();
        assert_eq!(who[0], Some(thread::current().id()), "the caller has the first share");
        assert_eq!(*before.get_or_insert(who), who);
    }
}

#[test]
fn what_a_thread_does_not_get_to_others_do() {
    let pool = pool();
    let caller = thread::current().id();
    let by_caller = AtomicUsize::new(0);
    pool.run(2, End::First, 40, &|_| {
        if thread::current().id() == caller {
            by_caller.fetch_add(1, Relaxed);
        } else {
            thread::sleep(Duration::from_millis(5));
        }
    });
    assert!(by_caller.load(Relaxed) > 20, "{by_caller:?}");
}

#[test]
fn fewer_threads_leave_workers_asleep() {
    let pool = pool();
    pool.run(4, End::First, 4, &|_| thread::sleep(Duration::from_millis(2)));
    let seen = Mutex::new(HashSet::new());
    pool.run(2, End::First, 40, &|_| {
        thread::sleep(Duration::from_millis(1));
        seen.lock().unwrap().insert(thread::current().id());
    });
    assert!(seen.lock().unwrap().len() <= 2);
}

#[test]
fn s0_10_11_many_small_jobs_from_several_threads_are_all_complete() {
    let pool = pool();
    thread::scope(|scope| {
        for seed in 1..5usize {
            scope.spawn(move || {
                for round in 0..3000 {
                    let parts = (round * seed) % 9 + 2;
                    let sum = AtomicUsize::new(0);
                    pool.run(3, End::First, parts, &|part| {
                        sum.fetch_add(part + 1, Relaxed);
                    });
                    assert_eq!(sum.load(Relaxed), parts * (parts + 1) / 2);
                }
            });
        }
    });
}

#[test]
fn jobs_after_a_rest_wake_the_workers() {
    let pool = pool();
    for _ in 0..30 {
        check_each_once(50, |f| pool.run(3, End::First, 50, f));
        thread::sleep(Duration::from_micros(300));
    }
}

#[test]
fn a_caller_that_waits_long_is_woken() {
    let pool = pool();
    let caller = thread::current().id();
    for _ in 0..20 {
        check_each_once(4, |f| {
            pool.run(4, End::First, 4, &|part| {
                if thread::current().id() != caller {
                    thread::sleep(Duration::from_millis(2));
                }
                f(part);
            });
        });
    }
}

#[test]
fn nested_calls_run_inside_their_part() {
    let pool = pool();
    let total = AtomicUsize::new(0);
    pool.run(3, End::First, 20, &|_| {
        let outer = thread::current().id();
        pool.run(3, End::First, 20, &|_| {
            assert_eq!(thread::current().id(), outer);
            pool.run(3, End::First, 5, &|_| {
                total.fetch_add(1, Relaxed);
            });
        });
    });
    assert_eq!(total.load(Relaxed), 2000);
}

#[test]
fn a_panic_comes_out_after_all_parts_ended_and_the_pool_lives_on() {
    let pool = pool();
    for round in 0..50 {
        let ended = AtomicUsize::new(0);
        let result = catch_unwind(AssertUnwindSafe(|| {
            pool.run(3, End::First, 40, &|part| {
                if part == 7 || part == 30 {
                    resume_unwind(Box::new(format!("part {part} of round {round}")));
                }
                ended.fetch_add(1, Relaxed);
            });
        }));
        let text = result.unwrap_err().downcast::<String>().unwrap();
        assert_eq!(*text, format!("part 7 of round {round}"));
        assert_eq!(ended.load(Relaxed), 38);
        check_each_once(40, |f| pool.run(3, End::First, 40, f));
    }
}

#[test]
fn s0_12_the_thread_count_comes_from_the_environment() {
    let processors = thread::available_parallelism().map_or(1, usize::from);
    assert_eq!(default_threads(Some("3")), 3);
    assert_eq!(default_threads(Some(" 12 ")), 12);
    assert_eq!(default_threads(Some("99999999")), MOST_THREADS);
    for unset in [None, Some(""), Some("0"), Some("-2"), Some("many"), Some("1.5")] {
        assert_eq!(default_threads(unset), processors, "{unset:?}");
    }
}
