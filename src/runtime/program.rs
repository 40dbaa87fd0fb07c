//! A captured plan: called again and again with new inputs, without tracing and, after the first call, without allocating.
//!
//! An input that nobody but the call has was given away: a result that may take its place ([`super::in_place`]) is written there, and the
//! input's node becomes that result.

use super::cache::prepare;
use super::execute::{not_given, read_node};
use super::explain::{Explanation, explain_request};
use super::fault;
use super::prepared::{Keep, Place, Prepared, Value};
use super::run::Space;
use crate::dtype::DType;
use crate::error::Result;
use crate::graph::Node;
use crate::memory::{Buffer, BufferMut};
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
    results: Vec<Made>,
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

/// A buffer that is made.
struct Made {
    value: Value,
    /// The shape of its node.
    shape: Shape,
    /// The input whose place it may take.
    instead: Option<usize>,
}

/// The memory of one call at a time.
struct Run {
    space: Space,
    /// By buffer that is made.
    results: Vec<Kept>,
}

/// The nodes that have had a result.
#[derive(Default)]
struct Kept {
    /// As it was given out by the last call, and by the one before: a step of training reads the last results while it makes the next.
    last: Option<Node>,
    before: Option<Node>,
    /// The last call put it into the place of this input.
    input: Option<usize>,
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
        let passed_on = bases.iter().filter(|base| base.is_input()).cloned().collect();
        let request = Request::new(wanted).passing_on(passed_on);
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
        let outputs: Vec<Output> = bases.iter().zip(outputs).map(output).collect();
        Ok(Program {
            inputs: given.collect(),
            results: results(&prepared, &request, &outputs, input_at),
            outputs,
            kept: Mutex::new(None),
            prepared,
            request,
        })
    }

    /// Gives the results for these inputs, which are of the placeholders' shapes and dtypes, to `take`. What nobody else has of them may
    /// be overwritten.
    pub(crate) fn call<R>(
        &self,
        inputs: &mut [Node],
        take: impl FnOnce(&mut dyn Iterator<Item = Node>) -> R,
    ) -> Result<R> {
        for input in inputs.iter_mut().filter(|input| !input.has_buffer()) {
            *input = read_node(input)?;
        }
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
        self.bind(&mut run, inputs)?;
        // SAFETY: the space is bound to the plan's own request; the inputs, which stay, have what the placeholders stand for, of the same
        // shapes and dtypes; what is made belongs to this run alone, or is the place of an input that nobody else has, and
        // of which the plan says that it may be overwritten.
        unsafe { self.prepared.run(&run.space) }.map_err(|stop| fault::describe(stop, self.request.nodes()))?;
        let results = take(&mut self.outputs.iter().map(|output| self.result(output, &run, inputs)));
        if let Some(kept) = &mut kept {
            **kept = Some(run);
        }
        Ok(results)
    }

    /// What a call does and costs.
    pub(crate) fn explain(&self) -> Explanation {
        let in_place = self.results.iter().zip(&self.prepared.made).filter(|(made, _)| made.instead.is_some());
        explain_request(&self.request, Keep::Wanted, in_place.map(|(_, spec)| spec.block_bytes()).sum())
    }

    fn result(&self, output: &Output, run: &Run, inputs: &[Node]) -> Node {
        let node = match &output.from {
            From::Made(which) => match (&run.results[*which], run.results[*which].input) {
                (_, Some(input)) => &inputs[input],
                (kept, None) => kept.last.as_ref().expect("made by this call"),
            },
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
        space.bind(
            &self.prepared,
            given,
            |_| std::ptr::null_mut(),
            |number, part| self.request.glance().told(number, part),
        )?;
        Ok(Run { space, results: self.results.iter().map(|_| Kept::default()).collect() })
    }

    /// Tells where the inputs are, and where the results go.
    fn bind(&self, run: &mut Run, inputs: &mut [Node]) -> Result<()> {
        for (made, kept) in self.results.iter().zip(&mut run.results) {
            let given = made.instead.and_then(|input| Some((input, kept.give_place(&mut inputs[input], &made.shape)?)));
            kept.input = given.map(|(input, _)| input);
            let pointer = match given {
                Some((_, pointer)) => pointer,
                None => kept.place(|| self.new_result(made))?,
            };
            run.space.set(made.value, pointer);
        }
        for &(value, input) in &self.inputs {
            let buffer = inputs[input].buffer().expect("read before");
            run.space.set(value, buffer.as_ptr().cast_mut());
        }
        Ok(())
    }

    fn new_result(&self, made: &Made) -> Result<(Node, *mut u8)> {
        let Place::Made(which) = self.prepared.places[made.value as usize] else { unreachable!("it is made") };
        let spec = self.prepared.made[which];
        // Of bools, not every byte is one.
        let mut buffer = match spec.dtype {
            DType::Bool => BufferMut::zeroed("compile", spec.dtype, spec.len)?,
            _ => Buffer::uninit("compile", spec.dtype, spec.len)?,
        };
        let pointer = buffer.as_mut_ptr();
        // SAFETY: nobody reads it before the run that follows has written every element; if that fails, it is dropped.
        let buffer = unsafe { buffer.freeze() };
        Ok((Node::from_buffer(buffer, made.shape.clone()), pointer))
    }
}

