//! What a stage computes, as a formula under its loops.

use super::expression::Step;
use super::plan::MapReduce;
use crate::dtype::DType;
use crate::shape::{Expr, Position, View};
use std::fmt;

impl fmt::Display for MapReduce {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let reduced: &[usize] = self.reduce.as_ref().map_or(&[], |(_, axes)| axes);
        let loops = |axes: &mut dyn Iterator<Item = usize>| {
            let each: Vec<String> = axes.map(|axis| format!("i{axis} < {}", self.space[axis])).collect();
            each.join(", ")
        };
        let kept = loops(&mut (0..self.space.len()).filter(|axis| !reduced.contains(axis)));
        if !kept.is_empty() {
            writeln!(f, "for {kept}:")?;
        }
        let (lines, result) = self.formula();
        for line in lines {
            writeln!(f, "  {line}")?;
        }
        match &self.reduce {
            None => writeln!(f, "  out = {result}"),
            Some((kind, axes)) => writeln!(f, "  out = {}[{}] {result}", kind.name(), loops(&mut axes.iter().copied())),
        }
    }
}

impl MapReduce {
    /// Lines for what is used more than once, and the result.
    fn formula(&self) -> (Vec<String>, String) {
        let steps = &self.expression.steps;
        let mut uses = vec![0; steps.len()];
        for step in steps {
            operands(step).iter().for_each(|&operand| uses[operand] += 1);
        }
        let mut lines = Vec::new();
        let mut texts: Vec<String> = Vec::with_capacity(steps.len());
        for (place, step) in steps.iter().enumerate() {
            let text = self.step(step, &texts);
            let is_long = text.contains('(');
            texts.push(if uses[place] > 1 && is_long {
                lines.push(format!("t{place} = {text}"));
                format!("t{place}")
            } else {
                text
            });
        }
        (lines, texts.pop().unwrap_or_default())
    }

    fn step(&self, step: &Step, texts: &[String]) -> String {
        match step {
            Step::Load { slot, .. } => self.load(*slot, ""),
            Step::Place { index, size, .. } => format!("place({}, {size})", texts[*index]),
            Step::Gather { slot, at, .. } => self.load(*slot, &format!(" + {}", texts[*at])),
            Step::Const(literal) => literal.to_string(),
            Step::Scalar { slot, .. } => format!("scalar{slot}"),
            Step::Index { value, dtype: DType::Bool } => format!("[{value}]"),
            Step::Index { value, .. } => value.to_string(),
            Step::Rand { word, at, .. } => format!("random{word}({})", texts[*at]),
            Step::Map { primitive, operands, .. } => {
                let operands: Vec<&str> = operands.iter().map(|&operand| &texts[operand][..]).collect();
                format!("{}({})", primitive.name, operands.join(", "))
            }
            Step::Cast { to, operand, .. } => format!("{to}({})", texts[*operand]),
        }
    }

    fn load(&self, slot: usize, behind: &str) -> String {
        let operand = &self.loads[slot];
        let (position, guards) = place(&operand.view);
        let guards: Vec<String> =
            guards.iter().map(|(condition, default)| format!(" where {condition} else {default}")).collect();
        format!("in{}[{position}{behind}]{}", operand.read, guards.concat())
    }
}

fn place(view: &View) -> (Expr, Vec<(Expr, crate::dtype::Literal)>) {
    let (position, guards) = view.access();
    let position = match position {
        Position::Strided { offset, strides } => Expr::from_affine(offset, &strides),
        Position::Computed(position) => position,
    };
    (position, guards)
}

fn operands(step: &Step) -> &[usize] {
    match step {
        Step::Load { .. } | Step::Const(_) | Step::Scalar { .. } | Step::Index { .. } => &[],
        Step::Rand { at, .. } | Step::Place { index: at, .. } | Step::Gather { at, .. } => std::slice::from_ref(at),
        Step::Map { operands, .. } => operands,
        Step::Cast { operand, .. } => std::slice::from_ref(operand),
    }
}
