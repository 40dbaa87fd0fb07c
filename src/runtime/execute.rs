//! From wishes to numbers: the whole way, as a list of steps.

use super::prepared::{Keep, Prepared};
use super::run::Space;
use super::{cache, fault, verify};
use crate::error::{Error, ErrorKind, Result};
use crate::graph::{IdSet, Node};
use crate::memory::{Buffer, BufferMut};
use crate::schedule::{Glance, Request};
use smallvec::SmallVec;

/// Makes sure that the numbers of every wanted node (of a view: of its base) are there.
///
/// Many threads may ask for the same nodes at once; one of them executes, the others wait.
pub(crate) fn execute(wanted: &[Node]) -> Result<()> {
    if wanted.iter().all(Node::is_realized) {
        return Ok(());
    }
    if let [node] = wanted {
        let base = node.base();
        let _running = base.lock_running();
        return if base.has_buffer() { Ok(()) } else { make(std::slice::from_ref(&base)) };
    }
    let bases: Vec<Node> = wanted.iter().map(Node::base).collect();
    // Locks are taken in one order everywhere, so that two requests never wait for each other.
    let mut by_id: Vec<&Node> = bases.iter().collect();
    by_id.sort_by_key(|node| node.id());
    by_id.dedup();
    let _running: Vec<_> = by_id.into_iter().map(Node::lock_running).collect();
    // In the order they were asked for: the same request has the same fingerprint when it comes again.
    let mut asked = IdSet::default();
    let missing = bases.iter().filter(|node| !node.has_buffer() && asked.insert(node.id()));
    let missing: Vec<Node> = missing.cloned().collect();
    if missing.is_empty() { Ok(()) } else { make(&missing) }
}

/// Makes the numbers of nodes that have none and are not views, by the plan that is kept for such a request or by a new one.
fn make(missing: &[Node]) -> Result<()> {
    if let Some(node) = missing.iter().find(|node| node.is_input()) {
        return Err(not_given(node));
    }
    if verify::is_on() {
        let request = Request::new(missing.to_vec());
        return run(&cache::prepare(&request, Keep::All), request.glance(), verify::check);
    }
    let glance = Glance::at(missing, |_, _| ());
    if let Some(prepared) = cache::kept(&glance) {
        return run(&prepared, &glance, |_, _, _| Ok(()));
    }
    drop(glance);
    let request = Request::new(missing.to_vec());
    run(&cache::prepare_and_keep(&request), request.glance(), |_, _, _| Ok(()))
}

/// Looks at what a plan made for these nodes.
type Check = fn(&Prepared, &[Node], &[Buffer]) -> Result<()>;

/// Runs a plan for a request. Nothing is left in the nodes unless all of it succeeds.
fn run(prepared: &Prepared, glance: &Glance, check: Check) -> Result<()> {
    let nodes = glance.nodes();
    let made = prepared.made.iter().map(|made| Buffer::uninit("realize", made.dtype, made.len));
    let made: SmallVec<[BufferMut; 1]> = made.collect::<Result<_>>()?;
    let mut space = Space::new(prepared)?;
    let given = |number: usize| {
        let start = nodes[number].with_op_and_buffer(|_, buffer| buffer.map(Buffer::as_ptr));
        start.ok_or_else(|| not_given(&nodes[number]))
    };
    let filled = |which: usize| made[which].as_ptr().cast_mut();
    space.bind(prepared, given, filled, |number, part| glance.told(number, part))?;
    // SAFETY: the plan is that of this request or of one with the same fingerprint, so what is given has the dtypes and lengths it
    // expects; `nodes` keeps it alive, and nobody else knows what is made.
    unsafe { prepared.run(&space) }.map_err(|stop| fault::describe(stop, nodes))?;
    // SAFETY: every kernel has run, so every element is written.
    let made: SmallVec<[Buffer; 1]> = made.into_iter().map(|buffer| unsafe { buffer.freeze() }).collect();
    check(prepared, nodes, &made)?;
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
