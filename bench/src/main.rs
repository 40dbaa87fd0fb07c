//! Times zither on the rows that its peers are timed on.
//!
//! ```text
//! zither-bench [--patience SECONDS] [PREFIX,PREFIX…]    which rows: a_,b_ or a full name; none means all
//! zither-bench --beside-limits SECONDS [PREFIX,PREFIX…] rows of much memory in turns with the loops of their limits, so long each
//! zither-bench --place                                  whether two processors share a last cache just now
//! ```
//!
//! Prints `workload<TAB>zither<TAB>value<TAB>unit`, a line a row, and says on standard error what it left out. Each result
//! is checked against a plain computation before it is timed; a wrong one ends the run with a message and status 1.

mod bench;
mod beside;
mod check;
mod data;
mod measure;
mod rows;

use bench::Bench;
use std::process::ExitCode;

const USAGE: &str = "usage: zither-bench [--patience SECONDS] [--beside-limits SECONDS] [PREFIX,PREFIX...] | --place";

fn main() -> ExitCode {
    if std::env::args().skip(1).eq(["--place"]) {
        println!("{}", beside::place());
        return ExitCode::SUCCESS;
    }
    let Some(bench) = bench_for(std::env::args().skip(1)) else {
        eprintln!("{USAGE}");
        return ExitCode::from(2);
    };
    if std::env::var_os("ZITHER_THREADS").is_none() {
        zither::runtime::set_threads(2); // as many as the peers use
    }
    if bench.is_beside_limits() {
        beside::head();
    }
    match rows::run(&bench) {
        Ok(()) if bench.has_seen_a_row() => ExitCode::SUCCESS,
        Ok(()) => {
            eprintln!("no row begins with what was asked for; the rows are in bench/README.md");
            ExitCode::from(2)
        }
        Err(error) => {
            eprintln!("zither-bench: {error}");
            ExitCode::FAILURE
        }
    }
}

/// What the arguments ask for; `None` when they make no sense.
fn bench_for(mut args: impl Iterator<Item = String>) -> Option<Bench> {
    let (mut prefixes, mut patience, mut beside_limits) = (Vec::new(), bench::PATIENCE, None);
    while let Some(arg) = args.next() {
        if arg == "--patience" {
            patience = args.next()?.parse().ok()?;
        } else if arg == "--beside-limits" {
            beside_limits = Some(args.next()?.parse().ok()?);
        } else if arg.starts_with('-') {
            return None;
        } else {
            prefixes.extend(arg.split(',').filter(|prefix| !prefix.is_empty()).map(str::to_owned));
        }
    }
    Some(Bench::new(prefixes, patience, beside_limits))
}
