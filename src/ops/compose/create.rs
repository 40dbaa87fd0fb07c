//! Tensors from nothing: ranges, the identity, random numbers.

use crate::dtype::{DType, Literal};
use crate::error::{Error, ErrorKind, MadeHere, Result};
use crate::graph::Node;
use crate::ops;
use crate::shape::element_count;
use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering};

/// `start, start + step, …` below `end`.
#[track_caller]
pub(crate) fn arange(start: Literal, end: Literal, step: Literal) -> Result<Node> {
    let op = "arange";
    let dtype = start.dtype();
    let message = format!("no numbers from {start} to {end} by {step}");
    if let (Some(start), Some(end), Some(step)) = (start.to_integer(), end.to_integer(), step.to_integer()) {
        if step == 0 {
            return Err(Error::new(ErrorKind::Value, op, message)).made_here();
        }
        let distance = if step > 0 { end - start } else { start - end };
        let len = (distance.max(0) as u128).div_ceil(step.unsigned_abs());
        let positions = Node::positions(usize::try_from(len).unwrap_or(usize::MAX))?;
        // Computed in wrapping 64-bit integers, which is exact for every dtype's range.
        let step = Node::full(positions.shape(), Literal::I64(step as i64))?;
        let start = Node::full(positions.shape(), Literal::I64(start as i64))?;
        return (&(&positions * &step) + &start).cast(dtype);
    }
    let (first, step) = (start.to_f64(), step.to_f64());
    let count = ((end.to_f64() - first) / step).ceil();
    if step == 0.0 || !count.is_finite() {
        return Err(Error::new(ErrorKind::Value, op, message)).made_here();
    }
    let positions = Node::positions(count.max(0.0) as usize)?.cast(DType::F64)?;
    (&(&positions * step) + first).cast(dtype)
}

/// `count` numbers from `start` to `end`, both there.
#[track_caller]
pub(crate) fn linspace(start: f64, end: f64, count: usize, dtype: DType) -> Result<Node> {
    element_count("linspace", &[count], DType::F64).made_here()?;
    let positions = Node::positions(count)?.cast(DType::F64)?;
    if count < 2 {
        return (&positions + start).cast(dtype);
    }
    // From both ends, so that the last number is `end` exactly.
    let step = (end - start) / (count - 1) as f64;
    let up = &(&positions * step) + start;
    let down = end - &(&((count - 1) as f64 - &positions) * step);
    let first_half = positions.lt(&positions.fill(count as f64 / 2.0));
    up.or_where_not(&first_half, &down).cast(dtype)
}

/// Ones on the diagonal of a `rows` × `columns` matrix.
#[track_caller]
pub(crate) fn eye(rows: usize, columns: usize, dtype: DType) -> Result<Node> {
    element_count("eye", &[rows, columns], dtype).made_here()?;
    let row = Node::positions(rows)?.reshaped(&[rows, 1]);
    let column = Node::positions(columns)?;
    row.broadcast_to(&[rows, columns])?.eq(&column).cast(dtype)
}

thread_local! {
    /// The seed of this thread and the number of the next stream.
    static GENERATOR: Cell<Option<(u64, u64)>> = const { Cell::new(None) };
}

/// Threads that were never seeded draw from streams of their own.
static THREADS: AtomicU64 = AtomicU64::new(0);

/// Starts this thread's random numbers anew.
pub(crate) fn seed(seed: u64) {
    GENERATOR.set(Some((seed, 0)));
}

/// The seed, and a stream nobody else of this thread has.
fn next_stream() -> (u64, u64) {
    let fresh = || (0, THREADS.fetch_add(1, Ordering::Relaxed) << 40);
    let (seed, stream) = GENERATOR.get().unwrap_or_else(fresh);
    GENERATOR.set(Some((seed, stream + 1)));
    (seed, stream)
}

