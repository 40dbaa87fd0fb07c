//! Cases made with PyTorch: every op and every program, forward and backward.
//!
//! `ZITHER_GOLDEN` names the folder (see its README for the format); without it the part in this repository is used.
//! A wrong number, an unknown op or an empty folder fails the test.

mod case;
mod compare;
mod elementwise;
mod layers;
mod losses;
mod ops;
mod optimizers;
mod shapes;
mod store;

use case::Case;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

fn folder() -> PathBuf {
    match std::env::var_os("ZITHER_GOLDEN") {
        Some(folder) => folder.into(),
        None => Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/data"),
    }
}

#[test]
fn every_golden_case_passes() {
    let folder = folder();
    let cases = case::read_all(&folder);
    assert!(!cases.is_empty(), "{} holds no case", folder.display());
    let mut files = store::Files::new(&folder);
    let mut passed: BTreeMap<&str, usize> = BTreeMap::new();
    let mut failures = Vec::new();
    for case in &cases {
        match case::run(case, files.get(&case.file)) {
            Ok(()) => *passed.entry(&case.op).or_default() += 1,
            Err(message) => failures.push(format!("{}: {message}", case.id)),
        }
    }
    for (op, count) in &passed {
        println!("{op}: {count} passed");
    }
    let passed: usize = passed.values().sum();
    println!("{passed} passed, {} failed", failures.len());
    assert!(failures.is_empty(), "{} golden cases fail:\n{}", failures.len(), failures.join("\n"));
    assert!(passed > 0, "no case was run");
}
