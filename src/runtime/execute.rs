//! From wishes to numbers: the whole way, as a list of steps.

use super::prepared::{Keep, Prepared};
use super::run::Space;
use super::{cache, fault, verify};
use crate::error::{Error, ErrorKind, Result};
use crate::graph::{IdSet, Node};
use crate::memory::{Buffer, BufferMut};
use crate::schedule::Request;

/// Makes sure that the numbers of every wanted node (of a view: of its base) are there.
///
/// Many threads may ask for the same nodes at once; one of them executes, the others wait.
pub(crate) fn execute(wanted: &[Node]) -> Result<()> {
    if wanted.iter().all(Node::is_realized) {
        return Ok(());
    }
    let bases: Vec<Node> = wanted.iter().map(|node| node.base_and_view().0).collect();
    // Locks are taken in one order everywhere, so that two requests never wait for each other.
    let mut by_id: Vec<&Node> = bases.iter().collect();
    by_id.sort_by_key(|node| node.id());
    by_id.dedup();
    let _running: Vec<_> = by_id.into_iter().map(Node::lock_running).collect();
    // In the order they were asked for: the same request has the same fingerprint when it comes again.
    let mut asked = IdSet::default();
    let missing = bases.iter().filter(|node| node.buffer().is_none() && asked.insert(node.id()));
    let missing: Vec<Node> = missing.cloned().collect();
    if missing.is_empty() {
        return Ok(());
    }
    if let Some(node) = missing.iter().find(|node| node.is_input()) {
        return Err(not_given(node));
    }
    let request = Request::new(missing);
    if verify::is_on() {
        return run_request(&cache::prepare(&request, Keep::All), &request, verify::check);
    }
    run_request(&cache::prepared(&request), &request, |_, _, _| Ok(()))
}

/// Looks at what a plan made for a request.
type Check = fn(&Prepared, &Request, &[Buffer]) -> Result<()>;

/// Runs a plan for a request. Nothing is left in the nodes unless all of it succeeds.
fn run_request(prepared: &Prepared, request: &Request, check: Check) -> Result<()> {
    let nodes = request.nodes();
    let made = prepared.made.iter().map(|made| Buffer::uninit("realize", made.dtype, made.len));
    let made: Vec<BufferMut> = made.collect::<Result<_>>()?;
    let mut space = Space::new(prepared)?;
    let given =
        |number: usize| nodes[number].buffer().map(|buffer| buffer.as_ptr()).ok_or_else(|| not_given(&nodes[number]));
    let filled = |which: usize| made[which].as_ptr().cast_mut();
    space.bind(prepared, given, filled, |number, part| request.told(number, part))?;
    // SAFETY: the plan is that of this request or of one with the same fingerprint, so what is given has the dtypes and lengths it
    // expects; `nodes` keeps it alive, and nobody else knows what is made.
    unsafe { prepared.run(&space) }.map_err(|stop| fault::describe(stop, request))?;
    // SAFETY: every kernel has run, so every element is written.
    let made: Vec<Buffer> = made.into_iter().map(|buffer| unsafe { buffer.freeze() }).collect();
    check(prepared, request, &made)?;
    for (spec, buffer) in prepared.made.iter().zip(made) {
        nodes[spec.node].set_buffer(buffer);
    }
    Ok(())
}

/// The numbers of a node, dense and row-major.
pub(crate) fn read(node: &Node) -> Result<Buffer> {
    Ok(read_node(node)?.buffer().expect("executed"))
}

/// A node whose buffer has the numbers of another, dense and row-major; its shape may be another one.
pub(super) fn read_node(node: &Node) -> Result<Node> {
    let (base, view) = node.base_and_view();
    if view.is_contiguous() && base.len() == node.len() {
        execute(std::slice::from_ref(&base))?;
        return Ok(base);
    }
    let dense = node.contiguous();
    // The base's numbers are made on the way; kept, they are there for the next reader. (A constant's are never made.)
    let wanted = if base.constant().is_some() { vec![dense.clone()] } else { vec![base, dense.clone()] };
    execute(&wanted)?;
    Ok(dense)
}

/// How the names of the inputs that `compile` makes end.
pub(crate) const OF_A_COMPILED_FUNCTION: &str = " of a compiled function";

/// The error for an input that has no data.
pub(super) fn not_given(node: &Node) -> Error {
    let name = node.name().unwrap_or_default();
    if name.ends_with(OF_A_COMPILED_FUNCTION) {
        let message = format!(
            "{name} has no numbers while the function is recorded: what needs numbers at once (reading them, linear algebra, \
             nonzero, masked_select, unique) cannot be inside; do it before, and give the function its result"
        );
        return Error::new(ErrorKind::Input, "compile", message).made_at("input", node.at());
    }
    let message = format!(
        "\"{name}\" ({} of shape {:?}) was read but never given: use realize_with(&[(\"{name}\", &data)])",
        node.dtype(),
        node.shape()
    );
    Error::new(ErrorKind::Input, "input", message).made_at("input", node.at())
}
