//! `ZITHER_VERIFY=1`: the reference evaluator runs beside every plan, and the first node that differs is named.
//!
//! Each node that a plan writes to memory is computed again from what the plan read for it. How far the two may be apart follows
//! from the node itself: the reference is run again with every inexact value off by a few of its last bits, and a result may
//! differ by several times what that changes.

use super::prepared::Prepared;
use crate::dtype::{DType, Literal};
use crate::error::{Error, ErrorKind, Result};
use crate::graph::{IdMap, Node};
use crate::memory::Buffer;
use crate::reference::{self, Noise};
use std::sync::OnceLock;

/// Whether the environment asks for it.
pub(crate) fn is_on() -> bool {
    static ON: OnceLock<bool> = OnceLock::new();
    *ON.get_or_init(|| std::env::var_os("ZITHER_VERIFY").is_some_and(|value| value == "1"))
}

/// By how many of its last bits an inexact value is moved, and in how many ways.
const NOISE: f64 = 8.0;
const WAYS: usize = 4;

/// Compares everything that a plan made with the reference; the nodes are in the order in which they were made.
pub(super) fn check(prepared: &Prepared, nodes: &[Node], made: &[Buffer]) -> Result<()> {
    let mut known: IdMap<Buffer> = IdMap::default();
    for (spec, buffer) in prepared.made.iter().zip(made) {
        let node = &nodes[spec.node];
        compare(node, buffer, &known)?;
        known.insert(node.id(), buffer.clone());
    }
    Ok(())
}

/// Compares one node's numbers with the reference, which starts from known ones.
fn compare(node: &Node, found: &Buffer, known: &IdMap<Buffer>) -> Result<()> {
    let Some((place, want)) = first_difference(node, found, known)? else { return Ok(()) };
    // Whether one number equals another may hang on the last bit of both: then all of them must be computed in one way.
    if !known.is_empty() && first_difference(node, found, &IdMap::default())?.is_none() {
        return Ok(());
    }
    let name = node.with_op(|op| op.name());
    let message = format!(
        "{name} ({} of shape {:?}): element {place} is {}, the reference has {want}. \
         This is a defect of zither: please report it with the line below",
        node.dtype(),
        node.shape(),
        found.literal(place)
    );
    Err(Error::new(ErrorKind::Verify, "verify", message).made_at("node", node.at()))
}

/// The first element that is further from the reference's than it may be, and that of the reference.
fn first_difference(node: &Node, found: &Buffer, known: &IdMap<Buffer>) -> Result<Option<(usize, Literal)>> {
    let expected = reference::evaluate_from(node, known, None)?;
    let moved = |way| reference::evaluate_from(node, known, Some(Noise { bits: NOISE, way }));
    let moved: Vec<Vec<Literal>> = (0..WAYS).map(moved).collect::<Result<_>>()?;
    for (place, want) in expected.iter().enumerate() {
        let (have, want_number) = (found.literal(place), want.to_f64());
        let same = have == *want || have.to_f64() == want_number || (have.to_f64().is_nan() && want_number.is_nan());
        let moved = moved.iter().map(|values| values[place].to_f64());
        if !same && !moved.clone().any(|moved| moved.is_finite() != want_number.is_finite()) {
            let far = moved.map(|moved| (moved - want_number).abs()).fold(0.0, f64::max);
            if (have.to_f64() - want_number).abs() > 4.0 * (far + last_bit(node.dtype(), want_number)) || far.is_nan() {
                return Ok(Some((place, *want)));
            }
        }
    }
    Ok(None)
}

/// What the last bit of a number is worth; integers have none to spare.
fn last_bit(dtype: DType, number: f64) -> f64 {
    if dtype.is_float() { reference::epsilon(dtype) * number.abs().max(f64::from(f32::MIN_POSITIVE)) } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::ReduceKind;
    use crate::ops;
    use crate::runtime;

    fn rows() -> Node {
        let values: Vec<f32> = (0..60).map(|k| (k as f32 * 0.7).sin() * 3.0).collect();
        Node::from_buffer(Buffer::from_vec("test", values).unwrap(), [6, 10].as_slice().into())
    }

    #[test]
    fn what_a_plan_makes_is_near_enough_and_what_is_wrong_is_named() {
        let node = ops::compose::norm::softmax(&rows(), 1).unwrap();
        let right = runtime::read(&node).unwrap();
        // The numbers of the same node, made again from its parts.
        let again = ops::compose::norm::softmax(&rows(), 1).unwrap().base();
        assert!(compare(&again, &right, &IdMap::default()).is_ok());
        let mut values = right.to_vec::<f32>("test").unwrap();
        values[17] *= 1.0001;
        let wrong = Buffer::from_vec("test", values).unwrap();
        let error = compare(&again, &wrong, &IdMap::default()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Verify);
        let text = error.to_string();
        assert!(text.contains("element 17 is") && text.contains("verify.rs"), "{text}");
    }

    #[test]
    fn the_reference_is_the_more_exact_one_for_long_sums() {
        let values: Vec<f64> = (0..200_000).map(|k| f64::from(k * 7919 % 1009) / 200.0).collect();
        let exact = values.iter().map(|x| (x * x * 40_000.0).round() as i64).sum::<i64>() as f64 / 40_000.0;
        let line = Node::from_buffer(Buffer::from_vec("test", values).unwrap(), [200_000].as_slice().into());
        let sum = (&line * &line).reduce("sum", ReduceKind::Sum, &[0], false).unwrap();
        let found = reference::evaluate(&sum).unwrap()[0].to_f64();
        assert!((found / exact - 1.0).abs() <= 2.0 * f64::EPSILON, "{found} {exact}");
    }

    #[test]
    fn integers_must_be_equal() {
        let index = Node::from_buffer(Buffer::from_vec("test", vec![1i64, 2, 3]).unwrap(), [3].as_slice().into());
        let sum = &index + &index;
        let check = |values: Vec<i64>| compare(&sum, &Buffer::from_vec("test", values).unwrap(), &IdMap::default());
        assert!(check(vec![2, 4, 6]).is_ok());
        assert!(check(vec![2, 4, 7]).is_err());
        assert_eq!(sum.dtype(), DType::I64);
    }
}
