//! `ZITHER_VERIFY=1`: the reference evaluator runs beside every plan, and the first node that differs is named.
//!
//! Each node that a plan writes to memory is computed again from what the plan read for it. How far the two may be apart follows
//! from the node itself: the reference is run a second time with every inexact value off by a few of its last bits, and a
//! result may differ by several times what that changes.

use super::prepared::Prepared;
use crate::error::{Error, ErrorKind, Result};
use crate::graph::{IdMap, Node};
use crate::memory::Buffer;
use crate::reference;
use crate::schedule::Request;
use std::sync::OnceLock;

/// Whether the environment asks for it.
pub(super) fn is_on() -> bool {
    static ON: OnceLock<bool> = OnceLock::new();
    *ON.get_or_init(|| std::env::var_os("ZITHER_VERIFY").is_some_and(|value| value == "1"))
}

/// By how many of its last bits an inexact value is moved.
const NOISE: f64 = 8.0;

/// Compares everything that a plan made with the reference; the nodes are in the order in which they were made.
pub(super) fn check(prepared: &Prepared, request: &Request, made: &[Buffer]) -> Result<()> {
    let mut known: IdMap<Buffer> = IdMap::default();
    for (spec, buffer) in prepared.made.iter().zip(made) {
        let node = &request.nodes()[spec.node];
        compare(node, buffer, &known)?;
        known.insert(node.id(), buffer.clone());
    }
    Ok(())
}

/// Compares one node's numbers with the reference, which starts from known ones.
fn compare(node: &Node, found: &Buffer, known: &IdMap<Buffer>) -> Result<()> {
    let expected = reference::evaluate_from(node, known, 0.0)?;
    let is_float = node.dtype().is_float();
    let moved = if is_float { reference::evaluate_from(node, known, NOISE)? } else { Vec::new() };
    for (place, want) in expected.iter().enumerate() {
        let have = found.literal(place);
        let (a, b) = (have.to_f64(), want.to_f64());
        let near = is_float && {
            let moved = moved[place].to_f64();
            let room = 4.0 * (moved - b).abs()
                + 4.0 * reference::epsilon(node.dtype()) * b.abs().max(f64::from(f32::MIN_POSITIVE));
            // Where a few bits decide between a number and none, either will do.
            (a - b).abs() <= room || moved.is_finite() != b.is_finite()
        };
        let same = have == *want || a == b || (a.is_nan() && b.is_nan());
        if !same && !near {
            let name = node.with_op(|op| op.name());
            let message = format!(
                "{name} ({} of shape {:?}): element {place} is {have}, the reference has {want}. \
                 This is a defect of zither: please report it with the line below",
                node.dtype(),
                node.shape()
            );
            return Err(Error::new(ErrorKind::Verify, "verify", message).made_at("node", node.at()));
        }
    }
    Ok(())
}
