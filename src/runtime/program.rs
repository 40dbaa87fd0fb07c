//! A captured plan: called again and again with new inputs, without tracing and, after the first call, without allocating.

use super::cache::prepare;
use super::execute::{not_given, read};
use super::fault;
use super::prepared::{Keep, Place, Prepared, Value};
use super::run::Space;
use crate::error::Result;
use crate::graph::Node;
use crate::memory::Buffer;
use crate::schedule::Request;
use crate::shape::Shape;
use smallvec::SmallVec;
use std::sync::{Mutex, TryLockError};

/// Nodes, few of them.
pub(crate) type Nodes = SmallVec<[Node; 4]>;

/// A plan that waits for its inputs.
pub(crate) struct Program {
    prepared: Prepared,
    /// Keeps what the function captured.
    request: Request,
    /// Which input is which value of the plan.
    inputs: Vec<(Value, usize)>,
    outputs: Vec<Output>,
    /// The memory of the last call, for the next.
    kept: Mutex<Option<Run>>,
}

/// A result.
struct Output {
    from: From,
    shape: Shape,
}

/// Where a result's numbers come from.
enum From {
    /// The run makes them: which of the buffers made.
    Made(usize),
    /// They are those of an input.
    Input(usize),
    /// They never change.
    Fixed(Node),
}

/// The memory of one call at a time.
struct Run {
    space: Space,
    /// A node for every buffer that is made, as they were given out by the last call, and by the one before: a step of training reads the last
    /// results while it makes the next.
    results: Nodes,
    before: Nodes,
    /// Room for the inputs' buffers, empty between calls.
    buffers: Vec<Buffer>,
}

impl Program {
    /// The plan from `inputs`, which are placeholders, to `outputs`.
    pub(crate) fn capture(inputs: &[Node], outputs: &[Node]) -> Result<Program> {
        let bases: Vec<Node> = outputs.iter().map(dense).collect();
        let mut wanted: Vec<Node> = Vec::new();
        for base in &bases {
            if base.buffer().is_none() && !base.is_input() && !wanted.contains(base) {
                wanted.push(base.clone());
            }
        }
        let request = Request::new(wanted);
        let stranger = request.nodes().iter().chain(&bases).find(|node| {
            let is_given = node.buffer().is_some() || inputs.contains(node);
            node.is_input() && !is_given
        });
        if let Some(node) = stranger {
            return Err(not_given(node));
        }
        let prepared = prepare(&request, Keep::Wanted);
        let made_at = |base: &Node| prepared.made.iter().position(|made| request.nodes()[made.node] == *base);
        let input_at = |base: &Node| inputs.iter().position(|input| input == base);
        let output = |(base, output): (&Node, &Node)| Output {
            from: match (made_at(base), input_at(base)) {
                (Some(which), _) => From::Made(which),
                (None, Some(input)) => From::Input(input),
                (None, None) => From::Fixed(base.clone()),
            },
            shape: output.shape().into(),
        };
        let input_of = |place: &Place| match place {
            Place::Given(number) => input_at(&request.nodes()[*number]),
            Place::Made(_) | Place::Arena(_) => None,
        };
        let places = prepared.places.iter().enumerate();
        let given = places.filter_map(|(value, place)| Some((value as Value, input_of(place)?)));
        Ok(Program {
            outputs: bases.iter().zip(outputs).map(output).collect(),
            inputs: given.collect(),
            kept: Mutex::new(None),
            prepared,
            request,
        })
    }