/// 64 random bits an element, as `u64`.
#[track_caller]
fn bits(shape: &[usize], (seed, stream): (u64, u64), word: u8) -> Result<Node> {
    let high = Node::random_bits(shape, seed, stream, word)?.cast(DType::U64)?;
    let low = Node::random_bits(shape, seed, stream, word + 1)?.cast(DType::U64)?;
    let shift = Node::full(shape, Literal::U64(32))?;
    let high = Node::map(&ops::SHL, &[&high, &shift])?;
    Node::map(&ops::BITOR, &[&high, &low])
}

/// Uniform in [0, 1), with every bit of an `f64` (or of an `f32`) random.
#[track_caller]
fn uniform(shape: &[usize], dtype: DType, key: (u64, u64), word: u8) -> Result<Node> {
    if dtype == DType::F64 {
        let shift = Node::full(shape, Literal::U64(11))?;
        let top = Node::map(&ops::SHR, &[&bits(shape, key, word)?, &shift])?;
        return Ok(&top.cast(DType::F64)? * 2f64.powi(-53));
    }
    // 24 bits for f32; 11 and 8 for the 16-bit floats, so that rounding never reaches 1.
    let digits = match dtype {
        DType::F16 => 11,
        DType::BF16 => 8,
        _ => 24,
    };
    let raw = Node::random_bits(shape, key.0, key.1, word)?;
    let top = Node::map(&ops::SHR, &[&raw, &Node::full(shape, Literal::U32(32 - digits))?])?;
    (&top.cast(DType::F32)? * 2f64.powi(-(digits as i32))).cast(dtype)
}

/// Uniform in [0, 1).
#[track_caller]
pub(crate) fn rand(shape: &[usize], dtype: DType) -> Result<Node> {
    element_count("rand", shape, DType::F64).made_here()?;
    uniform(shape, dtype, next_stream(), 0)
}

/// Normal with mean 0 and variance 1, by Box and Muller.
#[track_caller]
pub(crate) fn randn(shape: &[usize], dtype: DType) -> Result<Node> {
    element_count("randn", shape, DType::F64).made_here()?;
    let key = next_stream();
    let wide = if dtype == DType::F64 { DType::F64 } else { DType::F32 };
    let radius = 1.0 - &uniform(shape, wide, key, 0)?; // in (0, 1]
    let angle = &uniform(shape, wide, key, 2)? * std::f64::consts::TAU;
    (&(&radius.ln() * -2.0).sqrt() * &angle.cos()).cast(dtype)
}

/// Whole numbers in `low..high`, all alike.
#[track_caller]
pub(crate) fn randint(shape: &[usize], low: Literal, high: Literal) -> Result<Node> {
    let dtype = low.dtype();
    let (Some(first), Some(end)) = (low.to_integer(), high.to_integer()) else {
        return Err(Error::new(ErrorKind::DType, "randint", format!("{dtype} is not an integer dtype"))).made_here();
    };
    if first >= end {
        return Err(Error::new(ErrorKind::Value, "randint", format!("no whole numbers in {low}..{high}"))).made_here();
    }
    element_count("randint", shape, DType::U64).made_here()?;
    let span = Node::full(shape, Literal::U64((end - first) as u64))?;
    let drawn = Node::map(&ops::REM, &[&bits(shape, next_stream(), 0)?, &span])?;
    // Wrapping 64-bit addition is right for every dtype, whatever the sign of `low`.
    (&drawn + &Node::full(shape, Literal::U64(first as u64))?).cast(dtype)
}

/// True with probability `p`.
#[track_caller]
pub(crate) fn bernoulli(shape: &[usize], p: f64) -> Result<Node> {
    if !(0.0..=1.0).contains(&p) {
        return Err(Error::new(ErrorKind::Value, "bernoulli", format!("{p} is not a probability: use 0 to 1")))
            .made_here();
    }
    element_count("bernoulli", shape, DType::F64).made_here()?;
    let drawn = uniform(shape, DType::F64, next_stream(), 0)?;
    Ok(drawn.lt(&drawn.fill(p)))
}