impl Kept {
    /// The place of an input, if nobody but the call, and what is kept here of earlier ones, has it. It becomes the result.
    fn give_place(&mut self, input: &mut Node, shape: &Shape) -> Option<*mut u8> {
        let [last, before] =
            [&mut self.last, &mut self.before].map(|kept| kept.take_if(|kept| *kept == *input).is_some());
        let Some(pointer) = input.overwrite_as(shape) else {
            // Somebody else has it.
            for (kept, was_input) in [(&mut self.last, last), (&mut self.before, before)] {
                if was_input {
                    *kept = Some(input.clone());
                }
            }
            return None;
        };
        // Whoever gives its inputs away will do so again: nothing needs to be kept for the next call.
        (self.last, self.before) = (None, None);
        Some(pointer)
    }

    /// A place for the result: that of the last call, or of the one before, if nobody has those any more; else a new one.
    fn place(&mut self, new: impl FnOnce() -> Result<(Node, *mut u8)>) -> Result<*mut u8> {
        let mut reused = self.last.as_mut().and_then(Node::overwrite);
        if reused.is_none() {
            std::mem::swap(&mut self.last, &mut self.before);
            reused = self.last.as_mut().and_then(Node::overwrite);
        }
        if let Some(pointer) = reused {
            return Ok(pointer);
        }
        let (node, pointer) = new()?;
        self.last = Some(node);
        Ok(pointer)
    }
}

/// What is known of each buffer that is made.
fn results(
    prepared: &Prepared,
    request: &Request,
    outputs: &[Output],
    input_at: impl Fn(&Node) -> Option<usize>,
) -> Vec<Made> {
    let mut results: Vec<Option<Made>> = prepared.made.iter().map(|_| None).collect();
    for (value, place) in prepared.places.iter().enumerate() {
        let Place::Made(which) = *place else { continue };
        let output = outputs.iter().find(|output| matches!(output.from, From::Made(it) if it == which));
        let shape =
            output.map_or_else(|| request.nodes()[prepared.made[which].node].shape().into(), |it| it.shape.clone());
        let pair = prepared.in_place.iter().find(|pair| pair.made == which);
        let instead = pair.and_then(|pair| input_at(&request.nodes()[pair.input]));
        results[which] = Some(Made { value: value as Value, shape, instead });
    }
    results.into_iter().map(|made| made.expect("a place for all that is made")).collect()
}

/// The node whose buffer, as it is, has a node's elements.
fn dense(node: &Node) -> Node {
    let (base, view) = node.base_and_view();
    if view.is_contiguous() && base.len() == node.len() { base } else { node.contiguous() }
}
