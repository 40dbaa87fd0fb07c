//! One input: `out[o] = f(input[p])`.

use super::Start;
use super::nest::Nest;
use super::view::Strided;
use crate::error::Result;

/// Writes `f` of every element of `input`, broadcast to the output's shape.
///
/// As [`map`], for operands that start at position 0.
///
/// ```
/// let mut out = [0; 6];
/// zither::strided::tensor_map(&mut out, &[2, 3], &[3, 1], &[10, 20, 30], &[1, 3], &[3, 1], |x| x + 100)?;
/// assert_eq!(out, [110, 120, 130, 110, 120, 130]);
/// # Ok::<(), zither::Error>(())
/// ```
pub fn tensor_map<A, B, F>(
    out: &mut [B],
    out_shape: &[usize],
    out_strides: &[isize],
    input: &[A],
    in_shape: &[usize],
    in_strides: &[isize],
    f: F,
) -> Result<()>
where
    A: Copy + Send + Sync,
    B: Copy + Send + Sync,
    F: Fn(A) -> B + Sync,
{
    map(out, Strided::new(out_shape, out_strides), input, Strided::new(in_shape, in_strides), f)
}

/// Writes `f` of every element of the input, broadcast to the output's shape. `f` is called once for each element of
/// the output, in any order and on several threads.
pub fn map<A, B, F>(out: &mut [B], out_view: Strided<'_>, input: &[A], in_view: Strided<'_>, f: F) -> Result<()>
where
    A: Copy + Send + Sync,
    B: Copy + Send + Sync,
    F: Fn(A) -> B + Sync,
{
    const OP: &str = "map";
    let nest = Nest::new(OP, out_view, [in_view], ["input"])?;
    out_view.check_bounds(OP, "the output", out.len())?;
    in_view.check_bounds(OP, "input", input.len())?;
    let (out, step) = (Start(out.as_mut_ptr()), nest.row_step());
    nest.for_each_row(1, &|place, count| {
        // SAFETY: the checks above found every position that the nest can reach inside its slice, and no two
        // elements of the output at one position, so no other row, on any thread, touches this row's output.
        unsafe {
            let first = input.as_ptr().offset(place.inputs[0]);
            map_row(out.at(place.out), step.out, first, step.inputs[0], count, &f);
        }
    });
    Ok(())
}

/// # Safety
/// `count` steps from the first output and input stay inside their slices; nobody else touches those outputs.
unsafe fn map_row<A: Copy, B: Copy>(
    out: *mut B,
    out_step: isize,
    input: *const A,
    in_step: isize,
    count: usize,
    f: &impl Fn(A) -> B,
) {
    match (out_step, in_step) {
        (1, 1) => {
            // SAFETY: dense rows of `count` elements, the output's ours alone.
            let (out, input) =
                unsafe { (std::slice::from_raw_parts_mut(out, count), std::slice::from_raw_parts(input, count)) };
            for (out, &x) in out.iter_mut().zip(input) {
                *out = f(x);
            }
        }
        (1, 0) => {
            // SAFETY: a dense row of `count` outputs, ours alone, and one input.
            let (out, x) = unsafe { (std::slice::from_raw_parts_mut(out, count), *input) };
            for out in out {
                *out = f(x);
            }
        }
        _ => {
            for k in 0..count as isize {
                // SAFETY: the caller's word: `count` steps stay inside.
                unsafe { *out.offset(k * out_step) = f(*input.offset(k * in_step)) };
            }
        }
    }
}
