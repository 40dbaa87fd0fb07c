//! One axis folded away: `out[o] = f(… f(f(out[o], x0), x1) …, xn)`.

use super::Start;
use super::nest::Nest;
use super::view::{INLINE, Strided, Strides};
use crate::error::{Error, ErrorKind, Result};
use smallvec::SmallVec;

/// Folds one axis of `input` into `out`, which holds the start values.
///
/// As [`reduce`], for operands that start at position 0.
///
/// ```
/// let mut out = [0, 0];
/// zither::strided::tensor_reduce(&mut out, &[2, 1], &[1, 1], &[1, 2, 3, 4, 5, 6], &[2, 3], &[3, 1], 1, |sum, x| sum + x)?;
/// assert_eq!(out, [6, 15]);
/// # Ok::<(), zither::Error>(())
/// ```
#[allow(clippy::too_many_arguments)] // the raw kernel's form; `reduce` is the short one
pub fn tensor_reduce<A, B, F>(
    out: &mut [B],
    out_shape: &[usize],
    out_strides: &[isize],
    input: &[A],
    in_shape: &[usize],
    in_strides: &[isize],
    axis: usize,
    f: F,
) -> Result<()>
where
    A: Copy + Send + Sync,
    B: Copy + Send + Sync,
    F: Fn(B, A) -> B + Sync,
{
    reduce(out, Strided::new(out_shape, out_strides), input, Strided::new(in_shape, in_strides), axis, f)
}

/// Folds one axis of the input into the output, whose shape is the input's with 1 for that axis.
///
/// The output holds the start values: each is the first accumulator of its element. Along the axis `f` is called in order,
/// first element first; the outputs are computed in any order and on several threads.
pub fn reduce<A, B, F>(
    out: &mut [B],
    out_view: Strided<'_>,
    input: &[A],
    in_view: Strided<'_>,
    axis: usize,
    f: F,
) -> Result<()>
where
    A: Copy + Send + Sync,
    B: Copy + Send + Sync,
    F: Fn(B, A) -> B + Sync,
{
    const OP: &str = "reduce";
    check_shapes(OP, out_view, in_view, axis)?;
    out_view.check_bounds(OP, "the output", out.len())?;
    in_view.check_bounds(OP, "input", input.len())?;
    let shape: SmallVec<[usize; INLINE]> = without(out_view.shape, axis).collect();
    let [out_strides, in_strides] = [out_view, in_view].map(|view| without(view.strides, axis).collect::<Strides>());
    let outer = |strides, offset| Strided { shape: &shape, strides, offset };
    let nest = Nest::new(OP, outer(&out_strides, out_view.offset), [outer(&in_strides, in_view.offset)], ["input"])?;
    let (size, along) = (in_view.shape[axis], in_view.strides[axis]);
    if size == 0 {
        return Ok(());
    }
    let (out, step) = (Start(out.as_mut_ptr()), nest.row_step());
    let fold = Fold { out_step: step.out, in_step: step.inputs[0], along, size };
    nest.for_each_row(size, &|place, count| {
        // SAFETY: the checks above found every position of the two views inside its slice, and no two elements of the
        // output at one position, so no other row, on any thread, touches this row's output.
        unsafe { fold.row(out.at(place.out), input.as_ptr().offset(place.inputs[0]), count, &f) };
    });
    Ok(())
}

/// A list without the entry of one axis.
fn without<T: Copy>(list: &[T], axis: usize) -> impl Iterator<Item = T> {
    list.iter().enumerate().filter(move |&(other, _)| other != axis).map(|(_, &entry)| entry)
}

