//! From wishes to numbers: the whole way, as a list of steps.

use super::run;
use crate::error::{Error, ErrorKind, Result};
use crate::graph::{Node, Op};
use crate::memory::Buffer;
use crate::schedule;

/// Makes sure that the numbers of every wanted node (of a view: of its base) are there.
///
/// Many threads may ask for the same nodes at once; one of them executes, the others wait.
pub(crate) fn execute(wanted: &[Node]) -> Result<()> {
    let mut bases: Vec<Node> = wanted.iter().map(|node| node.base_and_view().0).collect();
    bases.retain(|node| node.buffer().is_none());
    if bases.is_empty() {
        return Ok(());
    }
    // Locks are taken in one order everywhere, so that two requests never wait for each other.
    bases.sort_by_key(Node::id);
    bases.dedup();
    let _running: Vec<_> = bases.iter().map(Node::lock_running).collect();
    let missing: Vec<Node> = bases.iter().filter(|node| node.buffer().is_none()).cloned().collect();
    if missing.is_empty() {
        return Ok(());
    }
    let plan = schedule::plan(&missing);
    for node in plan.kernels.iter().flat_map(|kernel| kernel.reads()).chain(&missing) {
        check_given(node)?;
    }
    run::run(&plan)
}

/// The numbers of a node, dense and row-major.
pub(crate) fn read(node: &Node) -> Result<Buffer> {
    let (base, view) = node.base_and_view();
    if view.is_contiguous() && base.len() == node.len() {
        execute(std::slice::from_ref(&base))?;
        return Ok(base.buffer().expect("executed"));
    }
    let dense = node.contiguous();
    // The base's numbers are made on the way; kept, they are there for the next reader. (A constant's are never made.)
    let wanted = if base.constant().is_some() { vec![dense.clone()] } else { vec![base, dense.clone()] };
    execute(&wanted)?;
    Ok(dense.buffer().expect("executed"))
}

/// An error for an input that has no data.
fn check_given(node: &Node) -> Result<()> {
    if node.buffer().is_some() || !node.with_op(|op| matches!(op, Op::Input)) {
        return Ok(());
    }
    let name = node.name().unwrap_or_default();
    let message = format!(
        "\"{name}\" ({} of shape {:?}) was read but never given: use realize_with(&[(\"{name}\", &data)])",
        node.dtype(),
        node.shape()
    );
    Err(Error::new(ErrorKind::Input, "input", message).made_at("input", node.at()))
}
