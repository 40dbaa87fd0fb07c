//! Ops of the golden set that repeat, turn and take apart, and products of tensors.

use crate::case::number;
use crate::ops::{Outcome, axes, axis, one, sizes, text};
use serde_json::Value;
use zither::DynTensor;

/// The outputs of an op; `None` if it is not one of these.
pub(crate) fn apply(op: &str, x: &[DynTensor], kw: &Value) -> Option<Outcome> {
    let a = &x[0];
    let factor = |key: &str| if kw[key].is_null() { 1.0 } else { number(&kw[key]) };
    let or = |key: &str, default: isize| kw[key].as_i64().map_or(default, |value| value as isize);
    let count = |key: &str| axis(kw, key) as usize;
    Some(match op {
        "addmm" => one(a.try_addmm(&x[1], &x[2], factor("beta"), factor("alpha"))),
        "chunk" => a.try_chunk(count("n"), axis(kw, "dim")).map_err(text),
        "diag" => one(a.try_diag(axis(kw, "k"))),
        "diagonal" => one(a.try_diagonal(or("k", 0), or("d0", 0), or("d1", 1))),
        "outer" => one(a.try_outer(&x[1])),
        "repeat" => one(a.try_repeat(&sizes(&kw["reps"]))),
        "repeat_interleave" => one(a.try_repeat_interleave(count("n"), axis(kw, "dim"))),
        "roll" => one(a.try_roll(&axes(kw, "shifts").unwrap_or_default(), &axes(kw, "dims").unwrap_or_default())),
        "tile" => one(a.try_tile(&sizes(&kw["reps"]))),
        "unbind" => a.try_unbind(axis(kw, "dim")).map_err(text),
        _ => return None,
    })
}
