//! Sums of products by an equation: `"bij,bjk->bik"`.
//!
//! The equation is read (`equation.rs`), an order of pairwise products is chosen by what they cost (`order.rs`), and each
//! product is a broadcast multiplication with the sum over what is named nowhere else: the form in which products of
//! matrices are recognised. No operand is copied to be turned.

mod equation;
mod order;

use super::diagonal::diagonal;
use super::reduction;
use super::together::one_dtype;
use crate::error::{Error, ErrorKind, Result};
use crate::graph::{Node, ReduceKind};
use crate::ops;
use crate::ops::record::Dtypes;
use crate::shape::{Shape, element_count};
use equation::{Equation, Label};
use order::Cost;

/// A tensor whose axes have names, each once.
#[derive(Clone)]
struct Named {
    node: Node,
    labels: Vec<Label>,
}

/// The sum of products that `equation` describes.
#[track_caller]
pub(crate) fn einsum(equation: &str, operands: &[&Node]) -> Result<Node> {
    let op = "einsum";
    let Some(first) = operands.first() else {
        return Err(Error::new(ErrorKind::Value, op, "no tensors were given: at least one is needed"));
    };
    if operands.len() > order::MOST {
        let message = format!("{} tensors in one equation: use at most {}", operands.len(), order::MOST);
        return Err(Error::new(ErrorKind::Value, op, message));
    }
    Dtypes::Numeric.check(op, first)?;
    for other in &operands[1..] {
        one_dtype(op, first, other)?;
    }
    let equation = Equation::read(equation, operands)?;
    let mut named = Vec::new();
    for (operand, labels) in operands.iter().zip(&equation.inputs) {
        named.push(stretched(once(&reduction::wide(operand)?, labels)?, &equation)?);
    }
    let costs = Cost::new(&equation, named.iter().map(|named| named.labels.clone()).collect());
    for (left, right) in costs.order() {
        let second = named.remove(right.max(left));
        let first = named.remove(right.min(left));
        let kept =
            |label: &Label| equation.output.contains(label) || named.iter().any(|other| other.labels.contains(label));
        named.push(product(&first, &second, kept)?);
    }
    let last = named.pop().expect("at least one operand");
    let summed = sum_out(&last, |label| equation.output.contains(label))?;
    let order: Shape = equation.output.iter().map(|label| place(&summed, *label)).collect();
    summed.node.permuted(&order).cast(first.dtype())
}

/// Labels that stand twice name a diagonal.
#[track_caller]
fn once(x: &Node, labels: &[Label]) -> Result<Named> {
    let mut named = Named { node: x.clone(), labels: labels.to_vec() };
    while let Some((first, second)) = twice(&named.labels) {
        // The diagonal is the new last axis.
        named.node = diagonal(&named.node, 0, first as isize, second as isize)?;
        let label = named.labels.remove(second);
        named.labels.remove(first);
        named.labels.push(label);
    }
    Ok(named)
}

fn twice(labels: &[Label]) -> Option<(usize, usize)> {
    let later = |first: usize| (first + 1..labels.len()).find(|&second| labels[second] == labels[first]);
    (0..labels.len()).find_map(|first| Some((first, later(first)?)))
}

/// Axes of size 1 stretched to what their labels are elsewhere.
#[track_caller]
fn stretched(named: Named, equation: &Equation) -> Result<Named> {
    let shape: Shape = named.labels.iter().map(|&label| equation.size(label)).collect();
    Ok(Named { node: named.node.broadcast_to(&shape)?, labels: named.labels })
}

fn place(named: &Named, label: Label) -> usize {
    named.labels.iter().position(|&other| other == label).expect("a label of the output is in an operand")
}

/// The sum over the axes that are not kept.
#[track_caller]
fn sum_out(named: &Named, kept: impl Fn(&Label) -> bool) -> Result<Named> {
    let axes: Vec<isize> =
        (0..named.labels.len()).filter(|&axis| !kept(&named.labels[axis])).map(|axis| axis as isize).collect();
    if axes.is_empty() {
        return Ok(named.clone());
    }
    let node = named.node.reduce("einsum", ReduceKind::Sum, &axes, false)?;
    Ok(Named { node, labels: named.labels.iter().copied().filter(|label| kept(label)).collect() })
}

/// The product of two, summed over the labels that are named nowhere else: `[both.., left.., right.., summed..]`.
#[track_caller]
fn product(left: &Named, right: &Named, kept: impl Fn(&Label) -> bool) -> Result<Named> {
    let (left, right) = (
        sum_out(left, |label| kept(label) || right.labels.contains(label))?,
        sum_out(right, |label| kept(label) || left.labels.contains(label))?,
    );
    let of = |named: &Named, wanted: &dyn Fn(&Label) -> bool| -> Vec<Label> {
        named.labels.iter().copied().filter(|label| wanted(label)).collect()
    };
    let shared = |label: &Label| left.labels.contains(label) && right.labels.contains(label);
    let both = of(&left, &|label| shared(label) && kept(label));
    let summed = of(&left, &|label| shared(label) && !kept(label));
    let rows = of(&left, &|label| !shared(label));
    let columns = of(&right, &|label| !shared(label));
    let labels: Vec<Label> = both.iter().chain(&rows).chain(&columns).chain(&summed).copied().collect();
    let size = |label: Label| {
        let find = |named: &Named| named.labels.iter().position(|&other| other == label).map(|k| named.node.shape()[k]);
        find(&left).or_else(|| find(&right)).expect("a label of one of them")
    };
    let shape: Shape = labels.iter().map(|&label| size(label)).collect();
    let kept_count = labels.len() - summed.len();
    element_count("einsum", &shape[..kept_count], left.node.dtype())?;
    let spread = |named: &Named| -> Result<Node> {
        let own: Vec<Label> = labels.iter().copied().filter(|label| named.labels.contains(label)).collect();
        let order: Shape = own.iter().map(|&label| place(named, label)).collect();
        let apart: Shape =
            labels.iter().map(|label| if named.labels.contains(label) { size(*label) } else { 1 }).collect();
        named.node.permuted(&order).reshaped(&apart).broadcast_to(&shape)
    };
    let product = Node::map(&ops::MUL, &[&spread(&left)?, &spread(&right)?])?;
    if summed.is_empty() {
        return Ok(Named { node: product, labels });
    }
    let axes: Vec<isize> = (kept_count..labels.len()).map(|axis| axis as isize).collect();
    let node = product.reduce("einsum", ReduceKind::Sum, &axes, false)?;
    Ok(Named { node, labels: labels[..kept_count].to_vec() })
}