    /// Gives the results for these inputs, which are of the placeholders' shapes and dtypes, to `take`.
    pub(crate) fn call<R>(&self, inputs: &[Node], take: impl FnOnce(&mut dyn Iterator<Item = Node>) -> R) -> Result<R> {
        let mut kept = match self.kept.try_lock() {
            Ok(kept) => Some(kept),
            Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
            // Another thread is in here: this call gets memory of its own.
            Err(TryLockError::WouldBlock) => None,
        };
        let last = kept.as_mut().and_then(|kept| kept.take()).filter(|run| run.space.suits_threads());
        let mut run = match last {
            Some(run) => run,
            None => self.new_run()?,
        };
        run.buffers.clear();
        for input in inputs {
            run.buffers.push(read(input)?);
        }
        self.bind(&mut run)?;
        // SAFETY: the space is bound to the plan's own request; the run's buffers have what the placeholders stand for, of the same shapes
        // and dtypes; what is made belongs to this run alone.
        unsafe { self.prepared.run(&run.space) }.map_err(|stop| fault::describe(stop, &self.request))?;
        run.buffers.clear();
        let results = take(&mut self.outputs.iter().map(|output| self.result(output, &run, inputs)));
        if let Some(kept) = &mut kept {
            **kept = Some(run);
        }
        Ok(results)
    }

    fn result(&self, output: &Output, run: &Run, inputs: &[Node]) -> Node {
        let node = match &output.from {
            From::Made(which) => &run.results[*which],
            From::Input(input) => &inputs[*input],
            From::Fixed(node) => node,
        };
        if node.shape() == &output.shape[..] { node.clone() } else { node.reshaped(&output.shape) }
    }

    /// Memory for a call, bound but for its inputs and results.
    fn new_run(&self) -> Result<Run> {
        let mut space = Space::new(&self.prepared)?;
        let nodes = self.request.nodes();
        let given = |number: usize| match nodes[number].buffer() {
            Some(buffer) => Ok(buffer.as_ptr()),
            None => Ok(std::ptr::null()), // an input, told before each run
        };
        space.bind(&self.prepared, given, |_| std::ptr::null_mut(), |number, part| self.request.told(number, part))?;
        Ok(Run { space, results: Nodes::new(), before: Nodes::new(), buffers: Vec::new() })
    }

    /// Tells where the inputs are, and where the results go: to those of the last call, or of the one before, if nobody has them any more.
    fn bind(&self, run: &mut Run) -> Result<()> {
        for &(value, input) in &self.inputs {
            run.space.set(value, run.buffers[input].as_ptr().cast_mut());
        }
        for (value, place) in self.prepared.places.iter().enumerate() {
            let Place::Made(which) = *place else { continue };
            let mut reused = run.results.get_mut(which).and_then(Node::overwrite);
            if let (None, Some(last), Some(before)) = (reused, run.results.get_mut(which), run.before.get_mut(which)) {
                std::mem::swap(last, before);
                reused = last.overwrite();
            }
            let pointer = match reused {
                Some(pointer) => pointer,
                None => self.new_result(run, which)?,
            };
            run.space.set(value as Value, pointer);
        }
        Ok(())
    }

    fn new_result(&self, run: &mut Run, which: usize) -> Result<*mut u8> {
        let made = self.prepared.made[which];
        let mut buffer = Buffer::uninit("compile", made.dtype, made.len)?;
        let pointer = buffer.as_mut_ptr();
        // SAFETY: nobody reads it before the run that follows has written every element; if that fails, it is dropped.
        let buffer = unsafe { buffer.freeze() };
        let shape = self.outputs.iter().find(|output| matches!(output.from, From::Made(it) if it == which));
        let shape = shape.map_or_else(|| self.request.nodes()[made.node].shape().into(), |output| output.shape.clone());
        let node = Node::from_buffer(buffer, shape);
        match run.results.get_mut(which) {
            Some(old) => *old = node,
            None => {
                // The first call has only one generation of results; whoever needs the second makes it.
                run.before.push(node.clone());
                run.results.push(node);
            }
        }
        Ok(pointer)
    }
}

/// The node whose buffer, as it is, has a node's elements.
fn dense(node: &Node) -> Node {
    let (base, view) = node.base_and_view();
    if view.is_contiguous() && base.len() == node.len() { base } else { node.contiguous() }
}
