//! Two inputs: `out[o] = f(a[p], b[q])`.

use super::Start;
use super::nest::Nest;
use super::view::Strided;
use crate::error::Result;
use std::slice::{from_raw_parts, from_raw_parts_mut};

/// Writes `f` of every pair of elements of `a` and `b`, both broadcast to the output's shape.
///
/// As [`zip`], for operands that start at position 0.
///
/// ```
/// let mut out = [0; 6];
/// let (a, b) = ([10, 20, 30], [1, 2, 3, 4, 5, 6]);
/// zither::strided::tensor_zip(&mut out, &[2, 3], &[3, 1], &a, &[1, 3], &[3, 1], &b, &[2, 3], &[3, 1], |x, y| x + y)?;
/// assert_eq!(out, [11, 22, 33, 14, 25, 36]);
/// # Ok::<(), zither::Error>(())
/// ```
#[allow(clippy::too_many_arguments)] // the raw kernel's form; `zip` is the short one
pub fn tensor_zip<A, B, C, F>(
    out: &mut [C],
    out_shape: &[usize],
    out_strides: &[isize],
    a: &[A],
    a_shape: &[usize],
    a_strides: &[isize],
    b: &[B],
    b_shape: &[usize],
    b_strides: &[isize],
    f: F,
) -> Result<()>
where
    A: Copy + Send + Sync,
    B: Copy + Send + Sync,
    C: Copy + Send + Sync,
    F: Fn(A, B) -> C + Sync,
{
    let [out_view, a_view, b_view] = [(out_shape, out_strides), (a_shape, a_strides), (b_shape, b_strides)]
        .map(|(shape, strides)| Strided::new(shape, strides));
    zip(out, out_view, a, a_view, b, b_view, f)
}

/// Writes `f` of every pair of elements of `a` and `b`, both broadcast to the output's shape. `f` is called once for
/// each element of the output, in any order and on several threads.
pub fn zip<A, B, C, F>(
    out: &mut [C],
    out_view: Strided<'_>,
    a: &[A],
    a_view: Strided<'_>,
    b: &[B],
    b_view: Strided<'_>,
    f: F,
) -> Result<()>
where
    A: Copy + Send + Sync,
    B: Copy + Send + Sync,
    C: Copy + Send + Sync,
    F: Fn(A, B) -> C + Sync,
{
    const OP: &str = "zip";
    let nest = Nest::new(OP, out_view, [a_view, b_view], ["left", "right"])?;
    out_view.check_bounds(OP, "the output", out.len())?;
    a_view.check_bounds(OP, "left", a.len())?;
    b_view.check_bounds(OP, "right", b.len())?;
    let (out, step) = (Start(out.as_mut_ptr()), nest.row_step());
    let [a_step, b_step] = step.inputs;
    nest.for_each_row(1, &|place, count| {
        let [p, q] = place.inputs;
        // SAFETY: the checks above found every position that the nest can reach inside its slice, and no two
        // elements of the output at one position, so no other row, on any thread, touches this row's output.
        unsafe {
            let (a, b) = (Row(a.as_ptr().offset(p), a_step), Row(b.as_ptr().offset(q), b_step));
            zip_row(out.at(place.out), step.out, a, b, count, &f);
        }
    });
    Ok(())
}

/// An input's row: its first element and the step to the next.
struct Row<T>(*const T, isize);

/// # Safety
/// `count` steps from the first output and inputs stay inside their slices; nobody else touches those outputs.
unsafe fn zip_row<A: Copy, B: Copy, C: Copy>(
    out: *mut C,
    out_step: isize,
    Row(a, a_step): Row<A>,
    Row(b, b_step): Row<B>,
    count: usize,
    f: &impl Fn(A, B) -> C,
) {
    match (out_step, a_step, b_step) {
        (1, 1, 1) => {
            // SAFETY: dense rows of `count` elements, the output's ours alone.
            let (out, a, b) =
                unsafe { (from_raw_parts_mut(out, count), from_raw_parts(a, count), from_raw_parts(b, count)) };
            for ((out, &x), &y) in out.iter_mut().zip(a).zip(b) {
                *out = f(x, y);
            }
        }
        (1, 1, 0) => {
            // SAFETY: dense rows of `count` elements, the output's ours alone, and one element on the right.
            let (out, a, y) = unsafe { (from_raw_parts_mut(out, count), from_raw_parts(a, count), *b) };
            for (out, &x) in out.iter_mut().zip(a) {
                *out = f(x, y);
            }
        }
        (1, 0, 1) => {
            // SAFETY: dense rows of `count` elements, the output's ours alone, and one element on the left.
            let (out, x, b) = unsafe { (from_raw_parts_mut(out, count), *a, from_raw_parts(b, count)) };
            for (out, &y) in out.iter_mut().zip(b) {
                *out = f(x, y);
            }
        }
        _ => {
            for k in 0..count as isize {
                // SAFETY: the caller's word: `count` steps stay inside.
                unsafe { *out.offset(k * out_step) = f(*a.offset(k * a_step), *b.offset(k * b_step)) };
            }
        }
    }
}
