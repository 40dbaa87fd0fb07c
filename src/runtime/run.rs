//! Runs the kernels of a plan and hands the results to their nodes.

use super::rows;
use super::structural;
use super::threads::parallel;
use crate::codegen::{self, Call};
use crate::dtype::{DType, with_dtype};
use crate::error::{Error, Result};
use crate::graph::{Node, topological};
use crate::lower;
use crate::memory::Buffer;
use crate::ops;
use crate::ops::vector::Fault;
use crate::reference::{self, division_by_zero};
use crate::schedule::{Form, Kernel, MapReduce, Plan, Stage, Work};
use smallvec::SmallVec;
use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

/// The buffers of one run, each kept until its last reader is done.
struct Live {
    buffers: HashMap<usize, Buffer>,
    readers: HashMap<usize, usize>,
}

impl Live {
    fn get(&self, node: &Node) -> Buffer {
        let buffer = self.buffers.get(&node.id()).cloned().or_else(|| node.buffer());
        buffer.expect("a kernel's reads are made before it runs")
    }

    fn release(&mut self, node: &Node) {
        if let Some(left) = self.readers.get_mut(&node.id()) {
            *left -= 1;
            if *left == 0 {
                self.buffers.remove(&node.id());
            }
        }
    }
}

/// Runs every kernel. Nothing is left in the nodes unless all of them succeed.
pub(super) fn run(plan: &Plan) -> Result<()> {
    let mut live = Live { buffers: HashMap::new(), readers: plan.readers.clone() };
    let mut kept = Vec::new();
    for kernel in &plan.kernels {
        let made = match &kernel.form {
            Form::Rows(sizes) => {
                let whole = |node: &Node| is_whole(node, kernel, plan);
                rows::run(kernel, sizes, whole, |node| live.get(node))?.map_err(|failed| failed.describe(kernel))?
            }
            Form::Alone | Form::Siblings => {
                let mut made = Vec::new();
                for stage in kernel.all_stages() {
                    let reads: Vec<Buffer> = stage.reads.iter().map(|node| live.get(node)).collect();
                    made.push((stage.node.clone(), run_stage(stage, &reads)?));
                }
                made
            }
        };
        for node in kernel.reads() {
            live.release(node);
        }
        for (node, buffer) in made {
            // What was asked for stays, and so does what will be read again: parameters, and what a gradient needs.
            if plan.wanted.contains(&node.id()) || node.is_kept() {
                kept.push((node.clone(), buffer.clone()));
            }
            if live.readers.get(&node.id()).is_some_and(|&left| left > 0) {
                live.buffers.insert(node.id(), buffer);
            }
        }
    }
    for (node, buffer) in kept {
        node.set_buffer(buffer);
    }
    Ok(())
}

/// Whether a node's numbers are needed after its kernel is done.
fn is_whole(node: &Node, kernel: &Kernel, plan: &Plan) -> bool {
    let inside = kernel.reads().filter(|read| *read == node).count();
    let readers = plan.readers.get(&node.id()).copied().unwrap_or(0);
    readers > inside || plan.wanted.contains(&node.id()) || node.is_kept()
}

fn run_stage(stage: &Stage, reads: &[Buffer]) -> Result<Buffer> {
    if stage.node.len() == 0 {
        return with_dtype!(stage.node.dtype(), T => Buffer::from_slice::<T>("realize", &[]));
    }
    match &stage.work {
        Work::MapReduce(map_reduce) => run_map_reduce(map_reduce, &stage.node, reads)?
            .map_err(|fault| StageFault { fault, node: stage.node.clone() }.describe_among(&stage.reads)),
        Work::Concat { parts, axis } => structural::concat(&stage.node, parts, *axis, reads),
        Work::Gather { lookup, input, index, axis } => {
            structural::gather(&stage.node, *lookup, input, index, *axis, reads)
        }
        Work::ScatterAdd { lookup, index, source, axis } => {
            structural::scatter_add(&stage.node, *lookup, index, source, *axis, reads)
        }
    }
}

