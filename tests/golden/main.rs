//! Cases made with PyTorch: every op and every program, forward and backward.
//!
//! `ZITHER_GOLDEN` names the folder (see its README for the format); without it the part in this repository is used.
//! A wrong number, an unknown op or an empty folder fails the test.

mod case;
mod compare;
mod ops;
mod store;

use case::Case;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Ops of the set that are not built yet. The list shrinks to nothing and goes.
const NOT_BUILT: &[&str] = &[
    "adaptive_avg_pool2d",
    "addmm",
    "avg_pool1d",
    "avg_pool2d",
    "batch_norm_eval",
    "batch_norm_train",
    "bce",
    "bce_with_logits",
    "chunk",
    "conv_transpose1d",
    "conv_transpose2d",
    "cosine_similarity",
    "diag",
    "diagonal",
    "einsum",
    "elu",
    "fmod",
    "glu",
    "group_norm",
    "hardswish",
    "huber_loss",
    "instance_norm",
    "interpolate_bilinear",
    "interpolate_nearest",
    "isinf",
    "isnan",
    "kl_div",
    "l1_loss",
    "leaky_relu",
    "lerp",
    "logsigmoid",
    "max_pool1d",
    "max_pool2d",
    "mish",
    "mse_loss",
    "nll_loss",
    "norm",
    "optim",
    "outer",
    "relu6",
    "remainder",
    "repeat",
    "repeat_interleave",
    "roll",
    "sdpa",
    "smooth_l1_loss",
    "softsign",
    "tile",
    "unbind",
];

fn folder() -> PathBuf {
    match std::env::var_os("ZITHER_GOLDEN") {
        Some(folder) => folder.into(),
        None => Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/data"),
    }
}

#[test]
fn every_golden_case_of_a_built_op_passes() {
    let folder = folder();
    let cases = case::read_all(&folder);
    assert!(!cases.is_empty(), "{} holds no case", folder.display());
    let mut files = store::Files::new(&folder);
    let mut passed: BTreeMap<&str, usize> = BTreeMap::new();
    let mut skipped: BTreeMap<&str, usize> = BTreeMap::new();
    let mut failures = Vec::new();
    for case in &cases {
        if let Some(missing) = missing_op(case) {
            *skipped.entry(missing).or_default() += 1;
            continue;
        }
        match case::run(case, files.get(&case.file)) {
            Ok(()) => *passed.entry(&case.op).or_default() += 1,
            Err(message) => failures.push(format!("{}: {message}", case.id)),
        }
    }
    for (op, count) in &passed {
        println!("{op}: {count} passed");
    }
    for (op, count) in &skipped {
        println!("{op}: {count} not built yet");
    }
    let (passed, skipped): (usize, usize) = (passed.values().sum(), skipped.values().sum());
    println!("{passed} passed, {skipped} of ops not built yet, {} failed", failures.len());
    assert!(failures.is_empty(), "{} golden cases fail:\n{}", failures.len(), failures.join("\n"));
    assert!(passed > 0, "no case was run");
}

/// The op that keeps a case from running, if it is on the list.
fn missing_op(case: &Case) -> Option<&'static str> {
    let ops = case.program.iter().map(|step| step.op.as_str()).chain([case.op.as_str()]);
    ops.filter_map(|op| NOT_BUILT.iter().find(|&&missing| missing == op)).next().copied()
}

#[test]
fn the_list_of_ops_not_built_is_sorted_and_true() {
    assert!(NOT_BUILT.windows(2).all(|pair| pair[0] < pair[1]), "keep the list sorted");
    for op in NOT_BUILT {
        assert!(!ops::is_built(op), "{op} is built: take it off the list");
    }
}
