//! Reading an equation: which axis of which operand has which name.

use crate::error::{Error, ErrorKind, Result};
use crate::graph::Node;
use std::collections::BTreeMap;

/// The name of an axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Label {
    /// An axis of an ellipsis, counted from its end: these line up as in broadcasting.
    Rest(usize),
    Letter(char),
}

/// An equation for some operands.
pub(super) struct Equation {
    /// The names of each operand's axes.
    pub(super) inputs: Vec<Vec<Label>>,
    pub(super) output: Vec<Label>,
    sizes: BTreeMap<Label, usize>,
}

fn fail<T>(equation: &str, message: String) -> Result<T> {
    Err(Error::new(ErrorKind::Value, "einsum", format!("\"{equation}\": {message}")))
}

impl Equation {
    /// The size of a label; axes of 1 stretch to it.
    pub(super) fn size(&self, label: Label) -> usize {
        self.sizes[&label]
    }

    /// Reads an equation and checks it against the operands.
    pub(super) fn read(text: &str, operands: &[&Node]) -> Result<Equation> {
        let spaceless: String = text.chars().filter(|c| !c.is_whitespace()).collect();
        let (left, right) = match spaceless.split_once("->") {
            Some((left, right)) => (left, Some(right)),
            None => (spaceless.as_str(), None),
        };
        let terms: Vec<&str> = left.split(',').collect();
        if terms.len() != operands.len() {
            return fail(text, format!("the equation names {} tensors, {} were given", terms.len(), operands.len()));
        }
        let mut inputs = Vec::new();
        for (k, (term, operand)) in terms.iter().zip(operands).enumerate() {
            inputs.push(names(text, term, operand.rank()).map_err(|error| {
                error.note(format!("tensor {k} has shape {:?}", operand.shape())).made_at("tensor", operand.at())
            })?);
        }
        let sizes = sizes(text, &inputs, operands)?;
        let output = match right {
            Some(right) => explicit(text, right, &sizes)?,
            None => implicit(&inputs, &sizes),
        };
        Ok(Equation { inputs, output, sizes })
    }
}

/// The letters of a term around its ellipsis, if it has one.
fn parts<'a>(text: &str, term: &'a str) -> Result<(&'a str, Option<&'a str>)> {
    let (before, after) = match term.split_once("...") {
        Some((before, after)) => (before, Some(after)),
        None => (term, None),
    };
    let all = before.chars().chain(after.unwrap_or("").chars());
    if let Some(other) = all.into_iter().find(|c| !c.is_ascii_alphabetic()) {
        return fail(text, format!("'{other}' names no axis: use letters, one \"...\" a tensor, ',' and \"->\""));
    }
    Ok((before, after))
}

/// The name of each axis of an operand.
fn names(text: &str, term: &str, rank: usize) -> Result<Vec<Label>> {
    let (before, after) = parts(text, term)?;
    let letters = before.len() + after.unwrap_or("").len();
    let fits = if after.is_some() { letters <= rank } else { letters == rank };
    if !fits {
        return fail(text, format!("\"{term}\" names {letters} axes of a tensor of rank {rank}"));
    }
    let rest = (0..rank - letters).rev().map(Label::Rest);
    let after = after.unwrap_or("").chars().map(Label::Letter);
    Ok(before.chars().map(Label::Letter).chain(rest).chain(after).collect())
}

/// The size of every label; where operands differ, one of them is 1.
fn sizes(text: &str, inputs: &[Vec<Label>], operands: &[&Node]) -> Result<BTreeMap<Label, usize>> {
    let mut sizes: BTreeMap<Label, usize> = BTreeMap::new();
    for (labels, operand) in inputs.iter().zip(operands) {
        for (k, (&label, &size)) in labels.iter().zip(operand.shape()).enumerate() {
            // A diagonal is of two axes of one size.
            let again = labels[..k].iter().position(|&other| other == label);
            if let Some(other) = again.filter(|&other| operand.shape()[other] != size) {
                let message = format!("{} is {} and {size} in one tensor", said(label), operand.shape()[other]);
                return fail(text, message);
            }
            let known = sizes.entry(label).or_insert(size);
            if *known == 1 {
                *known = size;
            } else if size != 1 && size != *known {
                let message = format!("{} is {} in one tensor and {size} in another", said(label), *known);
                return fail(text, message);
            }
        }
    }
    Ok(sizes)
}

fn said(label: Label) -> String {
    match label {
        Label::Letter(letter) => format!("axis '{letter}'"),
        Label::Rest(k) => format!("axis {k} from the end of \"...\""),
    }
}

/// The axes of all ellipses, first to last.
fn rest(sizes: &BTreeMap<Label, usize>) -> impl Iterator<Item = Label> {
    let count = sizes.keys().filter(|label| matches!(label, Label::Rest(_))).count();
    (0..count).rev().map(Label::Rest)
}

/// The axes named after the arrow.
fn explicit(text: &str, term: &str, sizes: &BTreeMap<Label, usize>) -> Result<Vec<Label>> {
    let (before, after) = parts(text, term)?;
    let mut output: Vec<Label> = before.chars().map(Label::Letter).collect();
    if let Some(after) = after {
        output.extend(rest(sizes));
        output.extend(after.chars().map(Label::Letter));
    }
    for (k, label) in output.iter().enumerate() {
        if !sizes.contains_key(label) {
            return fail(text, format!("{} of the result is in no tensor", said(*label)));
        }
        if output[..k].contains(label) {
            return fail(text, format!("{} stands twice in the result", said(*label)));
        }
    }
    Ok(output)
}

/// Without an arrow: what an ellipsis stands for, then the letters that stand once, in their order.
fn implicit(inputs: &[Vec<Label>], sizes: &BTreeMap<Label, usize>) -> Vec<Label> {
    let count = |label: Label| inputs.iter().flatten().filter(|&&other| other == label).count();
    let letters = sizes.keys().copied().filter(|label| matches!(label, Label::Letter(_)) && count(*label) == 1);
    rest(sizes).chain(letters).collect()
}
