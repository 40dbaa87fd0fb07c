//! A kernel becomes a loop program: loops, accesses and words, with nothing left to decide but the machine code.

mod print;
pub(crate) mod program;
mod rows;

pub(crate) use rows::RowProgram;

use crate::graph::ReduceKind;
use crate::ops::vector::{Emit, Val};
use crate::ops::{cast, random};
use crate::schedule::{Expression, MapReduce, Step};
use crate::shape::{Expr, Position, View};
use program::{Access, Fold, Guard, Load, LoopProgram, dense};

/// The loop program of a kernel.
pub(crate) fn lower(kernel: &MapReduce) -> LoopProgram {
    let order = loop_order(kernel);
    let kept = kernel.space.len() - kernel.reduce.as_ref().map_or(0, |(_, axes)| axes.len());
    let mut sizes: Vec<usize> = order.iter().map(|&axis| kernel.space[axis]).collect();
    if sizes[kept..].contains(&0) {
        // Nothing is walked, however long the other axes: together they may be too long to count.
        sizes[kept..].iter_mut().for_each(|size| *size = (*size).min(1));
    }
    let loads = kernel.loads.iter().map(|operand| Load { dtype: operand.dtype, access: access(&operand.view, &order) });
    let (words, result) = write(&kernel.expression);
    LoopProgram {
        outer: sizes[..kept].to_vec(),
        store: dense(&sizes[..kept]),
        reduced: sizes[kept..].to_vec(),
        loads: loads.collect(),
        words,
        result,
        fold: kernel.reduce.as_ref().map(|(kind, _)| fold(*kind)),
        stored: kernel.dtype,
    }
}

/// The space's axes in loop order: kept ones first. Reductions go innermost: an accumulator then stays in a register.
fn loop_order(kernel: &MapReduce) -> Vec<usize> {
    let reduced: &[usize] = kernel.reduce.as_ref().map_or(&[], |(_, axes)| axes);
    let kept = (0..kernel.space.len()).filter(|axis| !reduced.contains(axis));
    kept.chain(reduced.iter().copied()).collect()
}

/// How a view of the space is read along the loops.
fn access(view: &View, order: &[usize]) -> Access {
    let (position, guards) = view.access();
    match position {
        Position::Strided { offset, strides } if guards.is_empty() => {
            Access::Strided { offset, strides: order.iter().map(|&axis| strides[axis]).collect() }
        }
        position => {
            // Axis `order[k]` of the space is loop `k`.
            let mut loops = vec![Expr::Const(0); order.len()];
            for (k, &axis) in order.iter().enumerate() {
                loops[axis] = Expr::idx(k);
            }
            let position = match position {
                Position::Strided { offset, strides } => Expr::from_affine(offset, &strides),
                Position::Computed(position) => position,
            };
            let guard =
                |(condition, default): &(Expr, _)| Guard { condition: condition.substitute(&loops), default: *default };
            Access::Computed { position: position.substitute(&loops), guards: guards.iter().map(guard).collect() }
        }
    }
}

/// The expression in the code generator's words, and the name of its result.
fn write(expression: &Expression) -> (Vec<(crate::ops::vector::Word, crate::ops::vector::Lane)>, Val) {
    let mut e = Emit::new();
    let mut values: Vec<Val> = Vec::with_capacity(expression.steps.len());
    for step in &expression.steps {
        let value = match step {
            Step::Load { slot, dtype } => e.load(*slot, *dtype),
            Step::Const(literal) => e.literal(*literal),
            Step::Scalar { slot, dtype } => e.scalar(*slot, *dtype),
            Step::Position => e.position(),
            Step::Rand { seed, stream, word } => random::write(&mut e, *seed, *stream, *word),
            Step::Map { primitive, dtype, operands } => {
                let operands: smallvec::SmallVec<[Val; 3]> = operands.iter().map(|&name| values[name]).collect();
                primitive.write(&mut e, *dtype, &operands)
            }
            Step::Cast { from, to, operand } => cast::write(&mut e, *from, *to, values[*operand]),
        };
        values.push(value);
    }
    let result = *values.last().expect("an expression has a step");
    (e.finish(), result)
}

fn fold(kind: ReduceKind) -> Fold {
    match kind {
        ReduceKind::Sum => Fold::Sum,
        ReduceKind::Prod => Fold::Prod,
        ReduceKind::Max => Fold::Max,
        ReduceKind::Min => Fold::Min,
    }
}
