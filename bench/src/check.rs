//! Checks of results, element by element, against numbers computed some other way.
//!
//! The expected numbers are `f64`s from plain loops. How far a result may be off follows from what rounding can do: a few
//! roundings of the numbers that were added up on the way, which is the `scale`.

use crate::data::Index;
use zither::dtype::FloatDType;
use zither::{Dim, Dimension, Tensor};

/// How many elements of a large result are looked at.
const SAMPLES: usize = 1000;
/// How many roundings of its scale a result may be off.
const ROUNDINGS: f64 = 16.0;

/// The floats that rows compute with.
pub trait Real: FloatDType + From<f32> + Into<f64> {
    /// The distance from 1 to the next number.
    const STEP: f64;
}

impl Real for f32 {
    const STEP: f64 = f32::EPSILON as f64;
}

impl Real for f64 {
    const STEP: f64 = f64::EPSILON;
}

/// What a number has to be near to.
#[derive(Clone, Copy)]
pub struct Near {
    value: f64,
    scale: f64,
}

impl Near {
    /// The value, give or take a few roundings of numbers as large as `scale`.
    pub fn new(value: f64, scale: f64) -> Near {
        Near { value, scale }
    }

    /// The value, to the last bit.
    pub fn exact(value: f64) -> Near {
        Near { value, scale: 0.0 }
    }

    /// A sum, give or take roundings of its terms.
    pub fn sum(terms: impl Iterator<Item = f64>) -> Near {
        let (value, scale) = terms.fold((0.0, 0.0), |(sum, size), term| (sum + term, size + term.abs()));
        Near { value, scale }
    }

    /// An error unless `got` is near.
    pub fn check<T: Real>(self, what: &str, got: T) -> Result<(), String> {
        let got: f64 = got.into();
        let allowed = ROUNDINGS * T::STEP * self.scale;
        // Written so that NaN fails.
        if (got - self.value).abs() <= allowed {
            return Ok(());
        }
        Err(format!("{what} is wrong: {got:e} where {:e} was expected, give or take {allowed:e}", self.value))
    }
}

/// An error unless the result has the shape, and elements near to what is expected.
pub fn near<T: Real, const N: usize>(
    name: &str,
    result: &Tensor<T, Dim<N>>,
    shape: [usize; N],
    expected: impl Fn(Index<N>) -> Near,
) -> Result<(), Box<dyn std::error::Error>>
where
    Dim<N>: Dimension,
{
    if result.shape() != shape {
        return Err(format!("{name} is wrong: shape {:?} where {shape:?} was expected", result.shape()).into());
    }
    let got = result.data()?;
    for flat in samples(got.len()) {
        let index = index_of(flat, shape);
        expected(index).check(&format!("{name}, element {index:?}"), got[flat])?;
    }
    Ok(())
}

/// All places of a small result; of a large one the first, the last, and some spread over the rest.
pub fn samples(len: usize) -> impl Iterator<Item = usize> {
    const GOLDEN: u64 = 0x9E37_79B9_7F4A_7C15; // its multiples are spread evenly over all of `u64`
    let is_small = len <= SAMPLES;
    let count = if is_small { len } else { SAMPLES };
    (0..count).map(move |k| match k {
        _ if is_small => k,
        1 => len - 1,
        _ => (((k as u64).wrapping_mul(GOLDEN) as u128 * len as u128) >> 64) as usize,
    })
}

/// The index of a place in row-major order.
fn index_of<const N: usize>(flat: usize, shape: [usize; N]) -> Index<N> {
    let (mut rest, mut index) = (flat, [0; N]);
    for axis in (0..N).rev() {
        index[axis] = rest % shape[axis];
        rest /= shape[axis];
    }
    index
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wrong_element_a_nan_and_a_wrong_shape_are_found() {
        let x = Tensor::new([[1.0f32, 2.0], [3.0, 4.0]]);
        let plain = |[i, j]: Index<2>| (2 * i + j + 1) as f64;
        assert!(near("x", &x, [2, 2], |at| Near::exact(plain(at))).is_ok());
        assert!(near("x", &x, [4, 1], |at| Near::exact(plain(at))).is_err());
        let off = near("x", &(&x + 1e-5), [2, 2], |at| Near::new(plain(at), plain(at))).unwrap_err();
        assert!(off.to_string().starts_with("x, element [0, 0] is wrong: 1.00001"), "{off}");
        assert!(Near::new(0.0, 1.0).check("y", f32::NAN).is_err());
    }

    #[test]
    fn a_sum_may_be_off_by_roundings_of_its_terms_only() {
        let near = Near::sum([1e6, -1e6, 1.0].into_iter());
        assert!(near.check("sum", 1.5f32).is_ok());
        assert!(near.check("sum", 10.0f32).is_err());
        assert!(near.check("sum", 1.000_001f64).is_err());
    }

    #[test]
    fn samples_lie_inside_and_reach_both_ends() {
        assert_eq!(samples(3).collect::<Vec<_>>(), [0, 1, 2]);
        let large: Vec<usize> = samples(1 << 24).collect();
        assert_eq!((large.len(), large[0], large[1]), (SAMPLES, 0, (1 << 24) - 1));
        assert!(large.iter().all(|&k| k < 1 << 24));
        assert!((0..16).all(|part| large.iter().any(|&k| k >> 20 == part)));
    }
}