fn check_shapes(op: &str, out: Strided<'_>, input: Strided<'_>, axis: usize) -> Result<()> {
    out.check_rank(op, "the output")?;
    input.check_rank(op, "input")?;
    let rank = input.shape.len();
    if axis >= rank {
        let message = format!("shape {:?} has no axis {axis}: choose one below {rank}", input.shape);
        return Err(Error::new(ErrorKind::Axis, op, message));
    }
    let wanted: SmallVec<[usize; INLINE]> =
        input.shape.iter().enumerate().map(|(other, &size)| if other == axis { 1 } else { size }).collect();
    if out.shape != wanted.as_slice() {
        let message = format!(
            "axis {axis} of shape {:?} becomes 1, but the output has shape {:?}: make it {wanted:?}",
            input.shape, out.shape
        );
        return Err(Error::new(ErrorKind::Shape, op, message));
    }
    Ok(())
}

/// The loops of one row of outputs, each with `size` inputs, `along` apart.
struct Fold {
    out_step: isize,
    in_step: isize,
    along: isize,
    size: usize,
}

impl Fold {
    /// Takes several neighbours at a time. When they lie closer together than the elements of one fold, that reads
    /// whole cache lines; when not, it keeps independent chains of calls going. Each output's order is the same.
    ///
    /// # Safety
    /// `count` steps from the first output stay inside its slice, as does the fold of each from the first input on;
    /// nobody else touches those outputs.
    unsafe fn row<A: Copy, B: Copy>(&self, out: *mut B, input: *const A, count: usize, f: &impl Fn(B, A) -> B) {
        const ACROSS: usize = 64;
        const CHAINS: usize = 4;
        let wide = self.in_step.unsigned_abs() < self.along.unsigned_abs();
        let width = if wide { ACROSS } else { CHAINS };
        for first in (0..count).step_by(width) {
            let left = count - first;
            let first = first as isize;
            // SAFETY: the block is `left` or `width` outputs from `first` on, all of them this row's.
            unsafe {
                let (out, input) = (out.offset(first * self.out_step), input.offset(first * self.in_step));
                match (wide, self.in_step) {
                    // The compiler sees the 1, and uses vectors.
                    (true, 1) => self.block::<ACROSS, A, B>(out, input, 1, left.min(ACROSS), f),
                    (true, in_step) => self.block::<ACROSS, A, B>(out, input, in_step, left.min(ACROSS), f),
                    (false, in_step) if left >= CHAINS => self.block::<CHAINS, A, B>(out, input, in_step, CHAINS, f),
                    (false, in_step) => (0..left as isize).for_each(|k| {
                        self.block::<1, A, B>(out.offset(k * self.out_step), input.offset(k * in_step), in_step, 1, f);
                    }),
                }
            }
        }
    }

    /// Up to `W` outputs at once, `W` accumulators, one write for each.
    ///
    /// # Safety
    /// As for [`Fold::row`], with `width` (1 to `W`) for `count`.
    #[inline(always)]
    unsafe fn block<const W: usize, A: Copy, B: Copy>(
        &self,
        out: *mut B,
        input: *const A,
        in_step: isize,
        width: usize,
        f: &impl Fn(B, A) -> B,
    ) {
        // SAFETY: the caller's word, here and below: the outputs are inside, and ours.
        let mut accumulators = [unsafe { *out }; W];
        let accumulators = &mut accumulators[..width];
        for (k, accumulator) in accumulators.iter_mut().enumerate() {
            // SAFETY: as above.
            *accumulator = unsafe { *out.offset(k as isize * self.out_step) };
        }
        let mut pos = 0;
        for _ in 0..self.size {
            for (k, accumulator) in accumulators.iter_mut().enumerate() {
                // SAFETY: `pos` is the place of a fold's element, `k` steps away from that of its neighbour.
                let x = unsafe { *input.offset(pos + k as isize * in_step) };
                *accumulator = f(*accumulator, x);
            }
            // Behind the last element it may point anywhere; it is not used there.
            pos = pos.wrapping_add(self.along);
        }
        for (k, &accumulator) in accumulators.iter().enumerate() {
            // SAFETY: as above.
            unsafe { *out.offset(k as isize * self.out_step) = accumulator };
        }
    }
}
