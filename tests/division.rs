//! Every division is the correctly rounded one, however it is written and whatever it is fused with.

use zither::{Result, Tensor, f16};

/// Bit patterns over the whole range of a float, denormals and huge values included.
fn patterns(count: usize, seed: u64) -> impl Iterator<Item = u64> {
    (0..count as u64).map(move |k| (k + seed).wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ (k << 17))
}

#[test]
fn forty_nine_forty_ninths_are_one() -> Result<()> {
    for n in 1..=1000 {
        let x = Tensor::new([n as f32; 9]);
        assert_eq!((&x / &x).data()?, [1.0; 9], "{n}");
        assert_eq!((&x / n as f32).data()?, [1.0; 9], "{n}");
        assert_eq!((n as f32 / &x).data()?, [1.0; 9], "{n}");
        let x = Tensor::new([n as f64; 9]);
        assert_eq!((&x / &x).data()?, [1.0; 9], "{n}");
    }
    let x = Tensor::new([f16::from_f32(49.0)]);
    assert_eq!((&x / &x).item()?, f16::ONE);
    Ok(())
}

#[test]
fn every_quotient_and_reciprocal_is_correctly_rounded() -> Result<()> {
    let single =
        |seed| -> Vec<f32> { patterns(50_000, seed).map(|bits| f32::from_bits((bits >> 32) as u32)).collect() };
    let double = |seed| -> Vec<f64> { patterns(50_000, seed).map(f64::from_bits).collect() };
    // Rust's `/` is IEEE's.
    let (a, b) = (single(1), single(99));
    let (x, y) = (Tensor::new(a.clone()), Tensor::new(b.clone()));
    let same = |found: f32, wanted: f32| found.to_bits() == wanted.to_bits() || (found.is_nan() && wanted.is_nan());
    for (k, (found, fused)) in (&x / &y).data()?.into_iter().zip((&x / &y * 2.0).data()?).enumerate() {
        assert!(same(found, a[k] / b[k]), "{} / {} is {found}", a[k], b[k]);
        assert!(same(fused, a[k] / b[k] * 2.0), "{} / {} * 2 is {fused}", a[k], b[k]);
    }
    for (k, found) in y.recip().data()?.into_iter().enumerate() {
        assert!(same(found, 1.0 / b[k]), "1 / {} is {found}", b[k]);
    }
    let (a, b) = (double(5), double(77));
    let quotients = (Tensor::new(a.clone()) / Tensor::new(b.clone())).data()?;
    for (k, found) in quotients.into_iter().enumerate() {
        let wanted = a[k] / b[k];
        assert!(found.to_bits() == wanted.to_bits() || (found.is_nan() && wanted.is_nan()), "{} / {}", a[k], b[k]);
    }
    Ok(())
}
