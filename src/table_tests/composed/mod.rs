//! Every composed op, in one table: its value on several dtypes and every layout. Its gradient is tested from the same rows.

mod activation;
mod contraction;
mod create;
mod elementwise;
mod indexing;
mod layers;
mod lines;
mod loss;
mod maths;
mod movement;
mod reduction;
mod shaping;

use super::compare::{Agreement, Failures};
use super::layouts::{LAYOUTS, any};
use super::sample::Random;
use crate::dtype::DType;
use crate::error::Result;
use crate::graph::Node;
use std::ops::Range;
use std::path::Path;

/// One op with its arguments.
pub(super) struct Case {
    /// The file and the function, as in `norm::softmax`; after a space, which of its cases this is.
    pub(super) name: &'static str,
    pub(super) inputs: &'static [Input],
    /// The dtypes to try.
    pub(super) dtypes: &'static [DType],
    pub(super) agreement: Agreement,
    pub(super) slope: Slope,
    pub(super) build: Build,
}

/// From operands, and the dtype of most of them, to the result.
type Build = fn(&[Node], DType) -> Result<Node>;

/// What is known of an op's derivative.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Slope {
    /// It has one, to be compared with finite differences.
    Smooth,
    /// The op named here refuses to pass a gradient.
    Stops(&'static str),
    /// There is nothing to differentiate.
    Nothing,
}

/// One operand of a case.
pub(super) struct Input {
    pub(super) shape: &'static [usize],
    pub(super) range: Range<f64>,
    /// Its dtype, if that is not the case's.
    pub(super) dtype: Option<DType>,
}

/// An operand of the case's dtype.
const fn x(shape: &'static [usize], low: f64, high: f64) -> Input {
    Input { shape, range: low..high, dtype: None }
}

/// Whole numbers from `low` to `high`.
const fn index(shape: &'static [usize], low: f64, high: f64) -> Input {
    Input { shape, range: low..high, dtype: Some(DType::I64) }
}

/// True or false.
const fn condition(shape: &'static [usize]) -> Input {
    Input { shape, range: 0.0..1.0, dtype: Some(DType::Bool) }
}

/// A differentiable op on floats, within so many epsilons.
const fn smooth(
    name: &'static str,
    epsilons: f64,
    inputs: &'static [Input],
    build: fn(&[Node], DType) -> Result<Node>,
) -> Case {
    Case { name, inputs, dtypes: FLOATS, agreement: Agreement::Epsilons(epsilons), slope: Slope::Smooth, build }
}

/// A differentiable op on numbers of every kind, within so many epsilons of floats.
const fn numeric(
    name: &'static str,
    epsilons: f64,
    inputs: &'static [Input],
    build: fn(&[Node], DType) -> Result<Node>,
) -> Case {
    Case { name, inputs, dtypes: NUMBERS, agreement: Agreement::Epsilons(epsilons), slope: Slope::Smooth, build }
}

/// A differentiable op that only moves elements, whatever they are.
const fn exact(name: &'static str, inputs: &'static [Input], build: fn(&[Node], DType) -> Result<Node>) -> Case {
    Case { name, inputs, dtypes: ALL, agreement: Agreement::Exact, slope: Slope::Smooth, build }
}

const FLOATS: &[DType] = &[DType::F16, DType::BF16, DType::F32, DType::F64];
const NUMBERS: &[DType] = &[DType::I8, DType::U16, DType::I64, DType::F16, DType::F32, DType::F64];
const ALL: &[DType] = &[DType::Bool, DType::I8, DType::U16, DType::I64, DType::BF16, DType::F32, DType::F64];

/// Every case.
pub(super) fn cases() -> impl Iterator<Item = &'static Case> {
    [
        activation::CASES,
        contraction::CASES,
        create::CASES,
        elementwise::CASES,
        layers::CASES,
        loss::CASES,
        maths::CASES,
        movement::CASES,
        reduction::CASES,
        shaping::CASES,
        lines::CASES,
        indexing::CASES,
    ]
    .into_iter()
    .flatten()
}

/// What stands beside the ops and is none.
static NOT_OPS: &[&str] = &[
    "create::seed",        // sets the generator
    "movement::axis_of",   // checks an argument
    "moves::as_leaf",      // marks a node
    "moves::constant",     // asks a node
    "moves::moved_by",     // calls the others
    "moves::with_vjp",     // the user's derivative
    "moves::whole_ranges", // makes an argument
    "reduction::resolve",  // checks an argument
    "scalar::beside",      // makes an argument
    "source::input",       // a placeholder has no numbers
    "together::fits",      // checks an argument
    "together::one_dtype", // checks an argument
    "together::pair",      // makes arguments
    "together::same",      // checks an argument
];

/// The modules in a folder and below it, with their text; a `mod.rs` has its folder's name.
fn modules(folder: &Path) -> Vec<(String, String)> {
    let name = |path: &Path| path.file_stem().expect("a name").to_string_lossy().into_owned();
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            found.extend(modules(&path));
            continue;
        }
        let module = if path.ends_with("mod.rs") { name(folder) } else { name(&path) };
        found.push((module, std::fs::read_to_string(&path).expect("text")));
    }
    found
}

#[test]
fn every_composed_op_has_a_row() {
    let mut missing = Vec::new();
    for folder in ["src/ops/compose", "src/graph/build"] {
        for (module, text) in modules(&Path::new(env!("CARGO_MANIFEST_DIR")).join(folder)) {
            for after in text.split("pub(crate) fn ").skip(1) {
                let end = after.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(after.len());
                let op = format!("{module}::{}", &after[..end]);
                let has_row = cases().any(|case| case.name.split(' ').next() == Some(&op));
                if !has_row && !NOT_OPS.contains(&op.as_str()) {
                    missing.push(op);
                }
            }
        }
    }
    assert!(missing.is_empty(), "no row in the table of composed ops: {missing:?}");
}

#[test]
fn every_composed_op_agrees_with_the_reference() {
    let mut failures = Failures::default();
    for case in cases() {
        for &dtype in case.dtypes {
            // First every operand in the layout, where it suits; then one of them, the others by chance.
            for layout in LAYOUTS {
                for lone in [None, Some(0), Some(1)].into_iter().take(1 + case.inputs.len()) {
                    let mut random = Random::of(&format!("{} {dtype} {} {lone:?}", case.name, layout.name));
                    let mut names = Vec::new();
                    let mut operands = Vec::new();
                    for (k, input) in case.inputs.iter().enumerate() {
                        let chosen = lone.is_none_or(|lone| lone == k) && layout.suits(input.shape, &input.range);
                        let layout = if chosen { layout } else { any(&mut random, input.shape, &input.range) };
                        names.push(layout.name);
                        let dtype = input.dtype.unwrap_or(dtype);
                        operands.push(layout.node(&mut random, dtype, &input.range, input.shape));
                    }
                    let row = format!("{} {dtype} [{}]", case.name, names.join("; "));
                    match (case.build)(&operands, dtype) {
                        Ok(result) => failures.judge(&row, &result, case.agreement),
                        Err(error) => failures.add(format!("{row}: refused: {error}")),
                    }
                    if case.inputs.len() == 1 || case.inputs.is_empty() {
                        break;
                    }
                }
                if case.inputs.is_empty() {
                    break;
                }
            }
        }
    }
    failures.done(10_000);
}
