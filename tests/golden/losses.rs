//! Losses of the golden set.

use crate::ops::{Outcome, axis, one};
use serde_json::Value;
use zither::{CrossEntropyOptions, DynTensor, Reduction};

fn reduction(kw: &Value) -> Reduction {
    match kw["reduction"].as_str() {
        Some("sum") => Reduction::Sum,
        Some("none") => Reduction::None,
        Some("batchmean") => Reduction::BatchMean,
        _ => Reduction::Mean,
    }
}

/// The outputs of a loss; `None` if the op is none.
pub(crate) fn apply(op: &str, x: &[DynTensor], kw: &Value) -> Option<Outcome> {
    let (a, reduction) = (&x[0], reduction(kw));
    Some(match op {
        "bce" => one(a.try_binary_cross_entropy(&x[1], None, reduction)),
        "bce_with_logits" => one(a.try_binary_cross_entropy_with_logits(&x[1], None, None, reduction)),
        "cosine_similarity" => one(a.try_cosine_similarity(&x[1], axis(kw, "dim"))),
        "cross_entropy" => {
            let label_smoothing = kw["label_smoothing"].as_f64().unwrap_or(0.0);
            one(a.try_cross_entropy(&x[1], CrossEntropyOptions { reduction, label_smoothing, ignore_index: -100 }))
        }
        "huber_loss" => one(a.try_huber_loss(&x[1], 1.0, reduction)),
        "kl_div" => one(a.try_kl_div(&x[1], false, reduction)),
        "l1_loss" => one(a.try_l1_loss(&x[1], reduction)),
        "mse_loss" => one(a.try_mse_loss(&x[1], reduction)),
        "nll_loss" => one(a.try_nll_loss(&x[1], None, -100, reduction)),
        "smooth_l1_loss" => one(a.try_smooth_l1_loss(&x[1], 1.0, reduction)),
        _ => return None,
    })
}
