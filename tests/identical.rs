//! Elementwise results have the same bits whether ops run as one kernel or one by one, whatever the dtype and the layout.

use zither::{DType, DynTensor, Result, compile};

/// Every float and two integer dtypes.
const DTYPES: [DType; 6] = [DType::F16, DType::BF16, DType::F32, DType::F64, DType::I32, DType::U8];

/// One more op on top of `y`.
fn grow(op: u64, y: &DynTensor, x: &DynTensor) -> DynTensor {
    let is_float = y.dtype().is_float();
    match op % 8 {
        0 => y + x,
        1 => y * x,
        2 => y - x,
        3 => y.maximum(x),
        4 if is_float => y.tanh(),
        5 if is_float => (y * 0.25).exp(),
        6 if is_float => (y.abs() + 0.5).sqrt(),
        7 if is_float => y.sigmoid(),
        _ => y.minimum(x),
    }
}

#[test]
fn fused_unfused_and_compiled_are_the_same_bits() -> Result<()> {
    let shapes: [&[usize]; 6] = [&[], &[0, 3], &[1], &[7], &[5, 3, 4], &[33, 130]];
    for (place, shape) in shapes.iter().enumerate() {
        for dtype in DTYPES {
            for seed in 0..6u64 {
                let len: usize = shape.iter().product();
                let values = (0..len).map(|k| ((k * 37 + seed as usize * 11) % 64) as f32 / 16.0).collect();
                let mut x = DynTensor::from_data(values, shape).cast(dtype).realize()?;
                if seed % 2 == 1 && shape.len() > 1 {
                    x = x.transpose(0, 1); // read through a view
                }
                let ops = move |i: u64| (seed * 977 + i * 131 + place as u64).wrapping_mul(0x9E37_79B9) >> 7;
                let chain = move |x: DynTensor| (0..9).fold(x.clone(), |y, i| grow(ops(i), &y, &x));
                let fused = chain(x.clone());
                let mut alone = x.clone();
                for i in 0..9 {
                    alone = grow(ops(i), &alone, &x).realize()?;
                }
                assert_eq!(fused.literals()?, alone.literals()?, "{dtype} {shape:?} {seed}");
                assert_eq!(
                    fused.literals()?,
                    compile(chain).call(&x)?.literals()?,
                    "{dtype} {shape:?} {seed}, compiled"
                );
            }
        }
    }
    Ok(())
}
