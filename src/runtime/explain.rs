//! A plan as text: what will run, in which order, and what it costs.

use super::cost::Cost;
use super::prepared::{Keep, Prepared, Ready};
use crate::codegen::Compiled;
use crate::graph::Node;
use crate::lower;
use crate::schedule::{Form, Kernel, Plan, Request, Stage, Work, contraction};
use std::fmt::{self, Write};

/// What a plan does and costs, before it runs. Printed, it shows every kernel with its loops.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Explanation {
    /// The kernels that run.
    pub kernels: usize,
    /// The stages of all kernels.
    pub stages: usize,
    /// Bytes read from and written to memory. What stays in the cache between the stages of a kernel is not counted.
    pub bytes_moved: u128,
    /// Arithmetic operations, one for each element of each primitive.
    pub flops: u128,
    /// The most bytes that are held at one time for the run: its results and all that lies between.
    pub peak_bytes: usize,
    /// So many of these are not taken if all inputs are given away ([`call_owned`](crate::Compiled::call_owned)): results are written where the
    /// inputs were. Only a compiled function has such inputs.
    pub in_place_bytes: usize,
    text: String,
}

impl fmt::Display for Explanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// How much of a plan is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Detail {
    /// A line for each kernel.
    Kernels,
    /// And what each stage computes, as a formula under its loops.
    Loops,
    /// And the words of the vector programs.
    Words,
    /// And the machine code.
    Code,
}

/// The plan for a node's numbers.
pub(crate) fn explain(node: &Node) -> Explanation {
    explain_request(&missing(node), Keep::Needed, 0)
}

/// The plan for a request; so many bytes of its results may take the place of inputs.
pub(super) fn explain_request(request: &Request, keep: Keep, in_place_bytes: usize) -> Explanation {
    let plan = request.plan();
    let prepared = Prepared::new(&plan, request, keep);
    let cost = prepared.cost();
    Explanation {
        kernels: plan.kernels.len(),
        stages: cost.stages,
        bytes_moved: cost.bytes,
        flops: cost.flops,
        peak_bytes: prepared.peak_bytes(),
        in_place_bytes,
        text: text(&plan, &prepared, Detail::Words),
    }
}

/// The loop programs of a node, one after the other.
pub(crate) fn lowered(node: &Node) -> String {
    let plan = missing(node).plan();
    if plan.kernels.is_empty() {
        return NOTHING.to_string();
    }
    let mut text = String::new();
    for (at, kernel) in plan.kernels.iter().enumerate() {
        for (place, stage) in kernel.all_stages().enumerate() {
            let name =
                if place == 0 { format!("kernel {at}{}", form(kernel)) } else { format!("  then, stage {place}") };
            let _ = writeln!(text, "{name}{}: {}", when(kernel, place), made(stage));
            let _ = write!(text, "{}", words(stage));
        }
    }
    text
}

const NOTHING: &str = "the numbers are here: nothing to run\n";

fn missing(node: &Node) -> Request {
    let base = node.base();
    Request::new(if base.buffer().is_some() { Vec::new() } else { vec![base] })
}

/// A plan, in some detail.
pub(super) fn text(plan: &Plan, prepared: &Prepared, detail: Detail) -> String {
    if plan.kernels.is_empty() {
        return NOTHING.to_string();
    }
    let cost = prepared.cost();
    let mut text = format!(
        "{} in {}; {}, at most {} at a time\n",
        count(plan.kernels.len(), "kernel"),
        count(cost.stages, "stage"),
        amounts(&cost),
        bytes(prepared.peak_bytes() as u128)
    );
    let mut compiled = prepared.kernels.iter().flat_map(Ready::compiled);
    for (at, kernel) in plan.kernels.iter().enumerate() {
        let _ = writeln!(text, "kernel {at}{}: {}", form(kernel), amounts(&prepared.costs[at]));
        for (place, stage) in kernel.all_stages().enumerate() {
            let _ = writeln!(text, "  stage {place}{}: {}", when(kernel, place), made(stage));
            let body = match detail {
                Detail::Kernels => continue,
                Detail::Loops => formula(stage),
                Detail::Words => words(stage),
                Detail::Code if is_compiled(kernel, place, stage) => {
                    let code = compiled.next().map_or_else(String::new, Compiled::assembly);
                    format!("{}{code}", words(stage))
                }
                Detail::Code => words(stage),
            };
            for line in body.lines() {
                let _ = writeln!(text, "    {line}");
            }
        }
    }
    text
}

/// Whether there is code for a stage: some only move elements, some have none.
fn is_compiled(kernel: &Kernel, place: usize, stage: &Stage) -> bool {
    let in_rows = matches!(kernel.form, Form::Rows(_)) && place < kernel.stages.len();
    let Work::MapReduce(work) = &stage.work else { return false };
    let is_product = match kernel.form {
        Form::Contraction(_) => place == kernel.producers.len(),
        Form::Rows(_) => in_rows && contraction(work).is_some(),
        Form::Alone | Form::Siblings => false,
    };
    !is_product && (in_rows || stage.node.len() > 0)
}

/// When a stage is computed, if it has no turn of its own.
fn when(kernel: &Kernel, place: usize) -> &'static str {
    if place < kernel.producers.len() { ", while packing" } else { "" }
}

fn form(kernel: &Kernel) -> String {
    match &kernel.form {
        Form::Rows(rows) => format!(", row by row over {rows:?}"),
        Form::Siblings => ", part by part".to_string(),
        Form::Contraction(_) => ", a contraction".to_string(),
        Form::Alone => String::new(),
    }
}

/// What a stage makes, and the line that asked for it.
fn made(stage: &Stage) -> String {
    let (node, at) = (&stage.node, stage.node.at());
    format!("{} {:?}  // {}:{}", node.dtype(), node.shape(), at.file(), at.line())
}

fn words(stage: &Stage) -> String {
    match &stage.work {
        Work::MapReduce(work) => lower::lower(work).to_string(),
        Work::Concat { .. } | Work::Gather { .. } | Work::Scatter { .. } | Work::Lines { .. } => formula(stage),
    }
}

fn formula(stage: &Stage) -> String {
    match &stage.work {
        Work::MapReduce(work) => work.to_string(),
        Work::Concat { parts, axis } => format!("concat {} tensors along axis {axis}\n", parts.len()),
        Work::Gather { axis, .. } => format!("gather along axis {axis}\n"),
        Work::Scatter { kind, axis, .. } => format!("{} along axis {axis}\n", kind.scatter_name()),
        Work::Lines { work, axis, .. } => format!("{} along axis {axis}\n", work.name()),
    }
}

fn amounts(cost: &Cost) -> String {
    format!("{} moved, {}", bytes(cost.bytes), flops(cost.flops))
}

fn count(number: usize, what: &str) -> String {
    if number == 1 { format!("1 {what}") } else { format!("{number} {what}s") }
}

fn bytes(number: u128) -> String {
    scaled(number, 1024, &["B", "KiB", "MiB", "GiB", "TiB"])
}

fn flops(number: u128) -> String {
    scaled(number, 1000, &["FLOP", "kFLOP", "MFLOP", "GFLOP", "TFLOP"])
}

/// A number in the largest unit that leaves it at least 1.
fn scaled(number: u128, step: u128, units: &[&str]) -> String {
    let (mut divisor, mut unit) = (1, 0);
    while number / divisor >= step && unit + 1 < units.len() {
        divisor *= step;
        unit += 1;
    }
    let number = number as f64 / divisor as f64;
    if unit == 0 { format!("{number} {}", units[0]) } else { format!("{number:.1} {}", units[unit]) }
}
