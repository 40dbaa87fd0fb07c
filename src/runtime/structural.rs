//! Kernels outside the code generator: concat, gather, scatter, and whole lines.

use super::elements::Elements;
use super::gather::gather;
use super::number::with_number;
use super::prepared::Moves;
use super::run::{Space, Stop};
use super::scan::{Lines, scan};
use super::scatter::scatter;
use super::sort::{order, search};
use crate::dtype::{TensorDType, with_dtype};
use crate::graph::LineWork;
use crate::schedule::{Operand, Work};
use crate::shape::len_of;
use smallvec::SmallVec;

/// Runs a stage that moves elements.
///
/// # Safety
/// The space is bound to buffers as the plan says, and what the stage reads has been made.
pub(super) unsafe fn run(moves: &Moves, space: &Space) -> Result<(), Stop> {
    match &moves.work {
        Work::Concat { parts, axis } => with_dtype!(moves.dtype, T => {
            // SAFETY: the caller's promise.
            let (parts, out) = unsafe { (Elements::<T>::all(parts, moves, space), output::<T>(moves, space)) };
            concat(&parts, *axis, &moves.shape, out);
            Ok(())
        }),
        Work::Gather { lookup, input, index, axis } => with_dtype!(moves.dtype, T => {
            // SAFETY: the caller's promise.
            unsafe {
                let (input, index) = (Elements::<T>::new(input, moves, space), Elements::new(index, moves, space));
                gather(moves, *lookup, &input, &index, *axis, output::<T>(moves, space))
            }
        }),
        Work::Scatter { kind, lookup, index, source, axis } => with_number!(source.dtype, T => {
            // SAFETY: the caller's promise.
            unsafe {
                let (index, source) = (Elements::new(index, moves, space), Elements::<T>::new(source, moves, space));
                scatter(moves, *kind, *lookup, &index, source.values, *axis, output::<T>(moves, space))
            }
        }),
        Work::Lines { work, operands, axis } => {
            // SAFETY: the caller's promise.
            unsafe { lines(moves, *work, operands, *axis, space) };
            Ok(())
        }
        Work::MapReduce(_) => unreachable!("a map-reduce is compiled"),
    }
}

/// Whole lines.
///
/// # Safety
/// As for [`run`].
unsafe fn lines(moves: &Moves, work: LineWork, operands: &[Operand], axis: usize, space: &Space) {
    match work {
        LineWork::Scan { kind, reverse } => with_number!(operands[0].dtype, T => {
            // SAFETY: the caller's promise.
            let inputs = unsafe { dense::<T>(operands, moves, space) };
            // SAFETY: the output is of the node's dtype and shape, and ours alone.
            unsafe { scan(kind, &inputs, Lines::new(&moves.shape, axis, reverse), space.pointer(moves.out)) }
        }),
        LineWork::Order { descending } => with_dtype!(operands[0].dtype, T => {
            // SAFETY: the caller's promise.
            let inputs = unsafe { dense::<T>(operands, moves, space) };
            let lines = Lines::new(&operands[0].view.shape(), axis, false);
            // SAFETY: the output has `count` positions for each line, and is ours alone.
            unsafe { order(inputs[0], lines, descending, moves.shape[axis], space.pointer(moves.out).cast()) }
        }),
        LineWork::Search { right } => with_dtype!(operands[0].dtype, T => {
            // SAFETY: the caller's promise.
            let inputs = unsafe { dense::<T>(operands, moves, space) };
            let lines = len_of(&moves.shape[..axis]);
            // SAFETY: the output has a position for each value, and is ours alone.
            unsafe { search(inputs[0], inputs[1], lines, right, space.pointer(moves.out).cast()) }
        }),
    }
}

/// The elements of operands that lie side by side in row-major order.
///
/// # Safety
/// As for [`run`].
unsafe fn dense<'a, T: TensorDType>(
    operands: &'a [Operand],
    moves: &Moves,
    space: &'a Space,
) -> SmallVec<[&'a [T]; 2]> {
    // SAFETY: the caller's promise.
    let elements = |operand| unsafe { Elements::<T>::new(operand, moves, space) };
    operands
        .iter()
        .map(|operand| {
            assert!(operand.view.is_contiguous(), "a line is read from dense operands");
            &elements(operand).values[..len_of(&operand.view.shape())]
        })
        .collect()
}

/// The elements that are to be written. Any bytes are values of these types, but for bools, of which none is read.
///
/// # Safety
/// The space is bound, and nobody else uses the output.
unsafe fn output<T: TensorDType>(moves: &Moves, space: &Space) -> *mut T {
    debug_assert_eq!(T::DTYPE, moves.dtype);
    space.pointer(moves.out).cast()
}

/// The parts one after the other along an axis.
fn concat<T: TensorDType>(parts: &[Elements<'_, T>], axis: usize, shape: &[usize], out: *mut T) {
    let before: usize = shape[..axis].iter().product();
    let mut written = 0;
    for block in 0..before {
        for part in parts {
            let len: usize = part.view.shape()[axis..].iter().product();
            // SAFETY: together the parts have as many elements as the output.
            part.each(block * len, len, |k, value| unsafe { out.add(written + k).write(value) });
            written += len;
        }
    }
}
