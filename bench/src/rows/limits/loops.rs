//! Loops that load, store and multiply as fast as the machine can, in vectors of 32 bytes.
//!
//! All of them are called only where the processor has AVX2 and FMA. Slices begin at multiples of 32 bytes and hold a
//! multiple of 64 floats; both are asserted, since aligned loads rely on them.

use std::arch::x86_64::*;
use std::hint::black_box;

const LANES: usize = 8;
const UNROLLED: usize = 8;

fn assert_whole_vectors(slices: &[&[f32]]) {
    for slice in slices {
        assert!(slice.as_ptr().addr() % 32 == 0 && slice.len() % (LANES * UNROLLED) == 0);
        assert_eq!(slice.len(), slices[0].len());
    }
}

/// `a = b`.
pub fn copy(a: &mut [f32], b: &[f32], c: &[f32]) {
    stored::<false, false>(a, b, c);
}

/// `a = b`, past the cache.
pub fn copy_streaming(a: &mut [f32], b: &[f32], c: &[f32]) {
    stored::<false, true>(a, b, c);
}

/// `a = b + 3c`.
pub fn triad(a: &mut [f32], b: &[f32], c: &[f32]) {
    stored::<true, false>(a, b, c);
}

/// `a = b + 3c`, past the cache.
pub fn triad_streaming(a: &mut [f32], b: &[f32], c: &[f32]) {
    stored::<true, true>(a, b, c);
}

fn stored<const IS_TRIAD: bool, const IS_STREAMING: bool>(a: &mut [f32], b: &[f32], c: &[f32]) {
    #[target_feature(enable = "avx2,fma")]
    fn run<const IS_TRIAD: bool, const IS_STREAMING: bool>(a: &mut [f32], b: &[f32], c: &[f32]) {
        let (out, len) = (a.as_mut_ptr(), a.len());
        let (b, c, three) = (b.as_ptr(), c.as_ptr(), _mm256_set1_ps(3.0));
        for i in (0..len).step_by(LANES) {
            // SAFETY: all slices are equally long, of whole vectors, and aligned to them.
            unsafe {
                let mut value = _mm256_load_ps(b.add(i));
                if IS_TRIAD {
                    value = _mm256_fmadd_ps(three, _mm256_load_ps(c.add(i)), value);
                }
                if IS_STREAMING {
                    _mm256_stream_ps(out.add(i), value);
                } else {
                    _mm256_store_ps(out.add(i), value);
                }
            }
        }
        if IS_STREAMING {
            _mm_sfence();
        }
    }
    assert_whole_vectors(&[a, b, c]);
    // SAFETY: the caller of these loops has found AVX2 and FMA.
    unsafe { run::<IS_TRIAD, IS_STREAMING>(a, b, c) }
}

/// `a = 1`.
pub fn write(a: &mut [f32]) {
    #[target_feature(enable = "avx2,fma")]
    fn run(a: &mut [f32]) {
        let (out, one) = (a.as_mut_ptr(), _mm256_set1_ps(1.0));
        for i in (0..a.len()).step_by(LANES) {
            // SAFETY: the slice is of whole vectors, and aligned to them.
            unsafe { _mm256_store_ps(out.add(i), one) };
        }
    }
    assert_whole_vectors(&[a]);
    // SAFETY: the caller of these loops has found AVX2 and FMA.
    unsafe { run(a) }
}

/// Loads every element: the sum is nobody's, but the compiler does not know.
pub fn read(b: &[f32]) {
    #[target_feature(enable = "avx2,fma")]
    fn run(b: &[f32]) -> f32 {
        let mut sums = [_mm256_setzero_ps(); UNROLLED];
        for i in (0..b.len()).step_by(LANES * UNROLLED) {
            for (k, sum) in sums.iter_mut().enumerate() {
                // SAFETY: the slice holds a multiple of so many vectors, and is aligned to them.
                *sum = _mm256_add_ps(*sum, unsafe { _mm256_load_ps(b.as_ptr().add(i + k * LANES)) });
            }
        }
        let sum = sums.into_iter().fold(_mm256_setzero_ps(), |sum, part| _mm256_add_ps(sum, part));
        _mm256_cvtss_f32(sum)
    }
    assert_whole_vectors(&[b]);
    // SAFETY: the caller of these loops has found AVX2 and FMA.
    black_box(unsafe { run(b) });
}

const FMA_TURNS: usize = 20_000_000;
/// As many chains as are needed to have one multiply-add begin in every slot.
const CHAINS: usize = 12;

/// The floating-point operations of [`fma_f32`].
pub const FMA_F32_FLOPS: f64 = (FMA_TURNS * CHAINS * 8 * 2) as f64;
/// The floating-point operations of [`fma_f64`].
pub const FMA_F64_FLOPS: f64 = (FMA_TURNS * CHAINS * 4 * 2) as f64;

macro_rules! multiply_adds {
    ($name:ident $float:ty, $set:ident $fmadd:ident $add:ident $first:ident) => {
        /// Independent chains of multiply-adds in registers.
        pub fn $name() {
            #[target_feature(enable = "avx2,fma")]
            fn run() -> $float {
                let (factor, offset) = ($set(0.999), $set(0.001));
                // A compiler that knew the values would leave out the chain that stays at 1, and any other it can tell.
                let mut chains: [_; CHAINS] = std::array::from_fn(|k| $set(black_box(k as $float)));
                for _ in 0..FMA_TURNS {
                    for chain in &mut chains {
                        *chain = $fmadd(*chain, factor, offset);
                    }
                }
                $first(chains.into_iter().fold($set(0.0), |sum, chain| $add(sum, chain)))
            }
            // SAFETY: the caller of these loops has found AVX2 and FMA.
            black_box(unsafe { run() });
        }
    };
}

multiply_adds!(fma_f32 f32, _mm256_set1_ps _mm256_fmadd_ps _mm256_add_ps _mm256_cvtss_f32);
multiply_adds!(fma_f64 f64, _mm256_set1_pd _mm256_fmadd_pd _mm256_add_pd _mm256_cvtsd_f64);
