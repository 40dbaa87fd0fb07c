//! Inputs: the same numbers as a tensor and as a plain vector that checks read.

use crate::check::Real;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use zither::{Dim, Dimension, Tensor};

/// A place in a tensor.
pub type Index<const N: usize> = [usize; N];

/// An input of a row.
pub struct Input<T: Real, const N: usize>
where
    Dim<N>: Dimension,
{
    pub tensor: Tensor<T, Dim<N>>,
    plain: Vec<T>,
    shape: [usize; N],
}

impl<T: Real, const N: usize> Input<T, N>
where
    Dim<N>: Dimension,
{
    /// Random numbers of mean 0 and variance near 1.
    pub fn random(shape: [usize; N]) -> Input<T, N> {
        let plain: Vec<T> = random(shape.iter().product()).into_iter().map(T::from).collect();
        Input { tensor: Tensor::from_data(plain.clone(), shape), plain, shape }
    }

    /// One element.
    pub fn at(&self, index: Index<N>) -> f64 {
        let flat = index.iter().zip(&self.shape).fold(0, |flat, (&place, &size)| {
            debug_assert!(place < size);
            flat * size + place
        });
        self.plain[flat].into()
    }

    /// All elements, row by row.
    pub fn plain(&self) -> &[T] {
        &self.plain
    }
}

/// Random numbers, near to normal (sums of four uniform ones): others with each call, the same in each run.
pub fn random(count: usize) -> Vec<f32> {
    static CALLS: AtomicU64 = AtomicU64::new(1);
    let mut state = CALLS.fetch_add(1, Relaxed).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    let mut uniform = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 40) as f32 / (1u32 << 24) as f32 - 0.5
    };
    (0..count).map(|_| (0..4).map(|_| uniform()).sum::<f32>() * 3f32.sqrt()).collect()
}
