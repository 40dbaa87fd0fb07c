//! Matrix products of every size around those of tiles, blocks and vectors, through every transpose, offset and step, against sums
//! in `f64`, within the error of a sum of that length.
//!
//! Each of the sizes' combinations is tried in one way; with `ZITHER_PRODUCTS=all` in each.

use zither::{DType, Dim2, DynTensor, Result, Step, Tensor};

const SIZES: [usize; 23] = [0, 1, 2, 3, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 63, 64, 65, 255, 256, 257];

/// Larger products are tried in fewer ways.
const LARGE: usize = 1 << 21;

/// A way to lay out a product's operands, one bit for each choice.
#[derive(Clone, Copy, Debug)]
struct Way(usize);

const WAYS: usize = 64;

impl Way {
    fn dtype(self) -> DType {
        if self.0 & 1 == 0 { DType::F32 } else { DType::F64 }
    }

    fn operand(self, which: usize) -> usize {
        self.0 >> (1 + 2 * which) & 3
    }

    fn is_sliced(self) -> bool {
        self.0 & 32 != 0
    }
}

/// A matrix in `f64`, row by row, and a tensor that shows it through some way.
struct Matrix {
    values: Vec<f64>,
    tensor: DynTensor,
}

impl Matrix {
    fn new([rows, columns]: [usize; 2], seed: usize, layout: usize, sliced: bool, dtype: DType) -> Result<Matrix> {
        // Sixteenths: f32 has them exactly, and their products.
        let value = |i: usize| ((i * 7919 + seed * 104729) % 61) as f64 / 16.0 - 1.875;
        let values: Vec<f64> = (0..rows * columns).map(value).collect();
        // 0: as it is. 1: columns side by side. 2: every other element of longer rows. 3: rows from the last to the first.
        let (height, width) = match (layout, sliced) {
            (1, _) => (columns, rows),
            (2, true) => (rows, 2 * columns + 1),
            _ => (rows + usize::from(sliced), columns + 3 * usize::from(sliced)),
        };
        let mut stored = vec![77.0; height * width];
        for (i, &value) in values.iter().enumerate() {
            let (row, column) = (i / columns, i % columns);
            let at = match (layout, sliced) {
                (1, _) => column * width + row,
                (2, true) => row * width + 2 * column + 1,
                (3, _) => (rows - 1 - row + usize::from(sliced)) * width + column + 3 * usize::from(sliced),
                _ => (row + usize::from(sliced)) * width + column + 3 * usize::from(sliced),
            };
            stored[at] = value;
        }
        let whole = DynTensor::from_data(stored, &[height, width]).cast(dtype).realize()?;
        let tensor = match (layout, sliced) {
            (1, _) => whole.permute(&[1, 0]),
            (2, true) => whole.i((.., Step::by(1.., 2))),
            (3, _) => whole.i((usize::from(sliced).., 3 * usize::from(sliced)..)).flip(&[0]),
            _ => whole.i((usize::from(sliced).., 3 * usize::from(sliced)..)),
        };
        assert_eq!(tensor.shape(), [rows, columns]);
        Ok(Matrix { values, tensor })
    }
}

fn check([m, n, k]: [usize; 3], way: Way) -> Result<()> {
    let dtype = way.dtype();
    let left = Matrix::new([m, k], 1, way.operand(0), way.is_sliced(), dtype)?;
    let right = Matrix::new([k, n], 2, way.operand(1), way.is_sliced(), dtype)?;
    let got = left.tensor.matmul(&right.tensor).cast(DType::F64).data::<f64>()?;
    assert_eq!(got.len(), m * n);
    let rounding = if dtype == DType::F32 { f64::from(f32::EPSILON) } else { f64::EPSILON } / 2.0;
    let (mut sums, mut sizes) = (vec![0.0; n], vec![0.0; n]);
    for row in 0..m {
        sums.fill(0.0);
        sizes.fill(0.0);
        for depth in 0..k {
            let x = left.values[row * k + depth];
            let line = &right.values[depth * n..][..n];
            for ((sum, size), y) in sums.iter_mut().zip(&mut sizes).zip(line) {
                *sum += x * y;
                *size += (x * y).abs();
            }
        }
        for column in 0..n {
            let (got, expected) = (got[row * n + column], sums[column]);
            let bound = k as f64 * rounding * sizes[column];
            assert!(
                (got - expected).abs() <= bound,
                "{m}×{k} · {k}×{n} as {way:?}: {got} in row {row}, column {column}, not {expected} ± {bound}"
            );
        }
    }
    Ok(())
}

#[test]
fn products_of_every_size_are_sums_of_products() -> Result<()> {
    let all = std::env::var_os("ZITHER_PRODUCTS").is_some_and(|value| value == "all");
    let mut count = 0;
    for m in SIZES {
        for n in SIZES {
            for k in SIZES {
                count += 1;
                if all {
                    (0..WAYS).try_for_each(|way| check([m, n, k], Way(way)))?;
                } else if m * n * k < LARGE || count % 8 == 0 {
                    check([m, n, k], Way(count * 29 % WAYS))?;
                }
            }
        }
    }
    Ok(())
}

/// A linear layer with weights of a byte each: nothing is as large as the weights would be, and the plan says what happens.
#[test]
fn weights_of_bytes_are_widened_while_they_are_packed() -> Result<()> {
    let (rows, columns, depth) = (64, 200, 300);
    let x = Tensor::<f32, Dim2>::rand([rows, depth]).realize()?;
    let weights = (Tensor::<f32, Dim2>::rand([columns, depth]) * 100.0).cast::<i8>().realize()?;
    let product = || x.matmul(&(weights.cast::<f32>() * 0.01).t());
    let plan = product().explain();
    assert_eq!((plan.kernels, plan.stages), (1, 2), "{plan}");
    assert!(plan.to_string().contains("stage 0, while packing: f32 [200, 300]"), "{plan}");
    let elements = |a: usize, b: usize| (a * b) as u128;
    // The weights count a byte each, and are multiplied by their scale once.
    assert_eq!(plan.bytes_moved, 4 * elements(rows, depth) + elements(columns, depth) + 4 * elements(rows, columns));
    assert_eq!(plan.flops, elements(columns, depth) + 2 * elements(rows * columns, depth));
    let wide = (weights.cast::<f32>() * 0.01).realize()?;
    assert_eq!(product().data()?, x.matmul(&wide.t()).data()?);
    Ok(())
}