fn run_map_reduce(kernel: &MapReduce, node: &Node, reads: &[Buffer]) -> Result<Result<Buffer, Fault>> {
    let mut out = Buffer::uninit("realize", kernel.dtype, node.len())?;
    let compiled = codegen::compile(&lower::lower(kernel));
    // Long reductions to few outputs leave partial results first.
    let partial_words = compiled.partial_bytes().div_ceil(size_of::<u64>());
    let mut partials = Buffer::uninit("realize", DType::U64, partial_words)?;
    let target = Pointer(if partial_words > 0 { partials.as_mut_ptr() } else { out.as_mut_ptr() });
    let loads = kernel.loads.iter().map(|operand| Pointer(reads[operand.read].as_ptr().cast_mut()));
    let loads: Vec<Pointer> = loads.collect();
    let fault: Mutex<Option<Fault>> = Mutex::new(None);
    parallel(compiled.parts(), &|part| {
        let loads: SmallVec<[*const u8; 8]> = loads.iter().map(|pointer| pointer.get().cast_const()).collect();
        let call = Call { loads: &loads, scalars: &[], out: target.get(), origin: 0 };
        // SAFETY: the views of the loads stay within their buffers, which `reads` keeps alive; the target has an element for
        // each index of the kernel's outer space (or is the partial results' own buffer); parts write disjoint ranges, and
        // `parallel` joins before anything is read.
        if let Err(met) = unsafe { compiled.run(part, &call) } {
            *fault.lock().unwrap_or_else(PoisonError::into_inner) = Some(met);
        }
    });
    if let Some(fault) = fault.into_inner().unwrap_or_else(PoisonError::into_inner) {
        return Ok(Err(fault));
    }
    if partial_words > 0 {
        // SAFETY: all parts have run with this buffer, and `out` has room for the output.
        unsafe { compiled.finish(partials.as_mut_ptr(), out.as_mut_ptr()) };
    }
    // SAFETY: every part has run, so every element is written.
    Ok(Ok(unsafe { out.freeze() }))
}

/// A pointer that may go to another thread; whoever uses it says why that is sound.
#[derive(Clone, Copy)]
pub(super) struct Pointer(pub(super) *mut u8);

impl Pointer {
    pub(super) fn get(self) -> *mut u8 {
        self.0
    }
}

// SAFETY: a pointer is only a number until it is used, and its uses above say why they are sound.
unsafe impl Send for Pointer {}
// SAFETY: as above.
unsafe impl Sync for Pointer {}

/// What a stage met, and the node it was making.
pub(super) struct StageFault {
    pub(super) fault: Fault,
    pub(super) node: Node,
}

impl StageFault {
    /// The error, at the line of the op that met it.
    fn describe(&self, kernel: &Kernel) -> Error {
        let stage = kernel.stages.iter().find(|stage| stage.node == self.node);
        self.describe_among(stage.map_or(&[], |stage| &stage.reads))
    }

    fn describe_among(&self, reads: &[Node]) -> Error {
        match self.fault {
            Fault::DivideByZero => {
                let (op, node) = failed_division(&self.node, reads).unwrap_or(("idiv", self.node.clone()));
                division_by_zero(op, &node)
            }
        }
    }
}

/// The first division on the way to a node with a zero among its divisors. Only asked once something went wrong.
fn failed_division(node: &Node, reads: &[Node]) -> Option<(&'static str, Node)> {
    let inside = |node: &Node| if reads.contains(node) { SmallVec::new() } else { node.inputs() };
    let mut divisions: Vec<(&'static str, Node)> = topological(std::slice::from_ref(node), inside)
        .into_iter()
        .filter(|node| !reads.contains(node))
        .map(|node| (node.with_op(|op| op.name()), node))
        .filter(|(name, _)| [ops::IDIV.name, ops::REM.name].contains(name))
        .collect();
    if divisions.len() == 1 {
        return divisions.pop();
    }
    let has_zero = |node: &Node| {
        let divisors = node.inputs().get(1).map(reference::evaluate);
        divisors.is_some_and(|values| values.is_ok_and(|values| values.iter().any(|value| value.to_f64() == 0.0)))
    };
    divisions.into_iter().find(|(_, node)| has_zero(node))
}
